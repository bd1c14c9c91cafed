"""Turns what a retriever finds into evidence: links passages to entities, joins them to chains, prunes the rest.

Sources about an entity of the question are searched by themselves too, and what speaks of it belongs to its
chain. A chain is followed one step on: a passage that shares another entity with it, and a telling word with the
question, is joined. What names no entity holds for all of them and is a chain of its own; what is said of others is
pruned, and counted. Entities are things that must not be taken for each other: products, houses.

Where the question names none, nothing is pruned. To prune by words lost 11 of the 367 documents that are found for the
440 questions of the demo, as customers have words of their own and other languages; and to keep only what names the
entity lost the document on uploads for "My files do not upload on Windows".

A question that names none ("And is there parking?") is about what the question before it named. Of 150 dialogues of
DSTC11 with 50 places the right place was found so for 148, by the whole dialogue for 132, by the question alone for 34,
and by the question with the name behind it for 142: so names choose sources, and the query stays as it was asked.

Invariant: evidence is only what the retriever found, as pointers, each once; neighbours in one source become one.
Checked by tests/unit/facts/inquiry/test_consolidator.py.
Source: LLM-Augmenter (Peng et al. 2023), knowledge consolidator: knowledge retriever, entity linker, evidence chainer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

from support_agent.core.frozen import Frozen
from support_agent.facts.graph.entities import Linker
from support_agent.facts.material import Passage, Retriever, distinct
from support_agent.facts.terms import FUNCTION_WORDS, words_of
from support_agent.tools.fact_trace import SentenceRange

STEM = 6
"""Letters by which words are compared: enough for an ending to make no difference."""
MIN_LETTERS = 4


class Chain(Frozen):
    """Evidence about the same: the entities it was linked by, or none, and the sentences, the nearest first."""

    entities: tuple[str, ...]
    evidence: tuple[SentenceRange, ...]


class Consolidated(Frozen):
    """What was retrieved: chains, the one with the nearest evidence first; `pruned` passages bear on nothing asked."""

    chains: tuple[Chain, ...]
    pruned: int

    @property
    def evidence(self) -> tuple[SentenceRange, ...]:
        """The chains' pointers, in their order."""
        return tuple(evidence for chain in self.chains for evidence in chain.evidence)


class Consolidator:
    """`Retriever` that finds what bears on the question: passages about others than what it names leave their place.

    The same question and sources give the same.
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
            among: The same retriever, kept to those of the sources it is given that may be found.
            context: Earlier questions of the case, the last one first; see `Linker.about`.
        """
        self._retriever, self._linker, self._among, self._context = retriever, linker, among, context

    @property
    def version(self) -> str:
        """What is searched."""
        return self._retriever.version

    def find(self, question: str, n: int) -> tuple[Passage, ...]:
        """At most `n` passages: what was found and bears on the question, then what is about its entities.

        Raises:
            TransientError, PermanentError: as the retriever.
        """
        sources = self._linker.sources_of(self._linker.about(question, self._context))
        found = self._retriever.find(question, n)
        own = self._among(sources).find(question, n) if sources else ()
        passages = distinct((*found, *own))
        spans = chained(question, passages, self._linker, self._context).evidence
        return tuple(passage for passage in passages if any(_is_in(passage, span) for span in spans))[:n]


def _is_in(passage: Passage, span: SentenceRange) -> bool:
    return passage.source == span.source and span.first <= passage.first and passage.last <= span.last


def chained(question: str, passages: Sequence[Passage], linker: Linker, context: Sequence[str] = ()) -> Consolidated:
    """Join passages, nearest first, to chains, and prune what does not bear on the question.

    Args:
        question: What was asked.
        passages: As found; the same place twice counts once.
        linker: Knows the entities.
        context: Earlier questions of the case, the last one first; see `Linker.about`.
    """
    passages = distinct(reversed(passages))[::-1]
    linked = [
        linker.entities_of(passage.source) | set(linker.link(f"{passage.heading}\n{passage.text}"))
        for passage in passages
    ]
    telling = telling_words(question)
    shares_word = [bool(telling & telling_words(f"{passage.heading} {passage.text}")) for passage in passages]
    asked = linker.about(question, context)
    chains: dict[tuple[str, ...], list[int]] = {
        (key,): [index for index, keys in enumerate(linked) if key in keys] for key in asked
    }
    taken = {index for indices in chains.values() for index in indices}
    for indices in chains.values():
        bridges = frozenset().union(*(linked[index] for index in indices)) - set(asked)
        joined = [i for i, keys in enumerate(linked) if i not in taken and keys & bridges and shares_word[i]]
        indices += joined
        taken |= set(joined)
    chains[()] = [index for index, keys in enumerate(linked) if not asked or not keys]
    return _as_pointers(chains, passages)


def telling_words(text: str) -> frozenset[str]:
    """The words that say what a text is about, by their first 6 letters: 4 letters or more, or with a digit."""
    words = {word for word in words_of(text) if len(word) >= MIN_LETTERS or any(map(str.isdigit, word))}
    return frozenset(word[:STEM] for word in words - FUNCTION_WORDS)


def _as_pointers(chains: dict[tuple[str, ...], list[int]], passages: Sequence[Passage]) -> Consolidated:
    """The chains as pointers, each place in the first chain that has it."""
    made: list[Chain] = []
    seen: set[int] = set()
    for entities, indices in sorted(chains.items(), key=lambda chain: min(chain[1], default=len(passages))):
        new = [passages[index] for index in sorted(indices) if index not in seen]
        seen |= set(indices)
        if new:
            made.append(Chain(entities=entities, evidence=_joined(new)))
    return Consolidated(chains=tuple(made), pruned=len(passages) - len(seen))


def _joined(passages: Iterable[Passage]) -> tuple[SentenceRange, ...]:
    """Passages of a source that touch or overlap as one range, by the best score of them; the nearest first."""
    scores: dict[SentenceRange, float] = {}
    last: SentenceRange | None = None
    for passage in sorted(passages, key=lambda passage: (passage.source, passage.first, passage.last)):
        span, score = passage.place, passage.score
        if last is not None and last.source == span.source and span.first <= last.last + 1:
            score = max(score, scores.pop(last))
            span = SentenceRange(source=span.source, first=last.first, last=max(last.last, span.last))
        scores[span], last = score, span
    return tuple(sorted(scores, key=lambda span: (-scores[span], span.source, span.first, span.last)))
