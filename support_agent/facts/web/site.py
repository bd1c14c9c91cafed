"""The company's own site as a web source: the pages of its sitemaps, as its robots.txt allows.

It reads the `search.site_pages` pages of the sitemaps whose addresses share most words with the question; their chunks
are then compared as those of other sources.
Invariant: it reads no other origin, and nothing that robots.txt disallows. Checked against a local site by
tests/integration/facts/test_site.py.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from support_agent.config.search import SearchSettings, Service
from support_agent.errors import TransientError
from support_agent.facts.web.bounded_cache import BoundedCache
from support_agent.facts.web.client import BadStatus, MayRead, WebClient, apart, origin_of, plain_address, unpacked
from support_agent.facts.web.page_text import decoded
from support_agent.facts.web.pages import Clock, PageReader, WebPage, in_time
from support_agent.facts.web.robots import EVERYTHING_ALLOWED, NOTHING_ALLOWED, Robots, read_robots
from support_agent.facts.web.shared_words import most_alike
from support_agent.facts.web.sitemap import MAX_ADDRESSES, NoSitemapError, Sitemap, read_sitemap

MAX_SITEMAPS = 20
SITEMAP_BYTES = 10_000_000
"""Largest sitemap to read, packed and unpacked."""
TRIED = 10
"""Pages to check against robots.txt, per page to read."""
GZIP_MAGIC = b"\x1f\x8b"
_PRODUCT = re.compile(r"[A-Za-z_-]+")


class _Listed(NamedTuple):
    """The rules of robots.txt, and the pages of the sitemaps."""

    robots: Robots
    addresses: tuple[str, ...]


class Site:
    """`WebSource` on `search.site_url`."""

    name = Service.SITE.value

    def __init__(self, settings: SearchSettings, index: WebClient, reader: PageReader, clock: Clock) -> None:
        """Ask nothing yet.

        Args:
            index: Reads robots.txt and the sitemaps, up to `SITEMAP_BYTES` each.
            reader: Reads the pages.
        """
        self._settings = settings
        self._index = index
        self._reader = reader
        self._clock = clock
        self._origin = origin_of(settings.site_url)
        self._kept: BoundedCache[str, _Listed] = BoundedCache(
            max_age_s=settings.cache_max_age_s, max_bytes=settings.cache_max_bytes
        )

    async def search(self, query: str, deadline: float) -> Sequence[WebPage]:
        """As `WebSource.search`; if the site wants waits between requests, some pages may be missing."""
        listed = await self._listed(deadline)
        chosen = await apart(lambda: self._chosen(query, listed))
        if listed.robots.delay_s:
            pages = await self._one_by_one(chosen, listed.robots, deadline)
        else:
            pages = await self._reader.read_all(chosen, deadline, may_read=self._rule(listed.robots))
        found = [page for page in pages if page is not None]
        if chosen and not found:
            raise TransientError(f"{self._settings.site_url}: none of the pages of its sitemap could be read")
        return found

    def _rule(self, robots: Robots) -> MayRead:
        return lambda address: origin_of(address) == self._origin and robots.allows(address)

    async def _one_by_one(self, addresses: Sequence[str], robots: Robots, deadline: float) -> list[WebPage | None]:
        pages: list[WebPage | None] = []
        now_s = asyncio.get_running_loop().time
        for address in addresses:
            if pages and now_s() + robots.delay_s >= deadline:
                break
            if pages:
                await asyncio.sleep(robots.delay_s)
            pages += await self._reader.read_all([address], deadline, may_read=self._rule(robots))
        return pages

    async def _listed(self, deadline: float) -> _Listed:
        """The site's rules and pages; cached only if every sitemap could be read."""
        kept = self._kept.get(self._origin, self._clock())
        if kept is not None:
            return kept
        robots = await self._robots()
        sitemaps = await self._sitemaps(robots.sitemaps or (f"{self._origin}/sitemap.xml",), deadline)
        read = [sitemap for sitemap in sitemaps if sitemap is not None]
        if not read:
            raise TransientError(f"{self._settings.site_url} has no sitemap that can be read: add /sitemap.xml to it")
        listed = _Listed(robots, await apart(lambda: self._own(read)))
        if len(read) == len(sitemaps):
            n_bytes = sum(len(address) for address in listed.addresses)
            self._kept.put(self._origin, listed, n_bytes=n_bytes, now=self._clock())
        return listed

    async def _robots(self) -> Robots:
        """Without robots.txt everything is allowed; if the server fails, nothing (RFC 9309, section 2.3.1)."""
        product = _PRODUCT.match(self._settings.user_agent)
        try:
            answer = await self._index.get(f"{self._origin}/robots.txt", frozenset())
        except BadStatus as error:
            return EVERYTHING_ALLOWED if 400 <= error.status < 500 else NOTHING_ALLOWED
        return read_robots(decoded(answer.body, "utf-8"), product.group() if product else "")

    async def _sitemaps(self, addresses: Sequence[str], deadline: float) -> list[Sitemap | None]:
        """These sitemaps and those that they name, one level deep as in the protocol; None for a failed one."""
        first = await in_time([self._sitemap(address) for address in addresses[:MAX_SITEMAPS]], deadline)
        named = [address for sitemap in first if sitemap is not None for address in sitemap.sitemaps]
        more = await in_time([self._sitemap(address) for address in named[: MAX_SITEMAPS - len(first)]], deadline)
        return [*first, *more]

    async def _sitemap(self, address: str) -> Sitemap:
        answer = await self._index.get(address, frozenset(), may_read=lambda at: origin_of(at) == self._origin)
        body = answer.body
        if body.startswith(GZIP_MAGIC):
            body = unpacked(address, body, SITEMAP_BYTES)
        try:
            return await apart(lambda: read_sitemap(body))
        except NoSitemapError as error:
            raise TransientError(f"{address} is no sitemap: {error}", code="web") from None

    def _own(self, sitemaps: Sequence[Sitemap]) -> tuple[str, ...]:
        """The distinct pages of the site itself, in order."""
        site = urlsplit(plain_address(self._settings.site_url))
        begin = f"{site.scheme}://{site.netloc}/"
        pages = dict.fromkeys(page for sitemap in sitemaps for page in sitemap.pages if page.startswith(begin))
        return tuple(pages)[:MAX_ADDRESSES]

    def _chosen(self, query: str, listed: _Listed) -> list[str]:
        """The allowed pages nearest to the question; checking all pages against all rules could take hours."""
        n = self._settings.site_pages
        near = nearest_addresses(query, listed.addresses, n * TRIED)
        return [address for address in near if listed.robots.allows(address)][:n]


def nearest_addresses(query: str, addresses: Sequence[str], n: int) -> list[str]:
    """The addresses whose path shares most words with the question; of equal ones, the earlier.

    Returns:
        At most n addresses, the best first; addresses without shared words fill the rest.
    """
    chosen = most_alike(query, [_path(address) for address in addresses], n)
    return [plain for plain in (plain_address(addresses[index]) for index in chosen) if plain]


def _path(address: str) -> str:
    parts = urlsplit(address)
    return unquote(f"{parts.path} {parts.query}")
