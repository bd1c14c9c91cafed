"""Addresses that bounced for good, on each database."""

from __future__ import annotations

from support_agent.store.store import Store
from tests.contract.store.examples import ANNA, DAY, NOON, queue


def test_s64_the_address_of_a_mail_is_suppressed_until_an_instant(store: Store) -> None:
    """Rule: the recipient of our own mail, with what is known; then it is over, and forgotten."""
    row = queue(store)
    store.suppressions.add(row, "550 5.1.1", NOON, NOON + DAY)
    found = store.suppressions.of(ANNA, NOON)
    assert found is not None
    assert (found.address, found.outbox_id, found.detail, found.until) == (ANNA, row.id, "550 5.1.1", NOON + DAY)
    assert store.suppressions.all(NOON) == (found,)
    assert store.suppressions.of("other@example.net", NOON) is None
    assert store.suppressions.of(ANNA, NOON + DAY) is None
    store.suppressions.delete_expired(NOON + DAY)
    assert store.suppressions.all(NOON) == ()


def test_s64_the_later_end_stays(store: Store) -> None:
    """Rule: a bounce that is read again, or an older one, shortens nothing."""
    row = queue(store)
    for days in (2, 5, 1):
        store.suppressions.add(row, f"{days}", NOON, NOON + days * DAY)
    found = store.suppressions.of(ANNA, NOON)
    assert found is not None
    assert (found.detail, found.until) == ("5", NOON + 5 * DAY)


def test_a_person_lifts_it(store: Store) -> None:
    store.suppressions.add(queue(store), "550", NOON, NOON + DAY)
    store.suppressions.lift(ANNA)
    store.suppressions.lift(ANNA)
    assert store.suppressions.of(ANNA, NOON) is None
