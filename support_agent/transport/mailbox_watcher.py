"""Keeping the mailbox in sight: one connection that is kept, opened anew when it fails, and waited on for mail.

Invariant: however the server behaves, the folder is looked at again after `imap.poll_interval_s` or the wait after a
failure, which grows to `imap.reconnect_max_s` and no further, whatever becomes of the time of day; IDLE only makes it
sooner (S33). Checked by tests/unit/transport/test_mailbox_watcher.py, and against a real Dovecot by
tests/integration/transport/test_mailbox_idle.py.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from threading import Event
from types import TracebackType
from typing import Self

import structlog

from support_agent.config.settings import ImapSettings
from support_agent.errors import ConfigError, TransientError
from support_agent.transport.mailbox import Mailbox

log = structlog.get_logger(__name__)


class Watch:
    """The mailbox of a running agent; a context manager, for one thread.

    Args:
        open_mailbox: An open mailbox inside a `with`.
        clock: Seconds that only ever go on, as of `time.monotonic`: the time of day may be set back or jump.
        random: 0 to 1, for waits that differ from those of other clients of a server that comes back.
    """

    def __init__(
        self,
        settings: ImapSettings,
        open_mailbox: Callable[[], AbstractContextManager[Mailbox]],
        clock: Callable[[], float],
        random: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._open_mailbox = open_mailbox
        self._clock = clock
        self._random = random
        self._connection = ExitStack()
        self._mailbox: Mailbox | None = None
        self._has_fetched = False
        self._fetched_s = self._alarmed_s = clock()
        self._failures = 0
        self._retry_s = self._no_idle_until_s = clock()
        self._is_told = self._is_false_alarm = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def seconds_since_last_fetch(self) -> float:
        """How long ago the folder was read to its end, or this watch began."""
        return self._clock() - self._fetched_s

    def fetch(self, read: Callable[[Mailbox], int]) -> None:
        """Read the mailbox, unless the wait after a failure is not over; `read` returns how many mails there were.

        Raises:
            ConfigError: at the first try; later the server may have lost its mind for a while, and mails go out.
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
        """Return when it is time to read again: the server tells of mail, the interval is over, or `stop` is set."""
        timeout_s = self._settings.poll_interval_s
        if self._failures:
            timeout_s = min(timeout_s, self._wait_s())
        self._is_told = False
        if self._mailbox is not None and self._may_idle():
            try:
                if self._mailbox.can_idle:
                    self._is_told = self._mailbox.wait(min(timeout_s, self._settings.idle_max_s), stop.is_set)
                    return
            except TransientError as error:  # some servers only say that they can
                log.warning("idle_failed", error=str(error), pause_s=self._settings.idle_pause_s)
                self._no_idle_until_s = self._clock() + self._settings.idle_pause_s
                self._close()
        stop.wait(timeout_s)

    def _may_idle(self) -> bool:
        """A server that tells of mail where none is would keep us running: then one wait is without it."""
        is_paused = self._is_false_alarm or self._clock() < self._no_idle_until_s
        return self._settings.idle and not is_paused

    def _wait_s(self) -> float:
        """How long yet to the next try."""
        return max(0.0, self._retry_s - self._clock()) if self._failures else 0.0

    def _succeeded(self, mails: int) -> None:
        if self._alarmed_s > self._fetched_s:
            log.info("mailbox_read_again", seconds_since_last_fetch=round(self.seconds_since_last_fetch()))
        self._has_fetched, self._failures = True, 0
        self._fetched_s = self._alarmed_s = self._clock()
        self._is_false_alarm = self._is_told and mails == 0

    def _failed(self, error: TransientError | ConfigError) -> None:
        self._close()
        longest_s = self._settings.reconnect_max_s
        doublings = min(self._failures, 30)
        # Also at the longest they differ: else all clients of a server that comes back after hours come at once.
        wait_s = min(longest_s, self._settings.reconnect_base_s * 2**doublings) * (0.5 + 0.5 * self._random())
        self._failures += 1
        self._retry_s = self._clock() + wait_s
        say = log.critical if isinstance(error, ConfigError) else log.warning
        say("poll_failed", code=error.code, error=str(error), failures=self._failures, wait_s=round(wait_s, 1))

    def _alarm(self) -> None:
        """Once when the folder could not be read for `imap.alarm_after_s`, and again each time as long."""
        now_s = self._clock()
        if now_s - self._alarmed_s >= self._settings.alarm_after_s:
            self._alarmed_s = now_s
            silent_s = round(now_s - self._fetched_s)
            log.critical("mailbox_not_read", seconds_since_last_fetch=silent_s, failures=self._failures)

    def _close(self) -> None:
        self._mailbox = None
        self._connection.close()
