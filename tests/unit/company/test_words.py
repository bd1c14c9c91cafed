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
    mixed_scripts_in,
    months_of,
    places_and_currencies,
    plain_letters,
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


@pytest.mark.parametrize("text", ["in \u041carch", "with\u043eut", "\u039c\u00e4rz 2025", "n\u043et", "\u043dow-much"])
def test_a_word_with_letters_of_another_alphabet_that_look_alike_is_found(text: str) -> None:
    """UTS 39, section 5.2."""
    assert mixed_scripts_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "20 \u03bcm and 3 k\u03a9",
        "API-\u043a\u043b\u044e\u0447",
        "PDF\u043a\u0443",
        "Tokyo\u306e",
        "\u041c\u0430\u0440\u0442 2025",
        "M\u00e4rz",
        "March",
    ],
)
def test_units_inflected_abbreviations_and_words_of_one_alphabet_are_not(text: str) -> None:
    assert not mixed_scripts_in(text)


def test_full_width_bold_and_decomposed_letters_are_read_as_usual_ones() -> None:
    """The marks of sentences stay: after a full-width one a sentence begins without a space."""
    assert plain_letters("\uff29\uff4e \uff12\uff10\uff12\uff15\uff1f") == "In 2025\uff1f"
    assert plain_letters("\U0001d407ow Ma\u0308rz Mar\u200bch") == "How M\u00e4rz March"
    assert plain_letters("2.\u00ba and 5 m\u00b2") == "2.\u00ba and 5 m\u00b2"
    assert plain_letters("\u0662\u0660\u0662\u0664") == "\u0662\u0660\u0662\u0664"
