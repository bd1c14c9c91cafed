"""Records of accounts.toml: a customer's own rows with an identifier, and what `check` finds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from support_agent.company.accounts import Accounts, check_accounts
from support_agent.company.translations import untranslated
from support_agent.company.values import Count, Customer, CustomerRecord, Day, Money, Noun, Text
from support_agent.errors import ConfigError, PermanentError
from tests.unit.company.test_accounts import change, customer, line_of, rewrite

SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, address TEXT, locale TEXT);
CREATE TABLE orders (number TEXT, customer_id INTEGER, on_day TEXT, total TEXT, currency TEXT, state TEXT,
                     boxes INTEGER);
INSERT INTO customers VALUES (1, 'Anna', 'anna@example.net', 'de-DE'), (2, 'Tom', 'tom@example.com', 'en');
INSERT INTO orders VALUES
    (' A-17 ', 1, '2025-03-31', '19.00', 'EUR', 'sent', 2),
    ('A-9', 1, NULL, NULL, NULL, '', NULL),
    ('B-1', 2, '2025-01-01', '5.00', 'USD', 'lost', 1);
"""
ACCOUNTS = """
[database]
url = "sqlite:///shop.sqlite3"

[customer]
sample_addresses = ["anna@example.net"]
query = "SELECT id, name, address, locale FROM customers WHERE address = :address"

[records.orders]
label = { en = "Order", de = "Bestellung" }
summary = "One order."
questions = ["Where is my order A-17?"]
identifier = "number"
level = 3
query = "SELECT number, on_day, total, currency, state, boxes FROM orders WHERE customer_id = :customer_id"

[records.orders.columns.on_day]
label = { en = "Ordered on" }
summary = "Its day."
type = "date"

[records.orders.columns.total]
label = { en = "Total", de = "Summe" }
summary = "What it costs."
type = "money"

[records.orders.columns.state]
label = { en = "State", de = "Stand" }
summary = "Where it is."
type = "text"
values.sent = { en = "on its way", de = "unterwegs" }

[records.orders.columns.boxes]
label = { en = "Boxes", de = "Pakete" }
summary = "How many there are."
type = "count"
unit = { en = { one = "box", other = "boxes" } }
"""
BOX = Noun(one="box", other="boxes")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite3")) as connection:
        connection.executescript(SCHEMA)
    (tmp_path / "accounts.toml").write_text(ACCOUNTS, "utf-8")
    return tmp_path


def own(shop: Path, address: str = "anna@example.net", locale: str = "de-DE") -> tuple[CustomerRecord, ...]:
    accounts = Accounts.load(shop / "accounts.toml")
    return accounts.own_records("orders", customer(accounts, address), locale)


def test_the_own_records_are_read_with_typed_values_in_the_words_of_the_answer(shop: Path) -> None:
    first, second = own(shop)
    assert first.identifier == "A-17"
    assert first.values == {
        "on_day": Day(day=date(2025, 3, 31)),
        "total": Money(amount=Decimal("19.00"), currency="EUR"),
        "state": Text(text="unterwegs"),
        "boxes": Count(count=2, unit=BOX),
    }
    assert (second.identifier, set(second.values.values())) == ("A-9", {None})


def test_nobody_gets_another_customers_records(shop: Path) -> None:
    assert [record.identifier for record in own(shop, "tom@example.com")] == ["B-1"]
    accounts = Accounts.load(shop / "accounts.toml")
    assert accounts.own_records("orders", Customer(id="", name="", address="", locale=""), "en") == ()


@pytest.mark.parametrize("setting", ["max_records = 1", "max_rows = 1"])
def test_more_records_than_the_limit_are_an_error_that_names_the_setting(shop: Path, setting: str) -> None:
    """A closed set with some of them left out would make an own record look like nobody's."""
    rewrite(shop, "[customer]", f"{setting}\n[customer]")
    with pytest.raises(PermanentError, match=r"more than 1 rows: raise \[database\] max_r") as error:
        own(shop)
    assert error.value.code == "too_many_rows"


def test_an_identifier_that_stands_twice_is_an_error_of_the_query(shop: Path) -> None:
    change(shop, "UPDATE orders SET number = 'A-9' WHERE customer_id = 1")
    with pytest.raises(ConfigError, match="returns one number twice"):
        own(shop)


@pytest.mark.parametrize("number", ["NULL", "''", "' '", "'-'", f"'{'A' * 81}'", "1.5"])
def test_an_identifier_that_nobody_could_name_is_a_fault_of_the_data(shop: Path, number: str) -> None:
    change(shop, f"UPDATE orders SET number = {number} WHERE number = 'A-9'")
    if number == "1.5":  # SQLite keeps it as text
        assert len(own(shop)) == 2
        return
    with pytest.raises(PermanentError) as error:
        own(shop)
    assert error.value.code == "account_value"


def test_a_whole_file_has_no_findings(shop: Path) -> None:
    assert check_accounts(shop / "accounts.toml") == []


@pytest.mark.parametrize(
    ("old", "new", "at", "what"),
    [
        ("SELECT number, on_day", "SELECT on_day", 'query = "SELECT on_day', "does not return number"),
        ("total, currency,", "total,", 'query = "SELECT number', "does not return currency"),
        ("state, boxes FROM", "state FROM", 'query = "SELECT number', "does not return boxes"),
        ("boxes FROM orders", "boxes FROM order", 'query = "SELECT number', "the database refuses the query"),
        ("WHERE customer_id = :customer_id", "WHERE 1 = :customer", '= :customer"', ":customer_id is not used"),
        ('identifier = "number"\n', "", "[records.orders]", "identifier is missing"),
        ('identifier = "number"', 'identifier = "a number"', "a number", "identifier cannot be used"),
        ("level = 3", "level = 2", "level = 2", "level: a customer is known only at level 3"),
        ("level = 3", "unit = 'x'", "unit = 'x'", "unknown key unit"),
        ('type = "money"', 'type = "cash"', 'type = "cash"', "[records.orders.columns.total] type cannot be used"),
        ('type = "money"', "", "[records.orders.columns.total]", "[records.orders.columns.total] type is missing"),
        ('type = "money"', 'type = "money"\nqery = ""', "qery", "[records.orders.columns.total] unknown key qery"),
        ('label = { en = "Total", de', "label = { de", 'label = { de = "Summe"', "label: no English text"),
        ("columns.total", "columns.Total", "[records.orders]", "columns: Total is not a valid name"),
        ("columns.total", "columns.all", "[records.orders]", "columns: all is not a valid name"),
        ("[records.orders]", "[records.Orders]", "[records.Orders]", "records.Orders is not a valid name"),
    ],
)
def test_check_names_the_line_of_each_mistake(shop: Path, old: str, new: str, at: str, what: str) -> None:
    path = rewrite(shop, old, new)
    matching = [finding for finding in check_accounts(path) if what in str(finding)]
    assert len(matching) == 1, [str(finding) for finding in check_accounts(path)]
    assert matching[0].line == line_of(path, at)
    assert matching[0].todo


def test_check_tries_the_query_with_the_sample_customers(shop: Path) -> None:
    change(shop, "UPDATE orders SET total = 'much' WHERE customer_id = 1")
    (finding,) = check_accounts(shop / "accounts.toml")
    assert (finding.line, "[records.orders]" in finding.what) == (
        line_of(shop / "accounts.toml", 'query = "SELECT n'),
        True,
    )


def test_words_of_columns_that_a_language_lacks_are_found_with_their_lines(shop: Path) -> None:
    path = shop / "accounts.toml"
    found = list(untranslated(path, shop / "questions.toml", ["en", "de"]))
    assert [(one.line, one.what.partition(" has")[0]) for one in found] == [
        (line_of(path, "Ordered on"), "[records.orders] columns.on_day.label"),
        (line_of(path, "unit = "), "[records.orders] columns.boxes.unit"),
    ]


def test_the_queries_that_are_kept_have_those_of_records(shop: Path) -> None:
    queries = Accounts.load(shop / "accounts.toml").queries
    assert queries.records["orders"].startswith("SELECT number")
