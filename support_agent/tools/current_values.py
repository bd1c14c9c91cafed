"""Whether what an answer says of an account is still so, for an answer that waited before it leaves.

An item names its field, its record, or its series with period and steps, so it is read again without the plan.
Checked by tests/unit/tools/test_current_values.py and tests/journey/test_stale_answers.py.
"""

from __future__ import annotations

from typing import assert_never

from support_agent.answer.final_answer import (
    AggregateItem,
    CalculationItem,
    ClarificationItem,
    DocumentItem,
    FieldItem,
    FinalAnswer,
    Item,
    Operand,
    RecordItem,
    TableItem,
)
from support_agent.company.values import Customer
from support_agent.errors import ToolCallRejected
from support_agent.tools.base import AccountData
from support_agent.tools.data import after_step, operand_of


def changed_value(final: FinalAnswer, accounts: AccountData, customer: Customer, locale: str) -> str:
    """The label of the first value that is not in the account any more, or "".

    Args:
        locale: The templates' locale, for units and for texts with declared translations.
    Raises:
        ConfigError, PermanentError, TransientError: as `Accounts.customer`.
    """
    for item in (item for answer in final.answers for item in answer.items):
        if changed := _changed(item, accounts, customer, locale):
            return changed
    return ""


def _changed(item: Item, accounts: AccountData, customer: Customer, locale: str) -> str:
    match item:
        case FieldItem():
            is_there = item.field in accounts.fields
            is_current = is_there and accounts.field(item.field, customer, locale) == item.value
            return "" if is_current else item.label
        case TableItem():
            table = _read_again(item, accounts, customer, locale)
            return "" if table is not None and table.rows == item.rows else item.label
        case AggregateItem():
            return _changed_operand(item.operand, accounts, customer, locale)
        case CalculationItem():
            return _changed_operand(item.left, accounts, customer, locale) or _changed_operand(
                item.right, accounts, customer, locale
            )
        case RecordItem():
            return "" if _is_own(item, accounts, customer, locale) else f"{item.label} {item.identifier}"
        case DocumentItem() | ClarificationItem():
            return ""
    assert_never(item)


def _changed_operand(operand: Operand, accounts: AccountData, customer: Customer, locale: str) -> str:
    table = _read_again(operand, accounts, customer, locale)
    try:
        is_current = table is not None and operand_of(table, operand.aggregation) == operand
    except ToolCallRejected:  # the rows are in several units now
        is_current = False
    return "" if is_current else operand.label


def _read_again(data: TableItem | Operand, accounts: AccountData, customer: Customer, locale: str) -> TableItem | None:
    """The rows that a table or an aggregate was made of, as they are now; None: there is nothing of the kind."""
    if data.series not in accounts.series:
        return None
    rows = accounts.rows(data.series, customer, data.period, locale)
    try:
        for step in data.steps:
            rows = after_step(rows, step)
    except ToolCallRejected:
        return None
    names = ("series", "label", "row_noun", "period", "steps")
    return TableItem(rows=rows, **{name: getattr(data, name) for name in names})


def _is_own(item: RecordItem, accounts: AccountData, customer: Customer, locale: str) -> bool:
    """Whether the record is the customer's and has these values."""
    if item.record not in accounts.records:
        return False
    for record in accounts.own_records(item.record, customer, locale):
        if record.identifier == item.identifier:
            return all(record.values.get(one.column) == one.value for one in item.columns)
    return False
