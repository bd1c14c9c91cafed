"""`support-agent policies import`: what it prints and exits with.

What an import does is checked by tests/unit/company/importing/test_unreviewed.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_agent.cli import main as cli
from tests.unit.company.test_unreviewed_documents import DOCUMENT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with document 1, as the working folder."""
    (tmp_path / "support-agent.toml").write_text('[company]\npolicies = "policies"\n')
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "001-refunds.md").write_text(DOCUMENT, "utf-8")
    (tmp_path / "gifts.txt").write_text("Gift cards\n\nThey are valid for\u202e 3 years.\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["policies", "import", *arguments])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_a_person_is_told_where_it_is_and_what_is_theirs_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file, what to look at, what to write, what to do then."""
    assert run("gifts.txt", "--url", "https://harborfile.example/gifts") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{folder}/policies/002-gift-cards.md: document 2, 1 sentence, not reviewed, so no customer gets it",
        "check: 1 invisible or control characters are left out",
        "to write: summary, valid_from, audience",
        "then change its line to `reviewed: true`, and run `support-agent check`",
    ]


def test_a_script_is_told_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("gifts.txt", "--number", "30", "--valid-from", "2026-07-01", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "path": f"{folder}/policies/030-gift-cards.md",
        "number": 30,
        "title": "Gift cards",
        "sentences": 1,
        "missing": ["summary", "url", "audience"],
        "notes": ["1 invisible or control characters are left out"],
    }
    assert "valid_from: 2026-07-01\n" in (folder / "policies" / "030-gift-cards.md").read_text("utf-8")


@pytest.mark.parametrize(
    "arguments", [["none.txt"], ["gifts.txt", "--number", "1"], ["gifts.txt", "--url", "x"], ["gifts.rtf"]]
)
def test_what_cannot_be_done_is_one_line_and_exit_2(
    arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written and nothing is on stdout."""
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert [path.name for path in (folder / "policies").iterdir()] == ["001-refunds.md"]
