"""Filters retrieved passages: links them to entities, and prunes those about other entities than the question's.

Entities are things that must not be confused: products, houses. Sources about an entity of the question are also
searched on their own. Kept are passages about the entity, passages that share another entity with these and a content
word with the question, and passages that name no entity, as they apply to all. Passages about other entities are
pruned.

If the question names no entity, nothing is pruned. Pruning by words lost 11 of the 367 documents that are found for the
440 questions of the demo, as customers use their own words and languages. Keeping only passages that name the entity
lost the document on uploads for "My files do not upload on Windows".

A question without an entity ("And is there parking?") is about the entity of the question before it. In 150 dialogues
of DSTC11 with 50 places this found the right place for 148; the whole dialogue found 132, the question alone 34, and
the question with the name appended 142. So names choose sources, and the query is not changed.

Invariant: every result was found by the retriever, and appears once.
Checked by tests/unit/facts/inquiry/test_consolidator.py.
Source: LLM-Augmenter (Peng et al. 2023), knowledge consolidator: knowledge retriever, entity linker, evidence chainer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from support_agent.facts.graph.entities import Linker
from support_agent.facts.material import Passage, Retriever, distinct
from support_agent.facts.name_words import FUNCTION_WORDS, words_of

STEM = 6
"""Words are compared by this many first letters, so that endings do not matter."""
MIN_LETTERS = 4


class Consolidator:
    """`Retriever` without the passages about other entities than the question's.

    The same question and sources give the same result.
    """

    def __init__(
        self,
        retriever: Retriever,
        linker: Linker,
        among: Callable[[AbstractSet[str]], Retriever],
        context: Sequence[str] = (),
    ) -> None:
        """Put the parts together.

        Args:
            retriever: Finds passages of all sources that may be found.
            linker: Knows the entities.
            among: The same retriever, limited to some sources.
            context: Earlier questions of the case, the last one first; see `Linker.about`.
        """
        self._retriever, self._linker, self._among, self._context = retriever, linker, among, context

    def find(self, question: str, n: int) -> tuple[Passage, ...]:
        """At most `n` passages: the relevant ones of the search, then those about the question's entities.

        Raises:
            TransientError, PermanentError: as the retriever.
        """
        sources = self._linker.sources_of(self._linker.about(question, self._context))
        found = self._retriever.find(question, n)
        own = self._among(sources).find(question, n) if sources else ()
        return tuple(bearing(question, distinct((*found, *own)), self._linker, self._context))[:n]


def bearing(question: str, passages: Sequence[Passage], linker: Linker, context: Sequence[str] = ()) -> list[Passage]:
    """The passages that are not about other entities, in their order.

    Args:
        question: What was asked.
        passages: As found, each place once.
        linker: Knows the entities.
        context: Earlier questions of the case, the last one first; see `Linker.about`.
    """
    asked = frozenset(linker.about(question, context))
    if not asked:
        return list(passages)
    linked = [linker.entities_of(one.source) | set(linker.link(f"{one.heading}\n{one.text}")) for one in passages]
    bridges = frozenset().union(*(keys for keys in linked if keys & asked)) - asked
    telling = telling_words(question)

    def is_joined(passage: Passage, keys: AbstractSet[str]) -> bool:
        return not keys.isdisjoint(bridges) and bool(telling & telling_words(f"{passage.heading} {passage.text}"))

    return [
        passage
        for passage, keys in zip(passages, linked, strict=True)
        if not keys or keys & asked or is_joined(passage, keys)
    ]


def telling_words(text: str) -> frozenset[str]:
    """The content words of a text, by their first 6 letters: 4 letters or more, or with a digit."""
    words = {word for word in words_of(text) if len(word) >= MIN_LETTERS or any(map(str.isdigit, word))}
    return frozenset(word[:STEM] for word in words - FUNCTION_WORDS)
