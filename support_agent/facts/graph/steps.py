"""Splits a draft into the steps of its reasoning; each step gets one sentence of evidence.

Steps are internal text: they choose sentences, and none of them is shown to a customer. Checked by
tests/unit/facts/graph/test_steps.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Protocol

from support_agent.company.text import collapse, split_sentences
from support_agent.errors import SupportAgentError
from support_agent.models.writer import Writer

MAX_STEPS = 6
"""Most steps of a draft; each costs a search and some forward passes."""
MAX_CHARACTERS = 300
"""Most characters of one step."""
MIN_WORDS = 3
DRAFT_CHARACTERS = 10_000
"""Most characters of a draft, or of the model's list of steps, to read."""
WRITTEN_TOKENS = 240
INSTRUCTION = (
    "Say step by step which facts the draft needs to answer the question. "
    "Write one fact a line as a short sentence, at most six lines, and nothing else."
)
_NUMBERING = re.compile(r"^\s*(?:[-*•]|(?:step\s*)?\d{1,2}\s*[.:)])\s*", re.IGNORECASE)


class StepSplitter(Protocol):
    """Splits a draft into steps."""

    def of(self, question: str, draft: str) -> tuple[str, ...]:
        """0..6 claims, each a short text of its own; raises nothing."""
        ...


class DraftSteps:
    """The draft's own sentences: needs no model."""

    def of(self, question: str, draft: str) -> tuple[str, ...]:
        """As `StepSplitter.of`; the question does not matter."""
        paragraphs = (_NUMBERING.sub("", line) for line in draft[:DRAFT_CHARACTERS].splitlines())
        return _readable(sentence for paragraph in paragraphs for sentence in split_sentences(paragraph))


class WrittenSteps:
    """The steps that the language model lists; the draft's own sentences if it lists none or fails."""

    def __init__(self, writer: Writer, *, seed: int) -> None:
        self._writer = writer
        self._seed = seed

    def of(self, question: str, draft: str) -> tuple[str, ...]:
        """As `StepSplitter.of`."""
        material = (("question", question), ("draft", draft))
        try:
            written = self._writer.generate(
                INSTRUCTION, material, temperature=0.0, max_tokens=WRITTEN_TOKENS, seed=self._seed
            ).text
        except SupportAgentError:
            written = ""
        steps = _readable(_NUMBERING.sub("", line) for line in written[:DRAFT_CHARACTERS].splitlines())
        return steps or DraftSteps().of(question, draft)


def _readable(texts: Iterable[str]) -> tuple[str, ...]:
    """The first distinct texts that can be a step, white space collapsed."""
    steps = (collapse(text[: 2 * MAX_CHARACTERS]) for text in texts)
    fitting = (step for step in steps if len(step) <= MAX_CHARACTERS and len(step.split()) >= MIN_WORDS)
    return tuple(islice(dict.fromkeys(fitting), MAX_STEPS))
