"""What of the graph people are shown: bounded, in the documents' own words, and of the allowed documents alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_agent.facts.chunks import Source
from support_agent.facts.graph.extraction import RuleExtractor
from support_agent.facts.graph.graph import Subgraph, graph_of
from support_agent.facts.graph.shown import ENTITIES, NAME_CHARACTERS, RELATIONS, STEP_ENTITIES, EntityGraph, shown
from support_agent.tools.fact_trace import SentenceRange, sentence_at
from tests.unit.facts.graph.fakes import source

SHOP = (
    source("document:1", "We ask Anna about Bergen.", "We like Bergen and Chur.", "We like Chur and Delft."),
    source("document:2", "We like Bergen and Essen, and Anna.", "Nothing here."),
)
ALL = frozenset({"document:1", "document:2"})


def shown_of(
    text: str,
    *chosen: SentenceRange,
    sources: tuple[Source, ...] = SHOP,
    among: frozenset[str] = ALL,
    today: tuple[Source, ...] | None = None,
) -> EntityGraph:
    graph = graph_of(sources, RuleExtractor())
    near = graph.around(graph.match(text), hops=2, sources=among)
    return shown(graph, near, {one.key: one for one in today or sources}, set(chosen), among=among)


def names(graph: EntityGraph) -> list[tuple[str, int]]:
    return [(entity.name, entity.hops) for entity in graph.entities]


def related(graph: EntityGraph) -> set[tuple[str, str]]:
    return {(graph.entities[one.one].name, graph.entities[one.other].name) for one in graph.relations}


def test_entities_are_named_as_the_documents_write_them_with_what_relates_them() -> None:
    """Rule: not by the stems that the graph compares; each relation points at a sentence that names both."""
    found = shown_of("where is anna?")
    assert names(found)[0] == ("Anna", 0)
    assert {("Bergen", 1), ("Essen", 1), ("Chur", 2)} <= set(names(found))
    assert {("Anna", "Bergen"), ("Bergen", "Chur")} <= related(found)
    for relation in found.relations:
        (sentences,) = (one.sentences for one in SHOP if one.key == relation.pointer.source)
        text = sentences[relation.pointer.first].text
        assert all(found.entities[end].name in text for end in (relation.one, relation.other))


def test_what_evidence_names_comes_first() -> None:
    """Rule: it is what the picture is for; its relation points at the evidence and not at another sentence."""
    evidence = sentence_at("document:2", 0)
    found = shown_of("where is anna?", evidence)
    assert names(found)[1:3] in ([("Bergen", 1), ("Essen", 1)], [("Essen", 1), ("Bergen", 1)])
    first = found.relations[0]
    assert first.pointer == SentenceRange(source="document:2", first=0, last=0)


def test_relations_that_lead_away_from_the_steps_come_before_those_beside_them() -> None:
    """The failure's story: neighbours joined with each other took the room, and what is behind them hung in the air."""
    found = shown_of("where is anna?")
    hops = [abs(found.entities[one.one].hops - found.entities[one.other].hops) for one in found.relations]
    assert hops == sorted(hops, reverse=True)
    assert {0, 1} == set(hops)


def test_nothing_is_shown_of_documents_that_may_not_be_found() -> None:
    """Rule: neither their names, though a step says them, nor their sentences."""
    found = shown_of("where are Anna, Delft and Essen?", among=frozenset({"document:1"}))
    assert "Essen" not in dict(names(found))
    assert {relation.pointer.source for relation in found.relations} == {"document:1"}


def test_a_step_that_names_nothing_shows_nothing() -> None:
    assert shown_of("nobody we know") == EntityGraph()


def test_a_thousand_entities_are_a_picture_of_a_few() -> None:
    """Rule: its size is bounded, whatever the documents and the steps name."""
    crowd = source("document:1", *(f"We like Hub and Item{n} of Maker{n % 7}." for n in range(400)))
    found = shown_of("Hub, " + " ".join(f"Item{n}," for n in range(30)), sources=(crowd,))
    assert len(found.entities) == ENTITIES
    assert sum(entity.hops == 0 for entity in found.entities) == STEP_ENTITIES
    assert 0 < len(found.relations) <= RELATIONS
    assert all(len(entity.name) <= NAME_CHARACTERS for entity in found.entities)


def test_an_older_graph_shows_only_sentences_that_are_there() -> None:
    """Rule: a document that became shorter since has no sentence to point at."""
    shorter = SHOP[0].model_copy(update={"sentences": SHOP[0].sentences[:1]})
    found = shown_of("where is anna?", today=(shorter,))
    assert {(one.pointer.source, one.pointer.first) for one in found.relations} == {("document:1", 0)}


@given(st.lists(st.text(max_size=60), min_size=1, max_size=6), st.text(max_size=60))
def test_hostile_documents_are_shown_within_the_bounds(texts: list[str], step: str) -> None:
    """Rule: no text raises, and the same texts show the same."""
    hostile = source("document:1", *texts, heading=step)
    graph = graph_of([hostile], RuleExtractor())
    near = Subgraph(entities=tuple((key, 0) for key in graph.match(f"{step} {' '.join(texts)}")))
    found = shown(graph, near, {"document:1": hostile}, set(), among={"document:1"})
    assert len(found.entities) <= ENTITIES
    assert found == shown(graph, near, {"document:1": hostile}, set(), among={"document:1"})
