"""Locale tags (BCP 47: "de", "pt-BR"), and the choice of a reader's text among several locales.

Invariant: the program has no list of languages. A language is available if the company has templates for it; texts that
it lacks appear in English, which is always complete. Checked by tests/unit/core/test_locales.py and
tests/journey/test_third_language.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, TypeVar

from babel import Locale, UnknownLocaleError
from pydantic import AfterValidator

FALLBACK_LOCALE = "en"
"""Every text of the company exists in this locale; the others are optional."""
WORLD_ENGLISH = "en_001"
"""Used for "en" without a country: day before month, as in most of the world."""
TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
PLURAL_SAMPLE = 200
"""Whole numbers below this show every plural form of a language, except forms of millions."""

T = TypeVar("T")


def lookup(tag: str) -> Iterator[str]:
    """The tags of `shortened`, then "en"."""
    yield from shortened(tag)
    yield FALLBACK_LOCALE


def shortened(tag: str) -> Iterator[str]:
    """The tag in lower case, then shorter ones without its last parts: "zh-hant-tw", "zh-hant", "zh".

    Source: RFC 4647, section 3.4.
    """
    parts = tag.replace("_", "-").lower().split("-")
    while parts:
        if len(parts[-1]) > 1:
            yield "-".join(parts)
        parts.pop()


def language_of(tag: str) -> str:
    """The language of a tag, in lower case: "de" for "de-AT", "" if there is none."""
    return tag.replace("_", "-").lower().partition("-")[0]


def nearest_tag(tag: str, available: Iterable[str]) -> str | None:
    """The available tag nearest to a reader's tag; None if none has the reader's language.

    The first in `shortened` wins, else the first of the same language in another country ("pt-BR" for "pt").
    """
    by_tag = {other.lower(): other for other in available}
    found = next((by_tag[key] for key in shortened(tag) if key in by_tag), None)
    return found or next((other for other in by_tag.values() if language_of(other) == language_of(tag)), None)


def language_name(tag: str, reader: str) -> str:
    """A language's name in the reader's language: "German" for "de-AT" and "en-GB", "anglais" for "en" and "fr"."""
    return str(locale_of(reader).languages.get(language_of(tag), tag))


def localised(texts: Mapping[str, T], tag: str) -> T:
    """The text for a tag, found by `lookup`; there must be an English one."""
    by_tag = {key.lower(): text for key, text in texts.items()}
    return next(by_tag[key] for key in lookup(tag) if key in by_tag)


@lru_cache(maxsize=256)
def locale_of(tag: str) -> Locale:
    """The locale for numbers and dates. An unknown country falls back to its language, and that to English."""
    for candidate in lookup(tag):
        if candidate == FALLBACK_LOCALE:
            break
        try:
            return Locale.parse(candidate, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return Locale.parse(WORLD_ENGLISH)


def is_locale(tag: str) -> bool:
    """Whether a text is a tag of a language that exists."""
    return TAG.fullmatch(tag) is not None and locale_of(tag).language == language_of(tag)


def plural_form(number: int | Decimal, tag: str) -> str:
    """The plural form of a number: "one" for 1 in English, for 0 and 1 in French.

    Source: the plural rules of the Unicode CLDR.
    """
    return str(locale_of(tag).plural_form(number))


def plural_forms(tag: str) -> tuple[frozenset[str], frozenset[str]]:
    """(plural forms that a noun must have, forms that it may have), such as {"one", "other"} in English.

    Source: the plural rules of the Unicode CLDR.
    """
    rule = locale_of(tag).plural_form
    return frozenset(plural_form(number, tag) for number in range(PLURAL_SAMPLE)) | {"other"}, rule.tags | {"other"}


def _known(tag: str) -> str:
    if not is_locale(tag):
        raise ValueError(f"{tag!r} is no locale: write a language such as de, or a language and a country, pt-BR")
    return tag


LocaleTag = Annotated[str, AfterValidator(_known)]
"""A BCP 47 tag of a language that exists; there may be no templates for it."""
