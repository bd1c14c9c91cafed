"""Opens the merged search of the settings: its sources, each with the addresses that it may connect to.

Invariant: an address in the settings is trusted only by its own source. Checked by
tests/integration/facts/test_open_search.py.
"""

from __future__ import annotations

from typing import assert_never

from support_agent.config.search import SearchSettings, Service
from support_agent.facts.index import TextEmbedder
from support_agent.facts.web.client import FetchLimits, WebClient
from support_agent.facts.web.duckduckgo import DuckDuckGo
from support_agent.facts.web.merged_search import MergedSearch
from support_agent.facts.web.pages import Clock, PageReader
from support_agent.facts.web.site import SITEMAP_BYTES, Site
from support_agent.facts.web.sources import Google, Searxng, WebSource, Wikipedia


def open_merged_search(settings: SearchSettings, embedder: TextEmbedder, clock: Clock) -> MergedSearch | None:
    """The merged search, without a connection yet; None if no source is enabled."""
    if not settings.sources:
        return None
    return MergedSearch(open_sources(settings, clock), embedder, settings, clock)


def open_sources(settings: SearchSettings, clock: Clock) -> tuple[WebSource, ...]:
    """The enabled sources, in their order."""
    reader = PageReader(settings, WebClient(_limits(settings), trusted=settings.private_origins), clock)
    return tuple(_source(service, settings, reader, clock) for service in settings.sources)


def _source(service: Service, settings: SearchSettings, reader: PageReader, clock: Clock) -> WebSource:
    match service:
        case Service.GOOGLE:
            return Google(settings, _client(settings, settings.serper_url), reader)
        case Service.DUCKDUCKGO:
            return DuckDuckGo(settings, _client(settings, settings.duckduckgo_url), reader)
        case Service.WIKIPEDIA:
            return Wikipedia(settings, _client(settings, settings.wikipedia_url))
        case Service.SEARXNG:
            return Searxng(settings, _client(settings, settings.searxng_url), reader)
        case Service.SITE:
            index = WebClient(_limits(settings)._replace(max_bytes=SITEMAP_BYTES), trusted=(settings.site_url,))
            pages = PageReader(settings, _client(settings, settings.site_url), clock)
            return Site(settings, index, pages, clock)
        case never:
            assert_never(never)


def _client(settings: SearchSettings, trusted: str) -> WebClient:
    return WebClient(_limits(settings), trusted=(trusted,))


def _limits(settings: SearchSettings) -> FetchLimits:
    return FetchLimits(settings.timeout_s, settings.max_page_bytes, settings.user_agent)
