"""The matrix library computes on one core while E5 does, and as before afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits  # type: ignore[import-untyped]

from support_agent.models.embedding.e5 import OneCore


def cores() -> set[int]:
    """The cores that numpy's library may use."""
    assert np.ones((2, 2)).dot(np.ones(2)).sum() == 4
    return {pool["num_threads"] for pool in ThreadpoolController().info() if pool["user_api"] == "blas"}


def test_the_limit_stands_until_the_last_one_has_computed() -> None:
    """Rule: of two that compute at once, the first to end does not lift the limit of the other."""
    with threadpool_limits(2, user_api="blas"):
        before, one = cores(), OneCore()
        first, second = one.limited(), one.limited()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert cores() == {1}
        second.__exit__(None, None, None)
        assert cores() == before == {2}


def test_an_error_restores_the_limit() -> None:
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ValueError, match="broken"), OneCore().limited():
            raise ValueError("broken")
        assert cores() == {2}
