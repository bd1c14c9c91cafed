"""What `accounts.toml` declares: the database, the customer query, account fields and series.

Invariant: a spec that exists is whole: an English label, a query that is one SELECT with exactly the
parameters it may have. `:customer_id` is required, so that a query can never return another customer's data
by oversight. Checked by tests/unit/company/test_accounts.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from support_agent.company.database import bind_names, statement_defect
from support_agent.company.questions import FALLBACK_LOCALE, localised
from support_agent.company.text import refused_character
from support_agent.company.values import ValueType
from support_agent.findings import Finding, Severity, nearest
from support_agent.toml_file import TomlFile

_REMOVE = "delete it, no mail may carry it"
NAME = re.compile(r"^[a-z][a-z0-9_]{0,39}$")
Label = dict[str, Annotated[str, Field(min_length=1, max_length=120)]]


class _Table(BaseModel):
    """One TOML table: frozen, unknown keys refused, its query checked against `parameters`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    parameters: ClassVar[frozenset[str]] = frozenset()

    query: Annotated[str, Field(min_length=1, max_length=10_000)]

    @model_validator(mode="after")
    def _query_fits(self) -> _Table:
        if defect := statement_defect(self.query):
            raise ValueError(f"query: {defect}: write one SELECT")
        names = bind_names(self.query)
        if missing := self.parameters - names:
            raise ValueError(
                f"query: :{', :'.join(sorted(missing))} is not used: without it rows of others come back"
            )
        if unknown := names - self.parameters:
            known = ", :".join(sorted(self.parameters))
            raise ValueError(
                f"query: unknown parameter :{', :'.join(sorted(unknown))}: there is only :{known}"
            )
        return self


class DatabaseSpec(BaseModel):
    """`[database]`: where the company's values are, and how long and how much may be read at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = ""
    url_env: str = ""
    """Name of an environment variable that holds the URL, for URLs with a password."""
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 5.0
    """For each connection and each statement."""
    max_rows: Annotated[int, Field(ge=1, le=100_000)] = 5_000
    """Of one series in one period; more is an error, never a shorter table."""

    @model_validator(mode="after")
    def _one_url(self) -> DatabaseSpec:
        if bool(self.url) == bool(self.url_env):
            raise ValueError('give one of url = "sqlite:///file" and url_env = "NAME"')
        return self


class CustomerSpec(_Table):
    """`[customer]`: the query that finds a customer by address, and addresses for `check` to try."""

    parameters = frozenset({"address"})

    sample_addresses: tuple[str, ...] = ()


class _Described(_Table):
    """What account fields and series share; `label` maps locales to words, `summary` is for the model."""

    label: Label
    summary: Annotated[str, Field(min_length=1, max_length=500)]
    questions: tuple[str, ...] = ()
    unit: str | Label = ""
    level: Annotated[int, Field(ge=0, le=3)] = 3

    @model_validator(mode="after")
    def _words_can_be_sent(self) -> _Described:
        for name, texts in self._texts():
            if FALLBACK_LOCALE not in texts:
                raise ValueError(f'{name}: no English text: add en = "...", which the others fall back to')
            for text in texts.values():
                if refused := refused_character(text, is_one_line=True):
                    raise ValueError(f"{name}: forbidden character {refused[1]}: {_REMOVE}")
        return self

    def _texts(self) -> list[tuple[str, Mapping[str, str]]]:
        return [("label", self.label), ("unit", _by_locale(self.unit))]

    def label_for(self, locale: str) -> str:
        """The label for a BCP 47 tag: the tag, its language, else English."""
        return localised(self.label, locale)

    def unit_for(self, locale: str) -> str:
        """The unit in the same way; "" for none."""
        return localised(_by_locale(self.unit), locale)


class FieldSpec(_Described):
    """`[fields.NAME]`: one value of a customer's account."""

    parameters = frozenset({"customer_id"})

    type: ValueType


class SeriesSpec(_Described):
    """`[series.NAME]`: dated rows of a customer. `row_label` says what the rows are ("invoices")."""

    parameters = frozenset({"customer_id", "first", "last"})

    type: Literal[ValueType.MONEY, ValueType.COUNT, ValueType.QUANTITY]
    row_label: Label = {"en": "rows"}

    def _texts(self) -> list[tuple[str, Mapping[str, str]]]:
        return [*super()._texts(), ("row_label", self.row_label)]

    def row_label_for(self, locale: str) -> str:
        """What the rows are, for a BCP 47 tag."""
        return localised(self.row_label, locale)


class AccountSpecs(BaseModel):
    """The whole file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    database: DatabaseSpec
    customer: CustomerSpec
    fields: dict[str, FieldSpec] = {}
    series: dict[str, SeriesSpec] = {}


def read_specs(file: TomlFile) -> tuple[AccountSpecs | None, list[Finding]]:
    """The specs of a file, or every error in it with its line."""
    findings = []
    for group in ("fields", "series"):
        tables = file.data.get(group, {})
        for name in tables if isinstance(tables, dict) else ():
            if not NAME.match(name):
                line, what = file.line(f"{group}.{name}"), f"{group}.{name} is no usable name"
                findings.append(spec_finding(file, line, what, "use small letters, digits and underscores"))
            elif group == "series" and name in file.data.get("fields", {}):
                line, what = file.line(f"{group}.{name}"), f"{name} is a field and a series"
                findings.append(spec_finding(file, line, what, "rename one of the two"))
    try:
        specs = AccountSpecs.model_validate(file.data)
    except ValidationError as error:
        errors = error.errors(include_input=False)
        findings += [_explain(file, e["loc"], e["type"], e["msg"]) for e in errors]
        return None, findings
    return (None if findings else specs), findings


def spec_finding(
    file: TomlFile, line: int | None, what: str, todo: str, *, severity: Severity = Severity.ERROR
) -> Finding:
    return Finding(severity=severity, path=file.path, line=line, what=what, todo=todo)


def _explain(file: TomlFile, loc: tuple[int | str, ...], error_type: str, message: str) -> Finding:
    """One refused key as a finding; `loc` is ("fields", NAME, key) or ("database", key)."""
    parts = [str(part) for part in loc]
    depth = 2 if parts[0] in {"fields", "series"} else 1
    table, key = ".".join(parts[:depth]), parts[depth] if len(parts) > depth else ""
    if error_type == "value_error":
        key, _, rest = message.removeprefix("Value error, ").partition(": ")
        what, _, todo = rest.rpartition(": ")
        if not todo or not what:
            return spec_finding(file, file.line(table), f"[{table}]: {key}", rest or "correct it")
        return spec_finding(file, file.line(table, key), f"[{table}] {key}: {what}", todo)
    line = file.line(table, key)
    if error_type == "missing":
        return spec_finding(file, line, f"[{table}] {key}".strip() + " is missing", f"add {key or table}")
    if error_type == "extra_forbidden":
        known = _known_keys(parts[0]) if key else tuple(AccountSpecs.model_fields)
        what = f"[{table}] unknown key {key}" if key else f"unknown table [{table}]"
        todo = f"delete it{nearest(key or table, known)}; known: {', '.join(known)}"
        return spec_finding(file, line, what, todo)
    return spec_finding(file, line, f"[{table}] {key} cannot be used", message)


def _known_keys(table: str) -> tuple[str, ...]:
    kinds: dict[str, Any] = {
        "database": DatabaseSpec, "customer": CustomerSpec, "fields": FieldSpec, "series": SeriesSpec,
    }  # fmt: skip
    return tuple(kinds[table].model_fields)


def _by_locale(unit: str | Label) -> Mapping[str, str]:
    return {FALLBACK_LOCALE: unit} if isinstance(unit, str) else unit
