"""The page's own words in the reader's language, and numbers and dates as the reader writes them.

Invariant: every language has every word with the same places for values. Checked by
tests/unit/desk_page/test_wording.py, which also looks up each word that a template names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from importlib.resources import files
from zoneinfo import ZoneInfo

import yaml
from babel.dates import format_date, format_datetime, format_skeleton, format_timedelta
from babel.numbers import format_decimal, format_percent

from support_agent.core.locales import FALLBACK_LOCALE, language_of, locale_of

LANGUAGES = ("en", "de")


@lru_cache(maxsize=len(LANGUAGES))
def words_in(language: str) -> Mapping[str, str]:
    """All words of a language, by their dotted code."""
    text = files(__package__).joinpath("words", f"{language}.yaml").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for section, words in yaml.safe_load(text).items():
        found |= {f"{section}.{code}": str(said) for code, said in words.items()}
    return found


@dataclass(frozen=True)
class Wording:
    """Words and formats for a reader: `tag` is the browser's language, `zone` that of the company's hours."""

    tag: str
    zone: str = "UTC"

    @property
    def language(self) -> str:
        """The language of the page's words."""
        language = language_of(self.tag)
        return language if language in LANGUAGES else FALLBACK_LOCALE

    def __call__(self, code: str, **values: object) -> str:
        """The words with this code; values that are numbers are written as the reader writes them."""
        shown = {
            name: self.number(value) if isinstance(value, int | float) else value for name, value in values.items()
        }
        return words_in(self.language)[code].format(**shown)

    def of(self, section: str, code: str) -> str:
        """The words for a stored code; the code itself where the page has none for it."""
        return words_in(self.language).get(f"{section}.{code}", code.replace("_", " "))

    def number(self, value: float) -> str:
        """A number; at most three digits after the point."""
        return str(format_decimal(value, locale=locale_of(self.tag)))

    def percent(self, value: float) -> str:
        """A share, 0..1, in whole percent."""
        return str(format_percent(value, locale=locale_of(self.tag)))

    def instant(self, at: datetime) -> str:
        """Date and time in the company's zone."""
        return str(format_datetime(at, "short", tzinfo=ZoneInfo(self.zone), locale=locale_of(self.tag)))

    def day(self, day: date) -> str:
        """A day of the calendar."""
        return str(format_date(day, "medium", locale=locale_of(self.tag)))

    def short_day(self, day: date) -> str:
        """Day and month: "Nov 20"."""
        return str(format_skeleton("MMMd", day, locale=locale_of(self.tag)))

    def span(self, span: timedelta) -> str:
        """A length of time in its largest unit: "3 hours"."""
        return str(format_timedelta(max(span, timedelta()), threshold=1.2, locale=locale_of(self.tag)))


def chosen_tag(accepted: str) -> str:
    """The first language of an Accept-Language field that the page has, with its country; else English.

    Source: RFC 9110, section 12.5.4.
    """
    wanted: list[tuple[float, str]] = []
    for part in accepted[:200].split(","):
        tag, _, weight = part.strip().partition(";")
        quality = weight.strip().removeprefix("q=") or "1"
        try:
            wanted.append((float(quality), tag.strip()))
        except ValueError:
            continue
    ranked = sorted((one for one in wanted if one[0] > 0), key=lambda one: -one[0])
    return next((tag for _, tag in ranked if language_of(tag) in LANGUAGES), FALLBACK_LOCALE)
