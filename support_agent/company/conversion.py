"""Converts database cells to typed values, exactly or not at all.

Invariant: no rounding error of a binary float reaches money: SQLite's REAL is read by its shortest decimal form and
must be a whole number of the currency's smallest unit within 1e-6; text and integers are converted exactly. Checked by
tests/unit/company/test_conversion.py.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

from babel.numbers import get_currency_precision

from support_agent.company.values import Count, Counted, Day, Money, Quantity, Text, Value, ValueType

FLOAT_TOLERANCE = Decimal("0.000001")
UTC_ZONE = ZoneInfo("UTC")
QUANTITY_PLACES = 6
"""Decimal places kept of a quantity that the database stores as a binary float."""
MAX_TEXT_CHARACTERS = 500
_CURRENCY = re.compile(r"^[A-Z]{3}$")
_DAY = re.compile(r"^\d{4}-\d\d-\d\d(?=$|[T ])")


class CellRefused(ValueError):
    """A cell is not of the declared type; the message names the types, never the content."""


def to_value(kind: ValueType, cell: Any, currency: Any = None, unit: Counted = "", zone: ZoneInfo = UTC_ZONE) -> Value:
    """A cell (not NULL) as a value of the declared type.

    Args:
        cell: As the database driver gives it.
        currency: ISO 4217, for money only.
        unit: For counts and quantities.
        zone: As for `to_day`.
    Raises:
        CellRefused: it has another type or cannot be converted exactly.
    """
    match kind:
        case ValueType.MONEY:
            return to_money(cell, currency)
        case ValueType.DATE:
            return Day(day=to_day(cell, zone))
        case ValueType.TEXT:
            return Text(text=to_text(cell))
        case ValueType.COUNT:
            return Count(count=_to_count(cell), unit=unit)
        case ValueType.QUANTITY:
            return Quantity(amount=_to_quantity(cell), unit=unit)


def to_money(cell: Any, currency: Any) -> Money:
    """An amount with the decimal places of its currency; more places are refused."""
    if not isinstance(currency, str) or not _CURRENCY.match(currency):
        raise CellRefused("the currency is not an ISO 4217 code in capitals, such as EUR")
    amount = _to_decimal(cell)
    rounded = amount.quantize(Decimal(1).scaleb(-get_currency_precision(currency)))
    tolerance = FLOAT_TOLERANCE if isinstance(cell, float) else Decimal(0)
    if abs(rounded - amount) > tolerance:
        raise CellRefused(f"the amount has more decimal places than {currency} has; round it in the query")
    return Money(amount=rounded, currency=currency)


def to_day(cell: Any, zone: ZoneInfo = UTC_ZONE) -> date:
    """The day of a date, of an instant, or of ISO text with or without a time.

    Args:
        zone: Of the company: an instant with a time zone counts there; one without is taken as it is.
    """
    if isinstance(cell, datetime):
        return (cell.astimezone(zone) if cell.tzinfo else cell).date()
    if isinstance(cell, date):
        return cell
    if isinstance(cell, str) and _DAY.match(cell):
        try:
            return to_day(datetime.fromisoformat(cell), zone)
        except ValueError:
            raise CellRefused("the day does not exist in the calendar") from None
    raise CellRefused(f"not a date but {_kind(cell)}; let the query return YYYY-MM-DD")


def has_time_zone(cell: Any) -> bool:
    """Whether a cell is an instant with a time zone, or ISO text of one."""
    if isinstance(cell, str) and _DAY.match(cell):
        try:
            cell = datetime.fromisoformat(cell)
        except ValueError:
            return False
    return isinstance(cell, datetime) and cell.tzinfo is not None


def to_text(cell: Any) -> str:
    """Text without surrounding white space; whole numbers become their digits."""
    if isinstance(cell, str) or (isinstance(cell, int) and not isinstance(cell, bool)):
        text = str(cell).strip()
        if len(text) > MAX_TEXT_CHARACTERS:
            raise CellRefused(f"text of more than {MAX_TEXT_CHARACTERS} characters")
        return text
    raise CellRefused(f"not text but {_kind(cell)}; cast it in the query")


def _to_count(cell: Any) -> int:
    number = _to_decimal(cell)
    if number != number.to_integral_value():
        raise CellRefused("not a whole number; declare the type quantity, or round it in the query")
    return int(number)


def _to_quantity(cell: Any) -> Decimal:
    number = _to_decimal(cell)
    if isinstance(cell, float):
        number = round(number, QUANTITY_PLACES)
    whole = number.to_integral_value()
    return whole if number == whole else number.normalize()


def _to_decimal(cell: Any) -> Decimal:
    """The number in a cell: exact for integers and decimal text; for a float its shortest decimal form."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | str | Decimal):
        raise CellRefused(f"not a number but {_kind(cell)}")
    if isinstance(cell, str) and not re.fullmatch(r"[+-]?\d+(\.\d+)?", cell.strip(), re.ASCII):
        raise CellRefused("text that is not a plain decimal number")
    try:
        number = Decimal(repr(cell) if isinstance(cell, float) else cell)
    except InvalidOperation:
        raise CellRefused("not a decimal number") from None
    if not number.is_finite() or abs(number) >= Decimal(10) ** 15:
        raise CellRefused("the number is not finite or has more than 15 digits before the point")
    return number


def _kind(cell: Any) -> str:
    return type(cell).__name__
