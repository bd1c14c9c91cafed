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
from support_agent.company.values import Customer, SeriesRow
from support_agent.errors import ToolCallRejected
from support_agent.tools.base import AccountData
from support_agent.tools.data import after_step, aggregate_rows


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
            return "" if _rows_now(item, accounts, customer, locale) == item.rows else item.label
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
    rows = _rows_now(operand, accounts, customer, locale)
    if rows is None:
        return operand.label
    try:
        value, row = aggregate_rows(rows, operand.aggregation)
    except ToolCallRejected:  # the rows are in several units now
        return operand.label
    said = (operand.value, operand.day, operand.row_count)
    return "" if (value, row.day if row else None, len(rows)) == said else operand.label


def _rows_now(
    data: TableItem | Operand, accounts: AccountData, customer: Customer, locale: str
) -> tuple[SeriesRow, ...] | None:
    """The rows of a table, or those that an aggregate was made of; None: they cannot be had any more."""
    if data.series not in accounts.series:
        return None
    rows = accounts.rows(data.series, customer, data.period, locale)
    try:
        for step in data.steps:
            rows = after_step(rows, step)
    except ToolCallRejected:
        return None
    return rows


def _is_own(item: RecordItem, accounts: AccountData, customer: Customer, locale: str) -> bool:
    """Whether the record is the customer's and has these values."""
    if item.record not in accounts.records:
        return False
    for record in accounts.own_records(item.record, customer, locale):
        if record.identifier == item.identifier:
            return all(record.values.get(one.column) == one.value for one in item.columns)
    return False
