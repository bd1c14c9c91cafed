"""Which sentences of a document are sent: whole, in order, of the section likeliest to answer the question."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.company.documents import MAX_EXCERPT_CHARACTERS, Document, Sentence
from support_agent.tools.excerpts import SURE_SECTION, choose_sections, positions_of
from tests.unit.tools.fakes import document


def sent(policy: Document, chances: Sequence[float], least: float = 0.0) -> list[str]:
    """The texts that are sent where the sections are so likely."""
    return [policy.sentences[place].text for place in positions_of(policy, choose_sections(policy, chances, least))]


TIME = ["Refunds are given within 14 days.", "A renewal counts too."]
EXCEPTIONS = ["Bought in an app store?", "Ask there.", "We cannot refund it."]


def test_a_section_is_sent_whole_so_that_an_exception_stays_with_its_rule() -> None:
    """And alone, where it is sure."""
    assert sent(document(1), [0.05, SURE_SECTION, 0.05]) == EXCEPTIONS


def test_where_one_section_is_not_sure_the_next_are_sent_too_in_the_documents_order() -> None:
    """As many as make it sure; and what all amount to is how sure the excerpt is."""
    assert sent(document(1), [0.3, 0.66, 0.04]) == [*TIME, *EXCEPTIONS]
    assert choose_sections(document(1), [0.3, 0.66, 0.04], 0.0).probability == pytest.approx(0.96)
    places, probability = choose_sections(document(1), [0.3, 0.4, 0.3], 0.0)
    assert places == (1, 0, 2)
    assert probability == pytest.approx(1.0)


def test_a_section_that_is_sure_takes_the_next_along_where_more_is_asked_for() -> None:
    """With a threshold above what is sure, a single section is not refused while two would do."""
    places, probability = choose_sections(document(1), [0.02, 0.96, 0.02], 0.97)
    assert places == (1, 0)
    assert probability == pytest.approx(0.98)


def test_a_second_section_that_does_not_fit_is_not_sent_nor_counted() -> None:
    """What is cut off cannot answer."""
    policy = document(1, f"## One\n\n{'Not so short. ' * 6}\n\n## Two\n\n{'Words go on and on. ' * 60}")
    assert choose_sections(policy, [0.6, 0.4], 0.0) == ((0,), 0.6)


def test_two_sections_with_the_same_heading_are_two() -> None:
    """Fees of one product are not those of another."""
    policy = document(1, "## Fees\n\nA costs 5.\n\n## Time\n\nSoon.\n\n## Fees\n\nB costs 9.\n")
    assert sent(policy, [0.95, 0.03, 0.02]) == ["A costs 5."]


def test_where_nothing_is_likelier_than_the_rest_what_fits_into_a_mail_is_sent() -> None:
    """A right section among others is an answer, a wrong one alone is none."""
    sentence = "This sentence of the section has seventy characters, or about as many. " * 4
    sections = "".join(f"## Heading {n}\n\n{sentence}\n\n" for n in range(6))
    places, probability = choose_sections(document(1, sections), [1 / 6] * 6, 0.0)
    assert places == (0, 1, 2, 3)
    assert 5 * len(sentence) > MAX_EXCERPT_CHARACTERS > 4 * len(sentence)
    assert probability == pytest.approx(4 / 6)


def test_an_exception_that_what_is_sent_refers_to_comes_along() -> None:
    """However unlikely it is, and what it refers to itself."""
    body = "## Time\n\nSoon, except as in Limits.\n\n## Fees\n\nNone.\n\n## Limits\n\nNot for gifts, see Fees.\n\n"
    body += "## Rest\n\nX.\n"
    assert sent(document(1, body), [0.96, 0.0, 0.0, 0.04]) == [
        "Soon, except as in Limits.", "None.", "Not for gifts, see Fees."
    ]  # fmt: skip


def test_where_an_exception_is_too_long_to_come_along_nothing_is_sure() -> None:
    """Half an exception is none: a person answers."""
    policy = document(1, f"## Time\n\nSoon, except as in Limits.\n\n## Limits\n\n{'Words go on and on. ' * 130}\n")
    assert choose_sections(policy, [1.0, *[0.0] * (len(policy.sections) - 1)], 0.0).probability == 0


def test_a_row_of_a_table_is_sent_with_the_header_of_its_table() -> None:
    """Of a section that is too long, a table is one paragraph."""
    policy = document(1, f"{'Words go on. ' * 120}\n\n| Plan | Fee |\n|---|---|\n| Pro | none |\n")
    found = sent(policy, [0.0, 1.0])
    assert ["Plan" in found[0], "none" in found[1]] == [True, True]


def test_a_section_that_is_too_long_gives_its_likeliest_paragraphs_whole_and_counts_these_alone() -> None:
    """As many as fit, also where the first is sure; the likeliest even if it alone does not fit."""
    policy = document(1, "\n\n".join(f"Start {n}. {'Words go on and on. ' * 25}End {n}." for n in range(6)))
    found = sent(policy, [0.0, 0.02, 0.01, 0.01, 0.95, 0.01])
    assert [text for text in found if text[:5] in ("Start", "End 1", "End 4")] == [
        "Start 1.", "End 1.", "Start 4.", "End 4."
    ]  # fmt: skip
    assert choose_sections(policy, [0.1, 0.2, 0.1, 0.1, 0.3, 0.2], 0.0).probability == pytest.approx(0.5)
    giant = document(1, f"Short.\n\nGiant. {'Words go on and on. ' * 80}\n\nShort too.")
    found = sent(giant, [0.0, 1.0, 0.0])
    assert found[0] == "Giant."
    assert sum(map(len, found)) > MAX_EXCERPT_CHARACTERS


def test_a_document_of_one_sentence_gives_that_sentence() -> None:
    assert sent(document(1, "Only this."), [1.0]) == ["Only this."]


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
    chances = data.draw(st.lists(st.floats(0, 1), min_size=len(policy.sections), max_size=len(policy.sections)))
    found = positions_of(policy, choose_sections(policy, chances, 0.0))
    assert found
    assert list(found) == sorted(set(found))
    assert all(0 <= position < count for position in found)
    _assert_whole(policy, found)
    if len({policy.sentences[position].heading for position in found}) > 1:
        assert sum(len(policy.sentences[position].text) for position in found) <= MAX_EXCERPT_CHARACTERS


def _assert_whole(policy: Document, found: tuple[int, ...]) -> None:
    """Sections that fit are there whole or not at all; of longer ones, paragraphs."""
    for heading, group in groupby(policy.sentences, key=lambda sentence: sentence.heading):
        section = list(group)
        taken = [sentence for sentence in section if sentence.index in found]
        if taken and _size(section) <= MAX_EXCERPT_CHARACTERS:
            assert taken == section, heading
        paragraphs = {sentence.paragraph for sentence in taken}
        assert taken == [sentence for sentence in section if sentence.paragraph in paragraphs]
        assert _size(taken) <= MAX_EXCERPT_CHARACTERS or _is_announced(section, paragraphs)


def _is_announced(section: list[Sentence], paragraphs: set[int]) -> bool:
    """Whether these are one paragraph, with those that a colon ties to it."""
    ends = {sentence.paragraph: sentence.text for sentence in section if sentence.paragraph in paragraphs}
    return all(ends[paragraph].endswith(":") for paragraph in sorted(ends)[:-1])


def _size(sentences: list[Sentence]) -> int:
    return sum(len(sentence.text) for sentence in sentences)
