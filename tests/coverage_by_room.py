"""Prints how much of each room the tests ran, after a run with `--cov`: `python -m tests.coverage_by_room`.

Not counted: what runs in a process of its own (the program of the acceptance tests), and what needs the model.
Checked by tests/unit/test_coverage_by_room.py.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import coverage

COUNTS = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def main() -> None:
    """Print a line a room and their sum."""
    measured = coverage.Coverage()
    measured.load()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        measured.json_report(outfile=file.name)
        print(table(json.loads(Path(file.name).read_text("utf-8"))["files"]))  # noqa: T201


def table(files: Mapping[str, Mapping[str, Any]]) -> str:
    """The shares by room, from what coverage tells of each file: {path: {"summary": {...}}}."""
    rooms: dict[str, list[int]] = defaultdict(lambda: [0] * len(COUNTS))
    for path, told in files.items():
        room = Path(path).relative_to("support_agent").parts[0].removesuffix(".py")
        for name in (room, "all"):
            rooms[name] = [have + told["summary"][count] for have, count in zip(rooms[name], COUNTS, strict=True)]
    lines = [f"{'room':12}{'lines':>8}{'run':>8}{'branches':>10}{'taken':>8}{'not taken':>11}"]
    for room in (*sorted(rooms.keys() - {"all"}), "all"):
        ran, statements, taken, branches = rooms[room]
        shares = f"{_share(ran, statements):>8}{branches:>10}{_share(taken, branches):>8}{branches - taken:>11}"
        lines.append(f"{room:12}{statements:>8}{shares}")
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


if __name__ == "__main__":
    main()
