"""The log tells what happened, never what somebody wrote: whole journeys with marked words, and the log read back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
import structlog
from pydantic import SecretStr

from support_agent.config.log import configure_log
from support_agent.config.settings import EngineSettings, LogSettings
from support_agent.engine.engine import Engine
from support_agent.engine.steps import Steps
from support_agent.errors import PermanentError
from support_agent.pipeline import handle
from support_agent.store.records import MailId, MailStatus
from support_agent.tools.base import Match
from support_agent.transport.submission import Delivery
from support_agent.workflow.worker import Worker
from tests.fakes_journey import DESK, Office, WordSearch, write
from tests.fakes_worker import FakeMailbox

BODY, SUBJECT, SENDER, SECRET = "zebrafish", "wildebeest", "okapi", "hunter2hunter2hunter2hunter2hunter2"
MARKS = (BODY, SUBJECT, SENDER, SECRET)
PERSON = f"{SENDER}@elsewhere.example"
POISON = "poison"
EVENTS = {
    "mail_recorded", "mail_routed", "step_done", "delivery", "decision_failed", "mail_failed", "mail_quarantined",
    "poll_failed", "engine_launched", "engine_stopped",
}  # fmt: skip
"""What must be in the log that is read: each of these could have quoted a mail."""


class QuotingSearch(WordSearch):
    """Fails on some mails, quoting them, as a library's error does."""

    def nearest(self, text: str) -> tuple[Match, ...]:
        if POISON in text:
            raise PermanentError(f"cannot embed {text!r}", code="index")
        return super().nearest(text)


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def mails() -> list[bytes]:
    """Answered, escalated, filed, failed while it was decided, lost on the way out, and failed altogether."""
    quoted = f"can I get a refund for {POISON}?\r\n\r\nhow many seats have we paid for"
    texts = ("can I get a refund", "let me talk to a human", "refund, please", quoted, "how do I cancel", "what's this")
    raws = [
        write(f"{text} {BODY}?", sender=PERSON, subject=f"{SUBJECT} {number}", number=number)
        for number, text in enumerate(texts)
    ]
    raws[2] = b"Auto-Submitted: auto-replied\r\n" + raws[2]
    return raws


def marked(office: Office) -> Office:
    """The office with marked secrets, a search that quotes, and a server that does."""
    secret = SecretStr(SECRET)
    settings = office.settings
    settings = settings.model_copy(
        update={
            "agent": settings.agent.model_copy(update={"secret": secret}),
            "imap": settings.imap.model_copy(update={"password": secret, "poll_interval_s": 0.0}),
            "smtp": settings.smtp.model_copy(update={"password": secret, "max_attempts": 1}),
        }
    )
    decider = replace(office.decider, settings=settings, search=QuotingSearch())
    return replace(office, settings=settings, decider=decider)


def run(office: Office, folder: Path) -> None:
    """One life of the agent with the real engine; then a poll that fails."""
    last = mails()[-1]

    def journey(mail_id: str, steps: Steps) -> str:
        if office.store.mails.raw(MailId(mail_id)) == last:
            raise RuntimeError(f"a defect that quotes {last!r}")
        return handle(MailId(mail_id), steps, office.stages)

    settings = EngineSettings(poll_interval_s=0.02, retry_base_s=0)
    engine = Engine(f"sqlite:///{folder / 'engine.sqlite3'}", "log-test", settings)
    mailbox, stop = FakeMailbox(mails()), Event()
    agent = Worker(
        office.settings, office.store, office.wired, engine.serve("", journey), lambda: mailbox, office.clock
    )
    engine.launch()
    try:
        agent.run_once(stop)
        mailbox.is_away, mailbox.on_open = True, stop.set
        agent.run(stop)
    finally:
        engine.stop(timeout_s=5)


def test_no_line_of_the_log_has_a_word_of_a_mail_or_a_secret(
    office: Office, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every level is on; bodies, subjects, addresses, keys and passwords are in none of the lines.

    What the ids in them name is in the store: a mail, a case; `thread` is the hash by which the engine keeps order.
    """
    office = marked(office)
    refused = Delivery(status="failed", detail=f"550 no such user {PERSON}", smtp_code=550)
    office.transport.deliveries = [refused]
    configure_log(LogSettings(format="json", level="debug"))
    run(office, tmp_path)
    text = capsys.readouterr().err
    lines = [json.loads(line) for line in text.splitlines()]
    assert {line["event"] for line in lines} >= EVENTS
    told = {key: {line[key] for line in lines if key in line} for key in ("mail_id", "case_id", "thread", "message_id")}
    assert told["mail_id"] == {mail.id for mail in office.store.mails.find()}
    assert told["case_id"] == {mail.case_id for mail in office.store.mails.find() if mail.case_id is not None}
    assert len(told["thread"]) == len(mails())
    assert told["message_id"] == set()
    assert [mark for mark in MARKS if mark in text] == []
    assert {mail.status for mail in office.store.mails.find()} == set(MailStatus) - {MailStatus.NEW}
    assert DESK in {recipient for recipient, _ in office.transport.given}


def test_a_line_that_cannot_be_written_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr("sys.stderr", full)
        configure_log(LogSettings(level="debug"))
        structlog.get_logger().warning("the disk is full")
        with suppress(OSError):
            full.close()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a@b\x1b[2J\u202e\u2028x", r"who=a@b\x1b[2J\u202e\u2028x"),
        ("a@b\n2026-11-28 signed_in who=boss\x1b[2J", r"who='a@b\n2026-11-28 signed_in who=boss\x1b[2J'"),
        ("Zoë", "who=Zoë"),
        ("back\\slash", r"who=back\\slash"),
    ],
)
def test_a_value_from_outside_neither_writes_a_line_nor_draws(
    capsys: pytest.CaptureFixture[str], value: str, shown: str
) -> None:
    """Failure: the address that a sign-in provider sent could draw on the operator's terminal."""
    configure_log(LogSettings())
    structlog.get_logger().warning("not_let_in", who=value)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(shown)
