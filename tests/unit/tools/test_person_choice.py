"""What a person chooses instead goes through the tools of the model's calls, and is a member of their sets."""

from __future__ import annotations

import pytest

from support_agent.answer.final_answer import DocumentItem, FieldItem, RecordItem, TableItem
from support_agent.errors import ToolCallRejected
from support_agent.tools.person_choice import PersonChoice, item_for
from tests.unit.tools.fakes import FakeAccounts, context, invoice


def choice(text: str) -> PersonChoice:
    found = PersonChoice.read(text)
    assert found is not None
    assert found.text == text
    return found


@pytest.mark.parametrize(
    "text",
    [
        "", "document", "document:", "document:0", "document:x", "document:123456", "field:", "plan", "question:1",
        "document:1@", "document:1@../x", "field:plan;drop", "record:invoices@a b", "FIELD:plan", " field:plan",
        "field:plan\n", "series:payments@last year",
    ],
)  # fmt: skip
def test_anything_else_is_no_choice(text: str) -> None:
    assert PersonChoice.read(text) is None


def test_each_kind_is_made_by_its_tool() -> None:
    mail = context()
    number, field, series = min(mail.documents), min(mail.accounts.fields), min(mail.accounts.series)
    assert isinstance(item_for(choice(f"document:{number}"), mail), DocumentItem)
    assert isinstance(item_for(choice(f"field:{field}"), mail), FieldItem)
    table = item_for(choice(f"series:{series}"), mail)
    assert isinstance(table, TableItem)
    assert table.period.name == "all_time"


def test_sections_are_those_that_the_person_chose() -> None:
    mail = context()
    number, document = next((n, one) for n, one in mail.documents.items() if len(one.sections) > 1)
    item = item_for(choice(f"document:{number}@2"), mail)
    assert isinstance(item, DocumentItem)
    second = {sentence.text for sentence in document.sections[1]}
    assert second <= {excerpt.text for excerpt in item.excerpts}
    assert document.sections[0][0].text not in {excerpt.text for excerpt in item.excerpts}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("document:777", "there is no document 777"),
        ("field:secrets", "there is no field secrets"),
        ("series:none", "there is no series none"),
        ("record:none@HF-1", "there is no record none"),
        ("record:invoices@HF-9999-0001", "not in its set"),
    ],
)
def test_what_is_not_in_a_set_is_refused(text: str, says: str) -> None:
    with pytest.raises(ToolCallRejected, match=says):
        item_for(choice(text), context())


def test_a_section_that_is_not_there_is_refused() -> None:
    mail = context()
    number = min(mail.documents)
    with pytest.raises(ToolCallRejected, match="sections"):
        item_for(choice(f"document:{number}@99"), mail)


def test_what_needs_a_higher_level_is_refused_to_a_person_too() -> None:
    mail = context(level=2)
    field = min(mail.accounts.fields)
    with pytest.raises(ToolCallRejected, match="level"):
        item_for(choice(f"field:{field}"), mail)


def test_a_record_is_the_customers_own_and_sent_whole() -> None:
    mail = context(accounts=FakeAccounts(own=(invoice("HF-2025-0030"), invoice("HF-2026-0007"))))
    item = item_for(choice("record:invoices@HF-2026-0007"), mail)
    assert isinstance(item, RecordItem)
    assert item.identifier == "HF-2026-0007"
    assert len(item.columns) == len(mail.accounts.records["invoices"].columns)
