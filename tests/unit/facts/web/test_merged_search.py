"""Sources are merged so that each costs only itself, and nothing is asked or embedded twice."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from support_agent.config.search import SearchSettings
from support_agent.errors import ConfigError, TransientError
from support_agent.facts.web.merged_search import MergedSearch
from support_agent.facts.web.sources import WebSource
from tests.fakes_search import HandClock, MeetingSource, ScriptedSource, page
from tests.unit.facts.words import WordEmbedder

REFUNDS = page("refunds", "Refunds take five days.\nWrite to us first.")
CATS = page("cats", "A cat sleeps all day.")
QUESTION = "how long do refunds take"
N = 10


def search_over(
    *sources: WebSource, embedder: WordEmbedder | None = None, clock: HandClock | None = None, **settings: Any
) -> MergedSearch:
    """A search over these sources."""
    section = SearchSettings(**{"timeout_s": 0.05, **settings})
    return MergedSearch(sources, embedder or WordEmbedder(), section, clock or HandClock())


def test_the_nearest_chunk_comes_first_with_its_pointer_and_who_found_it() -> None:
    """Rule: a passage says where it stands: address, first and last sentence."""
    search = search_over(ScriptedSource("a", CATS), ScriptedSource("b", REFUNDS))
    first, second = search.find(QUESTION, N)
    assert (first.source, first.first, first.last, first.found_by) == (REFUNDS.address, 0, 1, ("b",))
    assert (first.heading, first.text) == ("Refunds", "Refunds take five days. Write to us first.")
    assert second.source == CATS.address
    assert 1 >= first.score > second.score
    assert len(search.find(QUESTION, 1)) == 1


def test_all_sources_are_asked_at_the_same_time() -> None:
    """Each of these answers only once the other has been asked too; one after the other they would wait for ever."""
    meeting: list[str] = []
    sources = [MeetingSource(name, meeting, 2, REFUNDS) for name in "ab"]
    (found,) = search_over(*sources).find(QUESTION, N)
    assert found.found_by == ("a", "b")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (ScriptedSource("bad", REFUNDS, hangs=True), "0.05 s"),
        (ScriptedSource("bad", REFUNDS, error=TransientError("bad answered HTTP 500")), "HTTP 500"),
        (ScriptedSource("bad", REFUNDS, error=ConfigError("check search.serper_key")), "serper_key"),
        (ScriptedSource("bad", REFUNDS, error=RecursionError("deep")), "RecursionError"),
    ],
)
def test_a_source_that_fails_costs_only_itself(bad: ScriptedSource, why: str) -> None:
    """Rule: the others' passages are the same as without it, and the log says what happened."""
    good = ScriptedSource("good", CATS)
    with capture_logs() as events:
        found = search_over(bad, good).find(QUESTION, N)
    assert found == search_over(good).find(QUESTION, N)
    (event,) = events
    assert (event["event"], event["source"]) == ("search_source_failed", "bad")
    assert why in event["why"]


def test_where_no_source_answers_nothing_is_found() -> None:
    """Which is no error: the one who asked says that it does not know."""
    assert search_over(ScriptedSource("a", error=TransientError("no")), ScriptedSource("b")).find(QUESTION, N) == ()
    assert search_over().find(QUESTION, N) == ()


def test_a_question_is_asked_once_while_the_answer_is_kept() -> None:
    """Rule: what failed is asked again at once, what was found when it is too old; nothing is embedded again."""
    clock, embedder = HandClock(), WordEmbedder()
    good, bad = ScriptedSource("good", REFUNDS), ScriptedSource("bad", error=TransientError("no"))
    search = search_over(good, bad, embedder=embedder, clock=clock, cache_max_age_s=60)
    first = search.find(QUESTION, N)
    assert len(embedder.embedded) == len(set(embedder.embedded)) == 2
    assert search.find(QUESTION, N) == first
    assert (len(good.asked), len(bad.asked)) == (1, 2)
    assert len(embedder.embedded) == 2
    clock.move(60)
    assert search.find(QUESTION, N) == first
    assert len(good.asked) == 2


def test_what_another_question_found_is_embedded_once_and_not_found_for_this_one() -> None:
    """A page that one question brought in must not stay for all others: it may be poisoned."""
    embedder = WordEmbedder()
    source = ScriptedSource("a", REFUNDS)
    search = search_over(source, embedder=embedder)
    search.find(QUESTION, N)
    source.pages = (CATS,)
    assert [passage.source for passage in search.find("is a refund slow", N)] == [CATS.address]
    source.pages = (CATS, REFUNDS)
    search.find("refunds for a cat", N)
    assert embedder.embedded.count("A cat sleeps all day.") == 1
    assert embedder.embedded.count("Refunds take five days. Write to us first.") == 1


def test_a_page_in_full_stands_for_its_excerpts_and_names_all_who_found_it() -> None:
    """Else two texts would share one pointer."""
    shown = page("refunds", "Refunds take one day!", is_excerpt=True)
    passages = search_over(ScriptedSource("liar", shown), ScriptedSource("b", REFUNDS)).find(QUESTION, N)
    assert [(one.text, one.found_by) for one in passages] == [
        ("Refunds take five days. Write to us first.", ("liar", "b"))
    ]


def test_the_excerpt_of_one_source_displaces_no_other() -> None:
    """A source that lies about a page cannot keep out what another shows of it."""
    lie = page("refunds", "Refunds are never paid.", is_excerpt=True)
    truth = page("refunds", "Refunds take five days.", is_excerpt=True)
    passages = search_over(ScriptedSource("liar", lie), ScriptedSource("b", truth)).find(QUESTION, N)
    assert {(one.text, one.found_by) for one in passages} == {(lie.text, ("liar",)), (truth.text, ("b",))}


def test_one_text_on_many_pages_is_one_passage() -> None:
    """Else a page copied a hundred times would be all that is found."""
    copies = [page(f"copy{number}", REFUNDS.text) for number in range(100)]
    passages = search_over(ScriptedSource("a", *copies), ScriptedSource("b", CATS)).find(QUESTION, N)
    assert [one.source for one in passages] == [copies[0].address, CATS.address]


def test_a_source_that_sends_a_lot_is_not_embedded_more_than_another() -> None:
    """Else it would cost all the others their time; what shares words with the question goes first."""
    flood = page("flood", "\n".join(f"{number} {'cats ' * 70}sleep." for number in range(50)) + "\nRefunds take long.")
    embedder = WordEmbedder()
    search = search_over(ScriptedSource("a", flood), ScriptedSource("b", CATS), embedder=embedder, chunks_per_source=3)
    found = search.find(QUESTION, N)
    assert len(embedder.embedded) == 1 + 3 + 1
    assert any("Refunds take long." in passage.text for passage in found)
    assert {passage.found_by for passage in found} == {("a",), ("b",)}


def test_sources_are_asked_the_public_query() -> None:
    """Rule: whoever asks, nothing else is sent."""
    mail = "I am anna@mail.example, order 4711-2223-99. How long do refunds take?"
    source = ScriptedSource("a", REFUNDS)
    search_over(source).find(mail, N)
    assert source.asked == ["I am order . How long do refunds take?"]


def test_a_question_of_nothing_is_asked_of_nobody() -> None:
    source = ScriptedSource("a", REFUNDS)
    assert search_over(source).find("  anna@mail.example \x00 ", N) == ()
    assert source.asked == []
