"""What a rendered mail is made of: spans of text, each with the source it came from.

Invariant: a `Rendered` is nothing but its spans, so every character lies in exactly one of them; whether a
source tells the truth is not believed here but checked again by `support_agent.answer.provenance`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from support_agent.core.frozen import Frozen

Position = Annotated[int, Field(ge=0)]
PartName = Annotated[str, Field(pattern="^[a-z_]+$")]
"""Which part of an item or a packet a text shows. `item_kinds` and `mail_parts` say which there are; the gate refuses
every other."""
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

    `answer`, `item`, `side` and `step` say where in the FinalAnswer the code stands; in a desk packet all are None, but
    `item` counts the questions that evidence was retrieved for.
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
    """A part of a numbered document's item; `sentence` is its index in the document, for headings and all that stands
    under them; `column` that of a cell, from 0. `language` is that of the item, for people who ask where a text comes
    from; None where the item has none.
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
    part: Literal["company", "support_address"]


class CustomerSource(Frozen):
    """The name by which the customer is greeted."""

    kind: Literal["customer"] = "customer"
    part: Literal["name"] = "name"


class SubjectSource(Frozen):
    """The subject of the mail that is answered."""

    kind: Literal["subject"] = "subject"


class ComputedSource(Frozen):
    """A number that code worked out: how many questions, how many rows, the result of a calculation."""

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
    """Text as it stands in the mail (escaped, in HTML), and where it came from."""

    text: Annotated[str, Field(min_length=1)]
    source: Source


class Rendered(Frozen):
    """One rendered text, whole."""

    spans: tuple[Span, ...]

    @property
    def text(self) -> str:
        """The bytes-to-be: the spans, joined."""
        return "".join(span.text for span in self.spans)


class RenderedAnswer(Frozen):
    """A mail to a customer: an answer or an acknowledgement."""

    subject: Rendered
    text: Rendered
    html: Rendered


class RenderedPacket(Frozen):
    """A mail to the desk, plain text."""

    subject: Rendered
    text: Rendered


def key_of(source: Source) -> str:
    """A source as words for people, the same for the same thing wherever its template stands.

    A row is the same as its line, its rule and its cells: that each of these is there `order` checks.
    """
    shown = source.model_dump(exclude_none=True, exclude={"kind", "version", "name", "line", "column", "language"})
    if isinstance(source, DocumentSource) and source.part in ("cell", "rule"):
        shown["part"] = "row"
    name = [source.name] if isinstance(source, AccountSource) else []
    return " ".join([source.kind, *name, *(f"{key}={value}" for key, value in shown.items())])
