"""What a person at the desk sends instead of the machine's choice: an item by its key, and which part of it.

    document:3          the sections that the search chooses, else the whole document
    document:3@1,2      these sections, counted from 1
    field:plan          a value of the account
    series:payments@last_year
    record:invoices@HF-2025-0030

Invariant: a choice is a member of the sets that hold for this mail, and goes through the tools of the model's calls: a
person chooses among the company's words as the model does, and writes none. Checked by
tests/unit/tools/test_person_choice.py.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple, Self

from support_agent.answer.final_answer import Item
from support_agent.company.account_specs import ALL_COLUMNS
from support_agent.company.text import collapse
from support_agent.errors import ToolCallRejected
from support_agent.tools.answers import SendAccountField, SendDocument, SendTable, require_customer
from support_agent.tools.base import UNSURE_SECTION, Added, Context, Pointed, Result
from support_agent.tools.catalogue import validated
from support_agent.tools.data import FetchSeries
from support_agent.tools.records import FetchRecord, SendRecord

CHOICE = r"(?:document:[1-9][0-9]{0,4}|(?:field|series|record):[A-Za-z_][\w.-]{0,99})(?:@[A-Za-z0-9][\w.,/-]{0,99})?"
"""A choice as text. Identifiers of records with other characters cannot be written in a mail."""
_CHOICE = re.compile(CHOICE, re.ASCII)
_SECTIONS = re.compile(r"[1-9][0-9]{0,2}(?:,[1-9][0-9]{0,2})*", re.ASCII)
EVER = "all_time"


class PersonChoice(NamedTuple):
    """A choice: the key of the item ("document:3"), and the part, "" for none."""

    key: str
    part: str = ""

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The choice that a text names; None: it names none."""
        if _CHOICE.fullmatch(text) is None:
            return None
        key, _, part = text.partition("@")
        return cls(key, part)

    @property
    def text(self) -> str:
        """The choice as it is written."""
        return f"{self.key}@{self.part}" if self.part else self.key


def item_for(choice: PersonChoice, context: Context) -> Item:
    """The item that a choice stands for.

    Raises:
        ToolCallRejected: there is no such item for this mail's sender today.
        TransientError, PermanentError: the company's database failed.
    """
    kind, _, name = choice.key.partition(":")
    _check_known(kind, name, context)
    match kind:
        case "document":
            return _document(int(name), choice.part, context)
        case "field":
            return _added(validated(SendAccountField.name, {"field": name}, context).run(context))
        case "series":
            rows = {"series": name, "period": choice.part or EVER}
            return _added(SendTable(pointer=_pointer(FetchSeries.name, rows, context)).run(context))
        case "record":
            return _record(name, choice.part, context)
    raise ToolCallRejected(f"{choice.text} is no choice", code="not_a_member")


def _check_known(kind: str, name: str, context: Context) -> None:
    accounts = context.accounts
    known: dict[str, Container[object]] = {
        "document": {str(number) for number in context.documents},
        "field": accounts.fields,
        "series": accounts.series,
        "record": accounts.records,
    }
    if name not in known.get(kind, ()):
        raise ToolCallRejected(f"there is no {kind} {name}", code="not_a_member")


def _document(number: int, sections: str, context: Context) -> Item:
    tool = validated(SendDocument.name, {"number": number}, context)
    assert isinstance(tool, SendDocument)
    if sections:
        if _SECTIONS.fullmatch(sections) is None:
            raise ToolCallRejected(f"write sections of document {number} as 1,2", code="not_a_member")
        return tool.sections(context, tuple(int(place) - 1 for place in sections.split(","))).item
    context.questions = (collapse(context.mail),)
    try:
        return tool.run(context).item
    except ToolCallRejected as error:
        if error.code != UNSURE_SECTION:
            raise
        return tool.whole(context).item


def _record(kind: str, identifier: str, context: Context) -> Item:
    spec = context.accounts.records[kind]
    customer = require_customer(context, spec.level, f"record {kind}")
    context.records = {kind: context.accounts.own_records(kind, customer, context.locale)}
    pointer = _pointer(FetchRecord.name, {"records": kind, "id": identifier}, context)
    return _added(SendRecord(pointer=pointer, column=ALL_COLUMNS).run(context))


def _pointer(tool: str, arguments: dict[str, str], context: Context) -> str:
    result = validated(tool, arguments, context).run(context)
    assert isinstance(result, Pointed)
    return result.pointer


def _added(result: Result) -> Item:
    assert isinstance(result, Added)
    return result.item
