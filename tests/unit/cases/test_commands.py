"""Commands of the desk: which lines are commands, what a key is bound to, and what is only meant as one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest
from pydantic import SecretStr

from support_agent.answer.packet import FoundDocument, Offered
from support_agent.cases.commands import Command, GivenCommand, Subjects, Ticket, given_in, is_meant_as_command, offered
from support_agent.mail.message import parse
from support_agent.store.records import CaseId, OutboxId
from support_agent.tools.person_choice import PersonChoice
from tests.fakes_journey import NOON, write

SECRET = SecretStr("0123456789abcdef0123456789abcdef")
KEY = "ABCDEFGHIJKLMNOPQRSTUVWX27"
TICKET = Ticket(CaseId("case17"), OutboxId("m1-packet"), NOON, Subjects("proposal", "company", "mail"))
FOUND = (FoundDocument(number=3, title="Refunds", score=0.5),)


def given(line: str, *, subject: str = "A question") -> GivenCommand | None:
    return given_in(parse(write(line, subject=subject)))


@pytest.mark.parametrize("command", [command for command in Command if command is not Command.DOCUMENT])
@pytest.mark.parametrize("line", ["[case17] {} {}", "{} {}", "  [CASE17]  {}   {} "])
def test_a_line_with_a_command_and_a_key_is_a_command(command: Command, line: str) -> None:
    """In the subject or as the text, with or without the case."""
    found = given(line.format(command.value, KEY))
    assert found is not None
    assert (found.command, found.key, found.is_alone) == (command, KEY, True)
    as_subject = given("", subject=f"Re: {line.format(command.value.upper(), KEY.lower())}")
    assert as_subject is not None
    assert (as_subject.command, as_subject.key) == (command, KEY)


def test_a_document_is_named_by_its_number() -> None:
    found = given(f"[case17] document 12 {KEY}")
    assert found is not None
    assert (found.command, found.choice, found.case_id) == (Command.DOCUMENT, PersonChoice("document:12"), "case17")


@pytest.mark.parametrize("choice", ["document:3@1,2", "field:plan", "series:payments@last_year", "record:bills@HF-1"])
def test_what_is_sent_is_named_by_its_key_and_perhaps_a_part(choice: str) -> None:
    found = given(f"send {choice} {KEY}")
    assert found is not None
    assert (found.command, found.choice) == (Command.DOCUMENT, PersonChoice.read(choice))


@pytest.mark.parametrize(
    "line",
    [
        "approve", f"approve {KEY[:-1]}", f"approve {KEY}A", f"please approve {KEY}", f"approve {KEY} now",
        f"approve {KEY.replace('A', '1')}", f"document {KEY}", f"document 0 {KEY}", f"document 123456 {KEY}",
        f"document three {KEY}", f"delete {KEY}", f"approve\u00a0{KEY}", f"[case 17] approve {KEY}", KEY,
    ],
)  # fmt: skip
def test_anything_else_is_no_command(line: str) -> None:
    assert given(line) is None


@pytest.mark.parametrize(
    ("text", "is_meant"),
    [
        ("approve", True), ("Approve.", True), (f"approve {KEY[:-1]}", True), ("document 3", True), ("close", True),
        ("give back\r\n\r\nAda", True), (f"Hello\r\napprove {KEY}", True), ("own words", True), ("spam!", True),
        ("We approve your request for a refund.", False), ("Close the window and try again.", False),
        ("Document 3 says that refunds take two weeks.", False), ("Dear Anna,\r\nclose", False),
    ],
)  # fmt: skip
def test_what_reads_like_a_command_is_known(text: str, is_meant: bool) -> None:
    """It must never be passed on to a customer as a person's words."""
    assert is_meant_as_command(parse(write(text)).visible_text) is is_meant


def test_own_words_take_the_text_below_the_line() -> None:
    found = given(f"own words {KEY}\r\nDear Anna,\r\nit is done.")
    assert found is not None
    assert (found.words, found.is_alone) == ("Dear Anna,\nit is done.", True)


def test_other_commands_stand_alone_in_a_text() -> None:
    """ "approve, but change the date" must not send the answer as it is."""
    found = given(f"approve {KEY}\r\nbut change the date")
    assert found is not None
    assert not found.is_alone


def with_text(text: str, line: str, sender: str = "ada@harborfile.example") -> GivenCommand:
    found = given_in(parse(write(text, subject=line, sender=sender)))
    assert found is not None
    return found


@pytest.mark.parametrize("text", ["No, wait: change the date first.", "ok", "No! Do not send this."])
def test_other_commands_stand_alone_in_a_subject_as_well(text: str) -> None:
    """Failure: "approve" as the subject was sent whatever the mail said."""
    assert not with_text(text, f"[case17] approve {KEY}").is_alone
    assert not with_text(text, f"Re: approve {KEY}").is_alone
    assert with_text(text, f"own words {KEY}").is_alone


@pytest.mark.parametrize("text", ["", "\r\n \r\n", "-- \r\nAda\r\nHarborfile, +49 30 1234567", "Sent from my iPhone"])
def test_a_signature_is_no_text(text: str) -> None:
    """Mail programs add it to an empty mail."""
    assert with_text(text, f"approve {KEY}").is_alone


def test_the_subject_of_the_packet_is_no_command_of_who_answers_it() -> None:
    """The customer wrote it; the first line of the text still may be one."""
    subject = f"[case17] close {KEY}"
    assert given_in(parse(write("Dear Anna", subject=f"Re: {subject}")), subject) is None
    assert given_in(parse(write("", subject=f"Re: {subject}")), "[case17] My card") is not None
    assert given_in(parse(write("Dear Anna", subject=f"[EXTERNAL] RIF: {subject}")), subject) is None
    found = given_in(parse(write(f"claim {KEY}", subject=f"AW: {subject}")), subject)
    assert found is not None
    assert found.command is Command.CLAIM


def for_(command: Command, ticket: Ticket = TICKET) -> Ticket:
    """The ticket of a packet that has the command: `undo` is that of an answer which leaves by itself."""
    held = "held" if command is Command.UNDO else None
    return ticket._replace(subjects=ticket.subjects._replace(held=held))


def offers_of(ticket: Ticket) -> tuple[Offered, ...]:
    return tuple(offered(ticket, SECRET, "support@harborfile.example", FOUND, may_answer=True))


def keys() -> dict[Command, GivenCommand]:
    made = {}
    for offer in (*offers_of(TICKET), *offers_of(for_(Command.UNDO))):
        found = given_in(parse(write(offer.line)))
        assert found is not None
        made[found.command] = found
    return made


def test_each_command_is_offered_with_a_key_of_its_own_and_a_link() -> None:
    offers = offers_of(TICKET)
    assert [offer.code for offer in offers] == [command.code for command in Command if command is not Command.UNDO]
    assert [offer.code for offer in offers_of(for_(Command.UNDO))] == ["undo"]
    assert len({found.key for found in keys().values()}) == len(Command)
    assert (
        offers[0].link
        == f"mailto:support@harborfile.example?subject=%5Bcase17%5D%20approve%20{keys()[Command.APPROVE].key}"
    )


def test_no_document_is_offered_for_a_sender_who_gets_no_mail() -> None:
    offers = tuple(offered(TICKET, SECRET, "support@harborfile.example", FOUND, may_answer=False))
    assert "document" not in {offer.code for offer in offers}


@dataclass(frozen=True)
class Other:
    """What differs from what the key was made for."""

    name: str
    ticket: Ticket
    secret: SecretStr = SECRET


def subjects(**changed: str) -> Ticket:
    return TICKET._replace(subjects=TICKET.subjects._replace(**changed))


OTHERS = (
    Other("another case", TICKET._replace(case_id=CaseId("case18"))),
    Other("another packet", TICKET._replace(packet_id=OutboxId("m2-packet"))),
    Other("another expiry", TICKET._replace(until=NOON + timedelta(seconds=1))),
    Other("another secret", TICKET, SecretStr("f" * 32)),
)


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: other.name)
@pytest.mark.parametrize("command", Command)
def test_a_key_is_bound_to_everything_that_it_was_made_of(command: Command, other: Other) -> None:
    assert for_(command).fits((SECRET,), keys()[command])
    assert not for_(command, other.ticket).fits((other.secret,), keys()[command])


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        (Command.APPROVE, "proposal"),
        (Command.DOCUMENT, "company"),
        (Command.CLOSE, "mail"),
        (Command.OWN_WORDS, "mail"),
        (Command.UNDO, "held"),
    ],
)
def test_a_key_is_bound_to_what_its_command_is_about(command: Command, changed: str) -> None:
    """The proposal's bytes, the company's files, the customer's mail: other ones need another key."""
    assert not subjects(**{changed: "another"}).fits((SECRET,), keys()[command])


@pytest.mark.parametrize("command", Command)
def test_a_key_of_one_command_fits_no_other(command: Command) -> None:
    for other in Command:
        if other is not command:
            assert not for_(other).fits((SECRET,), keys()[command]._replace(command=other))


def test_without_a_proposal_nothing_can_be_approved() -> None:
    ticket = TICKET._replace(subjects=TICKET.subjects._replace(proposal=None))
    assert not ticket.fits((SECRET,), keys()[Command.APPROVE])
    assert "approve" not in {offer.code for offer in offered(ticket, SECRET, "a@b.example", FOUND, may_answer=True)}
