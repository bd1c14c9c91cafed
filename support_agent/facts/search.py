"""Which topics (documents, account values, series) are nearest to a question, by the index and nothing else.

A question is compared whole and sentence by sentence: the score of a topic is the mean of how near the whole is and
how near its nearest sentence is, so that a long story around one question does not drown it. Measured on the tuning
mails: the right topic is first for 84 of 100 questions, among the first six for 99. Checked by
tests/unit/facts/test_search.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from support_agent.company.company import Company
from support_agent.company.text import split_sentences
from support_agent.facts.embedding import Embedder
from support_agent.facts.index import Entry, Index
from support_agent.tools.base import Match

TOPICS = 64
"""Topics compared in full; a topic outside them counts as far away."""
MIN_WORDS = 3
"""Shorter sentences ("Thanks.") say nothing by themselves."""
MAX_SENTENCES = 24
KEPT_TEXTS = 64
"""Texts whose result is kept: the cutting of a mail into questions and the choice ask about the same ones."""


class CompanySearch:
    """`support_agent.tools.base.Search` on an index of the company's topics."""

    def __init__(self, index: Index, embedder: Embedder) -> None:
        self._index = index
        self.embedder = embedder
        self._kept = lru_cache(maxsize=KEPT_TEXTS)(self._found)

    @property
    def version(self) -> str:
        """Names what the index holds."""
        return self._index.version

    def nearest(self, text: str) -> tuple[Match, ...]:
        """Every topic near the text, the nearest first."""
        return self._kept(self.version, text)

    def _found(self, version: str, text: str) -> tuple[Match, ...]:
        """As `nearest`; `version` is there for the cache: a new index is searched anew."""
        whole = self._scores([text])
        sentences = [sentence for sentence in split_sentences(text) if len(sentence.split()) >= MIN_WORDS]
        single = self._scores(sentences[:MAX_SENTENCES]) if len(sentences) > 1 else whole
        topics = whole.keys() | single.keys()
        low = min([*whole.values(), *single.values()], default=0.0)
        scored = [(0.5 * (whole.get(topic, low) + single.get(topic, low)), topic) for topic in topics]
        return tuple(Match(topic=topic, score=score) for score, topic in sorted(scored, key=lambda s: (-s[0], s[1])))

    def similarities(self, text: str, others: Sequence[str]) -> Sequence[float]:
        """Cosine similarity of a text with each of the others."""
        vectors = self.embedder.embed([text, *others])
        scores: np.ndarray[tuple[int], np.dtype[np.float32]] = vectors[1:] @ vectors[0]
        return [float(score) for score in scores]

    def _scores(self, texts: Sequence[str]) -> dict[str, float]:
        return {match.key: match.score for match in self._index.nearest(texts, TOPICS)}


def entries_of(company: Company) -> list[Entry]:
    """What the index holds of a company: for each topic its title, summary and example questions, in every language."""
    entries: list[Entry] = []
    for document in company.texts:
        head = document.head
        entries += [
            Entry(key=f"document:{head.number}", text=text) for text in (head.title, head.summary, *head.questions)
        ]
    for kind, specs in (("field", company.accounts.fields), ("series", company.accounts.series)):
        for name, spec in specs.items():
            texts = (spec.label_for("en"), spec.summary, *spec.questions)
            entries += [Entry(key=f"{kind}:{name}", text=text) for text in texts]
    return entries
