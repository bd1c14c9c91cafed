"""Which sections of its own a document refers to."""

from __future__ import annotations

import pytest

from support_agent.company.documents import Document, Sentence
from support_agent.company.references import referred_to
from tests.unit.tools.fakes import document

REST = "\n\n## Limits\n\nOnly twice a year.\n\n## The first month\n\nAlways.\n\n## Limits\n\nNot for gifts.\n"


def named(sentence: str, language: str | None = None) -> list[str]:
    """What comes along with this sentence."""
    policy = document(1, f"## Refunds\n\n{sentence}{REST}").model_copy(update={"language": language})
    return [sentence.text for sentence in referred_to(policy, _under(policy, "Refunds"))]


def _under(policy: Document, heading: str) -> list[Sentence]:
    return [sentence for sentence in policy.sentences if sentence.heading == heading]


LIMITS = ["Only twice a year.", "Not for gifts."]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("You get it back, except as in Limits.", LIMITS),
        ('You get it back, but see "limits".', LIMITS),
        ("Geld zurück gibt es, siehe „Limits“.", LIMITS),
        ("Vous êtes remboursé, sauf « Limits ».", LIMITS),
        ("The first month is different: see The first month.", ["Always."]),
        ("You get it back (see Limits).", LIMITS),
        ("You get it back, see: Limits.", LIMITS),
        ("This holds in The first month, and within Limits.", [*LIMITS[:1], "Always.", *LIMITS[1:]]),
    ],
)
def test_a_heading_that_is_named_brings_what_stands_under_it(sentence: str, expected: list[str]) -> None:
    """In quotation marks, or as it is written; also where two sections have it."""
    assert named(sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "There are limits to this.",
        "Limits do not hold here.",
        "Open Settings > Limits to see them.",
        "Then open Limits > Yearly to see them.",
        "It is no Limitsetter.",
        "Refunds are for the first month.",
        "The buyers' limits' end.",
    ],
)
def test_a_word_that_a_heading_happens_to_be_is_no_reference(sentence: str) -> None:
    """At the start of a sentence, in a menu, in small letters or as a part of another."""
    assert named(sentence) == []


def test_in_german_a_single_noun_is_no_reference_without_marks() -> None:
    """Every noun is a capital there; words in marks, and headings of several words, are."""
    assert named("Dafür gelten Limits.", "de") == []
    assert named("Dafür gilt „Limits“.", "de-AT") == LIMITS
    assert named("Dafür gilt The first month.", "de") == ["Always."]


def test_the_sections_own_heading_and_that_of_no_section_bring_nothing() -> None:
    """What stands above the first heading has none."""
    policy = document(1, "Before all.\n\n## Refunds\n\nSee Refunds and more.\n")
    assert referred_to(policy, _under(policy, "Refunds")) == ()


def test_what_is_referred_to_brings_what_it_refers_to_itself() -> None:
    """In a ring each comes once; a heading of a letter or two is only one in marks."""
    policy = document(
        1, "## Refunds\n\nSee Limits.\n\n## Limits\n\nAs in Gifts.\n\n## Gifts\n\nSee Refunds.\n\n## I\n\nX.\n"
    )
    assert [one.text for one in referred_to(policy, _under(policy, "Refunds"))] == ["As in Gifts.", "See Refunds."]
    other = document(1, "## Refunds\n\nSo I went.\n\n## I\n\nX.\n")
    assert referred_to(other, _under(other, "Refunds")) == ()
