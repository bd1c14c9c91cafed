"""What is kept is neither too old nor too much."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from support_agent.facts.web.bounded_cache import ENTRY_BYTES, BoundedCache

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_an_entry_is_there_until_its_age_is_reached() -> None:
    """Rule: exactly so long, by the clock that is given."""
    cache = BoundedCache[str, str](max_age_s=60, max_bytes=10_000)
    cache.put("a", "one", n_bytes=1, now=NOW)
    assert cache.get("a", later(59.9)) == "one"
    assert cache.get("a", later(60)) is None
    assert cache.get("a", NOW) is None


def test_an_entry_from_the_future_is_gone() -> None:
    """A clock that was ahead by a year must not keep a page for a year."""
    cache = BoundedCache[str, str](max_age_s=60, max_bytes=10_000)
    cache.put("a", "one", n_bytes=1, now=later(3600))
    assert cache.get("a", NOW) is None


def test_an_age_of_none_keeps_nothing() -> None:
    cache = BoundedCache[str, str](max_age_s=0, max_bytes=10_000)
    cache.put("a", "one", n_bytes=1, now=NOW)
    assert cache.get("a", NOW) is None


def test_the_oldest_goes_first_and_what_is_too_large_not_in_at_all() -> None:
    """Rule: something too large does not push out what is there."""
    cache = BoundedCache[str, str](max_age_s=60, max_bytes=2 * ENTRY_BYTES + 10)
    for key in "abc":
        cache.put(key, key, n_bytes=4, now=NOW)
    assert [cache.get(key, NOW) for key in "abc"] == [None, "b", "c"]
    cache.put("d", "d", n_bytes=ENTRY_BYTES + 11, now=NOW)
    assert [cache.get(key, NOW) for key in "bcd"] == ["b", "c", None]


def test_there_is_an_end_to_empty_entries() -> None:
    """Every question without an answer leaves one."""
    cache = BoundedCache[int, str](max_age_s=60, max_bytes=10 * ENTRY_BYTES)
    for number in range(11):
        cache.put(number, "", n_bytes=0, now=NOW)
    assert [cache.get(number, NOW) for number in range(11)] == [None, *[""] * 10]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 2 * ENTRY_BYTES)), max_size=40))
def test_sizes_never_add_up_to_more_than_the_bound(puts: list[tuple[str, int]]) -> None:
    """Also where keys are put again with another size; what was put last is there."""
    cache = BoundedCache[str, int](max_age_s=60, max_bytes=3 * ENTRY_BYTES)
    for key, n_bytes in puts:
        cache.put(key, n_bytes, n_bytes=n_bytes, now=NOW)
    kept = [size for key in "abcd" if (size := cache.get(key, NOW)) is not None]
    assert sum(kept) + len(kept) * ENTRY_BYTES <= 3 * ENTRY_BYTES
    if puts:
        assert cache.get(puts[-1][0], NOW) == puts[-1][1]
