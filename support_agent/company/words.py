"""Extracts words, numbers, codes, countries and currencies from a text in any language.

Checked by tests/unit/company/test_words.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

from babel import Locale, UnknownLocaleError
from babel.numbers import get_currency_name, get_territory_currencies

from support_agent.company.periods import table as period_table
from support_agent.company.periods.table import TABLES

WORDS = re.compile(r"[^\W_](?:[\w-]*[^\W_])?")
"""Words, including hyphenated ones."""
ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DIGITS = re.compile(r"(?<![^\W_])(?:[^\W\d_]*-)?[^\W\d_]*\d(?:[\w.,/:-]*\w)?(?:[ \u00a0]\d{3}\b)*")
_GROUPED = re.compile(r"\d{1,3}(?:[.,'\u2019]\d{3})+")
_GROUPING = re.compile(r"[.,'\u2019\s](?=\d{3}(?!\d))")
_QUANTITY = re.compile(r"\d+(?:[.,:]\d+)?(?:-?[^\W\d_A-Z]{1,4}|[A-Z]{1,3})")
_YEAR = re.compile(r"(?:19|20)\d\d")
SPACELESS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Letters of scripts without spaces between words: Thai, Japanese, Chinese, and Korean with its particles."""
CAPITAL_NOUNS = frozenset(["de", "lb"])
"""Languages that write every noun with a capital."""
_TWO_NAMES = re.compile(r"(\w+) \((\w+)\)")
_ISO_CODE = re.compile(r"\b[A-Z]{3}\b")
_SUM = re.compile(r"\d+[.,]\d\d")
ALPHABETS_ALIKE = frozenset(["LATIN", "CYRILLIC", "GREEK"])
"""The first words of the Unicode names of their letters."""
LEAST_MIXED = 3
"""Least characters of a word with letters of two alphabets; shorter ones are units ("\u03bcm")."""
_INFLECTED = re.compile(r"^[A-Z]{2,}(?=[^\W\d_A-Za-z]+$)")
LEAST_CODE = 3
"""Least characters of a mix of letters and digits that is a code."""
LEAST_REFERENCE = 5
"""Least digits of a number that is a reference, not a count."""
NAME_LETTERS = 4
"""Least letters of a country or currency name; shorter ones are often other words."""
COUNTRY_WORDS = 4
"""Most words of a country name; nearly all names fit ("Bosnien und Herzegowina")."""
SHARED = 3
"""A word shared by this many currency names is their noun ("dollar"); it shows the word order of the language."""


def digits_in(text: str) -> list[str]:
    """All tokens with a digit: "2026-10", "HF-M07", "249 118 003", "20GB"."""
    return _DIGITS.findall(text)


def plain_number(digits: str) -> str:
    """A number without digit grouping: "1,000" and "1000" are equal."""
    return _GROUPING.sub("", digits.casefold())


def is_code(token: str) -> bool:
    """Whether a token mixes letters and digits as identifiers do; "20GB", "2nd" and "14h" are quantities."""
    return len(token) >= LEAST_CODE and any(map(str.isalpha, token)) and not _QUANTITY.fullmatch(token)


def is_one_thing(token: str) -> bool:
    """Whether a number is a day, year, sum or reference, and not a count.

    A document's rule holds for any count, so it need not contain the customer's.
    """
    digits = re.sub(r"\D", "", token)
    is_reference = len(digits) >= LEAST_REFERENCE and not _GROUPED.fullmatch(token)
    return is_code(token) or is_reference or "/" in token or bool(_YEAR.fullmatch(token) or _SUM.fullmatch(token))


def codes_in(text: str) -> list[str]:
    """The codes in a text."""
    return [token for token in digits_in(text) if is_code(token)]


def family(code: str) -> str:
    """The pattern of a code: "hf-m00" for "HF-M07"."""
    return re.sub(r"\d", "0", code).casefold()


class _Visible(dict[int, int | None]):
    """For `str.translate`: takes out format characters; each character is looked up once."""

    def __missing__(self, point: int) -> int | None:
        self[point] = None if unicodedata.category(chr(point)) == "Cf" else point
        return self[point]


_VISIBLE = _Visible()


def _locale(language: str) -> Locale | None:
    """CLDR's data of a language, or None if CLDR does not have it."""
    try:
        return Locale.parse(language)
    except (ValueError, UnknownLocaleError):
        return None


def plain_letters(text: str) -> str:
    """The text without invisible characters, its letters and digits in their usual form: full-width, bold, decomposed.

    Punctuation stays, because full-width marks end sentences without a space after them.
    """
    if text.isascii():
        return text
    usual = "".join(unicodedata.normalize("NFKC", one) if _is_letter(one) else one for one in text)
    return unicodedata.normalize("NFC", usual).translate(_VISIBLE)


def _is_letter(character: str) -> bool:
    """Whether it is a letter or a decimal digit; the raised ones of ordinals ("2.º") are none."""
    category, is_raised = unicodedata.category(character), unicodedata.decomposition(character).startswith("<super>")
    return (category[0] == "L" and not is_raised) or category == "Nd"


def mixed_scripts_in(text: str) -> list[str]:
    """The words with look-alike letters of another alphabet, such as a Cyrillic "o" in a Latin word.

    An abbreviation with the ending of another language ("PDF" in Russian) is none.

    Source: UTS 39, section 5.2: no Cyrillic or Greek in one word with Latin ("Moderately Restrictive").
    """
    if text.isascii():
        return []
    words = [part for word in WORDS.findall(text) for part in word.split("-") if len(part) >= LEAST_MIXED]
    return [word for word in words if len(_alphabets(_INFLECTED.sub("", word))) > 1]


def _alphabets(word: str) -> set[str]:
    named = {unicodedata.name(letter, "").partition(" ")[0] for letter in word if letter.isalpha()}
    return named & ALPHABETS_ALIKE


def visible(text: str) -> str:
    """The text without invisible characters, full-width characters replaced (NFKC)."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_VISIBLE)


@lru_cache(maxsize=64)
def places_and_currencies(language: str) -> frozenset[str]:
    """Names of countries and nouns of currencies ("dollar", "euro") in a language, in lower case, from CLDR."""
    locale = _locale(language)
    if locale is None:
        return frozenset()
    by_code = [[name.split() for name in _currency_names(code, locale)] for code in _currencies()]
    names = [name for forms in by_code for name in forms]
    shared = Counter(word for forms in by_code for word in {word for name in forms for word in name})
    is_first = Counter(place == 0 for name in names for place, word in enumerate(name) if shared[word] >= SHARED)
    noun = 0 if is_first[True] > is_first[False] else -1
    money = [name[noun] for name in names if len(name) < SHARED or shared[name[noun]] >= SHARED]
    return frozenset(word.casefold() for word in (*countries(language), *money) if len(word) >= NAME_LETTERS)


@lru_cache(maxsize=64)
def countries(language: str) -> Mapping[str, str]:
    """CLDR's two-letter codes of countries and unions of countries, by lower-case name in a language."""
    locale = _locale(language)
    if locale is None:
        return {}
    named = [(code, name) for code, name in locale.territories.items() if len(code) == 2 and len(name) >= NAME_LETTERS]
    joined = locale.list_patterns["standard"]["2"].replace("{0}", "").replace("{1}", "")
    found = {_plain(name): code for code, name in named}
    others = [(other, code) for code, name in named for other in _other_names(name, joined)]
    return {**{_plain(other): code for other, code in others}, **found}


def _other_names(name: str, joined: str) -> Iterator[str]:
    """Other spellings of a CLDR country name such as "Bosnia & Herzegovina" or "Myanmar (Burma)"."""
    yield name.replace(" & ", joined)
    if match := _TWO_NAMES.fullmatch(name):
        yield from match.groups()


def _plain(name: str) -> str:
    return " ".join(WORDS.findall(name.casefold()))


@lru_cache(maxsize=64)
def _first_words(language: str) -> frozenset[str]:
    """The words that names of countries begin with in a language."""
    return frozenset(name.partition(" ")[0] for name in countries(language))


def countries_in(text: str, language: str) -> frozenset[str]:
    """The codes of the countries named in a text; the longest name wins (Papua New Guinea is not Guinea)."""
    known, words = countries(language), WORDS.findall(text.casefold())
    begins = _first_words(language)
    found, start = set(), 0
    while start < len(words):
        if words[start] not in begins:
            start += 1
            continue
        runs = ((length, " ".join(words[start : start + length])) for length in range(COUNTRY_WORDS, 0, -1))
        length, name = next(((length, name) for length, name in runs if name in known), (1, ""))
        found |= {known[name]} if name else set()
        start += length
    return frozenset(found)


@lru_cache(maxsize=1)
def _currencies() -> frozenset[str]:
    """The codes of all currencies in use today."""
    territories = [code for code in map(str, Locale.parse("en").territories) if len(code) == 2 and code.isalpha()]
    return frozenset(code for territory in territories for code in get_territory_currencies(territory))


@lru_cache(maxsize=64)
def months_of(language: str) -> Mapping[str, int]:
    """The lower-case month names of a language with their numbers 1..12.

    They come from the language's table of periods with all declined forms, or else from CLDR.
    """
    if language in TABLES:
        names: Mapping[str, int] = period_table.month_names(language).wide
    else:
        locale = _locale(language)
        wide = locale.months["format"]["wide"] if locale else {}
        names = {name: number for number, name in wide.items()}
    return {name.split()[-1].casefold(): number for name, number in names.items() if name.split()[-1].isalpha()}


@lru_cache(maxsize=64)
def _signs(language: str) -> tuple[tuple[str, str], ...]:
    """The currencies that a language writes with a single sign, each with its sign."""
    locale = _locale(language)
    known = locale.currency_symbols.items() if locale is not None else ()
    return tuple((code, sign) for code, sign in known if len(sign) == 1)


def currencies_in(text: str, language: str) -> frozenset[str]:
    """The names, in a language, of the currencies whose code or sign is in a text ("EUR", "€")."""
    locale = _locale(language)
    if locale is None:
        return frozenset()
    codes = {code for code in _ISO_CODE.findall(text) if code in locale.currencies}
    codes |= {code for code, sign in _signs(language) if sign in text}
    return frozenset(name for code in codes for name in _currency_names(code, locale))


def _currency_names(code: str, locale: Locale) -> set[str]:
    return {get_currency_name(code, count=count, locale=locale) for count in (None, 1, 5)}
