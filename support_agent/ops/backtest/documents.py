"""What past mail says about each document: never needed, saying the same as another, or needed but not found.

Checked by tests/unit/ops/backtest/test_documents.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from support_agent.core.frozen import Frozen
from support_agent.ops.backtest.judging import AnswerMatcher
from support_agent.ops.backtest.results import PastResult

ALIKE = 0.85
"""Cosine from which on two sentences are taken for the same."""
LEAST_SHARED = 0.3
"""Part of the shorter document's sentences that another one has, too."""
EXAMPLES = 3


class Overlap(Frozen):
    """Two documents with alike sentences; `share` is their part of the shorter document, 0..1."""

    one: int
    other: int
    sentences: int
    share: float


class Missed(Frozen):
    """A document that people answered with, where the agent was not sure enough of it; examples are questions."""

    document: int
    title: str
    mails: int
    examples: tuple[str, ...]


def dead(titles: Mapping[int, str], results: Sequence[PastResult]) -> tuple[int, ...]:
    """The documents that neither the agent would have sent nor people answered with."""
    used = {number for one in results for number in one.answered_with}
    used |= {
        choice.document for one in results for choice in one.choices if choice.document and choice.status == "sent"
    }
    return tuple(sorted(titles.keys() - used))


def missed(titles: Mapping[int, str], results: Sequence[PastResult]) -> tuple[Missed, ...]:
    """The documents that would have answered mails that the agent left to people, those with the most mails first."""
    questions: dict[int, list[str]] = defaultdict(list)
    for one in results:
        if one.outcome == "escalate" and one.answered_with:
            questions[one.answered_with[0]].append(one.text)
    found = (
        Missed(document=number, title=titles.get(number, ""), mails=len(texts), examples=tuple(texts[:EXAMPLES]))
        for number, texts in questions.items()
    )
    return tuple(sorted(found, key=lambda one: (-one.mails, one.document)))


def overlaps(matcher: AnswerMatcher) -> Iterator[Overlap]:
    """The pairs of documents that share much of what they say."""
    numbers = np.array([number for number, _ in matcher.sentences])
    vectors = {int(number): matcher.vectors[numbers == number] for number in np.unique(numbers)}
    for one, other in combinations(vectors, 2):
        alike = vectors[one] @ vectors[other].T >= ALIKE
        shared, shorter = int(min(alike.any(axis=1).sum(), alike.any(axis=0).sum())), min(alike.shape)
        if shared and shared >= LEAST_SHARED * shorter:
            yield Overlap(one=one, other=other, sentences=shared, share=shared / shorter)
