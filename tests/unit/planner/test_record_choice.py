"""Questions about records: the own one that is named, or a person; never a value or document beside it."""

from __future__ import annotations

from typing import Any

import pytest

from support_agent.answer.final_answer import ClarificationItem, FieldItem, RecordItem
from support_agent.company.questions import CannedQuestion
from support_agent.errors import TransientError
from support_agent.models.language_model import Usage
from support_agent.planner.candidates import Scope
from support_agent.planner.choice import NONE_TITLE, Choice, Vote
from support_agent.planner.plan import Plan
from support_agent.planner.record_choice import columns_of, words_of
from support_agent.tools.base import Context, Match
from tests.unit.planner.test_loop import PAYMENTS, Prefers, near, one, plan
from tests.unit.tools.fakes import FakeAccounts, FakeSearch, context, invoice, record_item

FIRST, SECOND = invoice("HF-2025-0030"), invoice("HF-2026-0007", "25.00")
THIRD, FOURTH = invoice("HF-2024-0555"), invoice("HF-2024-0777")
WHICH = CannedQuestion(number=4, about="which", text={"en": "Which invoice?"}, about_records="invoices")
EVERYTHING = "field:plan", "series:payments", "document:7", "record:invoices"
YES = Prefers("nvoice", "Amount", "everything")


def asked(question: str, *own: Any, search: FakeSearch | None = None, **changes: Any) -> Context:
    accounts = FakeAccounts(rows=PAYMENTS, own=own or (FIRST, SECOND))
    clarifications = changes.pop("clarifications", {4: WHICH})
    given = one(question, search or near("record:invoices", score=0.9), accounts=accounts, **changes)
    given.clarifications = clarifications
    return given


def items(made: Plan) -> list[Any]:
    return [item for answer in made.answers for item in answer.items]


def calls(made: Plan) -> list[tuple[str, dict[str, Any]]]:
    return [(call.tool, call.args) for call in made.calls if call.tool not in ("find_documents", "finish")]


def test_the_column_of_the_own_record_that_is_named_is_sent() -> None:
    made = plan(YES, asked("What was the amount of invoice hf 2025 0030?"))
    assert items(made) == [record_item(FIRST, "amount")]
    assert calls(made) == [
        ("fetch_record", {"records": "invoices", "id": "HF-2025-0030"}),
        ("send_record", {"pointer": "@1", "column": "amount"}),
    ]


def test_without_a_word_for_a_column_everything_about_it_is_sent() -> None:
    made = plan(Prefers("nvoice", "everything"), asked("HF-2025-0030?"))
    assert items(made) == [record_item(FIRST)]


def test_without_a_word_for_a_column_the_model_does_not_choose_one() -> None:
    """It would take the amount for the details."""
    model = Prefers("nvoice", "Amount")
    made = plan(model, asked("Details of HF-2025-0030, please"))
    assert [call[1]["column"] for call in calls(made) if call[0] == "send_record"] == ["all"]


def chosen(*votes: tuple[str, float, float]) -> Choice:
    made = (
        Vote(key=key, similarity=0.0, mentioned=mentioned, picked=None, judged=None, probability=probability)
        for key, mentioned, probability in votes
    )
    return Choice(votes=tuple(made), usage=Usage())


@pytest.mark.parametrize(
    ("votes", "topic", "expected"),
    [
        ([("amount", 1.0, 0.9), ("all", 0.0, 0.1)], 0.8, (("amount",), 0.72)),
        ([("amount", 1.0, 0.5), ("state", 1.0, 0.4), ("all", 0.0, 0.1)], 0.8, (("amount", "state"), 0.72)),
        ([("amount", 1.0, 0.6), ("all", 0.0, 0.4)], 0.95, (("all",), 0.95)),  # 0.57 is not sure enough
        ([("all", 0.0, 0.6), ("amount", 1.0, 0.4)], 0.95, (("all",), 0.95)),
        ([("all", 0.0, 1.0)], 0.95, (("all",), 0.95)),
        ([("all", 0.0, 1.0)], 0.89, ((), 0.0)),  # perhaps it is not about the record at all
    ],
)
def test_where_no_column_is_sure_enough_everything_is_sent_if_it_surely_is_about_the_record(
    votes: list[tuple[str, float, float]], topic: float, expected: tuple[tuple[str, ...], float]
) -> None:
    """What is asked for is then among it, whichever column it is."""
    columns, sure = columns_of(chosen(*votes), topic, 0.6)
    assert columns == expected[0]
    assert sure == pytest.approx(expected[1])


def test_where_the_model_picks_another_column_than_the_words_name_everything_is_sent() -> None:
    """ "Each month ... my bank statement" begins with the word of a state, and asks for a sum."""
    state = Vote(key="state", mentioned=1.0, picked=-2.0, probability=0.9)
    monthly = Vote(key="monthly", picked=-0.5, probability=0.1)
    votes = Choice(votes=(state, monthly), usage=Usage())
    assert columns_of(votes, 0.98, 0.6) == (("all",), 0.98)
    agreed = Choice(votes=(state.model_copy(update={"picked": -0.1}), monthly), usage=Usage())
    assert columns_of(agreed, 0.98, 0.6)[0] == ("state",)


def test_several_columns_that_are_named_are_several_items_of_one_answer() -> None:
    made = plan(YES, asked("Amount and state of HF-2025-0030?"))
    assert len(made.answers) == 1
    assert {item.columns[0].column for item in items(made)} == {"amount", "state"}


def test_two_own_records_that_are_named_are_both_sent() -> None:
    made = plan(YES, asked("The amount of HF-2025-0030 and HF-2026-0007?"))
    assert items(made) == [record_item(FIRST, "amount"), record_item(SECOND, "amount")]


def test_more_records_than_the_limit_go_to_a_person() -> None:
    question = "The amount of HF-2025-0030, HF-2026-0007, HF-2024-0555 and HF-2024-0777?"
    own = FIRST, SECOND, THIRD, FOURTH
    assert plan(YES, asked(question, *own)).outcome == "escalate"
    assert len(items(plan(YES, asked(question, *own), max_records=4))) == 4


def test_an_own_record_beside_an_unknown_one_goes_to_a_person() -> None:
    """Half an answer is none: nothing is dropped silently."""
    made = plan(YES, asked("The amount of HF-2025-0030 and HF-2023-9999?"))
    assert (made.outcome, made.reason) == ("escalate", "unknown_record")


@pytest.mark.parametrize("topic", ["field:plan", "series:payments", "document:7", "record:invoices"])
@pytest.mark.parametrize("number", ["HF-2023-9999", "no. 4711", "30"])
def test_what_is_not_an_own_record_goes_to_a_person_before_the_model_is_asked(topic: str, number: str) -> None:
    """The latest invoice is true and beside the question."""
    model = Prefers("plan", "ayments", "Document", "nvoice")
    made = plan(model, asked(f"What was the amount of invoice {number}?", search=near(topic, score=0.95)))
    assert (made.outcome, made.reason) == ("escalate", "unknown_record")
    assert model.calls == 0


@pytest.mark.parametrize(
    ("topic", "word"), [("field:plan", "plan"), ("series:payments", "ayments"), ("document:7", "7")]
)
def test_a_question_that_names_an_own_record_is_never_answered_with_anything_else(topic: str, word: str) -> None:
    model = Prefers(word, "total")
    made = plan(model, asked("What was the total of HF-2025-0030?", search=near(topic, score=0.95)))
    assert (made.outcome, made.reason) == ("escalate", "not_covered")
    assert items(made) == []


def test_a_record_that_is_named_is_on_the_list_however_far_away_it_seems() -> None:
    far = FakeSearch(
        [Match(topic=topic, score=0.7) for topic in EVERYTHING[:3]] + [Match(topic="document:1", score=0.1)]
    )
    given = asked("The amount of HF-2025-0030?", search=far)
    made = plan(Prefers(NONE_TITLE, yes=False), given)
    considered = next(call.considered for call in made.calls if call.tool == "escalate")
    assert {vote.key for vote in considered} == {*EVERYTHING, "document:1", "none"}
    assert [vote.mentioned for vote in considered if vote.key == "record:invoices"] == [1.0]


def test_what_is_one_character_off_is_asked_back_by_the_canned_question_of_its_kind() -> None:
    made = plan(YES, asked("The amount of HF-2025-0031?"))
    assert items(made) == [ClarificationItem(number=4, text="Which invoice?")]


@pytest.mark.parametrize("canned", [{}, {4: WHICH.model_copy(update={"about_records": "orders"})}])
def test_without_a_canned_question_what_is_one_character_off_goes_to_a_person(canned: dict[int, Any]) -> None:
    made = plan(YES, asked("The amount of HF-2025-0031?", clarifications=canned))
    assert (made.outcome, made.reason) == ("escalate", "not_covered")


def test_what_is_one_character_off_beside_an_exact_one_goes_to_a_person() -> None:
    made = plan(YES, asked("The amount of HF-2025-0030 and HF-2026-0008?"))
    assert (made.outcome, made.reason) == ("escalate", "not_covered")


def test_without_an_identifier_the_only_record_is_sent() -> None:
    made = plan(YES, asked("The amount of my invoice?", FIRST))
    assert items(made) == [record_item(FIRST, "amount")]


def test_without_an_identifier_one_of_several_records_is_asked_for() -> None:
    assert items(plan(YES, asked("The amount of my invoice?"))) == [ClarificationItem(number=4, text="Which invoice?")]
    assert plan(YES, asked("The amount of my invoice?", clarifications={})).reason == "not_covered"


def test_the_only_record_does_not_answer_for_another_time() -> None:
    made = plan(YES, asked("The amount of my invoice in 2023?", FIRST))
    assert (made.outcome, made.reason) == ("escalate", "not_covered")


def test_a_customer_without_records_has_no_data_and_names_none_of_them() -> None:
    nobody = FakeAccounts(own=())
    given = one("The amount of my invoice?", near("record:invoices", score=0.9), accounts=nobody)
    assert plan(YES, given).reason == "no_data"
    given = one("The amount of HF-2025-0030?", near("field:plan", score=0.9), accounts=nobody)
    assert plan(Prefers("plan"), given).reason == "unknown_record"


def test_below_level_3_no_records_are_read_and_a_person_gets_the_question() -> None:
    given = asked("The amount of my invoice?", level=2, customer=None)
    assert plan(YES, given).reason == "level"
    assert isinstance(given.accounts, FakeAccounts)
    assert given.accounts.reads == []
    assert plan(YES, asked("The amount of HF-2025-0030?", level=2, customer=None)).reason == "unknown_record"


def test_the_subject_may_name_what_the_question_is_about() -> None:
    given = asked("What was the amount?", search=near("field:plan", score=0.9))
    given.mail = "Invoice HF-2025-0030\nWhat was the amount?"
    assert plan(Prefers("plan"), given).reason == "not_covered"
    given = asked("What was the amount?")
    given.mail = "Invoice HF-2025-0030\nWhat was the amount?"
    assert items(plan(YES, given)) == [record_item(FIRST, "amount")]
    given.mail = "Invoice HF-2023-9999\nWhat was the amount?"
    assert plan(YES, given).reason == "unknown_record"


def test_a_unknown_subject_names_no_record() -> None:
    """Nobody but a customer has any, and subjects have numbers of tickets."""
    given = asked("Refund?", search=near("document:7"), level=2, customer=None)
    given.mail = "Re: [HF-40881] Restore\nRefund?"
    assert plan(Prefers("Document 7"), given).outcome == "answer"


def test_what_another_question_names_does_not_keep_this_one_from_its_answer() -> None:
    class ByQuestion(FakeSearch):
        def nearest(self, text: str) -> tuple[Match, ...]:
            return (Match(topic="field:plan" if "plan" in text else "record:invoices", score=0.9),)

    questions = "Which plan am I on?", "The amount of HF-2025-0030?"
    given = context(questions=questions, mail="\n".join(questions), accounts=FakeAccounts(own=(FIRST, SECOND)))
    given.search = ByQuestion()
    made = plan(Prefers("plan", "nvoice", "Amount"), given)
    assert [type(item) for item in items(made)] == [FieldItem, RecordItem]


def test_a_question_that_names_none_is_about_the_one_that_another_question_names() -> None:
    questions = "The amount of HF-2025-0030?", "And the state of that invoice?"
    given = context(questions=questions, mail="\n".join(questions), accounts=FakeAccounts(own=(FIRST, SECOND)))
    given.search, given.clarifications = near("record:invoices", score=0.9), {4: WHICH}
    made = plan(Prefers("nvoice", "Amount", "State"), given)
    assert {item.identifier for item in items(made)} == {"HF-2025-0030"}
    questions = "The amount of HF-2025-0030 and HF-2026-0007?", "And the state of that invoice?"
    given = context(questions=questions, mail="\n".join(questions), accounts=FakeAccounts(own=(FIRST, SECOND)))
    given.search = near("record:invoices", score=0.9)
    assert plan(Prefers("nvoice", "Amount", "State"), given).is_partial


def test_records_that_cannot_be_read_stop_only_what_may_be_about_them() -> None:
    class Down(FakeAccounts):
        def own_records(self, kind: str, customer: Any, locale: str) -> Any:
            raise TransientError("the database is down", code="database")

    for question in ("The amount of HF-2025-0030?", "The amount of my invoice?"):
        given = one(question, near("record:invoices", score=0.9), accounts=Down())
        assert plan(YES, given).reason == "tool_failed"
    given = one("Which plan am I on?", near("field:plan", score=0.9), accounts=Down())
    assert plan(Prefers("plan"), given).outcome == "answer"


def test_the_records_are_read_once_a_mail() -> None:
    given = asked("The amount of HF-2025-0030?")
    plan(YES, given)
    assert isinstance(given.accounts, FakeAccounts)
    assert [name for name, _, _ in given.accounts.reads] == ["invoices"]


def test_somebody_elses_record_is_not_asked_for_by_address() -> None:
    made = plan(YES, asked("The amount of HF-2025-0030 of james@example.org?"))
    assert (made.outcome, made.reason) == ("escalate", "beside")


def test_a_choice_below_the_threshold_does_not_happen() -> None:
    made = plan(YES, asked("The amount of HF-2025-0030?"), threshold_answer=1.0)
    assert (made.outcome, made.reason) == ("escalate", "unsure")


def test_a_column_is_named_by_words_that_no_other_column_and_not_the_record_has() -> None:
    columns = dict(FakeAccounts().records["invoices"].columns)
    columns["due_on"] = columns["issued_on"].model_copy(update={"label": {"en": "Due date of the invoice"}})
    assert words_of(columns, {"invoice"}) == {
        "amount": {"amount", "betrag"},
        "issued_on": {"issue"},
        "state": {"state", "paid", "bezahlt"},
        "due_on": {"due"},
    }


def test_where_the_model_composes_the_calls_records_have_the_same_rules() -> None:
    """Which record it is follows from what the question names; the model composes no call with an identifier."""
    made = plan(YES, asked("What was the amount of HF-2025-0030?"), mode="tools")
    assert items(made) == [record_item(FIRST, "amount")]
    made = plan(YES, asked("What was the amount of HF-2025-0031?"), mode="tools")
    assert items(made) == [ClarificationItem(number=4, text="Which invoice?")]
    model = Prefers("plan", "nvoice")
    assert plan(model, asked("The amount of HF-2023-9999?"), mode="tools").reason == "unknown_record"
    assert model.calls == 0
    given = asked("The plan of HF-2025-0030?", search=near("field:plan", score=0.95))
    assert plan(Prefers("plan"), given, mode="tools").reason == "not_covered"


def test_no_call_for_a_record_is_among_those_that_a_model_may_compose() -> None:
    given = asked("HF-2025-0030?")
    given.records = {"invoices": (FIRST,)}
    topics = frozenset({"record:invoices", "field:plan"})
    scope = Scope(context=given, topics=topics, named=frozenset(), periods=(), names_periods=False)
    assert {call.tool for call in scope.calls()}.isdisjoint({"fetch_record", "send_record"})
