"""Cases and threads, on each database."""

from __future__ import annotations

from typing import cast

import pytest
from sqlalchemy import event
from sqlalchemy.pool import QueuePool

from support_agent.core.size_limits import MOST_PARAMETERS
from support_agent.errors import PermanentError
from support_agent.store.cases import DeskCases
from support_agent.store.records import CaseId, CaseState, MailStatus, OutgoingKind
from support_agent.store.store import Store
from tests.contract.store.examples import (
    ANNA,
    CASE,
    DAY,
    MINUTE,
    NOON,
    case,
    fill,
    outgoing,
    plan,
    put,
    record,
    rendered,
)

OTHER = CaseId("AAAAAAAAAA")


def test_a_case_opens_with_its_mail_and_its_customer(store: Store) -> None:
    """Rule: the customer's address is a participant, and the mail belongs to the case."""
    mail_id = record(store)
    opened = store.cases.open(case(), mail_id)
    assert opened == case(participants=(ANNA,))
    assert store.cases.get(CASE) == opened
    mail = store.mails.get(mail_id)
    assert mail is not None
    assert mail.case_id == CASE


def test_opening_a_case_again_changes_nothing(store: Store) -> None:
    """Rule: a step that runs again after a crash must not reopen a case that moved on."""
    mail_id = record(store)
    store.cases.open(case(), mail_id)
    store.cases.escalate(CASE)
    again = store.cases.open(case(opened_at=NOON + DAY), mail_id)
    assert (again.state, again.opened_at) == (CaseState.WITH_PERSON, NOON)


def test_a_case_needs_a_mail_that_exists(store: Store) -> None:
    """Rule: one transaction; without the mail there is no case either."""
    with pytest.raises(PermanentError, match="not in the store"):
        store.cases.open(case(), fill(store)[::-1])  # type: ignore[arg-type]
    with pytest.raises(PermanentError, match="not in the store"):
        store.cases.open(case(OTHER), "f" * 32)  # type: ignore[arg-type]
    assert store.cases.get(OTHER) is None


def test_a_follow_up_joins_a_case_that_is_there(store: Store) -> None:
    """Rule: participants are the addresses of the case, each once, sorted; a mail that joins adds those it names."""
    store.cases.open(case(participants=("boss@example.net", ANNA)), record(store, 1))
    follow_up = record(store, 2)
    for _ in range(2):
        assert store.cases.join(follow_up, CASE).participants == (ANNA, "boss@example.net")
    for _ in range(2):
        joined = store.cases.join(follow_up, CASE, (ANNA, "a@example.net"))
        assert joined.participants == ("a@example.net", ANNA, "boss@example.net")
    with pytest.raises(PermanentError, match="case AAAAAAAAAA"):
        store.cases.join(follow_up, OTHER)


def ids(store: Store, references: list[str]) -> list[CaseId]:
    return [found.id for found in store.cases.for_thread(references)]


def test_a_thread_is_found_by_what_was_received_and_by_what_was_sent(store: Store) -> None:
    """Rule (RFC 5322 3.6.4): a reply names our mail or the customer's own."""
    mail_id = record(store, 1)
    store.cases.open(case(), mail_id)
    sent = put(store, outgoing(mail_id, case_id=CASE))
    for known in ("<1@example.net>", sent.message_id):
        assert ids(store, ["<unknown@example.net>", known]) == [CASE]
    assert ids(store, ["<unknown@example.net>"]) == ids(store, []) == []


def test_the_cases_of_an_address_that_a_person_has(store: Store) -> None:
    """The oldest first; open and closed ones, and those of others, are not among them."""
    for number, (name, customer) in enumerate((("b", ANNA), ("a", ANNA), ("c", ANNA), ("d", "bob@example.net"))):
        opened = case(CaseId(name), NOON + number * MINUTE).model_copy(update={"customer_address": customer})
        store.cases.open(opened, record(store, number + 1))
        if name != "c":
            store.cases.escalate(CaseId(name))
    assert [found.id for found in store.cases.with_person(ANNA)] == ["b", "a"]


def test_a_mail_without_a_case_makes_no_thread(store: Store) -> None:
    """Rule: a filed mail has no case to continue."""
    record(store, 1)
    assert ids(store, ["<1@example.net>"]) == []


def test_the_nearest_reference_comes_first(store: Store) -> None:
    """Rule: In-Reply-To before the rest of the thread; each case once."""
    store.cases.open(case(), record(store, 1))
    store.cases.open(case(OTHER), record(store, 2))
    for nearest, expected in (("1", CASE), ("2", OTHER)):
        farthest = "2" if nearest == "1" else "1"
        references = [f"<{name}@example.net>" for name in (nearest, farthest, nearest)]
        assert ids(store, references) == [expected, OTHER if expected == CASE else CASE]


def test_a_copied_message_id_does_not_take_a_thread_over(store: Store) -> None:
    """Failure: a stranger's mail bears the Message-ID of ours, or of the customer's, and the thread moves.

    Both cases are named, ours first: who may continue which, the caller knows.
    """
    first = record(store, 1, at=NOON)
    store.cases.open(case(), first)
    sent = put(store, outgoing(first, case_id=CASE))
    for number, copied in ((2, "<1@example.net>"), (3, sent.message_id)):
        stranger = record(store, number, at=NOON + MINUTE, message_id=copied)
        store.cases.open(case(OTHER), stranger)
        assert ids(store, [copied]) == [CASE, OTHER]


def test_any_number_of_references_is_searched(store: Store) -> None:
    """Rule: a long References field is no error, and its far end still counts."""
    store.cases.open(case(), record(store, 1))
    references = [f"<{number}@unknown.example>" for number in range(2 * MOST_PARAMETERS)] + ["<1@example.net>"]
    assert ids(store, references) == [CASE]


def test_a_case_is_never_given_back_to_the_machine(store: Store) -> None:
    """Rule: an escalated case is closed to automation, however often it is escalated, opened or joined."""
    mail_id = record(store)
    store.cases.open(case(), mail_id)
    for _ in range(2):
        store.cases.escalate(CASE)
    assert store.cases.open(case(), mail_id).state is CaseState.WITH_PERSON
    assert store.cases.join(record(store, 2), CASE).state is CaseState.WITH_PERSON


def close(store: Store, case_id: CaseId = CASE) -> None:
    store.cases.change(case_id, CaseState.CLOSED, None, "the customer", "solved", NOON)


def test_a_closed_case_is_opened_again_for_the_machine(store: Store) -> None:
    """Rule: as it was before it was closed; opening a case that is not closed changes nothing."""
    store.cases.open(case(), record(store))
    close(store)
    closed = store.cases.get(CASE)
    assert closed is not None
    assert closed.state is CaseState.CLOSED
    assert [store.cases.reopen(CASE).state for _ in range(2)] == [CaseState.OPEN, CaseState.OPEN]
    store.cases.escalate(CASE)
    assert store.cases.reopen(CASE).state is CaseState.WITH_PERSON


def test_a_closed_case_that_a_person_had_is_opened_again_for_a_person(store: Store) -> None:
    """Rule: closing is no way back to automation."""
    mail_id = record(store)
    store.cases.open(case(), mail_id)
    store.outbox.queue(outgoing(mail_id, OutgoingKind.PACKET, CASE))
    store.cases.escalate(CASE)
    close(store)
    assert store.cases.reopen(CASE).state is CaseState.WITH_PERSON


def test_a_closed_case_that_a_person_had_given_back_is_opened_again_for_the_machine(store: Store) -> None:
    """Failure: the old packet in its outbox gave it to a person again. The last close counts."""
    mail_id = record(store)
    store.cases.open(case(), mail_id)
    store.outbox.queue(outgoing(mail_id, OutgoingKind.PACKET, CASE))
    store.cases.escalate(CASE)
    close(store)
    store.cases.reopen(CASE)
    store.cases.change(CASE, CaseState.OPEN, None, "ada", "approved", NOON)
    close(store)
    assert [store.cases.reopen(CASE).state for _ in range(2)] == [CaseState.OPEN, CaseState.OPEN]


def test_closing_an_unknown_case_is_an_error(store: Store) -> None:
    """Rule: nothing is closed by mistake."""
    with pytest.raises(PermanentError, match="is not in the store"):
        close(store, OTHER)


def test_giving_an_unknown_case_to_a_person_is_an_error(store: Store) -> None:
    """Rule: a write that hits no row says so."""
    with pytest.raises(PermanentError, match="not in the store"):
        store.cases.escalate(OTHER)


def test_cases_are_listed_by_their_youngest_mail(store: Store) -> None:
    """Rule: what moved last is on top; the limit holds."""
    store.cases.open(case(), record(store, 1, at=NOON))
    store.cases.open(case(OTHER), record(store, 2, at=NOON + MINUTE))
    for number in (3, 4, 5):
        store.cases.join(record(store, number, at=NOON + DAY), CASE)
    for limit in (2, 10):  # fewer and more than there are mails
        assert [(line.case.id, line.mails, line.last_received_at) for line in store.cases.recent(limit)] == [
            (CASE, 4, NOON + DAY),
            (OTHER, 1, NOON + MINUTE),
        ]
    assert [line.case.id for line in store.cases.recent(limit=1)] == [CASE]


def test_the_timeline_holds_everything_in_order(store: Store) -> None:
    """Rule: what `show` and `why` need is one read."""
    assert store.cases.timeline(CASE) is None
    first = fill(store)
    second = record(store, 2, at=NOON + MINUTE)
    store.cases.join(second, CASE)
    store.mails.end(first, MailStatus.ANSWERED, None, None, NOON)

    timeline = store.cases.timeline(CASE)
    assert timeline is not None
    assert timeline.case.participants == (ANNA, "second@example.net")
    assert [entry.mail.id for entry in timeline.mails] == [first, second]
    entry, follow_up = timeline.mails
    assert entry.plan == plan(first)
    assert entry.rendered_mails == (rendered(first),)
    assert entry.outbox == store.outbox.find(mail_id=first)
    assert (follow_up.plan, follow_up.rendered_mails, follow_up.outbox) == (None, (), ())


def test_a_timeline_needs_one_connection_at_a_time(store: Store) -> None:
    """Failure: it waited for a second one while it had the first; with enough threads none ever got a second."""
    fill(store)
    pool, in_use = store.database._engine.pool, list[int]()
    event.listen(pool, "checkout", lambda *_: in_use.append(cast("QueuePool", pool).checkedout()))
    assert store.cases.timeline(CASE) is not None
    assert {*in_use} == {1}


def test_a_case_keeps_its_desk_unless_it_is_the_one_that_is_replaced(store: Store) -> None:
    """Rule: two that give a case a desk at once leave one, and both know which."""
    store.cases.open(case(), record(store))
    assert store.cases.give_to_desk(CASE, "a@x.example", "rule 1", None).desk == "a@x.example"
    kept = store.cases.give_to_desk(CASE, "b@x.example", "rule 2", None)
    assert (kept.desk, kept.desk_why) == ("a@x.example", "rule 1")
    assert store.cases.give_to_desk(CASE, "b@x.example", "rule 2", "a@x.example").desk == "b@x.example"


def test_cases_with_people_are_counted_by_desk_and_rule(store: Store) -> None:
    assert store.cases.at_desks() == ()
    for number, case_id in enumerate((CASE, OTHER), start=1):
        store.cases.open(case(case_id), record(store, number))
        store.cases.give_to_desk(case_id, "a@x.example", "rule 1", None)
    store.cases.escalate(CASE)
    assert store.cases.at_desks() == (DeskCases(desk="a@x.example", why="rule 1", cases=1),)
