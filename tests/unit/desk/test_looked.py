"""What a person sees of the documents: what was found, and what was not sure enough to be sent."""

from __future__ import annotations

from support_agent.desk.looked import MOST_EVIDENCE, looked_into
from support_agent.tools.base import UNSURE_SECTION, Context, Unsure
from support_agent.tools.fact_room import Evidence, Finding, FindingReason
from tests.unit.tools.fakes import context, document


def asked() -> Context:
    """Two questions, of which the second one is looked into."""
    return context(questions=("A refund?", "A fee?"), documents={1: document(1), 7: document(7)})


def test_what_was_not_sure_enough_to_be_sent_is_shown_with_its_probability() -> None:
    """In the version that would have gone out, whatever the room found beside it."""
    given = asked()
    translation = document(1, "Zwei Wochen.")
    given.unsure[1] = Unsure(translation, (0,), 0.55)
    given.findings[1] = Finding(
        reason=FindingReason.ANSWERED, evidence=(Evidence(document=7, sentences=(1,), grade=0.7),), index_version="v"
    )
    (looked,) = looked_into(given)
    assert (looked.number, looked.question, looked.reason_code) == (1, "A refund?", UNSURE_SECTION)
    assert [(one.number, one.grade, one.sentences[0].text) for one in looked.evidence] == [
        (1, 0.55, "Zwei Wochen."),
        (7, 0.7, "A renewal counts too."),
    ]


def test_a_sentence_is_shown_once() -> None:
    """What the room found beside what was not sent of the same document."""
    given = asked()
    given.unsure[1] = Unsure(given.documents[1], (0, 1), 0.55)
    given.findings[1] = Finding(
        reason=FindingReason.ANSWERED, evidence=(Evidence(document=1, sentences=(1, 2), grade=0.7),), index_version="v"
    )
    (looked,) = looked_into(given)
    assert [[sentence.position for sentence in one.sentences] for one in looked.evidence] == [[0, 1], [2]]


def test_a_probability_that_is_no_number_is_no_grade() -> None:
    """The sentences are shown all the same."""
    given = asked()
    given.unsure[2] = Unsure(document(1), (0, 1), float("nan"))
    (looked,) = looked_into(given)
    assert looked.evidence[0].grade is None
    assert len(looked.evidence[0].sentences) == 2


def test_of_much_evidence_the_first_is_shown() -> None:
    """A packet stays readable."""
    given = asked()
    many = tuple(Evidence(document=1, sentences=(0,)) for _ in range(MOST_EVIDENCE + 3))
    given.findings[2] = Finding(reason=FindingReason.IRRELEVANT, evidence=many, index_version="v")
    assert [len(looked.evidence) for looked in looked_into(given)] == [MOST_EVIDENCE]
