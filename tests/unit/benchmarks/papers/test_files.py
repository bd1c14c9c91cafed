"""Records out of a file: one a line, and what is said of one that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from tests.benchmarks.papers.files import read_json_lines


class Pair(Frozen):
    """A line."""

    question: str
    answer: int


def test_lines_are_records(tmp_path: Path) -> None:
    """Rule: one a line; empty lines and a byte order mark are nothing."""
    path = tmp_path / "pairs.jsonl"
    path.write_text('\ufeff{"question": "a", "answer": 1}\n\n{"question": "b", "answer": 2}\n', "utf-8")
    assert read_json_lines(path, Pair) == (Pair(question="a", answer=1), Pair(question="b", answer=2))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"question": "a", "answer": 1}\n{"question": "b"}', r":2: answer: Field required: correct"),
        ('{"question": "a", "answer": 1, "anwser": 2}', r":1: anwser: Extra inputs"),
        ("question,answer", r":1: Invalid JSON"),
        ("\n", r"no line in it"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, told: str) -> None:
    """Rule: the number of the line, and what is wrong with it; nothing is passed over."""
    path = tmp_path / "pairs.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=told):
        read_json_lines(path, Pair)
