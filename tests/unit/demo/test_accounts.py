"""The demo's accounts.toml, which `init` copies: the fields and series that are promised, and true values."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from support_agent.company.accounts import Accounts, check_accounts
from support_agent.company.values import Count, Customer, Day, Money, Noun, Period, Quantity, Text
from support_agent.demo.seed import ACCOUNTS

FIELDS = {
    "plan", "renewal_date", "billing_cycle", "seats_used", "seats_paid", "storage_used", "latest_invoice",
    "next_invoice", "open_balance", "payment_method", "two_factor_status", "member_since",
}  # fmt: skip
SEATS = Noun(one="Platz", other="Plätze")
LAST_YEAR = Period(name="last_year", first=date(2025, 1, 1), last=date(2025, 12, 31))


def customer(accounts: Accounts, customer_id: str) -> Customer:
    address = next(account.address for account in ACCOUNTS if account.id == customer_id)
    found = accounts.customer(address)
    assert found is not None
    assert found.id == customer_id
    return found


def test_example_has_no_findings(accounts_path: Path) -> None:
    """What `init` writes passes `check`, with every query run for the sample customers."""
    assert check_accounts(accounts_path) == []


def test_fields_and_series_are_the_promised_ones(accounts: Accounts) -> None:
    """Twelve fields, three series, all for known customers only, each with a German label and examples."""
    assert set(accounts.fields) == FIELDS
    assert set(accounts.series) == {"payments", "storage", "api_calls"}
    for spec in (*accounts.fields.values(), *accounts.series.values()):
        assert spec.level == 3
        assert {"en", "de"} <= set(spec.label)
        assert 18 <= len(spec.questions) <= 22
    every = [q for spec in (*accounts.fields.values(), *accounts.series.values()) for q in spec.questions]
    assert len(set(every)) == len(every)


def test_records_are_the_promised_ones(accounts: Accounts) -> None:
    """The invoices of known customers, each column with a German label; the latest ones as the field says."""
    assert set(accounts.records) == {"invoices"}
    spec = accounts.records["invoices"]
    assert (spec.level, set(spec.columns)) == (3, {"amount", "issued_on", "status"})
    assert all({"en", "de"} <= set(words.label) for words in (spec, *spec.columns.values()))
    assert len(set(spec.questions)) == len(spec.questions) >= 12
    for account in ACCOUNTS:
        who = customer(accounts, account.id)
        own = accounts.own_records("invoices", who, who.locale)
        assert (own[0].values["amount"] if own else None) == accounts.field("latest_invoice", who, who.locale)


def test_the_invoice_that_a_mail_asks_about_is_sophies(accounts: Accounts) -> None:
    owners = [
        account.name
        for account in ACCOUNTS
        for record in accounts.own_records("invoices", customer(accounts, account.id), "en")
        if record.identifier == "HF-2025-0030"
    ]
    assert owners == ["Sophie Martin"]


def test_every_customer_is_found_by_address(accounts: Accounts) -> None:
    """Each seeded customer is found, in any case of the address; nobody else is."""
    for account in ACCOUNTS:
        found = accounts.customer(account.address.upper())
        assert found is not None
        assert (found.id, found.name, found.locale) == (account.id, account.name, account.locale)
    assert accounts.customer("stranger@example.net") is None


def test_team_customer_sees_the_own_values(accounts: Accounts) -> None:
    """A German Team customer: 12 seats at 22.00 EUR, and words in German."""
    anna = customer(accounts, "c01")
    assert accounts.field("plan", anna, anna.locale) == Text(text="Team")
    assert accounts.field("billing_cycle", anna, anna.locale) == Text(text="monatlich")
    assert accounts.field("seats_paid", anna, anna.locale) == Count(count=12, unit=SEATS)
    assert accounts.field("seats_used", anna, anna.locale) == Count(count=9, unit=SEATS)
    assert accounts.field("next_invoice", anna, anna.locale) == Money(amount=Decimal("264.00"), currency="EUR")
    assert accounts.field("two_factor_status", anna, anna.locale) == Text(text="eingeschaltet")
    assert accounts.field("renewal_date", anna, anna.locale) == Day(day=date(2026, 12, 4))


def test_free_customer_has_no_invoices_and_owes_nothing(accounts: Accounts) -> None:
    """What an account does not have is None, never a zero; an open balance of nothing is zero."""
    tom = customer(accounts, "c06")
    for name in ("renewal_date", "billing_cycle", "latest_invoice", "next_invoice", "payment_method"):
        assert accounts.field(name, tom, tom.locale) is None
    assert accounts.field("open_balance", tom, tom.locale) == Money(amount=Decimal("0.00"), currency="EUR")
    assert accounts.rows("payments", tom, LAST_YEAR, "en") == ()


def test_arrears_are_the_sum_of_the_open_invoices(accounts: Accounts) -> None:
    """The failed payments are owed and do not count as paid."""
    sophie = customer(accounts, "c05")
    assert accounts.field("open_balance", sophie, sophie.locale) == Money(amount=Decimal("38.00"), currency="EUR")
    autumn = Period(name="quarter", first=date(2026, 9, 1), last=date(2026, 11, 21))
    assert [row.day for row in accounts.rows("payments", sophie, autumn, "en")] == [date(2026, 9, 9)]


def test_discount_and_currency_show_in_the_amounts(accounts: Accounts) -> None:
    """The student pays half in USD, the 40-seat company the full price."""
    assert accounts.field("latest_invoice", customer(accounts, "c08"), "en") == Money(
        amount=Decimal("105.00"), currency="USD"
    )
    assert accounts.field("latest_invoice", customer(accounts, "c04"), "en") == Money(
        amount=Decimal("13200.00"), currency="USD"
    )


def test_monthly_customer_paid_twelve_invoices_last_year(accounts: Accounts) -> None:
    """A year of the monthly Pro plan is 12 invoices and 228.00 EUR."""
    rows = accounts.rows("payments", customer(accounts, "c03"), LAST_YEAR, "en")
    amounts = [row.value.amount for row in rows if isinstance(row.value, Money)]
    assert (len(rows), sum(amounts)) == (12, Decimal("228.00"))
    assert rows[0].label.startswith("HF-2025-")


def test_usage_series_have_one_row_a_month(accounts: Accounts) -> None:
    """Storage and API calls have twelve months in a past year; the newest reading is the storage used now."""
    james = customer(accounts, "c02")
    for name in ("storage", "api_calls"):
        rows = accounts.rows(name, james, LAST_YEAR, "en")
        assert [row.label for row in rows] == [f"2025-{month:02d}" for month in range(1, 13)]
    this_month = Period(name="this_month", first=date(2026, 11, 1), last=date(2026, 11, 30))
    (newest,) = accounts.rows("storage", james, this_month, "en")
    assert newest.value == accounts.field("storage_used", james, james.locale)
    assert isinstance(newest.value, Quantity)


@pytest.mark.parametrize("account", ACCOUNTS, ids=lambda account: account.id)
def test_every_value_has_its_declared_type(accounts: Accounts, account: object) -> None:
    """Each field of each customer is None or of the type that its table declares."""
    who = customer(accounts, getattr(account, "id", ""))
    for name, spec in accounts.fields.items():
        value = accounts.field(name, who, who.locale)
        assert value is None or value.type == spec.type
