"""The part of the graph that people see for a question: the entities of its draft's steps and their surroundings.

Invariant: it is limited, names only what is in the allowed sources, and is the same for the same steps. Checked by
tests/unit/facts/graph/test_shown.py.
Source: GE-Chat (2025), which draws the sub-graph of two hops beside the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from support_agent.core.frozen import Frozen
from support_agent.facts.chunks import Source
from support_agent.facts.graph.extraction import ENTITY_WORDS, LOOKED_AT, heading_of
from support_agent.facts.graph.graph import Graph, Pair, Subgraph
from support_agent.facts.name_words import stems_of
from support_agent.tools.fact_trace import SentenceRange

STEP_ENTITIES = 12
ENTITIES = 24
"""Most entities, including those of the steps: more cannot be read in one picture."""
RELATIONS = 48
NAME_CHARACTERS = 80
_AROUND = " .,;:!?¡¿()[]{}<>\"'“”„«»`*_|"
"""Characters removed from the ends of a name."""


class GraphEntity(Frozen):
    """An entity near a draft's steps: its name as a sentence writes it, and its distance, 0 for the steps' own."""

    name: str
    hops: int


class GraphRelation(Frozen):
    """Two entities of an `EntityGraph`, by their positions in it, and a sentence that names both."""

    one: int
    other: int
    pointer: SentenceRange


class EntityGraph(Frozen):
    """The shown part of the sub-graph around a draft's steps; limited by `ENTITIES` and `RELATIONS`."""

    entities: tuple[GraphEntity, ...] = ()
    relations: tuple[GraphRelation, ...] = ()


def shown(
    graph: Graph,
    near: Subgraph,
    sources: Mapping[str, Source],
    chosen: AbstractSet[SentenceRange],
    *,
    among: AbstractSet[str],
) -> EntityGraph:
    """The shown part of a sub-graph: the steps' entities, those named beside them in evidence, then the nearest.

    Args:
        graph: The graph of the sub-graph.
        near: The entities around the steps'.
        sources: The sources of the graph, by key.
        chosen: The sentences that are evidence.
        among: Only entities that these sources name.
    """
    places = {key: _standing(graph.places(key, among), sources) for key, _ in near.entities}
    hops = {key: distance for key, distance in near.entities if places[key]}
    joined = {pair: found for pair, all_ in graph.joining(hops, among).items() if (found := _standing(all_, sources))}
    kept = _kept(sorted(hops, key=lambda key: (hops[key] > 0, chosen.isdisjoint(places[key]))), hops, joined)
    names = [_name(key, sources, _best(places[key], chosen)) for key in kept]
    entities = [GraphEntity(name=name, hops=hops[key]) for name, key in zip(names, kept, strict=True)]
    return EntityGraph(entities=tuple(entities), relations=tuple(_relations(kept, hops, joined, chosen)))


def _standing(places: Iterable[SentenceRange], sources: Mapping[str, Source]) -> list[SentenceRange]:
    """The existing sentences: the graph may be older than the sources."""
    return [place for place in places if place.source in sources and place.first < len(sources[place.source].sentences)]


def _kept(ranked: Sequence[str], hops: Mapping[str, int], joined: Mapping[Pair, Sequence[SentenceRange]]) -> list[str]:
    """The first entities; one that no step names must be related to an earlier one."""
    kept = [key for key in ranked if hops[key] == 0][:STEP_ENTITIES]
    related: dict[str, set[str]] = {}
    for one, other in joined:
        related.setdefault(one, set()).add(other)
        related.setdefault(other, set()).add(one)
    for key in ranked:
        if hops[key] > 0 and len(kept) < ENTITIES and not related.get(key, set()).isdisjoint(kept):
            kept.append(key)
    return kept


def _relations(
    kept: Sequence[str],
    hops: Mapping[str, int],
    joined: Mapping[Pair, Sequence[SentenceRange]],
    chosen: AbstractSet[SentenceRange],
) -> list[GraphRelation]:
    """Relations that evidence states first, then those that lead away from the steps."""
    order = {key: number for number, key in enumerate(kept)}
    best = {pair: _best(places, chosen) for pair, places in joined.items() if order.keys() >= set(pair)}
    ends = {pair: sorted(order[key] for key in pair) for pair in best}
    away = {(one, other): hops[one] != hops[other] for one, other in best}
    ranked = sorted(best, key=lambda pair: (best[pair] not in chosen, not away[pair], ends[pair]))[:RELATIONS]
    return [GraphRelation(one=ends[pair][0], other=ends[pair][1], pointer=best[pair]) for pair in ranked]


def _best(places: Sequence[SentenceRange], chosen: AbstractSet[SentenceRange]) -> SentenceRange:
    """A sentence that is evidence, or else the first one."""
    return next((place for place in places if place in chosen), places[0])


def _name(key: str, sources: Mapping[str, Source], place: SentenceRange) -> str:
    """The entity as its sentence, or the heading above, writes it."""
    sentence = sources[place.source].sentences[place.first]
    texts = (sentence.text, heading_of(sentence, sources[place.source]))
    return next(filter(None, (_written(key, text[:LOOKED_AT]) for text in texts)), key)[:NAME_CHARACTERS]


def _written(key: str, text: str) -> str:
    """The words of the text with this key, or ""."""
    words, sought = text.split(), tuple(key.split())
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + ENTITY_WORDS) + 1):
            name = " ".join(words[start:end])
            if stems_of(name) == sought:
                return name.strip(_AROUND)
    return ""
