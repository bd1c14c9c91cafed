"""Computes for the gate, source by source, what a mail must say and may say.

Invariant: this half uses no template engine, view or rendered span. It walks the descriptions itself and reads each
value from the item; a source without a value has no text and is refused. All parameters of an item are required, so an
answer whose templates leave one out does not pass. Checked by
tests/unit/answer/test_expected_text.py and tests/unit/answer/test_provenance.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, assert_never

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.alarm import Alarm
from support_agent.answer.digest import Digest
from support_agent.answer.final_answer import FinalAnswer, Item
from support_agent.answer.formatting import clean_line
from support_agent.answer.item_kinds import KINDS
from support_agent.answer.mail_parts import ACKNOWLEDGEMENT, ALARM, ANSWER, DIGEST, PACKET, MadeFrom
from support_agent.answer.packet import Packet
from support_agent.answer.shapes import Position, Shape, TextPart, verbatim
from support_agent.answer.sources import Source, WordSource, key_of
from support_agent.answer.templates import Templates
from support_agent.errors import GateRefused


class ExpectedPart(NamedTuple):
    """A source that a mail may cite, with the unescaped text of its span.

    None: no text, as for a row that is too wide for a line; it can still be required, by `key_of`.
    """

    source: Source
    text: str | None
    is_required: bool


class Expected(NamedTuple):
    """`texts` by source; `required` are keys of sources, in the order of the items."""

    texts: dict[Source, str | None]
    required: tuple[str, ...]

    def text(self, source: Source) -> str:
        """The text of a span that cites this source.

        Raises:
            GateRefused: the mail's data has no such source.
        """
        if (text := self.texts.get(source)) is None:
            shown = source.model_dump(exclude_none=True)
            raise GateRefused(f"there is nothing at the source {shown}", code="source")
        return text


def expected(made_from: MadeFrom, templates: Templates) -> Expected:
    """The texts that a mail may have, and those that it must have.

    Raises:
        GateRefused: two parts of the mail's data have the same source.
    """
    parts = list(expected_parts(made_from, templates))
    texts = {part.source: part.text for part in parts}
    if len(texts) < len(parts):
        raise GateRefused("two parts of the mail have the same source", code="source")
    return Expected(texts, tuple(dict.fromkeys(key_of(part.source) for part in parts if part.is_required)))


def expected_parts(made_from: MadeFrom, templates: Templates) -> Iterator[ExpectedPart]:
    """Each part of the mail's data."""
    reader = _Reader(templates, templates.locale_for(made_from.locale))
    match made_from:
        case FinalAnswer():
            for answer, block in enumerate(made_from.answers):
                for position, item in enumerate(block.items):
                    yield from reader.item(item, answer, position)
            yield from reader.shape(ANSWER, made_from, {})
        case Acknowledgement():
            yield from reader.shape(ACKNOWLEDGEMENT, made_from, {})
        case Packet():
            yield from reader.shape(PACKET, made_from, {})
        case Digest():
            yield from reader.shape(DIGEST, made_from, {})
        case Alarm():
            yield from reader.shape(ALARM, made_from, {})
        case never:
            assert_never(never)


class _Reader(NamedTuple):
    templates: Templates
    locale: str

    def item(self, item: Item, answer: int, position: int) -> Iterator[ExpectedPart]:
        return self.shape(KINDS[item.kind].shape, item, {"answer": answer, "item": position})

    def shape(self, shape: Shape, model: object, at: Position) -> Iterator[ExpectedPart]:
        here = shape.identified(at, model)
        for part in shape.parts:
            yield from self._part(part, model, here)
        for group in shape.groups:
            below = group.below(model)
            if group.position is None:
                yield from self._below(group.of, below, here)
                continue
            for number, one in enumerate(below):
                yield from self._below(group.of, one, {**here, **group.position(number, one)})

    def _below(self, of: Shape | TextPart, model: object, at: Position) -> Iterator[ExpectedPart]:
        return self._part(of, model, at) if isinstance(of, TextPart) else self.shape(of, model, at)

    def _part(self, part: TextPart, model: object, at: Position) -> Iterator[ExpectedPart]:
        value = part.value(model)
        text = None if value is None else part.format(value, self.locale)
        if text is None and part.is_optional:
            return
        source = part.cite(at)
        if part.source is WordSource and text is not None:
            word = self.templates.word(part.cited_as, text, self.locale)
            source, text = part.cite(at, text, word), None if word is None else clean_line(word.text)
        elif text is not None and part.format is not verbatim:
            text = clean_line(text)
        yield ExpectedPart(source, text, part.is_required(model))
