"""Defines a tool: a frozen pydantic model whose fields are the call's arguments and whose `run` is plain code.

A class with an open argument fails at import (see `closed`); docs/tools.md says how a tool is added. Checked by
tests/unit/tools.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import ClassVar, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

from support_agent.answer.final_answer import (
    CalculationItem,
    Item,
    Operand,
    RecordItem,
    TableItem,
)
from support_agent.answer.repetition import SentAnswer
from support_agent.company.account_specs import ALL_COLUMNS
from support_agent.company.accounts import FieldSpec, RecordSpec, SeriesSpec
from support_agent.company.documents import Document
from support_agent.company.periods.recognition import have_moved, periods
from support_agent.company.questions import CannedQuestion
from support_agent.company.values import Customer, CustomerRecord, Period, SeriesRow, Value
from support_agent.company.vocabulary import Vocabulary
from support_agent.core.frozen import Frozen
from support_agent.tools.closed import MemberOf, Members, PointerTo, check_fields
from support_agent.tools.fact_room import FactRoom, RetrievalResult
from support_agent.tools.signals import Signals


class ToolKind(StrEnum):
    """What a call does: add an item, return a pointer to data, find facts internally, end the plan."""

    ANSWER = "answer"
    DATA = "data"
    FACT = "fact"
    ENDING = "ending"


class Match(Frozen):
    """The similarity of a topic ("document:6", "field:plan", "record:invoices") to a question, -1..1.

    `signals` are None if only the score is known.
    """

    topic: str
    score: float
    signals: Signals | None = None


class Qualifier(Frozen):
    """What narrows a question, in the customer's words or as the title of a `form`; shown to people."""

    kind: Literal["address", "identifier", "number", "quotation", "name", "exclusion", "other_person", "form"]
    text: str


class Added(Frozen):
    """An answer tool's result: the item, and how it was chosen in words; the description has no data."""

    outcome: Literal["added"] = "added"
    item: Item
    description: str = ""


class Pointed(Frozen):
    """A data or fact tool's result: the pointer, and what the data is in words; never the data."""

    outcome: Literal["pointed"] = "pointed"
    pointer: str
    description: str


class Ended(Frozen):
    """An ending tool's result."""

    outcome: Literal["ended"] = "ended"
    reason: str | None


Result = Added | Pointed | Ended
Data = TableItem | Operand | CalculationItem | RecordItem


def shown(result: Result) -> str:
    """The text of a result that is recorded and shown to the model; never data."""
    match result:
        case Added(item=item, description=description):
            return f"added {item.kind}{description and f': {description}'}"
        case Pointed(pointer=pointer, description=description):
            return f"{pointer}: {description}"
        case Ended(reason=reason):
            return reason or "finished"


class AccountData(Protocol):
    """The values of the customer's account, from the company's database or a recording of it."""

    @property
    def fields(self) -> Mapping[str, FieldSpec]: ...

    @property
    def series(self) -> Mapping[str, SeriesSpec]: ...

    @property
    def records(self) -> Mapping[str, RecordSpec]: ...

    def field(self, name: str, customer: Customer, locale: str) -> Value | None: ...

    def rows(self, series: str, customer: Customer, period: Period, locale: str) -> tuple[SeriesRow, ...]: ...

    def own_records(self, kind: str, customer: Customer, locale: str) -> tuple[CustomerRecord, ...]: ...


class Acts(Frozen):
    """What a segment of a mail does, as probabilities that add up to 1.

    `greets`: opens the mail. `parts`: closes it (thanks, name, signature). `footer`: standard text of a firm or phone.
    `asks`: question, wish or order. `reports`: describes a problem. `tells`: gives context.
    """

    greets: float
    parts: float
    footer: float
    asks: float
    reports: float
    tells: float


class SegmentReading(Frozen):
    """The classification of a segment of a mail: what it does, and its similarity to each topic, -1..1.

    `is_marked`: it ends with a question mark.
    """

    acts: Acts
    near: Mapping[str, float]
    is_marked: bool


Examples = tuple[tuple[str, tuple[str, ...]], ...]
"""Classes of texts by name, each with at least one example."""


class Similarity(Protocol):
    """Computes similarities of a text to others, -1..1."""

    def similarities(self, text: str, others: Sequence[str]) -> Sequence[float]: ...


class Search(Similarity, Protocol):
    """Finds topics, classifies segments of a mail and phrasings, and compares texts.

    `sections` gives the probability that each section of a document answers, given that one does. `version` identifies
    the indexed content.
    """

    @property
    def version(self) -> str: ...

    def nearest(self, text: str) -> tuple[Match, ...]: ...

    def read(self, pieces: Sequence[str]) -> tuple[SegmentReading, ...]: ...

    def phrased(self, text: str, examples: Examples) -> Mapping[str, float]: ...

    def sections(self, text: str, document: Document) -> Sequence[float]: ...


UNSURE_SECTION = "section"
"""Code of a rejected document: none of its sections is sure enough to answer."""


class Unsure(NamedTuple):
    """The sentences of a document, by position, that were likeliest to answer but too unsure to be sent."""

    document: Document
    positions: tuple[int, ...]
    probability: float


@dataclass
class Context:
    """Everything the tools may see of the current mail, and their results so far. Questions are numbered from 1.

    - Days: `today` is the day of the decision, in the company's time zone; `written_on` that on which the mail was
      written, None: today, too.
    - Mail: `mail` is the customer's whole text with the subject, `questions` its questions; `subject` is "" if no
      question begins with it. `missing_qualifiers` narrowed a question and were in no chosen item.
    - Documents: `documents` are in the company's own language, as are topics and evidence; `translations` are sent in
      their place, by number. `vocabulary` has the names in the documents.
    - Records: `records` are the customer's own by kind, read before the model is asked; `unread_records` are kinds that
      could not be read, `unknown_records` identifiers in the mail that match no record.
    - Results: `data` by pointer ("@1", "@2", ...); by question number, `found` has the nearest topics and `unsure` what
      was too unsure to be sent.
    - Evidence: `room` retrieves it (None: off, documents are sent without it) into `findings`, by question number.
      `settled` has the choice, a topic or none, that needs no evidence; nothing if `always_retrieves`. With
      `searches_web` it also finds pages.
    - Earlier answers: `sent` are this sender's recent ones, the newest first; `repeated` those that were chosen again.
    """

    today: date
    locale: str
    level: int
    customer: Customer | None
    documents: Mapping[int, Document]
    clarifications: Mapping[int, CannedQuestion]
    periods: Mapping[str, Period]
    accounts: AccountData
    search: Search
    questions: tuple[str, ...]
    least_section: float
    """Least probability that the sections of an excerpt answer, 0..1."""
    subject: str = ""
    mail: str = ""
    records: Mapping[str, tuple[CustomerRecord, ...]] = field(default_factory=dict)
    unread_records: frozenset[str] = frozenset()
    unknown_records: tuple[str, ...] = ()
    question: int = 1
    """The number of the current question."""
    data: dict[str, Data] = field(default_factory=dict)
    found: dict[int, tuple[Match, ...]] = field(default_factory=dict)
    sent: tuple[SentAnswer, ...] = ()
    repeated: list[SentAnswer] = field(default_factory=list)
    room: FactRoom | None = None
    always_retrieves: bool = False
    searches_web: bool = False
    findings: dict[int, RetrievalResult] = field(default_factory=dict)
    settled: dict[int, str] = field(default_factory=dict)
    unsure: dict[int, Unsure] = field(default_factory=dict)
    translations: Mapping[int, Document] = field(default_factory=dict)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    missing_qualifiers: list[Qualifier] = field(default_factory=list)
    written_on: date | None = None

    @property
    def current_question(self) -> str:
        """The text of the current question."""
        return self.questions[self.question - 1]

    @property
    def sendable(self) -> Mapping[int, Document]:
        """The documents that the sender may be sent today, by number."""
        found = self.documents.items()
        return {number: document for number, document in found if document.may_be_sent(self.today, self.level)}

    def names_moved_period(self, question: str) -> bool:
        """Whether a question names a period that was another one when the mail was written."""
        return self.written_on is not None and have_moved(question, self.written_on, self.today)

    def has_moved(self, period: Period) -> bool:
        """Whether a period was another one when the mail was written: "this month" after the end of that month."""
        then = periods(self.written_on or self.today)
        return any(one.name == period.name and one.first != period.first for one in then)

    def version_sent(self, number: int) -> Document:
        """The version of a document that this customer is sent: its translation, or itself."""
        return self.translations.get(number, self.documents[number])

    def point_to(self, data: Data) -> str:
        """Store data under the next pointer and return the pointer."""
        pointer = f"@{len(self.data) + 1}"
        self.data[pointer] = data
        return pointer

    def sets(self) -> Mapping[MemberOf | PointerTo, Members]:
        """The current members of every set that an argument may be closed over."""
        return {
            MemberOf("documents"): tuple(self.documents),
            MemberOf("fields"): tuple(self.accounts.fields),
            MemberOf("series"): tuple(self.accounts.series),
            MemberOf("records"): tuple(self.accounts.records),
            MemberOf("identifiers"): tuple(
                dict.fromkeys(record.identifier for own in self.records.values() for record in own)
            ),
            MemberOf("columns"): self._columns(),
            MemberOf("periods"): tuple(self.periods),
            MemberOf("clarifications"): tuple(self.clarifications),
            MemberOf("questions"): tuple(range(1, len(self.questions) + 1)),
            PointerTo("table"): self._pointers(TableItem),
            PointerTo("number"): self._pointers(Operand, CalculationItem),
            PointerTo("record"): self._pointers(RecordItem),
        }

    def _columns(self) -> tuple[str, ...]:
        """The columns of all kinds of records, and `all`; `send_record` rejects columns of another kind."""
        names = [name for spec in self.accounts.records.values() for name in spec.columns]
        return tuple(dict.fromkeys([*names, ALL_COLUMNS])) if names else ()

    def _pointers(self, *kinds: type[Data]) -> tuple[str, ...]:
        return tuple(name for name, data in self.data.items() if isinstance(data, kinds))


class Tool(BaseModel, ABC):
    """One call. Subclasses set `name` and `kind`, declare closed arguments as fields, and write `run`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    kind: ClassVar[ToolKind]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        check_fields(cls)

    @abstractmethod
    def run(self, context: Context) -> Result:
        """Make the call.

        Raises:
            ToolCallRejected: the call is not possible for this mail (sender level, no data).
            TransientError, PermanentError: the company's database failed.
        """

    @property
    def arguments(self) -> dict[str, str | int | bool]:
        """The arguments as plain values, in declaration order."""
        return self.model_dump(mode="json")
