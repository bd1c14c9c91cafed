"""Write the demo company's customer database: thirteen customers, three years of invoices, storage, API calls.

Invariant: the same day gives the same rows; nothing is random. Every invoice is the plan's price as
document 8 states it, times the seats of its day, less the discount. Checked by tests/unit/demo/test_seed.py.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Literal

HISTORY_MONTHS = 36
"""How far back invoices and readings reach; older ones of older customers are left out."""

Plan = Literal["Free", "Pro", "Team", "Business"]
Cycle = Literal["monthly", "yearly"]
Currency = Literal["EUR", "USD"]

PRICES_CENTS: dict[tuple[Plan, Currency], tuple[int, int]] = {
    ("Free", "EUR"): (0, 0),
    ("Free", "USD"): (0, 0),
    ("Pro", "EUR"): (19_00, 190_00),
    ("Pro", "USD"): (21_00, 210_00),
    ("Team", "EUR"): (22_00, 220_00),
    ("Team", "USD"): (24_00, 240_00),
    ("Business", "EUR"): (30_00, 300_00),
    ("Business", "USD"): (33_00, 330_00),
}
"""(monthly, yearly) price of one seat."""

NAMED_INVOICE = ("c05", 2025, 30)
"""Customer, year and number of the invoice that a mail of the demo asks about, on any day of seeding before 2028."""

SCHEMA_FILE = Path(__file__).with_name("schema.sql")


@dataclass(frozen=True)
class Account:
    """One customer of the demo company.

    `joined_months` counts months before the day of seeding; `billing_day` (1..28) is the day of the month on
    which the account was opened and is billed. `seats` are (months before the day of seeding, seats paid),
    oldest first. `storage_mb` is what the account held at first, and what it grows by in a month. `api_calls`
    is a usual month's number, 0 for none. `unpaid` counts the newest invoices that are still open.
    """

    id: str
    name: str
    address: str
    locale: str
    currency: Currency
    plan: Plan
    cycle: Cycle | None
    joined_months: int
    billing_day: int
    payment_method: str | None
    two_factor: bool
    storage_mb: tuple[int, int]
    api_calls: int = 0
    seats: tuple[tuple[int, int], ...] = ((HISTORY_MONTHS * 10, 1),)
    seats_used: int = 1
    discount_percent: int = 0
    unpaid: int = 0

    def seats_at(self, months_ago: int) -> int:
        """Seats paid for, so many months before the day of seeding."""
        return [count for since, count in self.seats if since >= months_ago][-1]

    def price_cents(self, months_ago: int) -> int:
        """What one billing period cost then."""
        if self.cycle is None:
            return 0
        monthly, yearly = PRICES_CENTS[self.plan, self.currency]
        price = (monthly if self.cycle == "monthly" else yearly) * self.seats_at(months_ago)
        return price * (100 - self.discount_percent) // 100


ACCOUNTS = (
    Account(
        "c01", "Anna Keller", "anna.keller@example.net", "de-DE", "EUR", "Team", "monthly", 41, 4,
        "SEPA **** 3000", True, (1_250_000, 96_000), 41_000,
        seats=((41, 8), (20, 10), (7, 12)), seats_used=9,
    ),
    Account(
        "c02", "James Okafor", "james.okafor@example.org", "en-GB", "EUR", "Pro", "yearly", 47, 12,
        "Visa **** 4242", True, (120_000, 11_400), 3_200,
    ),
    Account(
        "c03", "Maria Lopez", "maria.lopez@example.com", "es-ES", "EUR", "Pro", "monthly", 38, 20,
        "Mastercard **** 5100", False, (64_000, 7_900),
    ),
    Account(
        "c04", "David Chen", "david.chen@example.net", "en-US", "USD", "Business", "yearly", 52, 15,
        "Bank transfer", True, (9_800_000, 612_000), 590_000, seats=((52, 25), (28, 32), (16, 40)),
        seats_used=38,
    ),
    Account(
        "c05", "Sophie Martin", "sophie.martin@example.org", "en-IE", "EUR", "Pro", "monthly", 27, 9,
        "Visa **** 0119", False, (210_000, 5_300), unpaid=2,
    ),
    Account(
        "c06", "Tom Becker", "tom.becker@example.com", "de-AT", "EUR", "Free", None, 22, 17,
        None, False, (900, 118), seats=((22, 0),),
    ),
    Account(
        "c07", "Priya Nair", "priya.nair@example.net", "en-US", "USD", "Team", "monthly", 37, 6,
        "American Express **** 1005", True, (700_000, 58_000), 18_500, seats=((37, 3), (16, 5)),
        seats_used=5,
    ),
    Account(
        "c08", "Lucas Silva", "lucas.silva@example.org", "en-US", "USD", "Pro", "yearly", 31, 2,
        "PayPal, lucas.s***@example.org", False, (38_000, 4_400), 900, discount_percent=50,
    ),
    Account(
        "c09", "Emma Johansson", "emma.johansson@example.com", "en-GB", "EUR", "Business", "monthly", 44, 1,
        "Mastercard **** 8210", True, (4_100_000, 207_000), 233_000, seats=((44, 10), (25, 14), (9, 16)),
        seats_used=15,
    ),
    Account(
        "c10", "Noah Williams", "noah.williams@example.net", "en-US", "USD", "Pro", "monthly", 14, 23,
        "Visa **** 7731", False, (15_000, 21_000), 1_700,
    ),
    Account(
        "c11", "Olivia Brown", "olivia.brown@example.org", "en-US", "USD", "Team", "yearly", 40, 11,
        "Visa **** 6006", True, (860_000, 71_000), 9_400, seats=((40, 4), (28, 6)), seats_used=6,
    ),
    Account(
        "c12", "Jonas Weber", "jonas.weber@example.com", "de-DE", "EUR", "Pro", "yearly", 33, 26,
        "SEPA **** 8741", False, (310_000, 9_100), 400,
    ),
    Account(
        "c13", "Camille Laurent", "camille.laurent@example.com", "fr-FR", "EUR", "Pro", "yearly", 1, 27,
        "Visa **** 2650", False, (4_000, 1_900),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Invoice:
    """One invoice; `number` is given in the order of issue over all customers."""

    account: Account
    issued_on: date
    amount_cents: int
    is_open: bool
    number: str = ""


def seed(path: Path, today: date) -> None:
    """Write the database; an existing file is replaced.

    Args:
        path: The SQLite file; its folder exists.
        today: The day of seeding; only renewals are later than it.
    Raises:
        OSError: the file cannot be written.
    """
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    try:
        connection.executescript(SCHEMA_FILE.read_text(encoding="utf-8"))
        with connection:
            _insert_accounts(connection, today)
            _insert_invoices(connection, _numbered_invoices(today))
            _insert_usage(connection, today)
    finally:
        connection.close()


def _insert_accounts(connection: sqlite3.Connection, today: date) -> None:
    for account in ACCOUNTS:
        since = _month(today, -account.joined_months) + timedelta(days=account.billing_day - 1)
        connection.execute(
            "INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?, ?)",
            (account.id, account.name, account.address, account.locale, account.currency, since.isoformat(),
             int(account.two_factor)),
        )  # fmt: skip
        renewal = _renewal_on(account, today)
        connection.execute(
            "INSERT INTO subscriptions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (account.id, account.plan, account.cycle, account.seats_at(0), account.seats_used,
             account.discount_percent, renewal and renewal.isoformat(), account.price_cents(0) or None,
             account.currency, account.payment_method),
        )  # fmt: skip


def _insert_invoices(connection: sqlite3.Connection, invoices: tuple[Invoice, ...]) -> None:
    for invoice in invoices:
        account, status = invoice.account, "open" if invoice.is_open else "paid"
        day, cents = invoice.issued_on.isoformat(), invoice.amount_cents
        connection.execute(
            "INSERT INTO invoices VALUES (?, ?, ?, ?, ?, ?)",
            (invoice.number, account.id, day, cents, account.currency, status),
        )
        outcome = "failed" if invoice.is_open else "succeeded"
        connection.execute(
            "INSERT INTO payments (customer_id, invoice_number, paid_on, amount_cents, currency, status)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (account.id, invoice.number, day, cents, account.currency, outcome),
        )


def _insert_usage(connection: sqlite3.Connection, today: date) -> None:
    """One storage reading and one API count for each month, dated its first day; arithmetic makes them vary.

    The current month has only the calls of its days so far.
    """
    for nth, account in enumerate(ACCOUNTS):
        oldest = min(HISTORY_MONTHS, account.joined_months)
        for months_ago in range(oldest, -1, -1):
            month = _month(today, -months_ago).isoformat()
            age = account.joined_months - months_ago
            base_mb, growth_mb = account.storage_mb
            used_mb = base_mb + growth_mb * age + growth_mb * ((age * 37 + nth * 11) % 13 - 6) // 8
            connection.execute("INSERT INTO storage_readings VALUES (?, ?, ?)", (account.id, month, used_mb))
            if account.api_calls:
                percent = 70 + age + (age * 17 + nth * 7) % 31
                days = 30 if months_ago else min(today.day, 30)
                calls = account.api_calls * percent * days // 3000
                connection.execute("INSERT INTO api_usage VALUES (?, ?, ?)", (account.id, month, calls))


def _numbered_invoices(today: date) -> tuple[Invoice, ...]:
    """Every customer's invoices in the order of issue, numbered HF-YYYY-NNNN from 1 in each year.

    Some numbers before the `NAMED_INVOICE` are skipped, as if those invoices had been withdrawn.
    """
    invoices = sorted(
        (invoice for account in ACCOUNTS for invoice in _invoices(account, today)),
        key=lambda invoice: (invoice.issued_on, invoice.account.id),
    )
    in_year: dict[int, int] = {}
    numbered = []
    named, left_out = _named_invoice(invoices)
    for invoice in invoices:
        year = invoice.issued_on.year
        in_year[year] = in_year.get(year, 0) + 1 + left_out * (invoice is named)
        number = f"HF-{year}-{in_year[year]:04d}"
        numbered.append(replace(invoice, number=number))
    return tuple(numbered)


def _named_invoice(invoices: list[Invoice]) -> tuple[Invoice | None, int]:
    """The invoice that gets the number of `NAMED_INVOICE`, and how many numbers are skipped before it."""
    customer, year, number = NAMED_INVOICE
    of_year = [invoice for invoice in invoices if invoice.issued_on.year == year]
    places = [place for place, one in enumerate(of_year[:number], 1) if one.account.id == customer]
    return (of_year[places[-1] - 1], number - places[-1]) if places else (None, 0)


def _invoices(account: Account, today: date) -> list[Invoice]:
    """A customer's invoices of the last three years, oldest first."""
    earliest = _month(today, -HISTORY_MONTHS)
    days = _billing_days(account, today)
    due = [(day, months_ago) for day, months_ago in days if earliest <= day <= today]
    first_open = len(due) - account.unpaid
    return [
        Invoice(account, day, account.price_cents(months_ago), nth >= first_open)
        for nth, (day, months_ago) in enumerate(due)
    ]


def _billing_days(account: Account, today: date) -> Iterator[tuple[date, int]]:
    """(day, months before `today`) of each billing period's start, from the opening to one after `today`."""
    if account.cycle is None:
        return
    step = 1 if account.cycle == "monthly" else 12
    for months_ago in range(account.joined_months, -step - 1, -step):
        day = _month(today, -months_ago) + timedelta(days=account.billing_day - 1)
        yield day, max(months_ago, 0)
        if day > today:
            return


def _renewal_on(account: Account, today: date) -> date | None:
    """The first billing day after `today`; None for a plan without payments."""
    return next((day for day, _ in _billing_days(account, today) if day > today), None)


def _month(today: date, offset: int) -> date:
    """The first day of the month so many months away from `today`'s."""
    months = today.year * 12 + today.month - 1 + offset
    return date(months // 12, months % 12 + 1, 1)
