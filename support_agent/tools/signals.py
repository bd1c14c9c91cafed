"""What speaks for a topic before any language model is asked: raw numbers, which the combiner weighs.

Kept apart from the weights: these numbers depend on the company's words and the embedders alone, and are stored with
each call. Checked by tests/unit/facts/test_search.py.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from support_agent.core.frozen import Frozen

TextKind = Literal["head", "question", "section"]
"""What a question is compared with: title and summary, example questions, sections."""


class Signals(Frozen):
    """What speaks for one topic.

    `likeness` has, by embedder and kind of text, the cosine of the nearest text, -1..1; a topic without texts of a kind
    has none. `words` is the cosine of the character n-grams, 0..1, and `classifier` the score of the classifier that
    was fitted to the company's words, about 0..1; None where none was fitted. `examples` is how many example questions
    the topic has. `fluency` says, by embedder, how well it reads the question, 0..1.
    """

    likeness: dict[str, dict[TextKind, float]]
    words: float | None = None
    classifier: float | None = None
    examples: int = 0
    characters: int = 0
    """Length of the question."""
    fluency: dict[str, float] = Field(default_factory=dict)
