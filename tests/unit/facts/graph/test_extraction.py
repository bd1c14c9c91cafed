"""What sentences speak of, and that nothing is invented."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.company.documents import load_documents
from support_agent.facts.chunks import Source, document_source
from support_agent.facts.graph.extraction import (
    ENTITIES_PER_SENTENCE,
    ENTITY_WORDS,
    LOOKED_AT,
    Extraction,
    RuleExtractor,
    checked,
    heading_of,
)
from support_agent.facts.name_words import key_of
from tests.unit.facts.graph.fakes import sentence, source

POLICIES = Path(__file__).parents[4] / "policies"
texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=80)
sentences = st.lists(st.tuples(texts, texts), max_size=4).map(
    lambda pairs: tuple(sentence(n, text, heading) for n, (text, heading) in enumerate(pairs))
)
sources = st.builds(Source, key=st.just("document:1"), title=texts, sentences=sentences)


def entities_of(text: str, *others: str, heading: str = "") -> set[str]:
    """What the rules find in the first of some sentences."""
    return set(RuleExtractor().extract(source("document:1", text, *others, heading=heading)).entities[0])


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("We refund within 14 days of purchase.", "14 days"),
        ("The plan costs $ 9.99 a month.", "$ 9.99"),
        ("Der Tarif kostet 9,99 € im Monat.", "9,99 €"),
        ('Click "Forgot password" on the sign-in page.', "Forgot password"),
        ("Öffnen Sie „Mein Konto“ im Menü.", "Mein Konto"),
        ("A seat means one person who may sign in.", "A seat"),
        ("You can pay with Apple Pay in the app.", "Apple Pay"),
        ("SAML is part of the Business plan.", "SAML"),
        ("Google Drive files are copied once.", "Google Drive"),
    ],
)
def test_a_mark_makes_an_entity(text: str, entity: str) -> None:
    """Rule: numbers with their unit, quoted terms, defined terms and capitalised ones are entities."""
    assert entity in entities_of(text)


def test_a_word_at_the_beginning_is_no_name_for_its_capital() -> None:
    """Rule: unless the same source writes it with a capital where no sentence begins."""
    assert "Refunds" not in entities_of("Refunds take a while.")
    assert "Harborfile" in entities_of("Harborfile keeps them.", "Open Harborfile first.")
    assert "Apple Pay" in entities_of("Use Apple Pay in the app.")


def test_what_a_heading_says_is_an_entity_of_its_sentences() -> None:
    """Rule: lower-case nouns, which no mark shows, are found by the headings' words."""
    found = entities_of("Choose a new password and save it.", heading="Reset a forgotten password")
    assert {"Reset a forgotten password", "password"} <= found


def test_stop_words_name_nothing() -> None:
    """Rule: "The" at a beginning and "You" in the middle are none."""
    assert entities_of("The rest is what You see.") == set()


def test_the_company_documents_give_entities_and_always_the_same() -> None:
    """Rule: no randomness and no order of a set; the demo's documents are full of entities."""
    documents = load_documents(POLICIES)
    first = [RuleExtractor().extract(document_source(document)) for document in documents]
    assert first == [RuleExtractor().extract(document_source(document)) for document in documents]
    named = [bool(names) for extraction in first for names in extraction.entities]
    assert sum(named) / len(named) > 0.9


@given(sources)
def test_what_the_rules_find_stands_in_the_text(given: Source) -> None:
    """Rule: whatever characters a text has, checking drops nothing that the rules found."""
    found = RuleExtractor().extract(given)
    assert checked(found, given).entities == tuple(
        tuple(" ".join(name.split()) for name in names) for names in found.entities
    )


@given(sources, st.lists(st.lists(texts, max_size=12).map(tuple), max_size=6).map(tuple))
def test_what_is_kept_stands_in_the_text_whoever_found_it(given: Source, entities: tuple[tuple[str, ...], ...]) -> None:
    """Rule: one tuple a sentence, bounded, each name in its sentence or heading."""
    kept = checked(Extraction(by="a liar", entities=entities), given)
    assert len(kept.entities) == len(given.sentences)
    for line, names in zip(given.sentences, kept.entities, strict=True):
        assert len(names) <= ENTITIES_PER_SENTENCE
        for name in names:
            assert f" {key_of(name)} " in f" {key_of(line.text)} | {key_of(heading_of(line, given))} "


def test_an_invented_entity_is_dropped() -> None:
    """Rule: a model that invents a refund of 90 days puts nothing into the graph."""
    given = source("document:1", "Refunds are made within 14 days.", "Ask support.")
    found = Extraction(by="a liar", entities=(("Refunds", "90 days", "14 days"), ("14 days",), ("Mars",)))
    assert checked(found, given).entities == (("Refunds", "14 days"), ())


def test_a_sentence_of_a_megabyte_gives_a_few_entities() -> None:
    """Rule: a hostile document costs what a long sentence costs, not more."""
    long = " and ".join(f"Name{number} Thing{number}" for number in range(60_000))
    assert len(long) > 1_000_000
    given = source("document:1", long)
    names = RuleExtractor().extract(given).entities[0]
    assert len(names) == ENTITIES_PER_SENTENCE
    behind = long[LOOKED_AT + 100 :].split(" and ")[1]
    kept = checked(Extraction(by="a liar", entities=((behind, *names),)), given)
    assert kept.entities == (names,)


def test_a_name_has_a_few_words_at_most() -> None:
    """Rule: a whole sentence is no entity, whatever the extractor says."""
    words = [f"word{number}x" for number in range(ENTITY_WORDS + 1)]
    text = " ".join(words)
    kept = checked(Extraction(by="a liar", entities=((text, " ".join(words[1:])),)), source("document:1", text))
    assert kept.entities == ((" ".join(words[1:]),),)
