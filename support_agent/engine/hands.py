"""The journeys that run in this process, and a way to keep further ones from beginning for a moment.

Invariant: inside `still` no journey of the brand runs, if it yields True. Checked by tests/unit/engine/test_hands.py.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Hands:
    """Counts the running journeys by brand; for many threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held: dict[str, str | None] = {}
        """The brand of each running workflow; None while it waits to begin."""
        self._kept_still: Counter[str] = Counter()

    @contextmanager
    def holding(self, brand: str, workflow_id: str) -> Iterator[None]:
        """Count a journey as running; waits first while its brand is kept still."""
        with self._changed:
            # In hand while it waits, too: its record says that it runs here.
            self._held[workflow_id] = None
            self._changed.wait_for(lambda: not self._kept_still[brand])
            self._held[workflow_id] = brand
        try:
            yield
        finally:
            with self._changed:
                self._held.pop(workflow_id, None)
                self._changed.notify_all()

    @contextmanager
    def still(self, brand: str, timeout_s: float) -> Iterator[bool]:
        """Let no journey of the brand begin inside the block.

        Yields:
            Whether those that ran have ended within `timeout_s` seconds.
        """
        with self._changed:
            self._kept_still[brand] += 1
            is_still = self._changed.wait_for(lambda: not self._has(brand), timeout_s)
        try:
            yield is_still
        finally:
            with self._changed:
                self._kept_still[brand] -= 1
                self._changed.notify_all()

    def all(self) -> frozenset[str]:
        """The workflows of all brands that run, or that wait while their brand is kept still."""
        with self._changed:
            return frozenset(self._held)

    def _has(self, brand: str) -> bool:
        return brand in self._held.values()
