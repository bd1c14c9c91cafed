"""Accounts in a PostgreSQL database: typed cells, read-only, bounded in time."""

from __future__ import annotations

from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from support_agent.company import database as module
from support_agent.company.accounts import Accounts, check_accounts
from support_agent.company.database import ReadOnlyDatabase
from support_agent.company.periods.recognition import periods
from support_agent.company.values import Count, Customer, Day, Money
from support_agent.core.findings import Severity
from support_agent.errors import ConfigError, TransientError

pytestmark = pytest.mark.servers

SCHEMA = """
CREATE TABLE customers (id integer PRIMARY KEY, name text, address text, locale text, seats integer,
                        balance numeric(12, 4), since timestamptz);
CREATE TABLE payments (customer_id integer, day date, amount numeric(10, 2), label text);
INSERT INTO customers VALUES
    (1, 'Anna Keller', 'Anna@example.net', 'de-DE', 12, 38.0000, '2023-01-31 23:30:00+00');
INSERT INTO payments VALUES (1, '2025-03-31', 19, 'Invoice 3'), (1, '2024-12-31', 5, 'Invoice 0');
"""
ACCOUNTS = '''
[database]
url = "{url}"

[customer]
sample_addresses = ["anna@example.net"]
query = """
SELECT id, name, lower(address) AS address, locale FROM customers WHERE lower(address) = :address
"""

[fields.seats]
label = {{ en = "Seats" }}
summary = "Seats."
type = "count"
query = "SELECT seats FROM customers WHERE id = :customer_id"

[fields.balance]
label = {{ en = "Balance" }}
summary = "Balance."
type = "money"
query = "SELECT balance AS amount, 'EUR'::text AS currency FROM customers WHERE id = :customer_id"

[fields.since]
label = {{ en = "Since" }}
summary = "Since."
type = "date"
query = "SELECT since FROM customers WHERE id = :customer_id"

[series.payments]
label = {{ en = "Payments" }}
summary = "Payments."
type = "money"
query = """
SELECT day, amount, 'EUR' AS currency, label FROM payments
WHERE customer_id = :customer_id AND day BETWEEN :first AND :last
"""
'''


@pytest.fixture
def url(postgres_url: str) -> str:
    with psycopg.connect(postgres_url) as connection:
        connection.execute(SCHEMA.encode())
    return postgres_url


@pytest.mark.parametrize("date_style", ["ISO", "German", "SQL, DMY"])
def test_values_are_read_with_their_types(url: str, tmp_path: Path, date_style: str) -> None:
    """A customer's id is text here and an integer there; money, dates, instants keep their meaning.

    However the database writes dates: the driver cannot read an instant in every style.
    """
    with psycopg.connect(url) as connection:
        connection.execute(f"ALTER DATABASE {url.rpartition('/')[2]} SET DateStyle = '{date_style}'".encode())
    path = tmp_path / "accounts.toml"
    path.write_text(ACCOUNTS.format(url=url), "utf-8")
    with closing(Accounts.load(path)) as accounts:
        _check_values(accounts)
    assert check_accounts(path) == []
    path.write_text(path.read_text("utf-8").replace("sample_addresses", "# "), "utf-8")
    (finding,) = check_accounts(path)
    assert finding.severity is Severity.WARNING


def _check_values(accounts: Accounts) -> None:
    anna = accounts.customer("anna@EXAMPLE.net")
    assert anna is not None
    assert anna == Customer(id="1", name="Anna Keller", address="anna@example.net", locale="de-DE")
    assert accounts.field("seats", anna, anna.locale) == Count(count=12)
    assert accounts.field("balance", anna, anna.locale) == Money(amount=Decimal("38.00"), currency="EUR")
    assert accounts.field("since", anna, anna.locale) == Day(day=date(2023, 1, 31))
    (year,) = (period for period in periods(date(2025, 6, 1)) if period.name == "2025")
    (row,) = accounts.rows("payments", anna, year, "en")
    assert (row.day, row.value, row.label) == (
        date(2025, 3, 31),
        Money(amount=Decimal("19.00"), currency="EUR"),
        "Invoice 3",
    )


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM payments RETURNING label",
        "CREATE TABLE t (x integer)",
        "WITH gone AS (DELETE FROM payments RETURNING label) SELECT label FROM gone",
        "SELECT set_config('transaction_read_only', 'off', false)",
    ],
)
def test_the_session_is_read_only(url: str, statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the statement's words were not understood, the server refuses."""
    with closing(ReadOnlyDatabase(url, timeout_s=5)) as database:
        with pytest.raises(ConfigError, match="write one SELECT"):
            database.select(statement, {}, 10)
        monkeypatch.setattr(module, "statement_defect", lambda sql: None)
        with pytest.raises(ConfigError, match="refuses"):
            database.select(statement, {}, 10)
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT count(*) FROM payments").fetchone()
    assert rows == (2,)


def test_a_wrong_query_is_the_files_fault_and_a_slow_one_is_transient(url: str) -> None:
    """`check` tells the first; the mail waits for the second."""
    with closing(ReadOnlyDatabase(url, timeout_s=0.2)) as database:
        with pytest.raises(ConfigError, match="seets"):
            database.select("SELECT seets FROM customers", {}, 10)
        with pytest.raises(TransientError, match=r"over 0\.2 s"):
            database.select("SELECT pg_sleep(20)", {}, 10)
