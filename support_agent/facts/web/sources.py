"""The web sources of the merged search behind one small port, and three of them: Google, Wikipedia, SearXNG.

Invariant: every answer becomes pages with limited, visible text, or an error that names the service; an incomplete
result is skipped alone. Checked against local servers that answer as the services document it by
tests/integration/facts/test_web_sources.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from support_agent.config.search import SearchSettings, Service
from support_agent.errors import ConfigError, TransientError
from support_agent.facts.web.client import BadStatus, WebClient, plain_address
from support_agent.facts.web.page_text import line_of, visible
from support_agent.facts.web.pages import PageReader, WebPage, in_time

M = TypeVar("M", bound=BaseModel)

JSON_TYPES = frozenset({"application/json"})
MAX_EXCERPT_CHARACTERS = 2000


class WebSource(Protocol):
    """Finds pages for a question."""

    @property
    def name(self) -> str: ...

    async def search(self, query: str, deadline: float) -> Sequence[WebPage]:
        """The pages of the source for a question, the best first.

        Args:
            query: One line.
            deadline: Seconds of the running loop's clock; later results are ignored, so finish a little earlier.
        Raises:
            ConfigError: a person must correct a setting first.
            TransientError: it does not answer now.
        """
        ...


class _Said(BaseModel):
    """A part of an answer; unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _SerperResult(_Said):
    """An entry of `organic`, the `answerBox` or the `knowledgeGraph`, which use different names."""

    title: str = ""
    link: str = ""
    snippet: str = ""
    answer: str = ""
    description: str = ""
    descriptionLink: str = ""


class _SerperAnswer(_Said):
    organic: list[Any]
    answerBox: Any = None
    knowledgeGraph: Any = None


class Google:
    """Google through serper.dev: POST /search with `X-API-KEY`.

    Source: serper.dev's playground and the answers it shows: `organic`, `answerBox`, `knowledgeGraph`.
    """

    name = Service.GOOGLE.value

    def __init__(self, settings: SearchSettings, service: WebClient, reader: PageReader) -> None:
        self._settings = settings
        self._service = service
        self._reader = reader

    async def search(self, query: str, deadline: float) -> Sequence[WebPage]:
        """As `WebSource.search`."""
        body = json.dumps({"q": query, "num": self._settings.results_per_source}).encode()
        headers = {"X-API-KEY": self._settings.serper_key.get_secret_value(), "Content-Type": "application/json"}
        try:
            answer = await self._service.post(self._settings.serper_url, JSON_TYPES, headers=headers, body=body)
        except BadStatus as error:
            if error.status in {401, 403}:
                raise ConfigError(f"{error}: check search.serper_key") from None
            raise
        said = read_json(_SerperAnswer, answer.body, self.name)
        best = [_of_serper(result) for result in each(_SerperResult, [said.answerBox, said.knowledgeGraph])]
        found = [_of_serper(result) for result in each(_SerperResult, said.organic)]
        pages = [page for page in (*best, *found) if page is not None]
        return await self._reader.in_full(pages[: self._settings.results_per_source], deadline)


def _of_serper(result: _SerperResult) -> WebPage | None:
    text = "\n".join(filter(None, (result.answer, result.snippet, result.description)))
    return excerpt(result.link or result.descriptionLink, result.title, text)


class _WikiHit(_Said):
    pageid: int


class _WikiHits(_Said):
    search: list[Any]


class _WikiPage(_Said):
    title: str
    extract: str = ""


class _WikiPages(_Said):
    pages: list[_WikiPage]


class _WikiError(_Said):
    code: str = Field(pattern=r"^[\w-]{1,60}$")


class _WikiAnswer(_Said):
    """`query` is missing if nothing was found; an `error` comes with HTTP 200."""

    query: Any = None
    error: _WikiError | None = None


class Wikipedia:
    """A MediaWiki: `action=query` with `list=search`, then `prop=extracts` for each page, which gives one at a time.

    A page's address is built from its number, so that the answer cannot name another site.
    Source: MediaWiki API, modules Search and TextExtracts ("exlimit ... lowered to 1" for whole pages).
    """

    name = Service.WIKIPEDIA.value

    def __init__(self, settings: SearchSettings, service: WebClient) -> None:
        self._settings = settings
        self._service = service

    async def search(self, query: str, deadline: float) -> Sequence[WebPage]:
        """As `WebSource.search`."""
        n = max(1, self._settings.pages_per_source)
        said = await self._ask({"list": "search", "srsearch": query, "srlimit": str(n), "srprop": ""})
        if said is None:
            return ()
        hits = list(each(_WikiHit, read(_WikiHits, said, self.name).search))[:n]
        results = await in_time([self._page(hit.pageid) for hit in hits], deadline)
        pages = [page for page in results if page is not None]
        if hits and not pages:
            raise TransientError(f"{self.name} gave none of the pages that it found")
        return pages

    async def _page(self, number: int) -> WebPage | None:
        said = await self._ask({"prop": "extracts", "explaintext": "1", "exlimit": "1", "pageids": str(number)})
        pages = read(_WikiPages, said, self.name).pages
        parts = urlsplit(self._settings.wikipedia_url)
        address = plain_address(f"{parts.scheme}://{parts.netloc}/?curid={number}")
        text = visible(pages[0].extract, self._settings.max_page_characters) if pages else ""
        return WebPage(address=address, title=line_of(pages[0].title), text=text) if text else None

    async def _ask(self, parameters: dict[str, str]) -> Any:
        fixed = {"action": "query", "format": "json", "formatversion": "2"}
        address = with_query(self._settings.wikipedia_url, {**fixed, **parameters})
        answer = await self._service.get(address, JSON_TYPES)
        said = read_json(_WikiAnswer, answer.body, self.name)
        if said.error is not None:
            raise TransientError(f"{self.name} answered with an error of its own ({said.error.code})")
        return said.query


class _SearxResult(_Said):
    url: str = ""
    title: str = ""
    content: str = ""


class _SearxAnswer(_Said):
    results: list[Any]


class Searxng:
    """An instance of SearXNG, which asks many engines: GET /search?q=...&format=json.

    Source: docs.searxng.org, Search API; 403 means that `json` is not among `search.formats` in its settings.
    """

    name = Service.SEARXNG.value

    def __init__(self, settings: SearchSettings, service: WebClient, reader: PageReader) -> None:
        self._settings = settings
        self._service = service
        self._reader = reader

    async def search(self, query: str, deadline: float) -> Sequence[WebPage]:
        """As `WebSource.search`."""
        base = self._settings.searxng_url.rstrip("/")
        try:
            answer = await self._service.get(with_query(f"{base}/search", {"q": query, "format": "json"}), JSON_TYPES)
        except BadStatus as error:
            if error.status == 403:
                raise ConfigError(f"{base} refuses JSON: add it to search.formats of that instance") from None
            raise
        results = each(_SearxResult, read_json(_SearxAnswer, answer.body, self.name).results)
        found = (excerpt(result.url, result.title, result.content) for result in results)
        pages = [page for page in found if page is not None]
        return await self._reader.in_full(pages[: self._settings.results_per_source], deadline)


def excerpt(address: str, title: str, text: str) -> WebPage | None:
    """A page from a result; None if it has no page address or no text."""
    whole = visible(text, MAX_EXCERPT_CHARACTERS)
    where = plain_address(address)
    return WebPage(address=where, title=line_of(title), text=whole, is_excerpt=True) if where and whole else None


def with_query(address: str, parameters: dict[str, str]) -> str:
    """An address with further parameters."""
    return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"


def read_json(kind: type[M], body: bytes, name: str) -> M:
    """An answer in JSON; raises TransientError if it is none."""
    try:
        return kind.model_validate_json(body)
    except ValidationError:
        raise TransientError(f"{name} answered what it does not document") from None


def read(kind: type[M], said: Any, name: str) -> M:
    """A validated part of an answer; raises TransientError if it does not fit."""
    try:
        return kind.model_validate(said)
    except ValidationError:
        raise TransientError(f"{name} answered what it does not document") from None


def each(kind: type[M], said: Iterable[Any]) -> Iterable[M]:
    """The valid entries of a list."""
    for part in said:
        try:
            yield kind.model_validate(part)
        except ValidationError:
            continue
