"""How much memory there is for several instances of the embedded model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support_agent.errors import ConfigError
from support_agent.models.memory import require_memory, usable_bytes

GB = 10**9


@pytest.fixture
def meminfo(tmp_path: Path) -> Path:
    path = tmp_path / "meminfo"
    path.write_text("MemTotal: 8000000 kB\nMemFree: 1000 kB\nMemAvailable: 4000000 kB\n", "ascii")
    return path


@pytest.fixture
def statm(tmp_path: Path) -> Path:
    path = tmp_path / "statm"
    path.write_text("9000 100 7 1 0 5 0\n", "ascii")
    return path


USED = 100 * os.sysconf("SC_PAGE_SIZE")
HOST = 4_096_000_000


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("max", HOST), ("2000000000\n", 2 * GB - USED), ("1\n", 0), ("9223372036854771712", HOST), (None, HOST)],
)
def test_the_machine_and_the_container_bound_the_memory(
    meminfo: Path, statm: Path, tmp_path: Path, limit: str | None, expected: int
) -> None:
    """Of a container's limit this process has a part already; "max" and a huge number are no limit."""
    path = tmp_path / "memory.max"
    if limit is not None:
        path.write_text(limit, "ascii")
    assert usable_bytes(meminfo, (path,), statm) == expected


def test_a_containers_limit_counts_the_weights_that_are_still_to_be_loaded(
    meminfo: Path, statm: Path, tmp_path: Path
) -> None:
    """Rule: what `doctor` says before the weights are loaded is what the start says; `HOST` has them as free."""
    path = tmp_path / "memory.max"
    path.write_text("2000000000", "ascii")
    assert usable_bytes(meminfo, (path,), statm, to_load=GB) == GB - USED
    assert usable_bytes(meminfo, (), statm, to_load=GB) == HOST


def test_a_system_that_says_nothing_is_not_guessed_about(tmp_path: Path) -> None:
    assert usable_bytes(tmp_path / "none", (tmp_path / "none",), tmp_path / "none") is None
    require_memory(10**15, 64, None)


def test_instances_that_do_not_fit_are_refused_with_both_numbers() -> None:
    require_memory(3 * GB, 2, 3 * GB)
    with pytest.raises(ConfigError, match=r"model\.instances = 4 needs 3\.5 GB beside the weights, of 2\.0 GB: lower"):
        require_memory(3_500_000_000, 4, 2 * GB)
