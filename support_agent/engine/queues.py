"""Takes mails from DBOS's queues as soon as there is something to take, instead of at the next poll.

DBOS polls a queue at an interval. Here a thread of ours claims with the library's own statement when this process
starts a mail or ends one, or when another process announces a mail (PostgreSQL, LISTEN and NOTIFY). The interval
remains for what nobody announced.

Invariant: a mail that is started, or whose turn comes, in this process is taken without waiting for the interval, and
a process never has more mails in hand than `concurrency`. Checked by tests/integration/engine/test_wake.py with an
interval of a minute.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence

import psycopg
import structlog
from dbos import DBOS, Queue

# Private names of the library, which is pinned to one minor version.
from dbos._core import ActiveWorkflowById, QueueBucket, execute_dequeued_workflow
from dbos._utils import GlobalParams
from sqlalchemy import func, make_url, select

from support_agent.engine.records import ACTIVE

log = structlog.get_logger(__name__)

CHANNEL = "support_agent_mails"
JOIN_S = 10.0
RECONNECT_S = 5.0


class Queues:
    """The threads that take mails from the queues of this process.

    Args:
        concurrency: Most mails of one queue in hand at the same time.
        poll_interval_s: Longest wait in seconds before a queue is looked at without a ring.
        ended: Called each time a mail has ended in this process and its end is recorded.
    """

    def __init__(self, concurrency: int, poll_interval_s: float, ended: Callable[[], None]) -> None:
        self._concurrency, self._interval_s, self._ended = concurrency, poll_interval_s, ended
        self._bells: dict[str, threading.Event] = {}
        self._taken: dict[str, set[str]] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._dbos: DBOS | None = None

    def watch(self, dbos: DBOS) -> None:
        """Hear of each mail that ends; call this before the launch. DBOS itself polls none of our queues then."""
        DBOS.listen_queues([])
        dbos._active_workflows_set = _Active(self._mail_ended)

    def start(self, dbos: DBOS, names: Sequence[str]) -> None:
        """Take mails from these queues from now on; call this after the launch."""
        self._dbos = dbos
        for name in names:
            queue = DBOS.retrieve_queue(name)
            assert queue is not None, f"queue {name} is registered before the launch"
            self._bells[name], self._taken[name] = threading.Event(), set()
            thread = threading.Thread(target=self._keep_taking, args=(dbos, queue), name=name, daemon=True)
            self._threads.append(thread)
        for thread in self._threads:
            thread.start()

    def ring(self, name: str | None = None) -> None:
        """Look at a queue now, or at all."""
        for queue, bell in self._bells.items():
            if name in (None, queue):
                bell.set()

    def has_taken(self, name: str) -> bool:
        """Whether this process has a mail of the queue in hand."""
        return bool(self._taken.get(name))

    def count(self, name: str) -> dict[str, int]:
        """How many mails of the queue each of the `ACTIVE` states has, in all processes; call this after the launch."""
        assert self._dbos is not None, "start comes first"
        table = self._dbos._sys_db.tables.workflow_status
        query = select(table.c.status, func.count()).where(table.c.queue_name == name, table.c.status.in_(ACTIVE))
        with self._dbos._sys_db.engine.connect() as connection:
            return {str(status): int(number) for status, number in connection.execute(query.group_by(table.c.status))}

    def taken(self) -> frozenset[str]:
        """The workflows that this process has in hand, of all queues."""
        with self._lock:
            return frozenset().union(*self._taken.values())

    def release(self, workflow_ids: Collection[str]) -> None:
        """Count these as taken no longer: a mail whose end nobody reported must not keep a place for ever."""
        with self._lock:
            for taken in self._taken.values():
                taken.difference_update(workflow_ids)
        self.ring()

    def stop(self) -> None:
        """Take no further mail."""
        self._stopping.set()
        self.ring()
        for thread in self._threads:
            thread.join(JOIN_S)

    def _keep_taking(self, dbos: DBOS, queue: Queue) -> None:
        bell = self._bells[queue.name]
        while not self._stopping.is_set():
            bell.clear()  # before looking: what comes meanwhile rings again
            try:
                self._take(dbos, queue)
            except Exception as error:  # the database is away or full: tried again at the next ring or interval
                log.warning("mails_not_taken", error=type(error).__name__)
            bell.wait(self._interval_s)

    def _take(self, dbos: DBOS, queue: Queue) -> None:
        """Claim as many mails as there is room for, at most one of each thread, and hand them to DBOS's threads."""
        taken, owner = self._taken[queue.name], str(uuid.uuid4())
        room = self._concurrency - len(taken)
        if room <= 0 or self._stopping.is_set():
            return
        ids = dbos._sys_db.start_queued_partitioned_workflows(
            queue,
            GlobalParams.executor_id,
            GlobalParams.app_version,
            room,
            owner_xid=owner,
            is_latest_version=True,
        )
        if not ids:
            return
        with self._lock:
            taken.update(ids)
        begun: set[str] = set()
        try:
            for status in dbos._sys_db.get_workflow_statuses(ids):
                execute_dequeued_workflow(dbos, status, owner)
                if status["status"] == "PENDING":  # else another process has taken it over since the claim
                    begun.add(status["workflow_uuid"])
        finally:  # the engine finds claimed mails that no thread has
            with self._lock:
                taken.difference_update(set(ids) - begun)

    def _mail_ended(self, workflow_id: str) -> None:
        with self._lock:
            for taken in self._taken.values():
                taken.discard(workflow_id)
        self.ring()
        self._ended()


class _Active(ActiveWorkflowById):
    """DBOS's list of running workflows, which tells when one leaves it: then its end is recorded."""

    def __init__(self, left: Callable[[str], None]) -> None:
        super().__init__()
        self._left = left

    def _remove(self, key: str, bucket: QueueBucket) -> None:
        super()._remove(key, bucket)
        self._left(key)


class Announcements:
    """Notifies the other processes on a PostgreSQL database of new mails, and hears of theirs.

    An announcement that is lost costs a poll's wait, nothing else, so errors are logged and the connection is opened
    again.

    Args:
        url: SQLAlchemy URL of a PostgreSQL database.
        heard: Called when another process announces a mail.
        options: Further parameters of the connections.
    """

    def __init__(self, url: str, heard: Callable[[], None], options: Mapping[str, int]) -> None:
        parsed = make_url(url).set(drivername="postgresql")
        parsed = parsed.update_query_dict({name: str(value) for name, value in options.items()})
        self._url = parsed.render_as_string(hide_password=False)
        self._heard = heard
        self._stopping = threading.Event()
        self._sender: psycopg.Connection | None = None
        self._thread = threading.Thread(target=self._listen, name="announcements", daemon=True)

    def start(self) -> None:
        """Listen from now on."""
        self._thread.start()

    def announce(self) -> None:
        """Notify the other processes that a mail is queued; for one thread at a time."""
        if self._stopping.is_set():
            return
        try:
            if self._sender is None:
                self._sender = psycopg.connect(self._url, autocommit=True)
            self._sender.execute("SELECT pg_notify(%s, '')", (CHANNEL,))
        except psycopg.Error as error:
            log.warning("mail_not_announced", error=type(error).__name__)
            self._close_sender()

    def stop(self) -> None:
        """Listen no longer."""
        self._stopping.set()
        self._thread.join(JOIN_S)
        self._close_sender()

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True) as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    self._heard()  # of what came before
                    while not self._stopping.is_set():
                        for _ in connection.notifies(timeout=1.0, stop_after=1):
                            self._heard()
            except psycopg.Error as error:
                log.warning("announcements_not_heard", error=type(error).__name__)
                self._stopping.wait(RECONNECT_S)

    def _close_sender(self) -> None:
        if self._sender is not None:
            self._sender.close()
            self._sender = None
