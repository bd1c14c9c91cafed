"""Records: one of the customer's own by its identifier, and the columns that were asked for."""

from __future__ import annotations

import pytest

from support_agent.answer.final_answer import RecordItem
from support_agent.errors import ToolCallRejected
from support_agent.tools.base import Added, Context, Pointed
from support_agent.tools.catalogue import validated
from support_agent.tools.records import FetchRecord
from tests.unit.tools.fakes import context, eur, invoice, pointing, record_item, row, table

OWN = (invoice("HF-2025-0030"), invoice("HF-2026-0007", "25.00", state=None))


@pytest.fixture
def mail() -> Context:
    made = context()
    made.records = {"invoices": OWN}
    return made


def fetched(mail: Context, identifier: str = "HF-2025-0030") -> str:
    result = validated("fetch_record", {"records": "invoices", "id": identifier}, mail).run(mail)
    assert isinstance(result, Pointed)
    return result.pointer


def sent(mail: Context, column: str, identifier: str = "HF-2025-0030") -> RecordItem:
    result = validated("send_record", {"pointer": fetched(mail, identifier), "column": column}, mail).run(mail)
    assert isinstance(result, Added)
    assert isinstance(result.item, RecordItem)
    return result.item


def test_a_record_is_pointed_to_and_its_values_are_not_told(mail: Context) -> None:
    result = FetchRecord(records="invoices", id="HF-2025-0030").run(mail)
    assert (result.pointer, result.description) == ("@1", "invoices, HF-2025-0030")
    assert mail.data["@1"] == record_item(OWN[0])


def test_a_column_is_sent_with_the_label_and_the_identifier_of_its_record(mail: Context) -> None:
    assert sent(mail, "amount") == record_item(OWN[0], "amount")


def test_all_columns_are_sent_in_the_order_of_their_declaration(mail: Context) -> None:
    item = sent(mail, "all", "HF-2026-0007")
    assert [(one.column, one.value) for one in item.columns][::2] == [("amount", eur("25.00")), ("state", None)]


def test_labels_are_in_the_language_of_the_answer(mail: Context) -> None:
    mail.locale = "de"
    item = sent(mail, "amount")
    assert (item.label, item.columns[0].label) == ("Rechnung", "Betrag")


@pytest.mark.parametrize("identifier", ["HF-2025-0031", "hf-2025-0030", "HF-2025-0030 ", "", "0030"])
def test_an_identifier_that_is_not_an_own_one_letter_by_letter_is_refused(mail: Context, identifier: str) -> None:
    """What the mail writes otherwise is matched before; the call names it as the database does."""
    with pytest.raises(ToolCallRejected) as caught:
        fetched(mail, identifier)
    assert caught.value.code == "not_a_member"


def test_without_records_of_the_customers_there_is_no_identifier_to_call_with() -> None:
    with pytest.raises(ToolCallRejected) as caught:
        fetched(context())
    assert caught.value.code == "not_a_member"


def test_below_level_3_no_record_is_fetched(mail: Context) -> None:
    mail.level = 2
    with pytest.raises(ToolCallRejected) as caught:
        fetched(mail)
    assert caught.value.code == "level"


@pytest.mark.parametrize("column", ["Amount", "number", "", "every"])
def test_a_column_that_the_kind_does_not_have_is_refused(mail: Context, column: str) -> None:
    with pytest.raises(ToolCallRejected) as caught:
        sent(mail, column)
    assert caught.value.code == "not_a_member"


def test_a_column_of_another_kind_is_refused(mail: Context) -> None:
    orders = mail.accounts.records["invoices"].model_copy(update={"columns": {}})
    mail.accounts.records["orders"] = orders  # type: ignore[index]
    mail.records = {**mail.records, "orders": (invoice("A-1"),)}
    pointer = mail.point_to(record_item(OWN[0]).model_copy(update={"columns": ()}))
    with pytest.raises(ToolCallRejected) as caught:
        validated("send_record", {"pointer": pointer, "column": "amount"}, mail).run(mail)
    assert caught.value.code == "not_a_member"


def test_an_identifier_of_another_kind_is_refused(mail: Context) -> None:
    mail.accounts.records["orders"] = mail.accounts.records["invoices"]  # type: ignore[index]
    with pytest.raises(ToolCallRejected) as caught:
        validated("fetch_record", {"records": "orders", "id": "HF-2025-0030"}, mail).run(mail)
    assert caught.value.code == "not_a_member"


def test_a_pointer_to_a_table_is_none_to_a_record_and_the_other_way_round() -> None:
    mail = pointing(table(row("2024-01-01", eur("1"))), record_item(OWN[0]))
    for tool, arguments in (
        ("send_record", {"pointer": "@1", "column": "all"}),
        ("send_table", {"pointer": "@2"}),
        ("send_aggregate", {"pointer": "@2"}),
    ):
        with pytest.raises(ToolCallRejected) as caught:
            validated(tool, arguments, mail)
        assert caught.value.code == "not_a_member"
