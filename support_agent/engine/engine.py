"""Run each mail's journey as recorded steps, so that a process that dies loses nothing.

Invariant: a step whose result was recorded never runs again, a mail started twice runs once, and mails of one
thread run one after the other in the order of their start, on PostgreSQL across all processes. A step runs *at least*
once: a step that was running when the process died runs again, which is why the outbox, not the engine, prevents a
second mail. A process that was taken for dead and goes on cannot record a step of a mail that another has taken over.
All records are JSON. Checked by tests/integration/engine: real processes, real `kill -9`, SQLite and PostgreSQL.

Only this package uses DBOS; the journey sees `steps.Steps`.
"""

from __future__ import annotations

import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

import structlog
from dbos import DBOS, DBOSClient, DBOSConfig, SetEnqueueOptions, SetWorkflowID, WorkflowStatus
from dbos import error as dbos_error
from dbos._migration import sqlite_migrations  # the library says in no public place which tables it knows
from pydantic import JsonValue

from support_agent.config.settings import EngineSettings
from support_agent.core.observing import UNOBSERVED, Observer
from support_agent.engine.database import is_postgresql, mapped_errors, prepare, shown
from support_agent.engine.hands import Hands
from support_agent.engine.queues import Announcements, Queues
from support_agent.engine.records import (
    ACTIVE,
    BATCH,
    JsonSerializer,
    batches,
    brand_and_mail,
    failure_of,
    id_of,
    interruptions_of,
    queue_of,
)
from support_agent.engine.schema import refuse_newer
from support_agent.engine.steps import JOURNEY_CHANGED, Steps, Work, first_line, known_error
from support_agent.errors import ConfigError, PermanentError, SupportAgentError, TransientError

log = structlog.get_logger(__name__)

APPLICATION = "support-agent"
APPLICATION_VERSION = "1"
"""Never changes: DBOS ignores the work of another version. The names of the steps reveal a changed journey."""
WORKFLOW = "handle_mail"
FAILED = ["ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
FINISHED = ["SUCCESS", *FAILED]

KNOWN_SCHEMA = len(sqlite_migrations)
"""The newest version of the engine's tables that the library knows; its numbers are the same on each database."""
LOST_AFTER_S = 5.0
"""After this time a mail is queued again that is recorded as running here while no thread runs it."""
LAST_PLACE = 2**30
"""Places in the queue are counted anew from here on; the column ends at twice this."""

Handle = Callable[[str, Steps], str]
"""The journey of one mail: takes the mail's id and its steps, returns the outcome."""


class Failure(NamedTuple):
    """A mail whose journey failed; the caller escalates it."""

    mail_id: str
    error: SupportAgentError


class InHand(NamedTuple):
    """How many mails wait for their journey, and how many journeys run."""

    queued: int
    running: int


class Engine:
    """Queues of mails in a database, handled by threads. One per process: DBOS is a singleton.

    The mails of a brand (`serve`) have a queue of their own, so that those of another do not delay them.

    Args:
        url: SQLAlchemy URL of the engine's own tables: a SQLite file or PostgreSQL, see `database.engine_url`.
        executor_id: See `executor_id`: two processes with the same id would run steps twice.
        settings: The `engine` section.
        handle: The journey; runs once per mail, and again from its first open step after each interruption. None: only
            brands are served.
        alive: Returns the executor ids of the processes that work on this database now. By default there is none
            besides this one.
    """

    _live: Engine | None = None

    def __init__(
        self,
        url: str,
        executor_id: str,
        settings: EngineSettings,
        handle: Handle | None = None,
        alive: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._url = url
        self.executor_id = executor_id
        self._settings = settings
        self._handles = {"": handle} if handle is not None else {}
        self._alive = alive
        self._observers: dict[str, Observer] = {}
        self._workflow: Callable[[str, str], str] | None = None
        self._hands = Hands()
        self._ended = threading.Event()
        self._queues = Queues(settings.concurrency, settings.poll_interval_s, self._ended.set)
        self._announcements = Announcements(url, self._queues.ring) if is_postgresql(url) else None
        self._lost_since: dict[str, float] = {}
        self._starting = threading.Lock()
        self._requeuing = threading.Lock()
        self._looked_s = 0.0
        self._next_place = 1
        self._stopping = threading.Event()
        self._abandoning = threading.Event()

    def serve(self, brand: str, handle: Handle, observer: Observer = UNOBSERVED) -> BrandJourneys:
        """Handle the mails of a brand, too; call this before `launch`.

        Args:
            brand: A short name without ":"; the records of its mails begin with it. "": none.
            observer: Told of each journey and its steps.
        """
        if Engine._live is self or brand in self._handles or ":" in brand:
            raise ValueError(f"brand {brand!r} cannot be added to this engine")
        self._handles[brand], self._observers[brand] = handle, observer
        return BrandJourneys(self, brand)

    def launch(self) -> None:
        """Open the database, take over the mails of dead processes, and begin to work.

        Raises:
            ConfigError: the database cannot be used, or an engine is already running in this process.
        """
        if Engine._live is not None:
            raise ConfigError("an engine is already running in this process: stop it first")
        if self._stopping.is_set():
            raise RuntimeError("a stopped engine does not start again: make one with a new executor id")
        prepare(self._url)
        _route_library_log()

        @DBOS.workflow(name=WORKFLOW)
        def handle_mail(mail_id: str, thread: str) -> str:
            return self._run(mail_id, thread)

        self._workflow = handle_mail
        try:
            refuse_newer(self._url, KNOWN_SCHEMA)
            self._open_queues()
            dbos = DBOS(config=self._configuration())
            self._queues.watch(dbos)
            DBOS.launch()
            self._queues.start(dbos, [queue_of(brand) for brand in self._handles])
        except Exception as error:
            DBOS.destroy(destroy_registry=True)
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(
                f"the engine's database {shown(self._url)} cannot be used ({first_line(error)}): "
                "check that it is reachable and that this user may create tables in it",
                code="engine_database",
            ) from error
        if self._announcements is not None:
            self._announcements.start()
        Engine._live = self
        log.info("engine_launched", executor_id=self.executor_id, database=shown(self._url))

    @mapped_errors()
    def start(self, mail_id: str, thread: str, brand: str = "") -> None:
        """Queue a mail; a mail that was started before, finished or not, stays as it is.

        Args:
            mail_id: Not empty, unique among all mails.
            thread: Name of its thread, not empty; mails of one thread run one by one, in the order of their start.
        """
        if not mail_id.strip() or not thread.strip():
            raise ValueError(f"a mail needs an id and a thread, not {mail_id!r} and {thread!r}")
        if self._workflow is None or Engine._live is not self:
            raise RuntimeError("the engine is not running: launch() comes first")
        with self._starting:
            if self._next_place > LAST_PLACE:
                self._next_place = _next_place(DBOS)
            # The priority keeps the order: by default DBOS orders by time, on SQLite in whole seconds.
            place = SetEnqueueOptions(queue_partition_key=thread, priority=self._next_place)
            self._next_place += 1
            with SetWorkflowID(id_of(brand, mail_id)), place:
                DBOS.enqueue_workflow(queue_of(brand), self._workflow, id_of(brand, mail_id), thread)
            self._queues.ring(queue_of(brand))
            if self._announcements is not None:
                self._announcements.announce()

    @mapped_errors()
    def follow_queued(self) -> None:
        """Queue further mails behind all that are queued; call it when this process begins to start mails."""
        with self._starting:
            self._next_place = _next_place(DBOS)

    @mapped_errors()
    def wait_until_idle(self, timeout_s: float, brand: str = "") -> bool:
        """Wait until no mail of the brand is queued or running; False if that took too long or the engine was stopped.

        Meanwhile, queue mails again whose end could not be recorded, for example on a full disk.
        """
        deadline = time.monotonic() + timeout_s
        while not self._stopping.is_set():
            self._ended.clear()
            has_taken = self._queues.has_taken(queue_of(brand))  # then the database need not be asked
            if not has_taken and not DBOS.list_workflows(
                status=ACTIVE, queue_name=queue_of(brand), limit=1, load_input=False, load_output=False
            ):
                return True
            if not has_taken or time.monotonic() - self._looked_s >= LOST_AFTER_S:
                self.requeue_lost()
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            self._ended.wait(min(left_s, self._settings.poll_interval_s))
        return False

    @contextmanager
    def still(self, timeout_s: float, brand: str = "") -> Iterator[bool]:
        """Let no journey of the brand begin in this process inside the block; yields whether none is running."""
        with self._hands.still(brand, timeout_s) as is_still:
            yield is_still

    @mapped_errors()
    def take_over_dead(self, brand: str = "") -> None:
        """Queue the brand's mails again that run in processes which are not alive any more, while this engine runs."""
        if Engine._live is not self:
            return
        alive = {*self._alive(), self.executor_id}
        for status in _pending(DBOS, queue_of(brand)):
            if status.executor_id not in alive:
                self._take_over(DBOS, status)
        self._queues.ring(queue_of(brand))

    @mapped_errors()
    def failed(self, brand: str = "") -> list[Failure]:
        """Mails whose journey failed, oldest first, until `delete_finished` removes them."""
        failures = DBOS.list_workflows(status=FAILED, load_input=False)
        named = ((*brand_and_mail(status.workflow_id), status) for status in failures)
        return [Failure(mail_id, failure_of(status)) for owner, mail_id, status in named if owner == brand]

    @mapped_errors()
    def ended(self, mail_ids: Sequence[str], brand: str = "") -> dict[str, bool]:
        """For each of these mails that was started: whether its journey ended without an error."""
        ids = [id_of(brand, mail_id) for mail_id in mail_ids]
        return {
            brand_and_mail(status.workflow_id)[1]: status.status == "SUCCESS"
            for part in batches(ids)
            for status in DBOS.list_workflows(workflow_ids=part, load_input=False, load_output=False)
        }

    @mapped_errors()
    def forget(self, mail_ids: Sequence[str], brand: str = "") -> None:
        """Delete the records of mails whose journey has ended, so that `start` runs them again; others stay."""
        ids = [id_of(brand, mail_id) for mail_id in mail_ids]
        for part in batches(ids):
            ended = DBOS.list_workflows(workflow_ids=part, status=FINISHED, load_input=False, load_output=False)
            DBOS.delete_workflows([status.workflow_id for status in ended])

    @mapped_errors()
    def delete_finished(self, before: datetime) -> int:
        """Delete the records of all brands' mails that ended before an aware instant; their ids may run again then.

        Returns:
            How many were deleted.
        """
        count = 0
        while batch := DBOS.list_workflows(
            status=FINISHED,
            completed_before=before.astimezone(UTC).isoformat(),
            limit=BATCH,
            load_input=False,
            load_output=False,
        ):
            DBOS.delete_workflows([status.workflow_id for status in batch])
            count += len(batch)
        return count

    @mapped_errors()
    def in_hand(self, most: int, brand: str = "") -> InHand:
        """Count a brand's mails that are queued, and those that run, each up to a limit."""
        if Engine._live is not self:
            return InHand(0, 0)
        queue = queue_of(brand)
        return InHand(
            *(
                len(DBOS.list_workflows(status=one, queue_name=queue, limit=most, load_input=False, load_output=False))
                for one in ACTIVE
            )
        )

    def stop(self, timeout_s: float) -> None:
        """Start no further mail, let running ones finish, and close the database.

        A mail that still runs after `timeout_s` seconds stops before its next step; a mail that waits for another
        try stops at once. The next launch continues both. Without a launch this does nothing.
        """
        if Engine._live is not self:
            return
        self._stopping.set()
        self._ended.set()
        abandon = threading.Timer(timeout_s, self._abandoning.set)
        abandon.start()
        self._queues.stop()
        if self._announcements is not None:
            self._announcements.stop()
        # One second more, in which mails that stop before their next step end.
        patience_s = math.ceil(timeout_s) + 1 if self._hands.all() else 0
        DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=patience_s)
        abandon.cancel()
        self._abandoning.set()
        Engine._live = None
        log.info("engine_stopped", executor_id=self.executor_id)

    def _run(self, workflow_id: str, thread: str) -> str:
        """Run one mail in a thread of the queue; any error becomes one of errors.py."""
        brand, mail_id = brand_and_mail(workflow_id)
        observer = self._observers.get(brand, UNOBSERVED)
        with (
            self._hands.holding(brand, workflow_id),
            structlog.contextvars.bound_contextvars(mail_id=mail_id, thread=thread, **_logged(brand)),
            observer.journey(mail_id) as seen,
        ):
            try:
                steps = Steps(self._record, self._settings, self._pause, observer=observer, before=self._stop_abandoned)
                seen.outcome = self._handles[brand](mail_id, steps)
                return seen.outcome
            except Exception as error:
                if self._abandoning.is_set():
                    raise _Interrupted from error
                known = known_error(error, "the journey")
                log.error("mail_failed", code=known.code, error=type(known).__name__)
                raise known from error

    def _stop_abandoned(self) -> None:
        if self._abandoning.is_set():
            raise _Interrupted

    def _record(self, name: str, work: Work) -> JsonValue:
        self._stop_abandoned()
        try:
            return DBOS.run_step({"name": name}, work)
        except dbos_error.DBOSUnexpectedStepError as error:
            raise PermanentError(
                f"step {name!r} does not match the recorded step: the journey has changed since this mail began it",
                code=JOURNEY_CHANGED,
            ) from error

    def _pause(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise _Interrupted

    def _open_queues(self) -> None:
        """Migrate the tables, register the queues and requeue interrupted mails, before any thread runs."""
        DBOS.migrate(self._url)
        client = DBOSClient(
            system_database_url=self._url,
            serializer=JsonSerializer(),
            application_name=APPLICATION,
            retry_connection_errors=False,
        )
        alive = self._alive()
        try:
            for brand in self._handles:
                client.register_queue(
                    queue_of(brand),
                    worker_concurrency=self._settings.concurrency,
                    partition_concurrency=1,
                    polling_interval_sec=self._settings.poll_interval_s,
                )
                for status in _pending(client, queue_of(brand)):
                    if status.executor_id not in alive:
                        self._take_over(client, status)
            self._next_place = _next_place(client)
        finally:
            client.destroy()

    @mapped_errors()
    def requeue_lost(self) -> None:
        """Queue mails again that are recorded as running in this process while no thread runs them; call it often."""
        with self._requeuing:
            self._looked_s = time.monotonic()
            self._requeue_lost_alone()

    def _requeue_lost_alone(self) -> None:
        now = time.monotonic()
        pending = DBOS.list_workflows(
            status="PENDING", executor_id=self.executor_id, load_input=False, load_output=False
        )
        in_hand = self._hands.all()
        self._queues.keep_only({*in_hand, *(status.workflow_id for status in pending)})
        lost = {status.workflow_id: status for status in pending if status.workflow_id not in in_hand}
        self._lost_since = {workflow_id: self._lost_since.get(workflow_id, now) for workflow_id in lost}
        for workflow_id, status in lost.items():
            if now - self._lost_since[workflow_id] < LOST_AFTER_S:
                continue
            brand, mail_id = brand_and_mail(workflow_id)
            log.error("mail_lost_from_hand", mail_id=mail_id, **_logged(brand))
            self._lost_since[workflow_id] = now
            try:
                with mapped_errors():
                    self._take_over(DBOS, status)
            except TransientError as error:  # the disk is still full: the next call tries again
                log.warning("mail_not_taken_up", mail_id=mail_id, error=str(error), **_logged(brand))

    def _take_over(self, client: DBOSClient | type[DBOS], status: WorkflowStatus) -> None:
        """Queue a mail again that ran in a dead process, or in a thread that is gone.

        If that process still lives, DBOS refuses its further records, as the mail has another owner.
        """
        workflow_id, count = status.workflow_id, interruptions_of(status) + 1
        brand, mail_id = brand_and_mail(workflow_id)
        # Our own count, stored before the resume: resuming resets DBOS's count, and a mail that kills the process
        # each time must end.
        client.update_workflow_attributes(workflow_id, {"interruptions": count}, merge=True)
        if count > self._settings.max_interruptions:
            client.cancel_workflow(workflow_id)
            log.error("mail_given_up", mail_id=mail_id, interruptions=count, **_logged(brand))
        else:
            # Without the name DBOS would use its internal queue, and the mail would lose its turn in the thread.
            client.resume_workflow(workflow_id, queue_name=queue_of(brand))
            log.info("mail_taken_over", mail_id=mail_id, interruptions=count, **_logged(brand))

    def _configuration(self) -> DBOSConfig:
        return {
            "name": APPLICATION,
            "system_database_url": self._url,
            "application_version": APPLICATION_VERSION,
            "executor_id": self.executor_id,
            "serializer": JsonSerializer(),
            "sys_db_pool_size": len(self._handles) * (self._settings.concurrency + 2) + 2,
            # Database errors must not carry a mail's text into the log.
            "db_engine_kwargs": {"hide_parameters": True},
            "use_listen_notify": False,
            "notification_listener_polling_interval_sec": 0.2,
            "enable_otlp": False,
            "log_level": "WARNING",
        }


class BrandJourneys(NamedTuple):
    """The journeys of one brand's mails; arguments and results as of `Engine`."""

    engine: Engine
    brand: str

    def start(self, mail_id: str, thread: str) -> None:
        self.engine.start(mail_id, thread, self.brand)

    def follow_queued(self) -> None:
        self.engine.follow_queued()

    def wait_until_idle(self, timeout_s: float) -> bool:
        return self.engine.wait_until_idle(timeout_s, self.brand)

    @contextmanager
    def still(self, timeout_s: float) -> Iterator[bool]:
        with self.engine.still(timeout_s, self.brand) as is_still:
            yield is_still

    def requeue_lost(self) -> None:
        self.engine.requeue_lost()

    def take_over_dead(self) -> None:
        self.engine.take_over_dead(self.brand)

    def failed(self) -> list[Failure]:
        return self.engine.failed(self.brand)

    def ended(self, mail_ids: Sequence[str]) -> dict[str, bool]:
        return self.engine.ended(mail_ids, self.brand)

    def forget(self, mail_ids: Sequence[str]) -> None:
        self.engine.forget(mail_ids, self.brand)

    def in_hand(self, most: int) -> InHand:
        return self.engine.in_hand(most, self.brand)

    def delete_finished(self, before: datetime) -> int:
        """Deletes the records of all brands; only the engine's own configuration says how long they are kept."""
        return 0 if self.brand else self.engine.delete_finished(before)


def _pending(client: DBOSClient | type[DBOS], queue: str) -> list[WorkflowStatus]:
    """The mails that run in any process."""
    return client.list_workflows(status="PENDING", queue_name=queue, load_input=False, load_output=False)


def _next_place(client: DBOSClient | type[DBOS]) -> int:
    """The place behind all queued mails."""
    queued = client.list_workflows(status="ENQUEUED", load_input=False, load_output=False)
    return 1 + max((status.priority or 0 for status in queued), default=0)


def _logged(brand: str) -> dict[str, str]:
    """What the log says of a brand."""
    return {"brand": brand} if brand else {}


def create_tables(url: str) -> None:
    """Create the engine's tables where there are none, as the first launch does.

    Raises:
        ConfigError: a newer version made them.
    """
    refuse_newer(url, KNOWN_SCHEMA)
    _route_library_log()
    DBOS.migrate(url)


def executor_id(nonce: str) -> str:
    """A name that only this process has; the nonce makes it unique."""
    return f"{socket.gethostname()}-{os.getpid()}-{nonce}"


class _Interrupted(BaseException):
    """The engine stops in the middle of a mail; not an Exception, so that no code records it as the mail's end."""


class _LibraryLog(logging.Handler):
    """Logs DBOS's warnings as events of our log; a mail's own error (`exc_info`) is logged where it happens."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is None:
            log.warning("engine_warning", text=first_line(record.getMessage()), where=record.funcName)


def _route_library_log() -> None:
    """Keep DBOS's log off the console: DBOS adds its own handler only to a logger without one."""
    library = logging.getLogger("dbos")
    library.propagate = False
    library.handlers = [_LibraryLog(logging.WARNING)]
