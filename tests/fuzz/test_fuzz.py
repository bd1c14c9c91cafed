"""A short fuzz run, and that the fuzzer itself sees a crash and a hang."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.fuzz.checks import TookTooLong
from tests.fuzz.run import BATCH, OWN_SEEDS, STRUCTURE_EVERY, batch, crash_of, inputs, seed_mails, structured

LIMIT_S = 5.0
COUNT = 1000
SCRATCH_COUNT = 150


def test_damaged_mails_are_read() -> None:
    """S37: our own mails after accidents are parsed, screened and identified without an exception or a hang."""
    report = batch(seed=1, number=1, size=COUNT, folders=OWN_SEEDS, limit_s=LIMIT_S)

    assert report.count == COUNT
    assert [crash.what for crash in report.crashes] == []


def test_mails_from_scratch_are_read() -> None:
    """S37: so are mails of any structure."""
    report = batch(seed=1, number=0, size=SCRATCH_COUNT, folders=(), limit_s=LIMIT_S)

    assert report.count == SCRATCH_COUNT
    assert [crash.what for crash in report.crashes] == []


def test_same_seed_is_the_same_inputs() -> None:
    """A crash of yesterday is there again today; another seed is another run."""
    first, again, other = (batch(seed, 1, 20, OWN_SEEDS, LIMIT_S, _fine).digest for seed in (1, 1, 2))

    assert first == again != other
    assert structured(7, 5) == structured(7, 5)


def test_batches_have_both_kinds_of_input() -> None:
    """The first batch is from scratch, the next ones are damaged seeds."""
    assert STRUCTURE_EVERY > 1
    assert BATCH > 1
    assert len(list(inputs(1, 0, 3, ()))) == 3
    assert len(list(inputs(1, 1, 3, OWN_SEEDS))) == 3


def test_crash_is_seen_with_its_input() -> None:
    """What a check raises is kept, whatever it is, with the bytes and the place."""

    def fails(raw: bytes) -> None:
        raise RecursionError("too deep")

    crash = crash_of(b"Subject: x", LIMIT_S, fails)

    assert crash is not None
    assert crash.raw == b"Subject: x"
    assert crash.what.startswith("RecursionError in test_fuzz.py:fails")


def test_hang_is_ended_although_exceptions_are_caught() -> None:
    """Our parser catches every `Exception`; the alarm is none."""

    def hangs(raw: bytes) -> None:
        while True:
            try:
                time.sleep(0.001)
            except Exception:
                continue

    crash = crash_of(b"", 0.02, hangs)

    assert crash is not None
    assert crash.where.startswith(TookTooLong.__name__)


def test_seeds_are_all_files_below_a_folder(tmp_path: Path) -> None:
    """Folders of other mails are taken whole, in one order."""
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "b").write_bytes(b"2")
    (tmp_path / "a.eml").write_bytes(b"1")

    assert seed_mails([tmp_path]) == [b"1", b"2"]
    with pytest.raises(IndexError):
        list(inputs(1, 1, 1, [tmp_path / "none"]))


def _fine(raw: bytes) -> None:
    """Checks nothing."""
