"""What a template sees: the FinalAnswer's values as text that knows its source, and plain facts to branch on.

Invariant: everything that can be printed is a `Sourced`; codes, truths and partial names are plain and cannot
be printed. The names here are the whole vocabulary of templates: `grammar` refuses any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from support_agent.answer.formatting import clean_line
from support_agent.answer.sources import Source


@dataclass(frozen=True)
class Sourced:
    """Text with the position of its source in the ledger; turning it into a bare string is an error."""

    text: str
    ref: int

    def __str__(self) -> NoReturn:
        raise TypeError("a value lost its source here: print it bare, as {{ value }}, without filter or operator")

    def __format__(self, spec: str) -> NoReturn:
        str(self)
        raise AssertionError("unreachable")


@dataclass
class Ledger:
    """The sources of one rendering, in the order in which values were made."""

    sources: list[Source] = field(default_factory=list)

    def put(self, text: str, source: Source, clean: Callable[[str], str] = clean_line) -> Sourced:
        """The text, cleaned, tied to its source."""
        self.sources.append(source)
        return Sourced(text=clean(text), ref=len(self.sources) - 1)


@dataclass(frozen=True)
class PeriodView:
    """`words` ("in", "last month"), then `value` for a year or a month; the days where the period has a
    start.
    """

    words: Sourced
    value: Sourced | None
    is_all_time: bool
    first: Sourced
    last: Sourced


@dataclass(frozen=True)
class SentenceView:
    """`follows_gap`: sentences of the document before it are left out. `number`: that of a numbered item."""

    text: Sourced
    number: Sourced | None
    follows_gap: bool


@dataclass(frozen=True)
class CellView:
    """One cell; an empty one has no text, and `header` is that of its column, if it has one."""

    header: Sourced | None
    text: Sourced | None


@dataclass(frozen=True)
class CellsView:
    """One row of a document's table."""

    cells: tuple[CellView, ...]
    is_header: bool


@dataclass(frozen=True)
class BlockView:
    """Sentences that stand together: a paragraph, a list (items of one depth) or a table.

    A table has `rows`, for HTML. For a text it has `lines` (rows in aligned columns, with a rule under the header) or,
    where these would be too wide, `records`: the rows below the header, or the header where there is none. A table of
    an answer that has no cells, as older ones, has `sentences` only.

    `is_apart`: an empty line stands before it. `outer` has one entry for each list around the block's own.
    """

    kind: str
    sentences: tuple[SentenceView, ...] = ()
    rows: tuple[CellsView, ...] = ()
    lines: tuple[Sourced, ...] = ()
    records: tuple[CellsView, ...] = ()
    is_numbered: bool = False
    is_apart: bool = False
    outer: tuple[None, ...] = ()


@dataclass(frozen=True)
class SectionView:
    heading: Sourced | None
    blocks: tuple[BlockView, ...]


@dataclass(frozen=True)
class ItemView:
    """What every item has: its kind, and the partials that print it."""

    kind: str

    @property
    def text_partial(self) -> str:
        return f"{self.kind}.txt.j2"

    @property
    def html_partial(self) -> str:
        return f"{self.kind}.html.j2"


@dataclass(frozen=True)
class DocumentView(ItemView):
    """`foreign_language`: the name of the language it is written in, where that is not the mail's."""

    number: Sourced
    title: Sourced
    url: Sourced
    valid_from: Sourced
    delivery: str
    sections: tuple[SectionView, ...]
    foreign_language: Sourced | None


@dataclass(frozen=True)
class FieldView(ItemView):
    label: Sourced
    value: Sourced | None


@dataclass(frozen=True)
class RowView:
    day: Sourced
    label: Sourced | None
    value: Sourced


@dataclass(frozen=True)
class TableView(ItemView):
    label: Sourced
    period: PeriodView
    steps: tuple[Sourced, ...]
    row_count: Sourced
    row_noun: Sourced | None
    is_one_row: bool
    rows: tuple[RowView, ...]


@dataclass(frozen=True)
class OperandView:
    label: Sourced
    period: PeriodView
    steps: tuple[Sourced, ...]
    aggregation: Sourced
    row_count: Sourced
    row_noun: Sourced | None
    is_one_row: bool
    value: Sourced | None
    day: Sourced | None


@dataclass(frozen=True)
class AggregateView(ItemView):
    operands: tuple[OperandView, ...]


@dataclass(frozen=True)
class CalculationView(ItemView):
    operands: tuple[OperandView, ...]
    operation: Sourced
    result: Sourced


@dataclass(frozen=True)
class ClarificationView(ItemView):
    text: Sourced


@dataclass(frozen=True)
class ColumnView:
    """`value` is None where the record has no such value."""

    label: Sourced
    value: Sourced | None


@dataclass(frozen=True)
class RecordView(ItemView):
    label: Sourced
    identifier: Sourced
    columns: tuple[ColumnView, ...]


@dataclass(frozen=True)
class AnswerView:
    items: tuple[ItemView, ...]


@dataclass(frozen=True)
class NoticeView:
    """What the automation notice says the answer is made from, and whether it stands at the top.

    `names_policies`: documents or canned questions; `is_question`: canned questions and nothing else. In an
    acknowledgement all are false.
    """

    names_policies: bool = False
    names_account: bool = False
    is_question: bool = False
    is_at_top: bool = False


@dataclass(frozen=True)
class CountsView:
    """How many of the mail's questions are answered; `is_partial` when a person has the rest."""

    answered: Sourced
    asked: Sourced
    remaining: Sourced
    is_one_answered: bool
    is_one_remaining: bool
    is_partial: bool


@dataclass(frozen=True)
class RunnerUpView:
    call: Sourced
    confidence: Sourced


@dataclass(frozen=True)
class ConsideredView:
    call: Sourced
    confidence: Sourced
    outcome: Sourced
    runners_up: tuple[RunnerUpView, ...]


@dataclass(frozen=True)
class FoundView:
    number: Sourced
    title: Sourced
    score: Sourced


@dataclass(frozen=True)
class QuotedView:
    position: Sourced
    text: Sourced


@dataclass(frozen=True)
class EvidenceView:
    number: Sourced
    title: Sourced
    grade: Sourced | None
    sentences: tuple[QuotedView, ...]


@dataclass(frozen=True)
class PageView:
    """A passage of the web, with the number of the question it was found for, and of the document whose page it is."""

    question: Sourced
    address: Sourced
    heading: Sourced | None
    document: Sourced | None
    found_by: Sourced
    text: Sourced


@dataclass(frozen=True)
class LookedView:
    number: Sourced
    question: Sourced
    code: Sourced
    words: Sourced | None
    evidence: tuple[EvidenceView, ...]


@dataclass(frozen=True)
class PacketView:
    case_id: Sourced
    customer_address: Sourced
    level: Sourced
    level_words: Sourced | None
    level_why: Sourced
    subject: Sourced | None
    mail_lines: tuple[Sourced, ...]
    left_out: Sourced | None
    reason_code: Sourced
    reason_words: Sourced | None
    why: Sourced | None
    considered: tuple[ConsideredView, ...]
    found: tuple[FoundView, ...]
    looked: tuple[LookedView, ...]
    pages: tuple[PageView, ...]
    answered_lines: tuple[Sourced, ...]
    reply_address: Sourced


VIEWS: tuple[type, ...] = (
    PeriodView, SentenceView, CellView, CellsView, BlockView, SectionView, DocumentView, FieldView, RowView, TableView,
    OperandView, AggregateView, CalculationView, ClarificationView, ColumnView, RecordView, AnswerView, NoticeView,
    CountsView, RunnerUpView, ConsideredView, FoundView, QuotedView, EvidenceView, PageView, LookedView, PacketView,
)  # fmt: skip
LOOP_NAMES = frozenset({"first", "last", "index", "length"})
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
        "item",
        "operand",
    }
)
"""Names a template can start from; `item` and `operand` inside the loops that set them."""
ATTRIBUTES = frozenset({"text_partial", "html_partial"}).union(
    *(view.__dataclass_fields__ for view in VIEWS)  # type: ignore[attr-defined]
)
