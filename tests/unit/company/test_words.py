"""Words, numbers and codes of a text."""

from __future__ import annotations

import pytest

from support_agent.company.words import (
    codes_in,
    countries_in,
    currencies_in,
    digits_in,
    family,
    is_code,
    is_one_thing,
    months_of,
    places_and_currencies,
    plain_number,
)


@pytest.mark.parametrize("token", ["HF-M07", "7731-B", "KRRH6B9", "0x80070005", "ZK/318/2026x"])
def test_letters_mixed_with_digits_are_a_code(token: str) -> None:
    assert is_code(token)
    assert is_one_thing(token)


@pytest.mark.parametrize("token", ["20GB", "2nd", "14h", "10-go", "5C", "x3", "12"])
def test_how_many_of_what_is_no_case(token: str) -> None:
    assert not is_one_thing(token)


@pytest.mark.parametrize("token", ["2019", "18.40", "38,00", "18204771", "249 118 003", "12/10"])
def test_a_year_a_sum_a_reference_and_a_day_are_a_case(token: str) -> None:
    assert is_one_thing(token)


def test_a_large_number_with_grouped_digits_counts_something() -> None:
    assert not is_one_thing("1.000.000")
    assert plain_number("1,000,000") == plain_number("1.000.000") == "1000000"


def test_everything_with_a_digit_is_found_whole() -> None:
    assert digits_in("HF-2025-0030 of 1,000 for 249 118 003") == ["HF-2025-0030", "1,000", "249 118 003"]
    assert codes_in("HF-M19 on 3 Macs") == ["HF-M19"]


def test_codes_of_one_kind_have_one_family() -> None:
    assert family("HF-M07") == family("hf-m19") != family("HF-L03")


def test_months_countries_and_currencies_are_known_in_many_languages() -> None:
    assert "października" in months_of("pl")
    assert {"österreich", "dollar"} <= places_and_currencies("de")
    assert "reais" in places_and_currencies("pt")
    assert "cuenta" not in places_and_currencies("es")


def test_a_language_that_is_not_known_has_no_names() -> None:
    assert not months_of("xx")
    assert places_and_currencies("xx") == currencies_in("EUR", "xx") == frozenset()


def test_a_currency_by_code_or_sign_has_its_names() -> None:
    assert "euros" in currencies_in("It costs EUR 5.00", "fr")
    assert "euros" in currencies_in("It costs 5 €", "en")
    assert currencies_in("It costs nothing", "en") == frozenset()


def test_months_do_not_depend_on_the_language_that_was_read_before() -> None:
    """babel 2.18 gives the stand-alone months of another language where a language has none of its own."""
    before = months_of.__wrapped__("zh")
    assert "oktober" in months_of.__wrapped__("sl")
    assert not set(before) & set(months_of.__wrapped__("sl"))
    assert months_of("ca")["octubre"] == months_of("en")["october"] == 10


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("We are in Bosnia and Herzegovina.", {"BA"}),
        ("Trinidad & Tobago", {"TT"}),
        ("from Burma, that is Myanmar", {"MM"}),
        ("in Papua New Guinea and Germany", {"PG", "DE"}),
        ("only Guinea", {"GN"}),
    ],
)
def test_a_country_is_found_by_its_whole_name_as_people_write_it(text: str, codes: set[str]) -> None:
    """CLDR writes "Bosnia & Herzegovina"; and who names Equatorial Guinea says nothing of Guinea."""
    assert countries_in(text, "en") == codes
