"""Finds known entities (products, houses, topics of documents) in a text, by their names and aliases.

The longest name counts: "Acme Plus Family" is not also "Acme Plus". A name of several entities stands for all of them.
Whole words are compared in order, without case; nothing is learned, nothing is random.
Checked by tests/unit/facts/graph/test_entities.py.
Source: the entity linker of LLM-Augmenter (Peng et al. 2023), knowledge consolidator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from pydantic import Field

from support_agent.core.frozen import Frozen
from support_agent.facts.name_words import words_of

_LEADING = frozenset(["the", "a", "an", "der", "die", "das", "el", "la", "los", "las"])


class Entity(Frozen):
    """An entity; `key` is unique, `aliases` are its other names.

    `sources` are about this entity alone ("document:6"), even if they do not name it.
    """

    key: str = Field(min_length=1)
    name: str
    aliases: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class Linker:
    """Finds the entities of a fixed list in texts, in time proportional to the text, not to the list."""

    def __init__(self, entities: Iterable[Entity]) -> None:
        """Index the names.

        Raises:
            ValueError: two entities have one key.
        """
        self._keys: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._by_source: dict[str, set[str]] = defaultdict(set)
        self._sources: dict[str, tuple[str, ...]] = {}
        for entity in entities:
            if entity.key in self._sources:
                raise ValueError(f"two entities have the key {entity.key!r}")
            self._sources[entity.key] = entity.sources
            for source in entity.sources:
                self._by_source[source].add(entity.key)
            for name in (entity.name, *entity.aliases):
                if words := _name_words(name):
                    self._keys[words].add(entity.key)
        self._longest = max(map(len, self._keys), default=0)

    def link(self, text: str) -> tuple[str, ...]:
        """Keys of the entities that the text names, in the order of their first mention, then by key."""
        words = words_of(text)
        found: dict[str, None] = {}
        start = 0
        while start < len(words):
            length = self._longest_name_at(words, start)
            found |= dict.fromkeys(sorted(self._keys[words[start : start + length]]) if length else ())
            start += length or 1
        return tuple(found)

    def about(self, question: str, context: Sequence[str] = ()) -> tuple[str, ...]:
        """Keys of the entities that the question is about: those it names, or if none, those of the context.

        Args:
            question: What was asked.
            context: Earlier texts of the case, the last one first; the first with an entity counts.
        """
        return next((named for text in (question, *context) if (named := self.link(text))), ())

    def sources_of(self, keys: Iterable[str]) -> frozenset[str]:
        """The sources that are about any of these entities."""
        return frozenset(source for key in keys for source in self._sources[key])

    def entities_of(self, source: str) -> frozenset[str]:
        """Keys of the entities that a source is about."""
        return frozenset(self._by_source.get(source, ()))

    def _longest_name_at(self, words: tuple[str, ...], start: int) -> int:
        """The number of words of the longest name that begins there, or 0."""
        lengths = range(min(self._longest, len(words) - start), 0, -1)
        return next((length for length in lengths if words[start : start + length] in self._keys), 0)


def _name_words(name: str) -> tuple[str, ...]:
    """A name's words without an article at its start."""
    words = words_of(name)
    return words[1:] if len(words) > 1 and words[0] in _LEADING else words
