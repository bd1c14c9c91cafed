"""Run each mail's journey as recorded steps, so that a process that dies loses nothing.

Invariant: a step whose result was recorded never runs again, a mail started twice runs once, and mails of one
thread run one after the other in the order of their start, on PostgreSQL across all processes. A step runs *at least*
once: a step that was running when the process died runs again, which is why the outbox, not the engine, prevents a
second mail. A process that was taken for dead and goes on cannot record a step of a mail that another has taken over.
All records are JSON. Checked by tests/integration/engine: real processes, real `kill -9`, SQLite and PostgreSQL.

Only this package uses DBOS; the journey sees `steps.Steps`.
"""

from __future__ import annotations

import math
import os
import socket
import threading
from collections.abc import Callable, Collection
from typing import NamedTuple

import structlog
from dbos import DBOS, DBOSClient, DBOSConfig, SetEnqueueOptions, SetWorkflowID
from dbos import error as dbos_error
from dbos._migration import sqlite_migrations  # the library says in no public place which tables it knows
from pydantic import JsonValue

from support_agent.config.database_url import is_postgresql, shown_url
from support_agent.config.log import route_library_log
from support_agent.config.settings import EngineSettings
from support_agent.core.observing import UNOBSERVED, Observer
from support_agent.core.size_limits import first_line
from support_agent.core.vanished_server import noticed_within
from support_agent.engine.database import library_url, mapped_errors, prepare
from support_agent.engine.hands import Hands
from support_agent.engine.journeys import Journeys
from support_agent.engine.queues import Announcements, Queues
from support_agent.engine.records import ACTIVE, JsonSerializer, brand_and_mail, brand_logged, id_of, queue_of
from support_agent.engine.schema import refuse_newer
from support_agent.engine.steps import JOURNEY_CHANGED, Steps, Work, known_error
from support_agent.engine.takeover import Takeover
from support_agent.errors import ConfigError, PermanentError

log = structlog.get_logger(__name__)

APPLICATION = "support-agent"
APPLICATION_VERSION = "1"
"""Never changes: DBOS ignores the work of another version. The names of the steps reveal a changed journey."""
WORKFLOW = "handle_mail"

KNOWN_SCHEMA = len(sqlite_migrations)
"""The newest version of the engine's tables that the library knows; its numbers are the same on each database."""
IDLE_TRANSACTION_S = 60.0
"""The library's own limit to transactions whose process sends nothing."""
LAST_PLACE = 2**30
"""Places in the queue are counted anew from here on; the column ends at twice this."""

Handle = Callable[[str, Steps], str]
"""The journey of one mail: takes the mail's id and its steps, returns the outcome."""


class _Served(NamedTuple):
    """How the mails of a brand are handled, and who is notified."""

    handle: Handle
    observer: Observer


class Engine:
    """Queues of mails in a database, handled by threads. One per process: DBOS is a singleton.

    The mails of a brand (`serve`) have a queue of their own, so that those of another do not delay them.

    Args:
        url: SQLAlchemy URL of the engine's own tables: a SQLite file or PostgreSQL, see `database.engine_url`.
        executor_id: See `executor_id`: two processes with the same id would run steps twice.
        settings: The `engine` section.
        alive: Returns the executor ids of the processes that work on this database now. By default there is none
            besides this one.
    """

    _live: Engine | None = None

    def __init__(
        self, url: str, executor_id: str, settings: EngineSettings, alive: Callable[[], Collection[str]] = tuple
    ) -> None:
        self._url = url
        self.executor_id = executor_id
        self.settings = settings
        self._served: dict[str, _Served] = {}
        self._workflow: Callable[[str, str], str] | None = None
        self.hands = Hands()
        self.ended = threading.Event()
        """Set when a mail has ended in this process, and when the engine stops."""
        self.queues = Queues(settings.concurrency, settings.poll_interval_s, self.ended.set)
        self.takeover = Takeover(executor_id, settings.max_interruptions, alive, self.hands, self.queues)
        self._announcements = Announcements(url, self.queues.ring, self._noticed()) if is_postgresql(url) else None
        self._starting = threading.Lock()
        self._next_place = 1
        self.stopping = threading.Event()
        self._abandoning = threading.Event()

    @property
    def is_live(self) -> bool:
        """Whether it was launched and not stopped."""
        return Engine._live is self

    def serve(self, brand: str, handle: Handle, observer: Observer = UNOBSERVED) -> Journeys:
        """Handle the mails of a brand; call this before `launch`.

        Args:
            brand: A short name without ":"; the records of its mails begin with it. "": the first mailbox.
            handle: The journey; runs once per mail, and again from its first open step after each interruption.
            observer: Notified of each journey and its steps.
        """
        if self.is_live or brand in self._served or ":" in brand:
            raise ValueError(f"brand {brand!r} cannot be added to this engine")
        self._served[brand] = _Served(handle, observer)
        return Journeys(self, brand)

    def launch(self) -> None:
        """Open the database, take over the mails of dead processes, and begin to work.

        Raises:
            ConfigError: the database cannot be used, or an engine is already running in this process.
        """
        if Engine._live is not None:
            raise ConfigError("an engine is already running in this process: stop it first")
        if self.stopping.is_set():
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
            self.queues.watch(dbos)
            DBOS.launch()
            self.queues.start(dbos, [queue_of(brand) for brand in self._served])
        except Exception as error:
            DBOS.destroy(destroy_registry=True)
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(
                f"the engine's database {shown_url(self._url)} cannot be used ({first_line(error)}): "
                "check that it is reachable and that this user may create tables in it",
                code="engine_database",
            ) from error
        if self._announcements is not None:
            self._announcements.start()
        Engine._live = self
        log.info("engine_launched", executor_id=self.executor_id, database=shown_url(self._url))

    @mapped_errors()
    def start(self, brand: str, mail_id: str, thread: str) -> None:
        """Queue a mail of a brand; see `Journeys.start`."""
        if not mail_id.strip() or not thread.strip():
            raise ValueError(f"a mail needs an id and a thread, not {mail_id!r} and {thread!r}")
        if self._workflow is None or not self.is_live:
            raise RuntimeError("the engine is not running: launch() comes first")
        with self._starting:
            if self._next_place > LAST_PLACE:
                self._next_place = _next_place(DBOS)
            # The priority keeps the order: by default DBOS orders by time, on SQLite in whole seconds.
            place = SetEnqueueOptions(queue_partition_key=thread, priority=self._next_place)
            self._next_place += 1
            with SetWorkflowID(id_of(brand, mail_id)), place:
                DBOS.enqueue_workflow(queue_of(brand), self._workflow, id_of(brand, mail_id), thread)
            self.queues.ring(queue_of(brand))
            if self._announcements is not None:
                self._announcements.announce()

    @mapped_errors()
    def follow_queued(self) -> None:
        """Queue further mails behind all that are queued; call it when this process begins to start mails."""
        with self._starting:
            self._next_place = _next_place(DBOS)

    def stop(self, timeout_s: float) -> None:
        """Start no further mail, let running ones finish, and close the database.

        A mail that still runs after `timeout_s` seconds stops before its next step; a mail that waits for another
        try stops at once. The next launch continues both. Without a launch this does nothing.
        """
        if not self.is_live:
            return
        self.stopping.set()
        self.ended.set()
        abandon = threading.Timer(timeout_s, self._abandoning.set)
        abandon.start()
        self.queues.stop()
        if self._announcements is not None:
            self._announcements.stop()
        # One second more, in which mails that stop before their next step end.
        patience_s = math.ceil(timeout_s) + 1 if self.hands.all() else 0
        DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=patience_s)
        abandon.cancel()
        self._abandoning.set()
        Engine._live = None
        log.info("engine_stopped", executor_id=self.executor_id)

    def _run(self, workflow_id: str, thread: str) -> str:
        """Run one mail in a thread of the queue; any error becomes one of errors.py."""
        brand, mail_id = brand_and_mail(workflow_id)
        handle, observer = self._served[brand]
        with (
            self.hands.holding(brand, workflow_id),
            structlog.contextvars.bound_contextvars(mail_id=mail_id, thread=thread, **brand_logged(brand)),
            observer.journey(mail_id) as seen,
        ):
            try:
                steps = Steps(self._record, self.settings, self._pause, observer=observer, before=self._stop_abandoned)
                seen.outcome = handle(mail_id, steps)
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
        if self.stopping.wait(seconds):
            raise _Interrupted

    def _open_queues(self) -> None:
        """Migrate the tables, register the queues and requeue interrupted mails, before any thread runs."""
        DBOS.migrate(library_url(self._url))
        client = DBOSClient(
            system_database_url=library_url(self._url),
            serializer=JsonSerializer(),
            application_name=APPLICATION,
            retry_connection_errors=False,
        )
        try:
            for brand in self._served:
                client.register_queue(
                    queue_of(brand),
                    worker_concurrency=self.settings.concurrency,
                    partition_concurrency=1,
                    polling_interval_sec=self.settings.poll_interval_s,
                )
            self.takeover.at_launch(client, list(self._served))
            self._next_place = _next_place(client)
        finally:
            client.destroy()

    @property
    def _patience_s(self) -> float:
        return min(self.settings.lease_s, IDLE_TRANSACTION_S)

    def _noticed(self) -> dict[str, int]:
        return noticed_within(self._patience_s) if is_postgresql(self._url) else {}

    def _configuration(self) -> DBOSConfig:
        return {
            "name": APPLICATION,
            "system_database_url": library_url(self._url),
            "application_version": APPLICATION_VERSION,
            "executor_id": self.executor_id,
            "serializer": JsonSerializer(),
            "sys_db_pool_size": len(self._served) * (self.settings.concurrency + 2) + 2,
            # A stopped worker's locks must not outlast its lease.
            "sys_db_idle_transaction_timeout_sec": self._patience_s,
            # Database errors must not carry a mail's text into the log.
            "db_engine_kwargs": {"hide_parameters": True, "connect_args": self._noticed()},
            "use_listen_notify": False,
            "notification_listener_polling_interval_sec": 0.2,
            "enable_otlp": False,
            "log_level": "WARNING",
        }


def _next_place(client: DBOSClient | type[DBOS]) -> int:
    """The place behind all mails that are queued, and those that run: one whose process dies is queued again there."""
    active = client.list_workflows(status=ACTIVE, load_input=False, load_output=False)
    return 1 + max((status.priority or 0 for status in active), default=0)


def _route_library_log() -> None:
    """DBOS adds its own handler only to a logger without one; a mail's own error is logged where it happens."""
    route_library_log("dbos", "engine_warning", skips_errors=True)


def executor_id(nonce: str) -> str:
    """A name that only this process has; the nonce makes it unique."""
    return f"{socket.gethostname()}-{os.getpid()}-{nonce}"


class _Interrupted(BaseException):
    """The engine stops in the middle of a mail; not an Exception, so that no code records it as the mail's end."""
