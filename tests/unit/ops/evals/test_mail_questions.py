"""Labelled mails as questions to look into: what a document answers, or nobody."""

from __future__ import annotations

import pytest

from support_agent.ops.evals.mail_labels import Sections
from support_agent.ops.evals.mail_questions import asking, askings
from tests.fakes_journey import WordSearch
from tests.labelled import labels


@pytest.mark.parametrize(
    ("outcomes", "answers"),
    [
        (("send_document(1)", "send_document(2)"), {1: frozenset(["Yearly plans"]), 2: frozenset()}),
        (("escalate",), {}),
        (("escalate", "send_document(2)"), {2: frozenset()}),
    ],
)
def test_what_answers_is_told_by_the_outcomes(outcomes: tuple[str, ...], answers: dict[int, frozenset[str]]) -> None:
    """Rule: with its sections where they are labelled."""
    (found,) = asking("a", "?", outcomes, {1: Sections(any_of=frozenset(["Yearly plans"]))})
    assert found.answers == answers


@pytest.mark.parametrize("outcomes", [("send_account_field(plan)",), ("escalate", "ask_clarification")])
def test_what_is_about_a_value_or_asked_back_is_left_out(outcomes: tuple[str, ...]) -> None:
    assert list(asking("a", "?", outcomes)) == []


def test_a_mail_with_one_question_is_one() -> None:
    asked = {one.key: one for one in askings(labels("tuning"), WordSearch().read)}
    singles = {label.path.stem for label in labels("tuning") if len(label.expected) == 1}
    assert asked.keys() <= singles
    assert asked["001-refund-bought-twice"].answers[1] == {"Yearly plans", "Overview"}
    assert asked["001-refund-bought-twice"].question
