"""The keys of encrypted mails: without the right ones nothing starts, and `doctor` says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.config.packaged_files import packaged
from support_agent.store.keys import KeySettings
from support_agent.store.store import Store
from tests.contract.store.examples import record
from tests.servers.program import ForkedProgram

KEYS, MASTER = "support-agent-keys.sqlite3", "support-agent-master.key"
NOWHERE = {"IMAP__HOST": "127.0.0.1", "IMAP__PORT": "1", "SMTP__HOST": "127.0.0.1", "SMTP__PORT": "1"}
"""Servers that nobody reaches: whoever looks at the mailbox first fails otherwise."""


def other_master(workspace: Path) -> None:
    (workspace / MASTER).write_text("00" * 32)


def no_master(workspace: Path) -> None:
    (workspace / MASTER).unlink()


def no_keys(workspace: Path) -> None:
    for path in workspace.glob(f"{KEYS}*"):
        path.unlink()


def keys_of_another_store(workspace: Path) -> None:
    no_keys(workspace)
    with Store.open(f"sqlite:///{workspace}/support-agent.sqlite3", packaged("migrations"), keys=SEALS) as store:
        store.database.vault.seal("a" * 32, b"words")


SEALS = KeySettings(seals=True)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (other_master, "the master key is another one than that of the stored keys"),
        (no_master, f"{MASTER} is missing"),
        (no_keys, "there are no keys in sqlite:///"),
        (keys_of_another_store, "are not those of this store"),
    ],
)
def test_run_and_doctor_refuse_keys_that_do_not_open_the_store(
    program: ForkedProgram, workspace: Path, spoil: object, why: str
) -> None:
    """Rule: exit code 2 and one line, before the mailbox is looked at; no new keys are made beside sealed mails."""
    with Store.open(f"sqlite:///{workspace}/support-agent.sqlite3", packaged("migrations"), keys=SEALS) as store:
        store.upgrade()
        record(store, 1)
    assert callable(spoil)
    spoil(workspace)
    doctor = program.run("doctor", folder=workspace, settings=NOWHERE)
    assert why in doctor.out
    done = program.run("run", "--once", folder=workspace, settings=NOWHERE, scripted=True)
    assert (done.code, done.out) == (2, ""), done
    assert why in done.err
    assert (workspace / KEYS).exists() is (spoil is not no_keys)
