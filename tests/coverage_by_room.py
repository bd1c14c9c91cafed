"""Prints how much of each room the tests ran: `python -m tests.coverage_by_room FILE`, with slipcover's JSON.

Not counted: what runs in a process of its own (the program of the acceptance tests).
Checked by tests/unit/test_coverage_by_room.py.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

COUNTS = ("covered_lines", "missing_lines", "covered_branches", "missing_branches")


def main() -> None:
    """Print a line a room and their sum."""
    print(table(json.loads(Path(sys.argv[1]).read_text("utf-8"))["files"]))  # noqa: T201


def table(files: Mapping[str, Mapping[str, Any]]) -> str:
    """The shares by room, from what was measured of each file: {path: {"summary": {...}}}."""
    rooms: dict[str, list[int]] = defaultdict(lambda: [0] * len(COUNTS))
    for path, measured in files.items():
        room = Path(path).relative_to("support_agent").parts[0].removesuffix(".py")
        for name in (room, "all"):
            rooms[name] = [have + measured["summary"][count] for have, count in zip(rooms[name], COUNTS, strict=True)]
    lines = [f"{'room':12}{'lines':>8}{'run':>8}{'branches':>10}{'taken':>8}{'not taken':>11}"]
    for room in (*sorted(rooms.keys() - {"all"}), "all"):
        ran, not_run, taken, not_taken = rooms[room]
        of_lines = f"{ran + not_run:>8}{_share(ran, not_run):>8}"
        of_branches = f"{taken + not_taken:>10}{_share(taken, not_taken):>8}{not_taken:>11}"
        lines.append(f"{room:12}{of_lines}{of_branches}")
    return "\n".join(lines)


def _share(part: int, rest: int) -> str:
    return f"{part / (part + rest):.1%}" if part + rest else "-"


if __name__ == "__main__":
    main()
