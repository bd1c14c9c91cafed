"""The records of the grading workflow: what each node saw and decided, and what came out of it all.

`Outcome` is what came of it: whether a document answers, pointers to whole sentences, grades and costs; what leaves
the room of it is made by `inquiry.room.finding_of`. Pages of the web are for people, as is `Visit`: its `model_text`
is marked as such. Checked by tests/unit/facts/inquiry/test_workflow.py.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from support_agent.answer.packet import FoundPage
from support_agent.core.frozen import Frozen
from support_agent.tools.fact_room import FindingReason

DOCUMENT_SOURCE = "document:"
Probability = Annotated[float, Field(ge=0, le=1)]


class Node(StrEnum):
    """The boxes of the workflow, and what decides between them."""

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


class Pointer(Frozen):
    """Whole sentences of a source, by position, both ends inclusive: "document:6", or a page's address."""

    source: str
    first: int = Field(ge=0)
    last: int = Field(ge=0)

    @property
    def is_document(self) -> bool:
        """Whether the sentences are the company's own, which a customer may be sent."""
        return self.source.startswith(DOCUMENT_SOURCE)


class GradedPointer(Frozen):
    """A passage with the document grader's probability that it helps; None where it is switched off, or did not end."""

    pointer: Pointer
    grade: Probability | None


class Cost(Frozen):
    """What was spent on a model; adds up. `forward_passes` are those of grades, a written token is one more each."""

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
    """A text that the model wrote. People may see it, marked as such; customers never."""

    kind: Literal["draft", "question"]
    text: str
    writer: str
    seed: int


class BorneOut(Frozen):
    """One step of a draft, in the model's words, and the sentence that says it; None: no sentence does.

    `probability` is that the sentence entails the step; `score` the value of equation 2 of GE-Chat.
    """

    claim: str
    pointer: Pointer | None = None
    probability: Probability = 0.0
    score: float = 0.0


class Visit(Frozen):
    """One node at work: a row of the process table.

    Source: tables 1b and 2b of the paper on advanced RAG for local models: per node its decision, its temperature,
    its tokens and its time.
    """

    node: Node
    cycle: int
    """How often the question was rewritten or drafted anew before, from 0."""
    decided: str
    """In the program's own words."""
    grade: Probability | None = None
    threshold: Probability | None = None
    temperature: float | None = None
    cost: Cost = Cost()
    passages: tuple[Pointer, ...] = ()
    passage_grades: tuple[Probability, ...] = ()
    """Of the document grader, one a passage."""
    model_text: ModelText | None = None
    steps: tuple[BorneOut, ...] = ()
    """Of the evidence chainer; their claims are model text."""


class Outcome(Frozen):
    """What came of a question."""

    reason: FindingReason
    evidence: tuple[GradedPointer, ...] = ()
    """Answered: passages of documents that the answer stands in; else all that looked relevant. The best first."""
    sentences: tuple[Pointer, ...] = ()
    """Answered: the sentences of the evidence that bear the draft out, one a pointer; none where they were not looked
    for."""
    grounded: Probability | None = None
    """The last grade of the hallucination grader."""
    answers: Probability | None = None
    """The last grade of the answer grader."""
    cycles: int = 0
    cost: Cost = Cost()
    index_version: str

    @property
    def is_answered(self) -> bool:
        """Whether documents of the company answer the question; else it escalates."""
        return self.reason is FindingReason.ANSWERED


class Findings(Frozen):
    """The outcome, the trace, which stays inside, and what helps in the web, which goes to the desk alone."""

    outcome: Outcome
    trace: tuple[Visit, ...]
    pages: tuple[FoundPage, ...] = ()
