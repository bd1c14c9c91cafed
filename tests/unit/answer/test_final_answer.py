"""The registry of items: what is said once is not said again."""

from __future__ import annotations

from datetime import date

from support_agent.answer.final_answer import Answer, DocumentItem, FieldItem, with_answer
from support_agent.company.documents import Excerpt
from support_agent.company.values import Count


def piece(*positions: int, number: int = 1, version: str = "v1") -> DocumentItem:
    """Sentences of a document."""
    excerpts = (
        Excerpt(index=at, heading="", text=f"Sentence {at}.", paragraph=at, kind="sentence") for at in positions
    )
    return DocumentItem(
        number=number,
        title="Refunds",
        version=version,
        valid_from=date(2025, 1, 1),
        url="https://example.com/1",
        delivery="excerpt",
        excerpts=tuple(excerpts),
    )


SEATS = FieldItem(field="seats", label="Seats", value=Count(count=3))


def test_two_pieces_of_a_document_are_one_block_in_its_order_each_sentence_once() -> None:
    """Where the first one stands, with whatever else is in that block."""
    answers = with_answer((Answer(items=(SEATS, piece(3, 4))),), Answer(items=(piece(1, 3),)))
    assert answers == (Answer(items=(SEATS, piece(1, 3, 4))),)


def test_what_a_new_answer_adds_besides_keeps_a_block_of_its_own() -> None:
    """And what was said already is left out of it."""
    answers = with_answer((Answer(items=(piece(3), SEATS)),), Answer(items=(piece(1), SEATS, piece(1, number=2))))
    assert answers == (Answer(items=(piece(1, 3), SEATS)), Answer(items=(piece(1, number=2),)))


def test_pieces_of_different_versions_are_never_joined() -> None:
    """Each says which one it is of."""
    assert len(with_answer((Answer(items=(piece(3),)),), Answer(items=(piece(1, version="v2"),)))) == 2
