"""Neighbouring questions: joined where they are one, parted where they are several, and none is lost."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.planner.neighbours import (
    NAMED_VALUE,
    OWN_TOPIC,
    OWN_TOPIC_OF_STATEMENT,
    SURE_TOPIC,
    folded,
    parted,
)


class Topics:
    """The nearest topic is the first word that a text holds, and how near it is was given."""

    def __init__(self, near: dict[str, float]) -> None:
        self.near = near

    def __call__(self, text: str) -> tuple[str, float]:
        """The topic and its score; far where the text holds none of the words."""
        return next((found for found in self.near.items() if found[0] in text), ("far", 0.0))


def test_a_question_about_nothing_of_its_own_is_joined_to_its_neighbour() -> None:
    """ "Is that possible?" is a part of what was asked before it, or after it."""
    topics = Topics({"seats": OWN_TOPIC + 0.1, "invoices": OWN_TOPIC + 0.1})
    questions = ("How many seats do I have?", "Is that a lot?", "Where are my invoices?")
    assert folded(questions, topics) == ("How many seats do I have? Is that a lot?", "Where are my invoices?")
    assert folded(questions[1:], topics) == ("Is that a lot? Where are my invoices?",)
    assert folded(("How many seats do I have?", "Where are my invoices?"), topics) == (
        "How many seats do I have?",
        "Where are my invoices?",
    )


def test_a_statement_needs_a_nearer_topic_than_a_question_to_stand_alone() -> None:
    """A complaint beside a question is mostly its reason."""
    between = Topics({"seats": 0.9, "upload": (OWN_TOPIC + OWN_TOPIC_OF_STATEMENT) / 2})
    assert folded(("How many seats do I have?", "My upload fails."), between) == (
        "How many seats do I have? My upload fails.",
    )
    assert len(folded(("How many seats do I have?", "Why does my upload fail?"), between)) == 2


@settings(deadline=None)
@given(questions=st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=6), near=st.floats(-1, 1))
def test_folding_loses_no_word(questions: list[str], near: float) -> None:
    """It only joins neighbours."""
    assert " ".join(folded(questions, lambda text: ("document:1", near))) == " ".join(questions)


def test_a_question_that_points_back_is_asked_again_with_what_it_points_to() -> None:
    """Alone it says too little, and joined to the first its answer would be the first's."""
    topics = Topics({"two-factor": 0.8, "install": OWN_TOPIC - 0.1})
    first, second = "Is two-factor on for me?", "If not, how do I install it?"
    assert folded((first, second), topics) == (first, f"{first} {second}")


def test_a_question_with_words_of_its_own_stays_alone_where_nothing_is_near() -> None:
    """What nobody knows goes to a person; it is not dropped beside a question that is known."""
    topics = Topics({"openSUSE": 0.6, "Synology": OWN_TOPIC - 0.1})
    questions = ("How do I install it on openSUSE?", "Will there be a package for the Synology NAS?")
    assert folded(questions, topics) == questions


def test_two_questions_about_one_topic_are_one_only_where_that_is_sure() -> None:
    """A weak resemblance may be the same by chance."""
    questions = ("How do I take my data out of Harborfile?", "How can I get rid of the account for good?")
    assert len(folded(questions, lambda text: ("document:12", SURE_TOPIC - 0.01))) == 2
    assert len(folded(questions, lambda text: ("document:12", SURE_TOPIC))) == 1


def test_an_item_of_a_list_is_never_joined() -> None:
    """The customer has counted the questions."""
    questions = ("1. How do I install it?", "2. Some photos stay grey.")
    assert folded(questions, lambda text: ("document:3", 0.9)) == questions


def test_several_values_of_the_account_in_one_question_are_parted() -> None:
    """Each is one call; what joined them goes."""
    topics = Topics({"renewal": NAMED_VALUE, "balance": NAMED_VALUE, "plan": NAMED_VALUE})
    near = {"renewal": "field:renewal_date", "balance": "field:open_balance", "plan": "field:plan"}

    def nearest(text: str) -> tuple[str, float]:
        topic, score = topics(text)
        return near.get(topic, topic), score

    question = "Please tell me my plan, the renewal date and my open balance."
    assert parted((question,), nearest) == (
        "Please tell me my plan",
        "the renewal date",
        "my open balance.",
    )


def test_two_documents_in_one_question_are_not_parted() -> None:
    """ "Share a folder and set a password" is one thing to do, though each half resembles something else."""
    topics = Topics({"password": 0.9, "share": 0.9})
    question = "How do I share a folder and set a password?"
    assert parted((question,), topics) == (question,)


def test_a_story_with_many_commas_is_not_searched_for_values() -> None:
    """Each comma costs two searches: a hostile mail must not keep us busy."""
    calls: list[str] = []

    def nearest(text: str) -> tuple[str, float]:
        calls.append(text)
        return "field:plan", 1.0

    parted(("one, two, " * 100,), nearest)
    assert calls == []


def test_a_question_without_words_of_its_own_belongs_to_the_one_before_it() -> None:
    """ "How much was it?" is near to something only by chance."""
    topics = Topics({"payment": 0.7, "How much": 0.5})
    assert folded(("When was my last payment?", "How much was it?"), topics) == (
        "When was my last payment? How much was it?",
    )


def test_an_order_is_never_lost_in_the_question_before_it() -> None:
    """ "Reduce them" points back, and asked with what it points to it would get the same answer."""
    questions = ("How many seats are paid?", "Reduce them to 5 please.")
    assert folded(questions, Topics({"seats": 0.8})) == questions
    assert folded((questions[0], "Please help!"), Topics({"seats": 0.8})) == ("How many seats are paid? Please help!",)
