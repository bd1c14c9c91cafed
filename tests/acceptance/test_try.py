"""`try`: the dry run of many mails in one process, on the embedded model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.program import demo_mail, files_in
from tests.servers.program import ForkedProgram

MAILS = ("01", "13")
"""A question and an out-of-office."""
KEYS = {"file", "outcome", "reason", "mode", "level", "calls", "answer", "seconds", "forward_passes"}


@pytest.fixture
def mails(tmp_path: Path) -> list[Path]:
    """Two of the demo's mails, as files."""
    folder = tmp_path / "mails"
    folder.mkdir()
    paths = [folder / f"{start}.eml" for start in MAILS]
    for path in paths:
        path.write_bytes(demo_mail(path.stem))
    return paths


@pytest.mark.model
@pytest.mark.usefixtures("models")
def test_a_dry_run_prints_a_json_line_a_mail_and_leaves_nothing(
    program: ForkedProgram, workspace: Path, mails: list[Path]
) -> None:
    """The lines' form is a promise to scripts; nothing is stored, and there is no server to send to."""
    before = files_in(workspace)
    done = program.run("try", *mails, "--json", folder=workspace)
    assert done.code == 0, done.err
    lines = done.lines
    assert [line["file"] for line in lines] == [str(path) for path in mails]
    for line in lines:
        assert set(line) == KEYS
        assert line["outcome"] in {"answer", "escalate", "filed"}
        assert line["level"] in {0, 1, 2, 3}
        assert line["mode"] == (None if line["answer"] is None else "shadow"), "the mode of a new workspace"
        assert isinstance(line["seconds"], float)
        assert isinstance(line["forward_passes"], int)
        assert (line["answer"] is not None) == (line["outcome"] == "answer")
        assert line["answer"] is None or set(line["answer"]) == {"subject", "text", "html"}
        for call in line["calls"]:
            assert set(call) == {"tool", "args", "confidence"}
            assert 0 <= call["confidence"] <= 1
    refund, absence = lines
    assert {"tool": "send_document", "args": {"number": 1}} in [
        {"tool": call["tool"], "args": call["args"]} for call in refund["calls"]
    ]
    assert refund["level"] == 3
    assert "Refund policy" in refund["answer"]["text"]
    assert (absence["outcome"], absence["forward_passes"], absence["calls"]) == ("filed", 0, [])
    assert files_in(workspace) == before


def test_a_mail_that_machines_sent_needs_no_model(program: ForkedProgram, workspace: Path, mails: list[Path]) -> None:
    """Screening comes first: without any model there is still an outcome, and nothing is downloaded."""
    settings = {"MODEL__PATH": str(workspace / "there-is-none.gguf")}
    done = program.run("try", mails[-1], "--json", folder=workspace, settings=settings)
    assert done.code == 0, done.err
    (line,) = done.lines
    assert (line["outcome"], line["reason"], line["answer"]) == ("filed", "S2", None)


def test_a_file_that_is_not_there_is_an_error_in_one_line(
    program: ForkedProgram, workspace: Path, mails: list[Path]
) -> None:
    """Exit 2, the file's name, what to do; and no other file was tried before it was missed."""
    done = program.run("try", mails[-1], "missing.eml", "--json", folder=workspace)
    assert (done.code, done.out) == (2, "")
    assert "missing.eml" in done.err
    assert len(done.err.splitlines()) == 1
