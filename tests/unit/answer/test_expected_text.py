"""What a mail must say: each parameter of an item, worked out without a template."""

from __future__ import annotations

import pytest

from support_agent.answer.expected_text import expected
from support_agent.answer.final_answer import CalculationItem, DocumentItem, Item
from support_agent.answer.sources import DocumentSource, key_of
from support_agent.answer.templates import Templates
from support_agent.errors import GateRefused
from support_agent.ops.template_samples import sample_items
from support_agent.ops.template_tests import around

ITEMS = tuple(sample_items())


@pytest.mark.parametrize("item", ITEMS, ids=[f"{place}-{item.kind}" for place, item in enumerate(ITEMS)])
def test_every_field_of_an_item_is_required(templates: Templates, item: Item) -> None:
    """Each kind lists its parameters: a new field must be required or be named here as not shown."""
    keys = " ".join(expected(around(item), templates).required)
    shown = {
        "document": ["part=number", "part=title", "part=url", "part=valid_from"],
        "account_field": ["part=label"],
        "table": ["part=label", "section=period", "part=period_last", "part=row_count"],
        "aggregate": ["part=label", "section=period", "part=period_last", "part=row_count", "section=aggregation"],
        "calculation": ["side=left", "side=right", "section=operation", "part=result"],
        "clarification": ["clarification"],
        "record": ["part=record", "part=identifier", "part=column row=0"],
    }
    assert all(part in keys for part in shown[item.kind])
    assert ("part=row_noun" in keys) == ("row_noun" in item.model_dump_json(exclude_defaults=True))
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


def test_what_cannot_be_told_apart_is_refused(templates: Templates) -> None:
    """Two sentences at one place of a document: a citation would not say which is meant."""
    item = next(item for item in ITEMS if isinstance(item, DocumentItem))
    twice = item.model_copy(update={"excerpts": (item.excerpts[0], *item.excerpts)})
    with pytest.raises(GateRefused, match="two parts of the mail have the same source"):
        expected(around(twice), templates)


def test_a_row_that_is_too_wide_for_a_line_has_none_and_is_required_all_the_same(templates: Templates) -> None:
    """Its cells stand for it."""
    item = next(item for item in ITEMS if isinstance(item, DocumentItem) and "repair .NET" in str(item.excerpts))
    must = expected(around(item), templates)
    wide = DocumentSource(answer=0, item=0, number=1, version="4f1c", part="row", sentence=2)
    with pytest.raises(GateRefused, match="there is nothing at the source"):
        must.text(wide)
    assert key_of(wide) in must.required
    assert must.text(wide.model_copy(update={"part": "cell", "column": 1})) == "the runtime is damaged"


def test_a_word_that_the_templates_do_not_have_is_required_and_cannot_be_cited(templates: Templates) -> None:
    """Whatever a renderer puts there, the mail is refused."""
    item = next(item for item in ITEMS if isinstance(item, CalculationItem))
    files = templates.as_files()
    files["en/words.yaml"] = files["en/words.yaml"].replace("operation:", "operations:")
    must = expected(around(item), Templates.from_files(files))
    (key,) = (key for key in must.required if "section=operation" in key)
    assert [text for source, text in must.texts.items() if key_of(source) == key] == [None]
