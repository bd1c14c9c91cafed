"""What the fact room tells the tools about a question: pointers, grades and numbers, never a text for a customer.

The room itself (`support_agent.facts`) is unknown here; the composition root puts it behind `FactRoom`. `trace` and
`memory` are the room's own records, as JSON, and `pages` what stands in the web: they are kept and shown to people,
marked as what they are, and no tool reads them. Checked by tests/unit/tools/test_fact_room.py.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Annotated, Protocol

from pydantic import Field

from support_agent.answer.packet import FoundPage
from support_agent.core.frozen import Frozen


class FindingReason(StrEnum):
    """What came of looking into a question; all but `ANSWERED` are an honest "don't know".

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


class Evidence(Frozen):
    """Sentences of one document that bear on a question, by position, ascending; `grade` that they do, if graded."""

    document: int = Field(ge=1)
    sentences: tuple[Annotated[int, Field(ge=0)], ...] = Field(min_length=1)
    grade: Annotated[float, Field(ge=0, le=1)] | None = None


class Finding(Frozen):
    """What was found out about one question.

    Where `is_answered` the evidence answers it, the surest document first; else `reason` says why not, and `evidence`
    is what looked relevant, `pages` what did in the web, for whoever gets the case. `seconds` is what the looking took;
    `tokens` and `forward_passes` what the model read and wrote for it.
    """

    reason: FindingReason
    evidence: tuple[Evidence, ...] = ()
    pages: tuple[FoundPage, ...] = ()
    index_version: str
    tokens: int = Field(default=0, ge=0, le=MOST)
    forward_passes: int = Field(default=0, ge=0, le=MOST)
    seconds: float = Field(default=0.0, ge=0)
    trace: str = "[]"

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
                "trace": f"[{earlier.trace}, {self.trace}]",
            }
        )

    def sentences_of(self, document: int) -> tuple[int, ...]:
        """The positions in a document, ascending; none where it is no evidence."""
        found = {place for evidence in self.evidence if evidence.document == document for place in evidence.sentences}
        return tuple(sorted(found))


class FactRoom(Protocol):
    """Looks into the questions of one mail, within one budget."""

    def look(self, question: str, documents: AbstractSet[int], likely: int | None = None) -> Finding:
        """Find out whether documents answer a question; it never raises for what a model, an index or the web does.

        Args:
            question: The customer's own words.
            documents: Numbers of those that may be found: valid today, and for this sender.
            likely: The one among them that is looked into first.
        """
        ...

    @property
    def memory(self) -> str | None:
        """What is known of the case now, to be kept with it; None: nothing was looked into."""
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
