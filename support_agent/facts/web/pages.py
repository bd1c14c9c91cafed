"""Web pages, and a reader that fetches them in full.

Invariant: a page's text comes from its own address, unless it is marked as an excerpt; an unreadable page only lacks
its text. Checked by tests/integration/facts/test_pages.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import TypeVar

import structlog
from pydantic import Field

from support_agent.config.search import SearchSettings
from support_agent.core.frozen import Frozen
from support_agent.errors import SupportAgentError, TransientError
from support_agent.facts.web.bounded_cache import BoundedCache
from support_agent.facts.web.client import MayRead, WebClient, anything, apart
from support_agent.facts.web.page_text import PAGE_TYPES, page_text

log = structlog.get_logger(__name__)

Clock = Callable[[], datetime]
T = TypeVar("T")

RESERVE = 0.15
"""Share of the remaining time that is reserved, so that slow pages do not cost the excerpts of the others."""


class WebPage(Frozen):
    """A page from a source; internal: a customer never sees it.

    `is_excerpt`: the text is the source's excerpt, not the text at the address.
    """

    address: str = Field(min_length=1)
    title: str
    text: str = Field(min_length=1)
    is_excerpt: bool = False


class PageReader:
    """Reads and caches pages; shared by the sources."""

    def __init__(self, settings: SearchSettings, web: WebClient, clock: Clock) -> None:
        self._settings = settings
        self._web = web
        self._clock = clock
        self._kept: BoundedCache[str, WebPage] = BoundedCache(
            max_age_s=settings.cache_max_age_s, max_bytes=settings.cache_max_bytes
        )

    async def read(self, address: str, *, may_read: MayRead = anything) -> WebPage:
        """A page's title and text.

        Args:
            address: From `plain_address`.
            may_read: Asked of the address, and of each that it redirects to.
        Raises:
            TransientError: it cannot or must not be read, or has no text.
        """
        kept = self._kept.get(address, self._clock())
        if kept is not None:
            return kept
        answer = await self._web.get(address, PAGE_TYPES, may_read=may_read)
        title, text = await apart(
            lambda: page_text(answer.body, answer.media_type, answer.charset, self._settings.max_page_characters)
        )
        if not text:
            raise TransientError(f"{address} has no text", code="web")
        page = WebPage(address=address, title=title, text=text)
        self._kept.put(address, page, n_bytes=len(text.encode()), now=self._clock())
        return page

    async def in_full(self, excerpts: Sequence[WebPage], deadline: float) -> tuple[WebPage, ...]:
        """The same pages in order; the first `pages_per_source` in full if they can be read in time."""
        first = excerpts[: self._settings.pages_per_source]
        addresses = [page.address for page in first]
        read = await self.read_all(addresses, deadline)
        return tuple(page or shown for page, shown in zip(read, first, strict=True)) + tuple(excerpts[len(first) :])

    async def read_all(
        self, addresses: Sequence[str], deadline: float, *, may_read: MayRead = anything
    ) -> list[WebPage | None]:
        """Read the pages concurrently; None for a page that cannot be read in most of the remaining time."""
        return await in_time([self.read(address, may_read=may_read) for address in addresses], deadline)


async def in_time(work: Sequence[Coroutine[None, None, T]], deadline: float) -> list[T | None]:
    """The results of concurrent work, in order; None for failures and for work not done shortly before the deadline."""
    tasks = [asyncio.create_task(one) for one in work]
    if not tasks:
        return []
    left_s = max(0.0, deadline - asyncio.get_running_loop().time()) * (1 - RESERVE)
    try:
        await asyncio.wait(tasks, timeout=left_s)
    finally:
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
    return [_result(one) for one in done]


def _result(done: T | BaseException) -> T | None:
    if not isinstance(done, BaseException):
        return done
    if not isinstance(done, (SupportAgentError, asyncio.CancelledError)):
        log.warning("page_failed", error=type(done).__name__)  # a page that we cannot read must not affect the others
    return None
