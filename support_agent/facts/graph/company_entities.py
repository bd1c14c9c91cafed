"""The entities that the company's documents distinguish, for the linker: found in their titles, by rules.

An entity is a name that is the only difference between the titles of two documents ("Installation on Windows",
"Installation on Linux"): what is true for one is wrong for the other. Only these count, because an entity in a question
excludes the passages of all others, so a wrong entity costs more than a missing one. A word is a name if documents
hardly ever write it in lower case (and do so with common nouns), or if its letters mark it ("macOS", "VAT", "X200").

The same documents give the same entities in any order. Checked by tests/unit/facts/graph/test_company_entities.py.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from support_agent.facts.chunks import Source
from support_agent.facts.graph.entities import Entity, Linker
from support_agent.facts.graph.extraction import ENTITY_WORDS, LOOKED_AT
from support_agent.facts.name_words import words_of

MOST_CAPITALS = 0.2
"""Largest share of capitalised words inside sentences; a document above it capitalises nouns, as in German."""
MOST_TITLES = 0.5
"""Largest share of titles with a name; a more common name is the company's own and distinguishes nothing."""

MOST_SMALL = 0.1
"""Largest share of a name's occurrences in lower case, as in a command or a file name."""

_ADDRESS = re.compile(r"\S*[/\\@]\S*")
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_MARKED = re.compile(r"\w*(?:[^\W\d_][A-Z]|[A-Z]{2}|[A-Za-z]\d|\d[A-Za-z])\w*")

Words = tuple[str, ...]


def entities_of(sources: Iterable[Source]) -> tuple[Entity, ...]:
    """The entities of some documents, by key; `sources` of each are the documents whose title names it.

    Args:
        sources: The company's documents, whole.
    """
    ordered = sorted(sources, key=lambda source: source.key)
    names = _names(ordered)
    parts = {part for words in names for part in _parts(words)}
    entities = [_entity(words, names) for words in sorted(names.keys() - parts)]
    linker = Linker(entities)
    titles: dict[str, list[str]] = defaultdict(list)
    for source in ordered:
        for key in linker.link(source.title):
            titles[key].append(source.key)
    most = MOST_TITLES * len(ordered)
    about = (entity.model_copy(update={"sources": tuple(titles[entity.key])}) for entity in entities)
    return tuple(entity for entity in about if 0 < len(entity.sources) <= most)


def _entity(words: Words, names: Mapping[Words, str]) -> Entity:
    """A name that is part of a longer one is an alias of it: "Plus" of "Acme Plus"."""
    aliases = [names[part] for part in sorted(_parts(words)) if part in names]
    return Entity(key=" ".join(words), name=names[words], aliases=tuple(aliases))


def _parts(words: Words) -> set[Words]:
    """The runs of words within a name, without the whole."""
    runs = {words[start:end] for start, end in combinations(range(len(words) + 1), 2)}
    return runs - {words}


def _names(sources: Sequence[Source]) -> dict[Words, str]:
    """The names in which two titles differ: as written, by their words."""
    writing = _Writing(sources)
    by_rest: dict[tuple[Words, Words], dict[Words, str]] = defaultdict(dict)
    for source in sources:
        for before, name, after in writing.names_in(source.title):
            by_rest[words_of(before), words_of(after)].setdefault(words_of(name), name)
    return {words: name for names in by_rest.values() if len(names) > 1 for words, name in sorted(names.items())}


class _Writing:
    """How often the documents write each word with a capital inside sentences, and how often in lower case."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._small: Counter[str] = Counter()
        self._capital: Counter[str] = Counter()
        for source in sources:
            words = [word for sentence in source.sentences for word in _inner_words(sentence.text)]
            self._small.update(word for word in words if word[0].islower())
            capital = [word for word in words if word[0].isupper()]
            if len(capital) <= MOST_CAPITALS * len(words):
                self._capital.update(capital)

    def names_in(self, title: str) -> Iterable[tuple[str, str, str]]:
        """(before, name, after) of each run of words of a title that may be a name."""
        words = list(_WORD.finditer(title))
        for start, end in combinations(range(len(words) + 1), 2):
            if end - start <= ENTITY_WORDS and all(self._is_name(word.group()) for word in words[start:end]):
                first, last = words[start].start(), words[end - 1].end()
                yield title[:first], title[first:last], title[last:]

    def _is_name(self, word: str) -> bool:
        n_small, n_capital = self._small[word.lower()], self._capital[word]
        return bool(_MARKED.fullmatch(word)) or (n_capital > 0 and n_small <= MOST_SMALL * (n_small + n_capital))


def _inner_words(text: str) -> list[str]:
    """The words of a sentence without the first one and without addresses."""
    return _WORD.findall(_ADDRESS.sub(" ", text[:LOOKED_AT]))[1:]
