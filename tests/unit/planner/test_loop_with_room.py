"""The planner's loop with a fact room: the choice stays the model's, and a document is sent on evidence only."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import pytest

from support_agent.answer.final_answer import DocumentItem, FieldItem
from support_agent.config.settings import PlannerSettings
from support_agent.planner.loop import Planner
from support_agent.planner.plan import Plan
from support_agent.tools.answers import SendDocument
from support_agent.tools.base import Context, Match
from support_agent.tools.fact_room import FactRoom, RetrievalResult
from tests.fakes import PLAIN
from tests.fakes_room import ScriptedRoom, found, says
from tests.unit.planner.test_loop import Prefers, near, one, plan
from tests.unit.tools.fakes import FakeSearch, context, document
from tests.unit.tools.test_answers import refusal_of

REFUND, SEATS = "Refund?", "How many seats do I have?"


def room(finding: RetrievalResult | Exception, question: str = REFUND) -> ScriptedRoom:
    return ScriptedRoom({question: finding})


def asked(looks: FactRoom, *topics: str, level: int = 3, choice: str = "Document 1") -> tuple[Plan, Context]:
    given = one(REFUND, near(*topics), room=looks, always_retrieves=True, level=level)
    return plan(Prefers(choice), given), given


def tools(made: Plan) -> list[str]:
    return [call.tool for call in made.calls]


def test_a_document_with_evidence_is_sent() -> None:
    made, _ = asked(room(found(says(1, 3))), "document:1", "document:7")
    item = made.answers[0].items[0]
    assert isinstance(item, DocumentItem)
    assert item.number == 1
    assert tools(made) == ["find_documents", "send_document", "finish"]


@pytest.mark.parametrize(
    "finding",
    [
        *(found(says(1, 0), reason=reason) for reason in ("irrelevant", "hallucination", "only_web", "policy")),
        found(says(1, 0), reason="budget"),
        found(says(1, 0), reason="failed"),
        found(says(7, 0)),
        found(),
        ValueError("the index is gone"),
    ],
    ids=lambda finding: getattr(finding, "reason", "raises"),
)
def test_a_document_without_evidence_goes_to_a_person(finding: RetrievalResult | Exception) -> None:
    """However sure the model is of it, and whatever the room did."""
    made, _ = asked(room(finding), "document:1", "document:7")
    assert (made.outcome, made.reason, made.answers) == ("escalate", "no_evidence", ())
    assert [call.status for call in made.calls if call.tool == "send_document"] == ["rejected"]


def test_a_document_is_looked_into_though_something_else_answers_already() -> None:
    """Failure: what the case knew answered its next question as well, and the right document went to a person."""

    class Knows(ScriptedRoom):
        def retrieve(self, question: str, documents: AbstractSet[int], likely: int | None = None) -> RetrievalResult:
            self.findings = {REFUND: found(says(1, 3)) if documents == {1} else found(says(7, 0))}
            return super().retrieve(question, documents, likely)

    made, given = asked(Knows({}), "document:1", "document:7")
    assert made.outcome == "answer"
    assert tools(made) == ["find_documents", "find_evidence", "send_document", "finish"]
    assert given.findings[1].sentences_of(1) == (3,)


@pytest.mark.parametrize(
    ("least", "chances", "is_looked_into"),
    [(0.6, [0.9, 0.1, 0.0], False), (0.9, [0.9, 0.1, 0.0], True), (0.6, [0.3, 0.3, 0.15], True)],
    ids=["clear", "not far above the threshold", "not sure of a section"],
)
def test_the_room_looks_where_the_choice_is_not_clear(least: float, chances: list[float], is_looked_into: bool) -> None:
    """What the votes settle costs no look; the doubtful question does, and needs its evidence."""
    looks = room(found(reason="irrelevant"))
    search = FakeSearch(near("document:1", "document:7").nearest(REFUND), chances=chances)
    made = plan(Prefers("Document 1"), one(REFUND, search, room=looks), threshold_answer=least)
    assert (made.reason, len(looks.asked)) == (("no_evidence", 1) if is_looked_into else (None, 0))


def test_a_document_that_was_clearly_chosen_is_no_evidence_for_another() -> None:
    """The model was for document 7, in which nobody looked yet."""
    looks = room(found(says(1, 0)))
    given = one(REFUND, near("document:1"), room=looks)
    given.settled[1] = "document:7"
    assert refusal_of(SendDocument(number=1), given).code == "no_evidence"


def test_the_room_never_chooses() -> None:
    """It is sure of document 1; the model chose 7, or nothing, and nothing of 1 is sent."""
    assert asked(room(found(says(1, 0))), "document:1", "document:7", choice="Document 7")[0].reason == "no_evidence"
    none = plan(Prefers("None", yes=False), one(REFUND, near("document:1", score=0.2), room=room(found(says(1, 0)))))
    assert (none.outcome, none.reason) == ("escalate", "not_covered")


@pytest.mark.parametrize(("searches_web", "looked"), [(False, 0), (True, 1)])
def test_a_question_that_no_topic_answers_is_looked_into_only_on_the_web(searches_web: bool, looked: int) -> None:
    """A person gets it, who knows the company's documents."""
    looks = room(found(reason="only_web"))
    given = one(REFUND, near("document:1", score=0.2), room=looks, searches_web=searches_web)
    made = plan(Prefers("None", yes=False), given)
    assert (made.reason, len(looks.asked)) == ("not_covered", looked)


def test_an_account_value_needs_no_look() -> None:
    """It is no document, and looking takes the model seconds."""
    looks = room(found(reason="irrelevant"), SEATS)
    given = one(SEATS, near("field:seats_paid", "document:1"), room=looks)
    made = plan(Prefers("seats"), given)
    assert isinstance(made.answers[0].items[0], FieldItem)
    assert looks.asked == []


def test_a_document_that_is_chosen_before_a_nearer_value_is_looked_into_then() -> None:
    looks = room(found(says(1, 0)))
    made, _ = asked(looks, "field:plan", "document:1")
    assert made.outcome == "answer"
    assert tools(made) == ["find_documents", "find_evidence", "send_document", "finish"]
    assert len(looks.asked) == 1


def test_a_choice_that_is_not_sure_enough_is_not_retrieved() -> None:
    """A person gets the question in any case."""
    looks = room(found(says(1, 0)))
    made = plan(Prefers("Document 1"), one(REFUND, near("field:plan", "document:1"), room=looks), threshold_answer=1.0)
    assert (made.reason, looks.asked) == ("unsure", [])


def test_a_document_for_customers_is_not_looked_into_for_others() -> None:
    """The level is the reason why a person gets it, and the room never hears of the document."""
    looks = room(found(says(1, 0)))
    documents = {1: document(1, audience="customers")}
    given = one(REFUND, near("field:plan", "document:1"), room=looks, level=2, customer=None, documents=documents)
    assert plan(Prefers("Document 1"), given).reason == "level"
    assert looks.asked == []


def test_one_question_without_evidence_leaves_the_others_their_answer() -> None:
    class ByQuestion(FakeSearch):
        def nearest(self, text: str) -> tuple[Match, ...]:
            return near("document:1" if "Refund" in text else "field:seats_paid").nearest(text)

    given = context(
        questions=(REFUND, SEATS), search=ByQuestion(), room=room(found(reason="irrelevant")), always_retrieves=True
    )
    made = plan(Prefers("Document 1", "seats"), given)
    assert (made.outcome, made.reason, made.asked, len(made.answers)) == ("answer", "no_evidence", 2, 1)


def test_seconds_of_looking_count_and_its_tokens_do_not() -> None:
    """The room has a budget of its own for tokens; the sender waits for both."""
    looks = room(found(says(1, 0), tokens=10**6, forward_passes=10**4))
    assert asked(looks, "document:1")[0].outcome == "answer"
    clock = [0.0]

    class Slow(ScriptedRoom):
        def retrieve(self, question: str, documents: AbstractSet[int], likely: int | None = None) -> RetrievalResult:
            clock[0] += 200.0
            return super().retrieve(question, documents)

    slow = one(REFUND, near("document:1"), room=Slow({REFUND: found(says(1, 0))}), always_retrieves=True)
    made = Planner(
        Prefers("Document 1"), PlannerSettings(max_s=120, model_votes="always"), lambda: clock[0], combiner=PLAIN
    ).plan(slow)
    assert (made.reason, made.answers) == ("limit", ())
