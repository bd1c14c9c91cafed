"""Two at a time: exactly one wins, and nobody fails for having waited."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import TypeVar

from support_agent.store.records import OutboxStatus
from support_agent.store.store import Store
from tests.contract.store.examples import NOON, cursor, outgoing, plan, put, queue, raw, record

ROUNDS = 20
Result = TypeVar("Result")


def together(*tasks: Callable[[], Result]) -> list[Result]:
    """Run the tasks in threads that start at the same moment; return their results."""
    barrier = Barrier(len(tasks), timeout=30)

    def run(task: Callable[[], Result]) -> Result:
        barrier.wait()
        return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(run, tasks))


def test_of_two_threads_that_claim_a_row_one_wins(store: Store, store_url: str) -> None:
    """Rule: one sender per try, whether the two share a process or only the database."""
    with Store.open(store_url) as other:
        for number in range(ROUNDS):
            row = queue(store, number)
            won = together(*(partial(each.outbox.claim, row.id, NOON) for each in (store, other)))
            assert sorted(won) == [False, True]
    assert {row.attempts for row in store.outbox.find(status=OutboxStatus.SENDING)} == {1}


def test_of_two_threads_that_record_a_mail_one_finds_it_new(store: Store) -> None:
    """Rule: overlapping fetches do not make two mails."""
    for number in range(ROUNDS):
        fetch = partial(store.mails.record, raw(number), f"<{number}@example.net>", cursor(number), NOON)
        recorded = together(fetch, fetch)
        assert sorted(mail.is_new for mail in recorded) == [False, True]
    assert store.cursors.get("INBOX") == cursor(ROUNDS - 1)


def test_of_two_threads_that_queue_a_mail_one_decides_its_bytes(store: Store) -> None:
    """Rule: both go on with the same bytes."""
    for number in range(ROUNDS):
        mail_id = record(store, number)
        rows = together(*(partial(put, store, outgoing(mail_id, body=body)) for body in (b"one", b"two")))
        assert rows[0] == rows[1]


def test_writers_wait_for_each_other(store: Store) -> None:
    """Failure: SQLite refuses a reader that turns writer at once, without waiting."""

    def work(worker: int) -> int:
        for number in range(ROUNDS):
            mail_id = record(store, 100 * worker + number)
            store.plans.save(plan(mail_id))
            row = put(store, outgoing(mail_id))
            store.outbox.claim(row.id, NOON)
            store.outbox.mark_sent(row.id, "250 ok", NOON, by="")
        return worker

    assert together(*(partial(work, worker) for worker in range(4))) == [0, 1, 2, 3]
    assert store.traffic.totals().outbox[OutboxStatus.SENT] == 4 * ROUNDS
