"""Composed calls: what no form lists can be asked for, and votes, thresholds, vetoes and limits hold for each call."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from support_agent.answer.final_answer import (
    AggregateItem,
    CalculationItem,
    ClarificationItem,
    DocumentItem,
    FieldItem,
    TableItem,
)
from support_agent.answer.repetition import SentAnswer
from support_agent.company.questions import CannedQuestion
from support_agent.company.values import Money
from support_agent.config.settings import PlannerSettings
from support_agent.errors import PermanentError, ToolCallRejected
from support_agent.models.language_model import Model
from support_agent.planner.choice import Chooser
from support_agent.planner.composers import Composed, ComposingStep, ScoringComposer
from support_agent.planner.composing import COMPOSING_VERSION, ComposedRun
from support_agent.planner.loop import Planner
from support_agent.planner.plan import Plan
from support_agent.tools.base import Context, Match
from tests.fakes import PLAIN, ScriptedCallModel
from tests.fakes_room import ScriptedRoom, found, says
from tests.unit.planner.test_loop import Prefers, near, one
from tests.unit.tools.fakes import FakeAccounts, FakeSearch, context, eur, row

FINISH: tuple[str, dict[str, Any]] = ("finish", {})
ROWS = (
    row("2025-01-01", eur("10.00")),
    row("2025-02-01", eur("50.00")),
    row("2025-03-01", eur("40.00")),
    row("2025-04-01", eur("20.00")),
    row("2024-02-01", eur("7.00")),
)
PAYMENTS = FakeAccounts(rows={"payments": ROWS})
ABOVE = "Show my payments this year above average, highest first"
FETCH = ("fetch_series", {"series": "payments", "period": "this_year"})
KEEP = ("filter", {"pointer": "@1", "keep": "above_average"})
SORT = ("sort", {"pointer": "@2", "order": "highest_first"})
COMPOSED = (FETCH, KEEP, SORT, ("send_table", {"pointer": "@3"}), FINISH)


def plan(model: Model, given: Context, **limits: Any) -> Plan:
    ticks = itertools.count()
    settings = PlannerSettings(**{"mode": "tools", "model_votes": "always", **limits})
    return Planner(model, settings, lambda: float(next(ticks)) / 1000, combiner=PLAIN).plan(given)


def composed(
    given: Context,
    *calls: tuple[str, Mapping[str, Any]] | Exception,
    likes: Sequence[str] = ("payments",),
    **limits: Any,
) -> tuple[Plan, ScriptedCallModel]:
    """The plan of a server that makes these calls, and likes topics with such words."""
    model = ScriptedCallModel(Prefers(*likes), calls)
    return plan(model, given, **limits), model


def payments(question: str = ABOVE, **changes: Any) -> Context:
    accounts = FakeAccounts(rows={"payments": ROWS})
    return one(question, near("series:payments", score=0.9), **{"accounts": accounts, **changes})


def tools(made: Plan) -> list[str]:
    return [call.tool for call in made.calls]


def test_rows_are_filtered_then_sorted_then_sent() -> None:
    """No form lists this; each step's result is a pointer, and the answer states every step."""
    made, _ = composed(payments(), *COMPOSED)
    item = made.answers[0].items[0]
    assert isinstance(item, TableItem)
    assert [entry.value for entry in item.rows] == [eur("50.00"), eur("40.00")]
    assert (item.period.name, item.steps) == ("this_year", ("above_average", "highest_first"))
    assert tools(made) == ["find_documents", "fetch_series", "filter", "sort", "send_table", "finish"]
    assert made.combiner.endswith(COMPOSING_VERSION)


def test_a_model_that_only_scores_composes_the_same_call() -> None:
    """Segment by piece: a likely topic, the step that the words name and is missing, the pointer that nobody used."""
    made = plan(Prefers("payments"), payments())
    assert tools(made) == ["find_documents", "fetch_series", "filter", "sort", "send_table", "finish"]
    assert made.calls[4].args == {"pointer": "@3"}
    assert all(0.6 <= call.confidence <= 1.0 for call in made.calls)
    assert {vote.key for vote in made.calls[1].considered} >= {"series:payments", "fetch_series"}


def test_the_model_is_shown_pointers_and_descriptions_and_never_data() -> None:
    """Neither a value nor a day of a row is in any prompt."""
    _, model = composed(payments(), *COMPOSED)
    assert "1. fetch_series(series=payments, period=this_year) -> @1: payments, this_year, 4 rows" in model.prompts[1]
    for prompt in model.prompts:
        assert not any(secret in prompt for secret in ("50.00", "40.00", "2025-02"))


def test_two_series_are_compared() -> None:
    """Each is the likeliest topic once the other is off the list; both, with their aggregation, stand in the answer."""
    storage = (row("2024-02-01", eur("5.00")),)
    accounts = FakeAccounts(rows={"payments": ROWS, "storage": storage})
    search = FakeSearch([Match(topic="series:payments", score=0.9), Match(topic="series:storage", score=0.88)])
    given = one("What is the difference between my payments and my storage in 2024?", search, accounts=accounts)
    made, _ = composed(
        given,
        ("fetch_series", {"series": "payments", "period": "2024"}),
        ("fetch_series", {"series": "storage", "period": "2024"}),
        ("aggregate", {"pointer": "@1", "aggregation": "total"}),
        ("aggregate", {"pointer": "@2", "aggregation": "total"}),
        ("calculate", {"operation": "subtract", "left": "@3", "right": "@4"}),
        ("send_aggregate", {"pointer": "@5"}),
        FINISH,
        likes=("payments", "storage"),
    )
    item = made.answers[0].items[0]
    assert isinstance(item, CalculationItem)
    assert (item.left.series, item.right.series, item.result) == ("payments", "storage", eur("2.00"))


def test_a_second_series_that_nobody_asked_about_is_not_sent_beside_the_first() -> None:
    given = one("How many payments in 2024?", near("series:payments", "series:storage", score=0.9), accounts=PAYMENTS)
    made, _ = composed(
        given,
        ("fetch_series", {"series": "storage", "period": "2024"}),
        ("aggregate", {"pointer": "@1", "aggregation": "count"}),
        ("send_aggregate", {"pointer": "@2"}),
    )
    assert (made.outcome, made.reason) == ("escalate", "unsure")
    assert [(call.tool, call.status) for call in made.calls if call.tool == "send_aggregate"] == [
        ("send_aggregate", "below_threshold")
    ]


@pytest.mark.parametrize("call", [("send_document", {"number": 1}), ("send_account_field", {"field": "plan"})])
def test_a_topic_that_the_votes_do_not_choose_is_not_sent(call: tuple[str, Mapping[str, Any]]) -> None:
    """The server's word alone sends nothing, whatever the threshold is."""
    given = one("Refund?", near("document:7", "document:1", "field:plan"))
    made, _ = composed(given, call, likes=("Document 7",), threshold_answer=0.0)
    assert (made.outcome, made.reason, made.answers) == ("escalate", "unsure", ())
    assert made.calls[1].status == "below_threshold"


def test_a_document_and_a_field_that_the_votes_choose_are_sent() -> None:
    document, _ = composed(
        one("Refund?", near("document:7", "document:1")),
        ("send_document", {"number": 7}),
        FINISH,
        likes=("Document 7",),
    )
    field, _ = composed(
        one("My plan?", near("field:plan", score=0.9)),
        ("send_account_field", {"field": "plan"}),
        FINISH,
        likes=("plan",),
    )
    assert isinstance(document.answers[0].items[0], DocumentItem)
    assert isinstance(field.answers[0].items[0], FieldItem)


def test_a_question_that_the_votes_leave_to_a_person_is_not_composed_at_all() -> None:
    made, model = composed(
        one("Cats?", near("document:7", score=0.2)), ("send_document", {"number": 7}), likes=("None",)
    )
    assert (made.outcome, made.reason, model.offers) == ("escalate", "not_covered", [])


def test_the_confidence_is_the_least_of_topic_pieces_and_pointers() -> None:
    made = plan(Prefers("payments"), payments())
    fetch, *later = (call for call in made.calls if call.tool not in ("find_documents", "finish"))
    assert all(call.confidence <= fetch.confidence for call in later)
    topic = max(vote.probability for vote in fetch.considered if vote.key == "series:payments")
    assert later[-1].confidence <= topic


def test_a_probability_that_is_no_number_is_not_sure() -> None:
    class Nameless:
        def compose(self, step: ComposingStep) -> Composed:
            return ScoringComposer(Prefers("payments"), "always").compose(step)._replace(probability=math.nan)

    work = ComposedRun(Nameless(), Chooser(Prefers("payments"), PLAIN), PlannerSettings(), lambda: 0.0, payments())
    work.run()
    assert (work.answers, work.reasons) == ((), ["unsure"])


def test_below_its_threshold_a_composed_call_does_not_happen() -> None:
    made, _ = composed(payments(), *COMPOSED, threshold_data=1.0)
    assert (made.outcome, made.reason) == ("escalate", "unsure")
    assert tools(made) == ["find_documents", "fetch_series", "escalate", "finish"]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("How much did I pay in the last 90 days?", "not_covered"),
        ("Nimelipa kiasi gani kwa jumla mwaka jana?", "not_covered"),
    ],
)
def test_what_the_guided_way_leaves_to_a_person_the_composed_one_does_too(question: str, reason: str) -> None:
    """A period without a member, a language that nobody here reads."""
    given = payments(question)
    period = "2024" if "2024" in question else "last_year"
    made, _ = composed(given, ("fetch_series", {"series": "payments", "period": period}))
    assert (made.outcome, made.reason) == ("escalate", reason)
    assert not any(call.tool == "fetch_series" and call.status == "done" for call in made.calls)


@pytest.mark.parametrize(
    ("question", "reason"),
    [("Which plan was I on in 2023?", "not_covered"), ("Which plan is james@example.org on?", "beside")],
)
def test_a_value_of_another_time_or_person_is_not_sent(question: str, reason: str) -> None:
    calls = ("send_account_field", {"field": "plan"}), FINISH
    made, _ = composed(one(question, near("field:plan", score=0.9)), *calls, likes=("plan",))
    assert (made.outcome, made.reason) == ("escalate", reason)


NOT_OFFERED = {
    "a period that is not named": ("fetch_series", {"series": "payments", "period": "last_year"}),
    "a topic off the short list": ("fetch_series", {"series": "storage", "period": "this_year"}),
    "a pointer that nothing returned": ("send_table", {"pointer": "@1"}),
    "a tool that does not exist": ("delete_account", {"series": "payments"}),
    "a tool of the program's own": ("find_documents", {"question": 1}),
    "an argument too many": ("fetch_series", {"series": "payments", "period": "this_year", "note": "hi"}),
    "an argument too few": ("fetch_series", {"series": "payments"}),
    "another type": ("escalate", {"reason": 1}),
    "a reason that it cannot know": ("escalate", {"reason": "level"}),
    "an end without an answer": FINISH,
}


@pytest.mark.parametrize("call", NOT_OFFERED.values(), ids=NOT_OFFERED)
def test_a_call_that_is_not_offered_is_never_made(call: tuple[str, Mapping[str, Any]]) -> None:
    """It is asked for again, a bounded number of times; then a person gets the question."""
    made, model = composed(payments(), call, call, call, max_repairs=2)
    assert (made.outcome, made.reason) == ("escalate", "model_failed")
    assert len(model.offers) == 3
    assert tools(made) == ["find_documents", "escalate", "finish"]


def test_one_bad_call_is_no_reason_to_give_up() -> None:
    made, _ = composed(payments(), ("send_table", {"pointer": "@7"}), *COMPOSED)
    assert made.outcome == "answer"


@pytest.mark.parametrize(
    ("calls", "offered"),
    [((FETCH,), {"filter", "sort", "aggregate"}), ((FETCH, KEEP), {"sort", "aggregate"}), ((FETCH, KEEP, SORT), None)],
)
def test_rows_are_not_offered_for_sending_before_they_are_as_the_customer_asked(
    calls: tuple[tuple[str, Mapping[str, Any]], ...], offered: set[str] | None
) -> None:
    """All payments, or those above average in another order, would stand beside the question."""
    _, model = composed(payments(), *calls, ("escalate", {"reason": "unsure"}))
    assert ("send_table" in model.offers[-1]) == (offered is None)
    assert (offered or set()) <= set(model.offers[-1])


def test_it_cannot_finish_before_each_period_that_is_named_is_answered() -> None:
    """Two are asked about: one alone would be half an answer that looks whole."""
    given = payments("List my payments of 2024 and list my payments of 2025")
    first = ("fetch_series", {"series": "payments", "period": "2024"})
    half, _ = composed(given, first, ("send_table", {"pointer": "@1"}), FINISH, FINISH, FINISH)
    assert (half.outcome, half.answers) == ("escalate", ())
    second = ("fetch_series", {"series": "payments", "period": "2025"})
    given = payments("List my payments of 2024 and list my payments of 2025")
    sends = (("send_table", {"pointer": "@1"}), ("send_table", {"pointer": "@2"}))
    whole, _ = composed(given, first, second, *sends, FINISH)
    assert [item.period.name for item in whole.answers[0].items if isinstance(item, TableItem)] == ["2024", "2025"]


DIFFERENCE = "What is the difference between my highest and my lowest payment this year?"


def difference() -> Context:
    """A question that is phrased as one form, and its two sides as two others."""
    given = payments(DIFFERENCE)
    phrasings = {"highest and": "subtract", "highest": "highest", "lowest": "lowest"}
    given.search.phrasings = phrasings  # type: ignore[attr-defined]
    return given


def test_one_of_two_numbers_that_are_compared_is_not_sent() -> None:
    """Failure: asked for the difference, the embedded model went for the lowest payment alone."""
    lowest = ("aggregate", {"pointer": "@1", "aggregation": "lowest"})
    _, model = composed(difference(), FETCH, lowest, ("escalate", {"reason": "unsure"}))
    assert "send_aggregate" not in model.offers[-1]
    made = plan(Prefers("payments"), difference())
    item = made.answers[0].items[0]
    assert isinstance(item, CalculationItem)
    assert (item.left.aggregation, item.right.aggregation, item.result) == ("highest", "lowest", eur("40.00"))


def test_it_cannot_finish_before_each_number_that_is_named_is_answered() -> None:
    given = payments("What was my average and what was my highest payment this year?")
    given.search.phrasings = {"average": "average", "highest": "highest"}  # type: ignore[attr-defined]
    average = ("aggregate", {"pointer": "@1", "aggregation": "average"}), ("send_aggregate", {"pointer": "@2"})
    _, model = composed(given, FETCH, *average, ("escalate", {"reason": "unsure"}))
    assert "finish" not in model.offers[-1]


def test_what_the_model_escalates_goes_to_a_person_for_its_reason() -> None:
    """Also after it has sent something: what it added is not sent."""
    sent = ("aggregate", {"pointer": "@1", "aggregation": "total"}), ("send_aggregate", {"pointer": "@2"})
    given = payments("How much did I pay in total this year?")
    made, _ = composed(given, FETCH, *sent, ("escalate", {"reason": "person_asked_for"}))
    assert (made.outcome, made.reason, made.answers) == ("escalate", "person_asked_for", ())


def test_an_answer_needs_the_fact_rooms_evidence_here_too() -> None:
    """The program looks before a document is sent; the model is never offered to."""
    for finding, outcome in ((found(says(7, 0)), "answer"), (found(reason="irrelevant"), "escalate")):
        given = one(
            "Refund?", near("document:7", "document:1"), room=ScriptedRoom({"Refund?": finding}), always_retrieves=True
        )
        made, _ = composed(given, ("send_document", {"number": 7}), FINISH, likes=("Document 7",))
        assert made.outcome == outcome
    given = one(
        "Refund?",
        near("document:7", "document:1"),
        room=ScriptedRoom({"Refund?": found(says(1, 0))}),
        always_retrieves=True,
    )
    made, _ = composed(given, ("send_document", {"number": 7}), FINISH, likes=("Document 7",))
    assert (made.reason, "find_evidence" in tools(made)) == ("no_evidence", True)


def test_below_the_level_of_a_value_the_database_is_not_asked() -> None:
    accounts = FakeAccounts()
    made, _ = composed(payments(level=2, customer=None, accounts=accounts), FETCH)
    assert (made.outcome, made.reason, accounts.reads) == ("escalate", "level", [])


def test_a_canned_question_is_asked_where_its_documents_are_together_likely_enough() -> None:
    canned = CannedQuestion(number=1, about="which system", text={"en": "Which system?"}, between=(1, 7))
    search = FakeSearch([Match(topic="document:1", score=0.6), Match(topic="document:7", score=0.6)])
    given = one("How?", search, clarifications={1: canned})
    made, _ = composed(given, ("ask_clarification", {"number": 1}), FINISH, likes=("Document",), threshold_answer=0.02)
    assert isinstance(made.answers[0].items[0], ClarificationItem)


def test_what_was_answered_before_is_not_answered_again() -> None:
    first, _ = composed(payments(), *COMPOSED)
    sent = SentAnswer(case_id="c", sent_at=datetime(2025, 5, 1, tzinfo=UTC), answer=first.answers[0])
    made, _ = composed(payments(sent=(sent,)), *COMPOSED)
    assert (made.outcome, made.reason) == ("escalate", "repeated")


def test_a_rejected_call_is_shown_to_the_model_and_tried_no_more_often_than_allowed() -> None:
    """The rows are in two currencies: the rule of the tool ends the question, as in the guided way."""
    mixed = (*ROWS, row("2025-05-01", Money(amount=Decimal(1), currency="USD")))
    made, _ = composed(payments(accounts=FakeAccounts(rows={"payments": mixed})), FETCH, KEEP)
    assert (made.outcome, made.reason) == ("escalate", "no_data")
    assert [call.status for call in made.calls if call.tool == "filter"] == ["rejected"]


@pytest.mark.parametrize("limit", [{"max_calls": 3}, {"max_tokens": 256}, {"max_s": 0.005}, {"max_steps": 2}])
def test_reaching_a_limit_escalates(limit: dict[str, float]) -> None:
    class Wordy(Prefers):
        def score(self, prompt: Any, options: Any) -> Any:
            said = super().score(prompt, options)
            return said.model_copy(update={"usage": said.usage.model_copy(update={"prompt_tokens": 300})})

    made = plan(ScriptedCallModel(Wordy("payments"), COMPOSED), payments(), **limit)
    assert (made.outcome, made.reason, made.answers) == ("escalate", "limit", ())


@pytest.mark.parametrize("error", [PermanentError("refused"), ToolCallRejected("nonsense"), ValueError("a bug")])
def test_a_model_that_fails_escalates(error: Exception) -> None:
    made, _ = composed(payments(), error, error, error)
    assert (made.outcome, made.reason) == ("escalate", "model_failed")


def test_pointers_of_one_question_are_not_offered_for_the_next() -> None:
    """What they hold was confirmed for another question."""
    given = context(
        questions=("How much did I pay in total this year?", "And how much in total this year, again?"),
        search=near("series:payments", score=0.9),
        accounts=PAYMENTS,
    )
    sent = ("aggregate", {"pointer": "@1", "aggregation": "total"}), ("send_aggregate", {"pointer": "@2"})
    again = ("send_aggregate", {"pointer": "@2"})
    made, model = composed(given, FETCH, *sent, FINISH, again, again, again)
    assert made.is_partial
    assert "send_aggregate" not in model.offers[-1]
    assert isinstance(made.answers[0].items[0], AggregateItem)
    assert made.answers[0].items[0].operand.value == eur("120.00")


def test_guided_is_the_default() -> None:
    assert PlannerSettings().mode == "guided"
