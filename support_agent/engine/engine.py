"""Run each mail's journey as recorded steps, so that a process which dies loses nothing.

Invariant: a step whose result was recorded never runs again, a mail started twice runs once, and mails of one
thread run one after the other in the order of their start. A step runs *at least* once: one that was in flight
when the process died runs again, which is why the outbox, not the engine, prevents a second mail. All that is
recorded is JSON. Checked by tests/integration/engine: real processes, real `kill -9`, SQLite and PostgreSQL.

DBOS stays inside this file; the journey sees `steps.Steps`.
"""

from __future__ import annotations

import json
import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import structlog
from dbos import DBOS, DBOSClient, DBOSConfig, Serializer, SetEnqueueOptions, SetWorkflowID, WorkflowStatus
from dbos import error as dbos_error
from pydantic import JsonValue

from support_agent.config.settings import EngineSettings
from support_agent.engine.database import mapped_errors, prepare, shown
from support_agent.engine.steps import ERROR_CLASSES, Steps, Work, first_line, known_error
from support_agent.errors import ConfigError, PermanentError, SupportAgentError, TransientError

log = structlog.get_logger(__name__)

APPLICATION = "support-agent"
APPLICATION_VERSION = "1"
"""Never changes: DBOS lets work of another version lie. A changed journey is noticed by the steps' names."""
QUEUE = "mails"
WORKFLOW = "handle_mail"
ACTIVE = ["ENQUEUED", "PENDING"]
FAILED = ["ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
FINISHED = ["SUCCESS", *FAILED]

DELETE_BATCH = 500
LOST_AFTER_S = 5.0
"""A mail that the records have in hand here, and no thread has, is taken up again after so long."""

Handle = Callable[[str, Steps], str]
"""The journey of one mail: its id and its steps in, the outcome out."""


class Failure(NamedTuple):
    """A mail whose journey ended in an error; the caller sets it aside."""

    mail_id: str
    error: SupportAgentError


class Engine:
    """A queue of mails in a database, worked through in threads. One per process: DBOS is a singleton.

    Args:
        url: SQLAlchemy URL of the engine's own tables: a SQLite file or PostgreSQL, see `database.engine_url`.
        executor_id: See `executor_id`: two processes under the same name would run steps twice.
        settings: The `engine` section.
        handle: The journey; runs once per mail, and again from its first open step after each interruption.
    """

    _live: Engine | None = None

    def __init__(self, url: str, executor_id: str, settings: EngineSettings, handle: Handle) -> None:
        self._url = url
        self._executor_id = executor_id
        self._settings = settings
        self._handle = handle
        self._workflow: Callable[[str, str], str] | None = None
        self._in_hand: set[str] = set()
        self._lost_since: dict[str, float] = {}
        self._starting = threading.Lock()
        self._next_place = 1
        self._stopping = threading.Event()
        self._abandoning = threading.Event()

    def launch(self) -> None:
        """Open the database, take over what a dead process left, and begin to work.

        Raises:
            ConfigError: The database cannot be used, or an engine is already running in this process.
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
            self._open_queue()
            DBOS(config=self._configuration())
            DBOS.launch()
        except Exception as error:
            DBOS.destroy(destroy_registry=True)
            raise ConfigError(
                f"the engine's database {shown(self._url)} cannot be used ({first_line(error)}): "
                "check that it is reachable and that this user may create tables in it",
                code="engine_database",
            ) from error
        Engine._live = self
        log.info("engine_launched", executor_id=self._executor_id, database=shown(self._url))

    @mapped_errors()
    def start(self, mail_id: str, thread: str) -> None:
        """Queue a mail; one that was started before, finished or not, is left as it is.

        Args:
            mail_id: Not empty, unique among all mails.
            thread: Its name, not empty; mails of one thread are handled one by one, in the order of their start.
        """
        if not mail_id.strip() or not thread.strip():
            raise ValueError(f"a mail needs an id and a thread, not {mail_id!r} and {thread!r}")
        if self._workflow is None or Engine._live is not self:
            raise RuntimeError("the engine is not running: launch() comes first")
        with self._starting:
            # The priority keeps the order: by itself DBOS orders by the time, on SQLite in whole seconds.
            place = SetEnqueueOptions(queue_partition_key=thread, priority=self._next_place)
            self._next_place += 1
            with SetWorkflowID(mail_id), place:
                DBOS.enqueue_workflow(QUEUE, self._workflow, mail_id, thread)

    @mapped_errors()
    def wait_until_idle(self, timeout_s: float) -> bool:
        """Wait until no mail is queued or in hand; False if that took too long or the engine was stopped.

        Meanwhile a mail whose end could not be recorded, as the disk was full, is taken up again. One caller at a time.
        """
        deadline = time.monotonic() + timeout_s
        while not self._stopping.is_set():
            if not DBOS.list_workflows(status=ACTIVE, limit=1, load_input=False, load_output=False):
                return True
            self._take_up_lost()
            if time.monotonic() >= deadline:
                return False
            self._stopping.wait(self._settings.poll_interval_s)
        return False

    @mapped_errors()
    def failed(self) -> list[Failure]:
        """Mails whose journey ended in an error, oldest first, until `delete_finished` removes them."""
        return [
            Failure(status.workflow_id, _failure(status))
            for status in DBOS.list_workflows(status=FAILED, load_input=False)
        ]

    @mapped_errors()
    def ended(self, mail_ids: Sequence[str]) -> dict[str, bool]:
        """Whether the journey came to its end without an error, of each of these mails that was started."""
        parts = [mail_ids[start : start + DELETE_BATCH] for start in range(0, len(mail_ids), DELETE_BATCH)]
        return {
            status.workflow_id: status.status == "SUCCESS"
            for part in parts
            for status in DBOS.list_workflows(workflow_ids=list(part), load_input=False, load_output=False)
        }

    @mapped_errors()
    def forget(self, mail_ids: Sequence[str]) -> None:
        """Delete the records of mails whose journey has ended, so that `start` begins them anew."""
        if mail_ids:
            DBOS.delete_workflows(list(mail_ids))

    @mapped_errors()
    def delete_finished(self, before: datetime) -> int:
        """Delete the records of mails that ended before an aware instant; after that their ids may run again.

        Returns:
            How many were deleted.
        """
        count = 0
        while batch := DBOS.list_workflows(
            status=FINISHED,
            completed_before=before.astimezone(UTC).isoformat(),
            limit=DELETE_BATCH,
            load_input=False,
            load_output=False,
        ):
            DBOS.delete_workflows([status.workflow_id for status in batch])
            count += len(batch)
        return count

    def stop(self, timeout_s: float) -> None:
        """Take no further mail, let those in hand finish, and close the database.

        A mail still in hand after `timeout_s` seconds stops before its next step; one that waits for another
        try stops at once. The next launch takes both up where they were. Nothing happens when not launched.
        """
        if Engine._live is not self:
            return
        self._stopping.set()
        abandon = threading.Timer(timeout_s, self._abandoning.set)
        abandon.start()
        # A second more than asked for: in it, mails that stop before their next step leave.
        patience_s = math.ceil(timeout_s) + 1 if self._in_hand else 0
        DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=patience_s)
        abandon.cancel()
        self._abandoning.set()
        Engine._live = None
        log.info("engine_stopped", executor_id=self._executor_id)

    def _run(self, mail_id: str, thread: str) -> str:
        """One mail, in a thread of the queue; the error it ends with is always one of errors.py."""
        self._in_hand.add(mail_id)
        with structlog.contextvars.bound_contextvars(mail_id=mail_id, thread=thread):
            try:
                return self._handle(mail_id, Steps(self._record, self._settings, self._pause))
            except Exception as error:
                if self._abandoning.is_set():
                    raise _Interrupted from error
                known = known_error(error, "the journey")
                log.error("mail_failed", code=known.code, error=type(known).__name__)
                raise known from error
            finally:
                self._in_hand.discard(mail_id)

    def _record(self, name: str, work: Work) -> JsonValue:
        if self._abandoning.is_set():
            raise _Interrupted
        try:
            return DBOS.run_step({"name": name}, work)
        except dbos_error.DBOSUnexpectedStepError as error:
            raise PermanentError(
                f"step {name!r} comes where the record has another one: the journey has changed since this "
                "mail began it, handle the mail by hand",
                code="journey_changed",
            ) from error

    def _pause(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise _Interrupted

    def _open_queue(self) -> None:
        """Bring tables, queue and mails into order before the first thread looks at them.

        A queue that is registered after the launch works by the settings of the process before.
        """
        DBOS.migrate(self._url)
        client = DBOSClient(
            system_database_url=self._url,
            serializer=_JsonSerializer(),
            application_name=APPLICATION,
            retry_connection_errors=False,
        )
        try:
            client.register_queue(
                QUEUE,
                worker_concurrency=self._settings.concurrency,
                partition_concurrency=1,
                polling_interval_sec=self._settings.poll_interval_s,
            )
            for status in client.list_workflows(status="PENDING", load_input=False, load_output=False):
                self._take_over(client, status)
            queued = client.list_workflows(status="ENQUEUED", load_input=False, load_output=False)
            self._next_place = 1 + max((status.priority or 0 for status in queued), default=0)
        finally:
            client.destroy()

    def _take_up_lost(self) -> None:
        """Queue again what no thread has in hand any more, though the records say that this process has."""
        now = time.monotonic()
        pending = DBOS.list_workflows(
            status="PENDING", executor_id=self._executor_id, load_input=False, load_output=False
        )
        lost = {status.workflow_id: status for status in pending if status.workflow_id not in self._in_hand}
        self._lost_since = {mail_id: self._lost_since.get(mail_id, now) for mail_id in lost}
        for mail_id, status in lost.items():
            if now - self._lost_since[mail_id] < LOST_AFTER_S:
                continue
            log.error("mail_lost_from_hand", mail_id=mail_id)
            self._lost_since[mail_id] = now
            try:
                with mapped_errors():
                    self._take_over(DBOS, status)
            except TransientError as error:  # the disk is still full: tried again
                log.warning("mail_not_taken_up", mail_id=mail_id, error=str(error))

    def _take_over(self, client: DBOSClient | type[DBOS], status: WorkflowStatus) -> None:
        """Queue again what another process had in hand, or a thread that is gone; what is only queued, any takes.

        There is one process at a time, so every other is dead. With several, this is where the lease of
        `status.executor_id` is asked for; DBOS refuses the records of an executor that has lost its mail.
        """
        mail_id, count = status.workflow_id, _interruptions(status) + 1
        # Counted first, and by us: resuming forgets DBOS's own count, and a mail that kills the process each
        # time must end somewhere.
        client.update_workflow_attributes(mail_id, {"interruptions": count}, merge=True)
        if count > self._settings.max_interruptions:
            client.cancel_workflow(mail_id)
            log.error("mail_given_up", mail_id=mail_id, interruptions=count)
        else:
            # Without the name it would go to DBOS's internal queue and lose its turn within the thread.
            client.resume_workflow(mail_id, queue_name=QUEUE)
            log.info("mail_taken_over", mail_id=mail_id, interruptions=count)

    def _configuration(self) -> DBOSConfig:
        return {
            "name": APPLICATION,
            "system_database_url": self._url,
            "application_version": APPLICATION_VERSION,
            "executor_id": self._executor_id,
            "serializer": _JsonSerializer(),
            "sys_db_pool_size": self._settings.concurrency + 4,
            # Errors of the database must not carry a mail's text into the log.
            "db_engine_kwargs": {"hide_parameters": True},
            "use_listen_notify": False,
            "notification_listener_polling_interval_sec": 0.2,
            "enable_otlp": False,
            "log_level": "WARNING",
        }


def executor_id(nonce: str) -> str:
    """A name for this process which no other, earlier or later, has: the nonce makes it so."""
    return f"{socket.gethostname()}-{os.getpid()}-{nonce}"


class _Interrupted(BaseException):
    """The engine stops in the middle of a mail; no Exception, so that nobody records it as the mail's end."""


class _JsonSerializer(Serializer):
    """What DBOS writes: `{"value": ...}`, or `{"error": {...}}` for an error; never a pickle."""

    def name(self) -> str:
        return "support_agent_json"

    def serialize(self, data: Any) -> str:
        if isinstance(data, Exception):
            error = known_error(data, "the engine")
            data = {"error": {"class": type(error).__name__, "code": error.code, "message": str(error)}}
        else:
            data = {"value": data}
        try:
            # ASCII: an escaped lone surrogate or NUL passes through every database.
            return json.dumps(data, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise PermanentError(f"only JSON can be recorded: {error}", code="not_json") from error

    def deserialize(self, serialized_data: str) -> Any:
        data = json.loads(serialized_data)
        if "error" in data:
            error = data["error"]
            return ERROR_CLASSES[error["class"]](error["message"], code=error["code"])
        return data["value"]


class _LibraryLog(logging.Handler):
    """DBOS's warnings as events of our log; a mail's own error (`exc_info`) is logged where it happens."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is None:
            log.warning("engine_warning", text=first_line(record.getMessage()), where=record.funcName)


def _route_library_log() -> None:
    """Keep DBOS off the console: it adds a handler of its own only to a logger without one."""
    library = logging.getLogger("dbos")
    library.propagate = False
    library.handlers = [_LibraryLog(logging.WARNING)]


def _failure(status: WorkflowStatus) -> SupportAgentError:
    """Why a mail failed, as one of our errors."""
    if isinstance(status.error, SupportAgentError):
        return status.error
    return PermanentError(
        f"given up after {_interruptions(status)} interruptions: each time the program died or was stopped "
        "while this mail was in hand",
        code="interrupted",
    )


def _interruptions(status: WorkflowStatus) -> int:
    return int((status.attributes or {}).get("interruptions", 0))
