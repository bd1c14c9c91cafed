"""Which sentences of a document are sent: whole, in order, of the section likeliest to answer the question."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.company.documents import Document, Sentence
from support_agent.tools.excerpts import MAX_CHARACTERS, SURE_SECTION, choose_sentences
from tests.unit.tools.fakes import REFUNDS, FakeSearch, document


class Scores:
    """Gives the scores it was given, by position; all sections are as likely, or as likely as `chances` says."""

    def __init__(self, scores: list[float], chances: list[float] | None = None) -> None:
        self.scores = scores
        self.chances = chances

    def similarities(self, text: str, others: Any) -> list[float]:
        """The first scores, one a text."""
        return self.scores[: len(others)]

    def sections(self, text: str, document: Document) -> list[float]:
        """One a section."""
        count = len(document.sections)
        return self.chances or [1 / count] * count


def texts(policy: Document, positions: tuple[int, ...]) -> list[str]:
    return [policy.sentences[position].text for position in positions]


def chosen(policy: Document, **scores: float) -> list[str]:
    """The texts that are chosen where the section of sentences with such a score is sure, and the others have 0."""
    return texts(policy, choose_sentences(policy, "question", FakeSearch(scores=scores)).positions)


def test_a_section_is_sent_whole_so_that_an_exception_stays_with_its_rule() -> None:
    """One sentence is near, its neighbours come along."""
    assert chosen(document(1), Ask=0.9) == ["Bought in an app store?", "Ask there.", "We cannot refund it."]


def test_where_one_section_is_not_sure_the_next_is_sent_too_in_the_documents_order() -> None:
    """And what both amount to is how sure the excerpt is."""
    time = ["Refunds are given within 14 days.", "A renewal counts too."]
    exceptions = ["Bought in an app store?", "Ask there.", "We cannot refund it."]
    doubtful = choose_sentences(document(1), "question", Scores([], [0.2, 0.5, 0.1]))
    sure = choose_sentences(document(1), "question", Scores([], [0.1, SURE_SECTION, 0.1]))
    assert texts(document(1), doubtful.positions) == [*time, *exceptions]
    assert doubtful.probability == pytest.approx(0.7)
    assert (texts(document(1), sure.positions), sure.probability) == (exceptions, SURE_SECTION)


def test_a_second_section_that_does_not_fit_is_not_sent_nor_counted() -> None:
    """What is cut off cannot answer."""
    policy = document(1, f"## One\n\nShort.\n\n## Two\n\n{'Words go on and on. ' * 65}")
    found = choose_sentences(policy, "question", Scores([0.0] * 100, [0.6, 0.4]))
    assert (texts(policy, found.positions), found.probability) == (["Short."], 0.6)


def test_no_third_section_is_sent() -> None:
    """Where everything is as likely as everything else, the first two sections are as much as a mail takes."""
    sections = "".join(f"## Heading {n}\n\nSentence {n}.\n\n" for n in range(5))
    found = choose_sentences(document(1, sections), "question", Scores([]))
    assert texts(document(1, sections), found.positions) == ["Sentence 0.", "Sentence 1."]


def test_a_row_of_a_table_is_sent_with_the_header_of_its_table() -> None:
    """A long section gives its nearest paragraphs; a table is one."""
    policy = document(1, f"{'Words go on. ' * 120}\n\n| Plan | Fee |\n|---|---|\n| Pro | none |\n")
    found = choose_sentences(policy, "question", FakeSearch(scores={"none": 1.0})).positions
    rows = [policy.sentences[position] for position in found if policy.sentences[position].kind == "row"]
    assert ["Plan" in rows[0].text, "none" in rows[1].text] == [True, True]


def test_a_section_that_is_too_long_gives_its_nearest_paragraphs_whole() -> None:
    """As many as fit; the nearest even if it alone does not fit."""
    paragraphs = [f"Start {n}. {'Words go on and on. ' * 25}End {n}." for n in range(6)]
    policy = document(1, "\n\n".join(paragraphs))
    found = chosen(policy, **{"Start 4.": 0.9, "End 4.": 0.9, "Start 1.": 0.8})
    assert [text for text in found if text.startswith("Start")] == ["Start 1.", "Start 4."]
    assert [text for text in found if text.startswith("End")] == ["End 1.", "End 4."]
    giant = document(1, f"Short.\n\nGiant. {'Words go on and on. ' * 80}\n\nShort too.")
    found = chosen(giant, **{"Giant": 0.9})
    assert found[0] == "Giant."
    assert sum(map(len, found)) > MAX_CHARACTERS
    assert "Short." not in found


def test_what_a_colon_announces_is_sent_with_it() -> None:
    """A rule without its list, or a list without its rule, says something else; the section here is too long."""
    long = "Words go on and on. " * 70
    policy = document(1, f"We refund:\n\n- cards\n- cash\n\nNothing else.\n\n{long}\n\n## Other:\n\nEnd:")
    rule = ["We refund:", "cards", "cash"]
    assert chosen(policy, cash=0.9)[:3] == chosen(policy, refund=0.9)[:3] == rule
    assert "Nothing else." in chosen(policy, cash=0.9)


def test_a_document_of_one_sentence_gives_that_sentence() -> None:
    """At least one sentence is sent, however far it is."""
    assert choose_sentences(document(1, "Only this."), "question", Scores([-1.0])) == ((0,), 1.0)


WORDS = st.lists(st.sampled_from(["refund", "card", "seat", "plan", "link"]), min_size=1, max_size=60)
SENTENCES = WORDS.map(lambda words: f"The {' '.join(words)} is here.")
PARAGRAPHS = st.lists(SENTENCES, min_size=1, max_size=6).map(" ".join)
LISTS = st.lists(SENTENCES, min_size=1, max_size=4).map(lambda items: "\n".join(f"- {item}" for item in items))
TABLES = st.lists(SENTENCES, min_size=1, max_size=4).map(
    lambda rows: "\n".join(["| What | Fee |", "|---|---|", *(f"| {row} | 1 |" for row in rows)])
)
SECTIONS = st.lists(PARAGRAPHS | LISTS | TABLES, min_size=1, max_size=5).map("\n\n".join)
BODIES = st.lists(SECTIONS, min_size=1, max_size=4).map(
    lambda sections: "\n\n".join(f"## Heading {n}\n\n{section}" for n, section in enumerate(sections))
)


@settings(deadline=None)
@given(body=BODIES, data=st.data())
def test_what_is_sent_is_whole_blocks_in_the_documents_order(body: str, data: st.DataObject) -> None:
    """Over any document and any scores: nothing is cut, turned around, torn from its table or left empty."""
    policy = document(1, body)
    count = len(policy.sentences)
    scores = data.draw(st.lists(st.floats(-1, 1), min_size=count, max_size=count))
    chances = data.draw(st.lists(st.floats(0, 1), min_size=len(policy.sections), max_size=len(policy.sections)))
    found = choose_sentences(policy, "question", Scores(scores, chances)).positions
    assert found
    assert list(found) == sorted(set(found))
    assert all(0 <= position < count for position in found)
    _assert_whole(policy, found)
    sections = {policy.sentences[position].heading for position in found}
    assert len(sections) <= 2
    if len(sections) == 2:
        assert sum(len(policy.sentences[position].text) for position in found) <= MAX_CHARACTERS


def _assert_whole(policy: Document, found: tuple[int, ...]) -> None:
    """Sections that fit are there whole or not at all; of longer ones, paragraphs."""
    for heading, group in groupby(policy.sentences, key=lambda sentence: sentence.heading):
        section = list(group)
        taken = [sentence for sentence in section if sentence.index in found]
        if taken and _size(section) <= MAX_CHARACTERS:
            assert taken == section, heading
        paragraphs = {sentence.paragraph for sentence in taken}
        assert taken == [sentence for sentence in section if sentence.paragraph in paragraphs]
        assert _size(taken) <= MAX_CHARACTERS or _is_announced(section, paragraphs)


def _is_announced(section: list[Sentence], paragraphs: set[int]) -> bool:
    """Whether these are one paragraph, with those that a colon ties to it."""
    ends = {sentence.paragraph: sentence.text for sentence in section if sentence.paragraph in paragraphs}
    return all(ends[paragraph].endswith(":") for paragraph in sorted(ends)[:-1])


def _size(sentences: list[Sentence]) -> int:
    return sum(len(sentence.text) for sentence in sentences)


@pytest.mark.parametrize("question", ["", "refund " * 5_000, "\x00", "¿Puedo?"])
def test_any_question_gets_an_excerpt(question: str) -> None:
    """Neither its length nor its characters matter here."""
    assert choose_sentences(document(1, REFUNDS), question, FakeSearch())
