"""A fuzz run in batches: every batch follows from the run's seed and its own number, whichever process has it.

Invariant: the same seed, count and seed mails are the same inputs, in any number of processes. Checked by
tests/fuzz/test_fuzz.py.
"""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as hypothesis_seed

from tests.fuzz.checks import TookTooLong, check, time_limit
from tests.fuzz.mutations import MAX_BYTES, mutate
from tests.fuzz.structures import mails

BATCH = 500
STRUCTURE_EVERY = 10
"""Every so many batches the mails are made from scratch; the others are damaged seeds."""
TESTS = Path(__file__).parents[1]
OWN_SEEDS = (TESTS / "emails", TESTS / "mails" / "labelled", TESTS / "mails" / "tuning")
Check = Callable[[bytes], None]


@dataclass(frozen=True)
class Crash:
    """An input that a check failed for; crashes with the same `where` are taken for one."""

    raw: bytes
    where: str
    what: str


@dataclass
class Report:
    """What a run, or a part of it, came to."""

    count: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0
    slowest: bytes = b""
    crashes: list[Crash] = field(default_factory=list)
    digest: bytes = b""

    def add(self, other: Report) -> None:
        self.count += other.count
        self.seconds += other.seconds
        self.crashes += other.crashes
        self.digest = hashlib.sha256(self.digest + other.digest).digest()
        if other.slowest_s > self.slowest_s:
            self.slowest_s, self.slowest = other.slowest_s, other.slowest


def seed_mails(folders: Sequence[Path]) -> list[bytes]:
    """All files in these folders and below, in one order; the first `MAX_BYTES` of each."""
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    return [path.read_bytes()[:MAX_BYTES] for path in files]


def run(
    count: int, seed: int, folders: Sequence[Path], workers: int, limit_s: float, tell: Callable[[Report], None]
) -> Report:
    """Check so many inputs; `tell` hears of the report after each batch."""
    total, sizes = Report(), [min(BATCH, count - start) for start in range(0, count, BATCH)]
    with ProcessPoolExecutor(workers) as pool:
        jobs = [pool.submit(batch, seed, number, size, folders, limit_s) for number, size in enumerate(sizes)]
        for job in jobs:
            total.add(job.result())
            tell(total)
    return total


def batch(seed: int, number: int, size: int, folders: Sequence[Path], limit_s: float, checked: Check = check) -> Report:
    """The inputs of one batch, each checked."""
    report, digest = Report(), hashlib.sha256()
    for raw in inputs(seed, number, size, folders):
        digest.update(hashlib.sha256(raw).digest())
        started = time.perf_counter()
        if crash := crash_of(raw, limit_s, checked):
            report.crashes.append(crash)
        took = time.perf_counter() - started
        report.count += 1
        report.seconds += took
        if took > report.slowest_s:
            report.slowest_s, report.slowest = took, raw
    report.digest = digest.digest()
    return report


def inputs(seed: int, number: int, size: int, folders: Sequence[Path]) -> Iterator[bytes]:
    """Mails from scratch, or damaged seeds."""
    if number % STRUCTURE_EVERY == 0:
        yield from structured(seed * 1_000_003 + number, size)
        return
    random, seeds = Random(f"{seed}:{number}"), _cached_seeds(tuple(folders))
    yield from (mutate(random, seeds) for _ in range(size))


def structured(seed: int, size: int) -> list[bytes]:
    """So many mails that hypothesis makes from a seed."""
    made: list[bytes] = []

    @hypothesis_seed(seed)
    @settings(
        max_examples=size,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(mails())
    def keep(raw: bytes) -> None:
        made.append(raw)

    keep()
    return list(islice(made, size))


def crash_of(raw: bytes, limit_s: float, checked: Check = check) -> Crash | None:
    """What went wrong with an input, or None."""
    try:
        with time_limit(limit_s):
            checked(raw)
    except (Exception, TookTooLong) as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "support_agent" in frame.filename] or frames
        where = f"{type(error).__name__} in {Path(ours[-1].filename).name}:{ours[-1].name}"
        return Crash(raw, where, f"{where}:{ours[-1].lineno}: {error}"[:300])
    return None


_SEEDS: dict[tuple[Path, ...], list[bytes]] = {}


def _cached_seeds(folders: tuple[Path, ...]) -> list[bytes]:
    """Read once in each process."""
    if folders not in _SEEDS:
        _SEEDS[folders] = seed_mails(folders)
    return _SEEDS[folders]
