"""The content of an answer: typed items, each with its parameters.

Invariant: an item holds only company text and values, never text of the model: `support_agent.tools` fills every text
field below from a document, an account or a canned question.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from support_agent.company.documents import Excerpt
from support_agent.company.values import Counted, Customer, Number, Period, SeriesRow, Value
from support_agent.core.frozen import Frozen
from support_agent.core.locales import language_of


class DocumentItem(Frozen):
    """Sentences of a numbered document (none for delivery `link`; all for `full`).

    `keeps_form`: steps have their numbers, rows their cells, and adjacent lists are separate, as in the document. False
    in answers stored by older versions; they still render to the same bytes.
    `language` is the tag of the document's language; None in answers stored by older versions.
    """

    kind: Literal["document"] = "document"
    number: int
    title: str
    version: str
    valid_from: date
    url: str
    delivery: Literal["full", "excerpt", "link"]
    excerpts: tuple[Excerpt, ...]
    keeps_form: bool = False
    language: str | None = None

    def is_foreign_to(self, locale: str) -> bool:
        """Whether the mail must say that the document is in another language than the locale's."""
        return self.language is not None and language_of(self.language) != language_of(locale)


class FieldItem(Frozen):
    """One value of the customer's account."""

    kind: Literal["account_field"] = "account_field"
    field: str
    label: str
    value: Value | None
    """None: the account has no such value (no invoice yet); the template says so."""


class TableItem(Frozen):
    """Rows of a series, with the operations on them in `steps` (closed words: "sorted by value, highest first").

    `row_noun` names the rows ("invoices"); "" leaves that to the templates.
    """

    kind: Literal["table"] = "table"
    series: str
    label: str
    row_noun: Counted = ""
    period: Period
    steps: tuple[str, ...]
    rows: tuple[SeriesRow, ...]

    @property
    def row_count(self) -> int:
        return len(self.rows)


class Operand(Frozen):
    """The input of one aggregate; `row_noun` as in `TableItem`."""

    series: str
    label: str
    row_noun: Counted = ""
    period: Period
    steps: tuple[str, ...]
    aggregation: Literal["total", "average", "highest", "lowest", "count", "latest"]
    row_count: int
    value: Number | None
    """None: there were no rows."""
    day: date | None = None
    """The day of the row, for highest, lowest and latest."""


class AggregateItem(Frozen):
    kind: Literal["aggregate"] = "aggregate"
    operand: Operand


class CalculationItem(Frozen):
    """The sum, difference or ratio of `left` and `right`; both operands are shown."""

    kind: Literal["calculation"] = "calculation"
    operation: Literal["add", "subtract", "ratio"]
    left: Operand
    right: Operand
    result: Number


class ClarificationItem(Frozen):
    """A canned question of the company, by number."""

    kind: Literal["clarification"] = "clarification"
    number: int
    text: str


class RecordColumn(Frozen):
    """One value of a record; None: the record has no such value."""

    column: str
    label: str
    value: Value | None


class RecordItem(Frozen):
    """One record of the customer (`record` is its kind, "invoices"), with the requested columns.

    `label` is its type ("Invoice"), `identifier` its number as in the company's database.
    """

    kind: Literal["record"] = "record"
    record: str
    label: str
    identifier: str
    columns: Annotated[tuple[RecordColumn, ...], Field(min_length=1)]


Item = Annotated[
    DocumentItem | FieldItem | TableItem | AggregateItem | CalculationItem | ClarificationItem | RecordItem,
    Field(discriminator="kind"),
]


def is_covered_by(item: Item, sent: Item) -> bool:
    """Whether a sent item contains all content of another one; the layout of lists and tables does not count.

    A document in another language always counts as the same content: its sentences cannot be compared, and a customer
    who asks again needs a person.
    """
    if isinstance(item, DocumentItem) and isinstance(sent, DocumentItem):
        if item.number == sent.number and item.language and sent.language and item.language != sent.language:
            return True
        return (item.number, item.version) == (sent.number, sent.version) and _positions(item) <= _positions(sent)
    return item == sent


def _positions(item: DocumentItem) -> frozenset[int]:
    return frozenset(excerpt.index for excerpt in item.excerpts)


class Answer(Frozen):
    """One block of the mail: the items that answer one or several of the customer's questions."""

    items: tuple[Item, ...]


def with_answer(answers: Sequence[Answer], answer: Answer) -> tuple[Answer, ...]:
    """The answers with one more, without repetition: sentences of a document that is already there join it."""
    blocks, left = list(answers), list[Item]()
    for item in answer.items:
        for place, block in enumerate(blocks):
            if (joined := _block_with(block, item)) is not None:
                blocks[place] = joined
                break
        else:
            left.append(item)
    return (*blocks, *([Answer(items=tuple(left))] if left else []))


def _block_with(block: Answer, item: Item) -> Answer | None:
    """The block with the item merged into one of its own; None if none is about the same."""
    for place, own in enumerate(block.items):
        if (joined := _joined(own, item)) is not None:
            return Answer(items=(*block.items[:place], joined, *block.items[place + 1 :]))
    return None


def _joined(own: Item, item: Item) -> Item | None:
    """Two items as one; None if they cannot be merged."""
    if own == item:
        return own
    if not (isinstance(own, DocumentItem) and isinstance(item, DocumentItem)):
        return None
    if own.model_copy(update={"excerpts": item.excerpts}) != item:
        return None
    by_position = {excerpt.index: excerpt for excerpt in (*own.excerpts, *item.excerpts)}
    return own.model_copy(update={"excerpts": tuple(excerpt for _, excerpt in sorted(by_position.items()))})


class FinalAnswer(Frozen):
    """The whole content of an answer.

    `greeting_name` is None below sender level 3. `asked` counts the questions found in the mail; `answered` of them are
    answered here and the rest went to a person (None in answers stored earlier: there each block answered one).
    `subject` is the sanitised parent subject, or None below level 2 (then the template's own is used). `notice` is
    where the answer says that a machine made it. `is_approved`: it leaves only once a person has approved it.
    """

    company: str
    locale: str
    greeting_name: str | None
    subject: str | None
    asked: int
    answers: tuple[Answer, ...]
    support_address: str
    customer: Customer | None = None
    notice: Literal["top", "bottom"] = "bottom"
    answered: int | None = None
    is_approved: bool = False

    @property
    def has_values(self) -> bool:
        """Whether it says anything of an account."""
        items = (item for answer in self.answers for item in answer.items)
        return not all(isinstance(item, DocumentItem | ClarificationItem) for item in items)

    @property
    def n_answered(self) -> int:
        """How many of the questions are answered here."""
        return len(self.answers) if self.answered is None else self.answered

    @property
    def n_remaining(self) -> int:
        """How many of the questions went to a person."""
        return max(0, self.asked - self.n_answered)
