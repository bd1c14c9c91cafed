"""What the fact room hands to the tools has positions and grades, and no text but that of pages, for the desk."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from support_agent.answer.packet import FoundPage
from support_agent.tools.fact_room import MOST_PAGES, FindingReason, RetrievalResult
from support_agent.tools.fact_trace import Evidence, WorkflowNode, sentence_at
from tests.fakes_room import VISITS, says


def finding(*evidence: Evidence) -> RetrievalResult:
    return RetrievalResult(reason=FindingReason.ANSWERED, evidence=evidence, index_version="1")


def test_positions_of_a_document_are_joined_in_order() -> None:
    """Rule: two passages of one document are one excerpt, each sentence once, in the document's order."""
    found = finding(
        says(6, 4, 5, grade=0.9),
        says(2, 0, grade=0.8),
        says(6, 1, 4),
    )
    assert found.sentences_of(6) == (1, 2, 3, 4, 5)
    assert found.sentences_of(2) == (0,)
    assert found.sentences_of(3) == ()


def test_pages_of_two_looks_are_joined_each_once_and_few() -> None:
    """Rule: a person is shown five of a question; where documents answer in the end, no more."""
    pages = [
        FoundPage(address=f"https://{n}.example", heading="", text="x", found_by=()) for n in range(MOST_PAGES + 3)
    ]
    first, second = (finding().model_copy(update={"pages": tuple(some)}) for some in (pages[2:], pages[:3]))
    unanswered = second.model_copy(update={"reason": FindingReason.ONLY_WEB})
    assert unanswered.after(first).pages == tuple(pages[:MOST_PAGES])
    assert second.after(first).pages == second.pages


@pytest.mark.parametrize("wrong", [{"first": 2}, {"first": -1, "last": -1}, {"source": ""}, {"grade": 1.5}])
def test_evidence_is_whole_sentences_and_a_probability(wrong: dict[str, object]) -> None:
    """Rule: what is no position and no probability is refused where it comes in."""
    with pytest.raises(ValidationError):
        Evidence.model_validate({"source": "document:6", "first": 1, "last": 1, "grade": 0.5, **wrong})


def test_sentences_that_bear_the_draft_out_are_the_evidence_of_their_document() -> None:
    """Rule: of a document without any its passages are; nothing is said twice of one document."""
    found = RetrievalResult(
        reason=FindingReason.ANSWERED,
        evidence=(says(1, 0, 3, grade=0.9), says(2, 4, 5, grade=0.8), says(1, 6, 7, grade=0.7)),
        sentences=(sentence_at("document:1", 2), sentence_at("document:1", 6)),
        index_version="1",
    )
    assert found.cited == ((1, (2, 6), 0.9), (2, (4, 5), 0.8))


@pytest.mark.parametrize("source", ["https://a.example", "document:", "document:x", "document:\u0661", "document:01"])
def test_only_a_number_is_a_documents(source: str) -> None:
    assert sentence_at(source, 0).document is None
    assert sentence_at("document:17", 0).document == 17


def test_a_damaged_visit_costs_itself_alone() -> None:
    """The others stay, in their order, and its own place says what is wrong with it."""
    whole = VISITS[0].model_dump(mode="json")
    stored = [whole, {**whole, "cycle": "some"}, {**whole, "node": "of a later version"}, whole]
    trace = RetrievalResult.model_validate({"reason": "answered", "index_version": "1", "trace": stored}).trace
    assert (trace[0], trace[3]) == (VISITS[0], VISITS[0])
    said = [f"a stored step cannot be read: {key}" for key in ("cycle", "node")]
    assert [visit.decided for visit in trace[1:3]] == said
    assert {visit.node for visit in trace[1:3]} == {WorkflowNode.UNREADABLE}
    finding = RetrievalResult(reason=FindingReason.ANSWERED, index_version="1", trace=trace)
    assert RetrievalResult.model_validate_json(finding.model_dump_json()) == finding
