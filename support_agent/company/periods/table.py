"""The words of a language for periods: names from CLDR, the words around them from `tables/`.

Invariant: nothing here interprets a match; `reader` and `spaceless` do. Checked by
tests/unit/company/periods/test_table.py.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

from babel import Locale
from pydantic import BeforeValidator

from support_agent.core.frozen import Frozen

_FOLDER = Path(__file__).parent / "tables"
TABLES = frozenset(file.stem for file in _FOLDER.glob("*.toml"))
"""ISO 639 codes of the languages that have a table."""
FOLDED_LENGTH = 4
"""Shorter words keep their accents, because they would become other words: "à" and "a"."""
Phrases = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda text: tuple(" ".join(part.split()) for part in text.split("|") if part.strip())),
]


class Names(Frozen):
    """Whole names of periods, in addition to a unit with "this" or "last"."""

    this_month: Phrases = ()
    last_month: Phrases = ()
    this_quarter: Phrases = ()
    last_quarter: Phrases = ()
    this_year: Phrases = ()
    last_year: Phrases = ()


class Table(Frozen):
    """One language's words; tables/README.md explains each list."""

    cldr: str = ""
    inside: Phrases = ()
    outside: Phrases = ()
    ordinal: Phrases = ()
    behind: Phrases = ()
    joint: Phrases = ()
    article: Phrases = ()
    each: Phrases = ()
    month: Phrases = ()
    quarter: Phrases = ()
    year: Phrases = ()
    units: Phrases = ()
    this: Phrases = ()
    last: Phrases = ()
    this_behind: Phrases = ()
    last_behind: Phrases = ()
    this_one: Phrases = ()
    last_one: Phrases = ()
    other: Phrases = ()
    day: Phrases = ()
    now: Phrases = ()
    greeting: Phrases = ()
    forms: Phrases = ()
    suffix: str = ""
    year_suffix: str = ""
    year_first: bool = False
    particle: str = ""
    names: Names = Names()


class Mention(NamedTuple):
    """A period in a text, with its offsets in the `normalised` text.

    `name` may be outside the closed set ("2009", "2025-q1"); it is empty where a period is stated that cannot be read.
    `kind` is "yearless" for a month or quarter without a year, "year" for a whole year, else "other".
    """

    start: int
    end: int
    name: str
    kind: str


class MonthNames(NamedTuple):
    """Lower-case names with the number of their month, without ambiguous names."""

    wide: dict[str, int]
    short: dict[str, int]


@lru_cache(maxsize=64)
def table_of(language: str) -> Table:
    """The table of one of `TABLES`."""
    return Table.model_validate(tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8")))


def latest_year_of_month(month: int, today: date) -> int:
    """The year of the latest such month that has begun."""
    return today.year - (month > today.month)


def latest_year_of_quarter(quarter: int, today: date) -> int:
    """The year of the latest such quarter that has begun."""
    return today.year - (quarter > (today.month - 1) // 3 + 1)


def numeric_month(match: re.Match[str]) -> str:
    """The name of a month in digits, with the year before it (`iso_`) or after it."""
    return f"{match['iso_year'] or match['year']}-{int(match['iso_month'] or match['month']):02d}"


def blanked(text: str, pattern: re.Pattern[str]) -> str:
    """The text with the matches of a pattern blanked out at the same length."""
    return pattern.sub(lambda match: "\0" * len(match.group()), text)


def blanked_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with the spans, which may overlap, blanked out at the same length."""
    parts, end = [], 0
    for first, last in sorted(spans):
        if last > end:
            parts += [text[end : max(first, end)], "\0" * (last - max(first, end))]
            end = last
    return "".join([*parts, text[end:]])


def normalised(text: str) -> str:
    """Lower case, ASCII digits, one kind of apostrophe followed by a space, single spaces."""
    text = unicodedata.normalize("NFKC", text).replace("\u0130", "i").lower().replace("\u2019", "'")
    return " ".join(re.sub(r"'(?=\w)", "' ", text).split())


def folded(word: str) -> str:
    """The word without accents: "fevrier"."""
    parts = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(part for part in parts if not unicodedata.combining(part)))


def any_of(words: Iterable[str]) -> str:
    """A pattern of the words, the longest first, with and without accents; without words it never matches."""
    plain = {normalised(word) for word in words}
    both = plain | {folded(word) for word in plain if len(word) >= FOLDED_LENGTH}
    ordered = sorted(both, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(re.escape(word) for word in ordered) + ")" if ordered else "(?!)"


def as_written(pattern: str) -> re.Pattern[str]:
    """A pattern of normalised words for text that is not normalised: any case, either apostrophe, optional space."""
    return re.compile(pattern.replace("'\\ ", "['\u2019]\\s?"), re.IGNORECASE)


def month_names(language: str) -> MonthNames:
    """The names of the months in a language.

    Stand-alone names are read only for languages that decline month names. For others they are the same, and babel 2.18
    returns those of the language that was read before.
    """
    table = table_of(language)
    months = Locale.parse(table.cldr or language).months
    wide = [months["format"]["wide"], dict(enumerate(table.forms, start=1))]
    if is_declined(language):
        wide.append(months["stand-alone"]["wide"])
    known = _numbered(wide)
    short = _numbered([months["format"]["abbreviated"]])
    return MonthNames(known, {name: number for name, number in short.items() if name not in known})


def is_declined(language: str) -> bool:
    """Whether a language declines month names."""
    table = table_of(language)
    return bool(table.forms or table.suffix)


def _numbered(groups: Iterable[dict[int, str]]) -> dict[str, int]:
    pairs = {(normalised(name).rstrip("."), number) for group in groups for number, name in group.items()}
    pairs |= {(folded(name), number) for name, number in pairs if len(name) >= FOLDED_LENGTH}
    names = [name for name, _ in pairs]
    return {name: number for name, number in sorted(pairs) if names.count(name) == 1 and not name.isdigit()}


def weekday_stems(language: str) -> list[str]:
    """Patterns of the weekdays in a language that allow other endings."""
    table = table_of(language)
    days = Locale.parse(table.cldr or language).days["format"]["wide"]
    stems = {normalised(name)[: -1 if len(name) > FOLDED_LENGTH else None] for name in days.values()}
    letters = 4 if table.suffix else 2
    return [rf"{re.escape(stem)}\w{{0,{letters}}}" for stem in sorted(stems | {folded(stem) for stem in stems})]
