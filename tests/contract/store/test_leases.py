"""Leases among the workers on a store."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from support_agent.core.clock import utc_now
from support_agent.core.cursor import Cursor
from support_agent.errors import TransientError
from support_agent.store.leases import Lease
from support_agent.store.store import Store

LASTS = timedelta(minutes=1)
OVER = timedelta(microseconds=-1)
"""A lease that has ended when it is taken."""


@pytest.fixture
def now() -> datetime:
    """The database's own clock decides on PostgreSQL."""
    return utc_now()


def test_a_lease_has_one_holder_who_may_renew_it(store: Store, now: datetime) -> None:
    assert store.leases.take("mailbox", "a", LASTS, now) == Lease("mailbox", 1)
    assert store.leases.take("mailbox", "b", LASTS, now) is None
    assert store.leases.take("mailbox", "a", LASTS, now) == Lease("mailbox", 1)
    assert store.leases.holders("mailbox", now) == {"a"}


def test_an_ended_lease_goes_to_another_under_a_new_token(store: Store, now: datetime) -> None:
    store.leases.take("mailbox", "a", OVER, now)
    later = now + timedelta(seconds=1)
    assert store.leases.holders("mailbox", later) == frozenset()
    assert store.leases.take("mailbox", "b", LASTS, later) == Lease("mailbox", 2)
    assert store.leases.take("mailbox", "a", LASTS, later) is None


def test_a_released_lease_is_free_at_once(store: Store, now: datetime) -> None:
    store.leases.take("mailbox", "a", LASTS, now)
    store.leases.release("mailbox", "b")
    assert store.leases.take("mailbox", "b", LASTS, now) is None
    store.leases.release("mailbox", "a")
    assert store.leases.take("mailbox", "b", LASTS, now) == Lease("mailbox", 2)


def test_who_lives_is_told_by_the_beginning_of_the_names(store: Store, now: datetime) -> None:
    for name in ("a", "b", "c"):
        store.leases.take(f"worker:{name}", name, LASTS if name != "b" else OVER, now)
    store.leases.take("mailbox", "d", LASTS, now)
    assert store.leases.holders("worker:", now + timedelta(seconds=1)) == {"a", "c"}
    store.leases.end_all()
    assert store.leases.holders("", now) == frozenset()


def test_who_lost_the_lease_records_no_mail(store: Store, now: datetime) -> None:
    """A worker that was stopped for a while goes on with a mailbox that another one reads: fencing."""
    cursor = Cursor(folder="INBOX", uid_validity=1, last_uid=1)
    mine = store.leases.take("mailbox", "a", OVER, now)
    assert store.mails.record(b"first", "<1@a>", cursor, now, lease=mine).is_new
    store.leases.take("mailbox", "b", LASTS, now + timedelta(seconds=1))
    with pytest.raises(TransientError, match="another worker has taken over mailbox") as lost:
        store.mails.record(b"second", "<2@a>", cursor.model_copy(update={"last_uid": 2}), now, lease=mine)
    assert lost.value.code == "lease_lost"
    assert len(store.mails.find()) == 1
    assert store.cursors.get("INBOX") == cursor
