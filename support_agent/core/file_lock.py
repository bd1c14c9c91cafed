"""The lock of an open file, by which processes of one machine keep out of each other's way without waiting.

Invariant: the operating system holds it, so it ends with the process, even if that is killed, and with the last copy of
the open file, which a child process may have. Checked by tests/unit/core/test_file_lock.py.
"""

from __future__ import annotations

import fcntl
from typing import IO


def takes_lock(file: IO[bytes] | int, *, without_locks: bool) -> bool:
    """Take the lock of an open file, if no other process has it; return whether that succeeded.

    Args:
        without_locks: What to return on a file system that has no locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return without_locks
    return True
