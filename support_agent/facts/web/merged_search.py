"""The merged search: asks all sources at once, and returns the chunks of their pages nearest to a question.

A source that fails, hangs or lies affects only its own pages: each source has its own time limit and share of the
chunks, its errors do not spread, and its excerpt of a page replaces no other's. The query is made by `public_query`;
the results are internal: a customer never sees them. Checked by tests/unit/facts/web/test_merged_search.py and, against
servers, by tests/integration/facts/test_open_search.py.
Source: LLM-ENHANCER, Algorithm 2 (merged search).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import structlog

from support_agent.config.search import SearchSettings
from support_agent.errors import SupportAgentError
from support_agent.facts.chunks import Cutting, cut, in_characters, page_source
from support_agent.facts.index import TextEmbedder
from support_agent.facts.material import Passage
from support_agent.facts.web.bounded_cache import BoundedCache
from support_agent.facts.web.page_collection import PageCollection, PageText
from support_agent.facts.web.pages import Clock, WebPage
from support_agent.facts.web.public_query import public_query
from support_agent.facts.web.shared_words import most_alike
from support_agent.facts.web.sources import WebSource

log = structlog.get_logger(__name__)

PUBLISHED = in_characters(400, 100)


class _Answer(NamedTuple):
    source: str
    pages: Sequence[WebPage]


class _Chunk(NamedTuple):
    page: WebPage
    piece: Passage
    found_by: tuple[str, ...]


class MergedSearch:
    """Asks the sources. May be used from several threads that have no event loop running."""

    def __init__(
        self,
        sources: Sequence[WebSource],
        embedder: TextEmbedder,
        settings: SearchSettings,
        clock: Clock,
        *,
        cutting: Cutting = PUBLISHED,
    ) -> None:
        """Ask nothing yet.

        Args:
            clock: The time, for the age of cached pages.
            cutting: The length of the chunks of pages.
        """
        self._sources = tuple(sources)
        self._settings = settings
        self._clock = clock
        self._cutting = cutting
        bounds = {"max_age_s": settings.cache_max_age_s}
        self._collection = PageCollection(embedder, max_bytes=settings.cache_max_bytes, **bounds)
        self._kept: BoundedCache[tuple[str, str], tuple[WebPage, ...]] = BoundedCache(
            max_bytes=settings.cache_max_bytes, **bounds
        )

    def find(self, question: str, n: int) -> tuple[Passage, ...]:
        """At most n passages nearest to a question, nearest first; none if no source answers.

        Args:
            question: Any text; only its `public_query` is sent.
        """
        query = public_query(question)
        answers = asyncio.run(self._ask_all(query)) if query else []
        return self._nearest(question, self._chunks(question, answers), n)

    async def _ask_all(self, query: str) -> list[_Answer]:
        return list(await asyncio.gather(*(self._ask(source, query) for source in self._sources)))

    async def _ask(self, source: WebSource, query: str) -> _Answer:
        """Ask one source within its time; it never raises. Results are cached, failures are not."""
        kept = self._kept.get((source.name, query), self._clock())
        if kept is not None:
            return _Answer(source.name, kept)
        try:
            deadline = asyncio.get_running_loop().time() + self._settings.timeout_s
            async with asyncio.timeout_at(deadline):
                pages = tuple(await source.search(query, deadline))
        except TimeoutError:
            return _failed(source, f"no answer within {self._settings.timeout_s:g} s")
        except SupportAgentError as error:
            return _failed(source, str(error))
        except Exception as error:  # an answer that we cannot read must not affect other sources
            return _failed(source, f"unexpected {type(error).__name__}")
        n_bytes = sum(len(page.text.encode()) + len(page.address) for page in pages)
        self._kept.put((source.name, query), pages, n_bytes=n_bytes, now=self._clock())
        return _Answer(source.name, pages)

    def _chunks(self, question: str, answers: Sequence[_Answer]) -> list[_Chunk]:
        """The distinct chunks to compare, in the order of the sources."""
        of_source: dict[str, list[_Chunk]] = {}
        for page, found_by in _merged_pages(answers):
            pieces = cut(page_source(page.address, "", page.text), self._cutting)
            of_source.setdefault(found_by[0], []).extend(_Chunk(page, piece, found_by) for piece in pieces)
        chosen: list[_Chunk] = []
        for chunks in of_source.values():
            texts = [chunk.piece.text for chunk in chunks]
            chosen += [chunks[index] for index in most_alike(question, texts, self._settings.chunks_per_source)]
        return _each_once(chosen)

    def _nearest(self, question: str, chunks: Sequence[_Chunk], n: int) -> tuple[Passage, ...]:
        if not chunks:
            return ()
        texts = [PageText(chunk.piece.text, chunk.found_by[0], chunk.page.address) for chunk in chunks]
        nearest = self._collection.nearest(question, texts, self._clock())
        return tuple(_passage(chunks[index], score) for index, score in nearest[:n])


def _failed(source: WebSource, why: str) -> _Answer:
    log.warning("search_source_failed", source=source.name, why=why)
    return _Answer(source.name, ())


def _merged_pages(answers: Sequence[_Answer]) -> list[tuple[WebPage, tuple[str, ...]]]:
    """The distinct pages, with the sources that named them.

    A full page replaces its excerpts. Of an unread page, each source's excerpt is kept: no source replaces another's.
    """
    read: dict[str, WebPage] = {}
    shown: dict[tuple[str, str], WebPage] = {}
    named: dict[str, tuple[str, ...]] = {}
    for source, pages in answers:
        for page in pages:
            named[page.address] = _union(named.get(page.address, ()), (source,))
            if page.is_excerpt:
                shown.setdefault((page.address, source), page)
            else:
                read.setdefault(page.address, page)
    whole = [(page, named[address]) for address, page in read.items()]
    return whole + [(page, (name,)) for (address, name), page in shown.items() if address not in read]


def _each_once(chunks: Sequence[_Chunk]) -> list[_Chunk]:
    """One chunk per text, preferably of a full page, with the sources that found it on that page."""
    by_text: dict[str, _Chunk] = {}
    for chunk in chunks:
        known = by_text.setdefault(chunk.piece.text, chunk)
        kept = chunk if known.page.is_excerpt and not chunk.page.is_excerpt else known
        is_one_page = known.page.address == chunk.page.address
        found_by = _union(known.found_by, chunk.found_by) if is_one_page else kept.found_by
        by_text[chunk.piece.text] = kept._replace(found_by=found_by)
    return list(by_text.values())


def _union(names: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*names, *more)))


def _passage(chunk: _Chunk, score: float) -> Passage:
    return Passage(
        source=chunk.page.address,
        first=chunk.piece.first,
        last=chunk.piece.last,
        heading=chunk.page.title,
        text=chunk.piece.text,
        score=score,
        found_by=chunk.found_by,
    )
