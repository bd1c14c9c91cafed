"""Figures of a period: only its own mails count, and each list has what its number counts."""

from __future__ import annotations

from datetime import datetime, timedelta

from support_agent.store.desk_records import LabelOutcome
from support_agent.store.quality import EndCount, MailFilter, TimeSpan
from support_agent.store.records import MailId, MailStatus, OutgoingKind
from support_agent.store.store import Store
from tests.contract.store.examples import CASE, DAY, MINUTE, NOON, call, case, label, outgoing, plan, put, record

TODAY = TimeSpan(since=NOON - 6 * 60 * MINUTE, until=NOON + 6 * 60 * MINUTE)
YESTERDAY = TimeSpan(since=TODAY.since - DAY, until=TODAY.since)
TOOLS = ("send_document",)


def ended(store: Store, number: int, status: MailStatus, reason: str | None = None, at: datetime = NOON) -> MailId:
    """A mail that came in and ended."""
    mail_id = record(store, number, at)
    if status is not MailStatus.NEW:
        store.mails.end(mail_id, status, reason, None, at + MINUTE)
    return mail_id


def test_mails_are_counted_by_the_day_on_which_they_came_in(store: Store) -> None:
    """Rule: the first instant of a day belongs to it, that of the next day does not; a day without mails is there."""
    ended(store, 1, MailStatus.ANSWERED, at=TODAY.since)
    ended(store, 2, MailStatus.ESCALATED, "unsure")
    ended(store, 3, MailStatus.NEW)
    ended(store, 4, MailStatus.ANSWERED, at=TODAY.until)
    before = TimeSpan(since=YESTERDAY.since - DAY, until=YESTERDAY.since)
    empty, yesterday, today = store.quality.by_day((before, YESTERDAY, TODAY))
    assert set(empty.values()) == set(yesterday.values()) == {0}
    assert {status: count for status, count in today.items() if count} == {
        MailStatus.ANSWERED: 1,
        MailStatus.ESCALATED: 1,
        MailStatus.NEW: 1,
    }


def test_ends_are_counted_by_reason(store: Store) -> None:
    for number in (1, 2):
        ended(store, number, MailStatus.ESCALATED, "unsure")
    ended(store, 3, MailStatus.QUARANTINED)
    ended(store, 4, MailStatus.ESCALATED, "unsure", YESTERDAY.since)
    ended(store, 5, MailStatus.FILED, "thanks")
    assert store.quality.ends(TODAY, (MailStatus.ESCALATED, MailStatus.QUARANTINED)) == (
        EndCount(status=MailStatus.ESCALATED, reason="unsure", mails=2),
        EndCount(status=MailStatus.QUARANTINED, reason=None, mails=1),
    )


def test_plans_are_counted_by_their_seconds(store: Store) -> None:
    """Rule: a bin begins with its lower bound and ends before its upper one."""
    for number, seconds in ((1, 0.5), (2, 1.0), (3, 9.0)):
        store.plans.save(plan(record(store, number), calls=()).model_copy(update={"seconds": seconds}))
    found = store.quality.plan_times(TODAY, (1.0, 2.0))
    assert (found.mails, found.seconds, found.bins) == (3, 10.5, (1, 1, 1))
    assert store.quality.plan_times(YESTERDAY, (1.0,)).bins == (0, 0)
    listed = store.quality.planned(TODAY, 1.0, 2.0, 10)
    assert [mail.mail_id for mail in listed] == [record(store, 2)]
    assert len(store.quality.planned(TODAY, None, None, 10)) == 3


def test_a_label_counts_while_it_is_valid_with_the_least_sure_choice_of_the_answer(store: Store) -> None:
    first, second = record(store, 1), record(store, 2)
    sure = call(0).model_copy(update={"confidence": 0.9})
    unsure = call(1).model_copy(update={"confidence": 0.7})
    other = call(2).model_copy(update={"confidence": 0.1, "tool": "escalate"})
    store.plans.save(plan(first, calls=(sure, unsure, other)))
    store.labels.add(label(first))
    store.labels.add(label(first, LabelOutcome.OWN_WORDS, NOON + MINUTE))
    store.labels.add(label(second))
    store.labels.undo(second, NOON)
    (found,) = store.quality.judged(TODAY, TOOLS, 10)
    assert (found.mail_id, found.is_right, found.confidence) == (first, False, 0.7)
    store.labels.undo(first, NOON)
    (found,) = store.quality.judged(TODAY, TOOLS, 10)
    assert found.is_right
    assert store.quality.judged(YESTERDAY, TOOLS, 10) == ()


def test_the_newest_labels_are_read_and_those_of_no_answer_left_out(store: Store) -> None:
    for number in (1, 2, 3):
        store.labels.add(label(record(store, number), at=NOON + number * MINUTE))
    assert [one.mail_id for one in store.quality.judged(TODAY, TOOLS, 2)] == [record(store, 3), record(store, 2)]
    nothing = label(record(store, 4), at=NOON + 9 * MINUTE).model_copy(update={"keys": ()})
    store.labels.add(nothing)
    assert record(store, 4) not in {one.mail_id for one in store.quality.judged(TODAY, TOOLS, 10)}


def test_an_automatic_answer_waited_until_it_was_sent(store: Store) -> None:
    mail_id = ended(store, 1, MailStatus.ANSWERED)
    row = put(store, outgoing(mail_id, at=NOON + MINUTE))
    assert store.quality.machine_waits(TODAY, 10) == ()
    assert store.outbox.claim(row.id, NOON + MINUTE)
    store.outbox.mark_sent(row.id, "250 ok", NOON + 2 * MINUTE, by="")
    (found,) = store.quality.machine_waits(TODAY, 10)
    assert (found.mail_id, found.waited) == (mail_id, 2 * MINUTE)


def test_a_mail_waits_for_a_person_until_words_a_document_or_a_label(store: Store) -> None:
    asked = record(store, 1)
    store.cases.open(case(), asked)
    put(store, outgoing(asked, OutgoingKind.PACKET, CASE))
    put(store, outgoing(asked, OutgoingKind.ANSWER, CASE))
    assert [one.waited for one in store.quality.person_waits(TODAY, 10)] == [None]
    lost = put(store, outgoing(record(store, 3), OutgoingKind.PERSON_REPLY, CASE, NOON + MINUTE))
    assert store.outbox.claim(lost.id, NOON + MINUTE)
    store.outbox.mark_uncertain(lost.id, "the connection was lost", NOON, by="")
    assert [one.waited for one in store.quality.person_waits(TODAY, 10)] == [None]
    reply = record(store, 2)
    put(store, outgoing(reply, OutgoingKind.PERSON_REPLY, CASE, NOON + 5 * MINUTE))
    assert [one.waited for one in store.quality.person_waits(TODAY, 10)] == [5 * MINUTE]
    store.labels.add(label(asked, at=NOON + MINUTE))
    (found,) = store.quality.person_waits(TODAY, 10)
    assert (found.mail_id, found.case_id, found.waited) == (asked, CASE, MINUTE)
    assert store.quality.person_waits(YESTERDAY, 10) == ()


def test_mails_are_listed_in_parts_the_newest_first(store: Store) -> None:
    store.cases.open(case(), record(store, 1))
    others = [ended(store, number, MailStatus.ESCALATED, "unsure", NOON + number * MINUTE) for number in (2, 3, 4)]
    wanted = MailFilter(period=TODAY, statuses=(MailStatus.ESCALATED,))
    part = store.quality.mails(wanted, 2)
    assert [mail.mail_id for mail in part] == [others[2], others[1]]
    rest = store.quality.mails(wanted, 2, (part[-1].at, part[-1].mail_id))
    assert [mail.mail_id for mail in rest] == [others[0]]
    (opened,) = store.quality.mails(MailFilter(period=TODAY, statuses=(MailStatus.NEW,)), 9)
    assert (opened.case_id, opened.subject) == (CASE, "Refund?")


def test_a_list_can_be_of_one_reason_or_of_none(store: Store) -> None:
    unsure = ended(store, 1, MailStatus.ESCALATED, "unsure")
    without = ended(store, 2, MailStatus.ESCALATED)
    for reason, mail_id in (("unsure", unsure), ("", without)):
        found = store.quality.mails(MailFilter(period=TODAY, reason=reason), 9)
        assert [mail.mail_id for mail in found] == [mail_id]


def test_mails_are_found_by_their_ids_in_the_order_of_the_ids(store: Store) -> None:
    first, second = record(store, 1), record(store, 2, NOON + timedelta(days=400))
    named = store.quality.named([second, MailId("0" * 32), first])
    assert [mail.mail_id for mail in named] == [second, first]
    assert named[0].case_id is None


def test_unconfirmed_mails_are_read_in_parts_without_those_that_a_person_gave_up(store: Store) -> None:
    rows = [put(store, outgoing(record(store, number), at=NOON + number * MINUTE)) for number in (1, 2, 3)]
    part = store.deliveries.unconfirmed(limit=2)
    assert [one.id for one in part] == [rows[0].id, rows[1].id]
    assert [one.id for one in store.deliveries.unconfirmed(limit=2, after=part[-1].id)] == [rows[2].id]
    assert [one.id for one in store.deliveries.unconfirmed()] == [one.id for one in rows]
