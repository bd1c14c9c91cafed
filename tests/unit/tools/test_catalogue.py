"""The one way from a name and arguments to a call: member by member, never by likeness."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.errors import ToolCallRejected
from support_agent.tools.base import Context, Tool, ToolKind
from support_agent.tools.catalogue import TOOLS, validated
from support_agent.tools.closed import members_of
from tests.unit.tools.fakes import context, eur, invoice, operand, pointing, record_item, row, table

TABLE, NUMBER = "@1", "@2"


@pytest.fixture
def mail() -> Context:
    """A context in which "@1" is a table, "@2" a number and "@3" a record."""
    own = invoice("HF-2025-0030")
    made = pointing(table(row("2024-01-01", eur("1"))), operand(eur("1")), record_item(own))
    made.records = {"invoices": (own,)}
    return made


def code_of(name: str, arguments: dict[str, Any], context: Context) -> str:
    """The code with which a call is refused."""
    with pytest.raises(ToolCallRejected) as caught:
        validated(name, arguments, context)
    return caught.value.code


def test_the_catalogue_has_the_tools_of_the_design_by_their_own_names() -> None:
    """A new tool is seen here, and so is one that goes."""
    assert {name: tool.kind for name, tool in TOOLS.items()} == {
        "send_document": ToolKind.ANSWER,
        "send_account_field": ToolKind.ANSWER,
        "send_table": ToolKind.ANSWER,
        "send_aggregate": ToolKind.ANSWER,
        "send_record": ToolKind.ANSWER,
        "ask_clarification": ToolKind.ANSWER,
        "fetch_series": ToolKind.DATA,
        "fetch_record": ToolKind.DATA,
        "filter": ToolKind.DATA,
        "sort": ToolKind.DATA,
        "aggregate": ToolKind.DATA,
        "calculate": ToolKind.DATA,
        "find_documents": ToolKind.FACT,
        "find_evidence": ToolKind.FACT,
        "escalate": ToolKind.ENDING,
        "finish": ToolKind.ENDING,
    }


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_call_made_of_members_is_valid_and_keeps_its_arguments(tool: type[Tool], mail: Context) -> None:
    """What the sets offer can be called, whichever member is chosen."""
    sets = mail.sets()
    offered = {name: members_of(field, sets) for name, field in tool.model_fields.items()}
    assert all(offered.values())
    for nth in range(max(map(len, offered.values()), default=1)):
        arguments = {name: members[nth % len(members)] for name, members in offered.items()}
        call = validated(tool.name, arguments, mail)
        assert type(call) is tool
        assert call.arguments == arguments


def test_an_unknown_tool_is_refused_and_the_known_ones_named(mail: Context) -> None:
    """A name is compared whole: neither its case nor white space is mended."""
    for name in ("send_mail", "Send_Document", "send_document ", "", "__class__"):
        with pytest.raises(ToolCallRejected, match="send_document, send_account_field") as caught:
            validated(name, {"number": 1}, mail)
        assert caught.value.code == "unknown_tool"


@pytest.mark.parametrize("number", ["7", 7.0, True, 7 + 0j, Decimal(7), None, [7], {"number": 7}, b"7", math.nan])
def test_a_document_number_of_another_type_is_refused_and_not_converted(number: Any, mail: Context) -> None:
    """ "7", 7.0 and True are no numbers of documents, although 7 and 1 are."""
    assert code_of("send_document", {"number": number}, mail) == "arguments"


@pytest.mark.parametrize("number", [0, 2, 8, -1, 10**30])
def test_a_number_that_the_company_does_not_have_is_refused(number: int, mail: Context) -> None:
    """Document 7 is not sent for 8, however near."""
    assert code_of("send_document", {"number": number}, mail) == "not_a_member"


@pytest.mark.parametrize("field", ["Plan", "plan ", "plans", "", "seats", "payments", "\ud800", "plan\x00"])
def test_a_field_name_that_is_only_like_one_is_refused(field: str, mail: Context) -> None:
    """Neither case, white space nor spelling is mended."""
    assert code_of("send_account_field", {"field": field}, mail) in ("not_a_member", "arguments")


@pytest.mark.parametrize("pointer", ["@4", "@0", "@01", "1", "@", "", "@1 "])
def test_a_pointer_that_no_tool_returned_is_refused(pointer: str, mail: Context) -> None:
    """Promise 3: only what was returned earlier for this mail can be pointed to."""
    assert code_of("send_table", {"pointer": pointer}, mail) == "not_a_member"
    assert code_of("send_aggregate", {"pointer": pointer}, mail) == "not_a_member"


def test_a_pointer_of_the_other_kind_is_refused(mail: Context) -> None:
    """A table is no number and a number no table."""
    assert code_of("send_table", {"pointer": NUMBER}, mail) == "not_a_member"
    assert code_of("send_aggregate", {"pointer": TABLE}, mail) == "not_a_member"
    assert code_of("calculate", {"operation": "add", "left": NUMBER, "right": TABLE}, mail) == "not_a_member"
    assert validated("send_table", {"pointer": TABLE}, mail).arguments == {"pointer": TABLE}


def test_a_pointer_of_another_mail_is_refused(mail: Context) -> None:
    """Each mail has its own data."""
    assert code_of("send_table", {"pointer": TABLE}, context()) == "not_a_member"


def test_missing_and_extra_arguments_are_refused(mail: Context) -> None:
    """There is no default, and nowhere to put a text of the model's."""
    assert code_of("send_document", {}, mail) == "arguments"
    assert code_of("send_document", {"number": 7, "note": "Dear Anna"}, mail) == "arguments"
    assert code_of("finish", {"reason": "done"}, mail) == "arguments"
    assert code_of("fetch_series", {"series": "payments"}, mail) == "arguments"


@pytest.mark.parametrize("reason", ["because", "NOT_COVERED", "", 1, None])
def test_a_reason_outside_the_fixed_ones_is_refused(reason: Any, mail: Context) -> None:
    """`escalate` takes a reason by its value, and that alone."""
    assert code_of("escalate", {"reason": reason}, mail) == "arguments"
    assert validated("escalate", {"reason": "not_covered"}, mail).arguments == {"reason": "not_covered"}


def test_a_refusal_names_the_argument(mail: Context) -> None:
    """The model is told what was wrong with which argument."""
    with pytest.raises(ToolCallRejected, match=r"filter: .*keep"):
        validated("filter", {"pointer": TABLE, "keep": "highest_2"}, mail)
    with pytest.raises(ToolCallRejected, match=r"fetch_series: period '2019'"):
        validated("fetch_series", {"series": "payments", "period": "2019"}, mail)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = [
    1,
    2,
    3,
    7,
    "plan",
    "payments",
    "2024",
    "@1",
    "@2",
    "total",
    "latest_3",
    "newest_first",
    "add",
    "level",
]
NEAR = [
    "1",
    1.0,
    True,
    0,
    8,
    "Plan",
    "payments ",
    "24",
    "@3",
    "@",
    "sum",
    "oldest",
    "Level",
    None,
    [1],
    ["@1"],
]


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tool's name with values for its own arguments, right or nearly so; or anything else at all."""
    name = draw(st.sampled_from(sorted(TOOLS)))
    values = st.sampled_from(MEMBERS) | st.sampled_from(MEMBERS) | st.sampled_from(NEAR) | JSON
    arguments: dict[str, Any] = {argument: draw(values) for argument in TOOLS[name].model_fields}
    if draw(st.integers(0, 5)) == 0:
        arguments[draw(st.text(max_size=5))] = draw(JSON)
    if draw(st.integers(0, 5)) == 0:
        name = draw(st.text(max_size=10))
    return name, arguments


@settings(deadline=None)
@given(call=calls())
def test_whatever_a_model_calls_is_made_of_members_or_refused(call: tuple[str, dict[str, Any]]) -> None:
    """Promise 2, over any JSON: a call that comes out holds exactly what went in, member by member."""
    name, arguments = call
    mail = pointing(table(), operand(None))
    sets = mail.sets()
    fields = TOOLS[name].model_fields if name in TOOLS else {}
    is_made_of_members = name in TOOLS and all(
        argument in fields
        and any(value == member and type(value) is type(member) for member in members_of(fields[argument], sets))
        for argument, value in arguments.items()
    )
    if is_made_of_members:
        assert validated(name, arguments, mail).arguments == arguments
    else:
        assert code_of(name, arguments, mail) in ("unknown_tool", "arguments", "not_a_member")
