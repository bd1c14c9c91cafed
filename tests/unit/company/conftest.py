"""A small company: a SQLite database of three customers, and the accounts.toml that reads it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support_agent.company.accounts import Accounts

SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, address TEXT, locale TEXT, seats INTEGER,
                        since TEXT, balance REAL, currency TEXT, storage REAL, plan TEXT);
CREATE TABLE payments (customer_id INTEGER, day TEXT, amount TEXT, currency TEXT, label TEXT);
INSERT INTO customers VALUES
    (1, 'Anna  Keller', 'anna@example.net', 'de-DE', 12, '2023-01-31', 38.0, 'EUR', 12.5, 'Team'),
    (2, 'Tom Becker', 'Tom@example.com', 'de_AT', NULL, NULL, NULL, 'EUR', NULL, ''),
    (3, 'Twin', 'twin@example.com', 'en', 1, '2024-01-01', 0, 'USD', 1, 'Pro'),
    (4, 'Twin', 'twin@example.com', 'en', 1, '2024-01-01', 0, 'USD', 1, 'Pro');
INSERT INTO payments VALUES
    (1, '2025-03-31', '19.00', 'EUR', 'Invoice 3'),
    (1, '2025-01-01', '19.00', 'EUR', 'Invoice 1'),
    (1, '2025-02-28', '19.50', 'EUR', NULL),
    (1, '2024-12-31', '5', 'EUR', 'Invoice 0'),
    (3, '2025-01-01', '99', 'USD', 'Other');
"""
ACCOUNTS = '''
[database]
url = "sqlite:///shop.sqlite3"
max_rows = 3

[customer]
sample_addresses = ["anna@example.net"]
query = """
SELECT id, name, lower(address) AS address, locale
FROM customers WHERE lower(address) = :address
"""

[fields.seats]
label = { en = "Seats", de = "Plätze" }
summary = "How many seats are paid."
questions = ["How many seats do we have?"]
type = "count"
unit = { en = { one = "seat", other = "seats" }, de = { one = "Platz", other = "Plätze" } }
query = "SELECT seats FROM customers WHERE id = :customer_id"

[fields.balance]
label = { en = "Open balance" }
summary = "What is owed."
type = "money"
level = 3
query = "SELECT balance AS amount, currency FROM customers WHERE id = :customer_id"

[fields.since]
label = { en = "Member since" }
summary = "Since when."
type = "date"
query = "SELECT since FROM customers WHERE id = :customer_id"

[fields.storage]
label = { en = "Storage" }
summary = "How much is stored."
type = "quantity"
unit = "GB"
query = "SELECT storage FROM customers WHERE id = :customer_id"

[fields.plan]
label = { en = "Plan" }
summary = "Which plan."
type = "text"
values.Team = { de = "Teamtarif" }
query = "SELECT plan FROM customers WHERE id = :customer_id"

[series.payments]
label = { en = "Payments", de = "Zahlungen" }
row_noun = { en = { one = "invoice", other = "invoices" }, de = { one = "Rechnung", other = "Rechnungen" } }
summary = "What was paid."
type = "money"
query = """
SELECT day, amount, currency, label FROM payments
WHERE customer_id = :customer_id AND day BETWEEN :first AND :last
"""
'''


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The folder with shop.sqlite3 and accounts.toml."""
    with closing(sqlite3.connect(tmp_path / "shop.sqlite3")) as connection:
        connection.executescript(SCHEMA)
    (tmp_path / "accounts.toml").write_text(ACCOUNTS, "utf-8")
    return tmp_path


@pytest.fixture
def accounts(shop: Path) -> Accounts:
    """The accounts of the shop."""
    return Accounts.load(shop / "accounts.toml")
