"""Reads the addresses of a sitemap, or of an index of sitemaps.

Invariant: the cost is linear in the file's length, for any document type, entity or nesting. Checked by
tests/unit/facts/web/test_sitemap.py.
Source: sitemaps.org/protocol.html: `urlset/url/loc`, `sitemapindex/sitemap/loc`, a text file of one address a line.
"""

from __future__ import annotations

from typing import NamedTuple
from xml.parsers import expat

MAX_ADDRESSES = 50_000
"""The protocol's limit of addresses; more are ignored."""
MAX_DEPTH = 20


class Sitemap(NamedTuple):
    """Addresses of pages, and of further sitemaps, in the file's order."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()


class NoSitemapError(ValueError):
    """The file is no sitemap."""


def read_sitemap(body: bytes) -> Sitemap:
    """The addresses of an XML or a text sitemap, unpacked.

    Raises:
        NoSitemapError: it is neither.
    """
    if body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return _Reader().read(body)
    try:
        lines = [line.strip() for line in body.decode("utf-8-sig").splitlines()]
    except UnicodeDecodeError:
        raise NoSitemapError("neither XML nor text") from None
    addresses = [line for line in lines if line]
    if not all(line.startswith(("http://", "https://")) for line in addresses):
        raise NoSitemapError("a line is no address")
    return Sitemap(tuple(addresses[:MAX_ADDRESSES]))


class _Reader:
    def __init__(self) -> None:
        self._pages: list[str] = []
        self._sitemaps: list[str] = []
        self._path: list[str] = []
        self._text: list[str] = []

    def read(self, body: bytes) -> Sitemap:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        try:
            parser.Parse(body, True)
        except (expat.ExpatError, ValueError, LookupError) as error:  # a broken file or an unknown codec
            raise NoSitemapError(str(error)) from None
        return Sitemap(tuple(self._pages), tuple(self._sitemaps))

    def _refuse(self, *_: object) -> None:
        raise NoSitemapError("a document type: a sitemap has none")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name.rpartition(" ")[2])
        if len(self._path) > MAX_DEPTH or self._path[0] not in {"urlset", "sitemapindex"}:
            raise NoSitemapError("not the elements of a sitemap")
        self._text.clear()

    def _end(self, name: str) -> None:
        match self._path:
            case ["urlset", "url", "loc"]:
                self._add(self._pages)
            case ["sitemapindex", "sitemap", "loc"]:
                self._add(self._sitemaps)
        self._path.pop()
        self._text.clear()

    def _add(self, addresses: list[str]) -> None:
        address = "".join(self._text).strip()
        if address and len(addresses) < MAX_ADDRESSES:
            addresses.append(address)
