"""The budget of a mail for its questions; every grade and draft is charged to it.

Invariant: no call begins that could exceed the mail's tokens, or after its time; the cost of earlier calls counts even
if a later call fails. Checked by tests/unit/facts/test_spending.py.
"""

from __future__ import annotations

from collections.abc import Callable

from support_agent.errors import PermanentError
from support_agent.models.judge import Grade, Judge
from support_agent.models.language_model import Usage
from support_agent.models.writer import Draft, Material, Writer
from support_agent.tools.fact_trace import Cost

FRAME_TOKENS = 160
"""Most tokens of the fixed parts of a prompt: system text, question to the model, chat template."""
NAME_TOKENS = 8
"""Most tokens of a text's name in a prompt."""


class NoRoom(PermanentError):
    """The next call could exceed the budget: the question ends unanswered."""

    code = "budget"


class Budget:
    """The tokens and the time of one mail, for all its questions together."""

    def __init__(self, max_tokens: int, is_late: Callable[[], bool] = lambda: False) -> None:
        self.max_tokens = max_tokens
        self.spent_tokens = 0
        self._is_late = is_late

    def holds(self, tokens: int) -> bool:
        """Whether a call with at most this many tokens may begin."""
        return self.spent_tokens + tokens <= self.max_tokens and not self._is_late()

    def spend(self, tokens: int) -> None:
        """Subtract the tokens of a call."""
        self.spent_tokens += tokens


class Calls:
    """A `Judge` and a `Writer` that charge one budget, and add up the cost until `take_cost`."""

    def __init__(self, judge: Judge, writer: Writer, budget: Budget) -> None:
        self._judge = judge
        self._writer = writer
        self.name = writer.name
        self._budget = budget
        self._pending = Cost()

    def yes(self, question: str, material: Material) -> Grade:
        """See `Judge.yes`.

        Raises:
            NoRoom: the grade could exceed the budget.
            SupportAgentError: what the judge raises.
        """
        self._reserve(material, written_tokens=0)
        grade = self._judge.yes(question, material)
        self._pay(grade.usage)
        return grade

    def count_tokens(self, text: str) -> int:
        """See `Writer.count_tokens`."""
        return self._writer.count_tokens(text)

    def generate(
        self, instruction: str, material: Material, *, temperature: float, max_tokens: int, seed: int
    ) -> Draft:
        """See `Writer.generate`.

        Raises:
            NoRoom: the prompt and the longest text could exceed the budget.
            SupportAgentError: what the writer raises.
        """
        self._reserve(material, written_tokens=max_tokens)
        draft = self._writer.generate(instruction, material, temperature=temperature, max_tokens=max_tokens, seed=seed)
        self._pay(draft.usage)
        return draft

    @property
    def has_cost(self) -> bool:
        """Whether anything was spent since `take_cost`."""
        return self._pending.tokens > 0

    def take_cost(self) -> Cost:
        """The cost since the last call of this method."""
        taken, self._pending = self._pending, Cost()
        return taken

    def _reserve(self, material: Material, *, written_tokens: int) -> None:
        frame = FRAME_TOKENS + NAME_TOKENS * len(material)
        texts = sum(self.count_tokens(text) for _, text in material)
        if not self._budget.holds(frame + texts + written_tokens):
            raise NoRoom("the mail's budget may not hold the next call: raise grading.max_tokens or grading.max_s")

    def _pay(self, usage: Usage) -> None:
        self._budget.spend(usage.tokens)
        self._pending += Cost(tokens=usage.tokens, forward_passes=usage.forward_passes)
