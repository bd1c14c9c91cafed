"""What drafts would change: past mails decided with today's files and with the draft, in a thread of their own.

The log's entries of a trial have its name as `trial`.
Invariant: nothing is sent or stored; results are kept in memory alone, a bounded number of them, and one trial runs at
a time. A newer draft of the same file ends the older one's trial. Checked by tests/unit/desk_page/test_trials.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Condition, Lock, Thread
from time import monotonic
from typing import TypeVar

import structlog
from structlog.contextvars import bound_contextvars

from support_agent.config.settings import Settings
from support_agent.errors import ConfigError, SupportAgentError
from support_agent.ops.backtest.journal import Remembered
from support_agent.ops.backtest.pairing import Pair, own_addresses, pairs_of
from support_agent.ops.backtest.running import Bench, RunProgress, run
from support_agent.ops.backtest.sources import collect, in_store
from support_agent.ops.backtest.what_if import WhatIf, compare
from support_agent.ops.publishing import FileDraft, tried
from support_agent.store.store import Store

log = structlog.get_logger(__name__)
T = TypeVar("T")

OpenBench = Callable[[Settings, str], Bench]
"""Opens today's agent for settings, with a name for its indexes in memory."""
MOST_MAILS = 100
"""Past mails that are decided for a draft, the newest; a mail takes about a second, twice."""
SINCE = timedelta(days=90)
KEPT = 16
"""Trials, and files beside drafts, that are remembered."""
INDEX = "desk-trial"
"""The name of the index of both agents: one is open after the other, so that only changed texts are embedded."""


class _Ended(Exception):
    """A newer draft of the same file makes this trial pointless."""


@dataclass(frozen=True)
class Trial:
    """How far a trial is: its last step, and in the end what would change or why that is not known."""

    file: str
    step: RunProgress | None = None
    found: WhatIf | None = None
    problem: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.found is not None or bool(self.problem)


@dataclass(frozen=True)
class Original:
    """A file that a draft was imported from."""

    name: str
    data: bytes


@dataclass
class Trials:
    """The trials by the digests of their drafts, and what belongs to drafts besides. Safe for several threads."""

    _found: dict[str, Trial] = field(default_factory=dict)
    _before: dict[str, Remembered] = field(default_factory=dict)
    _frames: dict[str, str] = field(default_factory=dict)
    _originals: dict[str, Original] = field(default_factory=dict)
    _changed: Condition = field(default_factory=Condition)
    _running: Lock = field(default_factory=Lock)

    def start(self, draft: FileDraft, settings: Settings, store: Store, bench: OpenBench, now: datetime) -> None:
        """Begin the trial of a draft, if it has none yet."""
        with self._changed:
            if draft.digest in self._found:
                return
            file = f"{draft.place.kind}/{draft.place.name}"
            for digest, older in tuple(self._found.items()):
                if older.file == file and not older.is_over:
                    del self._found[digest]
            self._keep(self._found, draft.digest, Trial(file))
        work = (draft, settings, store, bench, now)
        Thread(target=self._run, args=work, name="desk-page-trial", daemon=True).start()

    def of(self, digest: str) -> Trial | None:
        """The trial of a draft; None: it was never begun, or is forgotten."""
        with self._changed:
            return self._found.get(digest)

    def wait(self, digest: str, timeout_s: float) -> Trial | None:
        """The trial of a draft, at its end or after this time."""
        with self._changed:
            self._changed.wait_for(lambda: (found := self._found.get(digest)) is None or found.is_over, timeout_s)
            return self._found.get(digest)

    def keep_frame(self, html: str) -> str:
        """Keep the HTML of a preview for its frame; return its name."""
        return self._kept(self._frames, html.encode("utf-8", "surrogatepass"), html)

    def frame(self, name: str) -> str | None:
        """The HTML of a preview."""
        return self._frames.get(name)

    def keep_original(self, original: Original) -> str:
        """Keep the file that a draft was imported from; return its name here."""
        return self._kept(self._originals, original.name.encode("utf-8", "surrogatepass") + original.data, original)

    def original(self, name: str) -> Original | None:
        """The file that a draft was imported from."""
        return self._originals.get(name)

    def _kept(self, kept: dict[str, T], content: bytes, value: T) -> str:
        name = hashlib.sha256(content).hexdigest()
        with self._changed:
            self._keep(kept, name, value)
        return name

    def _keep(self, kept: dict[str, T], key: str, value: T) -> None:
        kept.pop(key, None)
        kept[key] = value
        while len(kept) > KEPT:
            del kept[next(iter(kept))]

    def _tell(self, digest: str, **changes: object) -> None:
        with self._changed:
            if (found := self._found.get(digest)) is None:
                raise _Ended
            self._found[digest] = replace(found, **changes)  # type: ignore[arg-type]
            self._changed.notify_all()

    def _run(self, draft: FileDraft, settings: Settings, store: Store, bench: OpenBench, now: datetime) -> None:
        try:
            with self._running, bound_contextvars(trial=draft.digest[:12]):
                self._tell(draft.digest, step=None)
                self._tell(draft.digest, found=self._compared(draft, settings, store, bench, now))
        except _Ended:
            log.info("desk_page_trial_ended", file=draft.place.name)
        except SupportAgentError as error:
            self._fail(draft, str(error))
        except Exception as error:
            log.error("desk_page_trial_failed", error=type(error).__name__, exc_info=error)
            self._fail(draft, type(error).__name__)

    def _fail(self, draft: FileDraft, problem: str) -> None:
        with suppress(_Ended):
            self._tell(draft.digest, problem=problem)

    def _compared(self, draft: FileDraft, settings: Settings, store: Store, bench: OpenBench, now: datetime) -> WhatIf:
        """Decide the past mails with today's files and with the draft; today's results are remembered."""
        pairs = past_pairs(store, settings, now)
        total = 2 * len(pairs)

        def progress_from(offset: int) -> Callable[[RunProgress], None]:
            def progress(step: RunProgress) -> None:
                left = step.seconds_left if step.seconds_left is None or offset else 2 * step.seconds_left
                self._tell(draft.digest, step=RunProgress(offset + step.done, total, left))

            return progress

        today = bench(settings, INDEX)
        with self._changed:
            remembered = self._before.get(today.version) or Remembered()
            self._before = {today.version: remembered}
        before = run(pairs, remembered, today, progress_from(0), monotonic)
        with tried(settings.company, draft) as company:
            changed = bench(settings.model_copy(update={"company": company}), INDEX)
        try:
            after = run(pairs, Remembered(), changed, progress_from(len(pairs)), monotonic)
        finally:
            for one in (today, changed):
                one.company.accounts.close()
        return compare(before, after)


def past_pairs(store: Store, settings: Settings, now: datetime) -> Sequence[Pair]:
    """The newest questions of customers that the agent has received itself, with people's answers.

    Raises:
        ConfigError: there is none.
    """
    mails = store.mails.find(since=now - SINCE)
    since = mails[-MOST_MAILS].received_at if len(mails) > MOST_MAILS else now - SINCE
    past = collect(in_store(store, since), settings.backtest, now)
    within = timedelta(days=settings.backtest.same_subject_days)
    pairs = pairs_of(past.mails, own_addresses(settings, ()), within)[-MOST_MAILS:]
    if not pairs:
        raise ConfigError("no mail of a customer came in the last 90 days, so none can be tried")
    return pairs
