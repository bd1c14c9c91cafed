"""Sentences of a document by their positions, and the records of how the fact room found them.

`SentenceRange` is the one type for a run of sentences: passages, memory, graph, evidence and trace all point with it.
A `Visit` is for people alone: its `model_text` and the claims of its steps are marked as such. Checked by
tests/unit/tools/test_fact_room.py and tests/unit/facts/inquiry/test_workflow.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from support_agent.core.frozen import Frozen

DOCUMENT_SOURCE = "document:"
MAX_DIGITS = 10
"""Of a document's number."""
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class SentenceRange(Frozen):
    """Whole sentences of a source, by position, both ends inclusive: "document:6", or a page's address."""

    source: str
    first: int = Field(ge=0)
    last: int = Field(ge=0)

    @model_validator(mode="after")
    def _is_somewhere(self) -> SentenceRange:
        if not self.source:
            raise ValueError("it has no source")
        if self.last < self.first:
            raise ValueError(f"it ends at sentence {self.last}, before it begins at {self.first}")
        return self

    @property
    def place(self) -> SentenceRange:
        """The positions alone: what makes it the same, whatever else is known of it."""
        return SentenceRange(source=self.source, first=self.first, last=self.last)

    @property
    def is_document(self) -> bool:
        """Whether the sentences are the company's own, which a customer may be sent."""
        return self.source.startswith(DOCUMENT_SOURCE)

    @property
    def document(self) -> int | None:
        """The document's number; None: it is no document's."""
        number = self.source.removeprefix(DOCUMENT_SOURCE) if self.is_document else ""
        is_number = number.isascii() and number.isdigit() and len(number) <= MAX_DIGITS and number[0] != "0"
        return int(number) if is_number else None


def sentence_at(source: str, position: int) -> SentenceRange:
    """One sentence."""
    return SentenceRange(source=source, first=position, last=position)


class Evidence(SentenceRange):
    """Sentences that bear on a question, with the probability that they do; None: nobody graded them."""

    grade: Probability | None = None

    @model_validator(mode="before")
    @classmethod
    def _as_kept_before(cls, data: Any) -> Any:
        """Memories of version 1 are read, too: their grade was a score."""
        if isinstance(data, Mapping) and "score" in data:
            return {**{key: data[key] for key in data if key != "score"}, "grade": data["score"]}
        return data

    @property
    def certainty(self) -> float:
        """The grade, 0 without one: to put the surest first."""
        return self.grade or 0.0


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


class Step(Frozen):
    """One step of a draft, in the model's words, and the sentence that says it; None: no sentence does.

    `probability` is that the sentence entails the step; `score` the value of equation 2 of GE-Chat.
    """

    claim: str
    pointer: SentenceRange | None = None
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
    passages: tuple[SentenceRange, ...] = ()
    passage_grades: tuple[Probability, ...] = ()
    """Of the document grader, one a passage."""
    model_text: ModelText | None = None
    steps: tuple[Step, ...] = ()
    """Of the evidence chainer; their claims are model text."""
