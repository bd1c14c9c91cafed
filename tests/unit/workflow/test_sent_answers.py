"""How a person answered from their own program: found in the Sent folder, judged, and the proposal withdrawn."""

from __future__ import annotations

import re

import pytest

from support_agent.core.modes import Mode
from support_agent.errors import TransientError
from support_agent.mail.keys import ORIGIN_HEADER
from support_agent.store.desk_records import LabelOutcome, LabelSource
from support_agent.transport.mailbox import FolderState
from support_agent.workflow.sent_answers import BREAK, SentAnswers
from tests.fakes_desk import Proposed, proposed_in, status_of
from tests.fakes_journey import CUSTOMERS, JAMES, Clock, Office, write
from tests.unit.seen import ACKNOWLEDGEMENT, one

ADA = "ada@harborfile.example"


class FakeSent:
    """`workflow.sent_answers.SentMails`: what the folder has, by the Message-ID that it answers."""

    def __init__(self) -> None:
        self.mails: dict[str, list[bytes]] = {}
        self.folder: str | None = "Sent"
        self.opened = 0
        self.is_away = False
        self.looked_for: list[str] = []
        self.uid_next: int | None = 1

    def __enter__(self) -> FakeSent:
        self.opened += 1
        if self.is_away:
            raise TransientError("refused")
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def special_folder(self, use: str) -> str | None:
        return self.folder

    def folder_state(self, folder: str) -> FolderState:
        return FolderState(1, self.uid_next, None)

    def answers_to(self, folder: str, message_id: str) -> list[bytes]:
        self.looked_for.append(message_id)
        return self.mails.get(message_id, [])


def looking(given: Proposed, sent: FakeSent) -> SentAnswers:
    labelling = given.office.wired.desk.labelling
    return SentAnswers(given.office.store, given.office.settings, labelling, lambda: sent, given.office.clock)


def by_ada(words: str, to: str = JAMES) -> bytes:
    return write(words, sender=ADA).replace(b"To: support@harborfile.example", f"To: {to}".encode())


def with_answer(given: Proposed, raw: bytes) -> FakeSent:
    """The mail in the folder; one that answers nothing answers the customer's mail."""
    sent, answered = FakeSent(), one(given.office, given.mail_id).message_id
    head = b"" if b"In-Reply-To:" in raw else f"In-Reply-To: {answered}\r\n".encode()
    sent.mails[answered] = [head + raw]
    return sent


def test_a_persons_answer_judges_what_waited_and_withdraws_it(office: Office) -> None:
    given = proposed_in(office, Mode.SHADOW)
    sentence = max((one.text for one in office.decider.company.by_number[1].sentences), key=len)
    looking(given, with_answer(given, by_ada(sentence))).look_after()
    (label,) = office.store.labels.of(given.mail_id)
    assert (label.outcome, label.who, label.how) == (LabelOutcome.SAME, ADA, LabelSource.SENT_FOLDER)
    assert status_of(office, given.answer) == "cancelled"
    assert office.store.deliveries.of(given.answer.id)[0].detail == f"answered by {ADA}, says the Sent folder"


def test_our_own_copies_are_nobodys_answer(office: Office) -> None:
    """The acknowledgement lies in the Sent folder, and answers the same mail."""
    given = proposed_in(office, Mode.SHADOW)
    looking(given, with_answer(given, office.sent(given.mail_id)[ACKNOWLEDGEMENT].raw)).look_after()
    assert (status_of(office, given.answer), office.store.labels.valid()) == ("proposed", ())


def test_our_own_copy_with_another_id_is_nobodys_answer(office: Office) -> None:
    """Failure: a server rewrote the Message-ID of our acknowledgement, and the item was lowered as corrected."""
    given = proposed_in(office, Mode.SHADOW)
    own = office.sent(given.mail_id)[ACKNOWLEDGEMENT].raw
    other = re.sub(rb"Message-ID: <[^>]*>", b"Message-ID: <0100019@ses.example>", own, count=1)
    assert other != own
    looking(given, with_answer(given, other)).look_after()
    assert (status_of(office, given.answer), office.store.labels.valid()) == ("proposed", ())


@pytest.mark.parametrize(
    "field",
    ["Auto-Submitted: auto-replied", "Auto-Submitted: auto-generated", "X-Autoreply: yes", f"{ORIGIN_HEADER}: v1"],
)
def test_an_automatic_reply_is_nobodys_answer(office: Office, field: str) -> None:
    """Failure: the vacation notice of a shared mailbox withdrew the answer, and counted as a person's own words."""
    given = proposed_in(office, Mode.SHADOW)
    raw = f"{field}\r\n".encode() + by_ada("I am on holiday until Monday.")
    looking(given, with_answer(given, raw)).look_after()
    assert (status_of(office, given.answer), office.store.labels.valid()) == ("proposed", ())


def test_an_answer_to_a_later_mail_of_the_thread_is_no_answer_to_the_first(office: Office) -> None:
    """It names both in References; the proposal to the first mail waits on."""
    given = proposed_in(office, Mode.SHADOW)
    first = one(office, given.mail_id).message_id
    head = f"In-Reply-To: <second@example.net>\r\nReferences: {first} <second@example.net>\r\n"
    looking(given, with_answer(given, head.encode() + by_ada("Harbour Road 1."))).look_after()
    assert (status_of(office, given.answer), office.store.labels.valid()) == ("proposed", ())
    only_references = f"References: <zero@example.net> {first}\r\n"
    sent = with_answer(given, b"")
    sent.mails[first] = [only_references.encode() + by_ada("It is done.")]
    looking(given, sent).look_after()
    assert status_of(office, given.answer) == "cancelled"


def test_a_mail_to_somebody_else_is_no_answer(office: Office) -> None:
    """Colleagues talk about a customer's mail in its thread."""
    given = proposed_in(office, Mode.SHADOW)
    looking(given, with_answer(given, by_ada("What shall we say?", to="bob@harborfile.example"))).look_after()
    assert status_of(office, given.answer) == "proposed"


def test_nobody_looks_where_nothing_waits_or_so_soon_again(office: Office) -> None:
    given, sent = proposed_in(office, Mode.SHADOW), FakeSent()
    looker = looking(given, sent)
    for _ in range(3):
        looker.look_after()
    assert sent.opened == 1
    given.office.clock = Clock(given.office.clock() + BREAK)
    looker.now = given.office.clock
    looker.look_after()
    assert sent.opened == 2


def test_each_round_goes_on_where_the_last_one_ended(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failure: of many answers that wait only the newest were ever looked for."""
    monkeypatch.setattr("support_agent.workflow.sent_answers.MOST", 1)
    proposals = [proposed_in(office, sender=sender) for sender in CUSTOMERS[:3]]
    sent = FakeSent()
    sent.uid_next = None  # so that what was looked for is looked for again
    looker = looking(proposals[0], sent)
    for _ in range(4):
        looker.now = Clock(looker.now() + BREAK)
        looker.look_after()
    ids = [one(office, given.mail_id).message_id for given in reversed(proposals)]
    assert sent.looked_for == [*ids, ids[0]]


def test_a_folder_that_has_not_changed_is_not_searched_again(office: Office) -> None:
    """Failure: each answer that waits was searched for every two minutes, in a folder of a hundred thousand mails."""
    first, second = (proposed_in(office, sender=sender) for sender in CUSTOMERS[:2])
    sent = FakeSent()
    looker = looking(first, sent)

    def round_later() -> int:
        before = len(sent.looked_for)
        looker.now = Clock(looker.now() + BREAK)
        looker.look_after()
        return len(sent.looked_for) - before

    assert [round_later(), round_later()] == [2, 0]
    third = proposed_in(office, sender=CUSTOMERS[2])
    assert round_later() == 1
    sent.uid_next = 2
    sent.mails[one(office, second.mail_id).message_id] = with_answer(second, by_ada("No.", CUSTOMERS[1])).mails[
        one(office, second.mail_id).message_id
    ]
    assert round_later() == 3
    assert [status_of(office, given.answer) for given in (first, second, third)] == [
        "proposed",
        "cancelled",
        "proposed",
    ]


@pytest.mark.parametrize("is_away", [True, False])
def test_a_folder_that_cannot_be_read_stops_nothing(office: Office, is_away: bool) -> None:
    given, sent = proposed_in(office, Mode.SHADOW), FakeSent()
    sent.is_away, sent.folder = is_away, None
    looking(given, sent).look_after()
    assert status_of(office, given.answer) == "proposed"
