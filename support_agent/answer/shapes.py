"""Types that describe the data of a mail: its parts, with source, format, and whether they are required.

A `Shape` describes one model (an item, one of its rows, a packet). `views` uses shapes for the values of templates,
`expected_text` for the gate's expected text, the provenance report for the origin of a piece.

Invariant: a description holds no text of a mail, only an attribute, a source and a format; each reader takes the text
from the model itself. Checked by tests/unit/answer/test_item_kinds.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, NamedTuple

from support_agent.answer.sources import (
    AccountSource,
    ComputedSource,
    DocumentSource,
    InboundSource,
    Source,
    WordSource,
)
from support_agent.answer.templates import Word

Format = Callable[[Any, str], str | None]
"""A value as text in a locale, or None."""
Read = Callable[[Any], Any]
Position = Mapping[str, object]
"""A position, by the names of the fields of sources: `answer`, `item`, `side`, `row`, ..."""


def always(_: object) -> bool:
    return True


def never(_: object) -> bool:
    return False


def itself(model: Any) -> Any:
    return model


def plain(value: object, _: str) -> str:
    """Text, numbers and codes unchanged."""
    return str(value)


def verbatim(text: str, _: str) -> str:
    """Formatted lines: their ends are not trimmed."""
    return text


@dataclass(frozen=True)
class TextPart:
    """One text of a model.

    `cited_as` is its name in sources (of a word: its section), `name` its name in templates, if different; `read` is
    the attribute, if not named like it. An optional part is absent if its value is None or "", and a template can test
    that; a required part must be in the mail unless it is absent. `is_queried`: it comes from the company's database.
    """

    source: type[Source]
    cited_as: str
    format: Format = plain
    _: KW_ONLY
    name: str = ""
    read: str | Read = ""
    is_required: Callable[[Any], bool] = always
    is_optional: bool = False
    is_queried: bool = False

    @property
    def called(self) -> str:
        """Its name in templates."""
        return self.name or self.cited_as

    def value(self, model: object) -> Any:
        """The value in the model, or None."""
        value = _read(self.read or self.called, model)
        return None if self.is_optional and value == "" else value

    def cite(self, at: Position, code: str = "", word: Word | None = None) -> Source:
        """The source of the part at a position; for a word, with its place in the templates.

        A word that the templates lack is cited without a place, which no mail can contain.
        """
        named = {"section": self.cited_as, "code": code, "line": word.line if word else 1}
        words = {**named, "name": word.name if word else "?"} if self.source is WordSource else {}
        given = {**at, "part": self.cited_as, **words}
        return self.source.model_validate({key: given[key] for key in self.source.model_fields if key in given})


@dataclass(frozen=True)
class Group:
    """Further models or texts below a name: several, each with its `position` among them, or one (None)."""

    name: str
    of: Shape | TextPart
    position: Callable[[int, Any], Position] | None = None
    _: KW_ONLY
    read: str | Read = ""

    def below(self, model: object) -> Any:
        return _read(self.read or self.name, model)


class View(SimpleNamespace):
    """The names of one model that a template can use."""


class Shape(NamedTuple):
    """One model: its texts, its groups, and plain `facts` that templates may test but not print.

    `identity` names the fields that its sources take from the model ("name" from `series`). `layout` arranges the
    groups in other views, with `layout_names`. Names that begin with "_" are only for the layout.
    """

    parts: tuple[TextPart, ...]
    groups: tuple[Group, ...] = ()
    facts: Mapping[str, Read] = {}
    identity: Mapping[str, str] = {}
    layout: Callable[[Any, Any], Mapping[str, object]] | None = None
    layout_names: frozenset[str] = frozenset()

    def identified(self, at: Position, model: object) -> Position:
        """The position, with what identifies the model."""
        return {**at, **{field: getattr(model, name) for field, name in self.identity.items()}}

    def all_parts(self) -> Iterator[TextPart]:
        """The parts of the model and of its groups."""
        yield from self.parts
        for group in self.groups:
            yield from (group.of,) if isinstance(group.of, TextPart) else group.of.all_parts()

    def names(self) -> frozenset[str]:
        """Every name that templates may use from here on."""
        own = {*(part.called for part in self.parts), *(group.name for group in self.groups), *self.facts}
        below = (group.of.names() for group in self.groups if isinstance(group.of, Shape))
        return self.layout_names.union(*below, (name for name in own if not name.startswith("_")))


def counted(field: str) -> Callable[[int, Any], Position]:
    """Positions by number, from 0, in a field of sources."""
    return lambda number, _: {field: number}


def _read(read: str | Read, model: object) -> Any:
    return read(model) if callable(read) else attrgetter(read)(model)


account = partial(TextPart, AccountSource)
computed = partial(TextPart, ComputedSource)
document = partial(TextPart, DocumentSource)
inbound = partial(TextPart, InboundSource)
word = partial(TextPart, WordSource)
