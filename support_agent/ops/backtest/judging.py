"""Judges what a person's answer shows about the document that the agent chose today.

A link to a document names it; a sentence of the answer speaks for each document that has a sentence of nearly its
meaning. No language model is asked and no text is made: the verdict is one of four words.

Checked by tests/unit/ops/backtest/test_judging.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from support_agent.company.documents import Document
from support_agent.desk.human_feedback import Recognised
from support_agent.models.embedding.port import Vectors
from support_agent.ops.backtest.meaning import Meaning, sentences_of
from support_agent.store.desk_records import LabelOutcome

NEARLY = 0.04
"""Cosine below that of the best document's sentence within which another document says the same."""
LEAST_PART = 1 / 3
"""Of the sentences that speak for documents, a document needs this part."""


class AnswerMatcher:
    """Finds the documents that a person's answer is made of."""

    def __init__(self, documents: Sequence[Document], meaning: Meaning, least: float) -> None:
        """Nothing is embedded before the first answer.

        Args:
            documents: In every language.
            least: The cosine from which on two sentences say the same, `backtest.shared_meaning`.
        """
        self.meaning = meaning
        self.least = least
        self._recognised = Recognised(documents)
        self.sentences = [(one.number, sentence) for one in documents for sentence in one.sentences]

    @cached_property
    def vectors(self) -> Vectors:
        """A row for each of `sentences`, which is read under its heading."""
        return self.meaning.vectors([sentence.text for _, sentence in self.sentences])

    def documents_in(self, answer: str) -> tuple[int, ...]:
        """The numbers of the documents that an answer is made of, the most of it first; none: it is in own words."""
        linked = tuple(sorted(set().union(*self._recognised.linked(answer))))
        return tuple(dict.fromkeys((*linked, *self._meant(sentences_of(answer)))))

    def _meant(self, said: Sequence[str]) -> tuple[int, ...]:
        if not said or not self.sentences:
            return ()
        cosines = self.meaning.vectors(said) @ self.vectors.T
        parts: Counter[int] = Counter()
        for row in cosines:
            best = float(row.max())
            if best >= self.least:
                near = np.flatnonzero(row >= max(self.least, best - NEARLY))
                parts.update({self.sentences[place][0] for place in near})
        speaking = int((cosines.max(axis=1) >= self.least).sum())
        return tuple(number for number, count in parts.most_common() if count >= LEAST_PART * speaking)


def label_of(sent: Collection[int], answered_with: Collection[int], *, is_answered: bool) -> LabelOutcome:
    """What an answer that is made of some documents shows about others that the agent would send.

    `nothing`: there is no answer, or the agent would send no document, as values of an account change.
    """
    if not sent or not is_answered:
        return LabelOutcome.NOTHING
    if not answered_with:
        return LabelOutcome.OWN_WORDS
    return LabelOutcome.SAME if set(sent) <= set(answered_with) else LabelOutcome.OTHER_CHOICE
