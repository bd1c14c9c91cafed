"""The constructed cases of evidence: the same each time, each claim with the sentence it was made of."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from support_agent.company.documents import Document, load_documents
from support_agent.config.packaged_files import packaged
from tests.benchmarks.companies import COMPANIES
from tests.benchmarks.papers.constructed import (
    FITTING,
    MOST_CLAIMS,
    REPORTED,
    constructed,
    falsified,
    reworded,
)

POLICIES = Path(str(packaged("policies")))
DOCUMENTS = load_documents(POLICIES)


def few() -> tuple[Document, ...]:
    return tuple(DOCUMENTS[:3])


def test_the_same_seed_makes_the_same_cases_and_another_makes_others() -> None:
    """Rule: a number that is reported can be measured again."""
    assert constructed(few(), 20, 1) == constructed(few(), 20, 1)
    assert constructed(few(), 20, 1) != constructed(few(), 20, 2)
    assert constructed(few(), 20, 1)[:5] == constructed(few(), 5, 1)


def test_every_true_claim_points_at_a_sentence_and_no_case_comes_twice() -> None:
    """Rule: evidence is 1 to 3 sentences of the document, never a row of a table; one claim at most is false."""
    cases = constructed(few(), 200, 1)
    assert len(cases) == len({(case.source.key, case.gold) for case in cases}) == 200
    for case in cases:
        assert 1 <= len(case.gold) <= MOST_CLAIMS
        assert {case.source.sentences[position].kind for position in case.gold} <= {"sentence", "item"}
        assert sum(claim.position is None for claim in case.claims) <= 1
        assert case.answer == " ".join(claim.text for claim in case.claims)
    assert 20 < sum(any(claim.position is None for claim in case.claims) for case in cases) < 80


def test_documents_with_little_in_them_make_fewer_cases_than_asked_for() -> None:
    """Rule: it ends."""
    assert constructed((), 5, 1) == ()
    (document,) = few()[:1]
    short = document.model_copy(update={"sentences": document.sentences[:12]})
    assert 0 < len(constructed((short,), 1_000_000, 1)) < 1_000_000


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("You get it within 14 days (often sooner).", "The customer receive it in at most fourteen days."),
        ("Press Save in Settings", "Click Save in Settings."),
        ("It takes 1.5 hours and costs 30 EUR.", "It takes 1.5 hours and is priced at 30 EUR."),
    ],
)
def test_a_claim_says_its_sentence_in_other_words(sentence: str, claim: str) -> None:
    """Rule: remarks go, numbers up to twenty change their writing, names stay."""
    assert reworded(sentence, random.Random(1)) == claim


def test_of_two_long_halves_one_may_be_left() -> None:
    """Rule: a claim may say less than its sentence, never more."""
    sentence = "Open the page of your plan in Settings, and press the red button below it."
    claims = {reworded(sentence, random.Random(seed)) for seed in range(20)}
    assert len(claims) == 3
    assert "And click the red button below it." in claims


@pytest.mark.parametrize(
    ("claim", "false"),
    [("It takes 30 days.", None), ("It is sent by post.", "It is not sent by post."), ("Seats may move.", None)],
)
def test_a_false_claim_has_another_number_or_denies(claim: str, false: str | None) -> None:
    found = falsified(claim, random.Random(1))
    assert found is not None
    assert found != claim
    assert false is None or found == false


def test_what_can_be_neither_renumbered_nor_denied_is_not_false() -> None:
    assert falsified("Nobody knows.", random.Random(1)) is None


def test_nothing_is_fitted_to_a_company_that_is_reported() -> None:
    """Rule: both parts are there, and share no company."""
    assert not set(FITTING) & set(REPORTED)
    assert all((COMPANIES / name / "policies").is_dir() for name in {*FITTING, *REPORTED} - {"demo"})
