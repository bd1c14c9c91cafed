"""The spans of a rendered mail, each with its source.

Invariant: a `Rendered` consists of its spans, so every character is in exactly one of them. `answer.provenance` checks
that the sources are true.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from support_agent.core.frozen import Frozen

Position = Annotated[int, Field(ge=0)]
PartName = Annotated[str, Field(pattern="^[a-z_]+$")]
"""The part of an item or a packet that a text shows, from `item_kinds` or `mail_parts`; the gate refuses others."""
Side = Literal["left", "right"]
"""Which operand of a calculation."""
Surface = Literal["subject", "text", "html"]


class TemplateSource(Frozen):
    """Literal text of a template: its full name ("en/answer.txt.j2") and the 1-based line."""

    kind: Literal["template"] = "template"
    name: str
    line: Annotated[int, Field(ge=1)]


class WordSource(Frozen):
    """The company's word for a code ("total", "last_quarter"): `words.yaml` of a locale, section and line.

    `answer`, `item`, `side` and `step` are the code's position in the FinalAnswer; in a packet all are None, except
    that `item` counts the questions with retrieved evidence.
    """

    kind: Literal["word"] = "word"
    name: str
    line: Annotated[int, Field(ge=1)]
    section: PartName
    code: str
    answer: Position | None = None
    item: Position | None = None
    side: Side | None = None
    step: Position | None = None


class DocumentSource(Frozen):
    """A part of a document's item; `sentence` is the index in the document, for headings and their content; `column` is
    that of a cell, from 0. `language` is the item's, for people who ask for the origin of a text, or None.
    """

    kind: Literal["document"] = "document"
    answer: Position
    item: Position
    number: int
    version: str
    part: PartName
    sentence: Position | None = None
    column: Position | None = None
    language: str | None = None


class AccountSource(Frozen):
    """A value of the customer's account: `name` is the field, the series or the kind of records; `row` counts the rows
    of a table, or the columns of a record, from 0.
    """

    kind: Literal["account"] = "account"
    answer: Position
    item: Position
    name: str
    part: PartName
    row: Position | None = None
    side: Side | None = None


class ClarificationSource(Frozen):
    """The text of a canned question."""

    kind: Literal["clarification"] = "clarification"
    answer: Position
    item: Position
    number: int


class SettingsSource(Frozen):
    """A setting of the company."""

    kind: Literal["settings"] = "settings"
    part: Literal["company", "support_address", "time_zone", "reply_hours"]


class CustomerSource(Frozen):
    """The name by which the customer is greeted."""

    kind: Literal["customer"] = "customer"
    part: Literal["name"] = "name"


class SubjectSource(Frozen):
    """The subject of the mail that is answered."""

    kind: Literal["subject"] = "subject"


class ComputedSource(Frozen):
    """A computed number: of questions, of rows, or the result of a calculation."""

    kind: Literal["computed"] = "computed"
    part: PartName
    answer: Position | None = None
    item: Position | None = None
    side: Side | None = None


class InboundSource(Frozen):
    """A part of a desk packet, for staff only: `index` and `nested` count within its lists."""

    kind: Literal["inbound"] = "inbound"
    part: PartName
    index: Position | None = None
    nested: Position | None = None


Source = Annotated[
    TemplateSource
    | WordSource
    | DocumentSource
    | AccountSource
    | ClarificationSource
    | SettingsSource
    | CustomerSource
    | SubjectSource
    | ComputedSource
    | InboundSource,
    Field(discriminator="kind"),
]


class Span(Frozen):
    """Text as in the mail (escaped, in HTML), and its source."""

    text: Annotated[str, Field(min_length=1)]
    source: Source


class Rendered(Frozen):
    """One rendered text, whole."""

    spans: tuple[Span, ...]

    @property
    def text(self) -> str:
        """The joined text of the spans."""
        return "".join(span.text for span in self.spans)


class RenderedAnswer(Frozen):
    """A mail to a customer: an answer or an acknowledgement."""

    subject: Rendered
    text: Rendered
    html: Rendered


class RenderedPacket(Frozen):
    """A mail to the desk, plain text; a reply must not repeat these entries of its story, which others wrote or got."""

    subject: Rendered
    text: Rendered
    story_of_others: tuple[Position, ...] = ()


NOT_IN_KEY = frozenset({"kind", "version", "name", "line", "column", "language"})


def key_of(source: Source) -> str:
    """A key of a source, independent of the place in the template.

    A row has the same key as its line, its rule and its cells; `order` checks that each of them is there.
    """
    shown = {name: value for name, value in vars(source).items() if value is not None and name not in NOT_IN_KEY}
    if isinstance(source, DocumentSource) and source.part in ("cell", "rule"):
        shown["part"] = "row"
    name = [source.name] if isinstance(source, AccountSource) else []
    return " ".join([source.kind, *name, *(f"{key}={value}" for key, value in shown.items())])
