"""The words in which data of a mail is described: its parts, where each comes from, its format, whether it is required.

A `Shape` describes one model (an item, one of its rows, a packet). `views` reads shapes to give templates their values,
`expected_text` to compute for the gate what a mail must say, the provenance report to say where a piece comes from.

Invariant: a description holds no text of a mail. It names an attribute, a source and a format; whoever needs the text
takes it from the model anew. Checked by tests/unit/answer/test_item_kinds.py.
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
"""A value as text in a locale; None where there is nothing to say."""
Read = Callable[[Any], Any]
Position = Mapping[str, object]
"""Where something stands, by the names of the fields of sources: `answer`, `item`, `side`, `row`, ..."""


def always(_: object) -> bool:
    return True


def never(_: object) -> bool:
    return False


def itself(model: Any) -> Any:
    return model


def plain(value: object, _: str) -> str:
    """Text, numbers and codes as they are."""
    return str(value)


def verbatim(text: str, _: str) -> str:
    """Lines that are set already: nothing is taken off their ends."""
    return text


@dataclass(frozen=True)
class Part:
    """One text of a model.

    `cited_as` is what sources call it (of a word: its section), `name` what templates do, where that differs; `read` is
    the attribute where that is not its name. An optional part is absent where its value is None or "", and a template
    can ask for that; a required one must be in the mail wherever it is not absent. `is_queried`: a query of the
    company's database returned it.
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
        """The value as the model has it now; None where it is absent."""
        value = _read(self.read or self.called, model)
        return None if self.is_optional and value == "" else value

    def cite(self, at: Position, code: str = "", word: Word | None = None) -> Source:
        """The source of the part at a position; of a word, the place in the templates as well.

        A word that the templates do not have is cited without a place, which no mail can contain.
        """
        named = {"section": self.cited_as, "code": code, "line": word.line if word else 1}
        words = {**named, "name": word.name if word else "?"} if self.source is WordSource else {}
        given = {**at, "part": self.cited_as, **words}
        return self.source.model_validate({key: given[key] for key in self.source.model_fields if key in given})


@dataclass(frozen=True)
class Group:
    """Further models or texts below a name: several, each with its `position` among them, or one (None)."""

    name: str
    of: Shape | Part
    position: Callable[[int, Any], Position] | None = None
    _: KW_ONLY
    read: str | Read = ""

    def below(self, model: object) -> Any:
        return _read(self.read or self.name, model)


class View(SimpleNamespace):
    """The names of one model that a template can use."""


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
        own = {*(part.called for part in self.parts), *(group.name for group in self.groups), *self.facts}
        below = (group.of.names() for group in self.groups if isinstance(group.of, Shape))
        return self.layout_names.union(*below, (name for name in own if not name.startswith("_")))


def counted(field: str) -> Callable[[int, Any], Position]:
    """Positions by number, from 0, in a field of sources."""
    return lambda number, _: {field: number}


def _read(read: str | Read, model: object) -> Any:
    return read(model) if callable(read) else attrgetter(read)(model)


account = partial(Part, AccountSource)
computed = partial(Part, ComputedSource)
document = partial(Part, DocumentSource)
inbound = partial(Part, InboundSource)
word = partial(Part, WordSource)
