"""One worker among those on a store: it shows that it is alive, and leads the mailbox while no other does.

Who leads fetches the mailbox and does the duties of the rounds; all handle mails. A worker that does not renew its
leases for `engine.lease_s` seconds is taken for dead: another leads, and takes over its mails.

Invariant: a worker thinks that it leads only while its lease is certain to be valid, by a clock that never jumps.
Checked by tests/unit/workflow/test_membership.py, and with real processes by tests/journey/test_workers.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog

from support_agent.engine.steps import known_error
from support_agent.store.leases import Lease, Leases

log = structlog.get_logger(__name__)

MAILBOX = "mailbox"
WORKER = "worker:"
RENEWALS_PER_LEASE = 3
CERTAIN_SHARE = 2 / 3
"""The share of a lease for which its holder relies on it; the rest is for what is under way when it ends."""


class Membership:
    """This worker's leases, renewed in a thread; `now` is the clock.

    Args:
        name: The worker's name, which no other has.
        lease_s: How long a lease lasts without renewal.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        leases: Leases,
        name: str,
        lease_s: float,
        now: Callable[[], datetime],
        clock: Callable[[], float],
    ) -> None:
        self.name = name
        self.pause_s = lease_s / RENEWALS_PER_LEASE
        self._leases, self._lasts, self._certain_s = leases, timedelta(seconds=lease_s), lease_s * CERTAIN_SHARE
        self._now, self._clock = now, clock
        self._lead: Lease | None = None
        self._renewed_s = 0.0

    def lead(self) -> Lease | None:
        """The lease on the mailbox; None: another worker leads, or may lead by now."""
        is_certain = self._clock() - self._renewed_s < self._certain_s
        return self._lead if is_certain else None

    def alive(self) -> frozenset[str]:
        """The workers on the store that are alive, with this one."""
        return self._leases.holders(WORKER, self._now()) | {self.name}

    def renew(self) -> None:
        """Show that this worker is alive, and lead if no other does.

        Raises:
            TransientError: the database did not answer.
        """
        began_s = self._clock()
        self._leases.take(f"{WORKER}{self.name}", self.name, self._lasts, self._now())
        lead = self._leases.take(MAILBOX, self.name, self._lasts, self._now())
        if lead != self._lead:
            log.info("mailbox_led" if lead else "mailbox_not_led", worker=self.name)
        self._lead, self._renewed_s = lead, began_s

    @contextmanager
    def renewing(self, led: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Renew in a thread until the block ends, then let others lead at once.

        Args:
            led: Called again and again while this worker leads, in a thread of its own, as it may take long.
        """
        self.renew()
        stop = threading.Event()
        acts = (self.renew, lambda: led() if self.lead() is not None else None)
        threads = [threading.Thread(target=self._repeat, args=(act, stop), daemon=True) for act in acts]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()
            self._lead = None
            for name in (MAILBOX, f"{WORKER}{self.name}"):
                with logged():
                    self._leases.release(name, self.name)

    def _repeat(self, act: Callable[[], object], stop: threading.Event) -> None:
        while not stop.wait(self.pause_s):
            with logged():
                act()


@contextmanager
def logged() -> Iterator[None]:
    """Log any error instead of ending the thread, without which nobody would lead; the next renewal tries again."""
    try:
        yield
    except Exception as error:
        known = known_error(error, "the renewal of a lease")
        log.warning("lease_not_renewed", code=known.code, error=str(known))
