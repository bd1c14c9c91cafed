"""What the fact room tells the tools about a question: pointers, grades and numbers, never a text for a customer.

The room itself (`support_agent.facts`) is unknown here; the composition root puts it behind `FactRoom`. The trace is
the room's own record, `memory` what it keeps of a case, as JSON, and `pages` what stands in the web: they are kept and
shown to people, marked as what they are, and no tool reads them. Checked by tests/unit/tools/test_fact_room.py.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from enum import StrEnum
from itertools import groupby
from typing import Annotated, NamedTuple, Protocol

from pydantic import BeforeValidator, Field

from support_agent.answer.packet import FoundPage
from support_agent.core.frozen import Frozen
from support_agent.tools.fact_trace import DOCUMENT_SOURCE, Evidence, Probability, SentenceRange, Visit


class FindingReason(StrEnum):
    """What came of a question; all but `ANSWERED` are an honest "don't know".

    The words that staff see are in the templates.
    """

    ANSWERED = "answered"
    IRRELEVANT = "irrelevant"
    HALLUCINATION = "hallucination"
    NOT_AN_ANSWER = "not_an_answer"
    ONLY_WEB = "only_web"
    POLICY = "policy"
    """The policy gave up before anything was wrong."""
    BUDGET = "budget"
    FAILED = "failed"


MOST = 2**31 - 1
"""Of what is counted: every database holds it."""
MOST_PAGES = 5
"""Passages of the web that a person is shown for one question, the likeliest to help first."""
MAX_PAGE_CHARACTERS = 1_000
"""Of one of them; a whole one has some 400."""
MAX_ADDRESS_CHARACTERS = 2_000
"""Of a page's address: neither fetched nor shown, where it is longer."""


class Cited(NamedTuple):
    """Sentences of one document, by position, ascending, and the grade that they bear on the question."""

    document: int
    sentences: tuple[int, ...]
    grade: float | None


def _evidence(value: object) -> object:
    """Findings of version 1 are read, too: they name a document and its positions, one by one."""
    if not isinstance(value, list | tuple):
        return value
    read: list[object] = []
    for one in value:
        if isinstance(one, dict) and "document" in one:
            source = f"{DOCUMENT_SOURCE}{one['document']}"
            grade = one.get("grade")
            read += [{"source": source, "first": a, "last": b, "grade": grade} for a, b in _runs(one["sentences"])]
        else:
            read.append(one)
    return read


def _runs(positions: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Neighbours as (first, last)."""
    for _, group in groupby(enumerate(positions), key=lambda pair: pair[1] - pair[0]):
        run = [position for _, position in group]
        yield run[0], run[-1]


def _trace(value: object) -> object:
    """Findings of version 1 are read, too: their trace is JSON, its visits anywhere in it; what is none is left out."""
    if not isinstance(value, str):
        return value
    try:
        return tuple(Visit.model_validate(one) for one in _with_node(json.loads(value)))
    except (ValueError, RecursionError):
        return ()


def _with_node(value: object) -> Iterator[object]:
    if isinstance(value, dict) and "node" in value:
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _with_node(part)


class Finding(Frozen):
    """What was found out about one question, and how.

    Where `is_answered` the evidence answers it, the surest first; else `reason` says why not, and `evidence` is what
    seemed relevant, `pages` what did in the web, for whoever gets the case. `sentences` are those that bear the draft
    out, one a range; none where they were not asked for. `grounded` and `answers` are the last grades of the
    hallucination grader and the answer grader, `cycles` how often the question was asked or drafted anew. `tokens`,
    `forward_passes` and `seconds` are the cost; `trace` stays with people.
    """

    reason: FindingReason
    evidence: Annotated[tuple[Evidence, ...], BeforeValidator(_evidence)] = ()
    sentences: tuple[SentenceRange, ...] = ()
    pages: tuple[FoundPage, ...] = ()
    grounded: Probability | None = None
    answers: Probability | None = None
    cycles: int = Field(default=0, ge=0, le=MOST)
    index_version: str
    tokens: int = Field(default=0, ge=0, le=MOST)
    forward_passes: int = Field(default=0, ge=0, le=MOST)
    seconds: float = Field(default=0.0, ge=0)
    trace: Annotated[tuple[Visit, ...], BeforeValidator(_trace)] = ()

    @property
    def is_answered(self) -> bool:
        """Whether documents of the company answer the question."""
        return self.reason is FindingReason.ANSWERED

    def after(self, earlier: Finding) -> Finding:
        """This finding with the evidence, the pages and the cost of an earlier one on the same question.

        Where this one answers, its evidence alone does; the trace of the earlier one comes first.
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
        """Of a document with sentences that bear the draft out, these; of another its passages. The surest first."""
        borne: dict[str, tuple[int, ...]] = {}
        for one in self.sentences:
            borne[one.source] = (*borne.get(one.source, ()), one.first)
        cited: list[Cited] = []
        told: set[str] = set()
        for one in self.evidence:
            if one.document is not None and one.source not in told:
                positions = borne.get(one.source) or tuple(range(one.first, one.last + 1))
                cited.append(Cited(one.document, positions, one.grade))
                told |= {one.source} & borne.keys()  # what is less sure of the same document adds nothing
        return tuple(cited)

    def sentences_of(self, document: int) -> tuple[int, ...]:
        """The positions in a document, ascending; none where it is no evidence."""
        found = {position for one in self.cited if one.document == document for position in one.sentences}
        return tuple(sorted(found))


class FactRoom(Protocol):
    """Retrieves evidence for the questions of one mail, within one budget."""

    def retrieve(self, question: str, documents: AbstractSet[int], likely: int | None = None) -> Finding:
        """Find out whether documents answer a question; it never raises for what a model, an index or the web does.

        Args:
            question: The customer's own words.
            documents: Numbers of those that may be found: valid today, and for this sender.
            likely: The one among them that is searched first.
        """
        ...

    @property
    def memory(self) -> str | None:
        """What is known of the case now, to be kept with it; None: nothing was retrieved."""
        ...


class FactRooms(Protocol):
    """Opens the room for a mail."""

    def open(self, case_id: str, memory: str | None, names: Collection[str]) -> FactRoom:
        """The room for one mail.

        Args:
            memory: What an earlier mail of the case left, None for nothing.
            names: Names and addresses of the people of the mail: nobody outside is told them.
        """
        ...
