"""What a tool is: a frozen pydantic model; its fields are the call's arguments, its `run` is plain code.

To add one: write a subclass in one file, list it in `catalogue.TOOLS`, and, if it adds an item, add the
item's type and template partial. The class is refused at import when an argument is open (see `closed`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import ClassVar, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

from support_agent.answer.final_answer import (
    Answer,
    CalculationItem,
    Item,
    Operand,
    RecordItem,
    TableItem,
    is_covered_by,
)
from support_agent.company.account_specs import ALL_COLUMNS
from support_agent.company.accounts import FieldSpec, RecordSpec, SeriesSpec
from support_agent.company.documents import Document
from support_agent.company.questions import CannedQuestion
from support_agent.company.values import Customer, Period, Record, Row, Value
from support_agent.company.vocabulary import Vocabulary
from support_agent.core.frozen import Frozen
from support_agent.tools.closed import MemberOf, Members, PointerTo, check_fields
from support_agent.tools.fact_room import FactRoom, Finding
from support_agent.tools.signals import Signals


class Kind(StrEnum):
    """What a call does: add to the answer, return a pointer to data, find facts inside, end the plan."""

    ANSWER = "answer"
    DATA = "data"
    FACT = "fact"
    ENDING = "ending"


class Match(Frozen):
    """How near a topic ("document:6", "field:plan", "series:payments", "record:invoices") is to a question, -1..1.

    `signals` is all that speaks for it; None where nothing but the score is known.
    """

    topic: str
    score: float
    signals: Signals | None = None


class Qualifier(Frozen):
    """What narrows a question, for a person to see: in the customer's words, or the title of a `form`."""

    kind: Literal["address", "identifier", "number", "quotation", "name", "exclusion", "other_person", "form"]
    text: str


class Added(Frozen):
    """An answer tool's result: the item that goes into the answer, and how it came about, in words; never data."""

    outcome: Literal["added"] = "added"
    item: Item
    description: str = ""


class Pointed(Frozen):
    """A data or fact tool's result: where the data is, and what it is in words; never the data."""

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
    """A result as it is recorded: never data."""
    match result:
        case Added(item=item, description=description):
            return f"added {item.kind}{description and f': {description}'}"
        case Pointed(pointer=pointer, description=description):
            return f"{pointer}: {description}"
        case Ended(reason=reason):
            return reason or "finished"


class AccountData(Protocol):
    """The values of the customer's account: the company's database, or a recorded copy of what it said."""

    @property
    def fields(self) -> Mapping[str, FieldSpec]: ...

    @property
    def series(self) -> Mapping[str, SeriesSpec]: ...

    @property
    def records(self) -> Mapping[str, RecordSpec]: ...

    def field(self, name: str, customer: Customer, locale: str) -> Value | None: ...

    def rows(self, series: str, customer: Customer, period: Period, locale: str) -> tuple[Row, ...]: ...

    def own_records(self, kind: str, customer: Customer, locale: str) -> tuple[Record, ...]: ...


class Acts(Frozen):
    """How likely a piece of a mail does what, 0..1, together 1.

    `greets` opens a mail, `parts` closes it (thanks, name, signature), `footer` stands below every mail of a firm or a
    phone, `asks` asks, wishes or orders, `reports` says what is wrong, `tells` says what surrounds that.
    """

    greets: float
    parts: float
    footer: float
    asks: float
    reports: float
    tells: float


class Reading(Frozen):
    """A piece of a mail as it is read for cutting: what it does, and each topic's likeness to it, -1..1.

    `is_marked`: it ends with a question mark.
    """

    acts: Acts
    near: Mapping[str, float]
    is_marked: bool


Examples = tuple[tuple[str, tuple[str, ...]], ...]
"""Classes of texts by name, each with examples, one at least."""


class Similarity(Protocol):
    """Compares a text with others, -1..1 each."""

    def similarities(self, text: str, others: Sequence[str]) -> Sequence[float]: ...


class Search(Similarity, Protocol):
    """Finds the topics nearest to a text, reads pieces of a mail, tells how a text is phrased, and compares texts.

    `sections` gives the probability of each section of a document that it answers, given that one does.

    `version` names what it has.
    """

    @property
    def version(self) -> str: ...

    def nearest(self, text: str) -> tuple[Match, ...]: ...

    def read(self, pieces: Sequence[str]) -> tuple[Reading, ...]: ...

    def phrased(self, text: str, examples: Examples) -> Mapping[str, float]: ...

    def sections(self, text: str, document: Document) -> Sequence[float]: ...


class SentAnswer(Frozen):
    """One block of an answer that the sender has had: what it said, as data, when, and in which case."""

    case_id: str
    sent_at: datetime
    answer: Answer

    def says(self, item: Item) -> bool:
        """Whether it told the sender all of this item."""
        return any(is_covered_by(item, one) for one in self.answer.items)


UNSURE_SECTION = "section"
"""Why a document was found and not sent: none of its sections is sure to answer."""


class Unsure(NamedTuple):
    """What of a document was likeliest to answer a question, by position, and not sure enough to be sent."""

    document: Document
    positions: tuple[int, ...]
    probability: float


@dataclass
class Context:
    """Everything the tools may see of the mail in hand, and what they have put down for it so far.

    `mail` is all that the customer wrote, the subject too. `records` are the customer's own by kind, read before the
    model is asked anything; `unread_records` are the kinds that could not be read, `unknown_records` the identifiers
    in the mail that none of them has.

    `questions` are the customer's own, cut out of the mail; `data` is filled by the data tools ("@1", "@2",
    ...) and `found` by `find_documents`, by question number from 1. `sent` is what the sender was answered lately, the
    newest first; what of it was chosen once more is put down in `repeated`. `room` retrieves evidence, and what it
    found stands in `findings`, by question number; None: it is off, and documents are sent without it. `settled` has,
    by question number, the document that the search alone is sure of: unless `always_retrieves`, it is sent at once.
    `unsure` has, by question, what was not sure enough to be sent.
    `documents` are the company's, in its own language: topics and evidence are theirs. `translations` go out in their
    place, by number. `subject` is "" where no question begins with it. `vocabulary` is what the documents name;
    `beside` what narrowed a question and stood in no answer that was chosen.
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
    """How likely the sections of an excerpt must answer, 0..1."""
    subject: str = ""
    mail: str = ""
    records: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)
    unread_records: frozenset[str] = frozenset()
    unknown_records: tuple[str, ...] = ()
    question: int = 1
    """The number of the question in hand, from 1."""
    data: dict[str, Data] = field(default_factory=dict)
    found: dict[int, tuple[Match, ...]] = field(default_factory=dict)
    sent: tuple[SentAnswer, ...] = ()
    repeated: list[SentAnswer] = field(default_factory=list)
    room: FactRoom | None = None
    always_retrieves: bool = False
    findings: dict[int, Finding] = field(default_factory=dict)
    settled: dict[int, int] = field(default_factory=dict)
    unsure: dict[int, Unsure] = field(default_factory=dict)
    translations: Mapping[int, Document] = field(default_factory=dict)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    missing_qualifiers: list[Qualifier] = field(default_factory=list)

    @property
    def current_question(self) -> str:
        """The text of the question in hand."""
        return self.questions[self.question - 1]

    @property
    def sendable(self) -> Mapping[int, Document]:
        """The documents that the sender may be sent today, by number."""
        found = self.documents.items()
        return {number: document for number, document in found if document.may_be_sent(self.today, self.level)}

    def version_sent(self, number: int) -> Document:
        """The version of a document that this customer is sent: its translation, or itself."""
        return self.translations.get(number, self.documents[number])

    def point_to(self, data: Data) -> str:
        """Keeps data under the next pointer and returns that."""
        pointer = f"@{len(self.data) + 1}"
        self.data[pointer] = data
        return pointer

    def sets(self) -> Mapping[MemberOf | PointerTo, Members]:
        """Every finite set an argument may be closed over, as it stands now."""
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
        """Of all kinds of records, with what stands for every one; `send_record` refuses one of another kind."""
        names = [name for spec in self.accounts.records.values() for name in spec.columns]
        return tuple(dict.fromkeys([*names, ALL_COLUMNS])) if names else ()

    def _pointers(self, *kinds: type[Data]) -> tuple[str, ...]:
        return tuple(name for name, data in self.data.items() if isinstance(data, kinds))


class Tool(BaseModel, ABC):
    """One call. Subclasses set `name` and `kind`, declare closed arguments as fields, and write `run`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    kind: ClassVar[Kind]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        check_fields(cls)

    @abstractmethod
    def run(self, context: Context) -> Result:
        """Carry the call out.

        Raises:
            ToolCallRejected: well-formed, but it cannot be done for this mail (sender level, no data).
            TransientError, PermanentError: the company's database failed.
        """

    @property
    def arguments(self) -> dict[str, str | int | bool]:
        """The arguments as plain values, in the order they are declared."""
        return self.model_dump(mode="json")
