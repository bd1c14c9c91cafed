"""What is known of a case, kept with the plans of its mails, on each database."""

from __future__ import annotations

import pytest

from support_agent.errors import PermanentError
from support_agent.store.plans import MAX_MEMORY_CHARACTERS
from support_agent.store.records import CaseId, MailId, MailStatus
from support_agent.store.store import Store
from tests.contract.store.examples import CASE, DAY, MINUTE, NOON, case, outgoing, plan, put, record

OTHER = CaseId("AAAAAAAAAA")


@pytest.fixture
def mails(store: Store) -> tuple[MailId, MailId, MailId]:
    """Three mails of one case, a minute between them."""
    ids = [record(store, number, at=NOON + number * MINUTE) for number in range(3)]
    store.cases.open(case(), ids[0])
    for mail_id in ids[1:]:
        store.cases.join(mail_id, CASE)
    return ids[0], ids[1], ids[2]


def test_a_mail_begins_with_what_the_one_before_it_left(store: Store, mails: tuple[MailId, MailId, MailId]) -> None:
    """Rule: opaque text, as it was: line ends and all."""
    first, second, third = mails
    assert store.plans.memory_before(first) is None
    store.plans.save(plan(first), '{"h": "Größe\\u0000\r\n"}')
    store.plans.save(plan(second), "of the second")
    assert store.plans.memory_before(first) is None
    assert store.plans.memory_before(second) == '{"h": "Größe\\u0000\r\n"}'
    assert store.plans.memory_before(third) == "of the second"


def test_a_plan_that_is_made_again_begins_with_the_same(store: Store, mails: tuple[MailId, MailId, MailId]) -> None:
    """Failure: a crash after the plan was kept, and the second run reads what the first one had found out."""
    first, second, third = mails
    store.plans.save(plan(first), "of the first")
    for _ in range(2):
        assert store.plans.memory_before(second) == "of the first"
        store.plans.save(plan(second), "of the second")
    assert store.plans.memory_before(third) == "of the second"


def test_a_mail_that_needed_no_memory_does_not_end_it(store: Store, mails: tuple[MailId, MailId, MailId]) -> None:
    """Rule: nothing is forgotten because an account field was asked for in between."""
    first, second, third = mails
    store.plans.save(plan(first), "of the first")
    store.plans.save(plan(second))
    assert store.plans.memory_before(third) == "of the first"


def test_a_case_knows_nothing_of_another(store: Store, mails: tuple[MailId, MailId, MailId]) -> None:
    store.plans.save(plan(mails[0]), "of the first")
    stranger = record(store, 7, at=NOON + DAY)
    store.cases.open(case(OTHER), stranger)
    assert store.plans.memory_before(stranger) is None
    assert store.plans.memory_before(record(store, 8, at=NOON + DAY)) is None, "no case at all"
    assert store.plans.memory_before(MailId("f" * 32)) is None


def test_a_memory_is_replaced_with_its_plan_and_kept_with_it(
    store: Store, mails: tuple[MailId, MailId, MailId]
) -> None:
    """Rule: what was known when a mail was decided that may have gone out is never told otherwise."""
    first, second, _ = mails
    store.plans.save(plan(first), "old")
    store.plans.save(plan(first), "new")
    assert store.plans.memory_before(second) == "new"
    put(store, outgoing(first, case_id=CASE))
    store.plans.save(plan(first), "new")
    for other in (plan(first, model="other"), plan(first)):
        with pytest.raises(PermanentError, match="in the outbox"):
            store.plans.save(other, "other")
    assert store.plans.memory_before(second) == "new"
    assert store.plans.get(first) == plan(first)


def test_a_memory_that_is_too_long_is_kept_neither_whole_nor_in_part(
    store: Store, mails: tuple[MailId, MailId, MailId]
) -> None:
    """Rule: half a memory cannot be read, and the plan that was made with it is not kept without it."""
    first, second, _ = mails
    with pytest.raises(PermanentError, match="let a person take the case") as refused:
        store.plans.save(plan(first), "x" * (MAX_MEMORY_CHARACTERS + 1))
    assert refused.value.code == "memory_size"
    assert store.plans.get(first) is None
    store.plans.save(plan(first), "x" * MAX_MEMORY_CHARACTERS)
    assert len(store.plans.memory_before(second) or "") == MAX_MEMORY_CHARACTERS


def test_retention_takes_the_memory_with_the_case(store: Store, mails: tuple[MailId, MailId, MailId]) -> None:
    """Rule: nothing of a customer stays; the case whose id comes again knows nothing."""
    for mail_id in mails:
        store.plans.save(plan(mail_id), "of a customer")
        store.mails.end(mail_id, MailStatus.ANSWERED, None, None, NOON)
    assert store.retention.delete_older_than(NOON + DAY).cases == 1
    again = record(store, 9, at=NOON + DAY)
    store.cases.open(case(), again)
    assert store.plans.memory_before(again) is None
