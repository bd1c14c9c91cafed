"""The budget of a mail: looked at before each call, paid also where the next one fails."""

from __future__ import annotations

import pytest

from support_agent.errors import TransientError
from support_agent.facts.spending import FRAME_TOKENS, NAME_TOKENS, Budget, Calls, NoRoom
from support_agent.models.writer import most_tokens
from tests.fakes_facts import ScriptedJudge, ScriptedWriter

MATERIAL = [("Text", "ten bytes!")]
GRADE_TOKENS = FRAME_TOKENS + NAME_TOKENS + 10
"""Of a grade on `MATERIAL`: its frame and the text."""


def calls_on(budget: Budget, judge: ScriptedJudge, writer: ScriptedWriter | None = None) -> Calls:
    return Calls(judge, writer or ScriptedWriter([]), budget)


def test_a_grade_begins_where_its_most_tokens_fit_and_not_with_one_less() -> None:
    judge = ScriptedJudge({"ask": [0.5, 0.5]})
    with pytest.raises(NoRoom):
        calls_on(Budget(GRADE_TOKENS - 1), judge).yes("ask", MATERIAL)
    assert not judge.history
    assert calls_on(Budget(GRADE_TOKENS), judge).yes("ask", MATERIAL).probability == 0.5


def test_a_text_begins_where_its_prompt_and_its_whole_length_fit() -> None:
    writer = ScriptedWriter(["text"])
    needed = FRAME_TOKENS + NAME_TOKENS + 10 + 50
    with pytest.raises(NoRoom):
        calls_on(Budget(needed - 1), ScriptedJudge({}), writer).generate(
            "order", MATERIAL, temperature=0, max_tokens=50, seed=1
        )
    assert not writer.history
    calls_on(Budget(needed), ScriptedJudge({}), writer).generate(
        "order", MATERIAL, temperature=0, max_tokens=50, seed=1
    )
    assert len(writer.history) == 1


def test_no_call_begins_after_the_mails_time() -> None:
    """The planner waits for the whole look: a slow model may not take the answer's time."""
    late = [False, True]
    judge = ScriptedJudge({"ask": [0.5]})
    calls = calls_on(Budget(10_000, lambda: late.pop(0)), judge)
    calls.yes("ask", MATERIAL)
    with pytest.raises(NoRoom):
        calls.yes("ask", MATERIAL)
    assert len(judge.history) == 1


def test_what_was_spent_is_kept_until_it_is_taken() -> None:
    """Also what was spent before a call that failed."""
    budget = Budget(10_000)
    calls = calls_on(budget, ScriptedJudge({"ask": [0.5, TransientError("late")]}))
    calls.yes("ask", MATERIAL)
    with pytest.raises(TransientError):
        calls.yes("ask", MATERIAL)
    taken = calls.take_cost()
    assert (taken.tokens, taken.forward_passes) == (budget.spent_tokens, 1)
    assert taken.tokens > 0
    assert calls.take_cost().tokens == 0


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abc", 3), ("Grüße", 7), ("退款", 6)])
def test_no_tokeniser_makes_more_tokens_than_bytes(text: str, tokens: int) -> None:
    assert most_tokens(text) == tokens
