"""What is too long is cut into parts."""

from __future__ import annotations

import pytest

from support_agent.core.size_limits import MOST_CHARACTERS, batches, first_line


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("\nduplicate key\nDETAIL: (a@example.net)", "duplicate key"),
        (ValueError("a\nb"), "a"),
        (ValueError(), "ValueError"),
        ("", ""),
        ("x" * 1000, "x" * MOST_CHARACTERS),
    ],
)
def test_an_error_is_told_by_its_first_line(text: object, first: str) -> None:
    """The others may quote the row, with a customer's data."""
    assert first_line(text) == first


def test_batches_have_all_parts_of_a_list_in_its_order() -> None:
    assert list(batches([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    assert list(batches([])) == []
