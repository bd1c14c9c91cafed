"""The lock of an open file."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import NoReturn

import pytest

from support_agent.core.file_lock import takes_lock


def test_one_has_the_lock_until_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("wb") as first, path.open("rb") as second:
        assert takes_lock(first, without_locks=False)
        assert not takes_lock(second, without_locks=True)
    with path.open("rb") as third:
        assert takes_lock(third, without_locks=False)


def test_a_process_that_has_the_open_file_keeps_the_lock(tmp_path: Path) -> None:
    """So that a run which the desk's page started is seen after the page has ended."""
    path = tmp_path / "lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    assert takes_lock(handle, without_locks=False)
    of_child = os.dup(handle)
    os.close(handle)
    with path.open("rb") as other:
        assert not takes_lock(other, without_locks=True)
        os.close(of_child)
        assert takes_lock(other, without_locks=False)


@pytest.mark.parametrize("wanted", [True, False])
def test_where_there_are_no_locks_the_caller_says_what_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: bool
) -> None:
    def refused(*_: object) -> NoReturn:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    with (tmp_path / "lock").open("wb") as file:
        assert takes_lock(file, without_locks=wanted) is wanted
