"""What a piece of a mail does: a vote with weights that ship, and question marks of any script."""

from __future__ import annotations

import numpy as np
import pytest

from support_agent.facts.reading import ACTS, acts_of, committed, inputs, is_marked
from support_agent.facts.search import READER
from support_agent.models.embedding.use import DIMENSIONS

ANY = np.full(DIMENSIONS, DIMENSIONS**-0.5, dtype=np.float32)


def test_the_acts_of_a_piece_are_probabilities() -> None:
    acts = acts_of("Where?", ANY, READER)
    assert sum(acts.model_dump().values()) == pytest.approx(1.0)


def test_a_question_mark_makes_asking_likelier() -> None:
    assert acts_of("Where?", ANY, READER).asks > acts_of("Where", ANY, READER).asks


def test_without_weights_for_an_embedder_nothing_is_known() -> None:
    """Question marks and layout decide then; the mail is never cut by a vote that was fitted to other vectors."""
    assert len({*acts_of("Hello,", ANY, "another").model_dump().values()}) == 1


def test_the_weights_have_a_row_an_act_and_a_column_an_input() -> None:
    assert committed()[READER].shape == (len(ACTS), inputs(["Hello,"], ANY[None]).shape[1])


@pytest.mark.parametrize("text", ["Why?", 'Why?"', "为什么\uff1f", "لماذا؟", "Γιατί;", "Why?!"])
def test_a_question_mark_of_any_script_counts(text: str) -> None:
    assert is_marked(text)


@pytest.mark.parametrize("text", ["", "No.", "first this;", "d'abord ceci\u00a0;", "Why? Never."])
def test_other_ends_are_no_question_marks(text: str) -> None:
    """A semicolon asks in Greek alone."""
    assert not is_marked(text)
