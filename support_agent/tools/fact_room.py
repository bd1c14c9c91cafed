"""The port of the fact room: it returns pointers, grades and numbers about a question, never text for a customer.

`support_agent.facts` implements it; the composition root connects the two. The trace of a finding, the case's `memory`
(JSON) and the web `pages` are stored and shown to people, marked as such; no tool reads them. Checked by
tests/unit/tools/test_fact_room.py.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Annotated, NamedTuple, Protocol

from pydantic import BeforeValidator, Field, ValidationError

from support_agent.answer.packet import FoundPage
from support_agent.core.frozen import Frozen
from support_agent.tools.fact_trace import Evidence, NodeVisit, Probability, SentenceRange, unread_visit


class FindingReason(StrEnum):
    """The outcome for a question; every one but `ANSWERED` means "not known".

    The templates have the words for staff.
    """

    ANSWERED = "answered"
    IRRELEVANT = "irrelevant"
    HALLUCINATION = "hallucination"
    NOT_AN_ANSWER = "not_an_answer"
    ONLY_WEB = "only_web"
    POLICY = "policy"
    """The policy stopped early, without a failure."""
    BUDGET = "budget"
    FAILED = "failed"


MOST = 2**31 - 1
"""Largest count that every database can store."""
MOST_PAGES = 5
"""Most web passages shown to a person per question, the most relevant first."""
MAX_PAGE_CHARACTERS = 1_000
"""Most characters of a web passage; typical ones have about 400."""
MAX_ADDRESS_CHARACTERS = 2_000
"""Pages with longer addresses are neither fetched nor shown."""


class Cited(NamedTuple):
    """Sentences of one document, by ascending position, and the grade of their relevance."""

    document: int
    sentences: tuple[int, ...]
    grade: float | None


def _trace(value: object) -> object:
    """Read the visits that can be read, and say of the others that they cannot."""
    return tuple(map(_visit, value)) if isinstance(value, list | tuple) else value


def _visit(value: object) -> NodeVisit:
    try:
        return NodeVisit.model_validate(value)
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_input=False)[0]["loc"])) or "the whole"
        return unread_visit(f"a stored step cannot be read: {where}")


class RetrievalResult(Frozen):
    """The result of a retrieval for one question.

    If `is_answered`, the `evidence` answers it, the surest first. Otherwise `reason` says why not, and `evidence` and
    web `pages` are what seemed relevant, for the person who gets the case. `sentences` support the draft, one per
    range; () if they were not requested. `grounded` and `answers` are the last grades of the hallucination grader and
    the answer grader; `cycles` counts rewrites and new drafts. `tokens`, `forward_passes` and `seconds` are the cost.
    `trace` is for people only.
    """

    reason: FindingReason
    evidence: tuple[Evidence, ...] = ()
    sentences: tuple[SentenceRange, ...] = ()
    pages: tuple[FoundPage, ...] = ()
    grounded: Probability | None = None
    answers: Probability | None = None
    cycles: int = Field(default=0, ge=0, le=MOST)
    index_version: str
    tokens: int = Field(default=0, ge=0, le=MOST)
    forward_passes: int = Field(default=0, ge=0, le=MOST)
    seconds: float = Field(default=0.0, ge=0)
    trace: Annotated[tuple[NodeVisit, ...], BeforeValidator(_trace)] = ()

    @property
    def is_answered(self) -> bool:
        """Whether the company's documents answer the question."""
        return self.reason is FindingReason.ANSWERED

    def after(self, earlier: RetrievalResult) -> RetrievalResult:
        """Merge an earlier finding on the same question into this one.

        Cost and trace are added. Evidence and pages are added too, unless this finding answers the question.
        """
        evidence = self.evidence if self.is_answered else (*self.evidence, *earlier.evidence)
        pages = self.pages if self.is_answered else tuple(dict.fromkeys((*self.pages, *earlier.pages)))
        return self.model_copy(
            update={
                "evidence": evidence,
                "pages": pages[:MOST_PAGES],
                "tokens": self.tokens + earlier.tokens,
                "forward_passes": self.forward_passes + earlier.forward_passes,
                "seconds": self.seconds + earlier.seconds,
                "trace": (*earlier.trace, *self.trace),
            }
        )

    @property
    def cited(self) -> tuple[Cited, ...]:
        """By document, the surest first: the sentences that support the draft, or else the passages."""
        supporting: dict[str, tuple[int, ...]] = {}
        for one in self.sentences:
            supporting[one.source] = (*supporting.get(one.source, ()), one.first)
        cited: list[Cited] = []
        done: set[str] = set()
        for one in self.evidence:
            if one.document is not None and one.source not in done:
                positions = supporting.get(one.source) or tuple(range(one.first, one.last + 1))
                cited.append(Cited(one.document, positions, one.grade))
                done |= {one.source} & supporting.keys()  # less sure evidence of the same document adds nothing
        return tuple(cited)

    def sentences_of(self, document: int) -> tuple[int, ...]:
        """The positions in a document, ascending; () if it is not cited."""
        found = {position for one in self.cited if one.document == document for position in one.sentences}
        return tuple(sorted(found))


class FactRoom(Protocol):
    """Retrieves evidence for the questions of one mail, within one budget."""

    def retrieve(self, question: str, documents: AbstractSet[int], likely: int | None = None) -> RetrievalResult:
        """Retrieve evidence for a question; failures of models, indexes and the web raise nothing.

        Args:
            question: The customer's own words.
            documents: Numbers of the documents that this sender may be sent today.
            likely: The one that is searched first.
        """
        ...

    @property
    def memory(self) -> str | None:
        """What is known of the case, to be stored with it; None if nothing was retrieved."""
        ...


class FactRooms(Protocol):
    """Opens the room for a mail."""

    def open(self, case_id: str, memory: str | None, names: Collection[str]) -> FactRoom:
        """The room for one mail.

        Args:
            memory: The `FactRoom.memory` of an earlier mail of the case, or None.
            names: Names and addresses in the mail, which must not be sent to web searches.
        """
        ...
