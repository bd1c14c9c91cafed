"""What Serper, DuckDuckGo, Wikipedia, SearXNG and a company's site answer, in the forms that they document."""

from __future__ import annotations

import gzip
import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.servers.web import NOT_FOUND, Answering, Reply, Request

KEY = "serper-key-1"
JSON = "application/json; charset=utf-8"


@dataclass(frozen=True)
class Article:
    """A page of the little web that the services know."""

    slug: str
    title: str
    text: str

    @property
    def snippet(self) -> str:
        """What an engine shows of it."""
        return self.text[:80].replace("\n", " ")

    @property
    def html(self) -> bytes:
        """The page."""
        paragraphs = "".join(f"<p>{html.escape(part)}</p>" for part in self.text.split("\n"))
        head = f"<head><meta charset=utf-8><title>{html.escape(self.title)}</title></head>"
        return f"<!doctype html><html>{head}<body><nav><a href=/>Home</a></nav>{paragraphs}</body></html>".encode()


def best(articles: Sequence[Article], question: str) -> list[Article]:
    """The articles that share words with a question, the most first."""

    def words(text: str) -> set[str]:
        return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}

    scored = [(len(words(question) & words(f"{one.title} {one.text}")), one) for one in articles]
    return [one for score, one in sorted(scored, key=lambda pair: -pair[0]) if score]


def pages(articles: Sequence[Article]) -> Answering:
    """The web itself: each article at /slug."""
    by_path = {f"/{article.slug}": article for article in articles}
    return lambda request: Reply(by_path[request.path].html) if request.path in by_path else NOT_FOUND


def serper(articles: Sequence[Article], web_url: str) -> Answering:
    """POST /search."""

    def answer(request: Request) -> Reply:
        if request.method != "POST" or request.path != "/search":
            return said({"message": "Not Found", "statusCode": 404}, 404)
        if request.headers.get("x-api-key") != KEY:
            return said({"message": "Unauthorized.", "statusCode": 403}, 403)
        asked = json.loads(request.body)
        found = best(articles, asked["q"])[: asked.get("num", 10)]
        organic = [
            {"title": one.title, "link": f"{web_url}/{one.slug}", "snippet": one.snippet, "position": number}
            for number, one in enumerate(found, start=1)
        ]
        echo = {"q": asked["q"], "type": "search", "engine": "google"}
        return said({"searchParameters": echo, "organic": organic, "credits": 1})

    return answer


def searxng(articles: Sequence[Article], web_url: str) -> Answering:
    """GET /search?q=...&format=json."""

    def answer(request: Request) -> Reply:
        if request.path != "/search" or request.query.get("format") != "json":
            return Reply(b"<html><body>SearXNG</body></html>")
        results = [
            {
                "url": f"{web_url}/{one.slug}",
                "title": one.title,
                "content": one.snippet,
                "engine": "brave",
                "engines": ["brave"],
                "score": 1.0,
                "category": "general",
                "publishedDate": None,
            }
            for one in best(articles, request.query["q"])
        ]
        rest: dict[str, Any] = {"answers": [], "infoboxes": [], "suggestions": [], "unresponsive_engines": []}
        return said({"query": request.query["q"], "number_of_results": 0, "results": results, **rest})

    return answer


def wikipedia(articles: Sequence[Article]) -> Answering:
    """`action=query` of /w/api.php: `list=search`, and `prop=extracts` of one page at a time."""

    def answer(request: Request) -> Reply:
        asked = request.query
        if request.path != "/w/api.php" or asked.get("action") != "query":
            return Reply(b"<html><body>MediaWiki API help</body></html>")
        if asked.get("list") == "search":
            found = best(articles, asked["srsearch"])[: int(asked.get("srlimit", 10))]
            hits = [{"ns": 0, "title": one.title, "pageid": articles.index(one) + 1} for one in found]
            return said({"batchcomplete": True, "query": {"searchinfo": {"totalhits": len(hits)}, "search": hits}})
        number = int(asked["pageids"])
        one = articles[number - 1]
        page = {"pageid": number, "ns": 0, "title": one.title, "extract": one.text}
        return said({"batchcomplete": True, "query": {"pages": [page]}})

    return answer


def duckduckgo(articles: Sequence[Article], web_url: str) -> Answering:
    """GET /html/?q=..., links through /l/?uddg=, an advertisement on top."""

    def answer(request: Request) -> Reply:
        if request.path != "/html/":
            return NOT_FOUND
        ad = _result("https://ads.example/y.js?ad_domain=shop", "Buy now", "The best shop.", "result--ad")
        found = best(articles, request.query["q"])
        results = [
            _result(
                f"//duckduckgo.com/l/?uddg={quote(f'{web_url}/{one.slug}', safe='')}&amp;rut=0a1b",
                one.title,
                one.snippet,
                "web-result",
            )
            for one in found
        ]
        nothing = "" if found else '<div class="no-results">No results.</div>'
        return Reply(
            f'<html><body><div class="serp__results">{ad}{"".join(results)}{nothing}</div></body></html>'.encode()
        )

    return answer


def _result(address: str, title: str, snippet: str, kind: str) -> str:
    bold = re.sub(r"(\w+)", r"<b>\1</b>", html.escape(snippet, quote=False), count=1)
    return (
        f'<div class="result results_links results_links_deep {kind}"><div class="links_main result__body">'
        f'<h2 class="result__title"><a rel="nofollow" class="result__a" href="{address}">{html.escape(title)}</a></h2>'
        f'<a class="result__url" href="{address}"> example.org </a>'
        f'<a class="result__snippet" href="{address}">{bold}</a></div></div>'
    )


ANOMALY = Reply(
    b'<html><body><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></body></html>',
    status=200,
)
"""What DuckDuckGo shows to whom it takes for a machine (there with status 202)."""


def site(articles: Sequence[Article], robots: str = "", *, is_packed: bool = False) -> Answering:
    """A site with robots.txt, an index of sitemaps and one sitemap below it."""
    named = "/sitemap-pages.xml.gz" if is_packed else "/sitemap-pages.xml"

    def answer(request: Request) -> Reply:
        origin = f"http://{request.headers['host']}"
        match request.path:
            case "/robots.txt":
                return Reply(robots.encode(), "text/plain") if robots else NOT_FOUND
            case "/sitemap.xml":
                return Reply(sitemap("sitemapindex", "sitemap", [f"{origin}{named}"]), "application/xml")
            case path if path == named:
                body = sitemap("urlset", "url", [f"{origin}/{one.slug}" for one in articles])
                return Reply(gzip.compress(body), "application/gzip") if is_packed else Reply(body, "text/xml")
        return pages(articles)(request)

    return answer


def sitemap(root: str, element: str, addresses: Sequence[str]) -> bytes:
    """A sitemap or an index of them."""
    rows = "".join(f"<{element}><loc>{html.escape(address)}</loc></{element}>" for address in addresses)
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?><{root} xmlns="{namespace}">{rows}</{root}>'.encode()


def said(content: object, status: int = 200) -> Reply:
    """An answer in JSON."""
    return Reply(json.dumps(content).encode(), JSON, status)
