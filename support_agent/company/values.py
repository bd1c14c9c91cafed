"""Typed values out of the company's database, and the periods a series can be asked for."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Frozen(BaseModel):
    """A value of the company room."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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
    """A whole number of things; `unit` may be empty ("seats")."""

    type: Literal["count"] = "count"
    count: int
    unit: str = ""


class Quantity(Frozen):
    """A measured number with its unit ("GB")."""

    type: Literal["quantity"] = "quantity"
    amount: Decimal
    unit: str


Value = Annotated[Money | Day | Text | Count | Quantity, Field(discriminator="type")]
Number = Annotated[Money | Count | Quantity, Field(discriminator="type")]


class ValueType(StrEnum):
    MONEY = "money"
    DATE = "date"
    TEXT = "text"
    COUNT = "count"
    QUANTITY = "quantity"


class Customer(Frozen):
    """The known customer of an address. `locale` is a BCP 47 tag such as `de-DE`."""

    id: str
    name: str
    address: str
    locale: str


class Period(Frozen):
    """A closed range of days; `name` is its member of the closed set ("last_year", "2024", "2024-03")."""

    name: str
    first: date
    last: date


class Row(Frozen):
    """One dated row of a series; `label` says what it is ("Invoice HF-2025-003")."""

    day: date
    value: Number
    label: str = ""
