"""One transaction for several calls: whole or not at all, for its thread alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread

import pytest

from support_agent.errors import PermanentError, TransientError
from support_agent.store.records import CaseState, MailId, MailStatus
from support_agent.store.store import Store
from tests.contract.store.examples import CASE, NOON, case, record


def escalate_and(store: Store, act: Callable[[], None]) -> None:
    with store.database.together():
        store.cases.escalate(CASE)
        act()


def screen_nobody(store: Store) -> None:
    """Fails: there is no such mail."""
    store.mails.save_screening(MailId("nobody"), "answer", None)


def test_what_is_done_together_is_kept_together(store: Store) -> None:
    """Rule: a read inside sees what was written inside; afterwards all of it is there."""
    mail_id = record(store)
    store.cases.open(case(), mail_id)
    with store.database.together():
        store.cases.escalate(CASE)
        assert store.cases.get_one(CASE).state is CaseState.WITH_PERSON
        store.mails.end(mail_id, MailStatus.ESCALATED, "why", None, NOON)
    assert store.cases.get_one(CASE).state is CaseState.WITH_PERSON
    assert [mail.id for mail in store.mails.find(status=MailStatus.ESCALATED)] == [mail_id]


def test_nothing_stays_of_what_an_error_ended(store: Store) -> None:
    """Rule: an error rolls back what was written before it in the block."""
    store.cases.open(case(), record(store))
    with pytest.raises(PermanentError, match="not in the store"):
        escalate_and(store, partial(screen_nobody, store))
    assert store.cases.get_one(CASE).state is CaseState.OPEN


def test_an_error_that_was_caught_ends_the_whole_all_the_same(store: Store) -> None:
    """Rule: a part that failed may have written something, so nothing of the block is kept."""
    store.cases.open(case(), record(store))

    def fail_quietly() -> None:
        with suppress(PermanentError):
            screen_nobody(store)

    with pytest.raises(TransientError, match="a part of the transaction failed"):
        escalate_and(store, fail_quietly)
    assert store.cases.get_one(CASE).state is CaseState.OPEN


def test_another_thread_sees_nothing_of_it_before_its_end(store: Store) -> None:
    """Rule: the transaction is its thread's; another thread reads what was there before."""
    store.cases.open(case(), record(store))
    seen: list[CaseState] = []
    with store.database.together():
        store.cases.escalate(CASE)
        other = Thread(target=lambda: seen.append(store.cases.get_one(CASE).state))
        other.start()
        other.join()
    assert seen == [CaseState.OPEN]


def test_one_block_inside_another_is_part_of_it(store: Store) -> None:
    """Rule: the outer block decides; an inner one commits nothing by itself."""
    store.cases.open(case(), record(store))
    with pytest.raises(PermanentError):
        escalate_and(store, partial(escalate_and, store, partial(screen_nobody, store)))
    assert store.cases.get_one(CASE).state is CaseState.OPEN
