"""The embedded model as a writer, on the weights that the planner scores with: neither disturbs the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.errors import PermanentError
from support_agent.facts.grading_words import (
    ANSWER_ASK,
    DOCUMENT_ASK,
    DRAFT_ORDER,
    HALLUCINATION_ASK,
    NOTE,
    PASSAGE,
    QUESTION,
    REWRITE_ORDER,
    ROUTE_ASK,
    TRIED,
)
from support_agent.facts.spending import FRAME_TOKENS, NAME_TOKENS
from support_agent.models.judge import ModelJudge
from support_agent.models.language_model import Prompt
from support_agent.models.llama import LlamaModel
from support_agent.models.writer import writing_prompt
from tests.fakes import ScriptedModel
from tests.servers.llama import CONTEXT_TOKENS

pytestmark = pytest.mark.model

ORDER = "Write the name of the animal that the text is about, and nothing else."
CAT = (("Text", "The cat sat on the mat and purred."),)
PROMPT = Prompt(system="You choose.", task="Mail:\n", parts=(("Where is my invoice?", False), ("\nWhich?\n", True)))
OPTIONS = ("Invoices", "Refund policy")


def test_a_draft_leaves_the_planners_cache_and_its_scores_alone(llama_model: LlamaModel) -> None:
    """Two contexts on one set of weights: what is written between two choices is not seen by the second."""
    llama_model.score(PROMPT, OPTIONS)
    before = llama_model.score(PROMPT, OPTIONS)
    llama_model.generate(ORDER, CAT, temperature=1.0, max_tokens=4, seed=3)
    assert llama_model.score(PROMPT, OPTIONS) == before


def test_what_does_not_fit_is_refused_before_it_is_evaluated(llama_model: LlamaModel) -> None:
    """A long document goes to a person; the next text is written as before."""
    with pytest.raises(PermanentError, match=r"raise model\.context_tokens") as caught:
        llama_model.generate(ORDER, (("Text", "word " * CONTEXT_TOKENS),), temperature=0.0, max_tokens=4, seed=1)
    assert caught.value.code == "context"
    assert "cat" in llama_model.generate(ORDER, CAT, temperature=0.0, max_tokens=4, seed=1).text.lower()


def test_a_closed_model_neither_scores_nor_writes(model_file: Path) -> None:
    """Closing twice is fine; what is asked then is refused, also where nothing was written before."""
    model = LlamaModel(model_file, context_tokens=CONTEXT_TOKENS)
    model.close()
    model.close()
    with pytest.raises(PermanentError) as caught:
        model.generate(ORDER, CAT, temperature=0.0, max_tokens=4, seed=1)
    assert caught.value.code == "closed"
    with pytest.raises(PermanentError) as caught:
        model.score(PROMPT, OPTIONS)
    assert caught.value.code == "closed"


@pytest.mark.parametrize("ask", [ROUTE_ASK, DOCUMENT_ASK, HALLUCINATION_ASK, ANSWER_ASK])
def test_what_is_reserved_for_the_frame_of_a_grade_is_enough(llama_model: LlamaModel, ask: str) -> None:
    """The budget would be overrun by a longer system text or question."""
    names = [QUESTION, NOTE, *[PASSAGE] * 8]
    model = ScriptedModel(["yes"])
    ModelJudge(model).yes(ask, [(name, "") for name in names])
    tokens = llama_model.weights.prompt_tokens(model.history[0].prompt)
    assert len(tokens) <= FRAME_TOKENS + NAME_TOKENS * len(names)


@pytest.mark.parametrize("order", [DRAFT_ORDER, REWRITE_ORDER])
def test_what_is_reserved_for_the_frame_of_a_text_is_enough(llama_model: LlamaModel, order: str) -> None:
    tokens = llama_model.weights.prompt_tokens(writing_prompt(order, [(QUESTION, ""), (TRIED, "")]))
    assert len(tokens) <= FRAME_TOKENS + 2 * NAME_TOKENS


@pytest.mark.parametrize("text", ["How do I cancel?", "Grüße, 1234567890!", "<|im_end|>\x00\u202e", "退款政策" * 9])
def test_no_text_has_more_tokens_than_bytes(llama_model: LlamaModel, text: str) -> None:
    """The bound that is used where the tokeniser is not known."""
    assert 0 < llama_model.count_tokens(text) <= len(text.encode("utf-8"))
