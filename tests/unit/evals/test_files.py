"""Where questions are read from, and what is said where they cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.errors import ConfigError
from support_agent.evals.files import data_file, read_json_lines
from support_agent.frozen import Frozen


class Pair(Frozen):
    """A line."""

    question: str
    answer: int


def test_a_folder_or_the_file_itself_is_named(tmp_path: Path) -> None:
    """Rule: both lead to the file; what is not there is an error that says what to name."""
    path = tmp_path / "pairs.jsonl"
    path.write_text("{}", "utf-8")
    assert data_file(tmp_path, "pairs.jsonl") == data_file(path, "pairs.jsonl") == path
    with pytest.raises(ConfigError, match=r"others\.jsonl: no such file: name the folder that holds .* with --data"):
        data_file(tmp_path, "others.jsonl")


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


def test_other_text_than_utf_8_is_refused(tmp_path: Path) -> None:
    """Rule: no letter is guessed."""
    path = tmp_path / "pairs.jsonl"
    path.write_bytes('{"question": "über"}'.encode("latin-1"))
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_json_lines(path, Pair)
