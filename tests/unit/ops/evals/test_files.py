"""Where questions are read from, and what is said where they cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.errors import ConfigError
from support_agent.ops.evals.files import data_file, read_text


def test_a_folder_or_the_file_itself_is_named(tmp_path: Path) -> None:
    """Rule: both lead to the file; what is not there is an error that says what to name."""
    path = tmp_path / "pairs.jsonl"
    path.write_text("{}", "utf-8")
    assert data_file(tmp_path, "pairs.jsonl") == data_file(path, "pairs.jsonl") == path
    with pytest.raises(ConfigError, match=r"others\.jsonl: no such file: name the folder that holds .* with --data"):
        data_file(tmp_path, "others.jsonl")


def test_other_text_than_utf_8_is_refused(tmp_path: Path) -> None:
    """Rule: no letter is guessed."""
    path = tmp_path / "pairs.jsonl"
    path.write_bytes('{"question": "über"}'.encode("latin-1"))
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_text(path)
