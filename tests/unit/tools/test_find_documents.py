"""Finding documents: the nearest topics, and with a fact room whether documents answer the question."""

from __future__ import annotations

import pytest

from support_agent.tools.base import Context, Match, Pointed
from support_agent.tools.facts import FindDocuments, FindEvidence
from tests.fakes_room import VISITS, ScriptedRoom, found, says
from tests.unit.tools.fakes import FakeSearch, context, document

POLICY, FIELD = Match(topic="document:1", score=0.8), Match(topic="field:plan", score=0.7)


def asking(room: ScriptedRoom | None, *matches: Match, **changes: object) -> Context:
    return context(search=FakeSearch(matches), room=room, **changes)


def find(given: Context) -> str:
    result = FindDocuments(question=1).run(given)
    assert isinstance(result, Pointed)
    return result.description


def test_without_a_room_the_topics_are_all_there_is() -> None:
    given = asking(None, POLICY, FIELD)
    assert find(given) == "document:1 0.80, field:plan 0.70"
    assert (given.found, given.findings) == ({1: (POLICY, FIELD)}, {})


def test_a_question_that_is_nearest_to_a_document_is_retrieved() -> None:
    """The description has the reason, numbers and grades, and not a word of anybody's text."""
    room = ScriptedRoom({"refund": found(says(1, 0))})
    given = asking(room, POLICY, FIELD)
    assert find(given) == "document:1 0.80, field:plan 0.70; looked into: answered, document:1 0.90"
    assert given.findings == {1: found(says(1, 0))}


@pytest.mark.parametrize("matches", [(), (FIELD,), (FIELD, POLICY)])
def test_a_question_that_is_nearest_to_an_account_value_is_not_retrieved(matches: tuple[Match, ...]) -> None:
    """Looking takes the model seconds, and the answer is most likely a value."""
    room = ScriptedRoom({"refund": found(says(1, 0))})
    given = asking(room, *matches)
    assert "looked" not in find(given)
    assert room.asked == []


def test_a_question_is_looked_into_once() -> None:
    """A choice that is repaired asks again; neither the topics nor the finding may be others then."""
    room = ScriptedRoom({"refund": found(reason="irrelevant")})
    given = context(search=FakeSearch((POLICY,)), room=room)
    assert find(given) == find(given) == "document:1 0.80; looked into: irrelevant"
    assert len(room.asked) == 1


def test_the_nearest_document_that_may_be_sent_is_looked_into_first() -> None:
    """It is chosen for nine questions of ten, and each passage costs a forward pass."""
    room = ScriptedRoom({"refund": found(reason="irrelevant")})
    other = Match(topic="document:2", score=0.7)
    documents = {1: document(1, audience="customers"), 2: document(2)}
    find(asking(room, POLICY, FIELD, other, documents=documents, level=1))
    assert room.likely == [2]


def test_a_chosen_document_is_looked_into_by_itself() -> None:
    """The first look's evidence stays for whoever gets the case, its cost is counted, and both records are kept."""
    room = ScriptedRoom({"refund": found(says(3, 0), reason="hallucination")})
    given = asking(room, POLICY, documents={1: document(1), 2: document(2), 3: document(3)})
    find(given)
    room.findings = {"refund": found(says(2, 1))}
    result = FindEvidence(question=1, number=2).run(given)
    assert isinstance(result, Pointed)
    assert result.description == "looked into: answered, document:2 0.90"
    assert room.asked[1][1] == {2}
    both = given.findings[1]
    assert (both.is_answered, both.evidence, both.tokens) == (True, (says(2, 1),), 1400)
    assert both.trace == VISITS * 2
    room.findings = {"refund": found(reason="irrelevant")}
    FindEvidence(question=1, number=2).run(given)
    assert (given.findings[1].is_answered, given.findings[1].evidence) == (False, (says(2, 1),))


def test_a_document_that_may_not_be_sent_is_not_retrieved() -> None:
    room = ScriptedRoom({})
    given = asking(room, documents={1: document(1, audience="customers")}, level=1)
    assert FindEvidence(question=1, number=1).run(given).description == "not looked into"
    assert (room.asked, given.findings) == ([], {})


def test_where_no_document_may_be_sent_there_is_nothing_to_look_for() -> None:
    room = ScriptedRoom({})
    assert "looked" not in find(asking(room, POLICY, documents={1: document(1, audience="customers")}, level=1))


def test_the_room_looks_among_the_documents_of_this_sender_today() -> None:
    """What is not valid, or for customers only, would tell a stranger that it is there."""
    documents = {
        1: document(1),
        2: document(2, audience="customers"),
        3: document(3, valid_from="2025-06-02"),
        4: document(4, valid_until="2025-05-31"),
        5: document(5, valid_from="2025-06-01", valid_until="2025-06-01"),
    }
    among = []
    for level in (1, 2, 3):
        room = ScriptedRoom({"refund": found(reason="irrelevant")})
        find(asking(room, POLICY, documents=documents, level=level))
        among.append(sorted(room.asked[0][1]))
    assert among == [[1, 5], [1, 5], [1, 2, 5]]
