"""The list of the desk, read in parts and filtered, on each database: it shows what waits, and nothing else."""

from __future__ import annotations

import pytest

from support_agent.store.queue import NOBODY, Facet, QueuedCase, QueueFilter
from support_agent.store.records import CaseId, CaseState, MailId, MailStatus, OutgoingKind
from support_agent.store.store import Store
from tests.contract.store.examples import ANNA, CASE, DAY, MINUTE, NOON, outgoing, put, record
from tests.contract.store.test_waiting import escalated, waiting

OTHER, THIRD = CaseId("BBBBBBBBBB"), CaseId("CCCCCCCCCC")
ALL = QueueFilter()


def listed(store: Store, wanted: QueueFilter = ALL, limit: int = 10) -> list[str]:
    return [case.case_id for case in store.queue.cases(wanted, limit)]


def three(store: Store) -> list[MailId]:
    """The mails of three cases, the first waits longest."""
    return [escalated(store, number, case_id) for number, case_id in enumerate((CASE, OTHER, THIRD), start=1)]


def test_the_longest_waiting_comes_first_and_it_is_what_reminders_count(store: Store) -> None:
    first, *_ = three(store)
    assert listed(store) == [CASE, OTHER, THIRD] == [case.case_id for case in waiting(store)]
    store.cases.change(OTHER, CaseState.CLOSED, None, ANNA, "done", NOON)
    put(store, outgoing(record(store, 7), OutgoingKind.PERSON_REPLY, CASE, NOON + 5 * MINUTE, parent=first))
    assert listed(store) == [THIRD] == [case.case_id for case in waiting(store)]


def test_parts_of_the_list_follow_each_other_without_a_gap(store: Store) -> None:
    three(store)
    seen, after = list[QueuedCase](), None
    while part := store.queue.cases(ALL, 1, after):
        seen += part
        after = (part[-1].since, part[-1].case_id)
    assert [case.case_id for case in seen] == [CASE, OTHER, THIRD]


def test_a_case_shows_its_last_mail_its_wait_and_what_is_proposed(store: Store) -> None:
    first = escalated(store, 1)
    last = escalated(store, 4)
    proposal = put(store, outgoing(last, OutgoingKind.ANSWER, CASE, NOON).model_copy(update={"is_proposed": True}))
    (case,) = store.queue.cases(ALL, 10)
    assert (case.since, case.mail.id, case.proposed) == (NOON + MINUTE, last, (proposal.id,))
    assert case.mail.id != first


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (QueueFilter(assignee="ada@desk.example"), [OTHER]),
        (QueueFilter(assignee=NOBODY), [CASE, THIRD]),
        (QueueFilter(desk="billing@desk.example"), [THIRD]),
        (QueueFilter(language="de"), [CASE]),
        (QueueFilter(language=NOBODY), [OTHER, THIRD]),
        (QueueFilter(reason="unsure"), [OTHER]),
        (QueueFilter(level=3), [THIRD]),
        (QueueFilter(level=3, language="de"), []),
    ],
)
def test_filters_narrow_the_list_together(store: Store, wanted: QueueFilter, found: list[str]) -> None:
    three(store)
    cases = {case.case_id: case.mail.id for case in store.queue.cases(ALL, 10)}
    store.cases.change(OTHER, CaseState.WITH_PERSON, "ada@desk.example", "ada", "claim", NOON)
    store.cases.give_to_desk(THIRD, "billing@desk.example", "a rule", None)
    store.cases.note_language(CASE, "de")
    store.cases.note_language(OTHER, "")
    store.mails.save_sender(cases[THIRD], ANNA, 3, "proven")
    store.mails.end(cases[OTHER], MailStatus.ESCALATED, "unsure", None, NOON + DAY)
    assert listed(store, wanted) == found


def test_the_values_of_each_filter_are_counted(store: Store) -> None:
    three(store)
    store.cases.note_language(CASE, "de")
    store.cases.note_language(OTHER, "")
    found = store.queue.facets()
    assert found.total == 3
    assert found.languages == (Facet(value=NOBODY, cases=2), Facet(value="de", cases=1))
    assert found.assignees == (Facet(value=NOBODY, cases=3),)


def test_an_empty_desk_has_an_empty_list(store: Store) -> None:
    assert store.queue.cases(ALL, 10) == ()
    assert store.queue.facets().total == 0


def test_a_language_is_noted_once(store: Store) -> None:
    escalated(store)
    store.cases.note_language(CASE, "de")
    store.cases.note_language(CASE, "fr")
    assert store.cases.get_one(CASE).language == "de"


def test_cases_are_found_by_their_id_and_by_the_customers_whole_address(store: Store) -> None:
    three(store)
    address = store.cases.get_one(CASE).customer_address
    assert len(store.cases.found(address.upper(), 10)) == 3
    assert len(store.cases.found(address, 2)) == 2
    assert store.cases.found("nobody@example.net", 10) == ()
    assert store.cases.found(address[:-1], 10) == ()
