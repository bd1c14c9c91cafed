"""`support-agent forget`, `export` and `keys rotate`: what they print and exit with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support_agent.cli import main as cli
from support_agent.errors import ConfigError
from support_agent.store.connections import restoring_folder
from support_agent.store.lock import among_workers
from tests.fakes_journey import ANNA, JAMES, Office, write


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    cli.app(arguments, standalone_mode=False)
    return capsys.readouterr().out


def write_brands(folder: Path, url: str, other: str) -> None:
    """A configuration with one brand, by the URLs of their stores."""
    (folder / "shop").mkdir()
    for path, brands, address, store in (
        (folder, 'files = { shop = "shop/support-agent.toml" }', "a@example.org", url),
        (folder / "shop", "is_brand = true", "b@example.org", other),
    ):
        servers = f'[agent]\naddress = "{address}"\n[imap]\nuser = "{address}"\n[store]\nurl = "{store}"\n'
        (path / "support-agent.toml").write_text(f"[brands]\n{brands}\n{servers}")


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
    office: Office,
    empty_store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Failure: the first brand's were, so the second run could not open them, and never came to the other's."""
    url, other = str(office.store.database.url), f"sqlite:///{tmp_path / 'other.sqlite3'}"
    shutil.copy(empty_store, tmp_path / "other.sqlite3")
    write_brands(tmp_path, url, other)
    (tmp_path / "new.key").write_text("11" * 32)
    monkeypatch.chdir(tmp_path)
    with among_workers(other, "pid 1", timeout_s=5.0), pytest.raises(ConfigError, match="stop it first"):
        run(capsys, "keys", "rotate", "new.key")
    assert run(capsys, "keys", "rotate", "new.key").count("keys wrapped again") == 2


@pytest.mark.parametrize(
    "command",
    [
        ("forget", ANNA),
        ("export", ANNA, "--out", "anna.zip"),
        ("keys", "seal"),
        ("keys", "rotate", "new.key"),
        ("keys", "unreadable"),
        ("audit", "list"),
        ("audit", "verify"),
        ("audit", "head"),
        ("cases",),
        ("show", "c1"),
        ("why", "c1"),
        ("case", "close", "c1"),
        ("replay", "--all"),
        ("outbox",),
        ("outbox", "give-up", "m1-answer"),
        ("coverage",),
        ("autonomy", "export", "labels"),
        ("autonomy", "judge", "abcdefghij", "same"),
        ("autonomy", "unjudge", "abcdefghij"),
    ],
    ids=" ".join,
)
def test_no_command_says_that_nothing_is_kept_while_the_stores_file_is_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """Failure: an empty store was made in its place, and the person was told that nothing was kept about them."""
    (tmp_path / "support-agent.toml").write_text(f'[store]\nurl = "sqlite:///{tmp_path}/away.sqlite3"\n')
    (tmp_path / "new.key").write_text("11" * 32)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="put it back"):
        run(capsys, *command)
    assert {path.name for path in tmp_path.iterdir()} == {"support-agent.toml", "new.key"}


def test_a_store_that_is_half_restored_is_not_said_to_be_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: a person is told how to finish the restore, not to put a file back."""
    (tmp_path / "support-agent.toml").write_text(f'[store]\nurl = "sqlite:///{tmp_path}/half.sqlite3"\n')
    restoring_folder(tmp_path / "half.sqlite3").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="restore of this store was interrupted"):
        run(capsys, "forget", ANNA)


def test_no_command_says_that_nothing_is_kept_while_the_stores_file_has_lost_its_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: a file system that was repaired left it with none, and the audit log was called whole."""
    (tmp_path / "support-agent.toml").write_text(f'[store]\nurl = "sqlite:///{tmp_path}/lost.sqlite3"\n')
    (tmp_path / "lost.sqlite3").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"is empty.*put it back"):
        run(capsys, "audit", "verify")
    assert (tmp_path / "lost.sqlite3").stat().st_size == 0


def test_nothing_is_forgotten_of_one_brand_while_the_store_of_another_is_half_restored(
    office: Office,
    empty_store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Failure: the first brand's was done before the other's was refused."""
    office.handle(write("Can I get a refund?"))
    shutil.copy(empty_store, tmp_path / "other.sqlite3")
    (tmp_path / "other.sqlite3.restoring").mkdir()
    write_brands(tmp_path, str(office.store.database.url), f"sqlite:///{tmp_path}/other.sqlite3")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="was interrupted"):
        run(capsys, "forget", ANNA)
    assert len(office.store.cases.recent(5)) == 1


def test_nothing_is_forgotten_of_one_brand_while_the_store_of_another_is_away(
    office: Office, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person who was told so would not ask again."""
    office.handle(write("Can I get a refund?"))
    write_brands(tmp_path, str(office.store.database.url), f"sqlite:///{tmp_path}/away.sqlite3")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="put it back"):
        run(capsys, "forget", ANNA)
    assert len(office.store.cases.recent(5)) == 1


@pytest.mark.parametrize("command", [("forget", ANNA), ("keys", "rotate", "new.key")], ids=" ".join)
def test_who_has_a_brand_that_never_ran_reads_what_to_do_about_it(
    office: Office,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    """Rule: a store that was never made looks as one that is away, so a person says which it is."""
    office.handle(write("Can I get a refund?"))
    write_brands(tmp_path, str(office.store.database.url), f"sqlite:///{tmp_path}/other.sqlite3")
    (tmp_path / "new.key").write_text("11" * 32)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"if the brand shop never ran, take it out of brands\.files until it does"):
        run(capsys, *command)
    configuration = (tmp_path / "support-agent.toml").read_text()
    (tmp_path / "support-agent.toml").write_text(configuration.replace('shop = "shop/support-agent.toml"', ""))
    assert run(capsys, *command)
    assert not (tmp_path / "other.sqlite3").exists()
