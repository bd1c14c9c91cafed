"""What a person's answer shows about the documents that the agent would send."""

from __future__ import annotations

import numpy as np
import pytest

from support_agent.ops.backtest.judging import AnswerMatcher, label_of
from support_agent.ops.backtest.meaning import sentences_of
from support_agent.store.desk_records import LabelOutcome
from tests.unit.ops.backtest.made import MEANING, document

REFUNDS = document(1, "A yearly plan is refunded within 30 days. Later payments are not refunded at all.")
SEATS = document(2, "Seats are added in Billing. A removed member keeps no seat in the team.")


@pytest.fixture
def matcher() -> AnswerMatcher:
    return AnswerMatcher([REFUNDS, SEATS], MEANING, 0.6)


def test_an_answer_is_made_of_the_document_whose_sentences_it_says_again(matcher: AnswerMatcher) -> None:
    assert matcher.documents_in("Hello Anna,\n\nA yearly plan is refunded in 30 days.\n\nRegards") == (1,)


def test_an_answer_can_be_made_of_two_documents(matcher: AnswerMatcher) -> None:
    answer = "A yearly plan is refunded within 30 days. And: seats are added in Billing."
    assert matcher.documents_in(answer) == (1, 2)


def test_an_answer_in_own_words_is_made_of_none(matcher: AnswerMatcher) -> None:
    assert matcher.documents_in("My colleague Petra is going to call you tomorrow morning.") == ()
    assert matcher.documents_in("") == ()


def test_a_link_to_a_document_names_it(matcher: AnswerMatcher) -> None:
    assert matcher.documents_in("Please see https://harborfile.example/help/2") == (2,)


@pytest.mark.parametrize(
    ("sent", "used", "is_answered", "label"),
    [
        ({1}, (1, 2), True, LabelOutcome.SAME),
        ({1, 2}, (1,), True, LabelOutcome.OTHER_CHOICE),
        ({1}, (2,), True, LabelOutcome.OTHER_CHOICE),
        ({1}, (), True, LabelOutcome.OWN_WORDS),
        ({1}, (), False, LabelOutcome.NOTHING),
        (set(), (1,), True, LabelOutcome.NOTHING),
    ],
)
def test_a_choice_is_the_same_only_if_the_person_used_every_document_that_is_sent(
    sent: set[int], used: tuple[int, ...], is_answered: bool, label: LabelOutcome
) -> None:
    assert label_of(sent, used, is_answered=is_answered) is label


def test_short_sentences_such_as_thanks_say_nothing() -> None:
    assert sentences_of("Thanks a lot.\n\nThe link works for an hour.\n- Wait for ten minutes, please") == (
        "The link works for an hour.",
        "- Wait for ten minutes, please",
    )


def test_the_same_texts_have_the_same_vectors_and_no_text_has_none() -> None:
    first, second = MEANING.vectors(["a refund", "a seat"]), MEANING.vectors(["a refund", "a seat"])
    assert np.array_equal(first, second)
    assert np.allclose(np.linalg.norm(first, axis=1), 1.0)
    assert MEANING.vectors([]).shape[0] == 0
