"""A web on loopback for measuring: five services answer as the real ones document it, and no one of them knows all.

Each service answers after a time of its own, so that waiting for all at once differs from waiting for one after the
other. The product's sources reach it by the addresses of their settings, which are trusted as any configured ones are.

Invariant: where there are as many pages as services or more, each page is known to one service at least, and to each
service some page is not. Checked by tests/unit/benchmarks/papers/test_local_web.py.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from support_agent.config.search import SearchSettings, Service
from tests.servers.search_services import KEY, Article, duckduckgo, pages, searxng, serper, site, wikipedia
from tests.servers.web import Answering, web_server

DELAYS_S: Mapping[Service, float] = {
    Service.GOOGLE: 0.4,
    Service.DUCKDUCKGO: 0.8,
    Service.SEARXNG: 1.0,
    Service.WIKIPEDIA: 0.3,
    Service.SITE: 0.1,
}
"""Before each answer of a service, the order in which they are asked; Wikipedia is asked twice, the site up to four
times."""
PAGE_DELAY_S = 0.1
TIMEOUT_S = 10.0
SHARED = 0.2
"""How likely a service knows a page that is another's."""

Known = Mapping[Service, tuple[Article, ...]]


def articles_of(texts: Sequence[tuple[str, str]]) -> tuple[Article, ...]:
    """Pages of (title, text), each at an address made of its title."""
    return tuple(
        Article(f"{re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')}-{number}", title, text)
        for number, (title, text) in enumerate(texts)
    )


def known_by(articles: Sequence[Article], seed: int) -> dict[Service, tuple[Article, ...]]:
    """Which service knows which pages: of each page, in an order drawn by the seed, one does for sure and the next one
    does not; any other does with the probability `SHARED`.
    """
    drawn, services = random.Random(seed), tuple(DELAYS_S)
    known: dict[Service, list[Article]] = {service: [] for service in services}
    for number, article in enumerate(drawn.sample(articles, len(articles))):
        sure, never = services[number % len(services)], services[(number + 1) % len(services)]
        for service in services:
            is_shared = drawn.random() < SHARED
            if service is sure or (is_shared and service is not never):
                known[service].append(article)
    return {service: tuple(own) for service, own in known.items()}


@contextmanager
def local_web(known: Known, delay: float = 1.0) -> Iterator[SearchSettings]:
    """The services, each with its pages, and the settings that ask them; `delay` scales what they wait."""
    everything = tuple({article.slug: article for own in known.values() for article in own}.values())
    with ExitStack() as stack:
        web = stack.enter_context(web_server(_slow(pages(everything), PAGE_DELAY_S * delay)))
        url = {
            service: stack.enter_context(web_server(_slow(answering, DELAYS_S[service] * delay))).url
            for service, answering in _answers(known, web.url).items()
        }
        yield SearchSettings(
            sources=tuple(url),
            timeout_s=TIMEOUT_S,
            serper_url=f"{url[Service.GOOGLE]}/search",
            serper_key=KEY,
            duckduckgo_url=f"{url[Service.DUCKDUCKGO]}/html/",
            searxng_url=url[Service.SEARXNG],
            wikipedia_url=f"{url[Service.WIKIPEDIA]}/w/api.php",
            site_url=url[Service.SITE],
            private_origins=(web.url,),
        )


def _answers(known: Known, web_url: str) -> dict[Service, Answering]:
    return {
        Service.GOOGLE: serper(known[Service.GOOGLE], web_url),
        Service.DUCKDUCKGO: duckduckgo(known[Service.DUCKDUCKGO], web_url),
        Service.SEARXNG: searxng(known[Service.SEARXNG], web_url),
        Service.WIKIPEDIA: wikipedia(known[Service.WIKIPEDIA]),
        Service.SITE: site(known[Service.SITE]),
    }


def _slow(answering: Answering, delay_s: float) -> Answering:
    """The same answers, later."""
    return lambda request: replace(answering(request), delay_s=delay_s)
