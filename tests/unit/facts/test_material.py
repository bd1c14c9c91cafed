"""What the model is shown of passages, and which numbers of a draft stand in them."""

from __future__ import annotations

import pytest

from support_agent.facts.material import has_new_number, numbered, pointer_of
from support_agent.facts.trace import Pointer
from tests.fakes_facts import Piece


def test_a_passage_is_shown_with_its_heading_under_its_number() -> None:
    """A sentence such as "Within 30 days." says nothing without its heading."""
    first = Piece(source="document:1", first=0, last=2, heading="Yearly plans", text="Within 30 days.")
    second = Piece(source="document:2", first=3, last=3, text="At any time.")
    assert numbered([first, second]) == [("Passage 1", "Yearly plans. Within 30 days."), ("Passage 2", "At any time.")]
    assert pointer_of(first) == Pointer(source="document:1", first=0, last=2)


@pytest.mark.parametrize(
    ("source", "is_document"), [("document:6", True), ("https://example.org/document:6", False), ("", False)]
)
def test_only_documents_are_the_companys_own(source: str, is_document: bool) -> None:
    assert Pointer(source=source, first=0, last=0).is_document is is_document


@pytest.mark.parametrize(
    ("draft", "is_new"),
    [
        ("Within 30 days.", False),
        ("Within thirty days.", False),
        ("It costs 9.50 a month.", False),
        ("It costs 9 a month.", True),
        ("Within 3 days.", True),
        ("You paid 2 weeks ago.", False),
    ],
)
def test_a_number_is_new_if_no_passage_and_no_question_has_it(draft: str, is_new: bool) -> None:
    """Whole numbers are compared: 3 is not in 30, and 9 not in 9.50."""
    assert has_new_number(draft, ["I paid 2 weeks ago.", "Within 30 days.", "9.50 a month"]) is is_new
