"""Web sources that say what they are told, and a clock that is moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from support_agent.facts.web.pages import WebPage


class HandClock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        """Later by so much."""
        self.now += timedelta(seconds=seconds)


class ScriptedSource:
    """A `WebSource`: `asked` has the questions; it raises `error`, or waits for ever, where it is told to."""

    def __init__(self, name: str, *pages: WebPage, error: Exception | None = None, hangs: bool = False) -> None:
        self.name = name
        self.pages = pages
        self.error = error
        self.hangs = hangs
        self.asked: list[str] = []

    async def search(self, query: str, deadline: float) -> Sequence[WebPage]:
        self.asked.append(query)
        if self.hangs:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        return self.pages


class MeetingSource(ScriptedSource):
    """Answers once all who share its barrier are being asked, which needs them to be asked at the same time."""

    def __init__(self, name: str, barrier: list[str], n: int, *pages: WebPage) -> None:
        super().__init__(name, *pages)
        self._barrier = barrier
        self._n = n

    async def search(self, query: str, deadline: float) -> Sequence[WebPage]:
        self._barrier.append(self.name)
        while len(self._barrier) < self._n:
            await asyncio.sleep(0)
        return await super().search(query, deadline)


def page(slug: str, text: str, *, is_excerpt: bool = False) -> WebPage:
    """A page of example.org."""
    return WebPage(address=f"https://example.org/{slug}", title=slug.title(), text=text, is_excerpt=is_excerpt)
