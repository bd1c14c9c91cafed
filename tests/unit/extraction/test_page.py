"""HTML pages: their blocks as a browser shows them."""

from __future__ import annotations

import pytest

from support_agent.extraction.blocks import Block, BlockKind, Collector
from support_agent.extraction.page import read_page


def read(page: str | bytes) -> list[Block]:
    found = Collector(10_000)
    read_page(page.encode() if isinstance(page, str) else page, found)
    return found.blocks


def texts(page: str | bytes) -> list[str]:
    return [" | ".join(block.texts) for block in read(page)]


def test_a_page_is_headings_paragraphs_lists_tables_and_code() -> None:
    """End tags that HTML lets authors leave out are no matter."""
    page = """<!DOCTYPE html><html><head><title>x</title><body><h1>Gift <b>cards</b></h1>
    <p>One,<br>two.<p>Three.
    <ol><li>a<ul><li>b<li><p>c</p><p>d</p></ul><li>e</ol>
    <table><caption>Prices</caption><tr><th>Plan<th colspan=2>Price<tr><td>Pro<td>9<td><p>a</p><p>month</p></table>
    <pre>x = 1
  y</pre>tail &amp; end"""
    assert read(page) == [
        Block(BlockKind.HEADING, ("Gift cards",), 1),
        Block(BlockKind.PARAGRAPH, ("One, two.",)),
        Block(BlockKind.PARAGRAPH, ("Three.",)),
        Block(BlockKind.NUMBERED, ("a",), 0),
        Block(BlockKind.ITEM, ("b",), 1),
        Block(BlockKind.ITEM, ("c d",), 1),
        Block(BlockKind.NUMBERED, ("e",), 0),
        Block(BlockKind.PARAGRAPH, ("Prices",)),
        Block(BlockKind.ROW, ("Plan", "Price", ""), 1),
        Block(BlockKind.ROW, ("Pro", "9", "a month"), 1),
        Block(BlockKind.CODE, ("x = 1\n  y",)),
        Block(BlockKind.PARAGRAPH, ("tail & end",)),
    ]


def test_two_line_breaks_end_a_paragraph_and_one_does_not() -> None:
    """A sentence may go on after a break: half a sentence may say the opposite."""
    assert texts("a<br>b<br> <br>c") == ["a b", "c"]


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>x</script>",
        "<style>x</style>",
        "<p hidden>x</p>",
        "<p style='display: none'>x</p>",
        "<span style='font-size:0'>x</span>",
        "<!-- x -->",
        "<nav>x</nav>",
        "<footer><p>x</footer>",
        "<form><button>x</button></form>",
        "<template><p>x</template>",
    ],
)
def test_what_a_browser_does_not_show_or_is_not_text_is_not_read(hidden: str) -> None:
    """Orders for a model are hidden like this, and menus are no policy."""
    assert texts(f"<p>a</p>{hidden}<p>b</p>") == ["a", "b"]


def test_only_the_main_part_of_a_page_is_read() -> None:
    """Where a page says which that is; an empty one says nothing."""
    assert texts("<p>menu<main><h1>t</h1><p>a</main><p>end<main>b</main>") == ["t", "a", "b"]
    assert texts("<p>a<main></main>") == ["a"]


def test_pictures_are_named_where_they_stood() -> None:
    """After the list or the table that they stood in."""
    page = "<p>a<img alt=x>b<ul><li>c<img></ul><table><tr><td>d<td><img></table>"
    assert texts(page) == ["a", "a picture", "b", "c", "a picture", "d | ", "a picture"]


@pytest.mark.parametrize(
    "raw",
    [
        "<p>Gebühr".encode(),
        "\ufeff<p>Gebühr".encode(),
        "<p>Gebühr".encode("utf-16"),
        b"<meta charset='iso-8859-15'>" + "<p>Gebühr".encode("iso-8859-15"),
        b"<meta charset='no-such'>" + "<p>Gebühr".encode("cp1252"),
        "<p>Gebühr".encode("cp1252"),
    ],
)
def test_letters_are_read_as_a_browser_reads_them(raw: bytes) -> None:
    assert texts(raw) == ["Gebühr"]
