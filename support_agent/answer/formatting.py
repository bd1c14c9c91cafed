"""Formats typed values in a locale, and cleans texts so that values stay data.

Invariant: the functions are pure, and return one line (`clean_lines` and `table_lines`: a tuple of lines) without
control, bidirectional or private-use characters. Checked by tests/unit/answer/test_formatting.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import date, time
from decimal import Decimal
from functools import lru_cache
from itertools import zip_longest
from typing import assert_never

from babel.dates import format_date, format_time
from babel.numbers import format_currency, format_decimal

from support_agent.company.values import Count, Counted, Day, Money, Quantity, Text, Value
from support_agent.core.locales import locale_of, plural_form

MONEY_PATTERN = "¤¤ #,##0.00;¤¤ -#,##0.00"
QUANTITY_PATTERN = "#,##0.####"
UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
JOINERS = frozenset("\u200c\u200d")
"""Invisible, but needed for Persian, Hindi and emoji; they change no order and end no line."""
TABLE_WIDTH = 76
"""Widest table in columns in a text, in characters of a fixed width."""
COLUMN_GAP = "  "
NARROW_SPACE = "\u202f"
"""Stands before "am" in English; few programs show it well."""
MIN_COLUMN = 3
"""Least length of a rule: two hyphens alone on a line begin a signature."""

_LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_WITHOUT_WIDTH = frozenset({"Mn", "Me", "Cf"})
_REPLY_PREFIX = re.compile(r"^(?:(?:re|aw|antw|sv|vs|rif|res|rv)(?:\s*\[\d+\])?\s*:\s*)+", re.IGNORECASE)


def clean_line(text: str) -> str:
    """One line of plain text: line ends and tabs become spaces, unsafe characters go, ends are trimmed."""
    return without_unsafe(_LINE_END.sub(" ", text).replace("\t", " ")).strip()


def clean_lines(text: str) -> tuple[str, ...]:
    """The lines of a text, each cleaned by `clean_line` with its indentation kept; no empty line at either end."""
    lines = [without_unsafe(line.expandtabs(4)).rstrip() for line in _LINE_END.split(text)]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return tuple(lines)


@lru_cache(maxsize=8)
def table_lines(rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], str] | None:
    """A table in aligned columns: a line for each row, and the rule below a header.

    Args:
        rows: At least one; missing cells at the end of a row are empty.
    Returns:
        None if the table is wider than `TABLE_WIDTH`.
    """
    cleaned = [[clean_line(cell) for cell in row] for row in rows]
    widths = [max(MIN_COLUMN, *map(_width, column)) for column in zip_longest(*cleaned, fillvalue="")]
    rule = COLUMN_GAP.join("-" * width for width in widths)
    if len(rule) > TABLE_WIDTH:
        return None
    padded = (
        [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=False)] for row in cleaned
    )
    return tuple(COLUMN_GAP.join(row).rstrip() for row in padded), rule


def unsafe_in(text: str) -> Iterator[str]:
    """The characters of a text that no value may contain.

    These are control, format (the bidi controls too), line separator, surrogate and private-use characters.
    """
    if text.isprintable():  # most texts are, and then no character is unsafe
        return
    for character in text:
        if unicodedata.category(character) in UNSAFE_CATEGORIES and character not in JOINERS:
            yield character


def bare_subject(subject: str) -> str:
    """A subject without its "Re:" and similar prefixes, as one clean line."""
    return _REPLY_PREFIX.sub("", clean_line(subject)).strip()


def format_value(value: Value, tag: str) -> str:
    """A value as the customer reads it: "EUR 1,234.50", "17 March 2026", "9 seats", "83.4 GB"."""
    match value:
        case Money():
            return format_money(value.amount, value.currency, tag)
        case Day():
            return format_day(value.day, tag)
        case Text():
            return clean_line(value.text)
        case Count():
            return _with_unit(format_count(value.count, tag), format_counted(value.unit, value.count, tag))
        case Quantity():
            return _with_unit(_format_amount(value.amount, tag), format_counted(value.unit, value.amount, tag))
        case never:
            assert_never(never)


def format_money(amount: Decimal, currency: str, tag: str) -> str:
    """The ISO 4217 code and the amount with the currency's own number of decimals."""
    return format_currency(amount, currency, format=MONEY_PATTERN, locale=locale_of(tag))


def format_day(day: date, tag: str) -> str:
    """A day in the locale's long form."""
    return format_date(day, format="long", locale=locale_of(tag))


def format_weekday(day: date, tag: str) -> str:
    """A day in the locale's long form, with the day of the week: "Monday, 23 November 2026"."""
    return clean_line(format_date(day, format="full", locale=locale_of(tag)))


def format_clock(at: time, tag: str) -> str:
    """A time of day in the locale's short form: "9:00 am"."""
    return clean_line(format_time(at, format="short", locale=locale_of(tag)).replace(NARROW_SPACE, " "))


def format_month(day: date, tag: str) -> str:
    """The month of a day, with its year: "March 2024"."""
    return format_date(day, format="LLLL y", locale=locale_of(tag))


def period_code(name: str) -> str:
    """The code of the word for a period: "year" for "2024", "month" for "2024-03", else the name itself."""
    if re.fullmatch(r"\d{4}", name, re.ASCII):
        return "year"
    return "month" if re.fullmatch(r"\d{4}-\d{2}", name, re.ASCII) else name


def format_count(count: int, tag: str) -> str:
    """A whole number with the locale's grouping."""
    return format_decimal(count, locale=locale_of(tag))


def format_counted(counted: Counted, number: int | Decimal, tag: str) -> str:
    """The counted noun in the plural form of a number: "seat" for 1, "seats" for 9."""
    if isinstance(counted, str):
        return clean_line(counted)
    shown = Decimal(number).normalize()  # 1.0 is shown as 1, and has the plural form of 1
    return clean_line(counted.in_form(plural_form(abs(shown), tag)))


def format_confidence(probability: float) -> str:
    """A probability with two decimals, for staff; never rounded up to certainty."""
    return f"{int(probability * 100) / 100:.2f}"


def _format_amount(amount: Decimal, tag: str) -> str:
    """Up to four decimals; an amount that would round to zero keeps all its decimals."""
    is_tiny = amount != 0 and abs(amount) < Decimal("0.00005")
    return format_decimal(
        amount,
        format=None if is_tiny else QUANTITY_PATTERN,
        locale=locale_of(tag),
        decimal_quantization=not is_tiny,
    )


def _with_unit(number: str, unit: str) -> str:
    return clean_line(f"{number} {unit}")


def _width(text: str) -> int:
    """The columns of a text: two per wide character, none for a combining mark."""
    return sum(
        0
        if unicodedata.category(character) in _WITHOUT_WIDTH
        else 2
        if unicodedata.east_asian_width(character) in "WF"
        else 1
        for character in text
    )


def without_unsafe(text: str) -> str:
    unsafe = set(unsafe_in(text))
    return "".join(character for character in text if character not in unsafe) if unsafe else text
