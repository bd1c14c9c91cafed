"""Claims are compared by their meaning where it is sure: what the evidence says in other writing is not unknown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.facts.inquiry.claims import (
    NUMBER_NAMES,
    unknown_addresses,
    unknown_dates,
    unknown_names,
    unknown_numbers,
)


@pytest.mark.parametrize(
    ("draft", "evidence"),
    [
        ("It costs 1000 euros.", "It costs 1,000 euros."),
        ("It costs 1.000,50 euros.", "It costs 1,000.50 euros."),
        ("It costs 9,9 euros.", "It costs 9.90 euros."),
        ("Within 14 days.", "Within fourteen days."),
        ("Within two weeks.", "Within 2 weeks."),
        ("Innerhalb von zwei Wochen.", "Within two weeks."),
        ("Version 1.2.3.", "Version 1.2.3 is out."),
        ("1.500 Euro", "1500"),
        ("0.50, 10, 100 and 7", ".5 is 0,5; 10.0; 100.00; 007"),
        ("once it is paid", "paid"),
        ("It is B2B, on A4, at no charge.", ""),
    ],
)
def test_a_number_in_another_writing_is_known(draft: str, evidence: str) -> None:
    assert unknown_numbers(draft, evidence) == ()


@pytest.mark.parametrize(
    ("draft", "evidence", "unknown"),
    [
        ("It costs 12 euros and 30 cents.", "It costs 12 euros.", ("30",)),
        ("Within 14 days.", "Within 140 days, 1.4 of 41.", ("14",)),
        ("Within seven days, 7 in all.", "Soon.", ("7", "seven")),
        ("Version 1.2.4.", "Version 1.2.3.", ("1.2.4",)),
        ("It is 5% off, 5% in all.", "It is 50% off.", ("5",)),
        ("Pay by 5 May 2026.", "2 pages", ()),
        ("1. Open the list.\n2. Ask.\n 3) Wait.", "Soon.", ()),
        ("1. Open the list.\n2. Wait 3 days.", "Soon.", ("3",)),
        ("DE12345678901234567890123456789012", "", ()),
        ("No. 12345678901234567890123456789012", "No. 12345678901234567890123456789013", ("1234567890" * 3 + "12",)),
    ],
)
def test_a_number_that_stands_nowhere_is_unknown(draft: str, evidence: str, unknown: tuple[str, ...]) -> None:
    """Rule: a number is whole: 14 does not stand in 140. The numbers of a date are looked at as a date."""
    assert unknown_numbers(draft, evidence) == unknown


@pytest.mark.parametrize(
    ("draft", "evidence"),
    [
        ("On 5 November 2026.", "From 2026-11-05 on."),
        ("On November 5th, 2026.", "Am 5. November 2026."),
        ("Am 05.11.2026.", "On 5 Nov 2026."),
        ("El 5 de noviembre de 2026.", "On November 5, 2026."),
        ("On 5 November.", "On 2026-11-05."),
        ("In November 2026.", "On 2026-11-05."),
        ("On 3/4/2026.", "On 4 March 2026."),
        ("On 3/4/2026.", "On 3 April 2026."),
        ("On 5.11.26.", "On 2026-11-05."),
    ],
)
def test_a_date_in_another_writing_is_known(draft: str, evidence: str) -> None:
    """Rule: a draft may be less exact than the evidence."""
    assert unknown_dates(draft, evidence) == ()
    assert unknown_numbers(draft, evidence) == ()


@pytest.mark.parametrize(
    ("draft", "evidence", "unknown"),
    [
        ("On 6 November 2026.", "On 5 November 2026.", ("6 November 2026",)),
        ("On 5 November 2027.", "On 5 November 2026.", ("5 November 2027",)),
        ("On 5 November 2026.", "On 5 November.", ("5 November 2026",)),
        ("On 5 November 2026.", "In November 2026.", ("5 November 2026",)),
        ("On 5  October,\n2026.", "5 and 2026", ("5 October, 2026",)),
        ("On 2026-13-40.", "", ()),
    ],
)
def test_a_date_that_stands_nowhere_is_unknown(draft: str, evidence: str, unknown: tuple[str, ...]) -> None:
    """Rule: a draft may not be more exact than the evidence; what is no date is none."""
    assert unknown_dates(draft, evidence) == unknown


def test_an_address_must_stand_whole() -> None:
    """A link to the right host with another path leads elsewhere."""
    known = "Write to Help@acme.example, or see https://acme.example/refunds."
    draft = "See https://acme.example/refunds. Or https://acme.example/r, or bob@acme.example; HELP@acme.example."
    assert unknown_addresses(draft, known) == ("https://acme.example/r", "bob@acme.example")


@pytest.mark.parametrize(
    ("draft", "known", "unknown"),
    [
        ("Please ask Ann Baker at Acme's desk.", "Acme has a desk; ask ann.", ("Baker",)),
        ("Perhaps. Certainly: Now it works, I'm sure.", "", ()),
        ("PayPal works.", "Cards work.", ("PayPal",)),
        ("Zahlen Sie die Rechnung für den Monat mit PayPal.", "", ("PayPal",)),
        ("Due in November 2026 at help@Acme.example.", "", ()),
        ("Use the Acme-Card.", "The card of ACME.", ()),
    ],
)
def test_names_are_words_with_a_capital_inside_a_sentence(draft: str, known: str, unknown: tuple[str, ...]) -> None:
    """Rule: the beginning of a sentence, German nouns, dates and addresses are no names."""
    assert unknown_names(draft, known) == unknown


@given(st.text(max_size=200))
def test_nothing_is_unknown_to_itself(text: str) -> None:
    """Rule: a draft that repeats the evidence claims nothing new, whatever it says."""
    assert unknown_dates(text, text) == ()
    assert unknown_numbers(text, text) == ()
    assert unknown_addresses(text, text) == ()
    assert unknown_names(text, text) == ()


@given(st.text(alphabet="0123456789.,/- aIfeb2\u0660\u00b2ignore", max_size=60))
def test_a_number_or_a_date_carries_no_other_word(text: str) -> None:
    """Rule: what goes into feedback is digits and the names of numbers and months."""
    for token in unknown_numbers(text, ""):
        assert token in NUMBER_NAMES or re.fullmatch(r"[0-9.,]+", token)
    for token in unknown_dates(text, ""):
        assert re.fullmatch(r"[0-9./, -]*(?:st|nd|rd|th)?[a-z., ]*[0-9]*", token, re.IGNORECASE)
        assert "ignore" not in token
