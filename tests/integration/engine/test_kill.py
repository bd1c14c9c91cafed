"""Real processes, real `kill -9`: nothing lost, no recorded step twice, on SQLite and PostgreSQL."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import get_args

from tests.integration.engine.journeys import NAMES, Kill, Mail, Place, Trace, run_process

PLACES: tuple[Place, ...] = get_args(Place)
KILLS = [Kill(f"mail-{number}", *at) for number, at in enumerate((s, p) for s in NAMES for p in PLACES)]
CONCURRENCY = 3
PROCESS_TIMEOUT_S = 40.0


@contextmanager
def engine_process(*args: object) -> Iterator[ForkServerProcess]:
    """`run_process` in a process forked from a server that has the libraries loaded; killed at the end."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.engine.journeys", "pytest"])
    process = context.Process(target=run_process, args=args)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def ended(process: ForkServerProcess) -> int | None:
    """The exit code, or None if the process does not come to an end."""
    process.join(PROCESS_TIMEOUT_S)
    return process.exitcode


def wait_for_lines(trace: Trace, count: int, process: ForkServerProcess) -> None:
    deadline = time.monotonic() + PROCESS_TIMEOUT_S
    while len(trace.lines()) < count:
        assert process.exitcode is None, "the process ended before it could be killed"
        assert time.monotonic() < deadline, "the process does no work"
        time.sleep(0.001)


def test_a_kill_anywhere_in_the_journey_loses_nothing_and_repeats_no_recorded_step(
    database_url: str, tmp_path: Path
) -> None:
    """Eighteen processes die, one at each place of each step; the last one finishes every mail.

    Each starts a mail of its own and dies in it, so that the next has work to take over. Only a step whose
    work was done but not yet recorded runs a second time.
    """
    trace = Trace(tmp_path / "trace")
    for kill in KILLS:
        mail = Mail(kill.mail_id, f"case of {kill.mail_id}")
        with engine_process(database_url, trace, [mail], kill) as process:
            assert ended(process) == -signal.SIGKILL

    with engine_process(database_url, trace, []) as process:
        assert ended(process) == 0

    expected = Counter((kill.mail_id, name) for kill in KILLS for name in NAMES)
    expected.update((kill.mail_id, kill.step) for kill in KILLS if kill.place == "after the work")
    assert Counter(trace.lines()) == expected


def test_kills_from_outside_keep_the_order_within_each_case(database_url: str, tmp_path: Path) -> None:
    """Three cases at once, killed again and again at any place: each case goes mail by mail, in order."""
    trace = Trace(tmp_path / "trace")
    mails = [Mail(f"{case}{number}", case) for number in range(3) for case in ("a", "b", "c")]
    kill_after_lines = (3, 10, 9, 5)
    for new_lines in kill_after_lines:
        with engine_process(database_url, trace, mails, None, CONCURRENCY) as process:
            wait_for_lines(trace, len(trace.lines()) + new_lines, process)
            process.kill()
            assert ended(process) == -signal.SIGKILL
    with engine_process(database_url, trace, mails, None, CONCURRENCY) as process:
        assert ended(process) == 0

    counts = Counter(trace.lines())
    assert set(counts) == {(mail.mail_id, name) for mail in mails for name in NAMES}
    assert counts.total() - len(counts) <= len(kill_after_lines) * CONCURRENCY, "only steps in flight ran twice"
    for case in ("a", "b", "c"):
        handled = (mail_id for mail_id, _ in trace.lines() if mail_id.startswith(case))
        assert [mail_id for mail_id, _ in groupby(handled)] == [f"{case}0", f"{case}1", f"{case}2"]
