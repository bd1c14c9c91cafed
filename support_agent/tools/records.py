"""Record tools: they fetch one of the customer's own records by its identifier and send its columns.

Invariant: identifiers come from the customer's own records, which are read before the model is asked; text of a mail is
never used in a query. Checked by tests/unit/tools/test_records.py.
"""

from __future__ import annotations

from typing import ClassVar

from support_agent.answer.final_answer import RecordColumn, RecordItem
from support_agent.company.account_specs import ALL_COLUMNS
from support_agent.errors import ToolCallRejected
from support_agent.tools.answers import require_customer
from support_agent.tools.base import Added, Context, Pointed, Tool, ToolKind
from support_agent.tools.closed import ColumnName, RecordIdentifier, RecordKind, RecordPointer


class FetchRecord(Tool):
    """Fetch one of the customer's own records, such as an invoice, by its number."""

    name: ClassVar[str] = "fetch_record"
    kind: ClassVar[ToolKind] = ToolKind.DATA

    records: RecordKind
    id: RecordIdentifier

    def run(self, context: Context) -> Pointed:
        spec = context.accounts.records[self.records]
        require_customer(context, spec.level, f"record {self.records}")
        found = [record for record in context.records.get(self.records, ()) if record.identifier == self.id]
        if len(found) != 1:
            raise ToolCallRejected(f"{self.id} is not one of the {self.records}", code="not_a_member")
        columns = tuple(
            RecordColumn(column=name, label=column.label_for(context.locale), value=found[0].values[name])
            for name, column in spec.columns.items()
        )
        item = RecordItem(
            record=self.records, label=spec.label_for(context.locale), identifier=found[0].identifier, columns=columns
        )
        return Pointed(pointer=context.point_to(item), description=f"{self.records}, {self.id}")


class SendRecord(Tool):
    """Send one column of the record that a pointer stands for, or all of them."""

    name: ClassVar[str] = "send_record"
    kind: ClassVar[ToolKind] = ToolKind.ANSWER

    pointer: RecordPointer
    column: ColumnName

    def run(self, context: Context) -> Added:
        record = context.data[self.pointer]
        if not isinstance(record, RecordItem):
            raise ToolCallRejected(f"{self.pointer} is not a record", code="pointer")
        columns = tuple(one for one in record.columns if self.column in (one.column, ALL_COLUMNS))
        if not columns:
            raise ToolCallRejected(f"{record.record} have no column {self.column}", code="not_a_member")
        return Added(item=record.model_copy(update={"columns": columns}))
