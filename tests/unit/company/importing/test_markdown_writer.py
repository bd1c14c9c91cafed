"""Blocks written as Markdown: what is read back is what was given, whatever marks stand in it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support_agent.company.importing.markdown_writer import to_markdown
from support_agent.company.markdown import parse_blocks
from support_agent.company.text import collapse
from support_agent.extraction.blocks import Block, BlockKind

MARKS = "abc ABC 19 .,!?:;#*_`~[]()<>{}|\\&+-=/\"'^$%@ä\u2022"
TEXTS = st.one_of(
    st.text(MARKS, min_size=1, max_size=25),
    st.sampled_from(
        [
            "1. a",
            "- a",
            "# a",
            "> a",
            "---",
            "===",
            "***",
            "[a]: b",
            "![a](b)",
            "<b>a</b>",
            "&amp;",
            "a\\",
            "```",
            "|a|",
        ]
    ),
).filter(lambda text: text.strip() != "")
BLOCKS = st.one_of(
    st.builds(lambda text: Block(BlockKind.PARAGRAPH, (text,)), TEXTS),
    st.builds(lambda text, level: Block(BlockKind.HEADING, (text,), level), TEXTS, st.integers(1, 6)),
    st.builds(
        lambda kind, text, level: Block(kind, (text,), level),
        st.sampled_from([BlockKind.ITEM, BlockKind.NUMBERED]),
        TEXTS,
        st.integers(0, 12),
    ),
    st.builds(
        lambda texts, level: Block(BlockKind.ROW, tuple(texts), level),
        st.lists(TEXTS | st.sampled_from(["", "|"]), min_size=2, max_size=4),
        st.integers(0, 2),
    ),
)


@given(st.lists(BLOCKS, min_size=1, max_size=12))
@example([Block(BlockKind.ROW, ("|", ""), 1)])
def test_what_is_read_back_is_what_was_given(blocks: list[Block]) -> None:
    """The module's invariant: no mark of the text becomes a mark of Markdown, and nothing is lost or moved."""
    wanted: list[tuple[str, str, str]] = []
    heading = ""
    for block in blocks:
        text = collapse(" | ".join(block.texts))
        if block.kind is BlockKind.HEADING:
            heading = text
        elif block.kind is not BlockKind.ROW:
            wanted.append(("sentence" if block.kind is BlockKind.PARAGRAPH else "item", text, heading))
        elif text.strip("| "):
            wanted.append(("row", text.rstrip("| "), heading))
    found: list[tuple[str, str, str]] = []
    for read in parse_blocks(to_markdown(blocks)):
        if read.units[0].kind == "sentence":
            found.append(("sentence", " ".join(unit.text for unit in read.units), read.heading))
        else:
            is_row = read.units[0].kind == "row"  # which may have empty cells at its end, to be as long as the others
            found += [(unit.kind, unit.text.rstrip("| ") if is_row else unit.text, read.heading) for unit in read.units]
    assert found == wanted


def test_a_text_without_marks_is_written_as_it_stands() -> None:
    """A person reviews the file: nothing is escaped that need not be."""
    text = "Pay by card (not by cheque): 5 - 7 days, e.g. [see below]; 3.5 % & more_or_less_so!"
    assert to_markdown([Block(BlockKind.PARAGRAPH, (text,))]) == text + "\n"


def test_lists_tables_and_code_look_like_what_they_are() -> None:
    """Numbers count, levels are indented, a short row has empty cells, a fence is longer than any in the code."""
    blocks = [
        Block(BlockKind.HEADING, ("Refunds",), 2),
        Block(BlockKind.NUMBERED, ("Open Billing.",)),
        Block(BlockKind.ITEM, ("As the owner.",), 1),
        Block(BlockKind.NUMBERED, ("Press Refund.",)),
        Block(BlockKind.ROW, ("Plan", "Price"), 1),
        Block(BlockKind.ROW, ("Free",), 1),
        Block(BlockKind.ROW, ("other", "table"), 2),
        Block(BlockKind.CODE, ("a ```\n  b",)),
        Block(BlockKind.LEFT_OUT, ("a picture",)),
    ]
    assert to_markdown(blocks).split("\n\n") == [
        "## Refunds",
        "1. Open Billing.\n    - As the owner.\n2. Press Refund.",
        "| Plan | Price |\n|---|---|\n| Free |  |",
        "| other | table |\n|---|---|",
        "````\na ```\n  b\n````",
        "<!-- a picture stood here -->\n",
    ]


def test_a_table_of_one_column_is_paragraphs() -> None:
    """Pages use such tables to place text, not to set it beside other text."""
    blocks = [Block(BlockKind.ROW, ("One.",), 1), Block(BlockKind.ROW, ("Two.",), 1)]
    assert to_markdown(blocks) == "One.\n\nTwo.\n"


@pytest.mark.parametrize("count", [12, 120])
def test_many_numbers_do_not_move_what_is_below_them(count: int) -> None:
    """Three digits would need more space before nested items, which then were items of the outer list."""
    blocks = [Block(BlockKind.NUMBERED, (f"item {number}",)) for number in range(count)]
    (read,) = parse_blocks(to_markdown([*blocks, Block(BlockKind.ITEM, ("nested",), 1)]))
    assert [unit.text for unit in read.units] == [*(f"item {number}" for number in range(count)), "nested"]
