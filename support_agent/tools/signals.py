"""The signals for a topic before the language model is asked: raw numbers that the combiner weighs.

They depend on the company's texts, the embedders and small votes of their own, not on the combiner. Checked by
tests/unit/facts/test_search.py.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from support_agent.core.frozen import Frozen

TextKind = Literal["head", "question", "section"]
"""The texts that a question is compared with: title and summary, example questions, sections."""


class Signals(Frozen):
    """The signals for one topic.

    `likeness` has, by embedder and kind of text, the highest cosine, -1..1; kinds without texts are missing. `words` is
    the cosine of the character n-grams, 0..1. `classifier` is the score of the classifier fitted to the company's
    texts, about 0..1; None if none was fitted. `examples` counts the topic's example questions. `fluency` says, by
    embedder, how well it reads the question's language, 0..1.
    """

    likeness: dict[str, dict[TextKind, float]]
    words: float | None = None
    classifier: float | None = None
    examples: int = 0
    characters: int = 0
    """Length of the question."""
    fluency: dict[str, float] = Field(default_factory=dict)
    account_log_odds: float = 0.0
    """By the question alone: an account value answers it, against a document; see `facts.answer_kinds`."""
    person_log_odds: float = 0.0
    """The same of a person."""
