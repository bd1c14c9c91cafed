"""The keys of encrypted mails: without the right ones nothing starts, and `doctor` says why."""

from __future__ import annotations

from pathlib import Path

from support_agent.store.keys import KeySettings
from support_agent.store.store import Store
from tests.contract.store.examples import record
from tests.servers.program import ForkedProgram

NOWHERE = {"IMAP__HOST": "127.0.0.1", "IMAP__PORT": "1", "SMTP__HOST": "127.0.0.1", "SMTP__PORT": "1"}
"""Servers that nobody reaches: whoever looks at the mailbox first fails otherwise."""
SEALS = KeySettings(seals=True)


def test_run_and_doctor_refuse_keys_that_do_not_open_the_store(program: ForkedProgram, workspace: Path) -> None:
    """Rule: exit code 2 and one line, before the mailbox is looked at; test_sealed_store.py has the other reasons."""
    with Store.open(f"sqlite:///{workspace}/support-agent.sqlite3", keys=SEALS) as store:
        store.upgrade()
        record(store, 1)
    (workspace / "support-agent-master.key").write_text("00" * 32)
    why = "the master key is another one than that of the stored keys"
    assert why in program.run("doctor", folder=workspace, settings=NOWHERE).out
    done = program.run("run", "--once", folder=workspace, settings=NOWHERE, scripted=True)
    assert (done.code, done.out) == (2, ""), done
    assert why in done.err
