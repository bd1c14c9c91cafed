"""Finds sentences that say nearly the same with other numbers, in two documents or in a document and an answer.

It sees numbers, percentages, amounts of money, durations and dates, and nothing else: no contradiction in words ("may",
"must not"), none that takes two sentences, none in tables. Each finding is a question for a person, not a verdict.
Checked by tests/unit/ops/backtest/test_contradictions.py.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from support_agent.company.documents import Document
from support_agent.core.frozen import Frozen
from support_agent.models.embedding.port import Vectors
from support_agent.ops.backtest.meaning import Meaning, sentences_of

ALIKE, SAID_ALIKE = 0.8, 0.7
"""Cosine from which on sentences of two documents, and of a document and a person, speak of the same."""
NEARLY = 0.04
MASK = "#"
SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
"""Durations of different units are compared; the words of other languages are units of their own."""
SIGNS = {"€": "eur", "$": "usd", "£": "gbp", "percent": "%", "prozent": "%"}
_DATE = r"\d{4}-\d\d-\d\d|\d{1,2}\.? [^\W\d_]{3,} \d{4}"
_NUMBER = r"\d+(?:[.,\u00a0 ]\d{3})*(?:[.,]\d{1,2})?(?!\d)"
_UNIT = r"(?:\s?(?P<unit>%|[^\W\d_]+(?!\w)))?"
_AMOUNT = re.compile(rf"(?P<date>{_DATE})|(?:(?P<sign>[€$£])\s?)?(?P<number>(?<![\w.,-]){_NUMBER}){_UNIT}")
Amounts = Mapping[str, frozenset[str]]
"""By unit: the values in a text."""


class Place(Frozen):
    """A sentence of a document."""

    document: int
    title: str
    text: str


class Contradiction(Frozen):
    """A document's sentence, and another one that says nearly the same with other numbers.

    `other` is a document's sentence; None: people wrote it, in `times` answers, `said` is one of them.
    """

    place: Place
    other: Place | None
    said: str
    times: int = 1


class Numbered:
    """The sentences of documents that have numbers, ready to compare."""

    def __init__(self, documents: Sequence[Document], meaning: Meaning) -> None:
        self._meaning = meaning
        self._places = [
            Place(document=one.number, title=one.head.title, text=sentence.text)
            for one in documents
            for sentence in one.sentences
            if sentence.kind != "row" and amounts_in(sentence.text)
        ]
        self._amounts = [amounts_in(place.text) for place in self._places]

    @cached_property
    def _vectors(self) -> Vectors:
        return self._meaning.vectors([masked(place.text) for place in self._places])

    def against(self, answer: str) -> tuple[Contradiction, ...]:
        """The sentences of a person's answer that say a document's sentence with other numbers."""
        said = [sentence for sentence in sentences_of(answer) if amounts_in(sentence)]
        if not said or not self._places:
            return ()
        cosines = self._meaning.vectors([masked(text) for text in said]) @ self._vectors.T
        found = (self._conflict(row, amounts_in(text)) for row, text in zip(cosines, said, strict=True))
        return tuple(
            Contradiction(place=self._places[place], other=None, said=text)
            for text, place in zip(said, found, strict=True)
            if place is not None
        )

    def between(self) -> Iterator[Contradiction]:
        """Sentences of two documents that are nearest to each other, and differ in their numbers."""
        if not self._places:
            return
        cosines = self._vectors @ self._vectors.T
        numbers = np.array([place.document for place in self._places])
        cosines[numbers[:, None] == numbers[None]] = -1.0
        nearest = cosines.argmax(axis=1)
        for one, other in enumerate(nearest):
            is_mutual = one < other and nearest[other] == one and cosines[one, other] >= ALIKE
            place, beside = self._places[one], self._places[other]
            if is_mutual and are_in_conflict(self._amounts[one], self._amounts[other]) and _are_of_one(place, beside):
                yield Contradiction(place=place, other=beside, said=beside.text)

    def _conflict(self, cosines: Vectors, amounts: Amounts) -> int | None:
        """The nearest sentence, if all that are as near differ from these numbers."""
        best = int(cosines.argmax())
        if cosines[best] < SAID_ALIKE:
            return None
        near = np.flatnonzero(cosines >= max(SAID_ALIKE, float(cosines[best]) - NEARLY))
        return best if all(are_in_conflict(self._amounts[place], amounts) for place in near) else None


def _are_of_one(one: Place, other: Place) -> bool:
    """Whether two sentences may speak of one thing: neither alone names its document's subject ("Windows")."""
    own = (_words(a.title) & _words(a.text) - _words(b.text) for a, b in ((one, other), (other, one)))
    return not any(own)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W\d_]{3,}", text.casefold()))


def together(found: Sequence[Contradiction]) -> tuple[Contradiction, ...]:
    """One finding for each sentence of a document, the most frequent first."""
    groups: dict[Place, list[Contradiction]] = defaultdict(list)
    for one in found:
        groups[one.place].append(one)
    counted = [of[0].model_copy(update={"times": len(of)}) for of in groups.values()]
    return tuple(sorted(counted, key=lambda one: -one.times))


def are_in_conflict(some: Amounts, others: Amounts) -> bool:
    """Whether two texts give values of the same unit and no common one."""
    shared = some.keys() & others.keys()
    return bool(shared) and all(not some[unit] & others[unit] for unit in shared)


def amounts_in(text: str) -> Amounts:
    """The numbers in a text by unit: a currency, "%", seconds, a date, or the word after the number."""
    found: dict[str, set[str]] = defaultdict(set)
    for match in _AMOUNT.finditer(text):
        if match["date"]:
            found["date"].add(match["date"].casefold().replace(".", ""))
        elif unit := _unit(match["sign"] or match["unit"] or ""):
            value = _value(match["number"])
            scale = SECONDS.get(unit)
            found["duration" if scale else unit].add(f"{value * (scale or 1):g}")
    return {unit: frozenset(values) for unit, values in found.items()}


def masked(text: str) -> str:
    """The text without its numbers, so that only what they are about is compared."""
    return re.sub(_NUMBER, MASK, text)


def _unit(word: str) -> str:
    plain = word.casefold()
    return SIGNS.get(plain, plain.removesuffix("s") if len(plain) > 3 else plain)


def _value(number: str) -> float:
    """ "1,000.50", "1.000,50" and "1 000" as numbers: the last separator is the decimal one if two digits follow it."""
    whole, separator, rest = re.match(r"(.*?)(?:([.,])(\d{1,2}))?$", number).groups()  # type: ignore[union-attr]
    digits = re.sub(r"\D", "", whole)
    return float(f"{digits or 0}.{rest if separator else 0}")
