"""The graph of entities: what is joined, what surrounds a question, and what hostile documents cannot do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_agent.facts.chunks import Source
from support_agent.facts.graph.extraction import RuleExtractor
from support_agent.facts.graph.graph import (
    MATCHED_ENTITIES,
    SUBGRAPH_ENTITIES,
    SUBGRAPH_PLACES,
    Graph,
    Subgraph,
    graph_of,
)
from support_agent.facts.name_words import key_of
from support_agent.tools.fact_trace import sentence_at
from tests.unit.facts.graph.fakes import FixedExtractor, source

SHOP = (
    source("document:1", "We ask Anna about Bergen.", "We like Bergen and Chur.", "We like Chur and Delft."),
    source("document:2", "We like Delft and Essen.", "Nothing here."),
)


def shop(*extra: Source) -> Graph:
    """Anna - Bergen - Chur - Delft - Essen."""
    return graph_of([*SHOP, *extra], RuleExtractor())


def test_what_one_sentence_names_is_joined_by_it() -> None:
    """Rule: one hop leads to what stands in one sentence with it, and to nothing else."""
    assert shop().n_edges == 4
    assert shop().around(["bergen"], hops=1).entities == (("bergen", 0), ("anna", 1), ("chur", 1))


def test_where_a_bound_cuts_the_most_named_pairs_stay_joined() -> None:
    """Rule: a pair that two sentences name goes before a pair that one names."""
    again = source("document:3", "We like Chur and Delft again.")
    graph = graph_of([*SHOP, again], RuleExtractor(), max_edges=1)
    assert graph.around(["chur"], hops=1).entities == (("chur", 0), ("delft", 1))
    assert graph.n_edges == 1


def test_two_hops_reach_the_neighbours_of_neighbours_and_no_further() -> None:
    """Rule: distances in hops; the sentences that name the nearest entities first."""
    found = shop().around(shop().match("Where is Anna?"), hops=2)
    assert found.entities == (("anna", 0), ("bergen", 1), ("chur", 2))
    assert found.places[0] == sentence_at("document:1", 0)
    assert sentence_at("document:2", 0) not in found.places
    assert sentence_at("document:1", 2) in found.places


def test_a_cycle_ends() -> None:
    """Rule: each entity once, by its shortest way."""
    ring = source("document:3", *(f"We like Town{n} and Town{(n + 1) % 5}." for n in range(5)))
    assert dict(shop(ring).around(["town0"], hops=9).entities) == {
        "town0": 0, "town1": 1, "town4": 1, "town2": 2, "town3": 2,
    }  # fmt: skip


def test_only_the_sources_asked_for_are_shown() -> None:
    """Rule: their sentences alone, and beyond the entities themselves only what they name."""
    found = shop().around(["chur"], hops=2, sources={"document:2"})
    assert found.entities == (("chur", 0), ("delft", 1), ("essen", 2))
    assert found.places == (sentence_at("document:2", 0),)


def test_many_other_documents_do_not_hide_the_one_asked_for() -> None:
    """The failure's story: the rarest 256 of a thousand neighbours were taken, none of them this document's."""
    others = [source(f"document:{n}", f"We like Hub and Item{n}.") for n in range(3, 600)]
    own = source("document:600", "We like Hub and Common.", "We like Common and Wanted.")
    graph = graph_of([*others, own, source("document:601", "We like Common.")], RuleExtractor())
    found = graph.around(["hub"], hops=2, sources={"document:600"})
    assert ("wanted", 2) in found.entities
    assert set(found.places) == {sentence_at("document:600", 0), sentence_at("document:600", 1)}


def test_a_text_matches_the_longest_name_it_holds() -> None:
    """Rule: spelling and plural do not matter; a name inside a longer one is not matched by itself."""
    graph = graph_of([source("document:1", "We take Apple Pay.", "We sell Apple juice and Apples.")], RuleExtractor())
    assert graph.match("does APPLE PAY work, or an apple?") == ("apple pay", "apple")
    assert graph.match("nothing of it") == ()


def test_unknown_entities_lead_nowhere() -> None:
    """Rule: no error, nothing found."""
    assert shop().around(["mars", ""], hops=2) == Subgraph()
    assert graph_of([], RuleExtractor()).around(["anna"], hops=2) == Subgraph()


def test_order_does_not_matter_and_a_name_counts_once() -> None:
    """Rule: the graph follows from the materials; of two of one name the last is taken."""
    one, other = shop(), graph_of(reversed(SHOP), RuleExtractor())
    assert one.version == other.version
    assert one.around(["chur"], hops=3) == other.around(["chur"], hops=3)
    changed = source("document:2", "We like Zug.")
    again = shop(changed)
    assert again.version != one.version
    assert again.match("Essen, Zug") == ("zug",)


def test_another_source_gives_another_version() -> None:
    """Rule: one changed sentence, title or key is another graph; the same sources are the same one."""
    extractor = FixedExtractor(("Anna",))
    first = graph_of(SHOP, extractor)
    assert graph_of(reversed(SHOP), extractor).version == first.version
    for change in ({"title": "Towns"}, {"key": "document:3"}, {"sentences": SHOP[1].sentences[:1]}):
        assert graph_of([SHOP[0], SHOP[1].model_copy(update=change)], extractor).version != first.version


def test_what_stood_in_for_an_extractor_gives_another_version() -> None:
    """Rule: the version says who found what is in the graph, not who was asked."""
    extractor = FixedExtractor(("Anna",))
    extractor.extraction = extractor.extraction.model_copy(update={"by": "rules"})
    first = graph_of(SHOP, extractor)
    extractor.extraction = extractor.extraction.model_copy(update={"by": "fixed"})
    assert graph_of(SHOP, extractor).version != first.version


def test_another_extractor_gives_another_version() -> None:
    """Rule: a stored answer says what its graph was made by."""
    fixed = [graph_of(SHOP, FixedExtractor(name=name)) for name in ("one", "two")]
    assert fixed[0].version != fixed[1].version


def test_what_an_extractor_invents_is_not_in_the_graph() -> None:
    """Rule: the graph believes no extractor, also one that does not check itself."""
    graph = graph_of(SHOP[:1], FixedExtractor(("Anna", "Mars")))
    assert (graph.n_entities, graph.n_edges, graph.match("Mars")) == (1, 0, ())


def test_ten_thousand_entities_of_one_document_do_not_crowd_out_the_others() -> None:
    """Rule: a source has its share; the graph and what is read of it are bounded."""
    texts = [f"We list Hub, Item{n} and Item{(n * 7919) % 10_000} of it." for n in range(10_000)]
    hostile = source("document:9", *texts, "x" * 1_000_000)
    graph = graph_of([*SHOP, hostile], RuleExtractor(), max_entities=104, max_entities_per_source=100, max_edges=60)
    assert graph.n_entities == 104
    assert graph.n_edges <= 60
    wide = shop(hostile)
    assert wide.n_entities == 505
    assert wide.match("Anna and Bergen") == ("anna", "bergen")
    found = wide.around(["hub"], hops=2)
    assert len(found.entities) <= SUBGRAPH_ENTITIES
    assert len(found.places) == SUBGRAPH_PLACES
    assert len(wide.match(" ".join(f"Item{n}" for n in range(10_000)))) <= MATCHED_ENTITIES


names = st.sampled_from(["Anna", "Bergen", "Chur", "Delft", "Essen", "Apple Pay"])
sentences = st.lists(names, min_size=1, max_size=4).map(lambda names: f"We know {' and '.join(names)}.")
sources = st.lists(st.lists(sentences, max_size=4), max_size=4).map(
    lambda found: [source(f"document:{n}", *texts) for n, texts in enumerate(found)]
)


@given(sources, st.lists(names, max_size=3), st.integers(0, 3))
def test_every_place_names_an_entity_of_the_subgraph(given: list[Source], asked: list[str], hops: int) -> None:
    """Rule: what the graph leads to is there and says so; distances grow by one hop at most."""
    graph = graph_of(given, RuleExtractor())
    found = graph.around(graph.match(", ".join(asked)), hops=hops)
    by_source = {each.key: each for each in given}
    keys = [key for key, _ in found.entities]
    assert len(set(keys)) == len(keys)
    assert all(distance <= hops for _, distance in found.entities)
    for place in found.places:
        text = f" {key_of(by_source[place.source].sentences[place.first].text)} "
        assert any(f" {key} " in text for key in keys)
