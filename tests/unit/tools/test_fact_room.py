"""What the fact room hands to the tools has positions and grades, and no text but that of pages, for the desk."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from support_agent.answer.packet import FoundPage
from support_agent.tools.fact_room import MOST_PAGES, Evidence, Finding, FindingReason


def finding(*evidence: Evidence) -> Finding:
    return Finding(reason=FindingReason.ANSWERED, evidence=evidence, index_version="1")


def test_positions_of_a_document_are_joined_in_order() -> None:
    """Rule: two passages of one document are one excerpt, each sentence once, in the document's order."""
    found = finding(
        Evidence(document=6, sentences=(4, 5), grade=0.9),
        Evidence(document=2, sentences=(0,), grade=0.8),
        Evidence(document=6, sentences=(1, 4)),
    )
    assert found.sentences_of(6) == (1, 4, 5)
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


@pytest.mark.parametrize("wrong", [{"sentences": ()}, {"sentences": (-1,)}, {"document": 0}, {"grade": 1.5}])
def test_evidence_is_whole_sentences_of_a_numbered_document(wrong: dict[str, object]) -> None:
    """Rule: what is no position and no probability is refused where it comes in."""
    with pytest.raises(ValidationError):
        Evidence.model_validate({"document": 6, "sentences": (1,), "grade": 0.5, **wrong})
