"""Alarms to the desk: one mail when one begins, while it lasts, and when it is over, whoever notices it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import pytest

from support_agent.answer.templates import Templates
from support_agent.core.observing import Unobserved
from support_agent.ops.explain import why
from support_agent.ops.replay import replay
from support_agent.store.outbox import Outbox
from support_agent.store.records import MailStatus, OutboxRecord, OutboxStatus, OutgoingKind
from support_agent.store.watch_records import AlarmKind, Expiring
from support_agent.transport.submission import Delivery
from support_agent.workflow.alarms import OVER
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Office, write
from tests.fakes_watch import with_watch
from tests.fakes_worker import At, work
from tests.unit.seen import HUMAN, REFUND, one, opened, reason_told, text_of

HOUR, DAY, MINUTE = timedelta(hours=1), timedelta(days=1), timedelta(minutes=1)
SETTLE = timedelta(seconds=600)


@pytest.fixture
def clock() -> At:
    return At(NOON)


@pytest.fixture
def stuck(office: Office, clock: At) -> Office:
    """An office with a mail that was recorded an hour ago and is not decided, and nothing else wrong."""
    office = replace(with_watch(office, alarm_every_h=24), clock=clock)
    office.receive(write(REFUND))
    clock.instant = NOON + HOUR
    return office


def alarms(office: Office) -> list[OutboxRecord]:
    return list(office.store.outbox.find(kind=OutgoingKind.ALARM))


def subjects(office: Office) -> list[str]:
    return [str(opened(row)["Subject"]).partition(" (")[0] for row in alarms(office)]


def look(office: Office) -> int:
    """One round of a worker that has just begun."""
    return office.wired.alarms.look_after()


def over(office: Office) -> None:
    """Nothing waits any more."""
    for mail in office.store.mails.find(status=MailStatus.NEW):
        office.store.mails.end(mail.id, MailStatus.FILED, "S2", None, office.clock())


def test_the_desk_is_told_at_the_begin_again_while_it_lasts_and_at_the_end(stuck: Office, clock: At) -> None:
    duty = stuck.wired.alarms
    told = []
    for at in (NOON + HOUR, NOON + 2 * HOUR, NOON + 25 * HOUR, NOON + 26 * HOUR):
        clock.instant = at
        told.append(duty.look_after())
    over(stuck)
    for at in (clock.instant + HOUR, clock.instant + HOUR + SETTLE, clock.instant + DAY):
        clock.instant = at
        told.append(duty.look_after())
    assert told == [1, 0, 1, 0, 0, 1, 0]
    assert subjects(stuck) == ["Alarm: backlog", "Still: backlog", "Over: backlog"]
    begun, _, ended = map(text_of, alarms(stuck))
    assert begun.startswith("1 mail not decided yet, the oldest since 2026-11-20 12:00 UTC\n\nWhat to do: ")
    assert ended.startswith("OVER SINCE 2026-11-21 15:00 UTC: no mail waits for that long any more\n")
    assert {(row.recipient, row.status, row.case_id) for row in alarms(stuck)} == {(DESK, OutboxStatus.SENT, None)}
    assert opened(alarms(stuck)[0])["Auto-Submitted"] == "auto-generated"


def test_one_that_comes_and_goes_is_one_alarm(stuck: Office, clock: At) -> None:
    """Failure: a cause at its bound makes two mails each minute."""
    duty = stuck.wired.alarms
    duty.look_after()
    for _ in range(5):
        over(stuck)
        clock.instant += 5 * MINUTE
        duty.look_after()
        stuck.receive(write(REFUND, number=clock.instant.minute, sender=JAMES))
        clock.instant += HOUR
        duty.look_after()
    assert subjects(stuck) == ["Alarm: backlog"]


def test_of_several_workers_one_tells(stuck: Office, clock: At) -> None:
    """Rule: each has its own round and its own memory; the number of the alarm decides."""
    for _ in range(3):
        look(stuck)
    assert subjects(stuck) == ["Alarm: backlog"]
    over(stuck)
    workers = [stuck.wired.alarms for _ in range(3)]
    for at in (clock.instant, clock.instant + SETTLE, clock.instant + 2 * SETTLE):
        clock.instant = at
        for worker in workers:
            worker.look_after()
    assert subjects(stuck) == ["Alarm: backlog", "Over: backlog"]


def test_two_workers_that_notice_it_at_once_send_one_mail(stuck: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one queues its mail after this one has looked, and before it queues its own."""
    real, other = Outbox.queue_alarm, stuck.wired.alarms

    def overtaken(outbox: Outbox, *arguments: object) -> OutboxRecord | None:
        monkeypatch.setattr(Outbox, "queue_alarm", real)
        assert other.look_after() == 1
        return real(outbox, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Outbox, "queue_alarm", overtaken)
    assert look(stuck) == 0
    assert subjects(stuck) == ["Alarm: backlog"]
    assert [to for to, _ in stuck.transport.given] == [DESK]


@pytest.mark.parametrize("dies_after", [False, True])
def test_it_is_sent_once_though_the_process_dies(
    stuck: Office, dies_after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, or right after, it comes into the outbox."""
    real = Outbox.queue_alarm

    def dying(outbox: Outbox, *arguments: object) -> None:
        if dies_after:
            real(outbox, *arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Outbox, "queue_alarm", dying)
        with pytest.raises(KeyboardInterrupt):
            look(stuck)
    for _ in range(2):
        look(stuck)
        work(stuck)
    assert [to for to, raw in stuck.transport.given if b"Subject: Alarm" in raw] == [DESK]


def test_a_mail_that_could_not_leave_is_tried_again(stuck: Office, clock: At) -> None:
    stuck.transport.deliveries = [Delivery(status="retry", detail="421 later")]
    look(stuck)
    assert [row.status for row in alarms(stuck)] == [OutboxStatus.READY]
    over(stuck)
    clock.instant += HOUR
    work(stuck)
    assert [row.status for row in alarms(stuck)] == [OutboxStatus.SENT]


def test_there_are_not_more_than_a_day_may_have(stuck: Office, clock: At) -> None:
    """Whatever flaps: what is left out is told when there is room again."""
    stuck = with_watch(stuck, alarm_settle_s=0, max_alarms_a_day=4)
    duty = stuck.wired.alarms
    for number in range(5):
        duty.look_after()
        over(stuck)
        clock.instant += MINUTE
        duty.look_after()
        stuck.receive(write(REFUND, number=10 + number, sender=JAMES))
        clock.instant += HOUR
    assert subjects(stuck) == ["Alarm: backlog", "Over: backlog"] * 2
    clock.instant += DAY
    assert duty.look_after() == 1


def test_nothing_is_mailed_where_it_is_off_or_no_mail_ever_came(stuck: Office, office: Office) -> None:
    assert look(with_watch(stuck, alarm_every_h=0)) == 0
    office.store.watching.note_expiry(Expiring.SMTP_CERTIFICATE, NOON)
    with office.store.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM mails")
    assert (look(office), alarms(office)) == (0, [])


def test_what_is_seen_of_certificates_is_kept_for_all_workers(stuck: Office) -> None:
    """Rule: a worker that does not read the mailbox must not say that its certificate is fine."""

    class Saw(Unobserved):
        expiries = MappingProxyType({"imap_certificate": NOON + DAY, "refresh_token": None})

    duty = stuck.wired.alarms
    duty.observer = Saw()
    assert duty.look_after() == 2
    assert stuck.store.watching.expiries() == {Expiring.IMAP_CERTIFICATE: NOON + DAY}
    assert subjects(stuck) == ["Alarm: backlog", "Alarm: certificate"]
    assert look(stuck) == 0


def test_no_word_of_a_customer_is_in_it(office: Office, clock: At) -> None:
    office = replace(with_watch(office, alarm_every_h=24), clock=clock)
    office.receive(write(f"{HUMAN} My number is 4711.", subject="Tischreservierung"))
    clock.instant += HOUR
    look(office)
    for word in (b"4711", b"human", b"Tischreservierung", ANNA.encode(), b"message/rfc822"):
        assert word not in alarms(office)[0].raw


def test_it_replays_and_is_no_part_of_the_case_whose_mail_carries_it(stuck: Office, clock: At) -> None:
    clock.instant = NOON
    mail_id, _ = stuck.handle(write(REFUND, sender=JAMES, number=2))
    clock.instant = NOON + HOUR
    look(stuck)
    (row,) = alarms(stuck)
    assert row.mail_id == mail_id
    entries = replay(stuck.store, [mail_id])
    assert [entry.kind for entry in entries if entry.is_identical] == [entry.kind for entry in entries]
    assert OutgoingKind.ALARM in [entry.kind for entry in entries]
    assert {mail.kind for mail in why(stuck.store, str(one(stuck, mail_id).case_id))} == {OutgoingKind.ANSWER}


def test_an_answer_to_it_goes_to_the_desk_and_gets_nothing(stuck: Office) -> None:
    """Rule: no loop with an automatic reply of the desk's that looks like a person's."""
    look(stuck)
    before = len(stuck.transport.given)
    reply = write(REFUND, sender=JAMES, in_reply_to=alarms(stuck)[0].message_id, number=9)
    mail_id, outcome = stuck.handle(reply)
    assert (outcome, reason_told(stuck, mail_id)[0]) == ("escalated", "about_no_case")
    assert [to for to, _ in stuck.transport.given[before:]] == [DESK]


def test_without_a_template_of_ones_own_the_programs_is_used(stuck: Office) -> None:
    """Older workspaces have none."""
    files = {name: text for name, text in stuck.decider.templates.as_files().items() if "alarm" not in name}
    look(replace(stuck, decider=replace(stuck.decider, templates=Templates.from_files(files))))
    assert subjects(stuck) == ["Alarm: backlog"]


def test_a_pause_and_a_limit_make_no_mail_here() -> None:
    """A person ordered the one, and `outbound.notices` tells of the other."""
    assert set(AlarmKind) - set(OVER) == {AlarmKind.PAUSED, AlarmKind.LIMITED}
