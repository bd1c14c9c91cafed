"""`support-agent forget`, `export` and `keys rotate`: what they print and exit with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_agent.cli import main as cli
from support_agent.errors import ConfigError
from support_agent.store.lock import among_workers
from tests.fakes_journey import ANNA, JAMES, Office, write


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    cli.app(arguments, standalone_mode=False)
    return capsys.readouterr().out


def test_a_person_is_listed_exported_and_forgotten(
    office: Office, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: a dry run deletes nothing; afterwards nothing is kept; another person is still there."""
    (tmp_path / "support-agent.toml").write_text(f'[store]\nurl = "{office.store.database.url}"\n')
    monkeypatch.chdir(tmp_path)
    for sender in (ANNA, JAMES):
        office.handle(write("Can I get a refund?", sender=sender))

    listed = run(capsys, "forget", ANNA, "--dry-run")
    assert "mails" in listed
    assert "your mailbox" in listed
    assert json.loads(run(capsys, "forget", ANNA, "--dry-run", "--json"))["kept"]["counts"]["mails"] == 1
    assert run(capsys, "export", ANNA, "--out", "anna.zip") == "anna.zip\n"
    done = run(capsys, "forget", ANNA)
    assert "receipt, not kept anywhere: " in done
    assert "nothing is kept about this person" in run(capsys, "forget", ANNA, "--dry-run")
    assert len(office.store.mails.find()) == 1


def test_of_a_person_of_whom_nothing_is_kept_nobody_is_told_that_something_was_done(
    office: Office, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: "forgotten", of a misspelt address. It is no error: a script may forget a person twice."""
    (tmp_path / "support-agent.toml").write_text(f'[store]\nurl = "{office.store.database.url}"\n')
    monkeypatch.chdir(tmp_path)
    office.handle(write("Can I get a refund?", sender=ANNA))
    done = run(capsys, "forget", JAMES)
    assert done.startswith("nothing is kept about this person\n")
    assert "\nnothing was deleted; the audit log has an entry that you asked\nreceipt" in done
    assert "forgotten" not in done
    cli.app(["export", JAMES, "--out", "james.zip"], standalone_mode=False)
    assert "nothing is kept about this person" in capsys.readouterr().err
    cli.app(["export", ANNA, "--out", "anna.zip"], standalone_mode=False)
    assert capsys.readouterr().err == ""


def test_keys_are_not_rotated_beside_a_worker(
    office: Office, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: the worker went on with the old master key in its memory."""
    url = str(office.store.database.url)
    (tmp_path / "support-agent.toml").write_text(f'[store]\nurl = "{url}"\n')
    (tmp_path / "new.key").write_text("11" * 32)
    monkeypatch.chdir(tmp_path)
    with among_workers(url, "pid 1", timeout_s=5.0), pytest.raises(ConfigError, match="stop it first"):
        run(capsys, "keys", "rotate", "new.key")
    assert "keys wrapped again" in run(capsys, "keys", "rotate", "new.key")


def test_no_brands_keys_are_rotated_beside_a_worker_of_another(
    office: Office, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: the first brand's were, so the second run could not open them, and never came to the other's."""
    url, other = str(office.store.database.url), f"sqlite:///{tmp_path / 'other.sqlite3'}"
    (tmp_path / "shop").mkdir()
    for path, brands, address, store in (
        (tmp_path, 'files = { shop = "shop/support-agent.toml" }', "a@example.org", url),
        (tmp_path / "shop", "is_brand = true", "b@example.org", other),
    ):
        servers = f'[agent]\naddress = "{address}"\n[imap]\nuser = "{address}"\n[store]\nurl = "{store}"\n'
        (path / "support-agent.toml").write_text(f"[brands]\n{brands}\n{servers}")
    (tmp_path / "new.key").write_text("11" * 32)
    monkeypatch.chdir(tmp_path)
    with among_workers(other, "pid 1", timeout_s=5.0), pytest.raises(ConfigError, match="stop it first"):
        run(capsys, "keys", "rotate", "new.key")
    assert run(capsys, "keys", "rotate", "new.key").count("keys wrapped again") == 2
