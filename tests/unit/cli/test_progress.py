"""The bar of long commands."""

from __future__ import annotations

import io

import pytest

from support_agent.cli.progress import with_progress
from tests.unit.models.test_progress import Terminal


def test_a_terminal_shows_what_and_how_far(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Stdout is for data."""
    monkeypatch.setattr("sys.stderr", stream := Terminal())
    assert list(with_progress(iter("abcd"), "questions decided", 4)) == [*"abcd"]
    assert "questions decided" in stream.getvalue()
    assert "100%" in stream.getvalue()
    assert capsys.readouterr().out == ""


def test_a_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", stream := io.StringIO())
    assert list(with_progress(iter("abcd"), "questions decided", 4)) == [*"abcd"]
    assert stream.getvalue() == ""
