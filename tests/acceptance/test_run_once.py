"""`run`, from a real mailbox to a real mail server and into the customer's inbox; then what an admin asks of it.

The model and the search are scripted; `test_demo.py` has the same journeys with the real ones.
"""

from __future__ import annotations

import email
import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import update
from sqlmodel import col, select

from support_agent.store.keys import KeySettings
from support_agent.store.store import Store
from support_agent.store.tables import OutboxRow
from support_agent.store.vault import about
from tests.acceptance.program import Done, demo_mail, environment, workspace_in
from tests.journey.program import COMMAND
from tests.servers.dovecot import PASSWORD, Dovecot
from tests.servers.postfix import Postfix
from tests.servers.program import ForkedProgram

pytestmark = pytest.mark.servers

SUPPORT = "support@harborfile.example"
DESK = "desk@harborfile.example"
JAMES = "james.okafor@example.org"
SOPHIE = "sophie.martin@example.org"
MAILS = ("01", "11", "13")
"""A refund question of James, Sophie who wants a person, and an out-of-office."""
STOP_S = 20.0
"""Time that a process with no mail in hand has to end in."""
START_S = 240.0
ARRIVE_S = 30.0


class Ran(NamedTuple):
    """A workspace after two runs over the same mailbox."""

    workspace: Path
    settings: dict[str, str]
    first: Done
    second: Done
    inboxes: dict[str, list[EmailMessage]]
    """What the second run has left in the mailboxes of the customers and the desk."""


def inbox(dovecot: Dovecot, user: str) -> list[EmailMessage]:
    with dovecot.as_person(user) as person:
        uids = person.search()
        fetched = person.fetch(uids, ["BODY.PEEK[]"]) if uids else {}
    return [email.message_from_bytes(fetched[uid][b"BODY[]"], policy=policy.default) for uid in sorted(fetched)]


def settled(dovecot: Dovecot, user: str, count: int) -> list[EmailMessage]:
    """A mailbox once it has that many mails: Postfix delivers after it has answered."""
    end = time.monotonic() + ARRIVE_S
    while len(found := inbox(dovecot, user)) < count and time.monotonic() < end:
        time.sleep(0.1)
    return found


def servers_as_settings(dovecot: Dovecot, postfix: Postfix) -> dict[str, str]:
    """How to reach them, as environment variables."""
    settings: dict[str, str] = {}
    for section, server in (("IMAP", dovecot.settings(SUPPORT)), ("SMTP", postfix.settings())):
        given = {"host": server.host, "port": server.port, "user": server.user, "ca_file": server.ca_file}
        settings |= {f"{section}__{key.upper()}": str(value) for key, value in given.items()}
        settings[f"{section}__PASSWORD"] = PASSWORD
    return settings | {"IMAP__SKIP_EXISTING": "false", "LOG__FORMAT": "json", "AUTONOMY__START": "auto"}


@pytest.fixture(scope="module")
def ran(
    program: ForkedProgram, dovecot: Dovecot, postfix: Postfix, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ran]:
    """Three mails are in the mailbox; `run --once`, and once more."""
    for user in (SUPPORT, DESK, JAMES, SOPHIE):
        empty(dovecot, user)
    with dovecot.as_person(SUPPORT) as person:
        for start in MAILS:
            person.append("INBOX", demo_mail(start))
    workspace = workspace_in(tmp_path_factory.mktemp("run"), program.run)
    settings = servers_as_settings(dovecot, postfix)
    first = program.run("run", "--once", folder=workspace, settings=settings, scripted=True)
    settled(dovecot, JAMES, 1)
    settled(dovecot, DESK, 1)
    settled(dovecot, SOPHIE, 1)
    second = program.run("run", "--once", folder=workspace, settings=settings, scripted=True)
    inboxes = {user: inbox(dovecot, user) for user in (DESK, JAMES, SOPHIE)}
    yield Ran(workspace, settings, first, second, inboxes)
    for user in (SUPPORT, DESK, JAMES, SOPHIE):
        empty(dovecot, user)
    shutil.rmtree(workspace)


def empty(dovecot: Dovecot, user: str) -> None:
    """The server is shared by the whole test run."""
    with dovecot.as_person(user) as person:
        if uids := person.search():
            person.delete_messages(uids)
            person.expunge()


def events(done: Done, name: str) -> list[dict[str, Any]]:
    """The log's events of that name; the whole log is JSON lines."""
    lines = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == name]


def test_a_question_is_answered_in_the_customers_inbox(ran: Ran) -> None:
    """The answer is a reply in the customer's thread, marked as a machine's (RFC 3834), text and HTML."""
    assert ran.first.code == 0, ran.first.err
    (answer,) = ran.inboxes[JAMES]
    question = email.message_from_bytes(demo_mail("01"), policy=policy.default)
    assert answer["In-Reply-To"] == question["Message-ID"]
    assert answer["Subject"] == f"Re: {question['Subject']}"
    assert answer["Auto-Submitted"] == "auto-replied"
    assert answer["From"].addresses[0].addr_spec == SUPPORT
    for kind in ("plain", "html"):
        body = answer.get_body((kind,))
        assert body is not None
        text = body.get_content()
        assert "Refund policy" in text
        assert "James Okafor" in text


def test_who_wants_a_person_gets_an_acknowledgement_and_the_desk_a_packet(ran: Ran) -> None:
    """Before the model is asked anything; the packet carries the customer's mail."""
    (acknowledgement,) = ran.inboxes[SOPHIE]
    assert acknowledgement["Auto-Submitted"] == "auto-replied"
    (packet,) = ran.inboxes[DESK]
    assert b"Let me talk to a human" in packet.as_bytes()


def test_a_second_run_sends_nothing_more(ran: Ran) -> None:
    """The cursor and the outbox remember: each mailbox has what it had."""
    assert ran.second.code == 0, ran.second.err
    assert len(events(ran.first, "mail_recorded")) == len(MAILS)
    assert not events(ran.second, "mail_recorded")
    assert not events(ran.second, "delivery")
    assert {user: len(mails) for user, mails in ran.inboxes.items()} == {DESK: 1, JAMES: 1, SOPHIE: 1}


def test_the_log_has_an_event_a_step_and_no_words_of_the_mails(ran: Ran) -> None:
    """Bodies and secrets stay out of the log."""
    steps = {event["step"] for event in events(ran.first, "step_done")}
    assert steps >= {"screen", "identify", "route", "plan", "answer", "send", "end", "file"}
    for words in ("a friend of mine", "Let me talk to a human", PASSWORD):
        assert words not in ran.first.err


def test_every_answer_replays_to_the_same_bytes(program: ForkedProgram, ran: Ran) -> None:
    """Answer, acknowledgement and packet are made again from the store alone, with no server at hand."""
    replayed = program.run("replay", "--all", "--json", folder=ran.workspace)
    assert replayed.code == 0, replayed.out + replayed.err
    entries = json.loads(replayed.out)["replayed"]
    assert sorted(entry["kind"] for entry in entries) == ["acknowledgement", "answer", "packet"]
    assert all(entry["is_identical"] for entry in entries)


def test_a_byte_that_was_changed_in_the_store_is_a_difference(program: ForkedProgram, ran: Ran, tmp_path: Path) -> None:
    """Exit 1 and a diff; a replay that cannot fail would prove nothing."""
    copy = tmp_path / "copy"
    shutil.copytree(ran.workspace, copy)
    url = f"sqlite:///{copy / 'support-agent.sqlite3'}"
    with (
        Store.open(url, keys=KeySettings(seals=True)) as store,
        store.database.write() as connection,
    ):
        for row in connection.execute(select(OutboxRow)).all():
            changed = update(OutboxRow).where(col(OutboxRow.id) == row.id)
            with about(row.mail_id):
                connection.execute(changed, {"raw": row.raw.replace(b"Auto-Submitted", b"auto-submitted")})
    done = program.run("replay", "--all", folder=copy)
    assert done.code == 1
    assert "DIFFERS" in done.out


def test_a_replay_needs_no_key(program: ForkedProgram, ran: Ran, tmp_path: Path) -> None:
    """What was signed is stored: an admin who has the database and another key has the same bytes."""
    copy = tmp_path / "copy"
    shutil.copytree(ran.workspace, copy)
    (copy / "secret.key").write_text("another-key-" * 4)
    done = program.run("replay", "--all", folder=copy)
    assert (done.code, "identical" in done.out) == (0, True), done


def test_an_admin_finds_the_case_its_story_and_its_reasons(program: ForkedProgram, ran: Ran) -> None:
    """`cases`, `show` and `why` on the answered case; their JSON is checked by tests/unit/cli/test_main.py."""
    listed = program.run("cases", "--json", folder=ran.workspace)
    assert listed.code == 0, listed.err
    (case_id,) = [entry["case"]["id"] for entry in json.loads(listed.out) if entry["case"]["customer_address"] == JAMES]
    show = program.run("show", case_id, folder=ran.workspace)
    assert show.code == 0, show.err
    assert "send_document" in show.out
    why = program.run("why", case_id, folder=ran.workspace)
    assert why.code == 0, why.err
    assert "answer.txt.j2" in why.out
    assert "Refund policy" in why.out


def test_a_terminated_run_ends_cleanly(ran: Ran, tmp_path: Path) -> None:
    """SIGTERM while it waits for mail: exit 0 within 20 s, and no mail is left half done."""
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*COMMAND, "run"], cwd=ran.workspace, env=environment(ran.settings), stdout=out, stderr=out
        )
    try:
        end = time.monotonic() + START_S
        while b"engine_launched" not in log.read_bytes():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_S) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()
    assert "engine_stopped" in log.read_text()
    assert "Traceback" not in log.read_text()
