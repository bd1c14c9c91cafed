"""`kill -9` before each change of a file and each commit of a transaction.

Where to die is found, not listed: a run is counted undisturbed, and then dies before each of what was counted.
"""

from __future__ import annotations

import os
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import Engine, event

CHANGES = (
    (os, "fsync"),
    (Path, "rename"),
    (Path, "mkdir"),
    (Path, "touch"),
    (Path, "unlink"),
    (shutil, "rmtree"),
)
"""What changes files, or waits until they are changed."""

Calls = tuple[tuple[Any, str], ...]
"""Owners and names of functions."""


@contextmanager
def counted(count: Callable[[], None], also: Calls = ()) -> Iterator[None]:
    """Call `count` before each change of a file, each commit, and each of further calls."""

    def counting(real: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            count()
            return real(*arguments, **named)

        return run

    def before_commit(_: object) -> None:
        count()

    event.listen(Engine, "commit", before_commit)
    patches = [patch.object(owner, name, counting(getattr(owner, name))) for owner, name in CHANGES + also]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()
        event.remove(Engine, "commit", before_commit)


def changes_of(work: Callable[[], object], also: Calls = ()) -> int:
    """How many changes a run makes."""
    found: list[None] = []
    with counted(lambda: found.append(None), also):
        work()
    return len(found)


def killed_before(number: int, work: Callable[[], object], also: Calls = ()) -> None:
    """Run in a process of its own that is killed before its n-th change."""
    child = os.fork()
    if child == 0:
        left = iter(range(number))

        def count() -> None:
            if next(left, None) == number - 1:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            with counted(count, also):
                work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
