"""Values as text: what a customer reads, and that nothing in a value can be more than text."""

from __future__ import annotations

import unicodedata
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.answer.formatting import (
    TABLE_WIDTH,
    bare_subject,
    clean_line,
    clean_lines,
    format_confidence,
    format_day,
    format_month,
    format_value,
    period_code,
    table_lines,
)
from support_agent.company.values import Count, Day, Money, Noun, Quantity, Text, Value

SEATS = Noun(one="seat", other="seats")
PLACES = Noun(one="miejsce", few="miejsca", many="miejsc", other="miejsca")


@pytest.mark.parametrize(
    ("value", "tag", "expected"),
    [
        (Money(amount=Decimal("228"), currency="EUR"), "en", "EUR 228.00"),
        (Money(amount=Decimal("-1234.5"), currency="EUR"), "de-DE", "EUR -1.234,50"),
        (Money(amount=Decimal("1234"), currency="JPY"), "en-US", "JPY 1,234"),
        (Day(day=date(2026, 3, 17)), "en", "17 March 2026"),
        (Day(day=date(2026, 3, 17)), "en-US", "March 17, 2026"),
        (Day(day=date(2026, 3, 17)), "de-AT", "17. März 2026"),
        (Count(count=1200, unit="seats"), "en", "1,200 seats"),
        (Count(count=3), "de", "3"),
        (Count(count=1, unit=SEATS), "en", "1 seat"),
        (Count(count=-1, unit=SEATS), "en", "-1 seat"),
        (Count(count=0, unit=SEATS), "en", "0 seats"),
        (Count(count=1200, unit=SEATS), "en", "1,200 seats"),
        (Quantity(amount=Decimal("1.0"), unit=SEATS), "en", "1 seat"),
        (Quantity(amount=Decimal("1.5"), unit=SEATS), "en", "1.5 seats"),
        (Count(count=1, unit=PLACES), "pl", "1 miejsce"),
        (Count(count=23, unit=PLACES), "pl-PL", "23 miejsca"),
        (Count(count=25, unit=PLACES), "pl-PL", "25 miejsc"),
        (Quantity(amount=Decimal("83.40"), unit="GB"), "de", "83,4 GB"),
        (Quantity(amount=Decimal("0.3333"), unit=""), "en", "0.3333"),
        (Quantity(amount=Decimal("0.00001"), unit="GB"), "en", "0.00001 GB"),
        (Text(text=" Team\r\nPro "), "en", "Team Pro"),
    ],
)
def test_a_value_is_written_as_its_locale_writes_it(value: Value, tag: str, expected: str) -> None:
    """Money with its code, days in the long form, numbers grouped; a small amount never becomes nothing."""
    assert format_value(value, tag) == expected


def test_a_month_is_named_with_its_year() -> None:
    """The name of the period 2024-03."""
    assert format_month(date(2024, 3, 1), "de-DE") == "März 2024"


@given(st.text())
def test_a_cleaned_line_is_one_line_without_unsafe_characters(text: str) -> None:
    """No line end, control, bidi control, private-use character or surrogate survives, even once more."""
    line = clean_line(text)
    assert not any(
        unicodedata.category(character) in {"Cc", "Co", "Cs", "Zl", "Zp"} or character in "\u202e\u2066\u200f\ufeff"
        for character in line
    )
    assert len(line.splitlines()) <= 1
    assert clean_line(line) == line


@given(st.text(alphabet=st.characters(categories=["L", "N", "P"])))
def test_plain_text_is_left_as_it_is(text: str) -> None:
    """Template syntax and markup are plain characters: they stay, as data."""
    assert clean_line(text) == text


def test_joiners_of_persian_and_emoji_stay() -> None:
    """A zero-width joiner is part of the writing, not a way to hide anything."""
    assert clean_line("👩\u200d💻 \u0646\u200c\u062e") == "👩\u200d💻 \u0646\u200c\u062e"


def test_lines_keep_their_indentation_and_lose_their_ends() -> None:
    """A mail's text for staff: line for line, without empty lines around it."""
    assert clean_lines("\n\n  a\r\nb\x00 \n\n c\n\n") == ("  a", "b", "", " c")


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("Re: AW: hello", "hello"),
        ("RE[2]: hello", "hello"),
        ("Regarding x", "Regarding x"),
        ("Re:\r\nBcc: y", "Bcc: y"),
    ],
)
def test_a_subject_loses_its_reply_prefixes(subject: str, expected: str) -> None:
    """RFC 5322 3.6.5: one "Re: " is put before it by the template, so none may be left."""
    assert bare_subject(subject) == expected


def test_a_confidence_is_never_rounded_up_to_certainty() -> None:
    """0.999 shown as 1.00 would say that there was no doubt."""
    assert (format_confidence(0.999), format_confidence(1)) == ("0.99", "1.00")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("2024", "year"),
        ("2024-03", "month"),
        ("last_quarter", "last_quarter"),
        ("٢٠٢٤", "٢٠٢٤"),
        ("20245", "20245"),
    ],
)
def test_a_period_name_has_a_code(name: str, code: str) -> None:
    """Years and months share one word each; any other name is its own code."""
    assert period_code(name) == code


def test_a_day_does_not_depend_on_case_or_separator_of_the_tag() -> None:
    """`de_DE` and `de-DE` are one locale."""
    assert format_day(date(2026, 1, 2), "de_DE") == format_day(date(2026, 1, 2), "de-DE")


def test_a_table_is_set_in_columns_of_the_widest_cell() -> None:
    """No line ends in white space, a short row has empty cells, and a rule is no mark of a signature."""
    assert table_lines((("A", "", "Plan"), ("bb", "x"), ("", "", "Team"))) == (
        ("A         Plan", "bb   x", "          Team"),
        "---  ---  ----",
    )


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    """As a mail program shows them in a font of fixed width."""
    lines = table_lines((("\u5b66\u6821", "a"), ("e\u0301te", "b"), ("wide", "c")))
    assert lines is not None
    assert lines[0] == ("\u5b66\u6821  a", "e\u0301te   b", "wide  c")


def test_a_table_that_is_wider_than_a_text_is_not_set_in_columns() -> None:
    """One character decides."""
    fits = table_lines((("x" * (TABLE_WIDTH - 5), "abc"),))
    assert fits is not None
    assert len(fits[0][0]) == len(fits[1]) == TABLE_WIDTH
    assert table_lines((("x" * (TABLE_WIDTH - 4), "abc"),)) is None
