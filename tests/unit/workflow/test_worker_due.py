"""The worker's loop: each mail that is due is tried once a round, and what is held costs a round next to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Engine, event
from structlog.testing import capture_logs

from support_agent.answer.final_answer import Answer, ClarificationItem, FinalAnswer
from support_agent.cases.pause import write_pause
from support_agent.errors import ConfigError
from support_agent.store.outbox import Outbox
from support_agent.store.records import MailId, OutboxId, OutboxRecord, OutboxStatus, OutgoingKind
from support_agent.transport.submission import Delivery
from support_agent.workflow.due_mails import OUTBOX_BATCH
from tests.contract.store.examples import outgoing
from tests.fakes_journey import NOON, Clock, Office, with_agent, write
from tests.fakes_worker import FakeMailbox, Shift, recipients, with_imap

ANSWER, PACKET = OutgoingKind.ANSWER, OutgoingKind.PACKET
CHOSEN = MailId("f" * 32)
"""The customer's mail, where a command of a person chose the answer: such an answer needs no mode to leave."""
FINAL = FinalAnswer(
    company="Harborfile",
    locale="en",
    greeting_name=None,
    subject=None,
    asked=1,
    answers=(Answer(items=(ClarificationItem(number=1, text="Which plan do you have?"),)),),
    support_address="support@harborfile.example",
).model_dump(mode="json")
SOON, LATER = NOON + timedelta(minutes=1), NOON + timedelta(days=1)


def put(office: Office, count: int, kind: OutgoingKind = ANSWER) -> None:
    """So many mails of that kind in the outbox, each for a mail of another sender, due a while after noon."""
    for number in range(office.received, office.received + count):
        raw = write("Can I get a refund?", sender=f"c{number}@c{number}.example")
        mail_id = office.receive(raw)
        mail = outgoing(mail_id, kind, at=SOON, body=raw, parent=CHOSEN)
        its = {"recipient": f"c{number}@c{number}.example", **({"payload": FINAL} if kind is ANSWER else {})}
        office.store.outbox.queue(mail.model_copy(update=its))


@pytest.fixture
def paused(office: Office, tmp_path: Path) -> Office:
    """The office with nobody to write to customers, a day after noon."""
    office = with_agent(office, pause_file=tmp_path / "paused")
    write_pause(office.settings.agent, "wrong refund policy")
    office.clock = Clock(LATER)
    return office


def send_due(office: Office) -> None:
    """The part of a round that sends."""
    Shift(office, FakeMailbox([])).agent.due_mails.send(Event())


@contextmanager
def outbox_reads() -> Iterator[list[str]]:
    """The queries that read the outbox, as they are made."""
    queries: list[str] = []

    def keep(_connection: object, _cursor: object, statement: str, *_: Any) -> None:
        if statement.startswith("SELECT") and "FROM outbox" in statement:
            queries.append(statement)

    event.listen(Engine, "before_cursor_execute", keep)
    try:
        yield queries
    finally:
        event.remove(Engine, "before_cursor_execute", keep)


def bodies(queries: list[str]) -> int:
    """How many of the queries read a whole mail to send it: the audit log reads it again, by its kind."""
    return sum("outbox.raw" in query and "outbox.kind IN" not in query for query in queries)


def test_what_is_held_costs_a_round_the_same_however_much_it_is(paused: Office) -> None:
    """Failure: paused, with 5,000 mails held, each round read up to 5,000 whole mails a hundred times over."""
    costs = []
    for count in (1, 3 * OUTBOX_BATCH):
        put(paused, count)
        with outbox_reads() as queries:
            send_due(paused)
        costs.append((len(queries), bodies(queries)))
    assert costs[0] == costs[1]
    assert costs[1][1] == 0, "of what is held no mail is read"


def test_what_is_held_keeps_no_mail_to_the_desk_waiting(paused: Office) -> None:
    """The pause is for mails to customers; behind any number of them the desk's mail goes out."""
    put(paused, OUTBOX_BATCH + 1)
    put(paused, 1, PACKET)
    with outbox_reads() as queries:
        send_due(paused)
    assert len(paused.transport.given) == bodies(queries) == 1
    assert [row.kind for row in paused.store.outbox.find(status=OutboxStatus.SENT)] == [PACKET]


def test_each_mail_that_is_due_is_read_and_tried_once(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size of a batch; a mail that is put off waits for a later round."""
    monkeypatch.setattr("support_agent.workflow.due_mails.OUTBOX_BATCH", 3)
    put(office, 8)
    office.transport.deliveries = [Delivery(status="retry", detail="421 later")] * 8
    office.clock = Clock(LATER)
    with outbox_reads() as queries:
        send_due(office)
    assert (len(set(recipients(office))), len(recipients(office)), bodies(queries)) == (8, 8, 8)


def test_s12_a_limit_that_is_reached_in_a_round_ends_the_reading_of_what_it_holds(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may go is asked for each batch: at most the rest of one is read in vain, and the desk's mail goes on."""
    monkeypatch.setattr("support_agent.workflow.due_mails.OUTBOX_BATCH", 3)
    put(office, 20)
    put(office, 1, PACKET)
    office = with_agent(office, max_mails_per_hour=4)
    office.clock = Clock(LATER)
    with outbox_reads() as queries:
        send_due(office)
    kinds = [row.kind for row in office.store.outbox.find(status=OutboxStatus.SENT)]
    assert (kinds.count(ANSWER), kinds.count(PACKET), bodies(queries)) == (4, 1, 7)


def test_s61_a_clock_that_goes_back_in_a_round_makes_no_second_try_in_it(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is put off to an instant that the round, begun while the clock was ahead, takes for the past, comes up again
    in it; it is not due by the clock as it is now, and keeps its tries.
    """
    monkeypatch.setattr("support_agent.workflow.due_mails.OUTBOX_BATCH", 1)
    put(office, 1)
    office.transport.deliveries = [Delivery(status="retry", detail="421 later")] * 9
    office.clock = clock = Clock(LATER)
    ready = Outbox.ready

    def set_back(*arguments: Any) -> object:
        found = ready(*arguments)
        clock.instant = SOON
        return found

    monkeypatch.setattr(Outbox, "ready", set_back)
    send_due(office)
    assert len(recipients(office)) == 1


def test_a_mail_that_retention_deletes_in_a_round_ends_nothing(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process's work between the list and the mail."""
    put(office, 2)
    office.clock = Clock(LATER)
    first = office.store.outbox.ready(LATER, 1)[0].id
    get = Outbox.get

    def gone(outbox: Outbox, outbox_id: OutboxId) -> OutboxRecord | None:
        return None if outbox_id == first else get(outbox, outbox_id)

    monkeypatch.setattr(Outbox, "get", gone)
    send_due(office)
    assert len(recipients(office)) == 1


def test_mail_that_is_left_alone_is_told_in_the_log(office: Office) -> None:
    """Failure: a person moved an old mail out of Junk, which keeps its date, and it was passed over without a word."""
    office = with_imap(office, skip_existing=True)
    shift = Shift(office, FakeMailbox([]))
    shift.work()
    shift.mailbox.mails.append(write("Can I get a refund?"))
    old = NOON - timedelta(days=2)
    shift.mailbox.arrivals = {1: old}
    with capture_logs() as logs:
        shift.work()
    assert recipients(office) == []
    told = [entry for entry in logs if entry["event"] == "mail_left_alone"]
    assert told == [{"event": "mail_left_alone", "log_level": "warning", "uid": 1, "arrived_at": str(old)}]
    anew = shift.mailbox.numbered_anew()
    anew.arrivals = {1: old}
    with capture_logs() as logs:
        Shift(office, anew).work()
    levels = [entry["log_level"] for entry in logs if entry["event"] == "mail_left_alone"]
    assert levels == ["info"], "in a folder that was numbered anew most mail is old"


def test_a_due_mail_that_meets_a_defect_of_the_program_stops_no_other(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: the worker ended at it, again after each start, and no mail behind it left."""
    put(office, 2)
    office.clock = Clock(LATER)
    read, tried = Outbox.get, list[OutboxId]()

    def broken(outbox: Outbox, outbox_id: OutboxId) -> OutboxRecord | None:
        tried.append(outbox_id)
        if len(tried) == 1:
            raise ValueError("a row that this version cannot read")
        return read(outbox, outbox_id)

    monkeypatch.setattr(Outbox, "get", broken)
    with capture_logs() as logs:
        send_due(office)
    assert len(office.transport.given) == 1
    assert [(one["outbox_id"], one["code"]) for one in logs if one["event"] == "delivery_failed"] == [
        (tried[0], "unexpected")
    ]


def test_sending_that_needs_a_setting_mended_stops_the_program(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    put(office, 2)
    office.clock = Clock(LATER)

    def unusable(outbox: Outbox, outbox_id: OutboxId) -> OutboxRecord | None:
        raise ConfigError("smtp.password_file: no such file")

    monkeypatch.setattr(Outbox, "get", unusable)
    with pytest.raises(ConfigError):
        send_due(office)
