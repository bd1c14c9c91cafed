"""The words in which data of a mail is described: its parts, where each comes from, its format, whether it is required.

A `Shape` describes one model (an item, one of its rows, a packet). `views` reads shapes to give templates their values,
`expected_text` to compute for the gate what a mail must say, the provenance report to say where a piece comes from.

Invariant: a description holds no text of a mail. It names an attribute, a source and a format; whoever needs the text
takes it from the model anew. Checked by tests/unit/answer/test_item_kinds.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
"""A value as text in a locale; None where there is nothing to say."""
Read = Callable[[Any], Any]
Position = Mapping[str, object]
"""Where something stands, by the names of the fields of sources: `answer`, `item`, `side`, `row`, ..."""


class Part(NamedTuple):
    """One text of a model.

    `name` is what templates call it, `cited_as` what sources call it (a word's: its section). An optional part is
    absent where its value is None or "", and a template can ask for that; one that is required must be in the mail
    wherever it is not absent. `is_queried`: a query of the company's database returned it.
    """

    name: str
    source: type[Source]
    cited_as: str
    read: Read
    format: Format
    is_required: Callable[[Any], bool]
    is_optional: bool
    is_queried: bool

    def cite(self, at: Position, code: str = "", word: Word | None = None) -> Source:
        """The source of the part at a position; of a word, the place in the templates as well.

        A word that the templates do not have is cited without a place, which no mail can contain.
        """
        named = {"section": self.cited_as, "code": code, "line": word.line if word else 1}
        words = {**named, "name": word.name if word else "?"} if self.source is WordSource else {}
        given = {**at, "part": self.cited_as, **words}
        return self.source.model_validate({key: given[key] for key in self.source.model_fields if key in given})


class View(SimpleNamespace):
    """The names of one model that a template can use."""


class Group(NamedTuple):
    """Further models or texts below a name: several, each with its `position` among them, or one (None)."""

    name: str
    of: Shape | Part
    read: Read
    position: Callable[[int, Any], Position] | None


class Shape(NamedTuple):
    """All of one model: its texts, what lies below it, plain `facts` that templates may branch on but not print.

    `identity` names the fields that its sources take from the model ("name" from `series`). `layout` sets the
    groups otherwise, in views with `layout_names`. Names that begin with "_" are for the layout alone.
    """

    parts: tuple[Part, ...]
    groups: tuple[Group, ...] = ()
    facts: Mapping[str, Read] = {}
    identity: Mapping[str, str] = {}
    layout: Callable[[Any, Any], Mapping[str, object]] | None = None
    layout_names: frozenset[str] = frozenset()

    def identified(self, at: Position, model: object) -> Position:
        """The position, with what identifies the model."""
        return {**at, **{field: getattr(model, name) for field, name in self.identity.items()}}

    def all_parts(self) -> Iterator[Part]:
        """Those of the model and of all that lies below it."""
        yield from self.parts
        for group in self.groups:
            yield from (group.of,) if isinstance(group.of, Part) else group.of.all_parts()

    def names(self) -> frozenset[str]:
        """Every name that templates may use from here on."""
        own = {*(part.name for part in self.parts), *(group.name for group in self.groups), *self.facts}
        below = (group.of.names() for group in self.groups if isinstance(group.of, Shape))
        return self.layout_names.union(*below, (name for name in own if not name.startswith("_")))


def is_absent(part: Part, value: object) -> bool:
    """Whether a model does not have the part."""
    return part.is_optional and (value is None or value == "")


def always(_: object) -> bool:
    return True


def never(_: object) -> bool:
    return False


def plain(value: object, _: str) -> str | None:
    """Text, numbers and codes as they are."""
    return None if value is None else str(value)


def verbatim(text: str | None, _: str) -> str | None:
    """Lines that are set already: nothing is taken off their ends."""
    return text


def itself(model: Any) -> Any:
    return model


def counted(field: str) -> Callable[[int, Any], Position]:
    """Positions by number, from 0, in a field of sources."""
    return lambda number, _: {field: number}


def part(
    source: type[Source],
    cited_as: str,
    format: Format = plain,
    *,
    name: str = "",
    read: str | Read = "",
    required: Callable[[Any], bool] = always,
    optional: bool = False,
    queried: bool = False,
) -> Part:
    """A part; templates call it what sources call it, and it is the attribute of that name, unless said otherwise."""
    name = name or cited_as
    getter = read if callable(read) else attrgetter(read or name)
    return Part(name, source, cited_as, getter, format, required, optional, queried)


def group(
    name: str,
    of: Shape | Part,
    position: Callable[[int, Any], Position] | None = None,
    *,
    read: str | Read = "",
) -> Group:
    """A group; it is the attribute of its name unless said otherwise."""
    return Group(name, of, read if callable(read) else attrgetter(read or name), position)


account = partial(part, AccountSource)
computed = partial(part, ComputedSource)
document = partial(part, DocumentSource)
inbound = partial(part, InboundSource)
word = partial(part, WordSource)
