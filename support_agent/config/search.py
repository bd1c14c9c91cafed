"""The section `[search]`: the web sources of the merged search, their addresses, and its limits.

Off by default, because queries to a source leave your network. Checked by tests/unit/config/test_search.py.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from support_agent.config.mail_servers import LOOPBACK, OptionalPath
from support_agent.core.frozen import Frozen


class Service(StrEnum):
    """A web source."""

    GOOGLE = "google"
    DUCKDUCKGO = "duckduckgo"
    WIKIPEDIA = "wikipedia"
    SEARXNG = "searxng"
    SITE = "site"


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError("not a URL") from None
    return parts


def _web_url(url: str) -> str:
    parts = _parts(url) if url else None
    if parts and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None):
        raise ValueError("write http://host or https://host, without a user's name")
    return url


def _secret_url(url: str) -> str:
    parts = _parts(_web_url(url))
    if parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise ValueError("the address must begin with https://, because the key is sent there")
    return url


def _origin(url: str) -> str:
    parts = _parts(_web_url(url))
    if not parts.hostname or parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError("write http://host:port, with nothing behind it")
    return url


WebUrl = Annotated[str, AfterValidator(_web_url)]
SecretUrl = Annotated[str, AfterValidator(_secret_url)]
Origin = Annotated[str, AfterValidator(_origin)]


class SearchSettings(Frozen):
    """The merged search. Each source listed here gets the question, without anything that may identify the customer:
    names of people in the mail, mail and web addresses, and all but short numbers."""

    sources: tuple[Service, ...] = ()
    """The sources that are asked; none: the search is off. `google` is asked through serper.dev; `site` is the
    company's own site."""
    timeout_s: Annotated[float, Field(gt=0, le=120)] = 8.0
    """Longest wait for one source, including the pages that it names."""
    results_per_source: Annotated[int, Field(ge=1, le=50)] = 10
    """Results used from each source, each with the source's excerpt."""
    pages_per_source: Annotated[int, Field(ge=0, le=20)] = 3
    """How many of these results, from the first, are read in full; 0: excerpts only."""
    site_pages: Annotated[int, Field(ge=1, le=200)] = 8
    """Pages of the company's own site read for one question: those whose addresses share most words with it."""
    max_page_bytes: Annotated[int, Field(ge=10_000, le=50_000_000)] = 1_000_000
    """Largest response that is read, before and after it is unpacked; a larger one is ignored."""
    max_page_characters: Annotated[int, Field(ge=400, le=1_000_000)] = 12_000
    """Characters of a page's text that are used, from its beginning."""
    chunks_per_source: Annotated[int, Field(ge=1, le=10_000)] = 32
    """Chunks of a source that are embedded: those that share most words with the question. The limit keeps a source
    that sends much text from taking more time than others."""
    cache_max_age_s: Annotated[float, Field(ge=0, le=31_536_000)] = 86_400.0
    """How long answers of sources and pages are cached; 0: never."""
    cache_max_bytes: Annotated[int, Field(ge=0, le=10_000_000_000)] = 50_000_000
    """Memory for cached texts, and the same again for their vectors; the oldest are dropped first."""
    user_agent: Annotated[str, Field(pattern=r"^[ -~]{1,200}$")] = (
        "support-agent (self-hosted; fetches for one question)"
    )
    """User-Agent of our requests. Wikipedia asks for a contact address in it; robots.txt is read for its first word."""
    serper_url: SecretUrl = "https://google.serper.dev/search"
    serper_key: SecretStr = SecretStr("")
    """Key of serper.dev, which asks Google; in the environment, SUPPORT_AGENT__SEARCH__SERPER_KEY."""
    serper_key_file: OptionalPath = None
    """A file with only that key; `serper_key` wins."""
    duckduckgo_url: WebUrl = "https://html.duckduckgo.com/html/"
    wikipedia_url: WebUrl = "https://en.wikipedia.org/w/api.php"
    """The MediaWiki API of any wiki with the extension TextExtracts."""
    searxng_url: WebUrl = ""
    """The instance's address; its `search.formats` must include `json`."""
    site_url: WebUrl = ""
    """The company's own site; only pages of this scheme, host and port that its sitemap names are read."""
    private_origins: tuple[Origin, ...] = ()
    """Origins with a private address from which pages may be read, such as http://wiki.internal:8080. The addresses set
    above are always allowed."""

    @model_validator(mode="after")
    def _each_source_can_be_asked(self) -> SearchSettings:
        needs = {
            Service.GOOGLE: (
                "serper_url and search.serper_key or search.serper_key_file",
                self.serper_url and (self.serper_key.get_secret_value() or self.serper_key_file),
            ),
            Service.DUCKDUCKGO: ("duckduckgo_url", self.duckduckgo_url),
            Service.WIKIPEDIA: ("wikipedia_url", self.wikipedia_url),
            Service.SEARXNG: ("searxng_url", self.searxng_url),
            Service.SITE: ("site_url", self.site_url),
        }
        for source in self.sources:
            key, value = needs[source]
            if not value:
                raise ValueError(f"the source {source.value!r} cannot be asked: set search.{key}")
        if len(set(self.sources)) < len(self.sources):
            raise ValueError("a source is listed twice in search.sources: delete one of the two")
        return self
