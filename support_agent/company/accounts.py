"""Reads customers and their account fields, series and records from the company's database.

Invariant: every value comes from a query declared in `accounts.toml`, run read-only for one known customer;
NULL and no row are None, never zero. Checked by tests/unit/company/test_accounts.py.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar
from zoneinfo import ZoneInfo

from pydantic import Field

from support_agent.company.account_specs import (
    AccountSpecs,
    ColumnSpec,
    FieldSpec,
    RecordSpec,
    SeriesSpec,
    read_specs,
    spec_finding,
)
from support_agent.company.conversion import UTC_ZONE, CellRefused, has_time_zone, to_day, to_text, to_value
from support_agent.company.database import QueryResult, ReadOnlyDatabase
from support_agent.company.text import collapse
from support_agent.company.values import (
    Count,
    Counted,
    Customer,
    CustomerRecord,
    Money,
    Period,
    Quantity,
    SeriesRow,
    Text,
    Value,
    ValueType,
    amount_of,
)
from support_agent.config.database_url import sqlite_url_in
from support_agent.config.toml_file import TomlFile, read_toml
from support_agent.core.findings import Finding, Severity
from support_agent.core.frozen import Frozen
from support_agent.core.levels import lower_address
from support_agent.core.locales import FALLBACK_LOCALE, TAG
from support_agent.errors import ConfigError, PermanentError, TransientError

__all__ = ["Accounts", "FieldSpec", "Queries", "RecordSpec", "SeriesSpec", "check_accounts"]

CUSTOMER_COLUMNS = frozenset({"id", "name", "address", "locale"})
MOST_CHARACTERS = 80
"""Most characters of an identifier."""
_TODO = ": correct the query"
_T = TypeVar("_T")
_Limit = Literal["max_rows", "max_records"]
_NOBODY = Customer(id="", name="", address="", locale="")
"""A customer without rows in any table: the empty id is passed as NULL, which equals no id of any type."""
_EVERY_DAY = Period(name="all_time", first=date(1970, 1, 1), last=date(9999, 12, 31))


class Queries(Frozen):
    """The declared queries, by kind and name; not the whole file, which may contain a password."""

    fields: dict[str, str]
    series: dict[str, str]
    records: dict[str, str] = Field(default_factory=dict)


class Accounts:
    """The company's accounts as declared in `accounts.toml`; thread-safe."""

    def __init__(self, file: TomlFile, specs: AccountSpecs, database: ReadOnlyDatabase, zone: ZoneInfo) -> None:
        self._file, self._specs, self._database, self._zone = file, specs, database, zone
        self.fields: Mapping[str, FieldSpec] = MappingProxyType(specs.fields)
        self.series: Mapping[str, SeriesSpec] = MappingProxyType(specs.series)
        self.records: Mapping[str, RecordSpec] = MappingProxyType(specs.records)

    @property
    def queries(self) -> Queries:
        """The queries, stored by version to explain later where a value came from."""
        return Queries(
            fields={name: spec.query for name, spec in self.fields.items()},
            series={name: spec.query for name, spec in self.series.items()},
            records={name: spec.query for name, spec in self.records.items()},
        )

    @property
    def version(self) -> str:
        """sha256 of the text of accounts.toml, in hex."""
        return hashlib.sha256(self._file.text.encode()).hexdigest()

    @classmethod
    def load(cls, path: Path, zone: str = "UTC") -> Accounts:
        """Read the declarations without running a query.

        Args:
            path: accounts.toml; a relative SQLite path in it is relative to its folder.
            zone: The company's time zone, in which instants become days.
        Raises:
            ConfigError: lists every error in the file; or the SQLite file does not exist.
        """
        file = read_toml(path)
        specs, findings = read_specs(file)
        if specs is None:
            raise ConfigError("\n".join(map(str, findings)), code="accounts")
        return cls(file, specs, _open(file, specs, zone), ZoneInfo(zone))

    def customer(self, address: str) -> Customer | None:
        """The customer with an address (compared by `lower_address`), or None.

        Raises:
            ConfigError: the query returns more than one row, or a row of another address.
            PermanentError: a cell cannot be used.
            TransientError: the database cannot be read now.
        """
        wanted = lower_address(address.strip())
        result = self._select(self._specs.customer.query, {"address": wanted}, "customer")
        if missing := CUSTOMER_COLUMNS - set(result.columns):
            raise self._wrong("customer", f"the query does not return {', '.join(sorted(missing))}")
        if not result.rows or not wanted:
            return None
        if len(result.rows) > 1:
            raise self._wrong("customer", "the query returns more than one customer for one address")
        row = dict(zip(result.columns, result.rows[0], strict=True))
        found = self._read("customer", lambda: lower_address(to_text(row["address"])))
        if found != wanted:
            raise self._wrong("customer", "the query returns a customer of another address")
        return Customer(
            id=self._read("customer", lambda: _to_id(row["id"])),
            name=self._read("customer", lambda: collapse(to_text(row["name"]))),
            address=wanted,
            locale=self._read("customer", lambda: _to_locale(row["locale"])),
        )

    def field(self, name: str, customer: Customer, locale: str) -> Value | None:
        """The value of one account field; None where the query returns no row, NULL or empty text.

        Args:
            locale: The answer's locale, for units and for texts with declared translations.

        Raises:
            KeyError: no such field is declared.
            ConfigError, PermanentError, TransientError: as `customer`.
        """
        spec, table = self.fields[name], f"fields.{name}"
        result = self._select(spec.query, {"customer_id": customer.id or None}, table)
        if spec.type is ValueType.MONEY:
            self._require(table, result, {"amount", "currency"})
        elif len(result.columns) != 1:
            raise self._wrong(table, f"the query must return one column, not {len(result.columns)}")
        if len(result.rows) > 1:
            raise self._wrong(table, "the query returns more than one row")
        if not result.rows:
            return None
        cells = dict(zip(result.columns, result.rows[0], strict=True))
        currency = cells.pop("currency") if spec.type is ValueType.MONEY else None
        (cell,) = cells.values()
        return self._read(table, lambda: _to_value(spec, cell, currency, locale, self._zone))

    def rows(self, series: str, customer: Customer, period: Period, locale: str) -> tuple[SeriesRow, ...]:
        """The rows of a series within a period, sorted by day, label and amount; rows without an amount are dropped.

        Args:
            locale: The answer's locale, for the unit.

        Raises:
            KeyError: no such series is declared.
            PermanentError: more rows than `[database] max_rows`, or a cell cannot be used.
            ConfigError, TransientError: as `customer`.
        """
        spec, table = self.series[series], f"series.{series}"
        parameters = {"first": period.first, "last": period.last, "customer_id": customer.id or None}
        result = self._select(spec.query, parameters, table)
        needed = {"day", "amount"} | ({"currency"} if spec.type is ValueType.MONEY else set())
        self._require(table, result, needed, optional={"label"})
        unit = spec.unit_for(locale)
        rows = []
        for cells in (dict(zip(result.columns, row, strict=True)) for row in result.rows):
            if cells["amount"] is not None:
                rows.append(self._read(table, partial(self._to_row, spec, cells, unit)))
        if any(not period.first <= row.day <= period.last for row in rows):
            raise self._wrong(table, "the query returns days outside :first to :last")
        return tuple(sorted(rows, key=lambda row: (row.day, row.label, amount_of(row.value))))

    def own_records(self, kind: str, customer: Customer, locale: str) -> tuple[CustomerRecord, ...]:
        """The customer's own records of a kind, in the order of the query.

        Args:
            locale: The answer's locale, for units and for texts with declared translations.

        Raises:
            KeyError: no such kind is declared.
            PermanentError: more records than `[database] max_records`, or a cell cannot be used.
            ConfigError, TransientError: as `customer`; ConfigError also for a duplicate identifier.
        """
        spec, table = self.records[kind], f"records.{kind}"
        result = self._select(spec.query, {"customer_id": customer.id or None}, table, "max_records")
        self._require(table, result, spec.needed_columns, optional=set(result.columns))
        rows = (dict(zip(result.columns, row, strict=True)) for row in result.rows)
        records = tuple(self._read(table, partial(_to_record, spec, cells, locale, self._zone)) for cells in rows)
        if len({record.identifier for record in records}) < len(records):
            raise self._wrong(table, f"the query returns one {spec.identifier} twice for a customer")
        return records

    def check(self) -> list[Finding]:
        """Run every query, for no customer and for each of `[customer] sample_addresses`, and report errors.

        Columns can be checked without rows; types need a sample customer's rows.
        """
        findings: list[Finding] = []
        if not self._database.enforces_read_only:
            what = f"a {self._database.dialect} connection cannot be made read-only, nor its queries limited, from here"
            todo = "give this database user the right to SELECT alone, and a limit of time"
            findings.append(self._warning("database", what, todo))
        try:
            customers = [_NOBODY, *self._sample_customers(findings)]
            for name in self.fields:
                for customer in customers:
                    self._try(f"fields.{name}", partial(self.field, name, customer, FALLBACK_LOCALE), findings)
            for name in self.series:
                for customer in customers:
                    read = partial(self.rows, name, customer, _EVERY_DAY, FALLBACK_LOCALE)
                    self._try(f"series.{name}", read, findings)
            for kind in self.records:
                for customer in customers:
                    own = partial(self.own_records, kind, customer, FALLBACK_LOCALE)
                    self._try(f"records.{kind}", own, findings)
        except TransientError as error:  # the database is down; further queries would also time out
            line, todo = self._file.line("database"), "start the database, or correct [database]"
            findings.append(spec_finding(self._file, line, str(error), todo))
        return list(dict.fromkeys(findings))

    def _sample_customers(self, findings: list[Finding]) -> list[Customer]:
        """The customers of `sample_addresses`; errors of the query are added to `findings`."""
        samples = self._specs.customer.sample_addresses
        if not samples:
            todo = 'add sample_addresses = ["..."] of a customer who has values'
            what = "no sample customer, so the types of the values cannot be checked"
            findings.append(self._warning("customer", what, todo))
        customers = []
        for address in samples or ("nobody@customer.invalid",):
            works, customer = self._try("customer", partial(self.customer, address), findings)
            if customer:
                customers.append(customer)
            elif works and samples:
                line = self._file.line("customer", "sample_addresses")
                what = f"sample address {address} is not a customer"
                findings.append(spec_finding(self._file, line, what, "name one that the query finds"))
        return customers

    def _try(self, table: str, call: Callable[[], _T], findings: list[Finding]) -> tuple[bool, _T | None]:
        """(whether a query works, its result); adds a finding if it fails."""
        try:
            return True, call()
        except (ConfigError, PermanentError) as error:
            what = f"[{table}] {str(error).removeprefix(self._place(table)).removesuffix(_TODO)}"
            line = self._file.line(table, "query")
            findings.append(spec_finding(self._file, line, what, "correct the query"))
            return False, None

    def _warning(self, table: str, what: str, todo: str) -> Finding:
        return spec_finding(self._file, self._file.line(table), what, todo, severity=Severity.WARNING)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _to_row(self, spec: SeriesSpec, cells: Mapping[str, Any], unit: Counted) -> SeriesRow:
        value = to_value(spec.type, cells["amount"], cells.get("currency"), unit)
        if not isinstance(value, Money | Count | Quantity):
            raise CellRefused("the amount is not a number")
        day, label = cells["day"], cells.get("label")
        is_compared = self._database.has_days_of_zone and not isinstance(day, str)
        if has_time_zone(day) and self._zone != UTC_ZONE and not is_compared:  # :first and :last were other days
            raise CellRefused("the day is an instant; let the query return and compare the day in company.time_zone")
        return SeriesRow(day=to_day(day, self._zone), value=value, label="" if label is None else to_text(label))

    def _select(
        self, query: str, parameters: Mapping[str, Any], table: str, setting: _Limit = "max_rows"
    ) -> QueryResult:
        limits = self._specs.database
        most = {"max_rows": limits.max_rows, "max_records": min(limits.max_records, limits.max_rows)}[setting]
        try:
            return self._database.select(query, parameters, most, setting)
        except (TransientError, PermanentError) as error:
            raise type(error)(f"{self._place(table)}{error}", code=error.code) from None
        except ConfigError as error:
            raise self._wrong(table, str(error)) from None

    def _require(
        self, table: str, result: QueryResult, needed: set[str], optional: frozenset[str] | set[str] = frozenset()
    ) -> None:
        """Raise ConfigError unless the result has all needed columns, and otherwise only optional ones."""
        columns = set(result.columns)
        if missing := needed - columns:
            raise self._wrong(table, f"the query does not return {', '.join(sorted(missing))}")
        if unknown := columns - needed - optional:
            raise self._wrong(table, f"the query returns an unknown column {', '.join(sorted(unknown))}")
        if len(result.columns) != len(columns):
            raise self._wrong(table, "the query returns a column twice")

    def _read(self, table: str, convert: Callable[[], _T]) -> _T:
        """Convert cells; a refused cell is a PermanentError, because the data is wrong, not the file."""
        try:
            return convert()
        except CellRefused as error:
            raise PermanentError(f"{self._place(table)}{error}", code="account_value") from None

    def _wrong(self, table: str, what: str) -> ConfigError:
        return ConfigError(f"{self._place(table)}{what}{_TODO}", code="accounts")

    def _place(self, table: str) -> str:
        line = self._file.line(table, "query")
        return f"{self._file.path}:{line}: [{table}] " if line else f"{self._file.path}: [{table}] "


def check_accounts(path: Path, zone: str = "UTC") -> list[Finding]:
    """The errors of accounts.toml: of its declarations, or else those that `Accounts.check` finds."""
    try:
        file = read_toml(path)
    except ConfigError as error:
        what = str(error).removeprefix(f"{path}: ")
        todo = "correct the file, or company.accounts"
        return [Finding(severity=Severity.ERROR, path=path, line=None, what=what, todo=todo)]
    specs, findings = read_specs(file)
    if specs is None:
        return findings
    try:
        accounts = Accounts(file, specs, _open(file, specs, zone), ZoneInfo(zone))
    except ConfigError as error:
        line = file.line("database", "url")
        what, _, todo = str(error).removeprefix(f"{path}: [database] ").rpartition(": ")
        return [spec_finding(file, line, what, todo)]
    try:
        return accounts.check()
    finally:
        accounts.close()


def _open(file: TomlFile, specs: AccountSpecs, zone: str) -> ReadOnlyDatabase:
    spec, place = specs.database, f"{file.path}: [database]"
    url = spec.url or os.environ.get(spec.url_env, "")
    if not url:
        raise ConfigError(f"{place} environment variable {spec.url_env} is not set: set it to the URL")
    try:
        absolute = sqlite_url_in(file.path.absolute().parent, url, name="url")
        return ReadOnlyDatabase(absolute, spec.timeout_s, zone)
    except ConfigError as error:
        raise ConfigError(f"{place} {error}", code="accounts") from None


def _to_value(spec: FieldSpec | ColumnSpec, cell: Any, currency: Any, locale: str, zone: ZoneInfo) -> Value | None:
    """A typed value in the words of a locale; None for NULL and empty text."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return None
    value = to_value(spec.type, cell, currency, spec.unit_for(locale), zone)
    return Text(text=spec.word_for(value.text, locale)) if isinstance(value, Text) else value


def _to_record(spec: RecordSpec, cells: Mapping[str, Any], locale: str, zone: ZoneInfo) -> CustomerRecord:
    identifier = "" if cells[spec.identifier] is None else collapse(to_text(cells[spec.identifier]))
    if not any(character.isalnum() for character in identifier) or len(identifier) > MOST_CHARACTERS:
        raise CellRefused(f"a {spec.identifier} is empty or has more than {MOST_CHARACTERS} characters")
    currency = cells.get("currency")
    values = {name: _to_value(column, cells[name], currency, locale, zone) for name, column in spec.columns.items()}
    return CustomerRecord(identifier=identifier, values=values)


def _to_id(cell: Any) -> str:
    """An id as the database has it: white space at its ends may be all that tells two customers apart."""
    text = to_text(cell)
    return cell if isinstance(cell, str) and text else text


def _to_locale(cell: Any) -> str:
    """A BCP 47 tag; "" where the database has none."""
    tag = "" if cell is None else to_text(cell).replace("_", "-")
    if tag and not TAG.fullmatch(tag):
        raise CellRefused("the locale is not a tag such as de-DE")
    return tag
