"""Locale tags (BCP 47: "de", "pt-BR"), and which text of several a reader gets.

Invariant: no list of languages stands here or anywhere in the program: a language is there when the company has
templates for it, and what it lacks is said in English, which is never incomplete. Checked by
tests/unit/core/test_locales.py and tests/journey/test_third_language.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Annotated, TypeVar

from babel import Locale, UnknownLocaleError
from pydantic import AfterValidator

FALLBACK_LOCALE = "en"
"""Every text of the company exists in this locale; the others are optional."""
WORLD_ENGLISH = "en_001"
"""Bare "en" names no country: day before month, as most of the world writes it."""
TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
PLURAL_SAMPLE = 200
"""Every plural form of a language that whole numbers have is met below this, but for forms of millions."""

T = TypeVar("T")


def lookup(tag: str) -> Iterator[str]:
    """What `shortened` gives, and last "en"."""
    yield from shortened(tag)
    yield FALLBACK_LOCALE


def shortened(tag: str) -> Iterator[str]:
    """The tag, in lower case, then what is left without its last parts: "zh-hant-tw", "zh-hant", "zh".

    Source: RFC 4647, section 3.4.
    """
    parts = tag.replace("_", "-").lower().split("-")
    while parts:
        if len(parts[-1]) > 1:
            yield "-".join(parts)
        parts.pop()


def language_of(tag: str) -> str:
    """The language of a tag, in lower case: "de" for "de-AT", "" for none."""
    return tag.replace("_", "-").lower().partition("-")[0]


def nearest_tag(tag: str, available: Iterable[str]) -> str | None:
    """The one of some tags that a reader is served best by, None where none is of the reader's language.

    That is the first in `shortened`, else the first of the same language as it is written elsewhere ("pt-BR" for "pt").
    """
    by_tag = {other.lower(): other for other in available}
    found = next((by_tag[key] for key in shortened(tag) if key in by_tag), None)
    return found or next((other for other in by_tag.values() if language_of(other) == language_of(tag)), None)


def language_name(tag: str, reader: str) -> str:
    """What a language is called in the reader's: "German" for "de-AT" and "en-GB", "anglais" for "en" and "fr"."""
    return str(locale_of(reader).languages.get(language_of(tag), tag))


def localised(texts: Mapping[str, T], tag: str) -> T:
    """The text for a tag, by `lookup`; one for English must be there."""
    by_tag = {key.lower(): text for key, text in texts.items()}
    return next(by_tag[key] for key in lookup(tag) if key in by_tag)


@lru_cache(maxsize=256)
def locale_of(tag: str) -> Locale:
    """How numbers and dates are written for a tag: an unknown territory as in its language, that as in English."""
    for candidate in lookup(tag):
        if candidate == FALLBACK_LOCALE:
            break
        try:
            return Locale.parse(candidate, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return Locale.parse(WORLD_ENGLISH)


def is_locale(tag: str) -> bool:
    """Whether a text is a tag, and of a language that exists."""
    return TAG.fullmatch(tag) is not None and locale_of(tag).language == language_of(tag)


def plural_forms(tag: str) -> tuple[frozenset[str], frozenset[str]]:
    """(forms that a noun must have, forms that it may have), such as {"one", "other"} of English.

    Source: the plural rules of the Unicode CLDR.
    """
    form_of = locale_of(tag).plural_form
    return frozenset(form_of(number) for number in range(PLURAL_SAMPLE)) | {"other"}, form_of.tags | {"other"}


def _known(tag: str) -> str:
    if not is_locale(tag):
        raise ValueError(f"{tag!r} is no locale: write a language such as de, or a language and a country, pt-BR")
    return tag


LocaleTag = Annotated[str, AfterValidator(_known)]
"""A BCP 47 tag of a language that exists; whether there are templates for it is another question."""
