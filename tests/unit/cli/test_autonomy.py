"""`support-agent autonomy`: what it prints and exits with, and that it changes only what it is told to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support_agent.cli import main as cli
from tests.fakes_journey import Office, write
from tests.unit.seen import REFUND, one


class Done(NamedTuple):
    """What a run came to."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(office: Office, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`support-agent autonomy` with these arguments, in a workspace with the office's store and files."""
    company = office.settings.company
    (tmp_path / "support-agent.toml").write_text(
        f'[store]\nurl = "{office.store.database.url}"\n[company]\npolicies = "{company.policies}"\n'
        f'templates = "{company.templates}"\naccounts = "{company.accounts}"\n'
    )
    monkeypatch.chdir(tmp_path)

    def run_program(*arguments: str) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            cli.main(["autonomy", *arguments])
        assert isinstance(exit_.value.code, int)
        return Done(exit_.value.code, *capsys.readouterr())

    return run_program


def listed(run: Run) -> dict[str, dict[str, Any]]:
    done = run("--json")
    assert (done.code, done.err) == (0, "")
    return {entry["key"]: entry for entry in json.loads(done.out)}


def test_each_item_of_the_company_is_listed_with_its_mode_and_the_reason(run: Run) -> None:
    """Documents, fields, series, records and canned questions; nothing has earned anything yet."""
    found = listed(run)
    assert {key.partition(":")[0] for key in found} == {"document", "field", "series", "record", "question"}
    assert found["document:1"]["title"] == "Refund policy"
    assert {(entry["mode"], entry["why"]) for entry in found.values()} == {("shadow", "set by autonomy.start")}
    assert "document:1" in run().out


def test_a_mode_is_set_by_hand_with_its_reason(run: Run) -> None:
    done = run("set", "document:1", "auto", "--why", "read by three people")
    assert done.code == 0
    assert "auto" in done.out
    assert listed(run)["document:1"]["why"] == "by hand, the operator: read by three people"
    assert listed(run)["document:2"]["mode"] == "shadow"


def test_a_change_is_undone(run: Run) -> None:
    run("set", "document:1", "approve")
    run("set", "document:1", "auto")
    assert run("undo", "document:1").code == 0
    assert listed(run)["document:1"]["mode"] == "approve"
    run("undo", "document:1")
    assert listed(run)["document:1"]["mode"] == "shadow"
    assert (run("undo", "document:1").code, listed(run)["document:1"]["mode"]) == (2, "shadow")


def test_what_the_company_does_not_have_gets_no_mode(run: Run, office: Office) -> None:
    """A slip of the pen would set nothing, and nobody would know."""
    done = run("set", "document:777", "auto")
    assert (done.code, done.out) == (2, "")
    assert "`support-agent autonomy` lists the items" in done.err
    assert office.store.modes.history() == ()


@pytest.mark.parametrize("done", ["document:777", "field:nothing", "wrong"])
def test_what_the_company_does_not_have_was_not_right(run: Run, office: Office, done: str) -> None:
    """A slip of the pen would lower the items, and teach what is not there."""
    mail_id, _ = office.handle(write(REFUND))
    failed = run("judge", str(one(office, mail_id).case_id), done)
    assert (failed.code, failed.out) == (2, "")
    assert "same, own-words, nothing, or an item that `support-agent autonomy` lists" in failed.err
    assert office.store.labels.valid() == ()
