"""How likely a sentence says what a claim says: the same rules for every implementation."""

from __future__ import annotations

import math

import pytest

from support_agent.errors import PermanentError, TransientError
from support_agent.facts.graph.entailment import FLOOR, Entailment, JudgedEntailment, SimilarEntailment, calibrated
from support_agent.facts.spending import NoRoom
from tests.unit.facts.graph.fakes import WordJudge, WordSimilarity

CLAIM = "Refunds are made within 14 days."
SIMILAR = SimilarEntailment(WordSimilarity())


@pytest.fixture(params=["judged", "similar"])
def entailment(request: pytest.FixtureRequest) -> Entailment:
    if request.param == "judged":
        return JudgedEntailment(WordJudge("14 days"), SIMILAR)
    return SIMILAR


def test_the_sentence_that_says_it_is_at_the_floor_and_another_is_not(entailment: Entailment) -> None:
    """Rule: one probability a sentence, in their order."""
    said, unsaid = entailment.entailed([CLAIM, "The office has a cat."], CLAIM)
    assert 0 <= unsaid < FLOOR <= said <= 1


def test_no_sentences_have_no_probabilities(entailment: Entailment) -> None:
    """Rule: nothing is asked then."""
    assert entailment.entailed([], CLAIM) == ()


def test_a_judged_sentence_costs_one_question() -> None:
    """Rule: the cost is known beforehand."""
    judge = WordJudge("x")
    JudgedEntailment(judge, SIMILAR).entailed(["a", "b", "c"], CLAIM)
    assert judge.asked == 3


def test_a_yes_is_calibrated_and_stays_a_probability() -> None:
    """Rule: slope 1 and intercept 0 change nothing; the order of two probabilities never changes."""
    assert calibrated(0.9, 1.0, 0.0) == pytest.approx(0.9)
    assert calibrated(0.5, 0.7, -1.0) == pytest.approx(1 / (1 + math.e))
    said = [0.0, 1e-9, 0.2, 0.5, 0.999, 1.0]
    changed = [calibrated(one, 0.5, -2.0) for one in said]
    assert changed == sorted(changed)
    assert all(0 < one < 1 for one in changed)
    judged = JudgedEntailment(WordJudge("14 days"), SIMILAR, slope=0.5, intercept=-2.0)
    assert judged.entailed([CLAIM, "No."], CLAIM) == (calibrated(0.9, 0.5, -2.0), calibrated(0.1, 0.5, -2.0))


@pytest.mark.parametrize("failure", [TransientError("no answer"), PermanentError("too long"), NoRoom("spent")])
def test_a_judge_that_fails_leaves_the_likeness_and_is_asked_no_more(failure: Exception) -> None:
    """Rule: a claim costs one time-out at most, and so does a mail."""
    judge = WordJudge("cat", failure)
    entailment = JudgedEntailment(judge, SIMILAR)
    sentences = [CLAIM, "The office has a cat."]
    assert entailment.entailed(sentences, CLAIM) == SIMILAR.entailed(sentences, CLAIM)
    judge.failure = None
    assert entailment.entailed(sentences, CLAIM) == SIMILAR.entailed(sentences, CLAIM)
    assert judge.asked == 1


@pytest.mark.parametrize(
    "other",
    [
        "Refunds are made within 30 days.",
        "Refunds are not made within 14 days.",
        "Refunds are never made within 14 days.",
    ],
)
def test_a_likeness_that_says_something_else_is_below_the_floor(other: str) -> None:
    """The failure's story: for an embedding, 14 and 30 days are the same, and so are do and do not."""
    assert SIMILAR.entailed([other], CLAIM)[0] < FLOOR


def test_two_denials_agree() -> None:
    """Rule: only a denial on one side counts against it."""
    (likeness,) = SIMILAR.entailed(["Refunds are not paid in cash."], "Refunds are never paid in cash.")
    assert likeness >= FLOOR


def test_a_claim_of_nothing_is_not_entailed() -> None:
    """Rule: words that name nothing are no support."""
    assert SIMILAR.entailed(["It is what it is."], "that is so")[0] < FLOOR
