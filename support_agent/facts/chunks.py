"""Cut a source's sentences into chunks for the inside search: paragraphs where they fit, else sentences, else words.

A chunk names the positions of the sentences it covers, so only whole sentences are shown; a chunk with some words of a
long sentence names that sentence. A table row is read with the names of its columns, and a list item ends with a mark:
without these, "steel | 5 years wicker | 3 years" was read as five years for wicker.

Invariant: every sentence is covered, in order; a chunk is at most `size` long unless it is a single word that is
longer; it repeats at most `overlap` of the chunk before it; it never crosses a heading. Checked by
tests/unit/facts/test_chunks.py.
Source: recursive splitting at 400 characters with an overlap of 100 as in LLM-ENHANCER's merged search; 256 and 512
tokens as in the tables of Advanced RAG for local models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, assert_never

from pydantic import Field

from support_agent.company.documents import Document, Sentence
from support_agent.company.text import collapse, sentence_spans
from support_agent.config.facts import ChunkUnit, FactSettings
from support_agent.core.frozen import Frozen
from support_agent.facts.material import Passage

_PARAGRAPH_END = re.compile(r"\n[^\S\n]*(?:\n\s*)+")
"""One empty line or more."""
_ENDS = (".", "!", "?", ":", ";", ",", "\u3002", "\uff1f", "\uff01", "\uff1b")


Measure = Callable[[Sequence[str]], Sequence[int]]
"""The length of each text."""


class Source(Frozen):
    """A text to cut and search: a company document or the text of a web page, as whole sentences in order.

    `key` is "document:6" or the page's address; `title` is searched along with each of its chunks.
    """

    key: str = Field(min_length=1)
    title: str
    sentences: tuple[Sentence, ...]


class Cutting(NamedTuple):
    """How long chunks are, in the unit that `measure` counts.

    `measure` gives the length of each text; `joint` is the length of the space or new line between two. Lengths must
    add up: measure(a + " " + b) == measure(a) + joint + measure(b), as characters do, and the tokens of a model that
    parts words at white space.
    """

    size: int
    overlap: int
    measure: Measure
    joint: int


class _Piece(NamedTuple):
    """A sentence, or one word of a sentence that is too long; `length` in the unit of `Cutting.measure`."""

    position: int
    paragraph: int
    text: str
    length: int


def in_characters(size: int, overlap: int) -> Cutting:
    """Chunks measured in characters; `overlap` < `size`."""
    return Cutting(size, overlap, lambda texts: [len(text) for text in texts], joint=1)


def in_tokens(size: int, overlap: int, count: Measure) -> Cutting:
    """Chunks measured in the tokens that `count` finds in each text; `overlap` < `size`."""
    return Cutting(size, overlap, count, joint=0)


def cutting_of(settings: FactSettings, count_tokens: Measure) -> Cutting:
    """The cutting that the settings name; `count_tokens` is the embedding model's."""
    match settings.chunk_unit:
        case ChunkUnit.CHARACTERS:
            return in_characters(settings.chunk_size, settings.chunk_overlap)
        case ChunkUnit.TOKENS:
            return in_tokens(settings.chunk_size, settings.chunk_overlap, count_tokens)
        case never:
            assert_never(never)


def document_source(document: Document) -> Source:
    """A company document; positions are those of its own sentences."""
    return Source(key=f"document:{document.number}", title=document.head.title, sentences=document.sentences)


def page_source(address: str, title: str, text: str) -> Source:
    """A web page's plain text: paragraphs end at an empty line, sentences as in the company's documents."""
    sentences: list[Sentence] = []
    start = 0
    ends = [(match.start(), match.end()) for match in _PARAGRAPH_END.finditer(text)]
    for paragraph, (end, next_start) in enumerate([*ends, (len(text), len(text))]):
        sentences += _paragraph_sentences(text, start, end, paragraph, len(sentences))
        start = next_start
    return Source(key=address, title=title, sentences=tuple(sentences))


def _paragraph_sentences(text: str, start: int, end: int, paragraph: int, index: int) -> list[Sentence]:
    """The sentences between two offsets, numbered from `index`."""
    spans = sentence_spans(text[start:end])
    return [
        Sentence(
            index=index + number,
            text=collapse(text[start + first : start + last]),
            heading="",
            paragraph=paragraph,
            kind="sentence",
            line=text.count("\n", 0, start + first) + 1,
        )
        for number, (first, last) in enumerate(spans)
    ]


def cut(source: Source, cutting: Cutting) -> tuple[Passage, ...]:
    """The chunks of a source, in order; a source without sentences has none.

    `text` has the sentences as `read_alone` has them, one space between sentences and words, and a new line between
    paragraphs.

    Args:
        source: Sentences in document order, `index` counting from 0.
        cutting: `overlap` < `size`, `size` 1 or more.
    """
    texts = read_alone(source.sentences)
    measured = [
        (_Piece(sentence.index, sentence.paragraph, text, length), sentence.heading)
        for sentence, text, length in zip(source.sentences, texts, cutting.measure(texts), strict=True)
    ]
    chunks: list[Passage] = []
    for heading, section in groupby(measured, key=itemgetter(1)):
        pieces = [piece for piece, _ in section]
        chunks += (_chunk(source.key, heading, packed) for packed in _packed(_blocks(pieces, cutting), cutting))
    return tuple(chunks)


def read_alone(sentences: Sequence[Sentence]) -> list[str]:
    """The sentences as they read without their neighbours: a table row with its header's names."""
    texts: list[str] = []
    header: Sentence | None = None
    for sentence in sentences:
        header = sentence if sentence.is_header else header
        if sentence.kind == "row" and not sentence.is_header and header and header.paragraph == sentence.paragraph:
            named = zip(header.cells, sentence.cells, strict=False)
            texts.append(", ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell) + ".")
        else:
            has_end = sentence.kind == "sentence" or sentence.text.endswith(_ENDS)
            texts.append(sentence.text if has_end else f"{sentence.text};")
    return texts


def _blocks(section: Sequence[_Piece], cutting: Cutting) -> Generator[list[_Piece]]:
    """The largest pieces that fit: a paragraph, else each sentence, else each word."""
    for _, group in groupby(section, key=lambda piece: piece.paragraph):
        paragraph = list(group)
        if _length(paragraph, cutting) <= cutting.size:
            yield paragraph
            continue
        for piece in paragraph:
            yield from [[piece]] if piece.length <= cutting.size else _words(piece, cutting)


def _words(sentence: _Piece, cutting: Cutting) -> list[list[_Piece]]:
    words = sentence.text.split()
    lengths = cutting.measure(words)
    return [[sentence._replace(text=word, length=length)] for word, length in zip(words, lengths, strict=True)]


def _packed(blocks: Generator[list[_Piece]], cutting: Cutting) -> Generator[list[_Piece]]:
    """Blocks one after the other into chunks; each chunk begins with the end of the one before."""
    pieces: list[_Piece] = []
    for block in blocks:
        if pieces and _length([*pieces, *block], cutting) > cutting.size:
            yield pieces
            pieces = _tail(pieces, block, cutting)
        pieces = [*pieces, *block]
    if pieces:
        yield pieces


def _tail(pieces: Sequence[_Piece], block: Sequence[_Piece], cutting: Cutting) -> list[_Piece]:
    """The longest end of a chunk that may be repeated before the next block."""
    room = min(cutting.overlap, cutting.size - _length(block, cutting) - cutting.joint)
    start = len(pieces)
    while start and _length(pieces[start - 1 :], cutting) <= room:
        start -= 1
    return list(pieces[start:])


def _length(pieces: Sequence[_Piece], cutting: Cutting) -> int:
    return sum(piece.length for piece in pieces) + cutting.joint * (len(pieces) - 1)


def _chunk(key: str, heading: str, pieces: Sequence[_Piece]) -> Passage:
    paragraphs = [
        " ".join(piece.text for piece in group) for _, group in groupby(pieces, key=lambda piece: piece.paragraph)
    ]
    first, last = pieces[0].position, pieces[-1].position
    return Passage(source=key, first=first, last=last, heading=heading, text="\n".join(paragraphs))
