"""The graph of the entities in the company's sentences; it finds the sentences around a text's entities.

Two entities are related if one sentence names both; the edge lists these sentences. Invariant: for any extractor, an
entity is in each of its sentences or in the heading above; no source has more than its share of the graph; the same
sources give the same graph in any order. tests/unit/facts/graph/test_graph.py checks it with hostile documents and
extractors.
Source: GE-Chat (2025): the knowledge graph, and the sub-graph of two hops around the entities of an answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import combinations, islice
from typing import NamedTuple

import networkx as nx  # type: ignore[import-untyped]

from support_agent.core.frozen import Frozen
from support_agent.facts.chunks import Source
from support_agent.facts.graph.extraction import ENTITY_WORDS, Extraction, Extractor, checked, checksum_of
from support_agent.facts.name_words import key_of, stems_of
from support_agent.tools.fact_trace import SentenceRange, sentence_at

MAX_ENTITIES = 50_000
MAX_ENTITIES_PER_SOURCE = 500
"""Most entities of a source, so that no document crowds out the others; the most frequent ones stay."""
MAX_EDGES = 250_000
MATCHED_WORDS = 1_000
"""Most words to match of a text."""
MATCHED_ENTITIES = 32
"""Most entities to match of a text, in the order of mention."""
SUBGRAPH_ENTITIES = 256
"""Most entities of a sub-graph: the nearest, then the rarest, as very frequent names lead nowhere."""
SUBGRAPH_PLACES = 128
PLACES_PER_ENTITY = 512
"""Most sentences to read of an entity; very frequent entities say little."""


_Place = tuple[str, int]
"""A sentence in the graph: its source and position."""
Pair = tuple[str, str]
"""The keys of two entities, in the order of the alphabet."""


class Subgraph(Frozen):
    """The surroundings of some entities.

    `entities` are the keys with their distance in hops, nearest first; `places` are the sentences that name them, the
    best ones first.
    """

    entities: tuple[tuple[str, int], ...] = ()
    places: tuple[SentenceRange, ...] = ()


class Made(NamedTuple):
    """The origin of one source's part of a graph: its checksum and the name of the extractor."""

    source: str
    checksum: str
    by: str


class Graph:
    """Entities as nodes, relations as edges; created by `graph_of`, then immutable."""

    def __init__(self, graph: nx.Graph, made: Sequence[Made]) -> None:
        self._graph = graph
        self.made = tuple(made)

    @cached_property
    def version(self) -> str:
        """sha256 over the sources and the extractors' names, in hex."""
        digest = hashlib.sha256()
        for part in self.made:
            digest.update("".join(f"{len(text)}:{text}" for text in part).encode())
        return digest.hexdigest()

    @property
    def n_entities(self) -> int:
        return int(self._graph.number_of_nodes())

    @property
    def n_edges(self) -> int:
        return int(self._graph.number_of_edges())

    def places(self, key: str, sources: AbstractSet[str] | None = None) -> tuple[SentenceRange, ...]:
        """The first sentences that name an entity, in these sources or in all; limited."""
        return tuple(sentence_at(*place) for place in self._naming(key, sources))

    def _naming(self, key: str, sources: AbstractSet[str] | None) -> Iterable[_Place]:
        return islice(_of_sources(self._graph.nodes[key]["places"], sources), PLACES_PER_ENTITY)

    def joining(self, keys: Iterable[str], sources: AbstractSet[str]) -> dict[Pair, tuple[SentenceRange, ...]]:
        """The related pairs among some entities, each in the order of the alphabet, with the sentences that name both.

        Args:
            keys: Keys of entities; unknown ones are ignored.
            sources: Only pairs and sentences of these sources.
        """
        among = self._graph.subgraph(keys).edges(data="places")
        found = {tuple(sorted((one, other))): places for one, other, places in among}
        kept = {pair: [place for place in found[pair] if place[0] in sources] for pair in found}
        return {pair: tuple(sentence_at(*place) for place in kept[pair]) for pair in sorted(kept) if kept[pair]}

    def match(self, text: str) -> tuple[str, ...]:
        """Keys of the entities a text names, the longest name at each word, in the text's order."""
        words, found, start = stems_of(text)[:MATCHED_WORDS], dict[str, None](), 0
        while start < len(words) and len(found) < MATCHED_ENTITIES:
            ends = range(min(len(words), start + ENTITY_WORDS), start, -1)
            key, end = next(
                ((key, end) for end in ends if (key := " ".join(words[start:end])) in self._graph), ("", start + 1)
            )
            if key:
                found[key] = None
            start = end
        return tuple(found)

    def around(self, entities: Sequence[str], *, hops: int, sources: AbstractSet[str] | None = None) -> Subgraph:
        """The sub-graph within some hops of the entities, and its sentences.

        Args:
            entities: Keys as `match` returns them; unknown ones are ignored.
            hops: 0 is the entities themselves.
            sources: Only sentences of these, and only related entities that these name; None: all.
        """
        near = self._near([key for key in dict.fromkeys(entities) if key in self._graph], hops, sources)
        return Subgraph(entities=tuple(near.items()), places=self._places(near, sources))

    def _near(self, known: Sequence[str], hops: int, sources: AbstractSet[str] | None) -> dict[str, int]:
        """Entities by distance, nearest first, up to the limit."""
        near = dict.fromkeys(known, 0)
        ring: Iterable[str] = known
        for distance in range(1, hops + 1):
            beyond = {key for entity in ring for key in self._graph[entity]} - near.keys()
            named = [key for key in beyond if self._is_named(key, sources)]
            ring = sorted(named, key=lambda key: (self._graph.degree(key), key))[: SUBGRAPH_ENTITIES - len(near)]
            near |= dict.fromkeys(ring, distance)
        return near

    def _is_named(self, key: str, sources: AbstractSet[str] | None) -> bool:
        return sources is None or not self._graph.nodes[key]["places"].keys().isdisjoint(sources)

    def _places(self, near: Mapping[str, int], sources: AbstractSet[str] | None) -> tuple[SentenceRange, ...]:
        """The sentences that name the entities; near and rare entities weigh more."""
        weights: Counter[_Place] = Counter()
        for key, distance in near.items():
            node = self._graph.nodes[key]
            rarity = 1.0 / (1.0 + node["n_places"]) ** 0.5
            for place in self._naming(key, sources):
                weights[place] += rarity / (1 + distance)
        ranked = sorted(weights.items(), key=lambda item: (-round(item[1], 9), item[0]))
        return tuple(sentence_at(*place) for place, _ in ranked[:SUBGRAPH_PLACES])


def graph_of(
    sources: Iterable[Source],
    extractor: Extractor,
    *,
    max_entities: int = MAX_ENTITIES,
    max_entities_per_source: int = MAX_ENTITIES_PER_SOURCE,
    max_edges: int = MAX_EDGES,
) -> Graph:
    """The graph of some sources; of two with one key the last counts.

    Limits keep the entities that most sources, then most sentences name, and the edges with most sentences.

    Args:
        sources: Whole documents, in any order.
        extractor: Called for every source; `written_extraction.KeptExtractor` asks a model once per content.
    Raises:
        SupportAgentError: raised by the extractor's model; there is no partial graph.
    """
    by_key = {source.key: source for source in sources}
    ordered = [by_key[key] for key in sorted(by_key)]
    made: list[Made] = []
    found: list[Rows] = []
    for source in ordered:
        extraction = checked(extractor.extract(source), source)
        made.append(Made(source.key, checksum_of(source), extraction.by))
        found.append(_bounded(extraction, max_entities_per_source))
    return Graph(_joined([source.key for source in ordered], found, max_entities, max_edges), made)


Rows = list[tuple[str, ...]]
"""The keys of the entities of each sentence of one source."""


def _bounded(extraction: Extraction, most: int) -> Rows:
    """The keys of a source's most frequent entities."""
    rows = [tuple(map(key_of, names)) for names in extraction.entities]
    counts = Counter(key for row in rows for key in row)
    if len(counts) <= most:
        return rows
    kept = set(sorted(counts, key=lambda key: (-counts[key], key))[:most])
    return [tuple(key for key in row if key in kept) for row in rows]


def _joined(keys: Sequence[str], found: Sequence[Rows], max_entities: int, max_edges: int) -> nx.Graph:
    kept = _most_named(found, max_entities)
    graph = nx.Graph()
    for source, rows in zip(keys, found, strict=True):
        _add_entities(graph, source, rows, kept)
    _add_edges(graph, keys, found, kept, max_edges)
    return graph


def _most_named(found: Sequence[Rows], most: int) -> frozenset[str]:
    """The entities of the graph: those in most sources, then in most sentences."""
    sources: Counter[str] = Counter()
    sentences: Counter[str] = Counter()
    for rows in found:
        sources.update({key for row in rows for key in row})
        sentences.update(key for row in rows for key in row)
    best = sorted(sources, key=lambda key: (-sources[key], -sentences[key], key))[:most]
    return frozenset(best)


def _add_entities(graph: nx.Graph, source: str, rows: Rows, kept: frozenset[str]) -> None:
    for index, row in enumerate(rows):
        for key in row:
            if key in kept:
                if key not in graph:
                    graph.add_node(key, places={}, n_places=0)
                node = graph.nodes[key]
                node["places"].setdefault(source, []).append(index)
                node["n_places"] += 1


def _of_sources(places: Mapping[str, Sequence[int]], sources: AbstractSet[str] | None) -> Generator[_Place]:
    """An entity's sentences in these sources, in the order of their keys."""
    for source in places if sources is None else sorted(places.keys() & sources):
        for index in places[source]:
            yield source, index


def _add_edges(graph: nx.Graph, keys: Sequence[str], found: Sequence[Rows], kept: frozenset[str], most: int) -> None:
    """Relate the entities of each sentence, up to the limit."""
    places: dict[Pair, list[_Place]] = defaultdict(list)
    for source, rows in zip(keys, found, strict=True):
        for index, row in enumerate(rows):
            for pair in combinations(sorted(kept.intersection(row)), 2):
                places[pair].append((source, index))
    for pair in sorted(places, key=lambda pair: (-len(places[pair]), pair))[:most]:
        graph.add_edge(*pair, places=places[pair])
