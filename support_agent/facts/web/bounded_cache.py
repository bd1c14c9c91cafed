"""A cache in memory with a maximum age and size; the oldest entries are removed first.

Invariant: an entry over the age is never returned, and the sizes never add up to more than the limit; each entry has a
minimum size, so that the number of empty ones is limited, too. Checked by
tests/unit/facts/web/test_bounded_cache.py.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from datetime import datetime, timedelta
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

ENTRY_BYTES = 500
"""Approximate size of an entry without its content."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Kept(NamedTuple):
    value: object
    n_bytes: int
    at: datetime


class BoundedCache(Generic[K, V]):
    """Values by key. May be used from several threads."""

    def __init__(self, *, max_age_s: float, max_bytes: int) -> None:
        """Create an empty cache.

        Args:
            max_age_s: An entry of this age or older is removed.
            max_bytes: For all entries together; a larger single entry is not stored.
        """
        self._max_age = timedelta(seconds=max_age_s)
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._kept: OrderedDict[K, _Kept] = OrderedDict()
        self._n_bytes = 0

    def get(self, key: K, now: datetime) -> V | None:
        """The value, or None. An entry with a future time (the clock was ahead) is ignored."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            if not timedelta(0) <= now - kept.at < self._max_age:
                self._drop(key)
                return None
            return kept.value  # type: ignore[return-value]  # put() takes nothing but V

    def put(self, key: K, value: V, *, n_bytes: int, now: datetime) -> None:
        """Store a value, replacing an older one; `n_bytes` is its content's size, 0 or more."""
        with self._lock:
            self._drop(key)
            whole = n_bytes + ENTRY_BYTES
            if whole > self._max_bytes:
                return
            self._kept[key] = _Kept(value, whole, now)
            self._n_bytes += whole
            while self._n_bytes > self._max_bytes:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: K) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._n_bytes -= kept.n_bytes
