"""What the model is shown of passages."""

from __future__ import annotations

import pytest

from support_agent.facts.material import named
from support_agent.tools.fact_trace import SentenceRange
from tests.fakes_facts import Piece


def test_a_passage_is_shown_with_its_heading_and_without_a_number() -> None:
    """ "Within 30 days." says nothing without its heading; and a draft said "Passage 2 says", a number that is new."""
    first = Piece(source="document:1", first=0, last=2, heading="Yearly plans", text="Within 30 days.")
    second = Piece(source="document:2", first=3, last=3, text="At any time.")
    assert named(one.shown for one in (first, second)) == [
        ("Passage", "Yearly plans. Within 30 days."),
        ("Passage", "At any time."),
    ]
    assert first.place == SentenceRange(source="document:1", first=0, last=2)


@pytest.mark.parametrize(("source", "is_document"), [("document:6", True), ("https://example.org/document:6", False)])
def test_only_documents_are_the_companys_own(source: str, is_document: bool) -> None:
    assert SentenceRange(source=source, first=0, last=0).is_document is is_document
