"""Builds the patterns of one language's periods from its table.

Invariant: every repetition over words of a mail is bounded, so matching takes linear time. Checked by
tests/unit/company/periods/test_reader.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from support_agent.company.periods import digits
from support_agent.company.periods.table import (
    Table,
    any_of,
    as_written,
    is_declined,
    month_names,
    table_of,
    weekday_stems,
)

SHORT_WORD = 2
"""Words of at most this many letters are ambiguous ("do", "da", "a"): they count only right before a period."""
SHORT_STEM = 3
"""Months with a longer stem are recognised in every grammatical case, at least as an unread period."""
_NEVER = "(?!)"


class NamePatterns(NamedTuple):
    """How periods are named."""

    month_numbers: dict[str, int]
    month: re.Pattern[str]
    year: re.Pattern[str]
    month_and_year: re.Pattern[str]
    year_and_month: re.Pattern[str]
    quarter: re.Pattern[str]
    quarter_of_year: re.Pattern[str]
    relative: tuple[tuple[str, re.Pattern[str]], ...]


class PlacePatterns(NamedTuple):
    """Words next to a period; patterns for words before it match at the end of the text."""

    inside: re.Pattern[str]
    unit_before: re.Pattern[str]
    unit_behind: re.Pattern[str]
    month_behind: re.Pattern[str]
    year_behind: re.Pattern[str]
    joint: re.Pattern[str]
    joined_before: re.Pattern[str]
    joined_behind: re.Pattern[str]
    outside: re.Pattern[str]
    behind: re.Pattern[str]
    each: re.Pattern[str]


class TimePatterns(NamedTuple):
    """Other words about time; `wide_months` are readable month names, `any_month` matches every grammatical case."""

    wide_months: frozenset[str]
    any_month: re.Pattern[str]
    date: re.Pattern[str]
    unit: re.Pattern[str]
    other: re.Pattern[str]
    day: re.Pattern[str]
    now: re.Pattern[str]
    greeting: re.Pattern[str]


def name_patterns(language: str) -> NamePatterns:
    """Patterns of months with and without a year, years, quarters, and periods relative to today."""
    table, months = table_of(language), month_names(language)
    numbers = {**months.short, **months.wide}
    suffix = rf"(?:'?\s?(?:{table.suffix}))?" if table.suffix else ""
    ending = rf"(?:(?:'\s|-)?(?:{table.year_suffix}))?" if table.year_suffix else ""
    year = rf"{digits.YEAR}{ending}(?![\w']|-[^\W\d])"
    month = rf"(?<!\w)(?P<name>{any_of(numbers)})\.?(?P<suffix>{suffix})(?!\w)"
    of = rf"(?:{any_of(table.inside)}\s+){{0,3}}"
    year_first = rf"{year}\.?\s+(?:{any_of(table.year)}\s+)?"
    ordinal = r"(?P<number>[1-4]|iv|i{1,3})(?:\.|[ºª°]|\.[ºª°]|-?\w{1,3})?\s+" + any_of(table.quarter)
    quarter = rf"(?<![\w.])(?:q(?P<q>[1-4])|[tk](?P<t>[1-4])(?=\s+{of}(?:19|20)\d\d)|{ordinal})(?!\w)"
    return NamePatterns(
        month_numbers=numbers,
        month=re.compile(month),
        year=re.compile(year),
        month_and_year=re.compile(rf"{month},?\s+{of}{year}"),
        year_and_month=re.compile(year_first + month if table.year_first else _NEVER),
        quarter=re.compile(rf"{quarter}(?:[\s,/-]+{of}{year})?"),
        quarter_of_year=re.compile(rf"{year_first}{ordinal}(?!\w)" if table.suffix else _NEVER),
        relative=tuple(
            _relative(table, which, unit) for unit in ("month", "quarter", "year") for which in ("this", "last")
        ),
    )


def _relative(table: Table, which: str, unit: str) -> tuple[str, re.Pattern[str]]:
    """ "this_month" and its pattern: a whole name, or the unit with "this" before or after it."""
    name, units = f"{which}_{unit}", any_of(getattr(table, unit))
    before, behind = any_of(getattr(table, which)), any_of(getattr(table, f"{which}_behind"))
    whole = any_of(getattr(table.names, name))
    return name, re.compile(rf"(?<![\w'])(?:{whole}|{before}\s*{units}|{units}\s+{behind})(?!\w)")


def joint_pattern(table: Table) -> str:
    """What may stand between two periods that are both meant, with the words before the second."""
    joint = rf"(?:(?<!\w){any_of(table.joint)}(?!\w)\.?|[,&+/;])"
    return rf"\s*(?:{joint}\s*){{1,3}}(?:{any_of(table.inside)}\s*){{0,3}}"


def place_patterns(language: str) -> PlacePatterns:
    """Patterns of words that make a name a whole period, or another time."""
    table = table_of(language)
    inside, unit = any_of(table.inside), any_of([*table.month, *table.year])
    of = rf"(?:{inside}\s+){{0,3}}"
    outside = [*table.outside, *table.ordinal]
    long = any_of(word for word in outside if len(word) > SHORT_WORD)
    short = any_of(word for word in outside if len(word) <= SHORT_WORD)
    return PlacePatterns(
        inside=re.compile(rf"(?<![\w']){inside}\s*$"),
        unit_before=re.compile(rf"(?<![\w']){unit}\s+{of}$"),
        unit_behind=re.compile(rf"\.?\s+{unit}(?!\w)"),
        month_behind=re.compile(rf"\s+{any_of(table.month)}(?!\w)"),
        year_behind=re.compile(rf"\.?\s+{any_of(table.year)}(?!\w)"),
        joint=re.compile(joint_pattern(table)),
        joined_before=re.compile(rf"\0{joint_pattern(table)}$"),
        joined_behind=re.compile(rf"{joint_pattern(table)}\0"),
        outside=re.compile(rf"(?<![\w']){long}(?!\w)(?:\s+[^\s.?!;]+){{0,2}}\s*$|(?<![\w']){short}\s+{of}$"),
        behind=re.compile(rf"[\s,-]{{0,3}}{any_of(table.behind)}(?!\w)"),
        each=re.compile(rf"(?<!\w){any_of(table.each)}\s+(?:{inside}\s+)?$"),
    )


def time_patterns(language: str) -> TimePatterns:
    """Patterns of times that the closed set cannot express: days, units, weekdays, seasons."""
    table, months = table_of(language), month_names(language)
    names = any_of({**months.short, **months.wide})
    cut = 0 if table.suffix else 2
    kept = [name[: len(name) - cut] for name in months.wide if len(name) - cut > SHORT_STEM and is_declined(language)]
    stems = "|".join([any_of(months.wide), *(rf"{re.escape(stem)}\w{{0,5}}" for stem in sorted(kept))])
    number = r"(?<![\d.,])\d{1,2}(?:\.|-?[^\W\d]{1,2}|[ºª°])?\s+"
    one = any_of([*table.month, *table.quarter, *table.year])
    return TimePatterns(
        wide_months=frozenset(months.wide),
        any_month=re.compile(rf"(?<!\w)(?:{stems})(?!\w)"),
        date=re.compile(
            rf"{number}(?:{any_of(table.inside)}\s+)?{names}\w{{0,5}}(?!\w)"
            rf"|(?<!\w){names}\.?\s+\d{{1,2}}(?:\.|[^\W\d]{{1,2}})?(?![\w:]|[.,]\d)"
        ),
        unit=re.compile(
            rf"(?<!\w)(?:{any_of(table.units)}|{'|'.join(weekday_stems(language))})(?!\w)"
            rf"|(?<!\w)(?:\d{{1,4}}\s)?(?<!\w)(?P<one>{one})(?!\w)"
        ),
        other=re.compile(rf"(?<![\w']){any_of(table.other)}(?!\w)"),
        day=re.compile(rf"(?<!\w){any_of(table.day)}(?!\w)"),
        now=as_written(rf"(?<!\w){any_of(table.now)}(?!\w)"),
        greeting=re.compile(rf"(?<!\w){any_of(table.greeting)}(?!\w)"),
    )
