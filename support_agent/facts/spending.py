"""What a mail may spend on its questions, and the only way its grades and drafts are paid.

Invariant: no call begins whose tokens the mail's budget may not hold, nor after its time; what was spent is counted
also where the call after it fails. Checked by tests/unit/facts/test_spending.py.
"""

from __future__ import annotations

from collections.abc import Callable

from support_agent.errors import PermanentError
from support_agent.models.judge import Grade, Judge
from support_agent.models.language_model import Usage
from support_agent.models.writer import Draft, Material, Writer
from support_agent.tools.fact_trace import Cost

FRAME_TOKENS = 160
"""Most tokens of a prompt that are the program's own: its system text, what is asked, the chat template."""
NAME_TOKENS = 8
"""Most tokens of a text's name in it."""


class NoRoom(PermanentError):
    """The budget may not hold the next call: the question ends unanswered."""

    code = "budget"


class Budget:
    """The tokens and the time of one mail, whatever number of questions it asks."""

    def __init__(self, max_tokens: int, is_late: Callable[[], bool] = lambda: False) -> None:
        self.max_tokens = max_tokens
        self.spent_tokens = 0
        self._is_late = is_late

    def holds(self, tokens: int) -> bool:
        """Whether a call that takes so many at most may begin."""
        return self.spent_tokens + tokens <= self.max_tokens and not self._is_late()

    def spend(self, tokens: int) -> None:
        """Takes off what a call took."""
        self.spent_tokens += tokens


class Calls:
    """The judge and the writer behind one budget, itself a `Judge` and a `Writer`; keeps what was spent since asked."""

    def __init__(self, judge: Judge, writer: Writer, budget: Budget) -> None:
        self._judge = judge
        self._writer = writer
        self.name = writer.name
        self._budget = budget
        self._pending = Cost()

    def yes(self, question: str, material: Material) -> Grade:
        """See `Judge.yes`.

        Raises:
            NoRoom: the budget may not hold the grade and, where it is the first of its kind, its prior.
            SupportAgentError: what the judge raises.
        """
        self._reserve(material, prompts=2, written_tokens=0)
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
            NoRoom: the budget may not hold the prompt and the longest text.
            SupportAgentError: what the writer raises.
        """
        self._reserve(material, prompts=1, written_tokens=max_tokens)
        draft = self._writer.generate(instruction, material, temperature=temperature, max_tokens=max_tokens, seed=seed)
        self._pay(draft.usage)
        return draft

    @property
    def has_cost(self) -> bool:
        """Whether anything was spent since `take_cost`."""
        return self._pending.tokens > 0

    def take_cost(self) -> Cost:
        """What was spent since the last call of this."""
        taken, self._pending = self._pending, Cost()
        return taken

    def _reserve(self, material: Material, *, prompts: int, written_tokens: int) -> None:
        frames = prompts * (FRAME_TOKENS + NAME_TOKENS * len(material))
        texts = sum(self.count_tokens(text) for _, text in material)
        if not self._budget.holds(frames + texts + written_tokens):
            raise NoRoom("the mail's budget may not hold the next call: raise grading.max_tokens or grading.max_s")

    def _pay(self, usage: Usage) -> None:
        self._budget.spend(usage.tokens)
        self._pending += Cost(tokens=usage.tokens, forward_passes=usage.forward_passes)
