"""What a mail must say: each parameter of an item, worked out without a template."""

from __future__ import annotations

import pytest

from support_agent.answer.expected_text import expected
from support_agent.answer.final_answer import Item
from support_agent.answer.templates import Templates
from support_agent.ops.template_samples import around, sample_items

ITEMS = tuple(sample_items())


@pytest.mark.parametrize("item", ITEMS, ids=[f"{place}-{item.kind}" for place, item in enumerate(ITEMS)])
def test_every_field_of_an_item_is_required(templates: Templates, item: Item) -> None:
    """Each kind lists its parameters: a new field must be required or be named here as not shown."""
    keys = " ".join(expected(around(item), templates).required)
    shown = {
        "document": ["part=number", "part=title", "part=url", "part=valid_from"],
        "account_field": ["part=label"],
        "table": ["part=label", "section=period", "part=period_last", "part=row_count", "part=row_noun"],
        "aggregate": [
            "part=label",
            "section=period",
            "part=period_last",
            "part=row_count",
            "part=row_noun",
            "section=aggregation",
        ],
        "calculation": ["side=left", "side=right", "section=operation", "part=result"],
        "clarification": ["clarification"],
        "record": ["part=record", "part=identifier", "part=column row=0"],
    }
    assert all(part in keys for part in shown[item.kind])
    fields = {
        "document": {
            "kind",
            "number",
            "title",
            "version",
            "valid_from",
            "url",
            "delivery",
            "excerpts",
            "keeps_form",
            "language",
        },
        "account_field": {"kind", "field", "label", "value"},
        "table": {"kind", "series", "label", "row_noun", "period", "steps", "rows"},
        "aggregate": {"kind", "operand"},
        "calculation": {"kind", "operation", "left", "right", "result"},
        "clarification": {"kind", "number", "text"},
        "record": {"kind", "record", "label", "identifier", "columns"},
    }
    assert set(type(item).model_fields) == fields[item.kind]
