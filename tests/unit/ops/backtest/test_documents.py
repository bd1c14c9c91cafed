"""Documents that nobody needs, that say the same, or that the agent did not find."""

from __future__ import annotations

from support_agent.ops.backtest.documents import dead, missed, overlaps
from support_agent.ops.backtest.judging import AnswerMatcher
from tests.unit.ops.backtest.made import MEANING, choice, document, result

TITLES = {1: "Refunds", 2: "Seats", 3: "Fax"}


def test_a_document_is_dead_if_neither_the_agent_nor_people_used_it() -> None:
    results = [result(1, choice("document:1")), result(2, answered_with=(2,)), result(3, choice("field:plan"))]
    assert dead(TITLES, results) == (3,)
    assert dead(TITLES, [result(1, choice("document:3", status="unsure"))]) == (1, 2, 3)


def test_a_document_is_missed_where_people_used_it_and_the_agent_left_the_mail_to_them() -> None:
    results = [
        result(1, answered_with=(2,), question="How do I add a seat?"),
        result(2, answered_with=(2, 1)),
        result(3, answered_with=(1,)),
        result(4, choice("document:1"), answered_with=(1,)),
        result(5),
    ]
    found = missed(TITLES, results)
    assert [(one.document, one.title, one.mails) for one in found] == [(2, "Seats", 2), (1, "Refunds", 1)]
    assert found[0].examples[0] == "A question. How do I add a seat?"


def test_documents_overlap_if_they_share_a_part_of_the_shorter_ones_sentences() -> None:
    shared = "Click the button to remove a link at once. Copies that were downloaded stay where they are."
    one = document(1, f"{shared} Links on paid plans never end.")
    other = document(2, f"{shared} Administrators may forbid links to strangers. The log shows who opened what.")
    third = document(3, "Something else altogether is written down here.")
    (found,) = overlaps(AnswerMatcher([one, other, third], MEANING, 0.6))
    assert (found.one, found.other, found.sentences) == (1, 2, 2)
    assert found.share == 2 / 3
