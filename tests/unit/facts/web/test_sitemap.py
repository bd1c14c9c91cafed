"""The addresses of a sitemap, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.facts.web.sitemap import MAX_ADDRESSES, NoSitemapError, Sitemap, read_sitemap
from tests.servers.search_services import sitemap

A, B = "https://shop.example/a?x=1&y=2", "https://shop.example/b"
BOMB = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>'


def test_pages_and_further_sitemaps_are_told_apart() -> None:
    assert read_sitemap(sitemap("urlset", "url", [A, B])) == Sitemap(pages=(A, B))
    assert read_sitemap(sitemap("sitemapindex", "sitemap", [A])) == Sitemap(sitemaps=(A,))
    assert read_sitemap(b"<urlset><url><loc> https://shop.example/b </loc></url></urlset>").pages == (B,)


def test_an_image_of_a_page_is_no_page() -> None:
    """Extensions of the protocol have a `loc` of their own."""
    xml = b"<urlset xmlns:i='i'><url><loc>https://shop.example/b</loc><i:image><i:loc>https://x/y.png</i:loc></i:image></url></urlset>"
    assert read_sitemap(xml).pages == (B,)


def test_a_text_file_has_one_address_a_line() -> None:
    assert read_sitemap(f"\ufeff{A}\r\n\r\n{B}\n".encode()).pages == (A, B)


@pytest.mark.parametrize(
    "body",
    [
        BOMB,
        b"<!DOCTYPE html><html><body>Not found</body></html>",
        b"<rss><channel/></rss>",
        b"<urlset><url><loc>https://shop.example/b</loc></url>",
        b"<urlset>" + b"<url>" * 100,
        b'<?xml version="1.0" encoding="klingon"?><urlset/>',
        b"no address at all",
        b"\xff\xfe\x00",
    ],
)
def test_what_is_no_sitemap_is_said_to_be_none(body: bytes) -> None:
    """A document type first of all: entities are how a small file becomes a large one."""
    with pytest.raises(NoSitemapError):
        read_sitemap(body)


def test_there_is_an_end_to_addresses() -> None:
    addresses = [f"{B}/{number}" for number in range(MAX_ADDRESSES + 1)]
    assert len(read_sitemap(sitemap("urlset", "url", addresses)).pages) == MAX_ADDRESSES


@given(st.binary(max_size=200))
def test_no_file_breaks_the_reading(body: bytes) -> None:
    for prefix in (b"", b"<urlset>"):
        try:
            read_sitemap(prefix + body)
        except NoSitemapError:
            continue
