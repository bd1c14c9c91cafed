"""Entities are linked by whole names, the longest one, and never by a guess."""

from __future__ import annotations

import pytest

from support_agent.facts.graph.entities import Entity, Linker


@pytest.fixture
def linker() -> Linker:
    return Linker(
        [
            Entity(key="plus", name="Acme Plus"),
            Entity(key="family", name="Acme Plus Family", aliases=("Family Plan",)),
            Entity(key="kin", name="Family"),
            Entity(key="house", name="The Lensfield House", aliases=("Lensfield",)),
            Entity(key="north", name="Rosa's North", aliases=("Rosa",)),
            Entity(key="south", name="Rosa's South", aliases=("Rosa",)),
            Entity(key="nameless", name="?!"),
        ]
    )


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("What does ACME  plus cost?", ("plus",)),
        ("Is acme plus family more than the family plan?", ("family",)),
        ("Acme Plus for my family", ("plus", "kin")),
        ("Acme Plus, or Acme Plus Family?", ("plus", "family")),
        ("the family plan or acme plus", ("family", "plus")),
        ("Is Lensfield House quiet?", ("house",)),
        ("Is the Lensfield quiet?", ("house",)),
        ("Rosa\u2019s South, please", ("south",)),
        ("What of Rosa's?", ("north", "south")),
        ("Acme Plush, Acmeplus and acme. Plus", ("plus",)),
        ("Nothing here?!", ()),
        ("", ()),
    ],
)
def test_a_text_names_entities(linker: Linker, text: str, keys: tuple[str, ...]) -> None:
    """Rule: the longest name counts, an article is no part of it, and a shared name names all who bear it."""
    assert linker.link(text) == keys


def test_a_key_names_one_entity() -> None:
    with pytest.raises(ValueError, match="'plus'"):
        Linker([Entity(key="plus", name="Plus"), Entity(key="plus", name="Minus")])


def test_a_question_is_about_what_it_names_or_what_was_named_last(linker: Linker) -> None:
    context = ("What then?", "Is Lensfield quiet?", "Acme Plus?")
    assert linker.about("And Acme Plus?", context) == ("plus",)
    assert linker.about("And breakfast?", context) == ("house",)
    assert linker.about("And breakfast?") == ()


def test_sources_are_about_entities_and_entities_have_sources() -> None:
    shared = ("document:3",)
    linker = Linker(
        [Entity(key="a", name="A1", sources=("document:1", *shared)), Entity(key="b", name="B1", sources=shared)]
    )
    assert linker.sources_of(["a"]) == {"document:1", "document:3"}
    assert linker.sources_of([]) == frozenset()
    assert linker.entities_of("document:3") == {"a", "b"}
    assert linker.entities_of("document:9") == frozenset()


def test_nothing_is_linked_where_nothing_is_known() -> None:
    assert Linker([]).link("Acme Plus") == ()
