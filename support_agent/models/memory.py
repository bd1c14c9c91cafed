"""How much memory there is for several instances of the embedded model.

Checked by tests/unit/models/test_memory.py; what an instance takes is measured by `tests.benchmarks.instances`.
"""

from __future__ import annotations

import os
from pathlib import Path

from support_agent.errors import ConfigError

MEMINFO = Path("/proc/meminfo")
LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""A container's limit, in both versions of Linux's control groups."""
STATM = Path("/proc/self/statm")
"""The size of this process in pages: the second number is what of it is in memory."""


def usable_bytes(
    meminfo: Path = MEMINFO, limits: tuple[Path, ...] = LIMITS, statm: Path = STATM, *, to_load: int = 0
) -> int | None:
    """What this process may still take: the machine's available memory, or what is left of the container's limit.

    Args:
        to_load: Bytes of a file that is still to be mapped into memory: a container's limit counts them.
    Returns:
        None if the system says neither.
    """
    found = [_available(meminfo), *(_left(limit, statm, to_load) for limit in limits)]
    return min((number for number in found if number is not None), default=None)


def require_memory(needed: int, instances: int, usable: int | None) -> None:
    """Refuse instances that do not fit.

    Args:
        needed: Bytes for all instances, beside the weights, which are loaded.
        usable: As of `usable_bytes`.
    Raises:
        ConfigError: there is too little memory.
    """
    if usable is not None and needed > usable:
        what = f"model.instances = {instances} needs {needed / 1e9:.1f} GB beside the weights, of {usable / 1e9:.1f} GB"
        raise ConfigError(f"{what}: lower model.instances or model.context_tokens")


def _available(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text("ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _left(limit: Path, statm: Path, to_load: int) -> int | None:
    try:
        text = limit.read_text("ascii").strip()
        resident = int(statm.read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None
    return max(0, int(text) - resident - to_load) if text.isdigit() else None  # "max": no limit
