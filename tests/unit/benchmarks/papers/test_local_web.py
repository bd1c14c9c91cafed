"""The local web: who knows which page, and that the product's own sources read it."""

from __future__ import annotations

from support_agent.config.search import Service
from support_agent.facts.web.merged_search import MergedSearch
from support_agent.facts.web.open_search import open_sources
from tests.benchmarks.papers.local_web import DELAYS_S, articles_of, known_by, local_web
from tests.fakes_search import HandClock
from tests.unit.facts.words import WordEmbedder

ARTICLES = articles_of([(f"Mill number {number}!", f"The mill is {number} metres tall.") for number in range(12)])


def test_every_page_is_known_to_a_source_and_no_source_knows_all() -> None:
    """Rule: for any seed; the same seed gives each the same pages, another one others."""
    for seed in range(20):
        known = known_by(ARTICLES, seed)
        assert set(known) == set(DELAYS_S) == set(Service)
        assert {article for own in known.values() for article in own} == set(ARTICLES)
        assert all(0 < len(own) < len(ARTICLES) for own in known.values())
    assert known_by(ARTICLES, 1) == known_by(ARTICLES, 1) != known_by(ARTICLES, 2)


def test_addresses_have_the_words_of_the_title() -> None:
    """Rule: the company's own site is read by its addresses; two pages of one title are two."""
    twice = articles_of([("The Mill (1911)", "a"), ("The Mill (1911)", "b")])
    assert [article.slug for article in twice] == ["the-mill-1911-0", "the-mill-1911-1"]


def test_the_products_sources_find_their_own_pages() -> None:
    """Rule: every service answers as the real one does; what each shows is a page that it knows."""
    known = known_by(ARTICLES, 3)
    with local_web(known, delay=0.0) as settings:
        search = MergedSearch(open_sources(settings, HandClock()), WordEmbedder(), settings, HandClock())
        found = search.find("How tall is the mill?", 100)
    texts = {service.value: {article.text for article in own} for service, own in known.items()}
    assert {name for passage in found for name in passage.found_by} == set(texts)
    for passage in found:
        assert all(passage.text.removeprefix("Home\n") in texts[name] for name in passage.found_by)
