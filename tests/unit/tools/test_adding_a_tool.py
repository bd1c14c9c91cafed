"""The docs' example of a new tool, run as it stands there: defined, chosen, carried out, sent through the gate."""

from __future__ import annotations

import importlib.util
import re
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pytest

from support_agent.answer.final_answer import CalculationItem
from support_agent.answer.provenance import check
from support_agent.answer.render import render
from support_agent.answer.templates import Templates
from support_agent.company.values import Money, SeriesRow
from support_agent.config.settings import PlannerSettings
from support_agent.errors import ToolCallRejected
from support_agent.ops.template_tests import around
from support_agent.planner import forms
from support_agent.planner.forms import FORMS, Form, votes_for
from support_agent.planner.loop import Planner
from support_agent.tools.base import Context, Match, Tool
from support_agent.tools.catalogue import TOOLS, validated
from support_agent.tools.closed import OpenArgument
from tests.fakes import PLAIN, ScriptedModel
from tests.unit.tools.fakes import FakeAccounts, FakeSearch, context, eur, operand, pointing, row, table

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "tools.md").read_text("utf-8")
TOOL_SOURCE, FORM_SOURCE = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ROWS = (row("2024-03-01", eur("12.00")), row("2024-07-01", eur("30.50")), row("2024-09-01", eur("20.00")))
QUESTION = "What is the spread of my payments in 2024?"


def imported(source: str, folder: Path) -> ModuleType:
    """A module of that text, as Python imports it from a file."""
    path = folder / "spread.py"
    path.write_text(source, "utf-8")
    spec = importlib.util.spec_from_file_location("readme_spread", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _no_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two texts of one file name must not meet in a cache."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


@pytest.fixture
def tool(tmp_path: Path) -> type[Tool]:
    """The page's class."""
    spread: type[Tool] = imported(TOOL_SOURCE, tmp_path).Spread
    assert issubclass(spread, Tool)
    return spread


@pytest.fixture
def form() -> Form:
    """The page's form."""
    made = eval(FORM_SOURCE, {"Form": Form})
    assert isinstance(made, Form)
    return made


@pytest.fixture
def listed(tool: type[Tool], form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool in the catalogue and its form on the list, as the page says to do."""
    monkeypatch.setitem(TOOLS, tool.name, tool)
    monkeypatch.setattr(forms, "FORMS", (*FORMS, form))


@pytest.mark.usefixtures("listed")
def test_the_new_tool_subtracts_the_lowest_from_the_highest() -> None:
    """The call is made as the planner makes it, and its result is a pointer to a calculation."""
    mail = pointing(table(*ROWS))
    result = validated("spread", {"pointer": "@1"}, mail).run(mail)
    item = mail.data[result.pointer]  # type: ignore[union-attr]
    assert isinstance(item, CalculationItem)
    assert item.result == Money(amount=Decimal("18.50"), currency="EUR")
    assert (item.left.day, item.right.day) == (ROWS[1].day, ROWS[0].day)


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize("pointer", ["@2", "@9", "payments", "", 1])
def test_the_new_tool_takes_a_pointer_to_a_table_and_nothing_else(pointer: object) -> None:
    """Closed by its annotation alone: a number's pointer, an unknown one and words are refused."""
    mail = pointing(table(*ROWS), operand(eur("1")))
    with pytest.raises(ToolCallRejected):
        validated("spread", {"pointer": pointer}, mail)


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ((), "no_data"),
        ((ROWS[0], row("2024-05-01", Money(amount=Decimal(1), currency="USD"))), "units"),
    ],
)
def test_the_new_tool_computes_nothing_without_rows_or_across_currencies(
    rows: tuple[SeriesRow, ...], code: str
) -> None:
    """The rules of the calls it is made of hold for it, too."""
    mail = pointing(table(*rows))
    with pytest.raises(ToolCallRejected) as caught:
        validated("spread", {"pointer": "@1"}, mail).run(mail)
    assert caught.value.code == code


@pytest.mark.parametrize("annotation", ["str", "float", "int", "list[str]"])
def test_the_same_tool_with_an_open_argument_cannot_be_imported(annotation: str, tmp_path: Path) -> None:
    """What the page says of a plain `str`."""
    opened = TOOL_SOURCE.replace("pointer: TablePointer", f"pointer: {annotation}")
    assert opened != TOOL_SOURCE
    with pytest.raises(OpenArgument, match="'pointer'"):
        imported(opened, tmp_path)


@pytest.mark.usefixtures("listed")
def test_the_new_form_is_voted_for_by_its_examples(form: Form) -> None:
    """Its key is free, and what is phrased like its examples is voted to ask for it; nothing else is."""
    assert form.key not in {other.key for other in FORMS}
    votes = votes_for(QUESTION, FakeSearch())
    assert max(votes, key=votes.__getitem__) == form.key
    assert votes_for("How much did I pay in 2024?", FakeSearch())[form.key] < 0.1


@pytest.mark.usefixtures("listed")
def test_a_question_is_answered_with_the_new_tool(form: Form) -> None:
    """The vote is sure of the form, the calls follow, and the mail passes the gate with its parameters shown."""
    model = ScriptedModel([])
    mail = _mail()
    plan = Planner(model, PlannerSettings(), clock=lambda: 0.0, combiner=PLAIN).plan(mail)
    done = [call.tool for call in plan.calls if call.status == "done"]
    assert done == ["find_documents", "fetch_series", "spread", "send_aggregate", "finish"]
    assert any(vote.key == form.key for call in plan.calls for vote in call.considered)
    (answer,) = plan.answers
    templates = Templates.load(ROOT / "templates")
    final = around(*answer.items, locale="en-GB", asked=1)
    rendered = render(final, templates)
    check(rendered, final, templates)
    for shown in ("EUR 18.50", "EUR 30.50", "EUR 12.00", "1 July 2024", "1 March 2024", "2024"):
        assert shown in rendered.text.text


def _mail() -> Context:
    accounts = FakeAccounts(rows={"payments": ROWS})
    search = FakeSearch([Match(topic="series:payments", score=0.9)])
    return context(accounts=accounts, search=search, questions=(QUESTION,))
