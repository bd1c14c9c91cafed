"""The section `[search]`: which web sources the merged search asks, where they are, and what it may cost.

Off by default: what is asked of a source leaves the house. Checked by tests/unit/config/test_search.py.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from support_agent.core.frozen import Frozen

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


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
        raise ValueError("the address must begin with https://, as the key is sent there")
    return url


def _origin(url: str) -> str:
    parts = _parts(_web_url(url))
    if not parts.hostname or parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError("write http://host:port, and nothing behind it")
    return url


WebUrl = Annotated[str, AfterValidator(_web_url)]
SecretUrl = Annotated[str, AfterValidator(_secret_url)]
Origin = Annotated[str, AfterValidator(_origin)]


class SearchSettings(Frozen):
    """The merged search. Every source named here is sent what is asked, without what tells by whom: names of the mail's
    people, mail and web addresses, all but short numbers."""

    sources: tuple[Service, ...] = ()
    """Which sources are asked; none: the search is off."""
    timeout_s: Annotated[float, Field(gt=0, le=120)] = 8.0
    """Longest wait for one source, the pages that it names included."""
    passages: Annotated[int, Field(ge=1, le=100)] = 10
    """Nearest chunks that a search returns."""
    results_per_source: Annotated[int, Field(ge=1, le=50)] = 10
    """Results of a source that are looked at, with the excerpt that it shows of each."""
    pages_per_source: Annotated[int, Field(ge=0, le=20)] = 3
    """Of those, how many are read in full, the first ones; 0: excerpts only."""
    site_pages: Annotated[int, Field(ge=1, le=200)] = 8
    """Pages of the company's own site read for one question: those whose addresses share most words with it."""
    max_page_bytes: Annotated[int, Field(ge=10_000, le=50_000_000)] = 1_000_000
    """Longest answer that is read, before and after it is unpacked; a longer one counts as none."""
    max_page_characters: Annotated[int, Field(ge=400, le=1_000_000)] = 12_000
    """How much of a page's text is used, from its beginning."""
    chunks_per_source: Annotated[int, Field(ge=1, le=10_000)] = 32
    """Chunks of a source that are embedded: those that share most words with the question. A source that sends a lot
    thus costs no more time than another."""
    cache_max_age_s: Annotated[float, Field(ge=0, le=31_536_000)] = 86_400.0
    """For so long a source is not asked the same again, and a page is not read again; 0: it always is."""
    cache_max_bytes: Annotated[int, Field(ge=0, le=10_000_000_000)] = 50_000_000
    """For the texts that are kept in memory, and as much again for their vectors; the oldest go first."""
    user_agent: Annotated[str, Field(pattern=r"^[ -~]{1,200}$")] = (
        "support-agent (self-hosted; fetches for one question)"
    )
    """Who we say we are. Wikipedia asks for a way to reach you in it; robots.txt is read for its first word."""
    serper_url: SecretUrl = "https://google.serper.dev/search"
    serper_key: SecretStr = SecretStr("")
    """Key of serper.dev, which asks Google; in the environment, SUPPORT_AGENT__SEARCH__SERPER_KEY."""
    duckduckgo_url: WebUrl = "https://html.duckduckgo.com/html/"
    wikipedia_url: WebUrl = "https://en.wikipedia.org/w/api.php"
    """The MediaWiki API of any wiki that has the extension TextExtracts."""
    searxng_url: WebUrl = ""
    """The instance's own address; `json` must be among its `search.formats`."""
    site_url: WebUrl = ""
    """The company's own site; only pages of this scheme, host and port that its sitemap names are read."""
    private_origins: tuple[Origin, ...] = ()
    """Where pages may be read though the address is not a public one, such as http://wiki.internal:8080. The
    addresses set above are trusted as they stand."""

    @model_validator(mode="after")
    def _each_source_can_be_asked(self) -> SearchSettings:
        needs = {
            Service.GOOGLE: (
                "serper_url and search.serper_key",
                self.serper_url and self.serper_key.get_secret_value(),
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
            raise ValueError("a source stands twice in search.sources: keep one of the two")
        return self
