"""Replies that ask nothing new: thanks and withdrawals close a case, complaints and reminders go to a person."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest

from support_agent.cases.handling import Handling
from support_agent.cases.intention_vote import COURTESY, IntentionVote
from support_agent.cases.intentions import Intent
from support_agent.cases.route import case_id_of
from support_agent.cli.case_printing import timeline as printed
from support_agent.config.intentions import IntentionSettings
from support_agent.core.modes import Mode
from support_agent.mail.message import parse
from support_agent.ops.explain import timeline
from support_agent.ops.replay import plan_again
from support_agent.pipeline import handle
from support_agent.store.records import CaseState, MailId, MailStatus
from tests.fakes_desk import order, proposed_in, status_of
from tests.fakes_journey import (
    ANNA,
    DESK,
    JAMES,
    NOON,
    STRANGER,
    Clock,
    Office,
    once,
    twice,
    with_agent,
    with_autonomy,
    write,
)
from tests.fakes_worker import work
from tests.unit.facts.words import WordEmbedder
from tests.unit.seen import (
    ACKNOWLEDGEMENT,
    ANSWER,
    CANCEL,
    FAILURE,
    HUMAN,
    PACKET,
    PERSON_REPLY,
    REFUND,
    SEATS,
    TWO,
    one,
    reason_told,
    state,
    text_of,
)

BOB = "bob@partner.example"
THANKS, SOLVED, WITHDRAWN = "Thank you very much.", "It works again.", "Never mind, forget it."
NOT_HELPED, ANY_NEWS = "That did not help me.", "Any news yet?"
EXAMPLES = (
    (Intent.THANKS, (THANKS, "Thanks a lot")),
    (Intent.SOLVED, (SOLVED, "It is solved now")),
    (Intent.WITHDRAWN, (WITHDRAWN, "Never mind", "forget it")),
    (Intent.NOT_HELPED, (NOT_HELPED, "It was of no help")),
    (Intent.ANY_NEWS, (ANY_NEWS, "Is there an update?")),
    (Intent.NONE, (CANCEL, "can I get a refund?", "How do I reset my password?", "I want a refund")),
    (COURTESY, ("Hello,", "Anna")),
)
CLOSING = [(THANKS, "thanks"), (SOLVED, "solved"), (WITHDRAWN, "withdrawn")]


def talking(office: Office, settings: IntentionSettings | None = None) -> Office:
    """The same office with a vote that knows a few sentences."""
    settings = settings or IntentionSettings(closes_from=0.6, not_helped_from=0.6, any_news_from=0.6)
    vote = IntentionVote(WordEmbedder(), "words", settings, EXAMPLES)
    configured = office.settings.model_copy(update={"intentions": settings})
    decider = replace(office.decider, intentions=vote, settings=configured)
    return replace(office, decider=decider, settings=configured)


@pytest.fixture
def desk(office: Office) -> Office:
    return talking(office)


def answered(office: Office, text: str = REFUND, sender: str = ANNA) -> tuple[MailId, str]:
    """A mail that was answered, and the id of the answer."""
    first, outcome = office.handle(write(text, sender=sender, subject="Refund"))
    assert outcome == "answered"
    return first, office.sent(first)[ANSWER].message_id


class _Killed(BaseException):
    """The process dies."""


def with_person(office: Office) -> tuple[MailId, str, str]:
    """A mail that a person has; the ids of its packet and of its acknowledgement."""
    first, _ = office.handle(write(HUMAN, subject="My card"))
    sent = office.sent(first)
    return first, sent[PACKET].message_id, sent[ACKNOWLEDGEMENT].message_id


RE_QUESTION = "Re: A question"
"""The subject of a reply in a case that `fakes_desk.proposed_in` began."""


def reply(text: str, to: str, number: int = 5, subject: str = "Re: Refund", **more: str) -> bytes:
    return write(text, in_reply_to=to, number=number, subject=subject, **more)


@pytest.mark.parametrize(("text", "intent"), CLOSING)
def test_a_reply_that_closes_is_filed_and_nobody_gets_a_mail(desk: Office, text: str, intent: str) -> None:
    """No packet, no acknowledgement, no answer; intent and probability are recorded, and `show` prints them."""
    first, answer = answered(desk)
    mail_id, outcome = desk.handle(reply(text, answer))
    assert (outcome, desk.sent(mail_id)) == ("filed", {})
    mail = one(desk, mail_id)
    assert (mail.status, mail.reason_code, mail.case_id) == (MailStatus.FILED, intent, one(desk, first).case_id)
    assert state(desk, mail_id) is CaseState.CLOSED
    story = timeline(desk.store, str(mail.case_id)).mails[1]
    assert story.plan is not None
    assert story.plan.intention is not None
    assert (story.plan.record.outcome, story.plan.intention.intent) == ("close", intent)
    assert 0.6 <= story.plan.intention.probability <= 1
    shown = printed(timeline(desk.store, str(mail.case_id)))
    assert f"means: {intent}, " in shown
    assert " by the vote words-" in shown


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        (f"{THANKS} {CANCEL}", ANSWER),
        (f"{CANCEL} {THANKS}", ANSWER),
        ("Never mind, I want to cancel. Forget it, how do I cancel?", ANSWER),
    ],
)
def test_thanks_beside_a_question_are_a_question(desk: Office, text: str, raised: object) -> None:
    _, answer = answered(desk)
    mail_id, _ = desk.handle(reply(text, answer))
    assert set(desk.sent(mail_id)) == {raised}
    assert state(desk, mail_id) is CaseState.OPEN


@pytest.mark.parametrize("text", [THANKS, SOLVED, WITHDRAWN, NOT_HELPED, ANY_NEWS])
def test_a_first_mail_is_handled_as_without_the_vote(desk: Office, office: Office, text: str) -> None:
    mail_id, _ = desk.handle(write(text, sender=JAMES, subject="Hello"))
    other, _ = office.handle(write(text, sender=ANNA, subject="Hello"))
    assert (one(desk, mail_id).status, set(desk.sent(mail_id))) == (one(office, other).status, set(office.sent(other)))
    assert state(desk, mail_id) is not CaseState.CLOSED


@pytest.mark.parametrize(("sender", "proof"), [(ANNA, None), (ANNA, "spf"), (STRANGER, "dmarc"), (JAMES, "dmarc")])
def test_only_a_proven_participant_closes_or_reminds(desk: Office, sender: str, proof: str | None) -> None:
    """Anybody can write a Message-ID into a header."""
    first, answer = answered(desk)
    for number, text in enumerate([THANKS, WITHDRAWN, ANY_NEWS, NOT_HELPED]):
        raw = write(text, sender=sender, proof=proof, in_reply_to=answer, number=number, subject="Re: Refund")
        mail_id, _ = desk.handle(raw)
        assert one(desk, mail_id).case_id != one(desk, first).case_id
    assert state(desk, first) is CaseState.OPEN


def test_a_question_in_a_closed_case_opens_it_again_and_is_answered(desk: Office) -> None:
    first, answer = answered(desk)
    desk.handle(reply(THANKS, answer))
    mail_id, outcome = desk.handle(reply(CANCEL, answer, number=6))
    assert (outcome, set(desk.sent(mail_id))) == ("answered", {ANSWER})
    assert one(desk, mail_id).case_id == one(desk, first).case_id
    assert state(desk, mail_id) is CaseState.OPEN
    again, _ = desk.handle(reply(SOLVED, answer, number=7))
    assert state(desk, again) is CaseState.CLOSED


def test_a_closed_case_that_a_person_had_goes_back_to_the_person(desk: Office) -> None:
    """Closing is no way back to automation."""
    first, packet, _ = with_person(desk)
    desk.handle(write("We look at it.", sender=DESK, in_reply_to=packet, number=2))
    persons = next(row for row in desk.store.outbox.find(kind=PERSON_REPLY))
    thanks, _ = desk.handle(reply(THANKS, persons.message_id, subject="Re: My card"))
    assert (desk.sent(thanks), state(desk, first)) == ({}, CaseState.CLOSED)
    mail_id, outcome = desk.handle(reply(CANCEL, persons.message_id, number=6))
    assert (outcome, set(desk.sent(mail_id))) == ("escalated", {PACKET})
    assert state(desk, mail_id) is CaseState.WITH_PERSON


def test_thanks_for_an_acknowledgement_leave_the_case_with_the_person(desk: Office) -> None:
    """The customer still waits for the person's answer; the desk has the packet and needs no second one."""
    first, _, acknowledgement = with_person(desk)
    mail_id, outcome = desk.handle(reply(THANKS, acknowledgement, subject="Re: My card"))
    assert (outcome, desk.sent(mail_id), one(desk, mail_id).reason_code) == ("filed", {}, "thanks")
    assert state(desk, first) is CaseState.WITH_PERSON


@pytest.mark.parametrize("text", [SOLVED, WITHDRAWN])
@pytest.mark.parametrize("is_told", [True, False])
def test_the_desk_hears_that_what_it_has_not_answered_yet_is_over(office: Office, text: str, *, is_told: bool) -> None:
    """It may be about to act on it, for example cancel a plan. Without the setting it hears nothing."""
    settings = IntentionSettings(closes_from=0.6, notifies_desk=is_told)
    desk = talking(office, settings)
    first, _, acknowledgement = with_person(desk)
    mail_id = desk.receive(reply(text, acknowledgement, subject="Re: My card"))
    assert handle(mail_id, twice(), desk.stages) == "filed"
    assert set(desk.sent(mail_id)) == ({PACKET} if is_told else set())
    assert state(desk, first) is CaseState.CLOSED
    if is_told:
        assert reason_told(desk, mail_id)[0] == one(desk, mail_id).reason_code


def test_any_news_in_a_fresh_mail_finds_the_one_case_that_a_person_has(desk: Office) -> None:
    """Many write anew instead of replying; the desk is reminded in the case itself."""
    first, _, _ = with_person(desk)
    with patch.object(IntentionVote, "of", autospec=True, side_effect=IntentionVote.of) as read:
        mail_id, _ = desk.handle(write(ANY_NEWS, subject="Re: My card", number=7))
    assert read.call_count == 1
    assert one(desk, mail_id).case_id == one(desk, first).case_id
    assert reason_told(desk, mail_id)[0] == "any_news"


@pytest.mark.parametrize("why", ["another sender", "not proven", "two cases", "a question", "nobody has one"])
def test_any_news_in_a_fresh_mail_opens_a_case_where_it_may_not_be_joined(desk: Office, why: str) -> None:
    """What is doubtful is a case of its own: a person reads both."""
    if why != "nobody has one":
        with_person(desk)
    if why == "two cases":
        desk.handle(write(HUMAN, subject="My bill", number=6))
    more = {"another sender": {"sender": JAMES}, "not proven": {"proof": "spf"}}.get(why, {})
    text = REFUND if why == "a question" else ANY_NEWS
    mail_id, _ = desk.handle(write(text, subject="Re: My card", number=7, **more))
    assert one(desk, mail_id).case_id == case_id_of(mail_id)


@pytest.mark.parametrize(("text", "code"), [(NOT_HELPED, "not_helped"), (ANY_NEWS, "any_news")])
def test_a_person_gets_a_complaint_or_a_reminder_with_the_whole_story(desk: Office, text: str, code: str) -> None:
    """What the customer asked and was sent, in order; she gets the acknowledgement and no answer."""
    _, answer = answered(desk)
    mail_id, outcome = desk.handle(reply(text, answer))
    sent = desk.sent(mail_id)
    assert (outcome, set(sent)) == ("escalated", {PACKET, ACKNOWLEDGEMENT})
    assert reason_told(desk, mail_id)[0] == code
    packet = text_of(sent[PACKET])
    story = packet[packet.index("THE CASE SO FAR") :]
    assert story.index("[customer]") < story.index("| can I get a refund?") < story.index("[answer]")
    assert "Dokument Nr. 1" in story[story.index("[answer]") :]
    assert state(desk, mail_id) is CaseState.WITH_PERSON
    assert "vote" not in packet  # only the operator reads its name


def test_a_proposal_that_did_not_leave_is_not_in_the_story(office: Office) -> None:
    """Failure: the desk read as `[answer]` what the customer never got."""
    given = proposed_in(talking(office), Mode.SHADOW)
    sent = given.office.sent(given.mail_id)
    given.office.handle(write("We look at it.", sender=DESK, in_reply_to=sent[PACKET].message_id, number=2))
    assert status_of(office, given.answer) == "cancelled"
    complaint = reply(NOT_HELPED, sent[ACKNOWLEDGEMENT].message_id, sender=JAMES)
    mail_id, _ = given.office.handle(complaint)
    packet = text_of(given.office.sent(mail_id)[PACKET])
    story = packet[packet.index("THE CASE SO FAR") :]
    assert ("[answer]" in story, "[person_reply]" in story) == (False, True)


@pytest.mark.parametrize("text", [THANKS, SOLVED])
@pytest.mark.parametrize("command", ["approve", "document 1"])
def test_thanks_for_what_a_person_approved_or_chose_close_the_case_and_tell_nobody(
    office: Office, text: str, command: str
) -> None:
    """Failure: only own words counted as the desk's answer."""
    given = proposed_in(talking(office))
    order(given.office, given.lines[command])
    acknowledgement = given.office.sent(given.mail_id)[ACKNOWLEDGEMENT].message_id
    mail_id, outcome = given.office.handle(reply(text, acknowledgement, sender=JAMES, number=61, subject=RE_QUESTION))
    assert (outcome, given.office.sent(mail_id)) == ("filed", {})
    assert state(office, given.mail_id) is CaseState.CLOSED


def test_thanks_for_a_part_that_was_approved_leave_the_rest_with_the_person(office: Office) -> None:
    given = proposed_in(talking(office), text=TWO)
    order(given.office, given.lines["approve"])
    assert status_of(office, given.answer) == "sent"
    acknowledgement = given.office.sent(given.mail_id)[ACKNOWLEDGEMENT].message_id
    given.office.handle(reply(THANKS, acknowledgement, sender=JAMES, number=61, subject=RE_QUESTION))
    assert state(office, given.mail_id) is CaseState.WITH_PERSON


def test_a_question_after_an_approved_answer_and_thanks_is_answered(office: Office) -> None:
    """Rule: a closed case opens again for whoever had it, and the machine had it."""
    given = proposed_in(talking(office))
    order(given.office, given.lines["approve"])
    acknowledgement = given.office.sent(given.mail_id)[ACKNOWLEDGEMENT].message_id
    given.office.handle(reply(THANKS, acknowledgement, sender=JAMES, number=61, subject=RE_QUESTION))
    office = with_autonomy(given.office, start=Mode.AUTO)
    mail_id, outcome = office.handle(reply(CANCEL, acknowledgement, sender=JAMES, number=62))
    assert (outcome, one(office, mail_id).case_id) == ("answered", given.answer.case_id)


def test_any_news_in_a_case_with_a_person_reminds_the_desk_in_that_case(desk: Office) -> None:
    """One packet, no second case, and nothing to the customer."""
    first, _, acknowledgement = with_person(desk)
    mail_id, outcome = desk.handle(reply(ANY_NEWS, acknowledgement))
    assert (outcome, set(desk.sent(mail_id))) == ("escalated", {PACKET})
    assert one(desk, mail_id).case_id == one(desk, first).case_id
    assert reason_told(desk, mail_id)[0] == "any_news"
    packet = text_of(desk.sent(mail_id)[PACKET])
    assert f"| {HUMAN}" in packet[packet.index("THE CASE SO FAR") :]
    assert "[acknowledgement]" in packet


def test_what_staff_wrote_to_us_is_not_in_the_story(desk: Office) -> None:
    """A reply may quote the story to the customer; only what she wrote or was sent may be in it."""
    _, packet, acknowledgement = with_person(desk)
    internal = write("Let her wait, she never pays.", sender=DESK, in_reply_to=packet, number=3)
    desk.handle(internal.replace(b"To: support@", b"To: bea@harborfile.example\r\nCc: support@"))
    desk.handle(write("We look at it.", sender=DESK, in_reply_to=packet, number=4))
    mail_id, _ = desk.handle(reply(ANY_NEWS, acknowledgement))
    told = text_of(desk.sent(mail_id)[PACKET])
    assert "never pays" not in told
    assert "[person_reply]" in told
    assert "| We look at it." in told


def test_a_reply_that_closes_waits_behind_an_older_question_of_its_case(desk: Office, office: Office) -> None:
    """While the agent is paused a question waits; a case is not closed before it is answered."""
    _, answer = answered(desk)
    paused = with_agent(desk, paused=True)
    asked, _ = paused.handle(reply(CANCEL, answer))
    thanks, outcome = paused.handle(reply(THANKS, answer, number=6))
    assert (outcome, state(desk, thanks)) == ("held", CaseState.OPEN)
    assert one(desk, asked).status is MailStatus.NEW


def test_each_journey_that_runs_twice_leaves_the_same(desk: Office) -> None:
    _, answer = answered(desk)
    for number, (text, outcome) in enumerate([(THANKS, "filed"), (ANY_NEWS, "escalated")], start=6):
        mail_id = desk.receive(reply(text, answer, number=number))
        assert handle(mail_id, twice(), desk.stages) == outcome
    assert state(desk, mail_id) is CaseState.WITH_PERSON


def test_planning_again_decides_the_same(desk: Office) -> None:
    """`replay --plan` asks the vote again; a switched off vote is a difference."""
    _, answer = answered(desk)
    mails = [desk.handle(reply(text, answer, number=number))[0] for number, text in enumerate([THANKS, ANY_NEWS], 6)]
    assert [found.status for found in plan_again(desk.store, desk.dry_run, mails)] == ["same", "same"]
    off = replace(desk, decider=replace(desk.decider, intentions=None))
    (found, _) = plan_again(desk.store, off.dry_run, mails)
    assert (found.before.outcome, found.before.reason, found.status) == ("filed", "thanks", "newly_escalated")


def test_a_dry_run_says_what_a_reply_means(desk: Office) -> None:
    """It stands in no case there, so it is handled as a first mail."""
    tried = desk.dry_run.try_mail("a.eml", reply(THANKS, "<answer@harborfile.example>"), NOON)
    assert tried.intention is not None
    assert (tried.intention.intent, tried.line.outcome) == (Intent.THANKS, "escalate")


def story_lines(packet: str) -> list[str]:
    return [line.strip() for line in packet.splitlines() if line.startswith("    |")]


@pytest.mark.parametrize("is_copied", [True, False])
def test_a_reply_to_one_participant_repeats_nothing_that_only_another_got(desk: Office, is_copied: bool) -> None:
    """Failure: quoted lines of the story told a partner the value of the customer's account."""
    first, _ = desk.handle(f"Cc: {BOB}\r\n".encode() + write(SEATS, sender=ANNA))
    answer = desk.sent(first)[ANSWER]
    asking, to = (BOB, "Bob") if is_copied else (ANNA, "Anna")
    asked, _ = desk.handle(reply(NOT_HELPED, answer.message_id, sender=asking))
    packet = desk.sent(asked)[PACKET]
    lines = story_lines(text_of(packet))
    value = next(line for line in lines if "12" in line)
    said = f"Dear {to},\r\n\r\n{value}\r\n\r\nWe look at it."
    answered_by, _ = desk.handle(write(said, sender=DESK, in_reply_to=packet.message_id, number=77))
    sent = desk.sent(answered_by)
    assert set(sent) == ({FAILURE} if is_copied else {PERSON_REPLY})
    question = next(line for line in lines if SEATS in line)
    said = f"You ask:\r\n{question}\r\nWe look."
    both, _ = desk.handle(write(said, sender=DESK, in_reply_to=packet.message_id, number=78))
    assert SEATS in text_of(desk.sent(both)[PERSON_REPLY])


def test_who_needs_nothing_more_keeps_no_answer_from_another_participant(desk: Office) -> None:
    """Failure: whoever wrote to us and to a customer could then cancel the answer to her reply; nobody heard of it."""
    desk = with_autonomy(desk, hold_s=600.0)
    first, _ = desk.handle(f"Cc: {ANNA}\r\n".encode() + write(REFUND, sender=BOB, subject="Refund"))
    root = one(desk, first).message_id
    hers, _ = desk.handle(reply(SEATS, root, sender=ANNA))
    _, outcome = desk.handle(reply(WITHDRAWN, root, sender=BOB))
    assert (outcome, state(desk, first)) == ("filed", CaseState.CLOSED)
    assert one(desk, hers).case_id == one(desk, first).case_id
    assert [status_of(desk, desk.sent(mail_id)[ANSWER]) for mail_id in (first, hers)] == ["cancelled", "ready"]


@pytest.mark.parametrize(
    ("text", "to", "status"),
    [
        (THANKS, "answer", "sent"),
        (SOLVED, "answer", "sent"),
        (WITHDRAWN, "answer", "sent"),
        (THANKS, "question", "sent"),
        (WITHDRAWN, "question", "cancelled"),
    ],
)
def test_a_reply_about_an_earlier_mail_keeps_no_answer_from_leaving(
    desk: Office, text: str, to: str, status: str
) -> None:
    """Only whoever withdraws the question itself gets no answer to it; thanks for it are thanks in advance."""
    office = with_autonomy(desk, hold_s=600.0)
    first, _ = office.handle(write(REFUND, sender=JAMES))
    answer = office.sent(first)[ANSWER].message_id
    office.clock = Clock(NOON + timedelta(minutes=11))
    work(office)
    second, _ = office.handle(write(CANCEL, sender=JAMES, in_reply_to=answer, number=2))
    replied = answer if to == "answer" else one(office, second).message_id
    _, outcome = office.handle(reply(text, replied, sender=JAMES, subject="Re: A question"))
    office.clock = Clock(NOON + timedelta(minutes=40))
    work(office)
    assert (outcome, status_of(office, office.sent(second)[ANSWER])) == ("filed", status)
    assert state(office, second) is (CaseState.OPEN if status == "sent" else CaseState.CLOSED)


def test_whoever_withdraws_one_of_two_questions_gets_the_other_answer(desk: Office) -> None:
    office = with_autonomy(desk, hold_s=600.0)
    first, _ = office.handle(write(REFUND, sender=JAMES))
    root = one(office, first).message_id
    second, _ = office.handle(write(CANCEL, sender=JAMES, in_reply_to=root, number=2, subject="Re: A question"))
    office.handle(reply(WITHDRAWN, one(office, second).message_id, sender=JAMES, subject="Re: A question"))
    answers = [status_of(office, office.sent(mail_id)[ANSWER]) for mail_id in (first, second)]
    assert (answers, state(office, first)) == (["ready", "cancelled"], CaseState.OPEN)


def test_who_needs_nothing_more_closes_no_case_in_which_another_participant_waits(desk: Office) -> None:
    """Failure: she had asked for a person, and somebody else's "it works again" took her mail from the desk's list."""
    first, _ = desk.handle(f"Cc: {ANNA}\r\n".encode() + write(REFUND, sender=BOB, subject="Refund"))
    root = one(desk, first).message_id
    hers, _ = desk.handle(reply(HUMAN, root, sender=ANNA))
    solved, outcome = desk.handle(reply(SOLVED, root, sender=BOB))
    assert (outcome, set(desk.sent(solved)), state(desk, first)) == ("filed", {PACKET}, CaseState.WITH_PERSON)
    desk.handle(reply(SOLVED, root, sender=ANNA, number=6))
    assert state(desk, hers) == CaseState.CLOSED


PICTURE = (
    "Content-Type: image/png\r\nContent-ID: <a>\r\nContent-Disposition: inline\r\n"
    "Content-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo="
)


def with_picture(raw: bytes) -> bytes:
    head, text = raw.decode().split("Content-Type: text/plain", 1)
    multipart = "Content-Type: multipart/related; boundary=cut\r\n\r\n--cut\r\n"
    return f"{head}{multipart}Content-Type: text/plain{text}--cut\r\n{PICTURE}\r\n--cut--\r\n".encode()


def quoted(office: Office, to: str) -> str:
    """The text of our mail, as a client quotes it."""
    (row,) = office.store.outbox.find(message_id=to)
    lines = parse(row.raw).text.splitlines()
    return "\r\n".join(["On Fri, 20 Nov 2026 at 12:00, Support <a@b.example> wrote:", *(f"> {line}" for line in lines)])


def test_thanks_above_a_whole_quotation_close_a_case(desk: Office) -> None:
    """The quotation, the subject and the signature of the thread say nothing new."""
    first, answer = answered(desk)
    _, outcome = desk.handle(reply(f"{THANKS}\r\n\r\n{quoted(desk, answer)}", answer))
    assert (outcome, state(desk, first)) == ("filed", CaseState.CLOSED)


ORIGINAL = (
    "-----Original Message-----\r\nFrom: Support <a@b.example>\r\nSent: Friday, 20 November 2026 12:00\r\n"
    "To: Anna <anna.keller@example.net>\r\nSubject: Refund\r\n\r\n"
)


@pytest.mark.parametrize(
    ("below", "subject"),
    [
        ("", "Re: My account was hacked, please block it"),
        ("", "My account was hacked, please block it"),
        ("\r\n\r\n-- \r\nI want a refund today.", "Re: Refund"),
        (f"\r\n\r\n{ORIGINAL}I want my money back now.", "Re: Refund"),
        ("\r\n\r\n> can I get a refund?\r\n> I asked this a week ago and where is it\r\n", "Re: Refund"),
    ],
)
def test_thanks_do_not_close_a_case_where_the_mail_has_more_to_say(desk: Office, below: str, subject: str) -> None:
    """In a subject of its own, below the signature mark, below or among the quotation; it goes the way of any mail."""
    first, answer = answered(desk)
    mail_id, outcome = desk.handle(reply(f"{THANKS}{below}", answer, subject=subject))
    assert outcome != "filed"
    assert state(desk, first) is not CaseState.CLOSED
    assert one(desk, mail_id).reason_code not in {intent for _, intent in CLOSING}


def test_thanks_with_a_new_picture_inside_the_text_do_not_close_a_case(desk: Office) -> None:
    """A screenshot may say more than the text. What the thread had before, as a logo, says nothing new."""
    first, answer = answered(desk)
    _, outcome = desk.handle(with_picture(reply(THANKS, answer)))
    assert (outcome != "filed", state(desk, first) is CaseState.CLOSED) == (True, False)
    _, outcome = desk.handle(with_picture(reply(SOLVED, answer, number=6)))
    assert (outcome, state(desk, first)) == ("filed", CaseState.CLOSED)


@pytest.mark.parametrize("dies", ["before the close", "after the close"])
def test_a_closing_mail_that_is_started_again_ends_as_if_nothing_had_stopped_it(
    office: Office, monkeypatch: pytest.MonkeyPatch, dies: str
) -> None:
    """Failure: the desk's packet was queued already, so the second run escalated, and the case stayed open or the mail
    was with a person.

    After a restore the engine has no record of what was decided.
    """
    desk = talking(office)
    _, _, acknowledgement = with_person(desk)
    mail_id = desk.receive(reply(WITHDRAWN, acknowledgement, subject="Re: My card"))
    close = Handling.close_for_customer

    def killed(*given: Any) -> None:
        if dies == "after the close":
            close(*given)
        raise _Killed

    with monkeypatch.context() as patched:
        patched.setattr(Handling, "close_for_customer", killed)
        with pytest.raises(_Killed):
            handle(mail_id, once(), desk.stages)
    handle(mail_id, once(), desk.stages)
    assert one(desk, mail_id).status is MailStatus.FILED
    assert state(desk, mail_id) is CaseState.CLOSED
    assert set(desk.sent(mail_id)) == {PACKET}
