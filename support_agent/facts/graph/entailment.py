"""The probability that a sentence entails a claim: asked of the language model, or measured without one.

Invariant: probabilities are 0..1, one per sentence, in the sentences' order. Both implementations pass
tests/unit/facts/graph/test_entailment.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from support_agent.errors import SupportAgentError
from support_agent.facts.name_words import FUNCTION_WORDS, stems_of
from support_agent.models.judge import Judge
from support_agent.tools.base import Similarity

QUESTION = "Does the sentence say what the claim says, with nothing of the claim missing?"
FLOOR = 0.5
"""Least probability of a sentence that may be evidence."""
OTHER_NUMBER = 0.25
"""Factor on the similarity if the claim has a number that the sentence does not have."""
OTHER_SIGN = 0.5
"""Factor on the similarity if only one of the two is negated."""
_DENIALS = """
    no not never none cannot can't don't doesn't isn't aren't won't without nicht kein keine keinen keiner nie ohne
    nunca ninguno ninguna sin tampoco
"""
DENIALS = frozenset(stems_of(_DENIALS))
SUREST = 1e-6
"""Least distance of a probability from 0 and from 1."""


class Entailment(Protocol):
    """Estimates whether sentences entail a claim."""

    def entailed(self, sentences: Sequence[str], claim: str) -> tuple[float, ...]:
        """The probability that each sentence alone entails the claim, 0..1; from `FLOOR` on it may be evidence.

        Raises:
            SupportAgentError: raised by the similarity.
        """
        ...


class SimilarEntailment:
    """Similarity in place of entailment, without a model: the mean of covered words and cosine.

    A different number, or a negation on one side only, reduces it strongly: such texts are close for an embedding, but
    say different things.
    """

    def __init__(self, similarity: Similarity) -> None:
        self._similarity = similarity

    def entailed(self, sentences: Sequence[str], claim: str) -> tuple[float, ...]:
        """As `Entailment.entailed`; uses no language model."""
        if not sentences:
            return ()
        cosines = self._similarity.similarities(claim, sentences)
        return tuple(_likeness(sentence, claim, cosine) for sentence, cosine in zip(sentences, cosines, strict=True))


class JudgedEntailment:
    """The language model's "yes" to each sentence, calibrated: one forward pass per sentence.

    If the model fails on one of them, the similarity is used for all, and the model is not asked again: one object
    serves one mail, and each further claim would take another timeout.
    """

    def __init__(
        self, judge: Judge, otherwise: SimilarEntailment, *, slope: float = 1.0, intercept: float = 0.0
    ) -> None:
        """The defaults leave each "yes" uncalibrated, see `calibrated`."""
        self._judge = judge
        self._otherwise = otherwise
        self._slope, self._intercept = slope, intercept
        self._may_ask = True

    def entailed(self, sentences: Sequence[str], claim: str) -> tuple[float, ...]:
        """As `Entailment.entailed`."""
        if self._may_ask:
            try:
                return tuple(self._yes(sentence, claim) for sentence in sentences)
            except SupportAgentError:
                self._may_ask = False
        return self._otherwise.entailed(sentences, claim)

    def _yes(self, sentence: str, claim: str) -> float:
        grade = self._judge.yes(QUESTION, (("claim", claim), ("sentence", sentence)))
        return calibrated(grade.probability, self._slope, self._intercept)


def log_odds(probability: float) -> float:
    """The log-odds of a probability, bounded by `SUREST`."""
    bounded = min(max(probability, SUREST), 1 - SUREST)
    return math.log(bounded / (1 - bounded))


def calibrated(probability: float, slope: float, intercept: float) -> float:
    """The logistic function of slope * log-odds + intercept.

    Source: Platt 1999, "Probabilistic outputs for support vector machines".
    """
    return 1 / (1 + math.exp(-(slope * log_odds(probability) + intercept)))


def _likeness(sentence: str, claim: str, cosine: float) -> float:
    """The share of the claim's stems that are in the sentence, 0..1."""
    said, claimed = set(stems_of(sentence)), set(stems_of(claim))
    wanted = claimed - FUNCTION_WORDS - DENIALS
    covered = len(wanted & said) / len(wanted) if wanted else 0.0
    likeness = (covered + min(max(cosine, 0.0), 1.0)) / 2
    if any(word[0].isdigit() and word not in said for word in claimed):
        likeness *= OTHER_NUMBER
    if bool(said & DENIALS) != bool(claimed & DENIALS):
        likeness *= OTHER_SIGN
    return likeness
