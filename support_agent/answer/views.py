"""The values that a template sees: texts with their sources, and plain facts to test.

Invariant: every printable value is a `Sourced`; codes, booleans and names of partials are plain and cannot be printed.
The gate reads the same table in `expected_text`; the approved answers check the table itself. Templates can use only
the names of the shapes: `grammar` refuses others. Checked by tests/unit/answer/test_render.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import NoReturn

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.alarm import Alarm
from support_agent.answer.digest import Digest
from support_agent.answer.final_answer import FinalAnswer, Item
from support_agent.answer.formatting import clean_line, format_count
from support_agent.answer.item_kinds import KINDS
from support_agent.answer.mail_parts import ACKNOWLEDGEMENT, ALARM, ANSWER, COUNTS, DIGEST, PACKET
from support_agent.answer.packet import Packet
from support_agent.answer.shapes import Group, Position, Shape, TextPart, View, verbatim
from support_agent.answer.sources import Source, WordSource
from support_agent.answer.templates import WORDS, Templates
from support_agent.core.locales import plural_form
from support_agent.errors import GateRefused

ROOT_NAMES = frozenset(
    {
        "company",
        "support_address",
        "greeting_name",
        "subject",
        "answers",
        "counts",
        "notice",
        "packet",
        "digest",
        "alarm",
    }
    | {"item", "operand", "open_day", "open_time", "time_zone", "reply_hours", "is_one_hour"}
)
"""The top names of templates; `item` and `operand` only inside the loops that set them."""
LOOP_NAMES = frozenset({"first", "last", "index", "length"})


@dataclass(frozen=True)
class Sourced:
    """Text with the position of its source in the ledger; converting it to a plain string is an error.

    `plural_form` is that of a count in the language of the mail, such as "one"; "" of other texts.
    """

    text: str
    ref: int
    plural_form: str = ""

    def __str__(self) -> NoReturn:
        raise TypeError("a value lost its source here: print it bare, as {{ value }}, without filter or operator")

    def __format__(self, spec: str) -> NoReturn:
        str(self)
        raise AssertionError("unreachable")


@dataclass(frozen=True)
class NoticeView:
    """The kinds of sources that the automation notice names, its place, and whether a person approved the answer.

    `names_policies`: documents or canned questions; `is_question`: only canned questions. In an acknowledgement all are
    false.
    """

    names_policies: bool = False
    names_account: bool = False
    is_question: bool = False
    is_at_top: bool = False
    is_approved: bool = False


def attribute_names() -> frozenset[str]:
    """Every name that may follow a dot in a template."""
    return _attribute_names(tuple(KINDS))


@cache
def _attribute_names(kinds: tuple[str, ...]) -> frozenset[str]:
    shapes = (COUNTS, PACKET, DIGEST, ALARM, *(KINDS[kind].shape for kind in kinds))
    own = {"kind", "items", "plural_form", "text_partial", "html_partial", *NoticeView.__dataclass_fields__}
    return frozenset(own).union(*(shape.names() for shape in shapes))


@dataclass(frozen=True)
class Viewer:
    """Creates the views of one rendering, and lists their sources in the same order."""

    templates: Templates
    locale: str
    sources: list[Source] = field(default_factory=list)

    def answer(self, final: FinalAnswer) -> dict[str, object]:
        """The names of a whole answer."""
        blocks = tuple(
            View(items=tuple(self.item(item, place, position) for position, item in enumerate(answer.items)))
            for place, answer in enumerate(final.answers)
        )
        return {**self._names(ANSWER, final, {}), "answers": blocks, "notice": _notice(final)}

    def acknowledgement(self, acknowledgement: Acknowledgement) -> dict[str, object]:
        return {**self._names(ACKNOWLEDGEMENT, acknowledgement, {}), "answers": (), "notice": NoticeView()}

    def packet(self, packet: Packet) -> dict[str, object]:
        return {"packet": View(**self._names(PACKET, packet, {}))}

    def digest(self, digest: Digest) -> dict[str, object]:
        return {"digest": View(**self._names(DIGEST, digest, {}))}

    def alarm(self, alarm: Alarm) -> dict[str, object]:
        return {"alarm": View(**self._names(ALARM, alarm, {}))}

    def item(self, item: Item, answer: int = 0, position: int = 0) -> View:
        """One item, with the names of the partials that print it."""
        names = self._names(KINDS[item.kind].shape, item, {"answer": answer, "item": position})
        partials = {"text_partial": f"{item.kind}.txt.j2", "html_partial": f"{item.kind}.html.j2"}
        return View(kind=item.kind, **partials, **names)

    def _names(self, shape: Shape, model: object, at: Position) -> dict[str, object]:
        at = shape.identified(at, model)
        names: dict[str, object] = {part.called: self._text(part, model, at) for part in shape.parts}
        names |= {group.name: self._group(group, model, at) for group in shape.groups}
        names |= {name: read(model) for name, read in shape.facts.items()}
        return names if shape.layout is None else {**names, **shape.layout(View(**names), model)}

    def _group(self, group: Group, model: object, at: Position) -> object:
        below = group.below(model)
        if group.position is None:
            return self._one(group.of, below, at)
        return tuple(self._one(group.of, one, {**at, **group.position(n, one)}) for n, one in enumerate(below))

    def _one(self, of: Shape | TextPart, model: object, at: Position) -> View | Sourced | None:
        return self._text(of, model, at) if isinstance(of, TextPart) else View(**self._names(of, model, at))

    def _text(self, part: TextPart, model: object, at: Position) -> Sourced | None:
        """A text with its source, or None.

        Raises:
            GateRefused: the locale lacks this word.
        """
        value = part.value(model)
        if value is None or (text := part.format(value, self.locale)) is None:
            return None
        if part.source is not WordSource:
            sourced = self._sourced(text if part.format is verbatim else clean_line(text), part.cite(at))
            is_count = part.format is format_count
            return replace(sourced, plural_form=plural_form(value, self.locale)) if is_count else sourced
        word = self.templates.word(part.cited_as, text, self.locale)
        if word is not None:
            return self._sourced(clean_line(word.text), part.cite(at, text, word))
        if part.is_optional:
            return None
        raise GateRefused(f"{WORDS} has no word for {part.cited_as}.{text}: add it", code="template")

    def _sourced(self, text: str, source: Source) -> Sourced:
        self.sources.append(source)
        return Sourced(text=text, ref=len(self.sources) - 1)


def _notice(final: FinalAnswer) -> NoticeView:
    kinds = {item.kind for answer in final.answers for item in answer.items}
    return NoticeView(
        names_policies=any(KINDS[kind].is_published for kind in kinds),
        names_account=not all(KINDS[kind].is_published for kind in kinds),
        is_question=kinds == {"clarification"},
        is_at_top=final.notice == "top",
        is_approved=final.is_approved,
    )
