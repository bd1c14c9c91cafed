"""The table that `make test` prints: a line a room, and the sum."""

from __future__ import annotations

from tests.coverage_by_room import table


def summary(covered_lines: int, missing_lines: int, covered_branches: int, missing_branches: int) -> dict[str, object]:
    return {"summary": locals()}


def test_files_are_added_up_by_room() -> None:
    """Rule: a module at the top is a room of its own; where there is no branch, there is no share."""
    files = {
        "support_agent/mail/message.py": summary(9, 1, 3, 1),
        "support_agent/mail/text/quotation.py": summary(1, 9, 1, 3),
        "support_agent/errors.py": summary(2, 0, 0, 0),
    }
    rows = [line.split() for line in table(files).splitlines()[1:]]
    assert rows == [
        ["errors", "2", "100.0%", "0", "-", "0"],
        ["mail", "20", "50.0%", "8", "50.0%", "4"],
        ["all", "22", "54.5%", "8", "50.0%", "4"],
    ]
