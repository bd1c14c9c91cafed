"""Word documents: their blocks as a reader sees them."""

from __future__ import annotations

from support_agent.extraction.blocks import Block, BlockKind, Collector
from support_agent.extraction.word import read_word
from tests.unit.extraction.files import paragraph, styled, table, word

STYLES = """
<w:style w:type='paragraph' w:styleId='berschrift2'><w:name w:val='heading 2'/></w:style>
<w:style w:type='paragraph' w:styleId='Titel'><w:name w:val='Title'/></w:style>
<w:style w:type='paragraph' w:styleId='Ours'><w:name w:val='House'/><w:basedOn w:val='berschrift2'/></w:style>
<w:style w:type='paragraph' w:styleId='Loop'><w:name w:val='Loop'/><w:basedOn w:val='Loop'/></w:style>
<w:style w:type='paragraph' w:styleId='Punkte'><w:name w:val='List Bullet'/><w:pPr><w:numPr><w:numId w:val='2'/>
</w:numPr></w:pPr></w:style>
"""
NUMBERING = """
<w:abstractNum w:abstractNumId='7'><w:lvl w:ilvl='0'><w:numFmt w:val='decimal'/></w:lvl>
<w:lvl w:ilvl='1'><w:numFmt w:val='bullet'/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId='8'><w:lvl w:ilvl='0'><w:numFmt w:val='bullet'/></w:lvl></w:abstractNum>
<w:num w:numId='1'><w:abstractNumId w:val='7'/></w:num><w:num w:numId='2'><w:abstractNumId w:val='8'/></w:num>
"""


def read(body: str) -> list[Block]:
    found = Collector(10_000)
    read_word(word(body, STYLES, NUMBERING), found)
    return found.blocks


def test_headings_are_known_by_their_styles_in_every_language() -> None:
    """Word translates the ids of its styles and not their names; a style of the house is based on one of them."""
    body = styled("Gift cards", "<w:pStyle w:val='Titel'/>") + styled("Redeem", "<w:pStyle w:val='berschrift2'/>")
    body += styled("Value", "<w:pStyle w:val='Ours'/>") + styled("Years", "<w:outlineLvl w:val='2'/>")
    body += styled("Text.", "<w:pStyle w:val='Loop'/>")
    assert read(body) == [
        Block(BlockKind.HEADING, ("Gift cards",), 1),
        Block(BlockKind.HEADING, ("Redeem",), 2),
        Block(BlockKind.HEADING, ("Value",), 2),
        Block(BlockKind.HEADING, ("Years",), 3),
        Block(BlockKind.PARAGRAPH, ("Text.",)),
    ]


def test_lists_have_numbers_or_bullets_and_levels() -> None:
    """The kind of a list is kept apart from its paragraphs; it may also come with the style."""
    number = "<w:numPr><w:ilvl w:val='{}'/><w:numId w:val='1'/></w:numPr>"
    body = styled("Open Billing.", number.format(0)) + styled("As the owner.", number.format(1))
    body += styled("Cards.", "<w:pStyle w:val='Punkte'/>") + styled("Off.", "<w:numPr><w:numId w:val='0'/></w:numPr>")
    assert read(body) == [
        Block(BlockKind.NUMBERED, ("Open Billing.",), 0),
        Block(BlockKind.ITEM, ("As the owner.",), 1),
        Block(BlockKind.ITEM, ("Cards.",), 0),
        Block(BlockKind.PARAGRAPH, ("Off.",)),
    ]


def test_tables_are_rows_and_two_tables_are_two() -> None:
    """A table in a cell is that cell's text; a cell over two columns is followed by an empty one."""
    inner = f"<w:tc>{table(('a', 'b'))}</w:tc>"
    wide = f"<w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>{paragraph('Both')}</w:tc></w:tr>"
    body = table(("Plan", "Price")).replace("</w:tbl>", f"{wide}<w:tr>{inner}</w:tr></w:tbl>")
    assert read(body + table(("Other", "table"))) == [
        Block(BlockKind.ROW, ("Plan", "Price"), 1),
        Block(BlockKind.ROW, ("Both", ""), 1),
        Block(BlockKind.ROW, ("a b",), 1),
        Block(BlockKind.ROW, ("Other", "table"), 2),
    ]


def test_what_word_does_not_show_is_not_read() -> None:
    """Deleted and hidden words; of a text box Word keeps two versions, and one is read."""
    box = "<x:AlternateContent xmlns:x='urn:x'><x:Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></x:Choice>"
    box += "<x:Fallback><w:p><w:r><w:t>box</w:t></w:r></w:p></x:Fallback></x:AlternateContent>"
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>x</w:t></w:r><w:del><w:r><w:t>y</w:t></w:r></w:del>"
    shown = "<w:r><w:t>shown</w:t></w:r>"
    blocks = read(f"<w:p>{hidden}{shown}{box}</w:p>")
    assert blocks == [Block(BlockKind.PARAGRAPH, ("box",)), Block(BlockKind.PARAGRAPH, ("shown",))]


def test_pictures_and_footnotes_are_named_where_they_stood() -> None:
    """A person must know that there was something; after the table where it stood in one."""
    picture = "<w:p><w:r><w:drawing/></w:r></w:p>"
    note = "<w:p><w:r><w:t>Free.</w:t></w:r><w:r><w:footnoteReference/></w:r></w:p>"
    cells = table(("a", "b")).replace("</w:tc>", f"{picture}</w:tc>", 1)
    assert read(note + cells + picture) == [
        Block(BlockKind.PARAGRAPH, ("Free.",)),
        Block(BlockKind.LEFT_OUT, ("a footnote",)),
        Block(BlockKind.ROW, ("a", "b"), 1),
        Block(BlockKind.LEFT_OUT, ("a picture",)),
        Block(BlockKind.LEFT_OUT, ("a picture",)),
    ]
