"""Database cells into values: exact or refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.company.conversion import CellRefused, has_time_zone, to_day, to_money, to_text, to_value
from support_agent.company.values import Count, Day, Money, Quantity, Text, ValueType

TOKYO = ZoneInfo("Asia/Tokyo")

CENTS = st.integers(-(10**12), 10**12)


@given(CENTS)
def test_money_is_exact_from_every_kind_of_cell(cents: int) -> None:
    """Text, decimals and SQLite's REAL of one amount are the same amount, with the currency's places."""
    amount = Decimal(cents).scaleb(-2)
    for cell in (str(amount), amount, float(amount)):
        money = to_money(cell, "EUR")
        assert isinstance(money.amount, Decimal)
        assert str(money.amount) == str(amount.quantize(Decimal("0.01")))


def test_a_sum_of_floats_is_its_cents() -> None:
    """SUM over a REAL column gives 38.00000000000001 and the like; the customer owes 38.00."""
    assert 0.1 + 0.2 != 0.3
    assert to_money(0.1 + 0.2, "EUR") == Money(amount=Decimal("0.30"), currency="EUR")


@pytest.mark.parametrize(
    ("cell", "currency", "text"), [(19, "EUR", "19.00"), (500, "JPY", "500"), ("1.234", "KWD", "1.234")]
)
def test_money_has_the_places_of_its_currency(cell: Any, currency: str, text: str) -> None:
    """EUR has two, JPY none, KWD three."""
    assert str(to_money(cell, currency).amount) == text


@pytest.mark.parametrize(
    ("cell", "currency"),
    [
        ("19.999", "EUR"),
        (19.999, "EUR"),
        ("1.5", "JPY"),
        ("1,50", "EUR"),
        ("1e3", "EUR"),
        ("", "EUR"),
        ("٣", "EUR"),
        (True, "EUR"),
        (float("nan"), "EUR"),
        (float("inf"), "EUR"),
        (Decimal("NaN"), "EUR"),
        (10**15, "EUR"),
        (b"19", "EUR"),
        (19, "eur"),
        (19, ""),
        (19, None),
    ],
)
def test_money_that_cannot_be_told_exactly_is_refused(cell: Any, currency: Any) -> None:
    """A rounded amount of money is a wrong amount."""
    with pytest.raises(CellRefused):
        to_money(cell, currency)


@pytest.mark.parametrize(
    "cell",
    [
        "2025-03-01",
        "2025-03-01 23:59:59",
        "2025-03-01T23:59:59Z",
        date(2025, 3, 1),
        datetime(2025, 3, 1, 23, 59),  # noqa: DTZ001 - a column without a time zone
        datetime(2025, 3, 2, 0, 30, tzinfo=timezone(timedelta(hours=1))),
        datetime(2025, 3, 1, 23, tzinfo=UTC),
    ],
)
def test_a_day_is_read_from_dates_instants_and_iso_text(cell: Any) -> None:
    """An instant with a time zone counts in UTC."""
    assert to_day(cell) == date(2025, 3, 1)


@pytest.mark.parametrize("cell", ["2026-12-31T23:30:00Z", datetime(2026, 12, 31, 23, 30, tzinfo=UTC)])
def test_an_instant_has_the_day_of_the_companys_time_zone(cell: Any) -> None:
    """Half past eight in Tokyo is the new year."""
    assert (to_day(cell, TOKYO), to_day(cell)) == (date(2027, 1, 1), date(2026, 12, 31))
    assert to_value(ValueType.DATE, cell, zone=TOKYO) == Day(day=date(2027, 1, 1))
    assert has_time_zone(cell)


@pytest.mark.parametrize("cell", ["2026-12-31 23:30:00", "2026-12-31", date(2026, 12, 31)])
def test_a_day_without_a_time_zone_is_taken_as_it_is(cell: Any) -> None:
    """In every time zone."""
    assert to_day(cell, TOKYO) == date(2026, 12, 31)
    assert not has_time_zone(cell)


@pytest.mark.parametrize("cell", ["01.03.2025", "2025-02-30", "2025-3-1", "2025-03-01x", 1740787200, None, ""])
def test_a_day_in_another_form_is_refused(cell: Any) -> None:
    """03/04 is two different days; only ISO is not guessed."""
    with pytest.raises(CellRefused):
        to_day(cell)


@pytest.mark.parametrize(
    ("cell", "text"),
    [(12.300000000000001, "12.3"), ("1000", "1000"), (1000.0, "1000"), (Decimal("5.50"), "5.5"), (0, "0")],
)
def test_a_quantity_is_plain_decimal(cell: Any, text: str) -> None:
    """No exponent, no digits that only a binary float has."""
    assert to_value(ValueType.QUANTITY, cell, unit="GB") == Quantity(amount=Decimal(text), unit="GB")
    value = to_value(ValueType.QUANTITY, cell, unit="GB")
    assert isinstance(value, Quantity)
    assert str(value.amount) == text


def test_a_count_is_a_whole_number() -> None:
    """12.0 is 12; 12.5 seats are a mistake."""
    assert to_value(ValueType.COUNT, 12.0, unit="seats") == Count(count=12, unit="seats")
    with pytest.raises(CellRefused, match="whole"):
        to_value(ValueType.COUNT, 12.5)


def test_text_is_kept_as_data() -> None:
    """Markup and template syntax are the renderer's to escape; only the ends are trimmed."""
    assert to_value(ValueType.TEXT, " <b>{{ x }}</b> ") == Text(text="<b>{{ x }}</b>")
    assert to_text(7) == "7"
    for cell in (b"x", 1.5, None, True, "x" * 501):
        with pytest.raises(CellRefused):
            to_text(cell)
