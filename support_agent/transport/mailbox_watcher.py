"""Watch the mailbox: keep one connection, reopen it when it fails, and wait on it for new mail.

Invariant: whatever the server and the wall clock do, the folder is read again after at most `imap.poll_interval_s`, or
after a failure within the back-off, which never exceeds `imap.reconnect_max_s`; IDLE only makes it sooner (S33).
Checked by tests/unit/transport/test_mailbox_watcher.py, and against a real Dovecot by
tests/integration/transport/test_mailbox_idle.py.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from threading import Event
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

import structlog

from support_agent.config.mail_servers import ImapSettings
from support_agent.errors import ConfigError, TransientError

log = structlog.get_logger(__name__)


class IdleMailbox(Protocol):
    """An open mailbox that can wait for new mail; see `transport.mailbox.Mailbox`."""

    @property
    def can_idle(self) -> bool:
        """Whether the server announces IDLE."""

    def wait(self, timeout_s: float, is_stopping: Callable[[], bool]) -> bool:
        """Wait in IDLE for at most this long; returns whether the server sent a notification."""


M = TypeVar("M", bound=IdleMailbox)


class Watch(Generic[M]):
    """The mailbox of a running worker; a context manager, for one thread.

    Args:
        open_mailbox: Gives an open mailbox inside a `with`.
        clock: Monotonic seconds (`time.monotonic`), because the wall clock may jump.
        random: 0 to 1; spreads the reconnects of many clients after a server outage.
    """

    def __init__(
        self,
        settings: ImapSettings,
        open_mailbox: Callable[[], AbstractContextManager[M]],
        clock: Callable[[], float],
        random: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._open_mailbox = open_mailbox
        self._clock = clock
        self._random = random
        self._connection = ExitStack()
        self._mailbox: M | None = None
        self._has_fetched = False
        self._fetched_s = self._alarmed_s = clock()
        self._failures = 0
        self._retry_s = self._no_idle_until_s = clock()
        self._is_notified = self._is_false_notification = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def seconds_since_last_fetch(self) -> float:
        """Seconds since the folder was last read completely, or since this watch began."""
        return self._clock() - self._fetched_s

    def fetch(self, read: Callable[[M], int]) -> None:
        """Read the mailbox, unless the back-off after a failure still runs; `read` returns the number of mails.

        Raises:
            ConfigError: before the first success only. Later the fault may be the server's, and mails must still go
            out.
        """
        if self._wait_s() > 0:
            self._alarm()
            return
        try:
            if self._mailbox is None:
                self._mailbox = self._connection.enter_context(self._open_mailbox())
            mails = read(self._mailbox)
        except (TransientError, ConfigError) as error:
            if isinstance(error, ConfigError) and not self._has_fetched:
                raise
            self._failed(error)
            self._alarm()
        else:
            self._succeeded(mails)

    def wait(self, stop: Event) -> None:
        """Return when it is time to read again: on a notification, after the interval, or when `stop` is set."""
        timeout_s = self._settings.poll_interval_s
        if self._failures:
            timeout_s = min(timeout_s, self._wait_s())
        self._is_notified = False
        if self._mailbox is not None and self._may_idle():
            try:
                if self._mailbox.can_idle:
                    self._is_notified = self._mailbox.wait(min(timeout_s, self._settings.idle_max_s), stop.is_set)
                    return
            except TransientError as error:  # some servers announce IDLE but fail at it
                log.warning("idle_failed", error=str(error), pause_s=self._settings.idle_pause_s)
                self._no_idle_until_s = self._clock() + self._settings.idle_pause_s
                self.close()
        stop.wait(timeout_s)

    def _may_idle(self) -> bool:
        """Whether to use IDLE now. After a false notification one wait goes without it: else we would poll in a
        loop."""
        is_paused = self._is_false_notification or self._clock() < self._no_idle_until_s
        return self._settings.idle and not is_paused

    def _wait_s(self) -> float:
        """Seconds until the next try."""
        return max(0.0, self._retry_s - self._clock()) if self._failures else 0.0

    def _succeeded(self, mails: int) -> None:
        if self._alarmed_s > self._fetched_s:
            log.info("mailbox_read_again", seconds_since_last_fetch=round(self.seconds_since_last_fetch()))
        self._has_fetched, self._failures = True, 0
        self._fetched_s = self._alarmed_s = self._clock()
        self._is_false_notification = self._is_notified and mails == 0

    def _failed(self, error: TransientError | ConfigError) -> None:
        self.close()
        longest_s = self._settings.reconnect_max_s
        doublings = min(self._failures, 30)
        # The longest wait varies too: else all clients would reconnect at once after a long outage.
        wait_s = min(longest_s, self._settings.reconnect_base_s * 2**doublings) * (0.5 + 0.5 * self._random())
        self._failures += 1
        self._retry_s = self._clock() + wait_s
        emit = log.critical if isinstance(error, ConfigError) else log.warning
        emit("poll_failed", code=error.code, error=str(error), failures=self._failures, wait_s=round(wait_s, 1))

    def _alarm(self) -> None:
        """Log an alarm each time the folder could not be read for another `imap.alarm_after_s`."""
        now_s = self._clock()
        if now_s - self._alarmed_s >= self._settings.alarm_after_s:
            self._alarmed_s = now_s
            silent_s = round(now_s - self._fetched_s)
            log.critical("mailbox_not_read", seconds_since_last_fetch=silent_s, failures=self._failures)

    def close(self) -> None:
        """Close the connection; the next fetch opens one."""
        self._mailbox = None
        self._connection.close()
