"""Ending tools and the fact tool: what they return, and what they keep for later."""

from __future__ import annotations

import pytest

from support_agent.tools.base import Ended, Match, Pointed
from support_agent.tools.ending import Escalate, Finish, Reason
from support_agent.tools.facts import SHOWN, FindDocuments
from tests.unit.tools.fakes import FakeSearch, context


@pytest.mark.parametrize("reason", Reason)
def test_escalating_gives_one_of_the_fixed_reasons(reason: Reason) -> None:
    """The reason is a word of the program; the sentence that people read is in the templates."""
    assert Escalate(reason=reason).run(context()) == Ended(reason=reason.value)
    assert Escalate(reason=reason).arguments == {"reason": reason.value}


def test_finishing_has_no_reason() -> None:
    """Every question has its answer or went to a person before."""
    assert Finish().run(context()) == Ended(reason=None)


def test_finding_documents_keeps_the_matches_of_the_question_and_shows_the_nearest() -> None:
    """Topics and scores go to the planner; no word of a document does."""
    matches = [Match(topic=f"document:{n}", score=1 - n / 100) for n in range(1, SHOWN + 4)]
    mail = context(search=FakeSearch(matches))
    result = FindDocuments(question=2).run(mail)
    assert isinstance(result, Pointed)
    assert result.pointer == "question 2"
    assert result.description.startswith("document:1 0.99, document:2 0.98, ")
    assert result.description.count("document:") == SHOWN
    assert mail.found == {2: tuple(matches)}
    assert mail.search.asked == ["How many seats do I have?"]  # type: ignore[attr-defined]
    assert mail.data == {}


def test_finding_nothing_is_kept_too() -> None:
    """No match is a finding: the question is not covered."""
    mail = context(search=FakeSearch())
    assert FindDocuments(question=1).run(mail) == Pointed(pointer="question 1", description="")
    assert mail.found == {1: ()}
