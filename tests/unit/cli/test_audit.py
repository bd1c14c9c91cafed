"""`support-agent audit`: what it prints and exits with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_agent.cli import main as cli
from tests.fakes_journey import JAMES, Office, write


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit_:
        cli.main(["audit", *arguments])
    return exit_.value.code, capsys.readouterr().out


def test_the_log_is_listed_published_and_verified(
    office: Office, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: an auditor needs no other tool; a changed entry makes `verify` fail, and says which one it is."""
    (tmp_path / "support-agent.toml").write_text(f'[store]\nurl = "{office.store.database.url}"\n')
    monkeypatch.chdir(tmp_path)
    mail_id, _ = office.handle(write("Can I get a refund?", sender=JAMES))

    code, listed = run(capsys, "list", "--act", "mail sent", "--json")
    (entry,) = json.loads(listed)
    assert (code, entry["about"]["mail_id"], entry["about"]["documents"][0]["number"]) == (0, mail_id, 1)
    assert mail_id in run(capsys, "list")[1]
    head = run(capsys, "head")[1].strip()
    assert run(capsys, "verify", "--head", head)[0] == 0
    assert run(capsys, "verify", "--head", "f" * 64)[0] == 1
    assert run(capsys, "list", "--act", "nothing")[0] == 2

    with office.store.database.write() as connection:
        connection.exec_driver_sql(f"UPDATE audit SET entry = replace(entry, '{mail_id}', '{mail_id[::-1]}')")
    assert run(capsys, "verify", "--head", head) == (
        1,
        "entry 1 does not have the hash of what it says and of the entry before it\n",
    )
