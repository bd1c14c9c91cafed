"""Locale tags, and which text of several a reader gets."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from support_agent.config.settings import CompanySettings
from support_agent.core.locales import is_locale, language_name, locale_of, lookup, nearest_tag, plural_forms


def test_a_tag_is_looked_up_from_its_whole_to_its_language_then_english() -> None:
    """RFC 4647, section 3.4: parts are taken off the end, and a single letter goes with what it introduces."""
    assert list(lookup("zh-Hant-TW")) == ["zh-hant-tw", "zh-hant", "zh", "en"]
    assert list(lookup("de_AT-x-old")) == ["de-at-x-old", "de-at", "de", "en"]
    assert list(lookup("")) == ["en"]


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("de-XX", "de"),
        ("xx-YY", "en_001"),
        ("de_AT", "de_AT"),
        ("pt-br", "pt_BR"),
        ("en", "en_001"),
        ("en-US", "en_US"),
        ("", "en_001"),
    ],
)
def test_an_unknown_locale_falls_back(tag: str, expected: str) -> None:
    """An unknown territory to its language, an unknown language to English; never an error in a mail."""
    assert str(locale_of(tag)) == expected


def test_a_locale_is_a_tag_of_a_language_that_exists() -> None:
    """A misspelt one is told where it is written, not found out by a customer."""
    tags = ("de", "pt-BR", "zh-Hant-TW", "", "xx", "deutsch", "de_DE")
    assert [tag for tag in tags if is_locale(tag)] == ["de", "pt-BR", "zh-Hant-TW"]


def test_the_companys_locale_is_no_closed_list() -> None:
    """Any language may be the company's own; what is no locale is refused."""
    assert CompanySettings(locale="pt-BR").locale == "pt-BR"
    with pytest.raises(ValidationError, match="'english' is no locale: write a language such as de"):
        CompanySettings(locale="english")


def test_plural_forms_are_those_of_the_language() -> None:
    """Spanish has a form for millions, which nobody must write; Polish needs four, Japanese has one."""
    assert plural_forms("es") == (frozenset({"one", "other"}), frozenset({"one", "many", "other"}))
    assert plural_forms("pl-PL")[0] == {"one", "few", "many", "other"}
    assert plural_forms("ja") == (frozenset({"other"}), frozenset({"other"}))


@pytest.mark.parametrize(
    ("tag", "available", "nearest"),
    [
        ("de-AT", ["en", "de", "de-AT"], "de-AT"),
        ("de-CH", ["en", "de"], "de"),
        ("pt", ["en", "pt-BR", "pt-PT"], "pt-BR"),
        ("zh-Hant-TW", ["zh-Hans", "zh-hant"], "zh-hant"),
        ("fr", ["en", "de"], None),
        ("", ["en"], None),
    ],
)
def test_the_nearest_tag_is_of_the_readers_language_or_there_is_none(
    tag: str, available: list[str], nearest: str | None
) -> None:
    """Unlike `lookup` it never ends in English: whoever asks has a default of their own."""
    assert nearest_tag(tag, available) == nearest


def test_a_language_is_named_in_the_readers() -> None:
    """Without its country; one that nobody has named is its tag."""
    assert [language_name("de-AT", reader) for reader in ("en-GB", "de", "fr-FR")] == ["German", "Deutsch", "allemand"]
    assert language_name("qq", "en") == "qq"
