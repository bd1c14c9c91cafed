"""DuckDuckGo by its HTML page, which needs neither a key nor scripts.

There is no documented interface: the page is read by its classes (`result__a`, `result__snippet`, `result--ad`,
`no-results`). A page with none of them, such as a captcha, is an error, not an empty result. Checked against a local
server by tests/integration/facts/test_web_sources.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import parse_qs, urljoin, urlsplit

from support_agent.config.search import SearchSettings, Service
from support_agent.errors import TransientError
from support_agent.extraction.markup import MarkupReader
from support_agent.facts.web.client import WebClient, apart
from support_agent.facts.web.page_text import HTML_TYPES, decoded
from support_agent.facts.web.pages import PageReader, WebPage
from support_agent.facts.web.sources import excerpt, with_query

LINK = "result__a"
SNIPPET = "result__snippet"
AD = "result--ad"
NOTHING_FOUND = "no-results"
MAX_RESULTS = 100


class Result(NamedTuple):
    """One result of the page, with its raw address."""

    address: str
    title: str
    snippet: str


class DuckDuckGo:
    """`WebSource` on html.duckduckgo.com/html/?q=..."""

    name = Service.DUCKDUCKGO.value

    def __init__(self, settings: SearchSettings, service: WebClient, reader: PageReader) -> None:
        self._settings = settings
        self._service = service
        self._reader = reader

    async def search(self, query: str, deadline: float) -> Sequence[WebPage]:
        """As `WebSource.search`."""
        base = self._settings.duckduckgo_url
        answer = await self._service.get(with_query(base, {"q": query}), HTML_TYPES)
        results = await apart(lambda: read_results(decoded(answer.body, answer.charset)))
        if results is None:
            raise TransientError(f"{self.name} shows another page than its results: it may take us for a machine")
        found = (excerpt(_target(base, result.address), result.title, result.snippet) for result in results)
        pages = [page for page in found if page is not None]
        return await self._reader.in_full(pages[: self._settings.results_per_source], deadline)


def read_results(html: str) -> list[Result] | None:
    """The results of the page without advertisements; None if it is no page of results."""
    reader = _ResultReader()
    reader.feed(html)
    results = [Result(*(" ".join(part.split()) for part in one)) for one in reader.results]
    return results if results or reader.is_empty else None


def _target(base: str, address: str) -> str:
    """The target of a link: links go through `/l/?uddg=<address>`."""
    try:
        absolute = urljoin(base, address)
        parts = urlsplit(absolute)
    except ValueError:
        return ""
    if parts.path.rstrip("/") == "/l":
        return parse_qs(parts.query).get("uddg", [""])[0]
    return absolute


class _ResultReader(MarkupReader):
    """Gathers links and snippets by their classes; a snippet belongs to the link before it."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[list[str]] = []
        self.is_empty = False
        self._is_ad = False
        self._part = 0
        self._tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        classes = (attributes.get("class") or "").split()
        self.is_empty |= NOTHING_FOUND in classes
        if "result" in classes:
            self._is_ad = AD in classes
        if self._is_ad or len(self.results) >= MAX_RESULTS:
            return
        if LINK in classes and tag == "a":
            self.results.append([attributes.get("href") or "", "", ""])
            self._part, self._tag = 1, tag
        elif SNIPPET in classes and self.results:
            self._part, self._tag = 2, tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._tag:
            self._part = 0

    def handle_data(self, data: str) -> None:
        if self._part and self.results:
            self.results[-1][self._part] += data
