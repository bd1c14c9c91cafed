"""Passages by topic and by words: where is looked, in which order, and what is never found."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest

from support_agent.config.facts import Ways
from support_agent.facts.chunks import in_characters, page_source
from support_agent.facts.documents_first import DOCUMENTS, DocumentsFirst
from support_agent.facts.index import Collection, memory_client
from support_agent.facts.passages import PassageIndex
from support_agent.tools.base import Match
from tests.unit.facts.words import WordEmbedder

NAMES = count(1)
REFUNDS = page_source(
    "document:1", "Refunds", "Money goes back within a week.\n\nBank fees are never paid back by us.\n\nAsk by mail."
)
PLANS = page_source("document:2", "Plans", "A plan may change at once.\n\nMoney is taken each month.")
ERRORS = page_source("document:3", "Errors", "HF-W12 says that the disk is full.")
LEGAL = page_source("document:4", "Legal", "Our seat is in Berlin.")
OTHER = page_source("document:5", "Other", "Nothing else stands here.")
SOURCES = (REFUNDS, PLANS, ERRORS, LEGAL, OTHER)
EVERY = frozenset(source.key for source in SOURCES)


class FixedTopics:
    """`Topics` that finds the same for each text."""

    def __init__(self, *topics: str) -> None:
        self.topics = topics

    def nearest(self, text: str) -> Sequence[Match]:
        return [Match(topic=topic, score=1 - place / 100) for place, topic in enumerate(self.topics)]


def passages(ways: Ways = Ways.BOTH) -> PassageIndex:
    """An index in memory of all sources, a passage a paragraph."""
    index = PassageIndex(
        Collection(memory_client(), f"documents-first-{next(NAMES)}"), WordEmbedder(), in_characters(50, 0), ways
    )
    index.update(SOURCES)
    return index


def test_by_meaning_only_the_nearest_documents_are_retrieved() -> None:
    """Rule: a passage that is alike in words of no weight, in a document about something else, takes no place."""
    topics = FixedTopics("field:plan", "document:4", "series:payments", "document:5", "document:1", "document:2")
    index = passages(Ways.VECTORS)
    found = DocumentsFirst(topics, index, EVERY).find("money is taken each month", 20)
    assert {passage.source for passage in found} == {"document:4", "document:5", "document:1"}
    assert index.find("money is taken each month", 1)[0].source == "document:2"


def test_the_second_place_is_that_of_the_words_wherever_they_stand() -> None:
    """The failure: "HF-W12" was near no topic, so its document was never looked into."""
    retriever = DocumentsFirst(FixedTopics("document:1", "document:4", "document:5"), passages(), EVERY)
    found = retriever.find("money goes back with hf-w12", 4)
    assert [passage.source for passage in found[:2]] == ["document:1", "document:3"]
    assert len({(passage.source, passage.first) for passage in found}) == len(found) == 4


def test_words_that_found_what_meaning_found_give_their_next() -> None:
    """Rule: the second place is used by the words, also where both ways agree on the first."""
    retriever = DocumentsFirst(FixedTopics("document:1", "document:4", "document:5"), passages(), EVERY)
    found = retriever.find("money goes back within a week hf-w12", 2)
    assert passages(Ways.WORDS).find("money goes back within a week hf-w12", 1)[0].source == "document:1"
    assert [passage.source for passage in found] == ["document:1", "document:3"]


def test_one_passage_is_the_nearest() -> None:
    """Rule: where there is room for one only, it is not that of the words."""
    (found,) = DocumentsFirst(FixedTopics("document:4"), passages(), EVERY).find("money goes back", 1)
    assert found.source == "document:4"


@pytest.mark.parametrize("ways", list(Ways))
def test_nothing_is_found_outside_the_allowed_documents(ways: Ways) -> None:
    """Rule: neither by a topic nor by words; a topic that is not allowed takes no document's place."""
    topics = FixedTopics("document:3", "document:5", "document:4", "document:2")
    found = DocumentsFirst(topics, passages(ways), frozenset({"document:2"})).find("hf-w12 money each month", 20)
    assert {passage.source for passage in found} == {"document:2"}
    assert DocumentsFirst(topics, passages(ways), frozenset()).find("hf-w12 money", 20) == ()


def test_where_no_topic_is_near_all_allowed_documents_are_retrieved() -> None:
    """Rule: a company without topics is searched all the same."""
    found = DocumentsFirst(FixedTopics("field:plan"), passages(Ways.VECTORS), EVERY).find("money", 20)
    assert {passage.source for passage in found} == EVERY
    assert len(EVERY) > DOCUMENTS


def test_by_words_alone_the_topics_are_not_asked() -> None:
    """Rule: who searches by words alone embeds nothing."""

    class Silent(FixedTopics):
        def nearest(self, text: str) -> Sequence[Match]:
            raise AssertionError("the topics were asked")

    found = DocumentsFirst(Silent(), passages(Ways.WORDS), EVERY).find("hf-w12", 4)
    assert [passage.source for passage in found] == ["document:3"]


@pytest.mark.parametrize("other", [Ways.VECTORS, Ways.BOTH])
def test_an_index_is_not_searched_in_a_way_that_it_does_not_have(other: Ways) -> None:
    """The failure: an index without vectors found nothing by meaning, and nobody was told why."""
    with pytest.raises(ValueError, match="cannot be searched by"):
        passages(Ways.WORDS).find("money", 1, ways=other)
