"""Replies of staff with files, and with the packet quoted below: what reaches the customer, and what goes back."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from urllib.parse import quote

import pytest

from support_agent.cli.case_printing import why as printed
from support_agent.ops.explain import why
from support_agent.ops.replay import replay
from support_agent.store.records import MailId
from tests.fakes_desk import proposed_in, told
from tests.fakes_journey import ANNA, DESK, STRANGER, Office, write
from tests.unit.extraction.files import pdf
from tests.unit.seen import FAILURE, HUMAN, PACKET, PERSON_REPLY, one, opened, reason_told, text_of

PDF = pdf("What was agreed") + b"\n"


def with_file(raw: bytes, name: str, content: bytes, content_type: str = "application/pdf") -> bytes:
    """The mail with a file beside its text; the content is 7-bit."""
    head, text = raw.split(b"Content-Type: text/plain", 1)
    part = (
        f"--cut\r\nContent-Type: {content_type}\r\n"
        f"Content-Disposition: attachment; filename*=utf-8''{quote(name)}\r\n\r\n"
    ).encode()
    start = b"Content-Type: multipart/mixed; boundary=cut\r\n\r\n--cut\r\nContent-Type: text/plain" + text
    return head + start + part + content + b"\r\n--cut--\r\n"


def staff_reply(
    office: Office, name: str, content: bytes, *, sender: str = DESK, proof: str | None = "dmarc"
) -> MailId:
    """A reply with a file to the packet of a new case."""
    first, _ = office.handle(write(HUMAN, subject="My card"))
    packet = office.sent(first)[PACKET].message_id
    raw = write("It is attached.", sender=sender, proof=proof, in_reply_to=packet, number=2)
    return office.handle(with_file(raw, name, content))[0]


def test_words_and_file_reach_the_customer_as_they_were_sent(office: Office) -> None:
    """The file's bytes are those of the staff member's mail; its name is clean."""
    sent = office.sent(staff_reply(office, "../Vertrag.pdf", PDF))
    assert set(sent) == {PERSON_REPLY}
    mail = opened(sent[PERSON_REPLY])
    assert sent[PERSON_REPLY].recipient == ANNA
    assert text_of(sent[PERSON_REPLY]) == "It is attached.\n"
    (file,) = mail.iter_attachments()
    assert (file.get_filename(), file.get_content_type()) == ("Vertrag.pdf", "application/pdf")
    assert file.get_payload(decode=True) == PDF


def test_reply_with_a_file_is_made_again_from_what_is_stored(office: Office) -> None:
    """To the same bytes; `why` says whose the file is."""
    reply = staff_reply(office, "Überweisung.pdf", PDF)
    (found,) = [one for one in replay(office.store, [reply]) if one.kind is PERSON_REPLY]
    assert found.is_identical
    case_id = one(office, reply).case_id
    assert case_id is not None
    (explained,) = [mail for mail in why(office.store, case_id) if mail.kind is PERSON_REPLY]
    (file,) = explained.files
    assert (file.name, file.size_bytes) == ("Überweisung.pdf", len(PDF))
    assert "files\n  Überweisung.pdf" in printed([explained])
    assert file.what == f"a person's file, attachment 1 of mail {reply}, its bytes unchanged"


@pytest.mark.parametrize(("name", "content"), [("setup.exe", b"MZ"), ("a.pdf", b"MZ"), ("a.pdf", b"%PDF /JavaScript")])
def test_dangerous_file_goes_back_to_the_desk_with_what_to_do(office: Office, name: str, content: bytes) -> None:
    """Nothing reaches the customer, not the words either: they may speak of the file."""
    sent = office.sent(reply := staff_reply(office, name, content))
    assert set(sent) == {FAILURE}
    code, told = reason_told(office, reply, FAILURE)
    assert code == "not_passed_on"
    assert "send the reply again without it, or write to the customer directly" in str(told)


@pytest.mark.parametrize(("sender", "proof"), [(DESK, None), (DESK, "spf"), (STRANGER, "dmarc"), (ANNA, "dmarc")])
def test_files_of_anybody_but_proven_staff_go_nowhere(office: Office, sender: str, proof: str | None) -> None:
    reply = staff_reply(office, "a.pdf", PDF, sender=sender, proof=proof)
    assert not any(row.recipient == ANNA for row in office.store.outbox.find(mail_id=reply))


def test_the_customers_mail_that_the_packet_enclosed_does_not_come_back_to_her(office: Office) -> None:
    """Some mail programs carry along what the mail that they answer has attached."""
    sent = office.sent(staff_reply(office, "original.eml", b"From: anna\n\nLet me talk to a human."))
    assert not list(opened(sent[PERSON_REPLY]).iter_attachments())


QUOTED_IN_A_FILE: dict[str, Callable[[str], str]] = {
    "as it is": lambda packet: packet,
    "marked": lambda packet: "> " + packet.replace("\n", "\n> "),
    "re-wrapped": lambda packet: "\n".join(textwrap.wrap(" ".join(packet.split()), 40)),
    "its lines with keys": lambda packet: "\n".join(line[2:] for line in packet.splitlines() if "own words" in line),
    "one key": lambda packet: re.findall("close [A-Z2-7]{26}", packet)[0],
    "why it stopped": lambda packet: next(line for line in packet.splitlines() if "Why the level" in line),
}


@pytest.mark.parametrize("quoted", QUOTED_IN_A_FILE)
@pytest.mark.parametrize(("name", "declared"), [("ATT00001.txt", "text/plain"), ("packet.csv", "text/csv")])
def test_file_that_repeats_the_packet_does_not_reach_the_customer(
    office: Office, name: str, declared: str, quoted: str
) -> None:
    """Exchange moves what it does not understand into ATT00001.txt, the quoted packet too."""
    first, _ = office.handle(write(HUMAN, subject="My card"))
    packet = office.sent(first)[PACKET]
    words = write("Dear Anna, see below.", sender=DESK, in_reply_to=packet.message_id, number=2)
    content = QUOTED_IN_A_FILE[quoted](text_of(packet)).encode()
    reply, _ = office.handle(with_file(words, name, content, declared))
    assert set(office.sent(reply)) == {FAILURE}
    assert "repeats the packet, which is for staff only" in str(reason_told(office, reply, FAILURE)[1])


def test_own_words_with_a_file_that_repeats_the_packet_are_not_carried_out(office: Office) -> None:
    """The command passes files on as a reply does."""
    given = proposed_in(office)
    command = write("It is attached.", subject=given.lines["own words"], sender=DESK, number=2)
    reply, _ = given.office.handle(with_file(command, "a.txt", given.lines["close"].encode(), "text/plain"))
    assert "repeats the packet" in told(office, reply)
    assert PERSON_REPLY not in office.sent(reply)


def test_packet_quoted_below_with_other_line_breaks_stays_in_the_house(office: Office) -> None:
    """The words above it are passed on, and nothing of the packet."""
    first, _ = office.handle(write(HUMAN, subject="My card"))
    packet = office.sent(first)[PACKET]
    quoted = "\r\n".join(textwrap.wrap(" ".join(text_of(packet).split()), 60))
    words = f"Dear Anna, we look at it.\r\n\r\n{quoted}"
    reply, _ = office.handle(write(words, sender=DESK, in_reply_to=packet.message_id, number=2))
    assert text_of(office.sent(reply)[PERSON_REPLY]) == "Dear Anna, we look at it.\n"
