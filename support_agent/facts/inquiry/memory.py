"""The working memory of one case: an immutable value of six parts (q, e, o, u, f, h).

q is the current question, e its evidence, o the drafts from this evidence, u the evaluation of each draft, f the
feedback on the last draft, h the history of the case. Each step returns a new memory.

Invariant: a step never loses evidence. The evidence for a question stays in `evidence` until the question ends, then in
`history`. Drafts are model text: they stay in this room and in the trace. Checked by
tests/unit/facts/inquiry/test_memory.py.
Source: LLM-Augmenter (Peng et al. 2023, "Check Your Facts and Try Again"): working memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from support_agent.core.frozen import Frozen
from support_agent.errors import PermanentError
from support_agent.models.language_model import Usage
from support_agent.tools.fact_trace import Evidence

FORMAT: Literal[1] = 1
"""Of the stored JSON; a memory of another format is not read."""
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class Check(StrEnum):
    """A check that a draft can fail."""

    EMPTY = "empty"
    LONG = "long"
    NUMBER = "number"
    DATE = "date"
    ADDRESS = "address"
    NAME = "name"
    OVERLAP = "overlap"
    """It shares too few words with the evidence: Knowledge-F1 below its threshold."""
    UNSUPPORTED = "unsupported"
    """The model itself says that the evidence does not support the draft."""
    OFF_THE_QUESTION = "off_the_question"
    """The model itself says that the draft does not answer the question."""
    ONLY_WEB = "only_web"
    """Only web pages support it, not the company's documents."""


CHECK_WORDS = {
    Check.EMPTY: "empty",
    Check.LONG: "too long",
    Check.NUMBER: "a number that is not in the evidence",
    Check.DATE: "a date that is not in the evidence",
    Check.ADDRESS: "an address that is not in the evidence",
    Check.NAME: "a name that is not in the evidence",
    Check.OVERLAP: "too few words of the evidence",
    Check.UNSUPPORTED: "not supported by the evidence",
    Check.OFF_THE_QUESTION: "does not answer the question",
    Check.ONLY_WEB: "supported by the web only",
}
"""The failed checks, as people read them."""


class FailedCheck(Frozen):
    """One failed check; `token` is the normalised text that is in no evidence, or ""."""

    check: Check
    token: str = ""


class Utility(Frozen):
    """The evaluation of one draft: failed checks, the model's own doubts, and overlap with the evidence.

    `supported` and `answers` are probabilities of "yes", None where the model was not asked: because the outcome was
    certain, or because that question is switched off. `knowledge_f1` is against the evidence's text.
    """

    failures: tuple[FailedCheck, ...] = ()
    supported: Share | None = None
    answers: Share | None = None
    knowledge_f1: Share = 0.0
    usage: Usage = Usage()

    @property
    def is_sound(self) -> bool:
        """Whether no check failed: only then may an answer go out."""
        return not self.failures

    @property
    def score(self) -> float:
        """0..1: the probability that the evidence supports the draft and that it answers; 0 if it is not sound."""
        asked = [grade for grade in (self.supported, self.answers) if grade is not None]
        return math.prod(asked) if self.is_sound else 0.0

    @property
    def is_off_the_question(self) -> bool:
        """Whether the draft failed because it does not answer, not because it says too much."""
        return any(failure.check in {Check.EMPTY, Check.OFF_THE_QUESTION} for failure in self.failures)

    @property
    def is_from_web_only(self) -> bool:
        """Whether only web pages support it."""
        return any(failure.check is Check.ONLY_WEB for failure in self.failures)

    @property
    def is_hallucination(self) -> bool:
        """Whether it says something that is in no evidence."""
        return not (self.is_sound or self.is_off_the_question or self.is_from_web_only)


class Ending(StrEnum):
    """How a question ended."""

    ANSWERED = "answered"
    ESCALATED = "escalated"


class Retrieved(Frozen):
    """Evidence was retrieved from the documents or the web: the number of passages, and of new ones.

    Stored as `looked`, the word of earlier versions.
    """

    kind: Literal["looked"] = "looked"
    found: int = Field(ge=0)
    new: int = Field(ge=0)
    is_web: bool = False


class Drafted(Frozen):
    """A draft was written and judged; its score, 0..1, and how many checks failed."""

    kind: Literal["drafted"] = "drafted"
    score: Share
    failed: int = Field(ge=0)


class EndedQuestion(Frozen):
    """A question ended: its text, how it ended, and its evidence. Stored as `settled`, the word of earlier versions."""

    kind: Literal["settled"] = "settled"
    question: str
    ending: Ending
    evidence: tuple[Evidence, ...]


Fact = Annotated[Retrieved | Drafted | EndedQuestion, Field(discriminator="kind")]


class Memory(Frozen):
    """The state of one case: (q, e, o, u, f, h) in this order, and how the current question ended (None: it has not).

    `utilities` has one entry for each judged draft, in the drafts' order; the last draft may still be unjudged.
    """

    format: Literal[1] = FORMAT
    case_id: str = Field(min_length=1)
    question: str
    evidence: tuple[Evidence, ...] = ()
    drafts: tuple[str, ...] = ()
    utilities: tuple[Utility, ...] = ()
    feedback: tuple[str, ...] = ()
    history: tuple[Fact, ...] = ()
    ending: Ending | None = None

    @model_validator(mode="after")
    def _parts_agree(self) -> Memory:
        if not 0 <= len(self.drafts) - len(self.utilities) <= 1:
            raise ValueError(f"{len(self.utilities)} utilities for {len(self.drafts)} drafts")
        places = [evidence.place for evidence in self.evidence]
        if len(set(places)) < len(places):
            raise ValueError("the same evidence stands twice")
        last = self.history[-1] if self.history else None
        if self.ending is not None and not (isinstance(last, EndedQuestion) and last.ending is self.ending):
            raise ValueError(f"it {self.ending}, and the history does not end so")
        return self

    @property
    def retrievals(self) -> tuple[Retrieved, ...]:
        """The retrievals from documents for the current question; those from the web do not count."""
        return tuple(fact for fact in self._of_this_question() if isinstance(fact, Retrieved) and not fact.is_web)

    @property
    def last_retrieval(self) -> Retrieved | None:
        """The last retrieval for the current question, from any source; None: there was none."""
        facts = reversed(self._of_this_question())
        return next((fact for fact in facts if isinstance(fact, Retrieved)), None)

    @property
    def earlier_questions(self) -> tuple[str, ...]:
        """The case's questions that have ended, the last one first; without the current question."""
        ended_before = self.history[:-1] if self.ending is not None else self.history
        return tuple(fact.question for fact in reversed(ended_before) if isinstance(fact, EndedQuestion))

    @property
    def last_utility(self) -> Utility | None:
        """The evaluation of the last draft; None: there is none, or it was not judged yet."""
        return self.utilities[-1] if self.utilities and len(self.utilities) == len(self.drafts) else None

    @property
    def is_retrieval_due(self) -> bool:
        """Whether no document is evidence, or none was retrieved since the last draft, or the beginning."""
        last = next((fact for fact in reversed(self._of_this_question()) if not isinstance(fact, EndedQuestion)), None)
        return not self.has_documents or not isinstance(last, Retrieved)

    @property
    def has_documents(self) -> bool:
        """Whether a document is among the evidence: web pages alone are never an answer."""
        return any(evidence.is_document for evidence in self.evidence)

    def _of_this_question(self) -> Sequence[Retrieved | Drafted | EndedQuestion]:
        """The history since the last question ended."""
        facts = self.history[:-1] if self.ending is not None else self.history
        past = [index for index, fact in enumerate(facts) if isinstance(fact, EndedQuestion)]
        return facts[past[-1] + 1 :] if past else facts


def begin(case_id: str, question: str) -> Memory:
    """The memory of a new case, without evidence."""
    return Memory(case_id=case_id, question=question)


def recalled(memory: Memory, evidence: Iterable[Evidence]) -> Memory:
    """Add the relevant evidence that the case already has, before any retrieval."""
    _must_be_open(memory)
    return _changed(memory, evidence=_merged(memory.evidence, evidence))


def with_evidence(memory: Memory, found: Iterable[Evidence], *, is_web: bool = False) -> Memory:
    """After a retrieval: new evidence follows the old, and the better of two grades counts."""
    found = tuple(found)
    _must_be_open(memory)
    evidence = _merged(memory.evidence, found)
    retrieved = Retrieved(found=len(found), new=len(evidence) - len(memory.evidence), is_web=is_web)
    return _changed(memory, evidence=evidence, history=(*memory.history, retrieved))


def with_draft(memory: Memory, draft: str) -> Memory:
    """After a draft was written.

    Raises:
        ValueError: the draft before it was not judged.
    """
    _must_be_open(memory)
    return _changed(memory, drafts=(*memory.drafts, draft))


def with_utility(memory: Memory, utility: Utility, feedback: Sequence[str]) -> Memory:
    """After the last draft was judged; `feedback` replaces that on the draft before.

    Raises:
        ValueError: there is no draft that waits for it.
    """
    _must_be_open(memory)
    if len(memory.drafts) == len(memory.utilities):
        raise ValueError("no draft waits to be judged")
    drafted = Drafted(score=utility.score, failed=len(utility.failures))
    return _changed(
        memory,
        utilities=(*memory.utilities, utility),
        feedback=tuple(feedback),
        history=(*memory.history, drafted),
    )


def ended(memory: Memory, ending: Ending) -> Memory:
    """After the question was answered or escalated: the history records it, with the evidence."""
    _must_be_open(memory)
    end = EndedQuestion(question=memory.question, ending=ending, evidence=memory.evidence)
    return _changed(memory, history=(*memory.history, end), ending=ending)


def with_question(memory: Memory, question: str) -> Memory:
    """The case's next question.

    Evidence, drafts, utilities and feedback start empty; the history stays.

    Raises:
        ValueError: the question before it has not ended.
    """
    if memory.ending is None:
        raise ValueError("the question in hand has not ended")
    return Memory(case_id=memory.case_id, question=question, history=memory.history)


def from_json(text: str | bytes) -> Memory:
    """Read a stored memory.

    Raises:
        PermanentError: it is no memory, or has another format (code `memory`).
    """
    try:
        return Memory.model_validate_json(text)
    except ValidationError as error:
        detail = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in detail["loc"]) or "the text"
        # Only our own validators' messages are sure not to repeat stored text.
        why = detail["msg"] if detail["type"] == "value_error" else detail["type"]
        what = f"the stored memory cannot be read: {where}: {why}"
        raise PermanentError(f"{what}: let a person take the case", code="memory") from error


def _must_be_open(memory: Memory) -> None:
    if memory.ending is not None:
        raise ValueError(f"the question has ended: {memory.ending}")


def _merged(known: Sequence[Evidence], found: Iterable[Evidence]) -> tuple[Evidence, ...]:
    by_place = {evidence.place: evidence for evidence in known}
    for new in found:
        old = by_place.get(new.place)
        if old is None or old.certainty < new.certainty:
            by_place[new.place] = new
    return tuple(by_place.values())


def _changed(memory: Memory, **parts: object) -> Memory:
    """A validated copy with other parts."""
    return Memory(**{**dict(memory), **parts})
