"""How answers to questions are counted: precision, recall and F1, each with its 95 % interval.

A right answer is a true positive, a wrong one a false positive, and no answer ("I do not know") a false negative: so
precision is right / (right + wrong), and recall right / (right + no answer). F1 is 2 * right / (questions + right): it
rises with the share that is right, and whether the others are wrong or unanswered changes nothing of it. Intervals are
Wilson's (1927); that of F1 is made from that of the share that is right. Checked by
tests/unit/benchmarks/papers/test_answer_counts.py.
Source: the precision, recall and F1 of LLM-ENHANCER.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from support_agent.company.text import collapse
from support_agent.core.frozen import Frozen

Z = 1.959964
"""Of the standard normal distribution, for 95 %."""

_NO_ANSWER = re.compile(
    r"\b(?:i|we) (?:do not|don't|cannot|can't|could not|couldn't|am unable|am not able|am sorry|have no)\b"
    r"|\b(?:passages?|texts?|notes?|information|context)(?: \w+){0,2} (?:do(?:es)?|did|is|are) ?(?:not\b|n't)"
    r"|\bnot (?:explicitly )?(?:mentioned|stated|specified|provided)\b|\bno (?:information|mention)\b|\bas an ai\b",
    re.IGNORECASE,
)


class Verdict(StrEnum):
    """What an answer is."""

    RIGHT = "right"
    WRONG = "wrong"
    NONE = "none"


class Measure(Frozen):
    """A share with the ends of its 95 % interval, all 0..1; where nothing is counted it is 0, and may be anything."""

    value: float
    low: float
    high: float


class Scores(Frozen):
    """Answers by their verdicts, and what follows from the counts."""

    right: int
    wrong: int
    none: int
    precision: Measure
    recall: Measure
    f1: Measure


def verdict_of(draft: str, *, is_right: bool) -> Verdict:
    """What a draft is; one that says it does not know is no answer, unless the right answer stands in it."""
    if is_right:
        return Verdict.RIGHT
    return Verdict.NONE if is_no_answer(draft) else Verdict.WRONG


def is_no_answer(draft: str) -> bool:
    """Whether a draft says nothing, or that it does not know."""
    text = collapse(draft).replace("\u2019", "'")
    return not text or _NO_ANSWER.search(text) is not None


def scores_of(verdicts: Iterable[Verdict]) -> Scores:
    """The counts, and their measures."""
    counts = Counter(verdicts)
    right, wrong, none = (counts[verdict] for verdict in Verdict)
    share = wilson(right, right + wrong + none)
    return Scores(
        right=right,
        wrong=wrong,
        none=none,
        precision=wilson(right, right + wrong),
        recall=wilson(right, right + none),
        f1=Measure(value=_f1(share.value), low=_f1(share.low), high=_f1(share.high)),
    )


def _f1(share: float) -> float:
    """F1 from the share of all questions that is answered right."""
    return 2 * share / (1 + share)


def wilson(successes: int, n: int) -> Measure:
    """A share of n with Wilson's interval."""
    if n == 0:
        return Measure(value=0.0, low=0.0, high=1.0)
    share, square = successes / n, Z * Z
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = Z * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    return Measure(value=share, low=max(middle - half, 0.0), high=min(middle + half, 1.0))
