"""Typed values from the company's database, and customers, periods, rows and records."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from support_agent.company.text import REMOVE, refused_character
from support_agent.core.frozen import Frozen


def _sendable(text: str) -> str:
    if refused := refused_character(text, is_one_line=True):
        raise ValueError(f"forbidden character {refused[1]}: {REMOVE}")
    return text


Phrase = Annotated[str, Field(min_length=1, max_length=120), AfterValidator(_sendable)]
"""A few words on one line that a customer may read."""


class Noun(Frozen):
    """A counted noun in the plural forms of its language (CLDR): "seat" is `one`, "seats" is `other`.

    A form that is None equals `other`.
    """

    other: Phrase
    zero: Phrase | None = None
    one: Phrase | None = None
    two: Phrase | None = None
    few: Phrase | None = None
    many: Phrase | None = None

    def in_form(self, form: str) -> str:
        """The noun in one of its forms."""
        return getattr(self, form) or self.other


Counted = str | Noun
"""The unit of a number: a noun with plural forms, or an invariable word ("GB"); "" for none."""


class Money(Frozen):
    """An amount with its ISO 4217 currency."""

    type: Literal["money"] = "money"
    amount: Decimal
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


class Day(Frozen):
    type: Literal["date"] = "date"
    day: date


class Text(Frozen):
    type: Literal["text"] = "text"
    text: str


class Count(Frozen):
    """A whole number of things; `unit` is in the language of the answer."""

    type: Literal["count"] = "count"
    count: int
    unit: Counted = ""


class Quantity(Frozen):
    """A measured number with its unit ("GB")."""

    type: Literal["quantity"] = "quantity"
    amount: Decimal
    unit: Counted


Value = Annotated[Money | Day | Text | Count | Quantity, Field(discriminator="type")]
Number = Annotated[Money | Count | Quantity, Field(discriminator="type")]


def amount_of(value: Money | Count | Quantity) -> Decimal:
    """The number of a value, without its currency or unit."""
    return Decimal(value.count) if isinstance(value, Count) else value.amount


class ValueType(StrEnum):
    MONEY = "money"
    DATE = "date"
    TEXT = "text"
    COUNT = "count"
    QUANTITY = "quantity"


class Customer(Frozen):
    """A known customer. `locale` is a BCP 47 tag such as `de-DE`."""

    id: str
    name: str
    address: str
    locale: str


class Period(Frozen):
    """A closed range of days; `name` is its member of the closed set ("last_year", "2024", "2024-03")."""

    name: str
    first: date
    last: date


class SeriesRow(Frozen):
    """One dated row of a series; `label` names it ("Invoice HF-2025-003")."""

    day: date
    value: Number
    label: str = ""


class CustomerRecord(Frozen):
    """One of a customer's records, such as an invoice; `values` by declared column, None if empty."""

    identifier: str
    values: dict[str, Value | None]
