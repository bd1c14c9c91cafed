"""The seeded database: the same each time, and what the demo promises of its customers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from support_agent.demo.seed import ACCOUNTS, HISTORY_MONTHS, NAMED_INVOICE, PRICES_CENTS, seed
from tests.unit.demo.conftest import TODAY

TABLES = ("customers", "subscriptions", "invoices", "payments", "storage_readings", "api_usage")
DAYS = [
    TODAY,
    date(2026, 1, 1),
    date(2026, 12, 31),
    date(2028, 2, 29),
    date(2027, 3, 1),
    date(2027, 8, 9),
]
STORAGE_MB = {"Free": 5_000, "Pro": 1_000_000, "Team": 1_000_000, "Business": 2_000_000}
API_CALLS = {"Free": 0, "Pro": 50_000, "Team": 200_000, "Business": 1_000_000}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("seed") / "harborfile.sqlite3"
    seed(path, TODAY)
    with closing(sqlite3.connect(path)) as connection:
        yield connection


def rows_of(path: Path) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(path)) as connection:
        return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}


@pytest.mark.parametrize("day", DAYS)
def test_seeding_twice_gives_the_same_rows(tmp_path: Path, day: date) -> None:
    """The day decides every row; seeding over an old file leaves nothing of it."""
    first, second = tmp_path / "first.sqlite3", tmp_path / "second.sqlite3"
    seed(first, day)
    seed(second, day - timedelta(days=400))
    seed(second, day)
    assert rows_of(first) == rows_of(second)


@pytest.mark.parametrize("day", DAYS)
def test_nothing_but_a_renewal_lies_in_the_future(tmp_path: Path, day: date) -> None:
    """On any day of seeding, history ends that day at the latest and a plan renews after it."""
    seed(tmp_path / "d.sqlite3", day)
    tables = rows_of(tmp_path / "d.sqlite3")
    dates = [row[2] for row in tables["invoices"]] + [row[5] for row in tables["customers"]]
    dates += [row[1] for row in tables["storage_readings"] + tables["api_usage"]]
    assert max(dates) <= day.isoformat()
    renewals = [row[6] for row in tables["subscriptions"]]
    assert renewals.count(None) == 1
    assert all(day.isoformat() < on <= f"{day.year + 1}-{day:%m-%d}" for on in renewals if on)


@pytest.mark.parametrize("day", DAYS)
def test_series_reach_three_years_back(tmp_path: Path, day: date) -> None:
    """The longest series begin 36 months before the month of seeding, and none begins earlier."""
    seed(tmp_path / "d.sqlite3", day)
    tables = rows_of(tmp_path / "d.sqlite3")
    start = date(day.year - HISTORY_MONTHS // 12, day.month, 1).isoformat()
    assert min(row[2] for row in tables["invoices"])[:7] == start[:7]
    assert min(row[1] for row in tables["storage_readings"]) == start
    assert min(row[1] for row in tables["api_usage"]) == start


def test_there_are_thirteen_customers_in_two_currencies(database: sqlite3.Connection) -> None:
    """Both currencies are billed, so that mixing them would be seen."""
    assert database.execute("SELECT count(DISTINCT address) FROM customers").fetchone() == (13,)
    currencies = database.execute("SELECT DISTINCT currency FROM payments ORDER BY currency").fetchall()
    assert currencies == [("EUR",), ("USD",)]


def test_one_customer_has_never_paid(database: sqlite3.Connection) -> None:
    """The Free account has no invoice, no payment and no renewal."""
    query = "SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM payments)"
    assert database.execute(query).fetchall() == [("c06",)]
    query = "SELECT plan, renewal_on, next_amount_cents FROM subscriptions WHERE customer_id = 'c06'"
    assert database.execute(query).fetchone() == ("Free", None, None)


def test_one_customer_is_in_arrears(database: sqlite3.Connection) -> None:
    """Two invoices of 19.00 are open after their payments failed; everybody else has paid."""
    query = "SELECT customer_id, count(*), sum(amount_cents) FROM invoices WHERE status = 'open' GROUP BY 1"
    assert database.execute(query).fetchall() == [("c05", 2, 38_00)]
    query = "SELECT status FROM payments WHERE customer_id = 'c05' ORDER BY paid_on DESC LIMIT 3"
    assert database.execute(query).fetchall() == [("failed",), ("failed",), ("succeeded",)]


def test_each_invoice_is_the_plans_price_times_the_seats(database: sqlite3.Connection) -> None:
    """Amounts follow from price, cycle, discount and a number of seats that the plan allows."""
    least = {"Pro": 1, "Team": 3, "Business": 10}
    for account in ACCOUNTS:
        query = "SELECT amount_cents, currency FROM invoices WHERE customer_id = ?"
        for amount, currency in database.execute(query, (account.id,)):
            price = PRICES_CENTS[account.plan, currency][account.cycle == "yearly"]
            seats, rest = divmod(amount * 100, price * (100 - account.discount_percent))
            assert rest == 0, account.id
            assert seats >= least[account.plan], account.id


def test_invoice_numbers_follow_the_days(database: sqlite3.Connection) -> None:
    """Numbers are unique, carry the year, and grow with the day of issue."""
    issued = database.execute("SELECT number, issued_on FROM invoices ORDER BY number").fetchall()
    assert [day for _, day in issued] == sorted(day for _, day in issued)
    assert all(number.startswith(f"HF-{day[:4]}-") for number, day in issued)
    assert len({number for number, _ in issued}) == len(issued)


@pytest.mark.parametrize("day", [day for day in DAYS if day.year < 2028])
def test_the_named_invoice_is_the_same_customers_on_any_day(tmp_path: Path, day: date) -> None:
    """A mail of the demo asks about it; what its history no longer reaches cannot be there."""
    seed(tmp_path / "d.sqlite3", day)
    customer, year, number = NAMED_INVOICE
    rows = rows_of(tmp_path / "d.sqlite3")["invoices"]
    assert [row[1] for row in rows if row[0] == f"HF-{year}-{number:04d}"] == [customer]
    assert len({row[0] for row in rows}) == len(rows)


def test_usage_stays_within_the_plan(database: sqlite3.Connection) -> None:
    """Seats, storage and API calls never exceed what documents 8, 14 and 17 allow."""
    for account in ACCOUNTS:
        seats = max(account.seats_at(0), 1)
        assert account.seats_used <= seats
        query = "SELECT max(used_mb) FROM storage_readings WHERE customer_id = ?"
        assert database.execute(query, (account.id,)).fetchone()[0] <= STORAGE_MB[account.plan] * seats
        query = "SELECT coalesce(max(calls), 0) FROM api_usage WHERE customer_id = ?"
        assert database.execute(query, (account.id,)).fetchone()[0] <= API_CALLS[account.plan]


def test_payment_methods_are_masked(database: sqlite3.Connection) -> None:
    """No stored payment method has more than four digits in a row."""
    methods = [method for (method,) in database.execute("SELECT payment_method FROM subscriptions") if method]
    assert "Visa **** 4242" in methods
    assert [m for m in methods if sum(c.isdigit() for c in m) > 4] == []
