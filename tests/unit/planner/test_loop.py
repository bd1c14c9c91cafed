"""The planner's loop: one call a question, sure enough or not at all, and whatever goes wrong ends with a person."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from support_agent.answer.final_answer import AggregateItem, ClarificationItem, DocumentItem, FieldItem, TableItem
from support_agent.company.documents import Document
from support_agent.company.questions import CannedQuestion
from support_agent.config.settings import PlannerSettings
from support_agent.errors import PermanentError, ToolCallRejected, TransientError
from support_agent.models.language_model import Prompt, Scores, Usage
from support_agent.planner.choice import NONE_TITLE
from support_agent.planner.combiner import Calibration
from support_agent.planner.forms import FORMS, LISTED, NO_FORM
from support_agent.planner.loop import Planner
from support_agent.planner.plan import Plan
from support_agent.planner.plan_run import TOPIC_KINDS
from support_agent.tools.base import Context, Examples, Match, ToolKind
from support_agent.tools.catalogue import TOOLS
from tests.fakes import PLAIN, ScriptedModel
from tests.unit.tools.fakes import FakeAccounts, FakeSearch, context, eur, row

PAYMENTS = {"payments": (row("2024-02-01", eur("10.00")), row("2024-03-01", eur("12.50")))}


class Prefers:
    """A model that always prefers the options whose titles hold one of its words; says no to all others."""

    name = "prefers"

    def __init__(self, *words: str, yes: bool = True) -> None:
        self.words = words
        self.yes = yes
        self.calls = 0

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        self.calls += 1
        if set(options) == {"yes", "no"}:
            asked = "".join(text for text, _ in prompt.parts)
            is_yes = self.yes and any(word in asked for word in self.words)
            return Scores(log_probabilities=(-0.05, -3.0) if is_yes else (-3.0, -0.05), usage=Usage(forward_passes=1))
        is_prior = not prompt.parts[0][0]
        wanted = [not is_prior and any(word in option for word in self.words) for option in options]
        scores = tuple(-0.05 if is_wanted else -3.0 for is_wanted in wanted)
        return Scores(log_probabilities=scores, usage=Usage(prompt_tokens=10, forward_passes=1))


class Fails:
    """A model that raises, every time."""

    name = "fails"

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.calls = 0

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        self.calls += 1
        raise self.error


def near(*topics: str, score: float = 0.8) -> FakeSearch:
    return FakeSearch([Match(topic=topic, score=score - 0.2 * place) for place, topic in enumerate(topics)])


def plan(model: Any, given: Context, **limits: Any) -> Plan:
    ticks = itertools.count()
    return Planner(
        model, PlannerSettings(**{"model_votes": "always", **limits}), lambda: float(next(ticks)) / 1000, combiner=PLAIN
    ).plan(given)


def one(question: str, search: FakeSearch, **changes: Any) -> Context:
    return context(questions=(question,), search=search, **changes)


def test_a_document_that_all_votes_choose_is_sent() -> None:
    made = plan(Prefers("Document 7"), one("Refund?", near("document:7", "document:1")))
    assert made.outcome == "answer"
    assert isinstance(made.answers[0].items[0], DocumentItem)
    assert [call.tool for call in made.calls] == ["find_documents", "send_document", "finish"]
    assert made.calls[1].args == {"number": 7}


def test_a_choice_below_its_threshold_does_not_happen_and_is_recorded() -> None:
    given = one("Refund?", near("document:7", "document:1"))
    made = plan(Prefers("Document 7"), given, threshold_answer=1.0)
    assert (made.outcome, made.reason) == ("escalate", "unsure")
    assert [call.status for call in made.calls if call.tool == "send_document"] == ["below_threshold"]
    assert made.answers == ()


def test_a_document_of_which_no_section_is_sure_goes_to_a_person_and_nothing_else_is_sent_in_its_place() -> None:
    """The next topic would answer it still less; what was found of each section is on record."""
    given = one("Refund?", near("document:1", "document:7"), least_section=1.0)
    made = plan(Prefers("Document 1"), given)
    assert (made.outcome, made.reason) == ("escalate", "unsure")
    assert [call.tool for call in made.calls] == ["find_documents", "send_document", "escalate", "finish"]
    assert made.calls[1].status == "rejected"
    assert "section" in made.calls[1].result
    assert given.unsure[1].probability < 1.0  # what a person is shown


def test_the_sections_that_are_sent_are_on_record_with_their_probabilities() -> None:
    made = plan(Prefers("Document 1"), one("Refund?", near("document:1", "document:7")))
    assert re.fullmatch(r"added document: section \d with 0\.\d{3}.*", made.calls[1].result)


def test_what_no_vote_is_for_goes_to_a_person_with_the_votes_on_record() -> None:
    made = plan(Prefers(NONE_TITLE, yes=False), one("A table for two?", near("document:7", score=0.2)))
    assert (made.outcome, made.reason) == ("escalate", "not_covered")
    escalation = next(call for call in made.calls if call.tool == "escalate")
    assert {vote.key for vote in escalation.considered} == {"none", "document:7"}


def test_two_questions_get_a_call_each_and_an_unanswered_one_is_counted() -> None:
    class ByQuestion(FakeSearch):
        def nearest(self, text: str) -> tuple[Match, ...]:
            return (Match(topic="field:plan", score=0.9 if "plan" in text else 0.1),)

    given = context(questions=("What is my plan?", "Do you like cats?"), search=ByQuestion())
    made = plan(Prefers("plan"), given)
    assert made.outcome == "answer"
    assert made.is_partial
    assert (made.asked, len(made.answers)) == (2, 1)
    assert isinstance(made.answers[0].items[0], FieldItem)


def test_the_same_answer_to_two_questions_is_given_once() -> None:
    given = context(questions=("My plan?", "Which plan have I?"), search=near("field:plan", score=0.9))
    made = plan(Prefers("plan"), given)
    assert (made.asked, made.answered, len(made.answers), made.is_partial) == (2, 2, 1, False)


class EachItsSection(FakeSearch):
    """Finds the last section for what asks for fees, the first one for all else."""

    def sections(self, text: str, document: Document) -> list[float]:
        sure = [0.0] * len(document.sections)
        sure[-1 if "fee" in text else 0] = 1.0
        return sure


def test_two_questions_that_one_document_answers_get_one_block() -> None:
    """With the sections of both, in the document's order."""
    given = context(
        questions=("What is the fee?", "How long?"), search=EachItsSection([Match(topic="document:1", score=0.9)])
    )
    made = plan(Prefers("Document 1"), given)
    (item,) = (item for answer in made.answers for item in answer.items)
    assert isinstance(item, DocumentItem)
    assert list(dict.fromkeys(excerpt.heading for excerpt in item.excerpts)) == ["Time", "Fees"]
    assert [call.tool for call in made.calls].count("send_document") == 2
    assert (made.asked, made.answered) == (2, 2)


def form_asked(search: FakeSearch, model: ScriptedModel) -> Plan:
    """The plan for a question about a series of one year."""
    accounts = FakeAccounts(rows={"payments": (row("2024-03-01", eur("12.00")),)})
    return plan(model, one("Payments 2024?", search, accounts=accounts), model_votes="never")


def test_a_form_that_the_vote_is_sure_of_is_chosen_without_the_model() -> None:
    search = near("series:payments", score=0.95)
    search.phrasings = {"": "average"}
    made = form_asked(search, ScriptedModel([]))
    assert [call.args["aggregation"] for call in made.calls if call.tool == "aggregate"] == ["average"]


def test_a_sure_form_that_needs_a_period_more_than_the_question_names_goes_to_a_person() -> None:
    class Compares(FakeSearch):
        def phrased(self, text: str, examples: Examples) -> Mapping[str, float]:
            return {name: float(name == "subtract") for name, _ in examples}

    made = form_asked(Compares([Match(topic="series:payments", score=0.95)]), ScriptedModel([]))
    assert (made.outcome, made.reason) == ("escalate", "not_covered")


def test_a_question_for_two_forms_is_not_answered_by_one_of_them() -> None:
    """The failure: the highest was sent as the whole answer to who asked for the lowest, too."""
    search = near("series:payments", score=0.95)
    search.phrasings = {"highest": "highest", "lowest": "lowest"}
    accounts = FakeAccounts(rows={"payments": (row("2024-03-01", eur("12.00")),)})
    question = "What was my highest payment of 2024? What was my lowest payment of 2024?"
    made = plan(ScriptedModel([]), one(question, search, accounts=accounts), model_votes="never")
    assert (made.outcome, made.reason) == ("escalate", "unsure")


def test_where_the_vote_is_not_sure_the_model_picks_among_the_likeliest_forms() -> None:
    """No more of them stand on its list than it can tell apart, in their usual order."""

    class Torn(FakeSearch):
        def phrased(self, text: str, examples: Examples) -> Mapping[str, float]:
            return {name: {"newest_first": 0.5, NO_FORM: 0.5}.get(name, 0.0) for name, _ in examples}

    model = ScriptedModel([{}, {}])
    form_asked(Torn([Match(topic="series:payments", score=0.95)]), model)
    first, last = FORMS[: LISTED - 1], next(form for form in FORMS if form.key == "newest_first")
    assert list(model.history[-1].options) == [form.title for form in (*first, last)]


def test_a_total_of_a_named_year_is_made_by_pointers_and_states_its_parameters() -> None:
    given = one(
        "How much did I pay in total in 2024?",
        near("series:payments", score=0.9),
        accounts=FakeAccounts(rows=PAYMENTS),
    )
    made = plan(Prefers("payments", "total"), given)
    assert [call.tool for call in made.calls] == [
        "find_documents", "fetch_series", "aggregate", "send_aggregate", "finish",
    ]  # fmt: skip
    assert made.calls[1].args == {"series": "payments", "period": "2024"}
    assert made.calls[3].args == {"pointer": "@2"}
    item = made.answers[0].items[0]
    assert isinstance(item, AggregateItem)
    assert item.operand.value == eur("22.50")
    assert (item.operand.period.name, item.operand.row_count) == ("2024", 2)


def test_a_list_is_a_table_of_the_rows_themselves() -> None:
    given = one(
        "Please list every payment of 2024", near("series:payments", score=0.9), accounts=FakeAccounts(rows=PAYMENTS)
    )
    made = plan(Prefers("payments", "list"), given)
    item = made.answers[0].items[0]
    assert isinstance(item, TableItem)
    assert len(item.rows) == 2


def test_a_period_that_the_closed_set_cannot_express_goes_to_a_person_and_is_not_rounded() -> None:
    given = one("How much did I pay in the last 90 days?", near("series:payments", score=0.9))
    made = plan(Prefers("payments", "total"), given)
    assert (made.outcome, made.reason) == ("escalate", "not_covered")
    assert not any(call.tool == "fetch_series" for call in made.calls)


def test_below_the_level_of_a_value_the_database_is_not_asked() -> None:
    accounts = FakeAccounts()
    given = one("What is my plan?", near("field:plan", score=0.9), level=2, customer=None, accounts=accounts)
    made = plan(Prefers("plan"), given)
    assert (made.outcome, made.reason) == ("escalate", "level")
    assert accounts.reads == []


def test_where_the_documents_that_a_canned_question_tells_apart_are_close_it_is_asked() -> None:
    canned = CannedQuestion(number=1, about="which", text={"en": "Which system?"}, between=(1, 7))
    search = FakeSearch([Match(topic="document:1", score=0.6), Match(topic="document:7", score=0.6)])
    made = plan(Prefers("nothing", yes=False), one("How?", search, clarifications={1: canned}), threshold_answer=0.02)
    asked = [call for call in made.calls if call.tool == "ask_clarification"]
    assert made.outcome == "answer"
    assert len(asked) == 1
    assert isinstance(made.answers[0].items[0], ClarificationItem)


def test_a_model_that_does_not_answer_now_is_left_to_the_next_try_of_the_step() -> None:
    model = Fails(TransientError("slow", code="model"))
    with pytest.raises(TransientError, match="slow"):
        plan(model, context(search=near("document:7")))
    assert model.calls == 1


def test_a_model_that_fails_hands_the_whole_mail_over() -> None:
    model = Fails(PermanentError("refused", code="refusal"))
    made = plan(model, context(search=near("document:7")))
    assert (made.outcome, made.reason) == ("escalate", "model_failed")
    assert made.asked == 2
    assert model.calls == 1


def test_unusable_replies_are_repaired_a_bounded_number_of_times() -> None:
    model = Fails(ToolCallRejected("no such option", code="option"))
    made = plan(model, one("Refund?", near("document:7")), max_repairs=2)
    assert (made.outcome, made.reason) == ("escalate", "model_failed")
    assert model.calls == 3


@pytest.mark.parametrize("limit", [{"max_calls": 1}, {"max_tokens": 256}, {"max_s": 0.0005}])
def test_reaching_a_limit_escalates(limit: dict[str, float]) -> None:
    class Costly(Prefers):
        def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
            return super().score(prompt, options).model_copy(update={"usage": Usage(prompt_tokens=300)})

    made = plan(Costly("Document"), context(search=near("document:7", "document:1")), **limit)
    assert (made.outcome, made.reason) == ("escalate", "limit")


def test_a_failing_database_is_recorded_and_goes_to_a_person() -> None:
    class Down(FakeAccounts):
        def field(self, name: str, customer: Any, locale: str) -> Any:
            raise TransientError("the database is down", code="database")

    made = plan(Prefers("plan"), one("What is my plan?", near("field:plan", score=0.9), accounts=Down()))
    assert (made.outcome, made.reason) == ("escalate", "tool_failed")
    assert [call.status for call in made.calls if call.tool == "send_account_field"] == ["failed"]


def test_the_seconds_of_the_calls_are_those_of_the_plan_but_its_end() -> None:
    """Each call is charged with what was spent since the one before: the choice and the tool."""
    made = plan(Prefers("Refund"), context(search=near("document:1")))
    assert all(call.seconds > 0 for call in made.calls)
    assert sum(call.seconds for call in made.calls) == pytest.approx(made.seconds, abs=0.002)


def test_a_period_in_an_unread_language_goes_to_a_person() -> None:
    """ "Mwaka jana" (last year) would look like no period at all, and all payments would be added up."""
    question = "Nimelipa kiasi gani kwa jumla mwaka jana?"
    given = one(question, near("series:payments", score=0.9), accounts=FakeAccounts(rows=PAYMENTS))
    made = plan(Prefers("payments"), given)
    assert (made.outcome, made.reason) == ("escalate", "not_covered")


def test_a_period_in_another_language_is_the_one_that_is_fetched() -> None:
    """ "L'année dernière" is last year, not all that was ever paid."""
    question = "Combien ai-je payé l'année dernière ?"
    given = one(question, near("series:payments", score=0.9), accounts=FakeAccounts(rows=PAYMENTS))
    made = plan(Prefers("payments"), given)
    assert [call.args["period"] for call in made.calls if call.tool == "fetch_series"] == ["last_year"]


def test_more_questions_than_the_limit_go_to_a_person_and_are_counted() -> None:
    """The answer says how many there were."""
    given = context(questions=("Refund?", "Again?", "And again?"), search=near("document:7", "document:1"))
    made = plan(Prefers("Document 7"), given, max_questions=1)
    assert (made.outcome, made.reason, made.asked) == ("answer", "limit", 3)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("Which plan was I on in 2023?", "not_covered"),
        ("Which plan is james@example.org on?", "beside"),
        ("Which plan did I have last month?", "not_covered"),
    ],
)
def test_a_value_of_another_time_or_person_is_not_answered_with_the_one_of_now(question: str, reason: str) -> None:
    """A field holds what is true today, of the sender."""
    made = plan(Prefers("plan"), one(question, near("field:plan", score=0.9)))
    assert (made.outcome, made.reason) == ("escalate", reason)


@pytest.mark.parametrize(
    "question",
    [
        "Which plan am I on today?",
        "Which plan do I have this year?",
        "Which plan am I on? I decide before the end of March.",
    ],
)
def test_a_value_of_now_is_answered(question: str) -> None:
    made = plan(Prefers("plan"), one(question, near("field:plan", score=0.9)))
    assert made.outcome == "answer"


def test_a_question_for_a_number_of_many_values_is_not_answered_with_a_single_one() -> None:
    search = near("field:plan", score=0.9)
    search.phrasings = {"have I": "highest", "": NO_FORM}
    made = plan(Prefers("plan"), one("Which plan have I?", search))
    assert (made.outcome, made.reason) == ("escalate", "beside")


TWO = "I need the card you take and our seats"
"""One sentence that asks for two things."""


class ByWords(FakeSearch):
    """A search in which a text is near to the topics whose words stand in it; `scores` are those of a word alone."""

    def __init__(self, **scores: float) -> None:
        super().__init__()
        self.scores = scores

    def nearest(self, text: str) -> tuple[Match, ...]:
        self.asked.append(text)
        topics = {"card": "document:7", "seats": "field:seats_paid"}
        said = [word for word in topics if word in text]
        scores = {word: self.scores.get(word, 0.9) if len(said) == 1 else 0.9 for word in said}
        near = [(scores.get(word, 0.05), topic) for word, topic in topics.items()]
        return tuple(Match(topic=topic, score=score) for score, topic in sorted(near, reverse=True))


def test_two_things_that_one_sentence_asks_for_are_both_sent() -> None:
    made = plan(Prefers(), one(TWO, ByWords()), model_votes="never")
    assert made.questions == ("I need the card you take", "our seats")
    assert [item.kind for answer in made.answers for item in answer.items] == ["document", "account_field"]
    assert (made.outcome, made.asked, made.is_partial) == ("answer", 2, False)


def test_what_is_doubtful_of_two_things_goes_to_a_person_and_the_answer_is_partial() -> None:
    """Above the threshold of an answer, but not so sure that a second thing may be added."""
    made = plan(Prefers(), one(TWO, ByWords(seats=0.44)), model_votes="never")
    (answer,) = made.answers
    assert isinstance(answer.items[0], DocumentItem)
    assert (made.asked, made.reason, made.is_partial) == (2, "unsure", True)
    escalated = next(call for call in made.calls if call.tool == "escalate")
    assert 0.6 <= escalated.considered[0].probability < 0.8


def test_a_doubtful_thing_is_sent_where_the_model_makes_it_sure() -> None:
    made = plan(Prefers("Document 7", "seats"), one(TWO, ByWords(seats=0.44)))
    assert (len(made.answers), made.reason) == (2, None)


def test_more_questions_than_allowed_are_not_made_by_taking_one_apart() -> None:
    made = plan(Prefers(), one(TWO, ByWords()), model_votes="never", max_questions=1)
    assert made.questions == (TWO,)


def test_a_search_that_fails_leaves_the_question_whole_and_hands_it_over() -> None:
    class Down(FakeSearch):
        def nearest(self, text: str) -> tuple[Match, ...]:
            raise TransientError("the vector store does not answer", code="search")

    made = plan(Prefers(), one(TWO, Down()))
    assert (made.questions, made.outcome, made.reason) == ((TWO,), "escalate", "tool_failed")


def test_a_calibrated_threshold_holds_for_its_kind_alone_and_is_recorded() -> None:
    """Replay and whoever reads the plan see by which threshold, and which calibration, a call was judged."""
    calibration = Calibration(thresholds={"document": 0.99999, "field": 0.5}, version="calibration-1a2b")

    def made(topic: str, title: str) -> Plan:
        planner = Planner(Prefers(title), PlannerSettings(), lambda: 0.0, combiner=PLAIN, calibration=calibration)
        return planner.plan(one("Refund?", near(topic, score=0.9)))

    document, field = made("document:7", "Document 7"), made("field:plan", "plan")
    assert (document.outcome, document.reason, field.outcome) == ("escalate", "unsure", "answer")
    sent = {call.tool: call.threshold for of in (document, field) for call in of.calls}
    assert (sent["send_document"], sent["send_account_field"]) == (0.99999, 0.5)
    assert document.combiner.split()[-1] == "calibration-1a2b"


def test_a_series_and_a_record_have_calibrated_thresholds_as_well() -> None:
    assert set(TOPIC_KINDS.values()) == {"document", "field", "series", "record"}
    for tool in TOPIC_KINDS:
        assert TOOLS[tool].kind is ToolKind.ANSWER
    for name, listed in TOOLS.items():
        assert listed.kind is not ToolKind.ANSWER or name in TOPIC_KINDS or name == "ask_clarification"
