"""Ranges of sentences, and the trace of how the fact room found them.

Passages, memory, graph, evidence and trace all use `SentenceRange`. A `NodeVisit` is for people only: it contains model
text (`model_text` and the claims of its steps). Checked by tests/unit/tools/test_fact_room.py and
tests/unit/facts/inquiry/test_workflow.py.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from support_agent.core.frozen import Frozen

DOCUMENT_SOURCE = "document:"
MAX_DIGITS = 10
"""Most digits of a document's number."""
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class SentenceRange(Frozen):
    """Whole sentences of a source, by position, both ends inclusive: "document:6", or a page's address."""

    source: str
    first: int = Field(ge=0)
    last: int = Field(ge=0)

    @model_validator(mode="after")
    def _is_somewhere(self) -> SentenceRange:
        if not self.source:
            raise ValueError("the range has no source")
        if self.last < self.first:
            raise ValueError(f"the range ends at sentence {self.last}, before its beginning at {self.first}")
        return self

    @property
    def place(self) -> SentenceRange:
        """The range without further attributes, for comparison."""
        return SentenceRange(source=self.source, first=self.first, last=self.last)

    @property
    def is_document(self) -> bool:
        """Whether the source is a company document, which customers may be sent."""
        return self.source.startswith(DOCUMENT_SOURCE)

    @property
    def document(self) -> int | None:
        """The document's number; None for other sources."""
        number = self.source.removeprefix(DOCUMENT_SOURCE) if self.is_document else ""
        is_number = number.isascii() and number.isdigit() and len(number) <= MAX_DIGITS and number[0] != "0"
        return int(number) if is_number else None


def sentence_at(source: str, position: int) -> SentenceRange:
    """The range of one sentence."""
    return SentenceRange(source=source, first=position, last=position)


class Evidence(SentenceRange):
    """Sentences relevant to a question, with the probability that they are; None if not graded."""

    grade: Probability | None = None

    @property
    def certainty(self) -> float:
        """The grade, or 0 without one; for sorting."""
        return self.grade or 0.0


class WorkflowNode(StrEnum):
    """The nodes of the workflow and its decisions."""

    MEMORY = "working_memory"
    POLICY = "policy"
    ROUTER = "question_router"
    RETRIEVER = "retriever"
    WEB_SEARCH = "web_search"
    DOCUMENT_GRADER = "document_grader"
    GENERATOR = "draft_generator"
    HALLUCINATION_GRADER = "hallucination_grader"
    ANSWER_GRADER = "answer_grader"
    REWRITER = "question_rewriter"
    EVIDENCE = "evidence_chainer"
    UNREADABLE = "unreadable"
    """No node: a stored visit that this version cannot read."""


class Cost(Frozen):
    """The cost of model calls; can be added. `forward_passes` counts those of grades; each written token adds one."""

    tokens: int = 0
    forward_passes: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            tokens=self.tokens + other.tokens,
            forward_passes=self.forward_passes + other.forward_passes,
            seconds=self.seconds + other.seconds,
        )


class ModelText(Frozen):
    """Text written by the model. People may see it, marked as such; customers never."""

    kind: Literal["draft", "question"]
    text: str
    writer: str
    seed: int


class DraftStep(Frozen):
    """One step of a draft in the model's words, and the sentence that supports it, or None.

    `probability` is that the sentence entails the step; `score` the value of equation 2 of GE-Chat.
    """

    claim: str
    pointer: SentenceRange | None = None
    probability: Probability = 0.0
    score: float = 0.0


class NodeVisit(Frozen):
    """One execution of a node: a row of the process table.

    Source: tables 1b and 2b of the paper on advanced RAG for local models: per node its decision, its temperature,
    its tokens and its time.
    """

    node: WorkflowNode
    cycle: int
    """The number of earlier rewrites and new drafts."""
    decided: str
    """The decision, in the program's own words."""
    grade: Probability | None = None
    threshold: Probability | None = None
    temperature: float | None = None
    cost: Cost = Cost()
    passages: tuple[SentenceRange, ...] = ()
    passage_grades: tuple[Probability, ...] = ()
    """Of the document grader, one per passage."""
    model_text: ModelText | None = None
    steps: tuple[DraftStep, ...] = ()
    """Of the evidence chainer; the claims are model text."""


def unread_visit(why: str) -> NodeVisit:
    """What stands in a trace for what cannot be read of it."""
    return NodeVisit(node=WorkflowNode.UNREADABLE, cycle=0, decided=why)
