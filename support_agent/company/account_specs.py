"""The declarations of `accounts.toml`: the database, the customer query, account fields, series and records.

Invariant: a spec is complete: English words, nouns with the plural forms of their language, a query that is one SELECT
with exactly its allowed parameters. `:customer_id` is required, so that no query returns another customer's data by
mistake. Checked by tests/unit/company/test_account_specs.py and test_accounts.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationError, model_validator

from support_agent.company.database import bind_names, statement_defect
from support_agent.company.values import Counted, Noun, Phrase, ValueType
from support_agent.config.toml_file import TomlFile
from support_agent.core.findings import Finding, Severity, nearest
from support_agent.core.frozen import Frozen
from support_agent.core.levels import CUSTOMER
from support_agent.core.locales import FALLBACK_LOCALE, LocaleTag, localised, plural_forms

_LEVEL_TODO = f"write level = {CUSTOMER}, or leave it out"
_NOUN_TODO = 'write { en = { one = "seat", other = "seats" } }, or { en = "GB" } where the word never changes'
_TODO = {
    "label": 'write one text for each locale: label = { en = "Seats", de = "Plätze" }',
    "unit": _NOUN_TODO,
    "row_noun": _NOUN_TODO,
    "values": 'write the words of each value for each locale: on = { en = "on", de = "eingeschaltet" }',
}
"""What to do about a malformed key, if pydantic's message would not help."""
NAME = re.compile(r"^[a-z][a-z0-9_]{0,39}$")
ALL_COLUMNS = "all"
"""The choice of all columns of a record."""
_GROUPS = ("fields", "series", "records")
Label = dict[LocaleTag, Phrase]
Nouns = dict[LocaleTag, Phrase | Noun]


class _Table(Frozen):
    """One TOML table; its query is checked against `parameters`."""

    parameters: ClassVar[frozenset[str]] = frozenset()

    query: Annotated[str, Field(min_length=1, max_length=10_000)]

    @model_validator(mode="after")
    def _query_fits(self) -> _Table:
        if defect := statement_defect(self.query):
            raise ValueError(f"query: {defect}: write one SELECT")
        names = bind_names(self.query)
        if missing := self.parameters - names:
            raise ValueError(f"query: :{', :'.join(sorted(missing))} is not used: without it rows of others come back")
        if unknown := names - self.parameters:
            known = ", :".join(sorted(self.parameters))
            raise ValueError(f"query: unknown parameter :{', :'.join(sorted(unknown))}: there is only :{known}")
        return self


class DatabaseSpec(Frozen):
    """`[database]`: the company's database, and the limits of a query."""

    url: str = ""
    url_env: str = ""
    """Name of an environment variable with the URL, for URLs with a password."""
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 5.0
    """Of each connection and each statement."""
    max_rows: Annotated[int, Field(ge=1, le=100_000)] = 5_000
    """Of one series in one period; more is an error, never a shorter table."""
    max_records: Annotated[int, Field(ge=1, le=10_000)] = 1_000
    """Of one kind of records of one customer; with more, a person gets the questions about them."""

    @model_validator(mode="after")
    def _one_url(self) -> DatabaseSpec:
        if bool(self.url) == bool(self.url_env):
            raise ValueError('give one of url = "sqlite:///file" and url_env = "NAME"')
        return self


class CustomerSpec(_Table):
    """`[customer]`: the query that finds a customer by address, and addresses for `check` to try."""

    parameters = frozenset({"address"})

    sample_addresses: tuple[str, ...] = ()


class _Labelled(Frozen):
    """A label for customers, by locale, and a `summary` for the model."""

    label: Label
    summary: Annotated[str, Field(min_length=1, max_length=500)]

    @model_validator(mode="after")
    def _words_are_whole(self) -> _Labelled:
        for key, texts in self.texts().items():
            if FALLBACK_LOCALE not in texts and "values." not in key:
                raise ValueError(f'{key}: no English text: add en = "...", which the others fall back to')
            for locale, words in texts.items():
                if isinstance(words, Noun) and (defect := _noun_defect(words, locale)):
                    raise ValueError(f"{key}: {defect}")
        return self

    def texts(self) -> dict[str, Mapping[str, Counted]]:
        """All translated texts for customers, by key ("label", "values.on") and locale."""
        return {"label": self.label}

    def label_for(self, locale: str) -> str:
        """The label for a locale tag: the tag's, its language's, else the English one."""
        return localised(self.label, locale)


class _Measured(_Labelled):
    """A declaration with an optional unit."""

    unit: Phrase | Nouns = ""

    def texts(self) -> dict[str, Mapping[str, Counted]]:
        return {**super().texts(), **_translated("unit", self.unit)}

    def unit_for(self, locale: str) -> Counted:
        """The unit for a locale tag, with the label's fallbacks; "" for none."""
        return localised(_by_locale(self.unit), locale)


class _Typed(_Measured):
    """One typed value; `values` translates texts of the query by locale, others are shown unchanged."""

    type: ValueType
    values: dict[Phrase, Label] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _values_are_texts(self) -> _Typed:
        if self.values and self.type is not ValueType.TEXT:
            raise ValueError('values: only a text has words for its values: delete it, or write type = "text"')
        return self

    def texts(self) -> dict[str, Mapping[str, Counted]]:
        return {**super().texts(), **{f"values.{value}": words for value, words in self.values.items()}}

    def word_for(self, text: str, locale: str) -> str:
        """The translation of a text of the query, or the text itself."""
        return localised({FALLBACK_LOCALE: text, **self.values.get(text, {})}, locale)


class _Asked(_Labelled, _Table):
    """A declaration with a query and example questions of customers.

    `level` can only be 3, because the query needs the customer, who is known only at level 3. The key exists so that a
    file may state it, and so that a lower level is refused instead of ignored.
    """

    questions: tuple[str, ...] = ()
    level: int = CUSTOMER

    @model_validator(mode="after")
    def _level_has_effect(self) -> _Asked:
        if self.level != CUSTOMER:
            raise ValueError(f"level: a customer is known only at level {CUSTOMER}: {_LEVEL_TODO}")
        return self


class FieldSpec(_Typed, _Asked):
    """`[fields.NAME]`: one value of a customer's account."""

    parameters = frozenset({"customer_id"})


class SeriesSpec(_Measured, _Asked):
    """`[series.NAME]`: dated rows of a customer. `row_noun` says what the rows are ("invoice", "invoices")."""

    parameters = frozenset({"customer_id", "first", "last"})

    type: Literal[ValueType.MONEY, ValueType.COUNT, ValueType.QUANTITY]
    row_noun: Phrase | Nouns = ""

    def texts(self) -> dict[str, Mapping[str, Counted]]:
        return {**super().texts(), **_translated("row_noun", self.row_noun)}

    def row_noun_for(self, locale: str) -> Counted:
        """The noun for the rows for a locale tag; "" if none is declared."""
        return localised(_by_locale(self.row_noun), locale)


class ColumnSpec(_Typed):
    """`[records.NAME.columns.COLUMN]`: one value of a record, in the query's column of that name."""


class RecordSpec(_Asked):
    """`[records.NAME]`: a customer's records with an identifier, such as invoices; `label` is the singular."""

    parameters = frozenset({"customer_id"})

    identifier: Annotated[str, Field(pattern=NAME.pattern)]
    """The query's column with the identifier, unique per customer."""
    columns: Annotated[dict[str, ColumnSpec], Field(min_length=1)]

    @model_validator(mode="after")
    def _columns_have_names(self) -> RecordSpec:
        for name in self.columns:
            if not NAME.match(name) or name == ALL_COLUMNS:
                raise ValueError(f"columns: {name} is not a valid name: use small letters, digits and underscores")
        return self

    def texts(self) -> dict[str, Mapping[str, Counted]]:
        columns = {
            f"columns.{name}.{key}": words for name, spec in self.columns.items() for key, words in spec.texts().items()
        }
        return {**super().texts(), **columns}

    @property
    def needed_columns(self) -> set[str]:
        """The columns that the query must return; others are ignored."""
        has_money = any(column.type is ValueType.MONEY for column in self.columns.values())
        return {self.identifier, *self.columns} | ({"currency"} if has_money else set())


class AccountSpecs(Frozen):
    """The whole file."""

    database: DatabaseSpec
    customer: CustomerSpec
    fields: dict[str, FieldSpec] = Field(default_factory=dict)
    series: dict[str, SeriesSpec] = Field(default_factory=dict)
    records: dict[str, RecordSpec] = Field(default_factory=dict)


def read_specs(file: TomlFile) -> tuple[AccountSpecs | None, list[Finding]]:
    """The specs of a file, or every error in it with its line."""
    findings = []
    for group in _GROUPS:
        tables = file.data.get(group, {})
        for name in tables if isinstance(tables, dict) else ():
            if not NAME.match(name):
                line, what = file.line(f"{group}.{name}"), f"{group}.{name} is not a valid name"
                findings.append(spec_finding(file, line, what, "use small letters, digits and underscores"))
            elif group == "series" and name in file.data.get("fields", {}):
                line, what = file.line(f"{group}.{name}"), f"{name} is a field and a series"
                findings.append(spec_finding(file, line, what, "rename one of the two"))
    try:
        specs = AccountSpecs.model_validate(file.data)
    except ValidationError as error:
        errors = error.errors(include_input=False)
        findings += dict.fromkeys(_explain(file, e["loc"], e["type"], e["msg"]) for e in errors)
        return None, findings
    return (None if findings else specs), findings


def spec_finding(
    file: TomlFile, line: int | None, what: str, todo: str, *, severity: Severity = Severity.ERROR
) -> Finding:
    return Finding(severity=severity, path=file.path, line=line, what=what, todo=todo)


def line_of(file: TomlFile, table: str, key: str) -> int | None:
    """The line of a key; "values.on" may be in a table of its own."""
    within, _, last = key.rpartition(".")
    return (file.line(f"{table}.{within}", last) if within else None) or file.line(table, key)


def _explain(file: TomlFile, loc: tuple[int | str, ...], error_type: str, message: str) -> Finding:
    """One refused key as a finding; `loc` is ("fields", NAME, key), ("records", NAME, "columns", COLUMN, key) or
    ("database", key).
    """
    parts = [str(part) for part in loc]
    depth = 2 if parts[0] in _GROUPS else 1
    if parts[0] == "records" and parts[2:3] == ["columns"] and len(parts) > 3:
        depth = 4
    table, key = ".".join(parts[:depth]), parts[depth] if len(parts) > depth else ""
    if error_type == "value_error":
        rest = message.removeprefix("Value error, ")
        if not key:  # from a validator of the whole table, whose message begins with the key
            key, _, rest = rest.partition(": ")
        what, _, todo = rest.rpartition(": ")
        if not todo or not what:
            return spec_finding(file, file.line(table), f"[{table}]: {key}", rest or "correct it")
        return spec_finding(file, line_of(file, table, key), f"[{table}] {key}: {what}", todo)
    line = file.line(table, key)
    if key in _TODO and len(parts) > depth + 1:
        return spec_finding(file, line, f"[{table}] {key} cannot be used", _TODO[key])
    if error_type == "missing":
        return spec_finding(file, line, f"[{table}] {key}".strip() + " is missing", f"add {key or table}")
    if error_type == "extra_forbidden":
        known = _known_keys("columns" if depth == 4 else parts[0]) if key else tuple(AccountSpecs.model_fields)
        what = f"[{table}] unknown key {key}" if key else f"unknown table [{table}]"
        todo = f"delete it{nearest(key or table, known)}; known: {', '.join(known)}"
        return spec_finding(file, line, what, todo)
    return spec_finding(file, line, f"[{table}] {key} cannot be used", _TODO.get(key, message))


def _known_keys(table: str) -> tuple[str, ...]:
    kinds: dict[str, Any] = {
        "database": DatabaseSpec, "customer": CustomerSpec, "fields": FieldSpec, "series": SeriesSpec,
        "records": RecordSpec, "columns": ColumnSpec,
    }  # fmt: skip
    return tuple(kinds[table].model_fields)


def _by_locale(words: str | Nouns) -> Mapping[str, Counted]:
    return {FALLBACK_LOCALE: words} if isinstance(words, str) else words


def _translated(key: str, words: str | Nouns) -> dict[str, Mapping[str, Counted]]:
    """The key with its words; {} for an invariable word ("GB")."""
    return {} if isinstance(words, str) else {key: words}


def _noun_defect(noun: Noun, locale: str) -> str:
    """Missing or unknown plural forms of a noun, and what to do; "" if it is correct."""
    given = noun.model_fields_set
    needed, known = plural_forms(locale)
    if unknown := sorted(given - known):
        return f"{locale} has no plural form {', '.join(unknown)}: write {', '.join(sorted(known))}"
    if missing := sorted(needed - given):
        return f"{locale} lacks the plural form {', '.join(missing)}: add it (see the plural rules of Unicode CLDR)"
    return ""
