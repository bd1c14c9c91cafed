"""The closed set of periods of a series, and the recognition of periods in a text.

A text is read in its likely languages: English, German and Spanish with the patterns of `words`, others by `reader` and
`spaceless`. If two likely languages read it differently, the result is doubtful.

Invariant: the set is a function of `today` alone; every period lies within `all_time`, months tile their
years and years tile the range. Checked by tests/unit/company/periods/test_recognition.py.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date
from functools import lru_cache

from support_agent.company.languages import likely_languages
from support_agent.company.periods import words
from support_agent.company.periods.reader import Reader, reader_of
from support_agent.company.periods.shared_units import SharedUnits
from support_agent.company.periods.spaceless import SPACELESS, SpacelessReader, spaceless_reader_of
from support_agent.company.periods.table import (
    TABLES,
    Mention,
    blanked,
    latest_year_of_month,
    latest_year_of_quarter,
    numeric_month,
)
from support_agent.company.values import Period

YEARS_BACK = 3
"""Whole calendar years before this one that are in the set."""
ALL_TIME_FIRST = date(1970, 1, 1)
WRITTEN = frozenset(["en", "de", "es"])
"""Languages whose patterns are in `words`."""
MOST_LANGUAGES = 6
"""At most this many likely languages are read."""
_SHARED_UNITS = SharedUnits(words.UNIT_WORDS)
NOW = re.compile(r"\b(?:today|right now|heute|hoy)\b", re.IGNORECASE)


@lru_cache(maxsize=8)
def periods(today: date, years_back: int = YEARS_BACK) -> tuple[Period, ...]:
    """Every period that exists on `today`: the relative ones, then years and months, the newest first.

    Periods are whole calendar ranges, so `this_month` ends on the month's last day. `all_time` runs from 1970
    to the end of this year. Months run from this one back to January of the year `years_back` years ago.
    """
    quarter = (today.month - 1) // 3
    relative = (
        _months("this_month", today.year, today.month),
        _months("last_month", today.year, today.month - 1),
        _months("this_quarter", today.year, quarter * 3 + 1, count=3),
        _months("last_quarter", today.year, quarter * 3 - 2, count=3),
        _months("this_year", today.year, 1, count=12),
        _months("last_year", today.year - 1, 1, count=12),
        Period(name="all_time", first=ALL_TIME_FIRST, last=date(today.year, 12, 31)),
    )
    years = range(today.year, today.year - years_back - 1, -1)
    return (
        *relative,
        *(_months(f"{year}", year, 1, count=12) for year in years),
        *(
            _months(f"{year}-{month:02d}", year, month)
            for year in years
            for month in range(12, 0, -1)
            if (year, month) <= (today.year, today.month)
        ),
    )


def _months(name: str, year: int, month: int, count: int = 1) -> Period:
    """`count` whole months from the given one; a month below 1 counts back into the year before."""
    first = date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)
    last_month = month + count - 1
    last_year, last_month = year + (last_month - 1) // 12, (last_month - 1) % 12 + 1
    return Period(name=name, first=first, last=date(last_year, last_month, monthrange(last_year, last_month)[1]))


def mentioned_periods(text: str, today: date) -> tuple[str, ...]:
    """Names of the periods that a text states explicitly, in order, each once.

    "In March" is the most recent March that has begun; "in 2024" is the year. If a period has two names (`this_year`
    and its number), the first in the text is returned. Periods outside the set, and months that could be of two years,
    are left out; `has_inexpressible_period` reports them.
    """
    mentions, _ = _read(text, today)
    known = {period.name: (period.first, period.last) for period in periods(today)}
    days = {known[name]: name for name in reversed(mentions) if name in known}
    return tuple(dict.fromkeys(days[known[name]] for name in mentions if name in known))


def has_inexpressible_period(text: str, today: date | None = None) -> bool:
    """Whether a text states a period outside the set: "last 90 days", "since May", "12 March".

    With `today`, also whole periods such as a year too long ago or a quarter before the last.
    """
    mentions, has_range = _read(text, today or date(2000, 1, 1))
    if has_range or today is None:
        return has_range
    known = {period.name for period in periods(today)}
    return any(name not in known for name in mentions)


def have_moved(text: str, since: date, today: date) -> bool:
    """Whether periods that a text names begin on another day `today` than on `since`: "this month" after its end."""
    return since != today and _beginnings(text, since) != _beginnings(text, today)


def _beginnings(text: str, today: date) -> list[date]:
    first = {period.name: period.first for period in periods(today)}
    return [first[name] for name in mentioned_periods(text, today)]


def is_readable(text: str) -> bool:
    """Whether a text is likely in a supported language, or too short to tell.

    In other languages periods would go unnoticed.
    """
    likely = likely_languages(text)
    return not likely or any(language in WRITTEN or language in TABLES for language in likely)


def without_now(text: str) -> str:
    """The text without the words that ask for the current value ("today", "aujourd'hui")."""
    tabled = [language for language in likely_languages(text) if language in TABLES]
    for language in tabled[:MOST_LANGUAGES]:
        text = _reader(language).without_now(text)
    return NOW.sub(" ", text)


def _read(text: str, today: date) -> tuple[list[str], bool]:
    """(names of whole calendar periods in order of mention, whether the text has other times).

    English, German and Spanish are read first if they are likely; the likeliest language must not
    read another period.
    """
    likely = likely_languages(text)
    tabled = [language for language in likely if language in TABLES][:MOST_LANGUAGES]
    readings = [_read_by_table(text, language, today) for language in tabled]
    if not likely or not WRITTEN.isdisjoint(likely):
        names, has_range = _read_written(text, today)
        likeliest = readings[0][0] if tabled and likely[0] == tabled[0] else []
        is_sure = not likely or likely[0] in WRITTEN or not _is_bare_number(text, names)
        if names or has_range:
            return names, has_range or not is_sure or likeliest not in ([], names)
    if not readings:
        is_unread = not is_readable(text) and re.search(r"\d", text) is not None
        return [], is_unread
    return _agreed(readings)


def _is_bare_number(text: str, names: list[str]) -> bool:
    """Whether periods are stated in digits only, without a word before them that makes them whole: "od 2024"."""
    is_number = all(name.isdigit() for name in names) or words.NUMERIC_MONTH.search(text) is not None
    return is_number and words.IN_NUMBER.search(text) is None


def _agreed(readings: list[tuple[list[str], bool]]) -> tuple[list[str], bool]:
    """Merge the readings in the likely languages.

    If one language finds a period, doubts of languages without a period are ignored, except of the likeliest one.
    """
    named = [reading for reading in readings if reading[0]]
    if not named:
        return [], any(doubt for _, doubt in readings)
    is_doubtful = readings[0][1] or any(doubt for _, doubt in named) or any(names != named[0][0] for names, _ in named)
    return named[0][0], is_doubtful


def _read_by_table(text: str, language: str, today: date) -> tuple[list[str], bool]:
    mentions, is_doubtful = _reader(language).read(text, today)
    return [_quarter_name(mention.name, today) for mention in mentions], is_doubtful


def _reader(language: str) -> Reader | SpacelessReader:
    return spaceless_reader_of(language) if language in SPACELESS else reader_of(language)


def _quarter_name(name: str, today: date) -> str:
    """`this_quarter` or `last_quarter` for a name such as "2025-q3" if it is one of them; other names unchanged."""
    year, _, quarter = name.partition("-q")
    if not quarter:
        return name
    back = (today.year - int(year)) * 4 + (today.month - 1) // 3 + 1 - int(quarter)
    return {0: "this_quarter", 1: "last_quarter"}.get(back, name)


def _read_written(text: str, today: date) -> tuple[list[str], bool]:
    """(names of whole calendar periods in order of mention, whether the text has other times).

    A name may be outside the closed set ("2009", "2025-q1"). Matches are blanked out, ranges first, so that the May in
    "since May" is not read as a month, nor the 2024 in "March 2024" as a year.
    """
    text = _spelt_out(" ".join(words.MAY_THE_VERB.sub(" ", text).lower().split()))
    said = text
    found, text = _take(text, words.ALL_TIME, lambda match: "all_time")
    has_range = False
    for pattern in words.RANGES:
        matches, text = _take(text, pattern, lambda match: "")
        has_range = has_range or bool(matches)
    readers: list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = [
        (words.MONTH_AND_YEAR, lambda match: _month_name(match["month"], _year(match["year"], today))),
        (words.NUMERIC_MONTH, numeric_month),
        (words.QUARTER, lambda match: _quarter(match, today)),
        (words.RELATIVE, lambda match: _relative(match, today)),
        (words.BARE_YEAR, lambda match: match["year"]),
    ]
    for pattern, name_of in readers:
        matches, text = _take(text, pattern, name_of)
        found += matches
    found += _bare_months(text, today)
    if words.REMAINS.search(text) or (not found and words.WEAK_DAYS.search(text)):
        has_range = True
    found, is_doubtful = _SHARED_UNITS.read(said, found)
    return [_quarter_name(mention.name, today) for mention in found], has_range or is_doubtful


def _spelt_out(text: str) -> str:
    """Repeat what two months share for each of them: "March and April 2024", "in March and April"."""
    text = words.MONTHS_AND_YEAR.sub(
        lambda match: " and ".join(f"{month} {match['year']}" for month in _listed(match)), text
    )
    return words.MONTHS_AND_PREPOSITION.sub(
        lambda match: " and ".join(f"{match['before']} {month}" for month in _listed(match)), text
    )


def _listed(match: re.Match[str]) -> list[str]:
    return [*re.split(words.MONTH_JOINT, match["first"]), match["last"]]


def _take(text: str, pattern: re.Pattern[str], name_of: Callable[[re.Match[str]], str]) -> tuple[list[Mention], str]:
    """The period of each match, and the text with the matches blanked out at the same length."""
    found = [_mention(match, name_of(match)) for match in pattern.finditer(text)]
    return found, blanked(text, pattern)


def _mention(match: re.Match[str], name: str) -> Mention:
    is_yearless = match.re is words.QUARTER and not match["year"]
    is_year = name.isdigit() or name.endswith("_year")
    return Mention(*match.span(), name, "yearless" if is_yearless else "year" if is_year else "other")


def _bare_months(text: str, today: date) -> list[Mention]:
    """Months without a year, each the most recent that has begun; none in "Thanks, April"."""
    matches = list(words.BARE_MONTH.finditer(text))
    if all(match["comma"] for match in matches):
        return []
    months = ((match, _month_number(match["month"] or match["named"] or match["short"])) for match in matches)
    named = ((match, f"{latest_year_of_month(month, today)}-{month:02d}") for match, month in months)
    return [Mention(*match.span(), name, "yearless") for match, name in named]


def _year(word: str, today: date) -> int:
    """The year of "2024", "last year" or "this year"."""
    if word.isdigit():
        return int(word)
    return today.year - 1 if re.fullmatch(words.LAST_YEAR, word) else today.year


def _month_name(word: str, year: int) -> str:
    return f"{year}-{_month_number(word.rstrip('.')):02d}"


def _month_number(word: str) -> int:
    return words.MONTH_NUMBERS.get(word) or words.SHORT_MONTH_NUMBERS[word]


def _quarter(match: re.Match[str], today: date) -> str:
    quarter = next(number for number in range(1, 5) if match[f"q{number}"])
    year = _year(match["year"], today) if match["year"] else latest_year_of_quarter(quarter, today)
    return f"{year}-q{quarter}"


def _relative(match: re.Match[str], today: date) -> str:
    name = match.lastgroup or ""
    if name == "year_before_last":
        return str(today.year - 2)
    if name == "month_before_last":
        return _months("", today.year, today.month - 2).first.strftime("%Y-%m")
    return name
