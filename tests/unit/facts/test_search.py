"""The search: what speaks for each topic, whole and by sentence, by kind of text, and as far as a language is read."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np
import pytest

from support_agent.errors import TransientError
from support_agent.facts import search as module
from support_agent.facts.index import Index, IndexEntry, memory_client
from support_agent.facts.search import MAX_SENTENCES, CompanySearch, fluency, nearness, whole_and_sentences
from support_agent.facts.topics import Topic
from support_agent.models.embedding.port import Role, Vectors
from tests.unit.tools.fakes import document

WORDS = ("refund", "password", "invoice", "cat")
REFUND = Topic(key="document:1", title="Refund", summary="Money back.", questions=("My refund?",))
PASSWORD = Topic(key="document:6", title="Password", sections=("Password: Lost. Ask for a new password.",))


class WordEmbedder:
    """A text is the words of `WORDS` that it holds, and a little of nothing."""

    name = "words"
    dimensions = len(WORDS) + 1

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        self.asked += texts
        rows = [[float(word in text.lower()) for word in WORDS] + [0.1] for text in texts]
        vectors = np.array(rows, dtype=np.float32)
        return cast(Vectors, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def search(request: pytest.FixtureRequest, embedder: WordEmbedder) -> CompanySearch:
    name = f"search-{abs(hash(request.node.name)) % 10**8}"
    made = CompanySearch({"minilm": embedder}, {"minilm": Index(memory_client(), embedder, name=name)})
    made.update([REFUND, PASSWORD])
    return made


def test_a_text_is_embedded_once_until_the_topics_change(search: CompanySearch, embedder: WordEmbedder) -> None:
    before = search.nearest("a lost invoice")
    assert search.nearest("a lost invoice") == before
    assert embedder.asked.count("a lost invoice") == 1
    search.update([REFUND, PASSWORD, Topic(key="document:10", title="Invoice")])
    assert search.nearest("a lost invoice")[0].topic == "document:10"


def test_a_customers_text_never_reaches_the_embedder_that_keeps_vectors(embedder: WordEmbedder) -> None:
    """Rule: topics and documents are embedded by it, and what is asked by the other, at each use of a text."""
    own, asked = WordEmbedder(), "a lost invoice"
    made = CompanySearch(
        {"minilm": embedder}, {"minilm": Index(memory_client(), own, name="search-own")}, own={"minilm": own}
    )
    made.update([REFUND, PASSWORD])
    made.nearest(asked)
    made.read([asked])
    made.sections(asked, document(9, "## Yearly plans\n\nWithin 30 days.\n\n## Others\n\nNever."))
    made.similarities(asked, ["an answer"])
    assert asked in embedder.asked
    assert asked not in own.asked
    assert "Within 30 days." in " ".join(own.asked)
    assert "Within 30 days." not in " ".join(embedder.asked)


def test_only_new_texts_are_embedded_again(search: CompanySearch) -> None:
    assert search.update([REFUND, PASSWORD]) == 0
    assert search.update([REFUND, PASSWORD, Topic(key="document:10", title="Invoice")]) == 1


def test_the_nearest_topic_comes_first(search: CompanySearch) -> None:
    assert [match.topic for match in search.nearest("I want a refund")] == ["document:1", "document:6"]


def test_one_sentence_that_asks_is_not_drowned_by_a_story(search: CompanySearch) -> None:
    """The whole is as near to the cat and the invoice as to the password; the sentence is about the password alone."""
    story = "My cat sat on an invoice. The password is lost again."
    best = search.nearest(story)[0]
    whole = search.nearest("My cat sat on an invoice and the password is lost again")[0]
    assert best.topic == whole.topic == "document:6"
    assert best.score > whole.score


def test_each_kind_of_text_has_a_likeness_of_its_own_and_what_is_missing_has_none(search: CompanySearch) -> None:
    refund, password = sorted(search.nearest("refund"), key=lambda match: match.topic)
    assert refund.signals is not None
    assert password.signals is not None
    assert set(refund.signals.likeness["minilm"]) == {"head", "question"}
    assert set(password.signals.likeness["minilm"]) == {"head", "section"}
    assert (refund.signals.examples, password.signals.examples) == (1, 0)


def test_the_classifier_and_the_words_are_fitted_to_the_topics(search: CompanySearch) -> None:
    refund, password = sorted(search.nearest("refund"), key=lambda match: match.topic)
    assert refund.signals is not None
    assert password.signals is not None
    assert (refund.signals.classifier or 0) > (password.signals.classifier or 0)
    assert (refund.signals.words or 0) > (password.signals.words or 0)


def test_with_many_topics_the_vector_store_proposes_and_these_alone_are_fitted_to(
    search: CompanySearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FITTED", 1)
    search.update([REFUND, PASSWORD, Topic(key="document:10", title="Invoice")])
    signals = {match.topic: match.signals for match in search.nearest("my invoice")}
    best, other = signals["document:10"], signals[REFUND.key]
    assert next(iter(signals)) == "document:10"
    assert best is not None
    assert other is not None
    assert (best.classifier or 0) > (other.classifier or 0)
    assert (best.words or 0) > (other.words or 0)


def test_a_company_without_topics_finds_nothing(search: CompanySearch) -> None:
    search.update([])
    assert search.nearest("refund") == ()


def test_words_that_fall_into_many_pieces_are_not_read_fluently() -> None:
    assert fluency("my money", lambda texts: [2]) > 0.9
    assert fluency("Rückerstattung bitte", lambda texts: [7]) < 0.1
    assert 0 <= fluency("", lambda texts: [0]) <= 1


def test_similarities_are_one_a_text_in_order(search: CompanySearch) -> None:
    near, far = search.similarities("refund", ["a refund", "a cat"])
    assert near > 0.9 > far


def test_the_version_is_that_of_what_was_indexed(search: CompanySearch) -> None:
    before = search.version
    search.update([REFUND])
    assert len(before) >= 32
    assert search.version != before


def test_a_piece_is_read_with_its_topics_in_memory_and_from_the_store(
    search: CompanySearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here,) = search.read(["my password?"])
    monkeypatch.setattr(module, "MOST_FITTED", 1)
    search.update([REFUND, PASSWORD])
    (stored,) = search.read(["my password?"])
    assert here.is_marked
    assert max(here.near, key=lambda topic: here.near[topic]) == "document:6"
    assert here.near == pytest.approx(stored.near)


def test_without_topics_a_piece_is_near_to_nothing(search: CompanySearch) -> None:
    search.update([])
    assert search.read(["my password?"])[0].near == {}


def test_how_a_text_is_phrased_is_learnt_from_the_examples_once(search: CompanySearch, embedder: WordEmbedder) -> None:
    """Two thousand examples are not embedded again for the next question, and a text only once."""
    examples = (("total", ("in total", "the sum")), ("none", ("reset it", "where is it")))
    assert search.phrased("the sum, please", examples)["total"] > 0.5
    before = len(embedder.asked)
    search.phrased("the sum, please", examples)
    assert len(embedder.asked) == before
    search.phrased("where is that", examples)
    assert len(embedder.asked) == before + 1


def test_threads_that_ask_at_once_fit_the_phrasing_once(search: CompanySearch, embedder: WordEmbedder) -> None:
    """Each fit takes three seconds and both cores."""
    examples = (("total", tuple(f"sum {number}" for number in range(200))), ("none", ("reset it",)))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: search.phrased(f"text {number}", examples), range(4)))
    assert embedder.asked.count("sum 7") == 1


def test_a_company_of_one_topic_is_searched(search: CompanySearch) -> None:
    """The failure: every mail to a company with a single topic crashed."""
    search.update([Topic(key="document:1", title="Refund")])
    (match,) = search.nearest("my refund?")
    assert match.signals is not None
    assert match.signals.classifier is not None


def test_an_index_that_another_process_is_changing_is_not_searched(
    search: CompanySearch, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic would get the vectors of another: the mail is tried again."""
    monkeypatch.setattr(module, "MOST_FITTED", 1)
    search.update([REFUND, PASSWORD])
    other = Index(memory_client(), embedder, name=f"beside-{id(search)}")
    other.update([IndexEntry(key="document:99", kind="head", text="A refund of another company")])
    monkeypatch.setattr(search, "_indexes", {"minilm": other})
    with pytest.raises(TransientError, match="another process"):
        search.nearest("a refund that was never asked for")


def test_the_sections_of_a_document_are_weighed_once_for_a_question(
    search: CompanySearch, embedder: WordEmbedder
) -> None:
    """The look, the model's pick and the tool that sends all ask."""
    policy = document(4, "## Refund\n\nA refund.\n\n## Password\n\nA password.\n")
    first = search.sections("where is my refund", policy)
    assert search.sections("where is my refund", policy) == first
    assert embedder.asked.count("where is my refund") == 1


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Where is my parcel?", []),
        ("We moved last week. Where is my parcel? Thanks.", ["We moved last week.", "Where is my parcel?"]),
        ("", []),
    ],
)
def test_a_text_of_several_sentences_is_compared_by_each_that_says_something(text: str, parts: list[str]) -> None:
    """The whole always comes first; one sentence is the whole already."""
    assert whole_and_sentences(text) == [text, *parts]


def test_a_long_story_is_compared_by_its_first_sentences() -> None:
    """What a mail costs is bounded."""
    assert len(whole_and_sentences("And so it went on. " * 200)) == 1 + MAX_SENTENCES


def test_what_counts_is_the_mean_of_the_whole_and_of_its_nearest_sentence() -> None:
    """For each text that is compared with; the whole alone where it has no sentences."""
    assert nearness(np.array([[0.2, 0.4], [0.8, 0.0], [0.1, 0.6]])).tolist() == pytest.approx([0.5, 0.5])
    assert nearness(np.array([[0.2, 0.4]])).tolist() == [0.2, 0.4]
