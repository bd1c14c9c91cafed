"""Plain text as blocks: what its lines and blank lines show, and never half a sentence."""

from __future__ import annotations

import pytest

from support_agent.company.importing.plain_text import blocks_of_text, join_pages
from support_agent.extraction.blocks import Block, BlockKind


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind.value, block.texts[0]) for block in blocks_of_text(text)]


WRAPPED = """\
Refund policy
=============

A yearly plan can be refunded in full within 30 days of the
first payment and renewal.
Monthly plans are not refunded, because they can be cancelled
at any time.

How to ask

  1. Open Billing and choose the
     invoice.
  2. Press Refund.

We never refund:
- seats
- domains
"""


def test_a_letter_as_people_type_it() -> None:
    """Underlined and lonely lines are headings, wrapped lines are joined, marked lines are items."""
    blocks = list(blocks_of_text(WRAPPED))
    assert [(block.kind, block.texts[0], block.level) for block in blocks] == [
        (BlockKind.HEADING, "Refund policy", 1),
        (
            BlockKind.PARAGRAPH,
            "A yearly plan can be refunded in full within 30 days of the first payment and renewal.",
            0,
        ),
        (BlockKind.PARAGRAPH, "Monthly plans are not refunded, because they can be cancelled at any time.", 0),
        (BlockKind.HEADING, "How to ask", 2),
        (BlockKind.NUMBERED, "Open Billing and choose the invoice.", 0),
        (BlockKind.NUMBERED, "Press Refund.", 0),
        (BlockKind.PARAGRAPH, "We never refund:", 0),
        (BlockKind.ITEM, "seats", 0),
        (BlockKind.ITEM, "domains", 0),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Die Frist endet mit dem Ablauf des Tages, das ist der\n31. Dezember des dritten Jahres nach dem Kauf.",
        "We refund seats that were bought by mistake\n- not more than three - within 30 days of the payment.",
        "Refunds are paid to the card that was used\nWithin 30 days, that is.",
        "This is version\n0.21 of the rules, and no other one is meant by it at all.",
    ],
)
def test_a_line_that_looks_like_something_does_not_cut_a_sentence(text: str) -> None:
    """A number or a dash that a line happens to begin with."""
    assert kinds(text) == [("paragraph", " ".join(text.split()))]


def test_a_short_line_that_ends_a_sentence_ends_its_paragraph() -> None:
    """A pdf has no blank lines between paragraphs; only the last line of one is short."""
    text = "The first paragraph is as long as a line of this page is.\nIt ends here.\nThe second one begins."
    assert [text for _, text in kinds(text)] == [
        "The first paragraph is as long as a line of this page is. It ends here.",
        "The second one begins.",
    ]


def test_numbered_headings_and_short_lines_before_text_are_headings() -> None:
    """As the lines of a pdf have them."""
    text = "2.1 Directory layout\nEvery program finds its files in one of two folders, the\nold and the new one."
    assert kinds(text)[0] == ("heading", "2.1 Directory layout")
    assert kinds(text.replace("2.1 ", ""))[0] == ("heading", "Directory layout")


def test_a_heading_with_nothing_below_it_is_text() -> None:
    """What stands in a heading alone is sent to nobody."""
    assert kinds("Title\n\nText of it.\n\nHarborfile Ltd\n\nDublin\n") == [
        ("heading", "Title"),
        ("paragraph", "Text of it."),
        ("paragraph", "Harborfile Ltd"),
        ("paragraph", "Dublin"),
    ]


def test_pages_are_joined_without_their_headers_and_numbers() -> None:
    """A sentence goes on over the page; the line that all pages begin with stays once, as it may be the title."""
    pages = [f"Terms of use\nPage text {word} goes\nover {word} to the\n- {n} -" for n, word in enumerate("abcd")]
    assert join_pages(pages) == "Terms of use\n" + "\n".join(
        f"Page text {word} goes\nover {word} to the" for word in "abcd"
    )
    assert join_pages(["One.", "", "Two", "three."]) == "One.\n\nTwo\nthree."


def test_a_line_on_two_pages_is_no_header() -> None:
    """It may be a price list's."""
    assert join_pages(["Free", "Free"]) == "Free\nFree"


def test_no_text_is_no_block() -> None:
    assert list(blocks_of_text(" \n\n ---\n")) == []
    assert list(blocks_of_text("x")) == [Block(BlockKind.PARAGRAPH, ("x",))]
