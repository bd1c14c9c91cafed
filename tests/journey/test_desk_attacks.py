"""Attacks on the desk, as data: forged, altered, replayed and misdirected commands. None of them sends anything."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import NamedTuple

import pytest
from sqlalchemy import text

from support_agent.demo import AUTHSERV_ID
from tests.fakes_desk import Proposed, held_in, lines_of, order, proposed_in, status_of, told
from tests.fakes_journey import DESK, JAMES, STRANGER, Clock, Office, with_agent, write
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.seen import ACKNOWLEDGEMENT, ANSWER, FAILURE, HUMAN, PACKET, PERSON_REPLY, opened, text_of

EVIL = "desk@harborfile.example.evil.example"
RESULTS = f"Authentication-Results: {AUTHSERV_ID}; dmarc=pass header.from=harborfile.example"


class Attack(NamedTuple):
    """A mail that must have no effect; `mail` makes it of what an attacker may have seen of a packet."""

    name: str
    mail: Callable[[Proposed], bytes]
    is_told: bool = False
    """Whether the desk hears of it: the sender is proven staff, so it may be a slip."""


def approve(given: Proposed, **how: str | None) -> bytes:
    """The line of the packet, as a mail with other circumstances."""
    return write("", **{"subject": given.lines["approve"], "sender": DESK, **how})  # type: ignore[arg-type]


def edited(given: Proposed, old: str, new: str) -> bytes:
    return approve(given).replace(old.encode(), new.encode(), 1)


def key_of(line: str) -> str:
    return line.rpartition(" ")[2]


def with_key(given: Proposed, key: str, command: str = "approve") -> bytes:
    return approve(given, subject=f"[{given.answer.case_id}] {command} {key}")


def quoted(given: Proposed) -> bytes:
    lines = "\r\n".join(f"> {line}" for line in given.lines.values())
    said = f"Who is this customer?\r\n\r\nOn Fri, 20 Nov 2026 at 12:00, Support <a@b.example> wrote:\r\n{lines}"
    return write(said, sender="ada@harborfile.example", number=3)


def flipped(key: str, place: int) -> str:
    return key[:place] + ("B" if key[place] == "A" else "A") + key[place + 1 :]


def with_flipped_key(place: int, given: Proposed) -> bytes:
    return with_key(given, flipped(key_of(given.lines["approve"]), place))


FORGED = (
    Attack("the desk's address, with no proof (level 0)", lambda given: approve(given, proof=None)),
    Attack("the desk's address, authenticated for another domain (level 1)", lambda given: approve(given, proof="spf")),
    Attack("a stranger who is proven (level 2)", lambda given: approve(given, sender=STRANGER)),
    Attack("the customer, proven and known (level 3)", lambda given: approve(given, sender=JAMES)),
    Attack("a name that ends otherwise", lambda given: approve(given, sender=EVIL)),
    Attack(
        "the desk's address as a display name",
        lambda given: edited(given, f"From: <{DESK}>", f'From: "{DESK}" <{STRANGER}>'),
    ),
    Attack("two From fields", lambda given: edited(given, f"From: <{DESK}>", f"From: <{DESK}>\r\nFrom: <{STRANGER}>")),
    Attack("two addresses in From", lambda given: edited(given, f"From: <{DESK}>", f"From: <{STRANGER}>, <{DESK}>")),
    Attack(
        "Sender is the desk and From is not",
        lambda given: edited(given, f"From: <{DESK}>", f"Sender: <{DESK}>\r\nFrom: <{STRANGER}>"),
    ),
    Attack(
        "results of a server that is not ours",
        lambda given: edited(given, RESULTS, RESULTS.replace(AUTHSERV_ID, "mx.evil.example")),
    ),
    Attack(
        "results for another From domain",
        lambda given: edited(given, "header.from=harborfile.example", "header.from=evil.example"),
    ),
    Attack(
        "our server's failure above a forged pass",
        lambda given: edited(given, RESULTS, f"{RESULTS.replace('dmarc=pass', 'dmarc=fail')}\r\n{RESULTS}"),
    ),
    Attack(
        "an automatic reply of the desk",
        lambda given: b"Auto-Submitted: auto-replied\r\n" + approve(given),
    ),
    Attack(
        "the desk's letter in a letter that looks Latin",
        lambda given: approve(given, sender="des\u212a@harborfile.example"),
    ),
)
"""Whoever is not proven staff orders nothing, whatever key the mail has."""

ALTERED = (
    *(
        Attack(f"character {place} of the key is another", partial(with_flipped_key, place), is_told=True)
        for place in (0, 1, 12, 24)
    ),
    Attack(
        "the key of `close` for `approve`", lambda given: with_key(given, key_of(given.lines["close"])), is_told=True
    ),
    Attack(
        "the key of `approve` for a document",
        lambda given: with_key(given, key_of(given.lines["approve"]), "document 1"),
        is_told=True,
    ),
    Attack("a key that nobody made", lambda given: with_key(given, "A" * 26), is_told=True),
    Attack("no key", lambda given: approve(given, subject=f"[{given.answer.case_id}] approve"), is_told=True),
    Attack("half a key", lambda given: with_key(given, key_of(given.lines["approve"])[:13]), is_told=True),
    Attack("a case that does not exist", lambda given: edited(given, str(given.answer.case_id), "nocase0000")),
    Attack(
        "more than the command",
        lambda given: approve(given, subject=f"{given.lines['approve']} please"),
        is_told=True,
    ),
    Attack(
        "an objection below the command in the subject",
        lambda given: write("No! Do not send this.", subject=f"Re: {given.lines['approve']}", sender=DESK),
        is_told=True,
    ),
    Attack(
        "two commands",
        lambda given: approve(given, subject=f"{given.lines['close']} {given.lines['approve']}"),
        is_told=True,
    ),
)
"""What a slip, a bad mail program or a guess makes of a line."""


UNDOING = (
    *(attack._replace(name=f"undo: {attack.name}") for attack in FORGED),
    Attack("undo: a character of the key is another", partial(with_flipped_key, 3), is_told=True),
    *(
        Attack(
            f"the key of `undo` for `{command}`",
            partial(lambda command, given: with_key(given, key_of(given.lines["approve"]), command), command),
            is_told=True,
        )
        for command in ("approve", "document 1", "close", "give back", "claim")
    ),
    Attack("undo: a key that nobody made", lambda given: with_key(given, "A" * 26, "undo"), is_told=True),
    Attack(
        "an objection below `undo` in the subject",
        lambda given: write("No, send it!", subject=given.lines["approve"], sender=DESK),
        is_told=True,
    ),
)
"""The same for an answer that leaves by itself; its one line stands where that of `approve` does."""


def assert_nothing_was_sent(office: Office, given: Proposed) -> None:
    """The proposal still waits; the customer has acknowledgements and nothing else."""
    Shift(given.office, FakeMailbox([])).work()
    assert status_of(office, given.answer) == "proposed"
    sent = {raw for recipient, raw in office.transport.given if recipient == JAMES}
    assert sent == {row.raw for row in office.store.outbox.find(kind=ACKNOWLEDGEMENT) if row.recipient == JAMES}
    assert not any(row.kind is PERSON_REPLY for row in office.store.outbox.find())


@pytest.mark.parametrize("attack", [*FORGED, *ALTERED], ids=lambda attack: attack.name)
def test_a_forged_or_altered_command_does_nothing(office: Office, attack: Attack) -> None:
    given = proposed_in(office)
    mail_id, _ = given.office.handle(attack.mail(given))
    assert bool(told(office, mail_id)) is attack.is_told
    assert ANSWER not in {kind for kind, row in office.sent(mail_id).items() if row.recipient == JAMES}
    assert_nothing_was_sent(office, given)


@pytest.mark.parametrize("attack", FORGED, ids=lambda attack: attack.name)
def test_a_forged_command_does_not_use_up_the_key(office: Office, attack: Attack) -> None:
    """Else anybody who guesses a case could keep its packet from working."""
    given = proposed_in(office)
    given.office.handle(attack.mail(given))
    order(given.office, given.lines["approve"], number=70)
    assert status_of(office, given.answer) == "sent"


@pytest.mark.parametrize("subject", [f"close {'A' * 26}", f"[abc] approve {'B' * 26}", f"Re: spam {'C' * 26}"])
def test_a_customers_subject_keeps_no_reply_from_her(office: Office, subject: str) -> None:
    """Failure: the packet's subject looked like a command, so each reply to it was a command that was refused."""
    first, _ = office.handle(write("Let me talk to a human.", subject=subject))
    packet = office.sent(first)[PACKET]
    answer = write("Of course.", sender=DESK, subject=f"Re: {opened(packet)['Subject']}", in_reply_to=packet.message_id)
    reply, _ = office.handle(answer)
    assert (told(office, reply), set(office.sent(reply))) == ("", {PERSON_REPLY})


@pytest.mark.parametrize("attack", ALTERED, ids=lambda attack: attack.name)
def test_an_altered_command_does_not_use_up_the_key(office: Office, attack: Attack) -> None:
    given = proposed_in(office)
    given.office.handle(attack.mail(given))
    order(given.office, given.lines["approve"], number=70)
    assert status_of(office, given.answer) == "sent"


def held(office: Office, sender: str = JAMES, number: int = 1) -> Proposed:
    """An answer that leaves by itself, with its one command in the place of `approve`."""
    given = held_in(office, sender, number)
    return given._replace(lines={"approve": given.lines["undo"]})


@pytest.mark.parametrize("attack", UNDOING, ids=lambda attack: attack.name)
def test_an_attack_keeps_no_answer_from_leaving_and_uses_no_key_up(office: Office, attack: Attack) -> None:
    """Whoever can undo what the machine says can keep customers from their answers."""
    given = held(office)
    mail_id, _ = given.office.handle(attack.mail(given))
    assert (status_of(office, given.answer), bool(told(office, mail_id))) == ("ready", attack.is_told)
    assert office.store.labels.valid() == ()
    order(given.office, given.lines["approve"], number=70)
    assert status_of(office, given.answer) == "cancelled"


def test_the_key_that_undoes_is_for_its_own_answer_and_works_once(office: Office) -> None:
    """Not for the answer of another case, nor for a proposal, nor after its use."""
    given, other = held(office), held(office, "anna.keller@example.net", 2)
    for raw in (
        with_key(given, key_of(other.lines["approve"]), "undo"),
        with_key(other, key_of(given.lines["approve"]), "undo"),
    ):
        mail_id, _ = given.office.handle(raw)
        assert told(office, mail_id)
    order(given.office, given.lines["approve"])
    again = order(given.office, given.lines["approve"], number=51)
    assert "used 'undo' already" in told(office, again)
    assert [status_of(office, one.answer) for one in (given, other)] == ["cancelled", "ready"]


def test_the_keys_of_a_proposal_undo_nothing_and_its_packet_has_no_such_command(office: Office) -> None:
    given = proposed_in(office)
    assert "undo" not in given.lines
    for line in given.lines.values():
        mail_id, _ = given.office.handle(with_key(given, key_of(line), "undo"))
        assert told(office, mail_id)
    assert_nothing_was_sent(office, given)


def test_refused_commands_are_told_up_to_a_limit(office: Office) -> None:
    """Failure: an auto-responder that answers each notice under the desk's name had one more without end."""
    given = proposed_in(with_agent(office, max_packets_per_sender_a_day=3))
    wrong = f"[{given.answer.case_id}] approve {'A' * 26}"
    kinds = [
        set(office.sent(given.office.handle(write("", subject=wrong, sender=DESK, number=100 + number))[0]))
        for number in range(5)
    ]
    assert kinds == [{FAILURE}] * 3 + [set()] * 2


def test_two_automatic_replies_do_not_answer_each_other_without_end(office: Office) -> None:
    """Failure: an absence notice of the desk without headers, in a language that no rule knows, and the customer's own
    notice answered each other 50 times."""
    asked, _ = office.handle(write(HUMAN, sender=JAMES))
    packet, sent = office.sent(asked)[PACKET], 0
    for number in range(10, 20, 2):
        away = write("Na godišnjem sam odmoru do 5.", sender=DESK, in_reply_to=packet.message_id, number=number)
        replied, _ = office.handle(away)
        if (reply := office.sent(replied).get(PERSON_REPLY)) is None:
            break
        sent += 1
        too = write("Olen puhkusel kuni 5.", sender=JAMES, in_reply_to=reply.message_id, number=number + 1)
        packet = office.sent(office.handle(too)[0])[PACKET]
    assert sent == office.settings.desk.max_same_replies == 3
    assert "these words went to the customer before" in told(office, replied)


def test_a_replayed_approval_sends_nothing_more(office: Office) -> None:
    """The same line in a mail of another id, from the same person: the key is used up."""
    given = proposed_in(office)
    first = order(given.office, given.lines["approve"])
    for number in (51, 52):
        again = order(given.office, given.lines["approve"], number=number)
        assert "used 'approve' already" in told(office, again)
    assert told(office, first) == ""
    assert [raw for recipient, raw in office.transport.given if recipient == JAMES][1:] == [given.answer.raw]


def test_the_same_bytes_again_are_one_mail(office: Office) -> None:
    given = proposed_in(office)
    raw = approve(given)
    for _ in range(2):
        given.office.handle(raw)
        Shift(given.office, FakeMailbox([])).work()
    assert len([recipient for recipient, _ in office.transport.given if recipient == JAMES]) == 2


def test_a_key_of_another_case_does_nothing(office: Office) -> None:
    """Neither under its own case's name nor under the other's, nor as a reply to the other packet."""
    given, other = proposed_in(office), proposed_in(office, sender="anna.keller@example.net", number=2)
    key = key_of(other.lines["approve"])
    packet = office.sent(given.mail_id)[PACKET].message_id
    as_reply = write(other.lines["approve"], sender=DESK, in_reply_to=packet, number=4)
    for raw in (with_key(given, key), as_reply):
        mail_id, _ = given.office.handle(raw)
        assert told(office, mail_id)
    assert_nothing_was_sent(office, given)
    assert status_of(office, other.answer) == "proposed"


def test_a_key_expires(office: Office) -> None:
    """After `desk.key_valid_h`; the notice has a fresh one."""
    given = proposed_in(office)
    later = office.clock() + timedelta(hours=office.settings.desk.key_valid_h)
    given.office.clock = Clock(later)
    mail_id = order(given.office, given.lines["approve"])
    assert "its key expired at 2026-11-27 12:00 UTC" in told(office, mail_id)
    assert status_of(office, given.answer) == "proposed"
    order(given.office, lines_of(office.sent(mail_id)[next(iter(office.sent(mail_id)))])["approve"], number=51)
    assert status_of(office, given.answer) == "sent"


def test_a_key_approves_no_other_bytes(office: Office) -> None:
    """Whoever can write to the database changes the answer behind the packet: the key fits the bytes no more."""
    given = proposed_in(office)
    with office.store.database.write() as connection:
        connection.execute(text("UPDATE outbox SET raw = :raw WHERE id = :id"), {"raw": b"evil", "id": given.answer.id})
    mail_id = order(given.office, given.lines["approve"])
    assert "its key is not one of this case, or what it is about has changed since" in told(office, mail_id)
    assert status_of(office, given.answer) == "proposed"


def test_a_command_in_a_quotation_is_none(office: Office) -> None:
    """Mail between colleagues that quotes a packet orders nothing."""
    given = proposed_in(office)
    given.office.handle(quoted(given))
    assert_nothing_was_sent(office, given)


def test_a_command_with_more_text_is_refused(office: Office) -> None:
    """ "approve, but change the date" must not send the answer as it is."""
    given = proposed_in(office)
    packet = office.sent(given.mail_id)[PACKET].message_id
    said = f"{given.lines['approve']}\r\nBut change the date, please."
    mail_id, _ = given.office.handle(write(said, sender=DESK, in_reply_to=packet, number=5))
    assert "a command stands alone" in told(office, mail_id)
    assert_nothing_was_sent(office, given)


@pytest.mark.parametrize("said", ["approve", "Close.", "document 3", "approve ABCDEF", "give back\r\n\r\nAda"])
def test_a_command_without_its_key_is_not_passed_on_as_words(office: Office, said: str) -> None:
    """The customer must not read "approve"."""
    given = proposed_in(office)
    packet = office.sent(given.mail_id)[PACKET].message_id
    mail_id, _ = given.office.handle(write(said, sender=DESK, in_reply_to=packet, number=6))
    assert "it reads like a command" in told(office, mail_id)
    assert_nothing_was_sent(office, given)


def test_a_customer_cannot_write_a_line_into_the_packet(office: Office) -> None:
    """What looks like a command in a customer's mail stands behind a quotation mark, and its key fits nothing."""
    given = proposed_in(office, text=f"Can I get a refund?\r\n- [case] approve {'A' * 26}")
    assert f"> - [case] approve {'A' * 26}" in text_of(office.sent(given.mail_id)[PACKET])
    assert given.lines["approve"].count("A" * 26) == 0
