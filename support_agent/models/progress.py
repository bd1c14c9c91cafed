"""Shows the progress of a download on stderr: a bar on a terminal, plain lines in a log.

Invariant: nothing is written to stdout, which is for data; tests/unit/models/test_progress.py
checks it on both.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bars

LINE_EVERY_PERCENT = 10
MEGABYTE_BYTES = 1_000_000

MoveTo = Callable[[int], None]
"""Called with the bytes done so far."""


class Progress(Protocol):
    """Shows the progress of downloads."""

    def note(self, text: str) -> None:
        """One line of news."""
        ...

    def bar(self, label: str, total_bytes: int) -> AbstractContextManager[MoveTo]:
        """A bar for the duration of the context."""
        ...


class TerminalProgress:
    """Bars with speed and remaining time."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream)

    def note(self, text: str) -> None:
        """One line of news."""
        self._console.print(text, markup=False, highlight=False)

    @contextmanager
    def bar(self, label: str, total_bytes: int) -> Generator[MoveTo]:
        """A live bar."""
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        with Bars(*columns, console=self._console) as bars:
            task = bars.add_task(label, total=total_bytes)
            yield lambda done_bytes: bars.update(task, completed=done_bytes)


class LineProgress:
    """A line per tenth of a download, for logs and pipes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def note(self, text: str) -> None:
        """One line of news."""
        self._stream.write(f"{text}\n")
        self._stream.flush()

    @contextmanager
    def bar(self, label: str, total_bytes: int) -> Generator[MoveTo]:
        """Lines such as "qwen.gguf: 30 % of 1117.3 MB", each percentage once."""
        written_percent = -1

        def move_to(done_bytes: int) -> None:
            nonlocal written_percent
            percent = 100 * min(done_bytes, total_bytes) // max(total_bytes, 1)
            percent -= percent % LINE_EVERY_PERCENT
            if percent > written_percent:
                written_percent = percent
                self.note(f"{label}: {percent} % of {total_bytes / MEGABYTE_BYTES:.1f} MB")

        yield move_to


def progress_on(stream: TextIO) -> Progress:
    """The progress that fits the stream, usually `sys.stderr`."""
    return TerminalProgress(stream) if stream.isatty() else LineProgress(stream)


def stderr_progress() -> Progress:
    """The progress on stderr."""
    return progress_on(sys.stderr)
