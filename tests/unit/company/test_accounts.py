"""Accounts: who an address is, fields, series, and what `check` finds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from support_agent.company.accounts import Accounts, check_accounts
from support_agent.company.periods.recognition import periods
from support_agent.company.values import Count, Customer, Day, Money, Noun, Quantity, Text
from support_agent.core.findings import Severity
from support_agent.errors import ConfigError, PermanentError, TransientError

TODAY = date(2025, 6, 1)
PERIODS = {period.name: period for period in periods(TODAY)}


def customer(accounts: Accounts, address: str) -> Customer:
    found = accounts.customer(address)
    assert found is not None
    return found


def rewrite(shop: Path, old: str, new: str) -> Path:
    path = shop / "accounts.toml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    return path


def change(shop: Path, statement: str) -> None:
    with closing(sqlite3.connect(shop / "shop.sqlite3")) as connection:
        connection.execute(statement)
        connection.commit()


def line_of(path: Path, text: str) -> int:
    return next(n for n, line in enumerate(path.read_text("utf-8").splitlines(), 1) if text in line)


def test_a_customer_is_found_by_address_in_any_case(accounts: Accounts) -> None:
    """The sender's address is compared lower-cased; the name is one line, the locale a BCP 47 tag."""
    assert customer(accounts, "ANNA@Example.NET") == Customer(
        id="1", name="Anna Keller", address="anna@example.net", locale="de-DE"
    )
    assert customer(accounts, "tom@example.com").locale == "de-AT"


@pytest.mark.parametrize("address", ["nobody@example.net", "", "%", "' OR 1=1 --", "anna@example.net'--"])
def test_an_unknown_address_is_no_customer(accounts: Accounts, address: str) -> None:
    """Addresses are bound, never pasted into the SQL."""
    assert accounts.customer(address) is None


def test_two_customers_of_one_address_stop_the_agent(accounts: Accounts) -> None:
    """Choosing one of them could tell a customer another's values."""
    with pytest.raises(ConfigError, match="more than one customer"):
        accounts.customer("twin@example.com")


def test_an_id_that_differs_by_white_space_alone_is_another_customers(shop: Path) -> None:
    """Failure: Tom's id was stripped, which made it Anna's, and he got her values."""
    spaced = "substr('c1    ', 1, id + 1)"
    rewrite(shop, "SELECT id,", f"SELECT {spaced} AS id,")
    path = rewrite(shop, "WHERE id = :customer_id", f"WHERE {spaced} = :customer_id")
    with closing(Accounts.load(path)) as accounts:
        anna, tom = (customer(accounts, address) for address in ("anna@example.net", "tom@example.com"))
        first = next(iter(accounts.fields))
        assert (anna.id, tom.id) == ("c1", "c1 ")
        assert accounts.field(first, anna, "en") is not None
        assert accounts.field(first, tom, "en") is None


def test_an_id_of_white_space_alone_is_none(shop: Path) -> None:
    """Rule: rows that belong to nobody have a blank id, and are nobody's."""
    rewrite(shop, "SELECT id,", "SELECT '   ' AS id,")
    path = rewrite(shop, "WHERE id = :customer_id", "WHERE '   ' = :customer_id")
    with closing(Accounts.load(path)) as accounts:
        assert accounts.field(next(iter(accounts.fields)), customer(accounts, "anna@example.net"), "en") is None


def test_a_query_that_finds_another_address_is_an_error(shop: Path) -> None:
    """A LIKE or a wrong join must not hand out another customer."""
    path = rewrite(shop, "WHERE lower(address) = :address", "WHERE address LIKE :address")
    with pytest.raises(ConfigError, match="another address"):
        Accounts.load(path).customer("%anna@example%")


def test_each_type_of_field_is_read(accounts: Accounts) -> None:
    """Money is Decimal with its currency; units and texts have the words of the answer's language."""
    anna = customer(accounts, "anna@example.net")
    assert {name: accounts.field(name, anna, anna.locale) for name in accounts.fields} == {
        "seats": Count(count=12, unit=Noun(one="Platz", other="Plätze")),
        "balance": Money(amount=Decimal("38.00"), currency="EUR"),
        "since": Day(day=date(2023, 1, 31)),
        "storage": Quantity(amount=Decimal("12.5"), unit="GB"),
        "plan": Text(text="Teamtarif"),
    }


def test_null_empty_text_and_no_row_are_none(accounts: Accounts) -> None:
    """ "No such value" is not zero."""
    tom = customer(accounts, "tom@example.com")
    assert [accounts.field(name, tom, tom.locale) for name in accounts.fields] == [None] * 5
    gone = Customer(id="99", name="", address="gone@example.com", locale="en")
    assert [accounts.field(name, gone, gone.locale) for name in accounts.fields] == [None] * 5
    assert accounts.rows("payments", tom, PERIODS["all_time"], "en") == ()


def test_rows_are_those_of_the_customer_and_the_period_by_day(accounts: Accounts) -> None:
    """The first and the last day belong to the period; another customer's rows do not."""
    anna = customer(accounts, "anna@example.net")
    rows = accounts.rows("payments", anna, PERIODS["this_year"], "en")
    assert [
        (row.day.isoformat(), str(row.value.amount), row.label) for row in rows if isinstance(row.value, Money)
    ] == [
        ("2025-01-01", "19.00", "Invoice 1"),
        ("2025-02-28", "19.50", ""),
        ("2025-03-31", "19.00", "Invoice 3"),
    ]
    (row,) = accounts.rows("payments", anna, PERIODS["last_year"], "en")
    assert row.value == Money(amount=Decimal("5.00"), currency="EUR")


def test_too_many_rows_are_an_error_never_a_shorter_table(accounts: Accounts) -> None:
    """A total over cut-off rows would be wrong and look right."""
    with pytest.raises(PermanentError, match="more than 3 rows") as error:
        accounts.rows("payments", customer(accounts, "anna@example.net"), PERIODS["all_time"], "en")
    assert error.value.code == "too_many_rows"


def test_a_query_that_ignores_the_period_is_an_error(shop: Path) -> None:
    """Rows of other days would be summed under the period's name."""
    path = rewrite(shop, "day BETWEEN :first AND :last", "(:first <> '' OR :last <> '') LIMIT 2")
    accounts = Accounts.load(path)
    with pytest.raises(ConfigError, match="outside :first to :last"):
        accounts.rows("payments", customer(accounts, "anna@example.net"), PERIODS["2023"], "en")


def test_instants_of_a_series_are_refused_where_the_query_has_other_days(shop: Path) -> None:
    """SQLite compares them with :first and :last as text in UTC: a row of the new year in Tokyo would be missing."""
    path = rewrite(shop, "SELECT day, amount", "SELECT day || 'T20:00:00Z' AS day, amount")
    anna = customer(Accounts.load(path), "anna@example.net")
    assert len(Accounts.load(path).rows("payments", anna, PERIODS["this_year"], "en")) == 3
    with pytest.raises(PermanentError, match=r"company\.time_zone"):
        Accounts.load(path, zone="Asia/Tokyo").rows("payments", anna, PERIODS["this_year"], "en")
    days = Accounts.load(rewrite(shop, "day || 'T20:00:00Z' AS day", "day"), zone="Asia/Tokyo")
    assert len(days.rows("payments", anna, PERIODS["this_year"], "en")) == 3


def test_labels_and_units_fall_back_to_english(accounts: Accounts) -> None:
    """The tag, then its language, then English."""
    spec = accounts.fields["seats"]
    assert [spec.label_for(locale) for locale in ("de-AT", "en-GB", "es-ES")] == ["Plätze", "Seats", "Seats"]
    assert spec.unit_for("fr") == Noun(one="seat", other="seats")
    assert accounts.fields["balance"].label_for("de-DE") == "Open balance"
    assert accounts.series["payments"].row_noun_for("de-DE") == Noun(one="Rechnung", other="Rechnungen")


def test_levels_default_to_three(accounts: Accounts) -> None:
    """A field that names no level is no less private."""
    assert (accounts.fields["seats"].level, accounts.fields["balance"].level) == (3, 3)
    assert accounts.series["payments"].level == 3


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE customers SET seats = 13.5 WHERE id = 1",
        "UPDATE customers SET balance = 1.234 WHERE id = 1",
        "UPDATE customers SET since = 'long ago' WHERE id = 1",
        "UPDATE customers SET currency = 'Euro' WHERE id = 1",
        "UPDATE customers SET storage = 'much' WHERE id = 1",
        "UPDATE customers SET plan = x'00' WHERE id = 1",
    ],
)
def test_a_value_of_another_type_is_a_fault_of_the_data(shop: Path, statement: str) -> None:
    """One bad row sets one case aside; it does not stop the agent. `check` finds it at the query's line."""
    accounts = Accounts.load(rewrite(shop, "max_rows = 3", "max_rows = 10"))
    assert accounts.check() == []
    change(shop, statement)
    anna = customer(accounts, "anna@example.net")
    with pytest.raises(PermanentError) as error:
        [accounts.field(name, anna, anna.locale) for name in accounts.fields]
    assert error.value.code == "account_value"
    (finding,) = accounts.check()
    table = finding.what.partition("]")[0] + "]"
    lines = (shop / "accounts.toml").read_text("utf-8").splitlines()
    assert finding.line is not None
    assert lines[finding.line - 1].startswith("query = ")
    assert table in lines[finding.line - 9 : finding.line - 1]


def test_a_whole_file_has_no_findings(shop: Path) -> None:
    """Every query of the shop runs and returns its type."""
    assert check_accounts(rewrite(shop, "max_rows = 3", "max_rows = 10")) == []


def test_without_a_sample_customer_check_says_what_it_cannot_see(shop: Path) -> None:
    """Types stand in rows; without a row only columns are known."""
    rewrite(shop, "max_rows = 3", "max_rows = 10")
    path = rewrite(shop, 'sample_addresses = ["anna@example.net"]\n', "")
    (finding,) = check_accounts(path)
    assert (finding.severity, finding.line) == (Severity.WARNING, line_of(path, "[customer]"))


@pytest.mark.parametrize(
    ("old", "new", "at", "what"),
    [
        ("SELECT seats FROM", "SELECT seets FROM", "seets", "no such column: seets"),
        ("SELECT seats FROM", "SELECT seats, plan FROM", "seats, plan", "must return one column"),
        ("balance AS amount", "balance AS sum", "AS sum", "does not return amount"),
        (
            "amount, currency, label FROM",
            "amount, currency, label, 1 AS x FROM",
            'type = "money"\nquery',
            "unknown column x",
        ),
        ("WHERE id = :customer_id", "WHERE id = 1", "WHERE id = 1", ":customer_id is not used"),
        ("WHERE id = :customer_id", "WHERE id = :customer", '= :customer"', "is not used"),
        ("WHERE id = :customer_id", "WHERE :customer_id = :me", ":me", "unknown parameter :me"),
        ("SELECT seats FROM customers", "DELETE FROM customers", "DELETE", "does not begin with SELECT"),
        ("SELECT seats FROM", "DROP TABLE payments; SELECT seats FROM", "DROP", "more than one statement"),
        (
            "SELECT seats FROM",
            "WITH x AS (DELETE FROM payments) SELECT seats FROM",
            "WITH",
            "the word DELETE",
        ),
        ('type = "date"', 'type = "day"', 'type = "day"', "type cannot be used"),
        ("level = 3", "level = 2", "level = 2", "level: a customer is known only at level 3: write level = 3"),
        ("level = 3", "levl = 2", "levl", "unknown key levl: delete it, did you mean level?"),
        ('label = { en = "Plan" }', 'label = { de = "Tarif" }', "Tarif", "no English text"),
        ('label = { en = "Plan" }', 'label = { en = "Pl\\u202ean" }', "u202e", "U+202E"),
        ('summary = "Which plan."\n', "", "[fields.plan]", "summary is missing"),
        ("[fields.plan]", "[fields.Plan]", "[fields.Plan]", "not a valid name"),
        ("[fields.plan]", "[fields.payments]", "[series.payments]", "a field and a series"),
        ("[fields.plan]", "[field.plan]", "[field.plan]", "unknown table"),
        ('["anna@example.net"]', '["nobody@example.net"]', "nobody@", "is not a customer"),
        ('["anna@example.net"]', '["twin@example.com"]', 'query = """', "more than one customer"),
        ("shop.sqlite3", "shops.sqlite3", "shops", "no such database file"),
        ('url = "sqlite:///shop.sqlite3"', 'url = "shop"', "shop", "not a database URL"),
        ('url = "sqlite:///shop.sqlite3"', 'url = "sqlite://"', "sqlite://", "must be a file"),
        ('url = "sqlite:///shop.sqlite3"', 'url = "nosql://host/x"', "nosql", "no driver"),
        ('url = "sqlite:///shop.sqlite3"', 'url_env = "SHOP_URL"', "[database]", "SHOP_URL is not set"),
        ('url = "sqlite:///shop.sqlite3"', "", "[database]", "give one of url"),
        ("[customer]", "[customers]", None, "[customer] is missing"),
        ("[database]", "[database", None, "not valid TOML"),
    ],
)
def test_check_names_the_line_of_each_mistake(shop: Path, old: str, new: str, at: str | None, what: str) -> None:
    """Every finding has the file, the line and what to do."""
    rewrite(shop, "max_rows = 3", "max_rows = 10")
    path = rewrite(shop, old, new)
    findings = check_accounts(path)
    matching = [finding for finding in findings if what in str(finding)]
    assert len(matching) == 1, [str(finding) for finding in findings]
    assert matching[0].path == path
    assert matching[0].severity is Severity.ERROR
    assert matching[0].todo
    assert str(matching[0]).count(matching[0].todo) == 1
    if at is not None and "\n" not in at:
        expected = line_of(path, at)
        assert matching[0].line == expected, (matching[0], expected)


def test_loading_refuses_what_check_finds_without_running_a_query(shop: Path) -> None:
    """All declarations at once; the file's path and line stand in the message."""
    rewrite(shop, "level = 3", "level = 4")
    path = rewrite(shop, 'type = "date"', 'type = "day"')
    with pytest.raises(ConfigError) as error:
        Accounts.load(path)
    assert f"{path}:{line_of(path, 'level = 4')}: [fields.balance] level" in str(error.value)
    assert "[fields.since] type" in str(error.value)


def test_a_missing_database_file_is_an_error_and_not_a_new_empty_one(shop: Path) -> None:
    """SQLite would make an empty file, and every customer would be unknown."""
    file = shop / "shop.sqlite3"
    file.unlink()
    with pytest.raises(ConfigError, match="no such database file"):
        Accounts.load(shop / "accounts.toml")
    assert not file.exists()


def test_a_database_that_goes_away_is_transient(shop: Path, accounts: Accounts) -> None:
    """The mail waits until it is back; the file is not made anew."""
    file = shop / "shop.sqlite3"
    file.unlink()
    with pytest.raises(TransientError):
        accounts.customer("anna@example.net")
    assert not file.exists()


def test_the_url_may_come_from_the_environment(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A URL with a password has no place in a file that is kept in version control."""
    path = rewrite(shop, 'url = "sqlite:///shop.sqlite3"', 'url_env = "SHOP_URL"')
    monkeypatch.setenv("SHOP_URL", "sqlite:///shop.sqlite3")
    assert Accounts.load(path).customer("anna@example.net")
    monkeypatch.delenv("SHOP_URL")
    with pytest.raises(ConfigError, match="SHOP_URL is not set"):
        Accounts.load(path)
