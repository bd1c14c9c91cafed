"""Contexts of the embedded model are handed out to one caller at a time, the best one first."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from support_agent.errors import PermanentError, TransientError
from support_agent.models.llama_context import ContextPool, LlamaContext

PATIENCE_S = 20.0


class Cached:
    """A context that holds some tokens."""

    def __init__(self, cached: Sequence[int]) -> None:
        self.cached = cached
        self.deadline = 0.0
        self.closed = 0

    def cached_start(self, tokens: Sequence[int]) -> int:
        return sum(1 for old, new in zip(self.cached, tokens, strict=False) if old == new)

    def begin(self, deadline: float, timeout_s: float) -> None:
        self.deadline = deadline

    def close(self) -> None:
        self.closed += 1


def pool_of(*contexts: Cached) -> ContextPool:
    return ContextPool([cast(LlamaContext, context) for context in contexts], clock=lambda: 100.0)


def test_the_context_that_has_read_most_of_the_prompt_takes_it() -> None:
    """What another question has read is not read again; the deadline is that of the whole wait."""
    short, long = Cached([1]), Cached([1, 2, 3])
    pool = pool_of(short, long)
    with pool.turn(5.0) as take, pool.turn(5.0) as take_other:
        assert take([1, 2, 4]) is cast(LlamaContext, long)
        assert take_other([1, 2, 4]) is cast(LlamaContext, short)
    assert (short.deadline, long.deadline) == (105.0, 105.0)


def test_as_many_callers_as_contexts_work_at_once_and_the_next_one_waits() -> None:
    pool, inside, leave = pool_of(Cached([]), Cached([])), threading.Semaphore(0), threading.Semaphore(0)

    def work(_: int) -> LlamaContext:
        with pool.turn(PATIENCE_S) as take:
            context = take([1])
            inside.release()
            assert leave.acquire(timeout=PATIENCE_S)
            return context

    with ThreadPoolExecutor(3) as threads:
        done = threads.map(work, range(3))
        assert all(inside.acquire(timeout=PATIENCE_S) for _ in range(2))
        assert not inside.acquire(blocking=False), "there are two contexts"
        leave.release()
        assert inside.acquire(timeout=PATIENCE_S)
        leave.release(2)
        assert len(set(map(id, done))) == 2


def test_who_finds_no_free_context_in_time_tries_again_later() -> None:
    """And who has failed gives the context back."""
    pool = pool_of(Cached([]))

    def fail() -> None:
        with pool.turn(1.0) as take:
            take([1])
            with pytest.raises(TransientError, match=r"within 0\.01 s"), pool.turn(0.01):
                pass
            raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            fail()


def test_a_closed_pool_frees_each_context_once_and_refuses_further_callers() -> None:
    context = Cached([])
    pool = pool_of(context)
    pool.close()
    pool.close()
    assert context.closed == 1
    with pytest.raises(PermanentError, match="closed"), pool.turn(1.0):
        pass
