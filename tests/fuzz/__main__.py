"""`python -m tests.fuzz --count 200000`: any bytes in, never an exception, never a hang.

Half of the answer to "what if somebody sends ..." is here: mails made from scratch by hypothesis, and our own mails
(with `--seeds`, those of any other folder too) after a few accidents. Prints how many, how fast and what failed; every
input that failed is kept as a file. The exit status is 1 where one did.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.run import OWN_SEEDS, Report, run

KEPT_OF_A_KIND = 5


def main() -> int:
    """Run and print."""
    arguments = _arguments()
    started = time.monotonic()

    def tell(report: Report) -> None:
        if sys.stderr.isatty():
            print(f"\r{report.count} inputs, {len(report.crashes)} failed", end="", file=sys.stderr)  # noqa: T201

    folders = (*OWN_SEEDS, *arguments.seeds)
    report = run(arguments.count, arguments.seed, folders, arguments.workers, arguments.limit_s, tell)
    if sys.stderr.isatty():
        print(file=sys.stderr)  # noqa: T201
    took = time.monotonic() - started
    print(  # noqa: T201
        f"{report.count} inputs (seed {arguments.seed}): {len(report.crashes)} failed; "
        f"{report.count / took:.0f} a second with {arguments.workers} processes; "
        f"slowest {report.slowest_s:.2f} s of {arguments.limit_s:g} s, {len(report.slowest)} bytes"
    )
    _keep(report, arguments.out)
    return 1 if report.crashes else 0


def _keep(report: Report, folder: Path) -> None:
    """The slowest input and some of each kind of crash, as files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "slowest.eml").write_bytes(report.slowest)
    seen: Counter[str] = Counter()
    for crash in report.crashes:
        seen[crash.where] += 1
        if seen[crash.where] <= KEPT_OF_A_KIND:
            path = folder / f"{hashlib.sha256(crash.raw).hexdigest()[:16]}.eml"
            path.write_bytes(crash.raw)
            print(f"{path}: {crash.what}")  # noqa: T201
    for where, count in seen.most_common():
        print(f"{count} times {where}")  # noqa: T201


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=200_000, help="number of inputs")
    parser.add_argument("--seed", type=int, default=1, help="the same seed is the same inputs")
    parser.add_argument(
        "--seeds", type=Path, action="append", default=[], metavar="DIR", help="folder of further mails"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--limit-s", type=float, default=5.0, help="longest time for one input")
    parser.add_argument(
        "--out", type=Path, default=Path(tempfile.gettempdir()) / "support-agent-fuzz", help="folder for what failed"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
