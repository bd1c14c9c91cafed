"""Progress of a download on a terminal and in a log."""

from __future__ import annotations

import io

import pytest

from support_agent.models.progress import LineProgress, TerminalProgress, progress_on


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_log_gets_a_line_for_each_tenth_and_none_twice() -> None:
    """Rule: 1.1 GB in steps of kilobytes does not fill a log; going back writes nothing."""
    stream = io.StringIO()
    progress = progress_on(stream)
    with progress.bar("tiny", 2_000_000) as move_to:
        for done_bytes in (0, 1000, 400_000, 410_000, 300_000, 2_000_000, 3_000_000):
            move_to(done_bytes)
    percents = [line.split()[1] for line in stream.getvalue().splitlines()]
    assert percents == ["0", "20", "100"]
    assert "of 2.0 MB" in stream.getvalue()


def test_a_terminal_gets_a_bar() -> None:
    """Rule: a person sees the name and how much of how much."""
    stream = Terminal()
    progress = progress_on(stream)
    progress.note("from [somewhere]")
    with progress.bar("tiny", 2_000_000) as move_to:
        move_to(1_000_000)
    assert "from [somewhere]" in stream.getvalue()
    assert "tiny" in stream.getvalue()
    assert "1.0/2.0 MB" in stream.getvalue()


@pytest.mark.parametrize("kind", [LineProgress, TerminalProgress])
def test_nothing_is_written_to_stdout(
    kind: type[LineProgress | TerminalProgress], capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: stdout is for data."""
    stream = io.StringIO()
    progress = kind(stream)
    progress.note("hello")
    with progress.bar("tiny", 10) as move_to:
        move_to(10)
    assert "hello" in stream.getvalue()
    assert capsys.readouterr().out == ""
