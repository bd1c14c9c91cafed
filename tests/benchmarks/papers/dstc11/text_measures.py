"""How like a reference an answer is, as text: BLEU-4, ROUGE-L and chrF, in own code so that no library is needed.

The track publishes BLEU and ROUGE-L (stemmed; not so here) and METEOR, which needs WordNet and is left out. Invariant:
each is 0..1, 1 for the reference itself, and equal to what sacrebleu and rouge-score say without stemming. Checked by
tests/unit/benchmarks/papers/test_text_measures.py, on values that these printed.
Source: BLEU (Papineni et al. 2002) with the tokens of mteval-v13a and exponential smoothing (Chen and Cherry 2014);
ROUGE-L (Lin 2004), F1 of the longest common subsequence; chrF2 (Popovic 2015), six orders.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import exp, log, prod
from typing import NamedTuple

from support_agent.core.frozen import Frozen

ORDERS = 4
"""Of words, in BLEU."""
CHARACTER_ORDERS = 6
BETA = 2
"""Recall counts so much more than precision in chrF."""
Grams = Counter[tuple[str, ...]]

_MARK = re.compile(r"([{-~\[-` -&(-+:-@/])")
_POINT_BEHIND = re.compile(r"([^0-9])([.,])")
_POINT_BEFORE = re.compile(r"([.,])([^0-9])")
_DASH = re.compile(r"([0-9])(-)")
_ENTITIES = {"&quot;": '"', "&lt;": "<", "&gt;": ">", "&amp;": "&"}
_NO_WORD = re.compile(r"[^a-z0-9]+")


class Likeness(Frozen):
    """All answers of a way beside their references: BLEU-4 and chrF of all together, ROUGE-L as the mean; 0..1."""

    bleu: float
    rouge_l: float
    chrf: float


class _Overlap(NamedTuple):
    """Counts of n-grams of one order: in both, in the answer, in the reference."""

    both: int
    answer: int
    reference: int


def likeness(answers: Sequence[str], references: Sequence[str]) -> Likeness:
    """The measures of answers, each with one reference; 1 pair or more. An empty answer counts."""
    pairs = list(zip(answers, references, strict=True))
    return Likeness(
        bleu=bleu(answers, references), rouge_l=sum(rouge_l(*pair) for pair in pairs) / len(pairs),
        chrf=chrf(answers, references),
    )  # fmt: skip


def bleu(answers: Sequence[str], references: Sequence[str]) -> float:
    """BLEU-4 of all answers together."""
    pairs = [(_tokens(answer), _tokens(reference)) for answer, reference in zip(answers, references, strict=True)]
    found = [_added([_overlap(*pair, n) for pair in pairs]) for n in range(1, ORDERS + 1)]
    if not found[0].both or not all(one.answer for one in found):
        return 0.0
    precisions, smallest = [], 1.0
    for one in found:
        smallest = smallest if one.both else smallest / 2
        precisions.append((one.both or smallest) / one.answer)
    brevity = min(1.0, exp(1 - found[0].reference / found[0].answer))
    return brevity * exp(sum(map(log, precisions)) / ORDERS)


def rouge_l(answer: str, reference: str) -> float:
    """F1 of the longest common subsequence of words."""
    words, wanted = _NO_WORD.sub(" ", answer.lower()).split(), _NO_WORD.sub(" ", reference.lower()).split()
    common = _longest_common(words, wanted)
    return 2 * common / max(1, len(words) + len(wanted))


def chrf(answers: Sequence[str], references: Sequence[str]) -> float:
    """chrF2 of all answers together; white space does not count."""
    pairs = [
        ("".join(answer.split()), "".join(reference.split()))
        for answer, reference in zip(answers, references, strict=True)
    ]
    counted = []
    for n in range(1, CHARACTER_ORDERS + 1):
        overlaps = [_overlap(*pair, n) for pair in pairs]
        counted.append(_added([one if one.reference else _Overlap(0, 0, 0) for one in overlaps]))
    counted = [one for one in counted if one.answer and one.reference]
    precision = sum(one.both / one.answer for one in counted) / max(1, len(counted))
    recall = sum(one.both / one.reference for one in counted) / max(1, len(counted))
    return (1 + BETA**2) * prod((precision, recall)) / ((BETA**2 * precision + recall) or 1)


def _tokens(text: str) -> list[str]:
    """As mteval-v13a splits a line."""
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    text = _MARK.sub(r" \1 ", f" {text} ")
    text = _POINT_BEHIND.sub(r"\1 \2 ", text)
    return _DASH.sub(r"\1 \2 ", _POINT_BEFORE.sub(r" \1 \2", text)).split()


def _overlap(answer: Sequence[str], reference: Sequence[str], n: int) -> _Overlap:
    said, wanted = _grams(answer, n), _grams(reference, n)
    return _Overlap((said & wanted).total(), said.total(), wanted.total())


def _grams(pieces: Sequence[str], n: int) -> Grams:
    return Counter(tuple(pieces[start : start + n]) for start in range(len(pieces) - n + 1))


def _added(counts: Sequence[_Overlap]) -> _Overlap:
    return _Overlap(*map(sum, zip(*counts, strict=True)))


def _longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words stand in both in the same order."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = row
        row = [0]
        for place, wanted in enumerate(other):
            row.append(before[place] + 1 if word == wanted else max(before[place + 1], row[place]))
    return row[-1]
