"""Differing numbers in sentences that mean nearly the same."""

from __future__ import annotations

import pytest

from support_agent.ops.backtest.contradictions import Numbered, amounts_in, are_in_conflict, together
from tests.unit.ops.backtest.made import MEANING, document

LINK = document(1, "The link in the password mail works once and for 60 minutes.")


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("within 30 days", {"duration": {"2.592e+06"}}),
        ("within 24 hours or 1 day", {"duration": {"86400"}}),
        ("costs 1,000.50 EUR or €12", {"eur": {"1000.5", "12"}}),
        ("kostet 1.000,50 EUR", {"eur": {"1000.5"}}),
        ("50 % off, 10 percent more", {"%": {"50", "10"}}),
        ("until 31 January 2026", {"date": {"31 january 2026"}}),
        ("since 2026-01-31", {"date": {"2026-01-31"}}),
        ("up to 3 seats and 1 seat", {"seat": {"3", "1"}}),
        ("error 0x80070643, TLS 1.3", {}),
        ("in 2026", {}),
    ],
)
def test_amounts_are_numbers_with_a_unit(text: str, amounts: dict[str, set[str]]) -> None:
    assert {unit: set(values) for unit, values in amounts_in(text).items()} == amounts


@pytest.mark.parametrize(
    ("one", "other", "is_conflict"),
    [
        ("for 60 minutes", "for 24 hours", True),
        ("for 60 minutes", "for 1 hour", False),
        ("for 60 minutes", "for 5 EUR", False),
        ("14 days, or 30 days", "30 days", False),
        ("5 EUR within 3 days", "5 EUR within 4 days", False),
    ],
)
def test_values_of_one_unit_that_have_nothing_in_common_are_a_conflict(one: str, other: str, is_conflict: bool) -> None:
    """Rule: a text with a shared value may only be shorter than the other, so it is not told."""
    assert are_in_conflict(amounts_in(one), amounts_in(other)) is is_conflict


def test_a_person_who_gives_another_number_than_the_document_is_found() -> None:
    numbered = Numbered([LINK], MEANING)
    (found,) = numbered.against("Hello,\n\nThe link in the password mail works once and for 24 hours.\n\nRegards")
    assert (found.place.document, found.other) == (1, None)
    assert "24 hours" in found.said
    assert numbered.against("The link in the password mail works once and for 60 minutes.") == ()
    assert numbered.against("The training takes 24 hours.") == ()


def test_a_sentence_that_agrees_with_a_document_as_near_is_no_contradiction() -> None:
    other = document(2, "The link in the invitation mail works once and for 24 hours.")
    said = "The link in the password mail works once and for 24 hours."
    assert len(Numbered([LINK], MEANING).against(said)) == 1
    assert Numbered([LINK, document(3, said)], MEANING).against(said) == ()
    assert len(Numbered([LINK, other], MEANING).against(said)) in (0, 1)


def test_two_documents_that_give_other_numbers_are_found_once() -> None:
    other = document(2, "The link in the password mail works once and for 90 minutes.")
    (found,) = Numbered([LINK, other], MEANING).between()
    assert (found.place.document, found.other.document if found.other else 0) == (1, 2)


def test_sentences_that_name_the_subject_of_their_own_document_speak_of_two_things() -> None:
    one = document(1, "The app for Windows needs 600 MB of free disk space.", "Installation on Windows")
    other = document(2, "The app for Linux needs 400 MB of free disk space.", "Installation on Linux")
    assert list(Numbered([one, other], MEANING).between()) == []
    general = document(3, "The app for Windows needs 400 MB of free disk space.", "What you need")
    assert len(list(Numbered([one, general], MEANING).between())) == 1


def test_a_document_does_not_contradict_itself() -> None:
    twice = document(1, "Cards take up to 5 days after approval.\n\nBanks take up to 10 days after approval.")
    assert list(Numbered([twice], MEANING).between()) == []
    assert list(Numbered([document(1, "No number.")], MEANING).between()) == []


def test_findings_about_one_sentence_are_one_with_its_number_of_answers() -> None:
    found = Numbered([LINK], MEANING).against("The link in the password mail works once and for 24 hours.")
    assert [one.times for one in together([*found, *found])] == [2]
