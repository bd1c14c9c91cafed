"""`support-agent case`: what it prints and exits with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_agent.cli import main as cli
from tests.fakes_journey import DESK, Office, write
from tests.unit.seen import HUMAN, one


@pytest.fixture
def case_id(office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A case in a workspace with the office's store."""
    config = f'[store]\nurl = "{office.store.database.url}"\n[desk]\naddress = "{DESK}"\n'
    (tmp_path / "support-agent.toml").write_text(config)
    monkeypatch.chdir(tmp_path)
    mail_id, _ = office.handle(write(HUMAN))
    return str(one(office, mail_id).case_id)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit_:
        cli.main(list(arguments))
    assert isinstance(exit_.value.code, int)
    return exit_.value.code, *capsys.readouterr()


def test_each_order_says_who_has_the_case_now(case_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    orders = [
        (("close",), "closed"), (("close",), "closed, as before"), (("reopen", "--why", "she called"), "with_person"),
        (("give-back",), "open"), (("assign", "--to", DESK), f"with_person, {DESK}"),
    ]  # fmt: skip
    for (name, *options), said in orders:
        assert run(capsys, "case", name, case_id, *options) == (0, f"{case_id}: {said}\n", "")
    code, shown, _ = run(capsys, "show", case_id)
    assert code == 0
    assert "closed to with_person by the operator: she called" in shown
    assert f"assigned  {DESK}" in shown


def test_for_scripts_it_is_json(case_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "case", "assign", case_id, "--to", DESK, "--json")
    assert (code, json.loads(out)["assignee"]) == (0, DESK)


def test_nobody_but_staff_gets_a_case(case_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "case", "assign", case_id, "--to", "eve@elsewhere.example")
    assert (code, out) == (2, "")
    assert f"add it to desk.staff, or name one of {DESK}" in err
