"""The index on every kind of Chroma: what is nearest, and what an update does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support_agent.errors import TransientError
from support_agent.facts.index import Entry, Index, Match, open_client
from support_agent.settings import ChromaSettings
from tests.integration.facts.conftest import OpenIndex, chroma_server
from tests.unit.facts.words import WordEmbedder

ENTRIES = [
    Entry(key="document:1", text="Refund policy"),
    Entry(key="document:1", text="how do i get my money back"),
    Entry(key="document:1", text="when is a payment returned"),
    Entry(key="document:6", text="Password reset and sign-in problems"),
    Entry(key="document:6", text="i forgot my password"),
    Entry(key="field:plan", text="the plan you are on"),
]
VERBS = ["cancel", "refund", "export", "delete", "invite", "reset", "upgrade", "pay", "change", "share"]
NOUNS = ["plan", "account", "invoice", "seat", "password", "storage", "link", "key", "folder", "device"]


def cosine(embedder: WordEmbedder, text: str, other: str) -> float:
    """How near two texts are."""
    one, two = embedder.embed([text, other])
    return float(one @ two)


def test_the_nearest_option_comes_first_with_the_cosine_of_its_best_texts(open_index: OpenIndex) -> None:
    """Rule: the score is that of the nearest text, and exact."""
    embedder = WordEmbedder()
    index = open_index(embedder)
    index.update(ENTRIES)
    question = "i forgot my password reset"
    best, *others = index.nearest(question, 3)
    scores = [cosine(embedder, question, entry.text) for entry in ENTRIES if entry.key == "document:6"]
    assert (best.key, best.text) == ("document:6", "i forgot my password")
    assert best.score == pytest.approx(max(scores), abs=1e-5)
    assert [match.score for match in others] == sorted((m.score for m in others), reverse=True)
    assert {match.key for match in others} == {"document:1", "field:plan"}


def test_several_texts_are_near_what_any_of_them_is_near(open_index: OpenIndex) -> None:
    """Rule: the sentences of a mail are asked together; an option counts by its nearest pair."""
    index = open_index(WordEmbedder())
    index.update(ENTRIES)
    together = {match.key: match.score for match in index.nearest(["money back", "forgot password"], 3)}
    alone = [{match.key: match.score for match in index.nearest(text, 3)} for text in ("money back", "forgot password")]
    for key, score in together.items():
        assert score == pytest.approx(max(scores[key] for scores in alone), abs=1e-5)


def test_an_update_embeds_only_what_is_new_and_forgets_what_is_gone(open_index: OpenIndex) -> None:
    """Rule: a changed summary costs one text, not the whole company."""
    embedder = WordEmbedder()
    index = open_index(embedder)
    assert index.update(ENTRIES) == len(ENTRIES)
    embedder.embedded.clear()
    changed = [*ENTRIES[:-1], Entry(key="field:plan", text="your subscription")]
    assert index.update(changed) == 1
    assert embedder.embedded == ["your subscription"]
    found = {match.key: match for match in index.nearest("the plan you are on", 3)}
    assert found["field:plan"].text == "your subscription"
    index.update(ENTRIES[:3])
    assert [match.key for match in index.nearest("i forgot my password", 5)] == ["document:1"]


def test_the_version_follows_from_the_entries_alone(open_index: OpenIndex) -> None:
    """Rule: order, repetition and history do not matter; any text does; and it is there on opening."""
    index = open_index(WordEmbedder())
    index.update(ENTRIES)
    version = index.version
    index.update([*ENTRIES[:2], Entry(key="document:2", text="Cancellation")])
    assert index.version != version
    assert index.update([*reversed(ENTRIES), ENTRIES[0]]) == len(ENTRIES) - 2
    assert index.version == version
    assert open_index(WordEmbedder()).version == version


def test_one_text_of_two_options_stays_with_both(open_index: OpenIndex) -> None:
    """Rule: an entry is its key and its text."""
    index = open_index(WordEmbedder())
    index.update([Entry(key="field:plan", text="payments"), Entry(key="series:payments", text="payments")])
    first, second = index.nearest("payments", 2)
    assert (first.key, second.key) == ("field:plan", "series:payments")
    assert first.score == pytest.approx(second.score)


def test_another_embedding_model_embeds_everything_again(open_index: OpenIndex) -> None:
    """Rule: vectors of two models are never compared with each other, and the version says which it was."""
    index = open_index(WordEmbedder())
    index.update(ENTRIES)
    other = open_index(WordEmbedder(name="other words"))
    assert other.update(ENTRIES) == len(ENTRIES)
    assert other.version != index.version
    assert len(other.nearest("i forgot my password", 9)) == 3


def test_an_index_without_entries_finds_nothing(open_index: OpenIndex) -> None:
    """Rule: nothing is near, which is no error; and neither is asking with no text."""
    index = open_index(WordEmbedder())
    assert index.nearest("anything", 3) == []
    index.update(ENTRIES)
    assert index.nearest([], 3) == []
    assert len(index.nearest("anything", 100)) == 3
    assert index.update([]) == 0
    assert index.nearest("anything", 3) == []


def test_an_option_of_many_texts_does_not_crowd_out_the_others(open_index: OpenIndex) -> None:
    """Rule: as many options as asked for, however many texts the nearest one has."""
    index = open_index(WordEmbedder())
    crowd = [Entry(key="document:1", text=f"refund my money {number}") for number in range(300)]
    index.update([*crowd, Entry(key="document:2", text="cancel the subscription")])
    assert [match.key for match in index.nearest("refund my money", 2)] == ["document:1", "document:2"]


def test_among_many_the_nearest_are_those_of_an_exhaustive_comparison(open_index: OpenIndex) -> None:
    """Rule: the search may be approximate, what it finds is right: more entries than are looked at."""
    embedder = WordEmbedder()
    index = open_index(embedder)
    entries = [
        Entry(key=f"document:{number}", text=f"{VERBS[number % 10]} my {NOUNS[number // 10 % 10]} {number}")
        for number in range(1500)
    ]
    index.update(entries)
    vectors = embedder.embed([entry.text for entry in entries])
    for question in ("refund my invoice 120", "please reset the password", "upgrade plan 7"):
        cosines = np.sort(vectors @ embedder.embed([question])[0])[::-1]
        found = [match.score for match in index.nearest(question, 6)]
        assert found == pytest.approx(cosines[:6].tolist(), abs=1e-5)


def test_a_folder_keeps_the_entries_for_the_next_process(tmp_path: Path) -> None:
    """Rule: a start embeds nothing that was embedded before."""
    settings = ChromaSettings(path=tmp_path / "chroma")
    first = open_client(settings)
    index = Index(first, WordEmbedder())
    index.update(ENTRIES)
    version, before = index.version, index.nearest("i forgot my password", 3)
    first.close()  # type: ignore[attr-defined]  # the port does not name what every client has
    embedder = WordEmbedder()
    again = Index(open_client(settings), embedder)
    assert again.version == version
    assert again.update(ENTRIES) == 0
    assert embedder.embedded == []
    assert _rounded(again.nearest("i forgot my password", 3)) == _rounded(before)


def test_a_server_that_does_not_answer_is_tried_again_later(tmp_path: Path) -> None:
    """Rule: at the start and in the middle, a dead server is a TransientError that names it."""
    with chroma_server(tmp_path) as (url, process):
        index = Index(open_client(ChromaSettings(url=url)), WordEmbedder())
        index.update(ENTRIES)
        process.kill()
        process.wait()
        with pytest.raises(TransientError, match="chroma"):
            index.nearest("i forgot my password", 3)
        with pytest.raises(TransientError, match="running"):
            open_client(ChromaSettings(url=url))


def _rounded(matches: list[Match]) -> list[tuple[str, float]]:
    return [(match.key, round(match.score, 5)) for match in matches]
