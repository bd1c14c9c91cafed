"""What a killed run leaves is used again."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from support_agent.errors import ConfigError
from support_agent.ops.backtest.journal import Journal
from tests.unit.ops.backtest.made import choice, result


def test_a_result_is_there_after_the_next_opening(tmp_path: Path) -> None:
    with Journal(tmp_path / "work", "a" * 64) as journal:
        journal.add(result(1, choice()))
    with Journal(tmp_path / "work", "a" * 64) as journal:
        assert journal.get("1") == result(1, choice())
        assert journal.get("2") is None


def test_a_line_that_a_kill_cut_off_loses_that_mail_alone(tmp_path: Path) -> None:
    """Rule: at every byte at which a process can die, the mails before it are there and the next one is whole."""
    with Journal(tmp_path, "a" * 64) as journal:
        journal.add(result(1))
        journal.add(result(2))
        path = journal.path
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first + 1, len(whole), 97):
        path.write_bytes(whole[:end])
        with Journal(tmp_path, "a" * 64) as journal:
            assert (len(journal), journal.get("1")) == (1, result(1))
            journal.add(result(3))
        with Journal(tmp_path, "a" * 64) as journal:
            assert (len(journal), journal.get("3")) == (2, result(3))


def test_results_of_another_version_are_not_used(tmp_path: Path) -> None:
    with Journal(tmp_path, "a" * 64) as journal:
        journal.add(result(1))
    with Journal(tmp_path, "b" * 64) as journal:
        assert journal.get("1") is None


def test_only_the_owner_may_read_customers_words(tmp_path: Path) -> None:
    with Journal(tmp_path, "a" * 64) as journal:
        assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    journal.path.chmod(0o644)
    with Journal(tmp_path, "a" * 64) as again:
        assert stat.S_IMODE(again.path.stat().st_mode) == 0o600


def test_a_folder_that_cannot_be_used_is_an_error_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(ConfigError, match="--work"):
        Journal(tmp_path / "file", "a" * 64)
