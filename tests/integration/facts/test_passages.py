"""The index of passages on every kind of Chroma: what is found, from where, and what an update does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support_agent.config.facts import Ways
from support_agent.config.settings import ChromaSettings
from support_agent.errors import TransientError
from support_agent.facts.chunks import Source, in_characters, page_source
from support_agent.facts.index import Collection, open_client
from support_agent.facts.passages import FEW_SOURCES, PassageIndex
from tests.integration.facts.conftest import OpenPassages, chroma_server
from tests.unit.facts.words import WordEmbedder

WAYS = pytest.mark.parametrize("ways", list(Ways))
REFUNDS = page_source(
    "document:1",
    "Refund policy",
    "You can ask for a refund within thirty days. We pay it to the card that paid.\n\n"
    "Setup fees are not returned. Ask the desk about them.",
)
PASSWORD = page_source("document:6", "Password and sign-in", "Reset a forgotten password on the sign-in page.")
PLANS = page_source("document:8", "Change your plan", "An upgrade begins at once. A downgrade begins next month.")
SOURCES = [REFUNDS, PASSWORD, PLANS]


def many(count: int) -> list[Source]:
    """Sources that are alike but for a number."""
    return [
        page_source(f"document:{n}", f"Notice {n}", f"Notice number {n} tells of plan {n % 7}.") for n in range(count)
    ]


@WAYS
def test_a_passage_points_to_the_sentences_that_answer(open_passages: OpenPassages, ways: Ways) -> None:
    """Rule: in each way, the nearest first, each with its source and the positions of whole sentences."""
    index = open_passages(WordEmbedder(), ways)
    index.update(SOURCES)
    best, *others = index.find("are setup fees returned", 3)
    assert (best.source, best.first, best.last) == ("document:1", 2, 3)
    assert best.text == "Setup fees are not returned. Ask the desk about them."
    assert all(0 < passage.score <= best.score for passage in others)
    assert [passage.source for passage in index.find("forgotten password", 1)] == ["document:6"]


@WAYS
def test_a_title_counts_for_each_chunk_of_its_source(open_passages: OpenPassages, ways: Ways) -> None:
    """Rule: "upgrade begins at once" says nothing of plans; its title does; what is handed on is the text alone."""
    index = open_passages(WordEmbedder(), ways)
    index.update(SOURCES)
    (found,) = index.find("change plan", 1)
    assert found.source == "document:8"
    assert "Change your plan" not in found.text


@WAYS
@pytest.mark.parametrize("count", [20, FEW_SOURCES * 2 + 100])
def test_nothing_is_found_outside_the_allowed_sources(open_passages: OpenPassages, ways: Ways, count: int) -> None:
    """Rule: the nearest of what is allowed, as many as asked for, however near the others are and however few it is."""
    sources = many(count)
    index = open_passages(WordEmbedder(), ways)
    index.update(sources)
    for allowed in (
        {"document:3"},
        {f"document:{n}" for n in range(count) if n % 7 == 2},
        {source.key for source in sources} - {"document:9"},
    ):
        found = index.find("notice number 9 of plan 2", 5, allowed)
        assert {passage.source for passage in found} <= allowed
        assert len(found) == min(5, len(allowed))
    assert index.find("notice number 9 of plan 2", 1)[0].source == "document:9"


@WAYS
def test_what_is_not_allowed_takes_no_place(open_passages: OpenPassages, ways: Ways) -> None:
    """Story: all that was looked at first was not allowed, and of what was, nothing was found."""
    sources = many(FEW_SOURCES * 2 + 100)
    index = open_passages(WordEmbedder(), ways)
    index.update(sources)
    allowed = {source.key for number, source in enumerate(sources) if number % 7 != 2}
    assert len(index.find("plan 2. plan 2. plan 2.", 5, allowed)) == 5


@WAYS
def test_no_allowed_source_and_no_source_find_nothing(open_passages: OpenPassages, ways: Ways) -> None:
    """Rule: an empty set is not "all", an unknown source is none, and an index before its first update is empty."""
    index = open_passages(WordEmbedder(), ways)
    assert index.find("refund", 3) == ()
    assert index.version == ""
    index.update(SOURCES)
    assert index.find("refund", 3, frozenset()) == ()
    assert index.find("refund", 3, {"document:99"}) == ()
    index.update([])
    assert index.find("refund", 3) == ()


def test_by_meaning_the_nearest_are_those_of_an_exhaustive_comparison(open_passages: OpenPassages) -> None:
    """Rule: the search may be approximate, what it finds first is right, also where few of many are allowed."""
    embedder = WordEmbedder()
    sources = many(900)
    index = open_passages(embedder, Ways.VECTORS)
    index.update(sources)
    vectors = embedder.embed([f"{source.title}\n{source.sentences[0].text}" for source in sources])
    for allowed in (None, {source.key for source in sources[::2]}, {source.key for source in sources[::30]}):
        cosines = vectors @ embedder.embed(["what does notice 240 tell of plan 2."])[0]
        nearest = [n for n in np.argsort(-cosines) if allowed is None or sources[n].key in allowed]
        found = index.find("what does notice 240 tell of plan 2.", 3, allowed)
        scores = [cosines[int(passage.source.removeprefix("document:"))] for passage in found]
        assert scores == pytest.approx([cosines[n] for n in nearest[:3]], abs=1e-5)


def test_an_update_embeds_changed_sources_only_and_forgets_what_is_gone(open_passages: OpenPassages) -> None:
    """Rule: a changed document costs its own chunks, not the company's."""
    embedder = WordEmbedder()
    index = open_passages(embedder, Ways.BOTH)
    assert index.update(SOURCES) == len(embedder.embedded) == 4
    embedder.embedded.clear()
    changed = page_source("document:6", "Password and sign-in", "Passwords are history: use a passkey.")
    assert index.update([REFUNDS, changed, PLANS]) == 1
    assert embedder.embedded == ["Password and sign-in\nPasswords are history: use a passkey."]
    assert index.find("passkey", 1)[0].text == "Passwords are history: use a passkey."
    index.update([PLANS])
    assert {passage.source for passage in index.find("refund password", 9)} == {"document:8"}


def test_the_version_follows_from_the_sources_the_model_the_cut_and_the_ways(open_passages: OpenPassages) -> None:
    """Rule: order and history do not matter; what could change an answer does."""
    index = open_passages(WordEmbedder(), Ways.BOTH)
    index.update(SOURCES)
    version = index.version
    index.update([PASSWORD])
    assert index.version != version
    index.update(list(reversed(SOURCES)))
    assert index.version == version
    retitled = PLANS.model_copy(update={"title": "Plans"})
    index.update([REFUNDS, PASSWORD, retitled])
    assert index.version != version
    for embedder, ways in ((WordEmbedder("other words"), Ways.BOTH), (WordEmbedder(), Ways.VECTORS)):
        other = open_passages(embedder, ways)
        other.update(SOURCES)
        assert other.version != version


def test_what_another_process_put_there_is_not_found(open_passages: OpenPassages) -> None:
    """Story: two processes on one server, one with yesterday's documents; each finds in its own, or finds less."""
    old, new = (open_passages(WordEmbedder(), Ways.VECTORS) for _ in range(2))
    old.update(SOURCES)
    new.update([PLANS, page_source("document:9", "Passwords", "A password has twelve letters.")])
    assert {passage.source for passage in old.find("password", 9)} == {"document:8"}
    assert {passage.source for passage in new.find("password", 9)} == {"document:8", "document:9"}


def test_a_folder_keeps_the_vectors_for_the_next_process(tmp_path: Path) -> None:
    """Rule: a start embeds nothing that was embedded before, and finds the same."""
    settings = ChromaSettings(path=tmp_path / "chroma")
    client = open_client(settings)
    first = PassageIndex(Collection(client, "passages"), WordEmbedder(), in_characters(80, 20), Ways.BOTH)
    first.update(SOURCES)
    found = first.find("setup fees", 9)
    client.close()  # type: ignore[attr-defined]  # the port does not name what every client has
    embedder = WordEmbedder()
    again = PassageIndex(Collection(open_client(settings), "passages"), embedder, in_characters(80, 20), Ways.BOTH)
    assert again.update(SOURCES) == 0
    assert embedder.embedded == []
    assert (again.version, again.find("setup fees", 9)) == (first.version, found)


def test_an_update_that_failed_leaves_the_sources_of_before(tmp_path: Path) -> None:
    """Story: the server died; the update and the search say so as what may pass, and nothing is half new."""
    with chroma_server(tmp_path) as (url, process):
        collection = Collection(open_client(ChromaSettings(url=url)), "passages")
        index = PassageIndex(collection, WordEmbedder(), in_characters(80, 20), Ways.BOTH)
        index.update(SOURCES)
        version = index.version
        process.kill()
        process.wait()
        with pytest.raises(TransientError, match="chroma"):
            index.update([PLANS])
        assert index.version == version
        with pytest.raises(TransientError, match="chroma"):
            index.find("refund", 3)
