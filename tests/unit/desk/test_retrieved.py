"""What a person sees of the documents: what was found, and what was not sure enough to be sent."""

from __future__ import annotations

from support_agent.answer.packet import FoundPage
from support_agent.core.levels import CUSTOMER, PROVEN
from support_agent.desk.retrieved import MOST_EVIDENCE, numbered, retrieved
from support_agent.tools.base import UNSURE_SECTION, Context, Unsure
from support_agent.tools.fact_room import FindingReason, RetrievalResult
from tests.fakes_room import says
from tests.unit.tools.fakes import context, document


def asked() -> Context:
    """Two questions, of which the second one is looked into."""
    return context(questions=("A refund?", "A fee?"), documents={1: document(1), 7: document(7)})


def test_what_was_not_sure_enough_to_be_sent_is_shown_with_its_probability() -> None:
    """In the version that would have gone out, whatever the room found beside it."""
    given = asked()
    translation = document(1, "Zwei Wochen.")
    given.unsure[1] = Unsure(translation, (0,), 0.55)
    given.findings[1] = RetrievalResult(
        reason=FindingReason.ANSWERED, evidence=(says(7, 1, grade=0.7),), index_version="v"
    )
    (looked,) = retrieved(given)
    assert (looked.number, looked.question, looked.reason_code) == (1, "A refund?", UNSURE_SECTION)
    assert [(one.number, one.grade, one.sentences[0].text) for one in looked.evidence] == [
        (1, 0.55, "Zwei Wochen."),
        (7, 0.7, "A renewal counts too."),
    ]


def test_a_sentence_is_shown_once() -> None:
    """What the room found beside what was not sent of the same document."""
    given = asked()
    given.unsure[1] = Unsure(given.documents[1], (0, 1), 0.55)
    given.findings[1] = RetrievalResult(
        reason=FindingReason.ANSWERED, evidence=(says(1, 1, 2, grade=0.7),), index_version="v"
    )
    (looked,) = retrieved(given)
    assert [[sentence.position for sentence in one.sentences] for one in looked.evidence] == [[0, 1], [2]]


def test_a_probability_that_is_no_number_is_no_grade() -> None:
    """The sentences are shown all the same."""
    given = asked()
    given.unsure[2] = Unsure(document(1), (0, 1), float("nan"))
    (looked,) = retrieved(given)
    assert looked.evidence[0].grade is None
    assert len(looked.evidence[0].sentences) == 2


def test_of_much_evidence_the_first_is_shown() -> None:
    """A packet stays readable."""
    given = asked()
    many = tuple(says(1, 0, grade=None) for _ in range(MOST_EVIDENCE + 3))
    given.findings[2] = RetrievalResult(reason=FindingReason.IRRELEVANT, evidence=many, index_version="v")
    assert [len(looked.evidence) for looked in retrieved(given)] == [MOST_EVIDENCE]


def page(address: str, *found_by: str, document: int | None = None) -> FoundPage:
    """A page of the web."""
    return FoundPage(address=address, heading="", text="Ask us.", found_by=found_by, document=document)


def test_a_page_of_the_own_site_has_the_number_of_the_document_at_its_address() -> None:
    """Rule: only where the site itself gave the page; what another source shows of that address is no page of it."""
    documents = [document(1, url="https://Shop.example/help/refunds/"), document(7, url="https://shop.example/fees")]
    refunds = "https://shop.example/help/refunds"
    pages = [page(refunds, "google", "site"), page(refunds, "google"), page("https://shop.example/help", "site")]
    assert [one.document for one in numbered(pages, documents)] == [1, None, None]


def test_a_number_that_the_room_gave_a_page_is_not_believed() -> None:
    """Rule: nor is an address that two documents share, as a part of a page is not the page."""
    two = [document(1, url="https://shop.example/help"), document(7, url="https://shop.example/help/")]
    pages = [page("https://shop.example/help", "site", document=7), page("https://a.example/x", "google", document=1)]
    assert [one.document for one in numbered(pages, two)] == [None, None]


def test_the_page_of_a_document_that_the_sender_may_not_be_sent_has_no_number() -> None:
    """Rule: the packet names the documents that a person could send to this customer."""
    documents = {1: document(1, audience="customers")}
    pages = (page(documents[1].head.url, "site"),)
    for level, number in ((CUSTOMER, 1), (PROVEN, None)):
        given = context(documents=documents, level=level)
        given.findings[1] = RetrievalResult(reason=FindingReason.ONLY_WEB, pages=pages, index_version="v")
        assert [one.document for one in retrieved(given)[0].pages] == [number]
