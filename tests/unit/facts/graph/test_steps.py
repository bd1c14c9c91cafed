"""A draft is taken apart into a few single claims, whatever the model writes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_agent.errors import TransientError
from support_agent.facts.graph.steps import MAX_CHARACTERS, MAX_STEPS, MIN_WORDS, DraftSteps, WrittenSteps
from support_agent.facts.spending import NoRoom
from tests.fakes_facts import ScriptedWriter

DRAFT = "Refunds take 14 days. Write to support@example.org, please. Thanks."


def test_a_draft_has_its_sentences_as_steps() -> None:
    """Rule: in their order, without those too short to claim anything."""
    assert DraftSteps().of("?", DRAFT) == ("Refunds take 14 days.", "Write to support@example.org, please.")


def test_a_list_is_taken_apart_by_its_lines() -> None:
    """Rule: numbers and bullets are not the claim's."""
    steps = DraftSteps().of("?", "1. Open the page\n- Click on reset\n* Choose a password")
    assert steps == ("Open the page", "Click on reset", "Choose a password")


def test_written_steps_are_read_line_by_line() -> None:
    """Rule: numbered or not, each once; the model sees question and draft."""
    writer = ScriptedWriter(["Step 1: Refunds take 14 days\n2) Support answers mail\n\nRefunds take 14 days\nOk"])
    assert WrittenSteps(writer, seed=1).of("How long?", DRAFT) == ("Refunds take 14 days", "Support answers mail")
    assert [order.material for order in writer.history] == [(("question", "How long?"), ("draft", DRAFT))]


def test_a_model_that_writes_no_step_leaves_the_draft_s_own() -> None:
    """Rule: nothing is lost by a model that writes nonsense, fails, or is too dear."""
    for said in ("Yes.\n" + "x" * 5000, TransientError("no answer"), NoRoom("spent")):
        assert WrittenSteps(ScriptedWriter([said]), seed=1).of("?", DRAFT) == DraftSteps().of("?", DRAFT)


@given(st.text(max_size=2000))
def test_steps_are_few_and_short_whatever_is_written(text: str) -> None:
    """Rule: at most six, each a line of at least three words."""
    for steps in (DraftSteps().of("?", text), WrittenSteps(ScriptedWriter([text]), seed=1).of("?", "")):
        assert len(steps) <= MAX_STEPS
        assert all(len(step) <= MAX_CHARACTERS and len(step.split()) >= MIN_WORDS for step in steps)
