"""What is learned from people: who answered an escalated case through the desk, and with what."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from support_agent.company.documents import Document, parse_document
from support_agent.desk.human_feedback import TELLING_CHARACTERS, escalated_cases
from support_agent.facts.inquiry.memory import Ending, Memory, begin, ended, recalled, with_evidence
from support_agent.facts.inquiry.policy import InquiryLimits, possible
from support_agent.facts.learning.training import EscalatedCase, ReviewOutcome
from support_agent.store.plans import Plans
from support_agent.store.records import MailId
from support_agent.tools.fact_trace import Evidence
from tests.fakes_desk import lines_of, order
from tests.fakes_journey import DESK, Office, write
from tests.unit.seen import OFF_TOPIC, PACKET, PERSON_REPLY, REFUND

REFUNDS, SIGN_IN = "https://harborfile.example/help/refund-policy", "https://harborfile.example/help/sign-in"
OPEN = with_evidence(begin("case", OFF_TOPIC), [Evidence(source="document:1", first=0, last=2, grade=0.5)])
GIVEN_UP = ended(OPEN, Ending.ESCALATED).model_dump_json()


def escalated(
    office: Office, monkeypatch: pytest.MonkeyPatch, *replies: str, memory: str | None = GIVEN_UP, text: str = OFF_TOPIC
) -> MailId:
    """A mail that the machine gave up, with what it knew then, and what staff wrote to its packet; the mail's id."""
    keep = office.store.plans.save
    with monkeypatch.context() as patched:
        patched.setattr(Plans, "save", lambda _plans, plan, _=None: keep(plan, memory))
        first, _ = office.handle(write(text))
    packet = office.sent(first)[PACKET].message_id
    for number, words in enumerate(replies, 2):
        reply, _ = office.handle(write(words, sender=DESK, in_reply_to=packet, number=number))
        assert set(office.sent(reply)) == {PERSON_REPLY}
    return first


def learned(office: Office) -> tuple[EscalatedCase, ...]:
    return escalated_cases(office.store, office.decider.company.documents)


def sentence_of(office: Office, number: int) -> str:
    """A sentence that tells the document."""
    document = next(each for each in office.decider.company.documents if each.number == number)
    return next(each.text for each in document.sentences if len(each.text) > 2 * TELLING_CHARACTERS)


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        (f"Dear Anna,\r\nplease see {REFUNDS}.\r\n", ReviewOutcome.SENT_EVIDENCE),
        (f"It is all here: <{REFUNDS}/#how-to-ask>", ReviewOutcome.SENT_EVIDENCE),
        (f"Please see {SIGN_IN}?lang=en", ReviewOutcome.SENT_OTHER),
        (f"Please see {REFUNDS} and, before, {SIGN_IN}", ReviewOutcome.SENT_OTHER),
        ("We have a table for you at eight.", ReviewOutcome.WROTE),
        (f"That was until 2019, see {REFUNDS}-2019", ReviewOutcome.WROTE),
        ("Our page: https://harborfile.example/help", ReviewOutcome.WROTE),
    ],
)
def test_a_link_says_which_document_a_person_sent(
    office: Office, monkeypatch: pytest.MonkeyPatch, words: str, outcome: ReviewOutcome
) -> None:
    """Rule: an address, whole; of two documents the one that the machine had not found says that it missed it."""
    escalated(office, monkeypatch, words)
    assert [case.outcome for case in learned(office)] == [outcome]


@pytest.mark.parametrize(("number", "outcome"), [(1, ReviewOutcome.SENT_EVIDENCE), (6, ReviewOutcome.SENT_OTHER)])
def test_a_sentence_says_which_document_a_person_sent(
    office: Office, monkeypatch: pytest.MonkeyPatch, number: int, outcome: ReviewOutcome
) -> None:
    """Rule: a sentence is known again whatever the mail program made of its lines and quotation marks."""
    sentence = sentence_of(office, number).replace('"', "\u201d")
    lines = textwrap.wrap(sentence, 30, break_long_words=False, break_on_hyphens=False)
    escalated(office, monkeypatch, "\r\n".join(["Dear Anna,", *lines, "Regards"]))
    assert [case.outcome for case in learned(office)] == [outcome]


def test_half_a_sentence_is_a_persons_own(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: the machine sends whole sentences; what a person wrote around half of one it could not have sent."""
    sentence = sentence_of(office, 1)
    escalated(office, monkeypatch, f"As I said, {sentence[: len(sentence) // 2]} is what we do.")
    assert [case.outcome for case in learned(office)] == [ReviewOutcome.WROTE]


def test_all_replies_of_a_case_are_one_outcome(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failure: "we look into it" comes first, and the case teaches that nobody could have helped but a person."""
    escalated(office, monkeypatch, "We look into it.", f"It is all here: {REFUNDS}")
    assert [case.outcome for case in learned(office)] == [ReviewOutcome.SENT_EVIDENCE]


def test_the_memory_is_that_of_the_moment_of_giving_up(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failure: an ended question looks as if a draft could never be, and a person's answer teaches nothing."""
    escalated(office, monkeypatch, "Dear Anna, no.")
    (case,) = learned(office)
    assert case.memory == OPEN
    assert possible(case.memory, InquiryLimits()) == (True, True, False, True)


@pytest.mark.parametrize(
    "memory", [None, OPEN.model_dump_json(), ended(OPEN, Ending.ANSWERED).model_dump_json(), '{"format": 2}']
)
def test_a_case_that_the_policy_did_not_give_up_teaches_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch, memory: str | None
) -> None:
    """Nothing was looked into, it was escalated for another reason, or an older version wrote the memory."""
    escalated(office, monkeypatch, "Dear Anna, no.", memory=memory)
    assert learned(office) == ()


def test_a_case_that_nobody_answered_through_the_desk_teaches_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote to the customer by another way may have done anything; nobody may have written yet."""
    first = escalated(office, monkeypatch)
    office.handle(write(f"Please see {REFUNDS}", sender=DESK, proof=None, number=2))
    assert learned(office) == ()
    assert office.store.plans.memory_before(first) is None


def test_cases_are_told_apart_and_come_in_the_order_of_their_answers(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: what a person did in one case does not count in another."""
    escalated(office, monkeypatch, f"See {SIGN_IN}", text=OFF_TOPIC)
    office.handle(write(REFUND))
    escalated(office, monkeypatch, "No table is free.", text=f"{OFF_TOPIC} Or on Sunday?")
    assert [case.outcome for case in learned(office)] == [ReviewOutcome.SENT_OTHER, ReviewOutcome.WROTE]


def twin(number: int, url: str, body: str) -> Document:
    head = f"number: {number}\ntitle: T\nsummary: S\nurl: {url}\nvalid_from: 2025-01-01"
    return parse_document(Path(f"{number:03}-t.md"), f"---\n{head}\n---\n# T\n\n{body}\n".encode())


def test_what_two_documents_have_in_common_is_the_one_that_was_found(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: a closing sentence or an address of several documents does not say that another one was needed."""
    shared = "Write to us whenever something is not clear to you."
    documents = [twin(1, REFUNDS, shared), twin(2, REFUNDS, f"{shared}\n\nA refund takes ten days at the very most.")]
    escalated(office, monkeypatch, f"{shared} See {REFUNDS}.")
    assert [case.outcome for case in escalated_cases(office.store, documents)] == [ReviewOutcome.SENT_EVIDENCE]


def test_evidence_of_the_web_is_no_document(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: the machine sends documents of the company only, so what a page said needed a person."""
    page = Evidence(source="https://elsewhere.example/1", first=0, last=0)
    web: Memory = recalled(begin("case", "?"), [page])
    escalated(office, monkeypatch, f"See {REFUNDS}", memory=ended(web, Ending.ESCALATED).model_dump_json())
    assert [case.outcome for case in learned(office)] == [ReviewOutcome.SENT_OTHER]


@pytest.mark.parametrize(("number", "outcome"), [(1, ReviewOutcome.SENT_EVIDENCE), (2, ReviewOutcome.SENT_OTHER)])
def test_a_document_that_was_sent_by_command_says_which(
    office: Office, monkeypatch: pytest.MonkeyPatch, number: int, outcome: ReviewOutcome
) -> None:
    """Exact, and no words to read; a label that was undone teaches nothing."""
    first = escalated(office, monkeypatch)
    lines = lines_of(office.sent(first)[PACKET])
    line = next(line for command, line in lines.items() if command.startswith("document"))
    order(office, re.sub(r"document \d+", f"document {number}", line))
    assert [case.outcome for case in learned(office)] == [outcome]
    office.store.labels.undo(first, office.clock())
    assert learned(office) == ()
