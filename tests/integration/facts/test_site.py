"""The company's site is read by its sitemaps, as its robots.txt allows, and nothing beside it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from support_agent.config.search import SearchSettings, Service
from support_agent.errors import TransientError
from support_agent.facts.web.open_search import open_sources
from support_agent.facts.web.pages import WebPage
from support_agent.facts.web.robots import Robots
from support_agent.facts.web.site import TRIED, nearest_addresses
from support_agent.facts.web.sources import WebSource
from tests.fakes_search import HandClock
from tests.servers.search_services import Article, site, sitemap
from tests.servers.web import NOT_FOUND, Reply, Request, web_server

ARTICLES = (
    Article("help/refunds", "Refunds", "Refunds are paid within five days."),
    Article("help/storage", "Storage", "Every plan has storage."),
    Article("help/cats", "Cats", "A cat sleeps all day."),
    Article("internal/refunds", "Secret", "Refunds for friends."),
)
QUESTION = "When is my refund paid?"
Answer = Callable[[Request], Reply]


def site_at(url: str, clock: HandClock | None = None, **values: Any) -> WebSource:
    """The site as a source."""
    settings = SearchSettings(sources=(Service.SITE,), site_url=url, **values)
    (source,) = open_sources(settings, clock or HandClock())
    return source


def asked(source: WebSource, question: str = QUESTION, timeout_s: float = 10.0) -> Sequence[WebPage]:
    """What is found on it."""

    async def search() -> Sequence[WebPage]:
        deadline = asyncio.get_running_loop().time() + timeout_s
        async with asyncio.timeout_at(deadline):
            return await source.search(question, deadline)

    return asyncio.run(search())


@pytest.mark.parametrize("is_packed", [False, True])
def test_the_pages_of_the_sitemaps_are_read_that_are_most_like_the_question(is_packed: bool) -> None:
    """By way of an index of sitemaps; packed or not."""
    with web_server(site(ARTICLES, is_packed=is_packed)) as web:
        found = asked(site_at(web.url, site_pages=2))
        assert [page.address for page in found] == [f"{web.url}/help/refunds", f"{web.url}/internal/refunds"]
        assert (found[0].title, found[0].text) == ("Refunds", "Home\n\nRefunds are paid within five days.")


def test_what_robots_txt_disallows_is_not_asked_for() -> None:
    """Rule: neither a page nor one that a page redirects to; our own name's group counts."""
    robots = "User-agent: *\nDisallow: /\n\nUser-agent: support-agent\nDisallow: /internal/\n"

    def answer(request: Request) -> Reply:
        if request.path == "/help/cats":
            return Reply(status=302, headers={"Location": "/internal/refunds"})
        return site(ARTICLES, robots)(request)

    with web_server(answer) as web:
        found = asked(site_at(web.url))
        assert [page.title for page in found] == ["Refunds", "Storage"]
        assert not any(path.startswith("/internal/") for path in web.paths)
        assert web.paths[0] == "/robots.txt"


def test_robots_txt_is_asked_about_the_nearest_pages_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failure: all rules for all pages of a hostile site took half an hour of a core, at each search."""
    asked_about: list[str] = []
    allows = Robots.allows

    def watched(robots: Robots, address: str) -> bool:
        asked_about.append(address)
        return allows(robots, address)

    monkeypatch.setattr(Robots, "allows", watched)
    pages = (*ARTICLES, *(Article(f"help/{n}", f"Page {n}", "Text.") for n in range(100)))
    with web_server(site(pages)) as web:
        found = asked(site_at(web.url, site_pages=1))
    assert [page.title for page in found] == ["Refunds"]
    assert len(set(asked_about)) <= TRIED


@pytest.mark.parametrize("status", [500, 503])
def test_a_site_whose_robots_txt_fails_is_not_read(status: int) -> None:
    """RFC 9309, section 2.3.1.4: then everything counts as disallowed."""

    def answer(request: Request) -> Reply:
        return Reply(status=status) if request.path == "/robots.txt" else site(ARTICLES)(request)

    with web_server(answer) as web:
        assert asked(site_at(web.url)) == []
        assert not any(path.startswith("/help") for path in web.paths)


def test_the_sitemaps_that_robots_txt_names_are_those_that_are_read() -> None:
    def answer(request: Request) -> Reply:
        origin = f"http://{request.headers['host']}"
        match request.path:
            case "/robots.txt":
                return Reply(f"Sitemap: {origin}/mine.txt\n".encode(), "text/plain")
            case "/mine.txt":
                return Reply(f"{origin}/help/cats\n".encode(), "text/plain")
        return site(ARTICLES)(request)

    with web_server(answer) as web:
        assert [page.title for page in asked(site_at(web.url))] == ["Cats"]
        assert "/sitemap.xml" not in web.paths


def test_a_sitemap_leads_nowhere_else() -> None:
    """It may name the metadata server, another site, or a sitemap elsewhere; none of them is asked."""
    with web_server(lambda _: Reply(b"<p>inside")) as inside:
        outside = [inside.url, "http://169.254.169.254/", "file:///etc/passwd", "https://other.example/"]

        def answer(request: Request) -> Reply:
            origin = f"http://{request.headers['host']}"
            if request.path == "/sitemap.xml":
                return Reply(sitemap("urlset", "url", [*outside, f"{origin}/help/cats"]), "text/xml")
            if request.path == "/robots.txt":
                return Reply(f"Sitemap: {inside.url}/s.xml\nSitemap: {origin}/sitemap.xml".encode(), "text/plain")
            if request.path == "/help/cats":
                return Reply(status=302, headers={"Location": f"{inside.url}/cats"})
            return NOT_FOUND

        with web_server(answer) as web, pytest.raises(TransientError, match="none of the pages"):
            asked(site_at(web.url))
        assert web.paths == ["/robots.txt", "/sitemap.xml", "/help/cats"]
        assert inside.asked == []


@pytest.mark.parametrize(
    "reply",
    [
        NOT_FOUND,
        Reply(b"<!doctype html><p>Welcome"),
        Reply(b"\x1f\x8b broken", "application/gzip"),
        Reply(status=302, headers={"Location": "/sitemap.xml"}),
    ],
)
def test_a_site_without_a_sitemap_says_what_to_do(reply: Reply) -> None:
    def answer(request: Request) -> Reply:
        return reply if request.path == "/sitemap.xml" else NOT_FOUND

    with web_server(answer) as web, pytest.raises(TransientError, match=r"add /sitemap\.xml"):
        asked(site_at(web.url))


def test_one_sitemap_that_fails_costs_its_own_pages_and_is_asked_again() -> None:
    """Rule: a list that is not whole is not kept."""
    fails = [True]

    def answer(request: Request) -> Reply:
        origin = f"http://{request.headers['host']}"
        match request.path:
            case "/sitemap.xml":
                return Reply(sitemap("sitemapindex", "sitemap", [f"{origin}/1.xml", f"{origin}/2.xml"]), "text/xml")
            case "/1.xml":
                return Reply(sitemap("urlset", "url", [f"{origin}/help/cats"]), "text/xml")
            case "/2.xml" if not fails[0]:
                return Reply(sitemap("urlset", "url", [f"{origin}/help/storage"]), "text/xml")
            case "/2.xml":
                return Reply(status=500)
        return site(ARTICLES)(request)

    with web_server(answer) as web:
        source = site_at(web.url)
        assert [page.title for page in asked(source)] == ["Cats"]
        fails[0] = False
        assert [page.title for page in asked(source)] == ["Cats", "Storage"]


def test_a_site_is_asked_once_while_what_it_said_is_kept() -> None:
    """Another question reads other pages, and the list of them not again."""
    clock = HandClock()
    with web_server(site(ARTICLES)) as web:
        source = site_at(web.url, clock, site_pages=1, cache_max_age_s=60)
        for question in (QUESTION, QUESTION, "storage"):
            asked(source, question)
        once = ["/robots.txt", "/sitemap.xml", "/sitemap-pages.xml", "/help/refunds", "/help/storage"]
        assert web.paths == once
        clock.move(60)
        asked(source)
        assert web.paths == [*once, *once[:4]]


def test_a_site_that_wants_time_between_requests_gets_it() -> None:
    """One page after the other, as many as there is time for."""
    with web_server(site(ARTICLES, "User-agent: *\nCrawl-delay: 0.05\n")) as web:
        assert len(asked(site_at(web.url))) == 4
    with web_server(site(ARTICLES, "User-agent: *\nCrawl-delay: 30\n")) as web:
        assert len(asked(site_at(web.url))) == 1
        assert sum(path.startswith("/help") for path in web.paths) == 1


def test_the_words_of_an_address_say_what_a_page_is_about() -> None:
    """Of as many, the earlier one; also some that share none."""
    addresses = [
        f"https://shop.example/{path}" for path in ("a", "how_to-cancel", "r%C3%BCckgabe", "b", "refunds?x=cancel")
    ]
    assert nearest_addresses("cancelling a refund", addresses, 2) == [addresses[4], addresses[1]]
    assert nearest_addresses("Rückgaben", addresses, 1) == [addresses[2]]
    assert nearest_addresses("nothing", addresses, 3) == addresses[:3]
