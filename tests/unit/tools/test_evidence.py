"""Sending a document with the fact room on: only on evidence; which sections go out, similarity says."""

from __future__ import annotations

import pytest

from support_agent.answer.final_answer import DocumentItem
from support_agent.errors import ToolCallRejected
from support_agent.tools.answers import SendDocument
from support_agent.tools.base import Added, Context
from support_agent.tools.fact_room import RetrievalResult
from tests.fakes_room import ScriptedRoom, found, says
from tests.unit.tools.fakes import FakeSearch, context, document


def knowing(finding: RetrievalResult | None, **changes: object) -> Context:
    """A context whose room has looked into question 1, or has not."""
    findings = {} if finding is None else {1: finding}
    return context(room=ScriptedRoom({}), findings=findings, **changes)


def sent(given: Context, number: int = 1) -> list[int]:
    result = SendDocument(number=number).run(given)
    assert isinstance(result, Added)
    assert isinstance(result.item, DocumentItem)
    return [excerpt.index for excerpt in result.item.excerpts]


@pytest.mark.parametrize(
    "finding",
    [
        None,
        found(says(7, 0)),
        *(found(says(1, 0), reason=reason) for reason in ("irrelevant", "not_an_answer", "budget", "failed")),
        found(),
    ],
)
def test_a_document_without_evidence_is_not_sent(finding: RetrievalResult | None) -> None:
    """However sure the choice was: not looked into, not answered, or another document answers."""
    with pytest.raises(ToolCallRejected) as refused:
        SendDocument(number=1).run(knowing(finding))
    assert refused.value.code == "no_evidence"


def test_the_evidence_of_another_question_is_none_of_this() -> None:
    given = knowing(found(says(1, 0)))
    given.question = 2
    with pytest.raises(ToolCallRejected):
        SendDocument(number=1).run(given)


def test_the_room_decides_whether_a_document_answers_and_similarity_which_sections_are_sent() -> None:
    """The failure's story: the section of the first passage that was graded went out, and seven of 26 were others."""
    search = FakeSearch(scores={"app store": 0.9, "Ask there": 0.8})
    assert sent(knowing(found(says(1, 0)), search=search)) == sent(context(search=search)) == [2, 3, 4]


@pytest.mark.parametrize(("delivery", "indexes"), [("full", [0, 1]), ("link", [])])
def test_a_whole_document_or_its_link_needs_evidence_too(delivery: str, indexes: list[int]) -> None:
    documents = {1: document(1, "One. Two.", delivery=delivery)}
    assert sent(knowing(found(says(1, 0)), documents=documents)) == indexes
    with pytest.raises(ToolCallRejected):
        SendDocument(number=1).run(knowing(found(reason="irrelevant"), documents=documents))


def test_a_level_that_is_too_low_is_said_before_any_evidence() -> None:
    """A person must know that the sender is the reason, and not the document."""
    given = knowing(found(says(1, 0)), documents={1: document(1, audience="customers")}, level=2)
    with pytest.raises(ToolCallRejected) as refused:
        SendDocument(number=1).run(given)
    assert refused.value.code == "level"
