"""Policies: they choose the next action for a question: retrieve, draft, answer or escalate.

Three rules (always, self-ask, never), and a trained policy: a softmax over weighted features of the memory. Each gives
a probability for every action; the program takes the likeliest.

Invariant: an impossible action has probability 0, the others add up to 1, and escalating is always possible. An answer
needs a document as evidence and a draft from all evidence that passed every check; no policy can avoid that. Checked by
tests/unit/facts/inquiry/test_policy.py.
Source: LLM-Augmenter (Peng et al. 2023): policy, and its rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from scipy import special  # type: ignore[import-untyped]

from support_agent.core.frozen import Frozen
from support_agent.facts.inquiry.memory import Drafted, EndedQuestion, Ending, Memory, Retrieved
from support_agent.models.judge import Judge

Floats = NDArray[np.float64]


class Action(StrEnum):
    """The actions; their order is that of probabilities and weights."""

    ACQUIRE = "acquire"
    DRAFT = "draft"
    ANSWER = "answer"
    ESCALATE = "escalate"


ACTIONS = tuple(Action)

FEATURES = (
    "bias",
    "has_evidence",
    "evidence",
    "lead",
    "looks",
    "new_in_look",
    "is_unread",
    "drafts",
    "is_sound",
    "failed",
    "supported",
    "answers",
    "score",
    "is_sure",
    "knowledge_f1",
    "answered_before",
)
"""The names of the features, in order; all are within 0..1."""
MANY = 8
"""Counts of evidence or failed checks above this make no difference."""
SURE = 0.5
"""From this score or share on, something counts as likely."""

NEEDS_ASK = "Must the company's documents be looked into to answer this question?"


class InquiryLimits(Frozen):
    """Most retrievals and drafts for one question.

    With 0 drafts, evidence alone is enough for an answer.
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    retrievals: int = Field(default=3, ge=1, le=11, alias="looks")
    """Stored as `looks`, the word of earlier versions, in recorded cases and trained policies."""
    drafts: int = Field(default=3, ge=0, le=11)


class Policy(Protocol):
    """Chooses actions; `name` is stored with its decisions."""

    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> InquiryLimits: ...

    def probabilities(self, memory: Memory) -> tuple[float, ...]:
        """One for each of `ACTIONS`, adding up to 1; 0 for impossible ones."""
        ...


def possible(memory: Memory, limits: InquiryLimits) -> tuple[bool, ...]:
    """Which of `ACTIONS` are possible now."""
    utility = memory.last_utility
    is_sound = utility is not None and utility.is_sound and not is_unread(memory)
    may_answer = memory.has_documents and (is_sound or not limits.drafts)
    may_draft = memory.has_documents and len(memory.drafts) < limits.drafts
    return (len(memory.retrievals) < limits.retrievals, may_draft, may_answer, True)


def is_unread(memory: Memory) -> bool:
    """Whether there is evidence that no draft was written from."""
    for fact in reversed(memory.history):
        if isinstance(fact, Drafted):
            return False
        if isinstance(fact, EndedQuestion):
            break
        if isinstance(fact, Retrieved) and fact.new:
            return True
    return bool(memory.evidence)


def choice(policy: Policy, memory: Memory) -> Action:
    """The likeliest action."""
    return likeliest(policy.probabilities(memory))


def likeliest(probabilities: Sequence[float]) -> Action:
    """The likeliest of `ACTIONS`; of equally likely ones the later, which is the more cautious."""
    best = max(range(len(ACTIONS)), key=lambda index: (probabilities[index], index))
    return ACTIONS[best]


def features(memory: Memory, limits: InquiryLimits) -> Floats:
    """The features of a memory, shape (len(FEATURES),): counts and shares, no text."""
    utility, retrieval = memory.last_utility, memory.last_retrieval
    scores = sorted((evidence.certainty for evidence in memory.evidence), reverse=True)
    endings = [fact.ending for fact in memory.history if isinstance(fact, EndedQuestion)]
    row = (
        1.0,
        float(bool(scores)),
        min(len(scores), MANY) / MANY,
        _lead(scores),
        min(len(memory.retrievals) / limits.retrievals, 1.0),
        retrieval.new / retrieval.found if retrieval and retrieval.found else 0.0,
        float(is_unread(memory)),
        min(len(memory.drafts) / max(limits.drafts, 1), 1.0),
        float(utility is not None and utility.is_sound),
        min(len(utility.failures), MANY) / MANY if utility else 0.0,
        (utility.supported or 0.0) if utility else 0.0,
        (utility.answers or 0.0) if utility else 0.0,
        utility.score if utility else 0.0,
        float(utility is not None and utility.score >= SURE),
        utility.knowledge_f1 if utility else 0.0,
        endings.count(Ending.ANSWERED) / len(endings) if endings else 0.0,
    )
    return np.array(row, dtype=np.float64)


def _lead(scores: Sequence[float]) -> float:
    """The lead of the best over the second, as a share of the best, 0..1: scores do not compare across questions."""
    if not scores or scores[0] <= 0:
        return 0.0
    second = max(scores[1], 0.0) if len(scores) > 1 else 0.0
    return 1.0 - second / scores[0]


class RulePolicy:
    """Answers if possible, else retrieves if wanted, else drafts, else escalates.

    Args:
        name: Stored with its decisions.
        limits: Most retrievals and drafts.
        is_wanted: Whether to retrieve; called only if that is possible.
    """

    def __init__(self, name: str, limits: InquiryLimits, is_wanted: Callable[[Memory], bool]) -> None:
        self.name, self.limits, self._is_wanted = name, limits, is_wanted

    def probabilities(self, memory: Memory) -> tuple[float, ...]:
        """See `Policy.probabilities`; one of them is 1.

        Raises:
            TransientError, PermanentError: as the judge of `self_ask`.
        """
        may_retrieve, may_draft, may_answer, _ = possible(memory, self.limits)
        is_wanted = may_retrieve and self._is_wanted(memory)
        if may_answer:
            action = Action.ANSWER
        elif is_wanted:
            action = Action.ACQUIRE
        else:
            action = Action.DRAFT if may_draft else Action.ESCALATE
        return tuple(float(action is each) for each in ACTIONS)


def always(limits: InquiryLimits) -> RulePolicy:
    """Retrieves evidence until there is some, and before each draft."""
    return RulePolicy("always", limits, lambda memory: memory.is_retrieval_due)


def never(limits: InquiryLimits) -> RulePolicy:
    """Retrieves nothing: answers from the case's evidence, or escalates."""
    return RulePolicy("never", limits, lambda _: False)


def self_ask(judge: Judge, limits: InquiryLimits) -> RulePolicy:
    """Asks the model, before each draft, whether evidence is needed."""

    def is_needed(memory: Memory) -> bool:
        known = f"{len(memory.evidence)} passages"
        return judge.yes(NEEDS_ASK, (("Question", memory.question), ("Found so far", known))).probability >= SURE

    return RulePolicy("self-ask", limits, lambda memory: memory.is_retrieval_due and is_needed(memory))


class Softmax:
    """A softmax over weighted features, among the possible actions."""

    def __init__(self, weights: Floats, limits: InquiryLimits, name: str) -> None:
        """Use these weights.

        Args:
            weights: Shape (len(ACTIONS), len(FEATURES)).
            limits: The limits of its training.
            name: Identifies the weights.
        Raises:
            ValueError: the shape is wrong, or a weight is not finite.
        """
        if weights.shape != (len(ACTIONS), len(FEATURES)) or not np.isfinite(weights).all():
            raise ValueError(f"weights of shape {weights.shape} are not {len(ACTIONS)} rows of {len(FEATURES)} numbers")
        self.weights, self.limits, self.name = weights, limits, name

    def probabilities(self, memory: Memory) -> tuple[float, ...]:
        """See `Policy.probabilities`."""
        row = softmax(self.weights @ features(memory, self.limits), possible(memory, self.limits))
        return tuple(float(probability) for probability in row)


def softmax(scores: Floats, is_possible: Sequence[bool] | NDArray[np.bool_]) -> Floats:
    """Probabilities of the possible actions by their scores, 0 for the others.

    Args:
        scores: Shape (..., len(ACTIONS)).
        is_possible: The same shape, one of each row true.
    """
    shares: Floats = special.softmax(np.where(is_possible, scores, -np.inf), axis=-1)
    return shares
