"""Whether the worker lives and is ready, part by part.

Invariant: nothing here waits for a mail server or a model. Checked by tests/unit/watch/test_server.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from support_agent.config.settings import Settings
from support_agent.errors import SupportAgentError
from support_agent.store.store import Store
from support_agent.watch import metrics
from support_agent.watch.causes import unreachable
from support_agent.watch.gauges import of_store
from support_agent.watch.observer import WorkerObserver
from support_agent.watch.recorder import Sample

OK, NOT_YET = "ok", "not open yet"


@dataclass
class WatchedWorker:
    """One mailbox's worker, as far as it is open already; `now` is the clock.

    `company_files` returns why changed files of the company are not used, or ""; `in_hand` counts the engine's queued
    and running journeys.
    """

    settings: Settings
    observer: WorkerObserver
    now: Callable[[], datetime]
    store: Store | None = None
    company_files: Callable[[], str] = field(default=lambda: NOT_YET)
    in_hand: Callable[[], tuple[int, int]] = field(default=lambda: (0, 0))

    def opened(self, store: Store, company_files: Callable[[], str], in_hand: Callable[[], tuple[int, int]]) -> None:
        """The worker is open: its store, its files and its model."""
        self.company_files, self.in_hand, self.store = company_files, in_hand, store

    def loop(self) -> str:
        """Whether the loop turns: "ok", or what is wrong. One that has not begun is no failure: a model may load."""
        settings, idle_s = self.settings, self.observer.idle_s
        longest_s = settings.planner.max_s + settings.imap.poll_interval_s + settings.watch.loop_margin_s
        if idle_s is None or idle_s <= longest_s:
            return OK
        return f"the loop has not turned for {idle_s:.0f} s"

    def parts(self) -> dict[str, str]:
        """Each part that mail needs: "ok", or what is wrong."""
        return {
            "database": self._database(),
            "company_files": self.company_files() or OK,
            "mailbox": self._mailbox(),
            "model": OK if self.store is not None else NOT_YET,
        }

    def samples(self) -> Iterator[Sample]:
        """The gauges of this moment; without a database only those of this process."""
        parts = self.parts()
        for part, state in parts.items():
            yield Sample(metrics.IS_READY, state == OK, {"part": part})
        if (idle_s := self.observer.idle_s) is not None:
            yield Sample(metrics.TURNED_AT, self.now().timestamp() - idle_s)
        if self.store is None or parts["database"] != OK:
            return
        try:
            yield from list(of_store(self.store, self.settings, self.now()))
            for state, number in zip(("queued", "running"), self.in_hand(), strict=True):
                yield Sample(metrics.ENGINE_MAILS, number, {"state": state})
        except SupportAgentError:  # the database went away meanwhile: the next scrape says so
            return

    def _database(self) -> str:
        if self.store is None:
            return NOT_YET
        try:
            return OK if self.store.is_current() else "its schema is not that of this version"
        except SupportAgentError as error:
            return error.code

    def _mailbox(self) -> str:
        if self.store is None:
            return NOT_YET
        try:
            fetched_at = self.store.cursors.fetched_at(self.settings.imap.folder)
        except SupportAgentError as error:
            return error.code
        if fetched_at is None:
            return "not read yet"
        return next((cause.what for cause in unreachable(fetched_at, self.settings.imap, self.now())), OK)
