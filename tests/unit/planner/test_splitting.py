"""A question that asks for two things: taken apart where each is sure by itself, and left whole in any doubt."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from support_agent.planner.splitting import MOST_CHARACTERS, MailPart, split_question
from tests.fakes_reading import read_apart
from tests.unit.tools.fakes import TODAY

LEAST = 0.6
BOTH = {"field:seats_used": 0.3, "document:9": 0.6}


def parts(
    question: str, whole: Mapping[str, float] | None = None, *, plan: float = 0.95, card: float = 0.95
) -> tuple[str, ...]:
    """The parts of a question about seats and cards; a text about one of them is so likely about that."""
    return tuple(part.text for part in told(question, whole, plan=plan, card=card))


def told(
    question: str, whole: Mapping[str, float] | None = None, *, plan: float = 0.95, card: float = 0.95
) -> tuple[MailPart, ...]:
    topics = {"seats": ("field:seats_used", plan), "card": ("document:9", card), "pay": ("series:payments", plan)}

    def chances(text: str) -> Mapping[str, float]:
        found = dict(topic for word, topic in topics.items() if word in text.lower())
        if len(found) > 1:
            share = whole or dict.fromkeys(found, 0.45)
        else:
            share = found or {"document:1": 0.1}
        return {**share, "none": 1 - sum(share.values())}

    return split_question(question, chances, read_apart, LEAST, TODAY)


@pytest.mark.parametrize(
    "question",
    [
        "How many seats do we use and which card do you take?",
        "Please tell me the seats in use, and the cards you take.",
        "I need to know the seats in use, the cards you take.",
        "Wie viele Seats haben wir und welche Card geht?",
        "¿Cuántos seats tengo y qué card aceptan?",
        "We grew. What are our seats and the card types you take? Thanks a lot.",
    ],
)
def test_two_things_joined_in_one_sentence_become_a_question_each(question: str) -> None:
    assert len(parts(question, BOTH)) == 2


def test_the_parts_have_the_words_of_the_question_but_the_joining_one() -> None:
    asked = "We grew. What are our seats, and the card types you take? Thanks a lot."
    assert parts(asked) == ("We grew. What are our seats", "the card types you take? Thanks a lot.")


def test_a_question_about_one_thing_stays_whole() -> None:
    for one in (
        "How many seats do we use?",
        "How many seats have we bought and used?",
        "How do cards and seats differ?",
    ):
        assert parts(one, {"document:9": 0.99}) == (one,)


def test_what_the_whole_question_only_mentions_is_not_asked_for() -> None:
    asked = "Can I have a list of the seats and the card data?"
    assert parts(asked, {"field:seats_used": 0.9, "document:9": 0.01}) == (asked,)


def test_a_question_that_may_be_about_something_else_stays_whole() -> None:
    asked = "What are our seats and the card types you take?"
    assert parts(asked, {"field:seats_used": 0.3, "document:9": 0.2, "document:2": 0.3}) == (asked,)


def test_a_story_before_the_question_is_no_question() -> None:
    """ "I cancelled in May and still got charged, can I have my money back?" asks for one thing."""
    asked = "The seats were full, and which card do you take?"
    assert parts(asked) == (asked,)


def test_a_word_is_no_second_thing() -> None:
    asked = "Do you sell seats by transfer and card?"
    assert parts(asked) == (asked,)


def test_sentences_are_cut_by_others() -> None:
    asked = "What are our seats? The card is new."
    assert parts(asked) == (asked,)


def test_a_long_question_stays_whole() -> None:
    asked = "What are our seats and the card types you take?" + " It is long." * (MOST_CHARACTERS // 12)
    assert parts(asked) == (asked,)


def test_a_part_that_is_not_sure_is_cut_off_and_says_so() -> None:
    """Else one thing would be answered as if nothing else had been asked."""
    asked = "What are our seats and the card types you take?"
    assert told(asked, card=0.7) == (
        MailPart("What are our seats"),
        MailPart("the card types you take?", is_sure=False),
    )


@pytest.mark.parametrize(("plan", "card"), [(0.95, 0.4), (0.4, 0.95), (0.79, 0.79)])
def test_parts_that_are_not_likely_stay_together(plan: float, card: float) -> None:
    asked = "What are our seats and the card types you take?"
    assert parts(asked, plan=plan, card=card) == (asked,)


def test_a_period_that_may_belong_to_both_keeps_them_together() -> None:
    """A value of now beside "in March" would be true, and not what was asked."""
    asked = "What are our seats and what did we pay in March?"
    assert parts(asked, {"field:seats_used": 0.5, "series:payments": 0.4}) == (asked,)


def test_a_period_in_the_part_about_a_value_stays_with_it() -> None:
    asked = "Which card do you take, and what did we pay in March?"
    assert parts(asked, {"document:9": 0.5, "series:payments": 0.4}) == (
        "Which card do you take",
        "what did we pay in March?",
    )


def test_no_search_is_made_for_a_question_without_a_join() -> None:
    def fails(text: str) -> Mapping[str, float]:
        raise AssertionError(text)

    assert split_question("How many seats do we use?", fails, read_apart, LEAST, TODAY) == (
        MailPart("How many seats do we use?"),
    )


@pytest.mark.parametrize(
    "question",
    [
        "How many seats do we use and when was the last one invited?",
        "How many seats do we use, and please delete my photos.",
        "Wie viele Seats haben wir und wie hieß der Vorgänger?",
    ],
)
def test_what_no_value_answers_beside_a_value_is_not_dropped(question: str) -> None:
    """The failure's story: "Is two-factor on, and who turned it on?" was answered with "on", as if that were all."""
    first, second = told(question, {"field:seats_used": 0.9})
    assert first.is_sure
    assert not second.is_sure


@pytest.mark.parametrize(
    "question",
    [
        "Which card do you take and when was it invented?",
        "How many seats do we use, when all are there?",
        "How many seats do we use and how many seats are free?",
        "How many seats do we use and our dog as well?",
        "What did we pay in March and what is that in April?",
    ],
)
def test_a_document_or_a_part_that_asks_nothing_else_leaves_the_question_whole(question: str) -> None:
    assert parts(question, {"document:9": 0.9}) == (question,)
