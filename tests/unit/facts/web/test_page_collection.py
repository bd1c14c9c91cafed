"""What pages say is searched in Chroma, each search among its own texts, and no text is embedded twice while held."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from chromadb.api.models.Collection import Collection as ChromaCollection
from chromadb.errors import InternalError

from support_agent.errors import TransientError
from support_agent.facts.index import memory_client
from support_agent.facts.web.bounded_cache import ENTRY_BYTES
from support_agent.facts.web.page_collection import PageCollection, PageText
from tests.unit.facts.words import WordEmbedder

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CAT, DOG, BIRD = (
    PageText(f"a {name} sleeps", "site", f"https://example.org/{name}") for name in ("cat", "dog", "bird")
)
ENTRY = ENTRY_BYTES + 4 * WordEmbedder.dimensions


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def pages(embedder: WordEmbedder) -> PageCollection:
    """One minute, five texts."""
    return PageCollection(embedder, max_age_s=60, max_bytes=5 * ENTRY)


def exact(question: str, texts: Sequence[PageText]) -> list[tuple[int, float]]:
    """What each text's own vector says."""
    asked, *vectors = WordEmbedder().embed([question, *(text.text for text in texts)])
    scores = [float(vector @ asked) for vector in vectors]
    return sorted(enumerate(scores), key=lambda entry: -entry[1])


def stored() -> list[dict[str, Any]]:
    """What Chroma holds of the last collection of pages."""
    collections = [one for one in memory_client().list_collections() if one.name.startswith("pages-")]
    newest = max(collections, key=lambda one: int(one.name.partition("-")[2]))
    return [dict(metadata) for metadata in newest.get(include=["metadatas"])["metadatas"] or []]


def test_the_nearest_text_comes_first_with_its_cosine(pages: PageCollection) -> None:
    """Rule: each text that is given has its place, also one that stands there twice."""
    found = pages.nearest("does a dog bark", [CAT, DOG, CAT], NOW)
    assert [position for position, _ in found] == [1, 0, 2]
    assert dict(found) == pytest.approx(dict(exact("does a dog bark", [CAT, DOG, CAT])))


def test_chroma_is_told_whose_text_it_is_and_since_when(pages: PageCollection, embedder: WordEmbedder) -> None:
    """Rule: the text itself is not kept there, and of the question nothing but its vector."""
    pages.nearest("a dog", [DOG], NOW)
    assert sorted(stored(), key=lambda entry: str(entry["address"])) == [
        {"source": "", "address": "", "when": NOW.timestamp()},
        {"source": "site", "address": DOG.address, "when": NOW.timestamp()},
    ]


def test_a_text_is_embedded_once_while_it_is_held(pages: PageCollection, embedder: WordEmbedder) -> None:
    """Rule: at its age it is embedded again, and so is one from the future, left by a clock that was ahead."""
    pages.nearest("a dog", [CAT, DOG], NOW)
    pages.nearest("a dog", [BIRD, CAT], NOW + timedelta(seconds=59))
    assert embedder.embedded == ["a dog", CAT.text, DOG.text, BIRD.text]
    pages.nearest("a dog", [CAT], NOW + timedelta(seconds=60))
    assert embedder.embedded[4:] == ["a dog", CAT.text]
    pages.nearest("a dog", [CAT], NOW)
    assert embedder.embedded[6:] == ["a dog", CAT.text]


def test_what_another_search_brought_in_is_not_found(pages: PageCollection) -> None:
    """A page that answers one question may be poisoned: it must not stand among the others' passages."""
    pages.nearest("a dog", [DOG], NOW)
    ((place, score),) = pages.nearest("a dog", [CAT], NOW)
    assert place == 0
    assert score == pytest.approx(exact("a dog", [CAT])[0][1])


def test_the_collection_does_not_outgrow_its_bound(pages: PageCollection, embedder: WordEmbedder) -> None:
    """Rule: the oldest give their places; what the search in hand needs stays, and what is too old is overwritten."""
    for number in range(20):
        pages.nearest("a dog", [DOG, PageText(f"text {number}", "site", f"https://example.org/{number}")], NOW)
    assert embedder.embedded.count("a dog") == embedder.embedded.count(DOG.text) == 1
    assert {each["address"] for each in stored()} == {
        "", DOG.address, *(f"https://example.org/{number}" for number in (17, 18, 19))
    }  # fmt: skip
    pages.nearest("a cat", [CAT, BIRD], NOW + timedelta(seconds=60))
    assert len(stored()) == 5
    assert {CAT.address, BIRD.address} < {each["address"] for each in stored()}


@pytest.mark.parametrize("bounds", [{"max_age_s": 60, "max_bytes": 0}, {"max_age_s": 0, "max_bytes": 10**6}])
def test_the_result_is_right_where_nothing_may_be_kept(bounds: dict[str, int], embedder: WordEmbedder) -> None:
    """Rule: keeping is for time, never for the result; and the places are used again."""
    pages = PageCollection(embedder, **bounds)
    for texts in ([CAT, DOG], [BIRD, CAT], [DOG, BIRD]):
        found = pages.nearest("a dog", texts, NOW)
        assert [position for position, _ in found] == [position for position, _ in exact("a dog", texts)]
    assert len(stored()) <= 5


def test_a_text_that_the_graph_does_not_lead_to_is_found_all_the_same(
    pages: PageCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure's story: where 160 entries were replaced 500 times, a quarter of the searches missed some."""
    expected = pages.nearest("a dog", [CAT, DOG, BIRD], NOW)
    ask = ChromaCollection.query

    def forgetful(self: ChromaCollection, **asked: Any) -> Any:
        found = ask(self, **asked)
        return {"ids": [found["ids"][0][1:]], "distances": [found["distances"][0][1:]]}  # type: ignore[index]

    monkeypatch.setattr(ChromaCollection, "query", forgetful)
    found = pages.nearest("a dog", [CAT, DOG, BIRD], NOW)
    assert [position for position, _ in found] == [position for position, _ in expected]
    assert np.allclose([score for _, score in found], [score for _, score in expected])


@pytest.mark.parametrize("is_written", [True, False])
def test_a_change_that_fails_leaves_no_text_with_anothers_vector(
    is_written: bool, pages: PageCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: an id whose entry may have been overwritten is nobody's; the next search embeds what it needs."""
    texts = [PageText(f"text {number}", "", "") for number in range(3)]
    for text in texts:
        pages.nearest("a dog", [text], NOW)
    write = ChromaCollection.upsert

    def breaks(self: ChromaCollection, **given: Any) -> None:
        if is_written:
            write(self, **given)
        raise InternalError("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(ChromaCollection, "upsert", breaks)
        with pytest.raises(TransientError):
            pages.nearest("a bird", [CAT, DOG, BIRD], NOW)
    assert dict(pages.nearest("text 1", [CAT, *texts], NOW)) == pytest.approx(dict(exact("text 1", [CAT, *texts])))


def test_threads_share_it(embedder: WordEmbedder) -> None:
    """Rule: each has its own result, and a text that two of them bring is embedded once."""
    pages = PageCollection(embedder, max_age_s=60, max_bytes=100 * ENTRY)
    sets = [[DOG, *(PageText(f"text {thread} {number}", "", "") for number in range(8))] for thread in range(8)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda texts: pages.nearest("a dog text 3", texts, NOW), sets))
    for texts, nearest in zip(sets, found, strict=True):
        assert dict(nearest) == pytest.approx(dict(exact("a dog text 3", texts)))
    assert len(embedder.embedded) == len(set(embedder.embedded))
