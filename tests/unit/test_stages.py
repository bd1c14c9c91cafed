"""The stages on a real store: what goes out for which mail, to whom, and that a stage that runs twice does no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from itertools import count

import pytest
from pydantic import JsonValue
from structlog.testing import capture_logs

from support_agent.answer.templates import Templates
from support_agent.mail.outbox import Delivery
from support_agent.pipeline import handle
from support_agent.place import case_id_of
from support_agent.planner.loop import Planner
from support_agent.resources import packaged
from support_agent.settings import EngineSettings
from support_agent.steps import Steps, Work
from support_agent.store.records import (
    CaseState,
    LetterKind,
    MailId,
    MailRecord,
    MailStatus,
    OutboxRecord,
    OutboxStatus,
)
from tests.fakes_journey import (
    ANNA,
    DESK,
    JAMES,
    NOON,
    STRANGER,
    Clock,
    Office,
    SureModel,
    once,
    twice,
    write,
)

ANSWER, ACKNOWLEDGEMENT = LetterKind.ANSWER, LetterKind.ACKNOWLEDGEMENT
PACKET, FAILURE, PERSON_REPLY = LetterKind.PACKET, LetterKind.FAILURE, LetterKind.PERSON_REPLY
REFUND = "Hello,\r\n\r\ncan I get a refund?\r\n\r\nAnna"
TWO = "1. How many seats have we paid for?\r\n2. Do you have a table for four on Saturday?"
HUMAN = "Let me talk to a human."
OFF_TOPIC = "Do you have a table for four on Saturday?"


def opened(row: OutboxRecord) -> EmailMessage:
    return message_from_bytes(row.raw, policy=policy.default)


def text_of(row: OutboxRecord) -> str:
    body = opened(row).get_body(("plain",))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


def state(office: Office, mail_id: MailId) -> CaseState:
    case_id = one(office, mail_id).case_id
    assert case_id is not None
    case = office.store.case(case_id)
    assert case is not None
    return case.state


def one(office: Office, mail_id: MailId) -> MailRecord:
    mail = office.store.mail(mail_id)
    assert mail is not None
    return mail


def test_question_that_a_document_answers_is_answered(office: Office) -> None:
    """The customer gets the document, the desk nothing, and the case stays with the machine."""
    mail_id, outcome = office.handle(write(REFUND, sender=JAMES))
    sent = office.sent(mail_id)
    assert (outcome, set(sent)) == ("answered", {ANSWER})
    assert sent[ANSWER].recipient == JAMES
    assert sent[ANSWER].status is OutboxStatus.SENT
    assert "document no. 1" in text_of(sent[ANSWER])
    assert state(office, mail_id) is CaseState.OPEN
    assert (one(office, mail_id).status, one(office, mail_id).reason_code) == (MailStatus.ANSWERED, None)
    assert [recipient for recipient, _ in office.transport.given] == [JAMES]


def test_account_value_comes_out_of_the_database(office: Office) -> None:
    """Anna pays for 12 seats; her language is German, so the answer is."""
    mail_id, _ = office.handle(write("How many seats have we paid for?"))
    assert "Bezahlte Plätze: 12" in text_of(office.sent(mail_id)[ANSWER])


def test_series_is_fetched_and_aggregated(office: Office) -> None:
    """Every call of the chain is recorded with its arguments; the total is shown with its period."""
    mail_id, outcome = office.handle(write("What did I pay in total last year?", sender=JAMES))
    assert outcome == "answered"
    plan = office.store.plan(mail_id)
    assert plan is not None
    assert [call.tool for call in plan.calls] == [
        "find_documents", "fetch_series", "aggregate", "send_aggregate", "finish",
    ]  # fmt: skip
    assert "from 1 January 2025" in text_of(office.sent(mail_id)[ANSWER])


def test_each_call_is_recorded_with_the_time_it_took(office: Office) -> None:
    """Which choice was slow is the first question when mails are."""
    ticks = count()
    planner = Planner(SureModel(), office.settings.planner, lambda: next(ticks) / 1000)
    slow = replace(office, decider=replace(office.decider, planner=planner))
    mail_id, _ = slow.handle(write(REFUND, sender=JAMES))
    plan = slow.store.plan(mail_id)
    assert plan is not None
    taken = [call.seconds for call in plan.calls]
    assert all(seconds > 0 for seconds in taken)
    assert sum(taken) <= plan.seconds


def test_question_that_nothing_answers_goes_to_a_person(office: Office) -> None:
    """The desk gets the packet, the customer an acknowledgement that says nothing of the question."""
    mail_id, outcome = office.handle(write(OFF_TOPIC, sender=JAMES, subject="Saturday"))
    sent = office.sent(mail_id)
    assert (outcome, set(sent)) == ("escalated", {PACKET, ACKNOWLEDGEMENT})
    assert (sent[PACKET].recipient, sent[ACKNOWLEDGEMENT].recipient) == (DESK, JAMES)
    assert "table for four" in text_of(sent[PACKET])
    assert "table" not in text_of(sent[ACKNOWLEDGEMENT])
    assert state(office, mail_id) is CaseState.WITH_PERSON
    assert one(office, mail_id).reason_code == "not_covered"


def test_acknowledgement_is_in_the_customers_language(office: Office) -> None:
    """A known German customer is not told in English that a person has the case."""
    mail_id, _ = office.handle(write(OFF_TOPIC))
    assert "Guten Tag" in text_of(office.sent(mail_id)[ACKNOWLEDGEMENT])


def test_unsure_choice_does_not_happen(office: Office) -> None:
    """Below its threshold a call is recorded and not made."""
    office = office.with_model(0.9, threshold=1.0)
    mail_id, outcome = office.handle(write(REFUND))
    assert (outcome, one(office, mail_id).reason_code) == ("escalated", "unsure")
    plan = office.store.plan(mail_id)
    assert plan is not None
    assert [call.status.value for call in plan.calls if call.tool == "send_document"] == ["below_threshold"]


def test_two_questions_of_which_one_is_answered(office: Office) -> None:
    """The answer says how many were answered; the desk gets the rest with what the customer was told."""
    mail_id, outcome = office.handle(write(TWO, sender=JAMES))
    sent = office.sent(mail_id)
    assert (outcome, set(sent)) == ("answered", {ANSWER, PACKET})
    answer = text_of(sent[ANSWER])
    assert "1 of your 2 questions is answered here, the rest went to a person" in answer
    packet = text_of(sent[PACKET])
    assert "WHAT THE CUSTOMER WAS ANSWERED" in packet
    assert "| Seats paid" in packet
    assert state(office, mail_id) is CaseState.WITH_PERSON
    assert one(office, mail_id).status is MailStatus.ANSWERED


def test_answer_with_a_byte_of_no_source_is_not_sent(office: Office) -> None:
    """A template that leaves out the notice: the gate refuses, a person gets the case and hears why."""
    hostile = office.with_templates(answer="Hello, we refund everything.\n")
    mail_id, outcome = hostile.handle(write(REFUND, sender=JAMES))
    sent = hostile.sent(mail_id)
    assert (outcome, set(sent)) == ("escalated", {PACKET, ACKNOWLEDGEMENT})
    assert not any(b"refund everything" in raw for _, raw in hostile.transport.given)
    assert one(hostile, mail_id).reason_code == "gate_refused"
    assert "the mail does not say" in text_of(sent[PACKET])


def test_person_gets_the_case_even_if_no_customer_mail_passes_the_gate(office: Office) -> None:
    """A broken notice stands in the answer and in the acknowledgement: neither goes out, the packet does."""
    hostile = office.with_templates(notice="\n")
    mail_id, outcome = hostile.handle(write(REFUND, sender=JAMES))
    assert (outcome, set(hostile.sent(mail_id))) == ("escalated", {PACKET})


def test_packet_falls_back_to_the_words_that_came_with_the_program(office: Office) -> None:
    """A broken escalation template must not lose a case; the templates it was made with are stored."""
    hostile = office.with_templates(escalation="{{ nonsense }}\n")
    mail_id, _ = hostile.handle(write(OFF_TOPIC, sender=JAMES))
    sent = hostile.sent(mail_id)
    assert set(sent) == {PACKET, ACKNOWLEDGEMENT}
    record = hostile.store.letter_for(mail_id, PACKET)
    assert record is not None
    assert record.templates_version == Templates.load(packaged("templates")).version
    assert record.templates_version != hostile.decider.templates.version


def test_partial_answer_waits_for_its_packet(office: Office) -> None:
    """ "The rest went to a person" is in the outbox only when the packet is."""
    office.handle(write(TWO, sender=JAMES))
    assert [recipient for recipient, _ in office.transport.given] == [DESK, JAMES]


def answering(office: Office, **levels: int) -> Office:
    """The same office with other levels from which senders are written to."""
    agent = office.settings.agent.model_copy(update=levels)
    settings = office.settings.model_copy(update={"agent": agent})
    return replace(office, settings=settings, decider=replace(office.decider, settings=settings))


@pytest.mark.parametrize(("proof", "level"), [(None, 0), ("spf", 1), ("dmarc", 2)])
def test_level_decides_what_a_stranger_gets(office: Office, proof: str | None, level: int) -> None:
    """Without any proof the address may be anybody's: nothing at all is sent to it. Above, a public document is."""
    mail_id, _ = office.handle(write(REFUND, sender=STRANGER, subject="Money", proof=proof))
    assert one(office, mail_id).level == level
    assert set(office.sent(mail_id)) == ({ANSWER} if level else {PACKET})


@pytest.mark.parametrize(("proof", "subject"), [("spf", "Your message to Harborfile"), ("dmarc", "Re: Money")])
def test_level_one_is_answered_without_its_own_words(office: Office, proof: str, subject: str) -> None:
    """A public document, and nothing of the mail comes back, not even its subject."""
    mail_id, _ = office.handle(write(REFUND, sender=STRANGER, subject="Money", proof=proof))
    assert opened(office.sent(mail_id)[ANSWER])["Subject"] == subject


def test_only_known_customers_may_be_answered(office: Office) -> None:
    """Where a company wants that: a proven stranger is told that a person has the case, a customer is answered."""
    office = answering(office, answers_from_level=3)
    stranger, _ = office.handle(write(REFUND, sender=STRANGER))
    customer, _ = office.handle(write(REFUND, sender=JAMES))
    assert set(office.sent(stranger)) == {PACKET, ACKNOWLEDGEMENT}
    assert set(office.sent(customer)) == {ANSWER}


@pytest.mark.parametrize(("from_level", "kinds"), [(1, {PACKET, ACKNOWLEDGEMENT}), (2, {PACKET})])
def test_level_decides_who_is_told_that_a_person_has_the_case(
    office: Office, from_level: int, kinds: set[LetterKind]
) -> None:
    """An acknowledgement is mail to a stranger too, where the sender is forged."""
    office = answering(office, acknowledges_from_level=from_level)
    mail_id, _ = office.handle(write(HUMAN, sender=STRANGER, proof="spf"))
    assert set(office.sent(mail_id)) == kinds


def test_forged_customer_gets_no_value(office: Office) -> None:
    """Anna's address without proof: a packet to the desk, and no plan read her account."""
    mail_id, _ = office.handle(write("How many seats have we paid for?", proof=None))
    assert set(office.sent(mail_id)) == {PACKET}
    assert one(office, mail_id).reason_code == "level"


def test_customer_who_asks_for_a_person_gets_one(office: Office) -> None:
    """Recognised before the model is asked."""
    mail_id, _ = office.handle(write(HUMAN))
    assert set(office.sent(mail_id)) == {PACKET, ACKNOWLEDGEMENT}
    assert one(office, mail_id).reason_code == "person_asked_for"
    assert office.store.plan(mail_id) is None


def test_automatic_mail_is_filed(office: Office) -> None:
    """No answer, no packet, no case; the rule that said so is kept."""
    mail_id, outcome = office.handle(b"Auto-Submitted: auto-replied\r\n" + write(REFUND))
    assert (outcome, office.sent(mail_id)) == ("filed", {})
    mail = one(office, mail_id)
    assert (mail.status, mail.reason_code, mail.case_id) == (MailStatus.FILED, "S2", None)


def test_follow_up_joins_the_case_of_its_thread(office: Office) -> None:
    """An answered case may be answered again, with another Message-ID."""
    first, _ = office.handle(write(REFUND))
    answer = office.sent(first)[ANSWER]
    second, outcome = office.handle(write("And how do I cancel?", in_reply_to=answer.message_id, number=2))
    assert outcome == "answered"
    assert one(office, second).case_id == one(office, first).case_id
    assert office.sent(second)[ANSWER].message_id != answer.message_id


def test_follow_up_in_a_case_that_a_person_has_gets_only_a_packet(office: Office) -> None:
    """Closed to automation: not answered, though it could be, and not acknowledged again."""
    first, _ = office.handle(write(HUMAN))
    reference = office.sent(first)[ACKNOWLEDGEMENT].message_id
    second, outcome = office.handle(write(REFUND, in_reply_to=reference, number=2))
    sent = office.sent(second)
    assert (outcome, set(sent)) == ("escalated", {PACKET})
    assert one(office, second).case_id == one(office, first).case_id
    assert one(office, second).reason_code == "with_person"
    assert "a person has the case already" in text_of(sent[PACKET])


def test_stranger_cannot_enter_a_thread(office: Office) -> None:
    """A Message-ID in a header is no proof: another sender's mail opens a case of its own."""
    first, _ = office.handle(write(HUMAN))
    reference = office.sent(first)[ACKNOWLEDGEMENT].message_id
    second, _ = office.handle(write(REFUND, sender=STRANGER, in_reply_to=reference))
    assert one(office, second).case_id == case_id_of(second) != one(office, first).case_id


def staff_reply(office: Office, words: str, *, sender: str = DESK, proof: str | None = "dmarc") -> MailId:
    """A case that a person has, and a reply to its packet; the reply's id."""
    first, _ = office.handle(write(HUMAN, subject="My card"))
    packet = office.sent(first)[PACKET].message_id
    reply, _ = office.handle(write(words, sender=sender, proof=proof, in_reply_to=packet, number=2))
    return reply


def test_persons_reply_is_passed_on_in_the_customers_thread(office: Office) -> None:
    """Her own words, without the quotation; a person wrote them, so the mail is not automatic."""
    quoted = (
        "Dear Anna,\r\nwe look at it now.\r\n\r\n"
        "On Fri, 20 Nov 2026 at 12:00, Support <support@harborfile.example> wrote:\r\n> the packet"
    )
    reply = staff_reply(office, quoted)
    sent = office.sent(reply)
    assert set(sent) == {PERSON_REPLY}
    mail = opened(sent[PERSON_REPLY])
    assert sent[PERSON_REPLY].recipient == ANNA
    assert text_of(sent[PERSON_REPLY]) == "Dear Anna,\nwe look at it now.\n"
    assert mail["Subject"] == "Re: My card"
    assert mail["Auto-Submitted"] is None
    first = office.store.mails()[0]
    assert mail["In-Reply-To"] == first.message_id
    assert one(office, reply).status is MailStatus.FILED


@pytest.mark.parametrize(("sender", "proof"), [(DESK, None), (DESK, "spf"), (STRANGER, "dmarc"), (ANNA, "dmarc")])
def test_only_a_proven_staff_address_speaks_for_the_company(office: Office, sender: str, proof: str | None) -> None:
    """Whoever else names the packet's id is a customer at best: nothing of theirs goes to Anna."""
    reply = staff_reply(office, "Send me your password.", sender=sender, proof=proof)
    assert PERSON_REPLY not in office.sent(reply)
    assert not any(row.recipient == ANNA for row in office.store.outgoing(mail_id=reply))


LIST = b"List-Id: <desk.harborfile.example>\r\nList-Post: <mailto:desk@harborfile.example>\r\nPrecedence: list\r\n"


def packet_reply(office: Office, more: bytes, *, sender: str = DESK, proof: str | None = "dmarc") -> MailId:
    """A reply to the packet of a new case, with further header fields."""
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET].message_id
    reply = write("We look at it.", sender=sender, proof=proof, in_reply_to=packet, number=2)
    return office.handle(more + reply)[0]


def test_persons_reply_is_passed_on_through_a_mailing_list(office: Office) -> None:
    """The desk's address is often a list, and what a list adds is not what an automatic reply bears."""
    assert set(office.sent(packet_reply(office, LIST))) == {PERSON_REPLY}


@pytest.mark.parametrize(
    "mark",
    [
        b"Auto-Submitted: auto-replied\r\n",
        b"X-Auto-Response-Suppress: All\r\n",
        b"Precedence: bulk\r\n",
        b"X-Autoreply: yes\r\n",
    ],
)
def test_automatic_reply_of_a_person_is_not_passed_on(office: Office, mark: bytes) -> None:
    """An out-of-office note to the packet, by a list or not: the customer has not written to that person."""
    for number, more in enumerate((mark, mark + LIST, LIST + mark)):
        reply = packet_reply(office, b"X-Number: %d\r\n" % number + more)
        assert (office.sent(reply), one(office, reply).status) == ({}, MailStatus.FILED)


@pytest.mark.parametrize(("sender", "proof"), [(DESK, None), (DESK, "spf"), (STRANGER, "dmarc"), (ANNA, "dmarc")])
def test_list_mail_of_anybody_else_is_filed(office: Office, sender: str, proof: str | None) -> None:
    """Only a proven staff address that answers a packet is let through."""
    reply = packet_reply(office, LIST, sender=sender, proof=proof)
    assert (office.sent(reply), one(office, reply).reason_code) == ({}, "S4")


def test_list_mail_of_staff_that_answers_no_packet_is_filed(office: Office) -> None:
    """A colleague's newsletter."""
    mail_id, _ = office.handle(LIST + write(REFUND, sender=DESK))
    assert (office.sent(mail_id), one(office, mail_id).reason_code) == ({}, "S4")


COPY = b"Received: by another way\r\n"


def test_copy_of_an_answered_mail_is_filed(office: Office) -> None:
    """S31: other bytes, the same mail: delivered twice, or read again from a folder that was numbered anew."""
    office.handle(write(REFUND))
    again, outcome = office.handle(COPY + write(REFUND))
    assert (outcome, office.sent(again)) == ("filed", {})
    assert (one(office, again).screening_rule, one(office, again).reason_code) == ("copy", "copy")
    assert len(office.transport.given) == 1


def test_copy_of_a_passed_on_reply_is_filed(office: Office) -> None:
    """The person's words reach the customer once, though the reply came by the list and directly."""
    first, _ = office.handle(write(HUMAN))
    reply = write("We look at it.", sender=DESK, in_reply_to=office.sent(first)[PACKET].message_id)
    office.handle(LIST + reply)
    again, outcome = office.handle(reply)
    assert (outcome, office.sent(again)) == ("filed", {})


def test_mail_that_came_by_a_list_first_is_answered_when_it_comes_directly(office: Office) -> None:
    """What was filed was not taken up: it hides nothing."""
    listed, _ = office.handle(LIST + write(REFUND))
    direct, outcome = office.handle(write(REFUND))
    assert (office.sent(listed), outcome, set(office.sent(direct))) == ({}, "answered", {ANSWER})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Date: Fri, 20 Nov 2026 12:00:00", b"Date: Fri, 20 Nov 2026 12:00:01"),
        (b"From: <anna.keller@example.net>", b"From: <james.okafor@example.org>"),
        (b"can I get a refund?", b"how do I cancel?"),
    ],
)
def test_same_message_id_alone_makes_no_copy(office: Office, old: bytes, new: bytes) -> None:
    """Forms and old machines give every mail the same: one that differs in sender, date or text is another mail."""
    office.handle(write(REFUND))
    raw = write(REFUND)
    assert old in raw
    other, _ = office.handle(raw.replace(old, new))
    assert one(office, other).screening_rule is None
    assert office.sent(other)


def test_mails_without_a_date_are_told_apart_by_their_text(office: Office) -> None:
    dated = b"Date: Fri, 20 Nov 2026 12:00:00 +0000\r\n"
    first = write(REFUND).replace(dated, b"")
    office.handle(first)
    _, of_copy = office.handle(COPY + first)
    _, of_other = office.handle(first.replace(b"can I get a refund?", b"how do I cancel?"))
    assert (of_copy, of_other) == ("filed", "answered")


def test_forgery_that_comes_first_does_not_silence_the_true_mail(office: Office) -> None:
    """Who guesses or saw the Message-ID sends the same text without proof; the reverse order is still a copy."""
    true = write(REFUND)
    forged = true.replace(b"dmarc=pass", b"dmarc=fail")
    outcomes = [office.handle(raw)[1] for raw in (forged, true, COPY + forged)]
    assert outcomes == ["escalated", "answered", "filed"]


def limited(office: Office, **limits: int) -> Office:
    """The same office with other limits of automatic letters."""
    agent = office.settings.agent.model_copy(update=limits)
    return replace(office, settings=office.settings.model_copy(update={"agent": agent}))


def test_s12_case_that_has_had_its_letters_goes_to_a_person_without_a_word(office: Office) -> None:
    """RFC 3834, section 2: a machine without marks that repeats its question in the thread."""
    office = limited(office, max_letters_per_case=2)
    last, kinds = None, []
    for number in range(3):
        mail_id, _ = office.handle(write(REFUND, in_reply_to=last, number=number))
        sent = office.sent(mail_id)
        kinds.append(set(sent))
        last = next(iter(sent.values())).message_id
    assert kinds == [{ANSWER}, {ANSWER}, {PACKET}]
    assert one(office, mail_id).reason_code == "screening"
    assert "S12: 2 automatic letters went out in this case" in text_of(office.sent(mail_id)[PACKET])
    assert state(office, mail_id) is CaseState.WITH_PERSON


def test_s12_sender_who_has_had_a_days_letters_gets_no_more_until_the_next_day(office: Office) -> None:
    """Answers and acknowledgements count alike, over all its cases; another sender's are its own."""
    office = limited(office, max_letters_per_sender_a_day=2)
    mails = [write(REFUND, number=1), write(HUMAN, number=2), write(REFUND, number=3), write(REFUND, sender=JAMES)]
    kinds = [set(office.sent(office.handle(raw)[0])) for raw in mails]
    assert kinds == [{ANSWER}, {PACKET, ACKNOWLEDGEMENT}, {PACKET}, {ANSWER}]
    office.clock = Clock(NOON + timedelta(days=1, minutes=1))
    mail_id, _ = office.handle(write(REFUND, number=4))
    assert set(office.sent(mail_id)) == {ANSWER}


def test_s12_mail_of_a_sender_with_a_days_packets_is_filed(office: Office) -> None:
    """A ticket robot: the desk has had enough of it, and the operator's log says so."""
    office = limited(office, max_letters_per_sender_a_day=2)
    for number in range(2):
        office.handle(write(HUMAN, number=number))
    with capture_logs() as logs:
        mail_id, outcome = office.handle(write(HUMAN, number=3), twice())
    mail = one(office, mail_id)
    assert (outcome, office.sent(mail_id), mail.status) == ("filed", {}, MailStatus.FILED)
    assert (mail.screening_rule, mail.reason_code) == ("S12", "S12")
    assert {entry["event"] for entry in logs if entry["log_level"] == "critical"} == {"sender_over_limit"}
    assert state(office, mail_id) is CaseState.OPEN


def test_s12_forged_mail_uses_up_nothing_of_the_address_owner(office: Office) -> None:
    """Mail without proof fills only the share of mail without proof."""
    office = limited(office, max_letters_per_sender_a_day=2)
    forged = [office.handle(write(HUMAN, proof=None, number=number))[1] for number in range(3)]
    mail_id, _ = office.handle(write(HUMAN, number=9))
    assert forged == ["escalated", "escalated", "filed"]
    assert set(office.sent(mail_id)) == {PACKET, ACKNOWLEDGEMENT}


def test_s12_mails_without_a_sender_are_not_one_sender(office: Office) -> None:
    """Nothing of them could be read, and each must reach a person."""
    office = limited(office, max_letters_per_sender_a_day=1)
    raws = [write(REFUND, number=number).replace(b"From: <", b"From: <a@example.net>, <") for number in range(3)]
    assert [set(office.sent(office.handle(raw)[0])) for raw in raws] == [{PACKET}] * 3


def test_s12_journey_that_lost_its_record_does_not_count_its_own_letter(office: Office) -> None:
    office = limited(office, max_letters_per_case=1, max_letters_per_sender_a_day=1)
    mail_id, _ = office.handle(write(HUMAN), twice())
    assert handle(mail_id, once(), office.stages) == "escalated"
    assert set(office.sent(mail_id)) == {PACKET, ACKNOWLEDGEMENT}


def test_staff_reply_without_words_goes_back_to_the_desk(office: Office) -> None:
    """A quotation alone would reach the customer as an empty mail; who wrote it must hear that it did not."""
    assert list(office.sent(staff_reply(office, "> the packet"))) == [FAILURE]


JOURNEYS: dict[str, Callable[[Office], bytes]] = {
    "answer": lambda office: write(REFUND),
    "partial": lambda office: write(TWO),
    "escalate": lambda office: write(OFF_TOPIC),
    "person": lambda office: write(HUMAN),
    "level 0": lambda office: write(REFUND, proof=None),
    "filed": lambda office: b"Precedence: bulk\r\n" + write(REFUND),
}


@pytest.mark.parametrize("name", JOURNEYS)
def test_stage_that_runs_twice_does_no_more(office: Office, name: str) -> None:
    """A process that dies after its work and before the record: one row a kind, one delivery a row."""
    mail_id, _ = office.handle(JOURNEYS[name](office), twice())
    rows = office.store.outgoing(mail_id=mail_id)
    assert len({row.kind for row in rows}) == len(rows) == len(office.transport.given)
    assert all((row.status, row.attempts) == (OutboxStatus.SENT, 1) for row in rows)


def test_journey_that_lost_its_record_does_not_answer_again(office: Office) -> None:
    """The engine forgot a mail that was answered: what is in the outbox stays, and nothing more is sent."""
    mail_id, _ = office.handle(write(REFUND))
    rows = office.store.outgoing(mail_id=mail_id)
    assert handle(mail_id, once(), office.stages) == "answered"
    assert office.store.outgoing(mail_id=mail_id) == rows
    assert len(office.transport.given) == 1


def test_staff_reply_that_runs_twice_is_passed_on_once(office: Office) -> None:
    """The same, in the journey that sends a person's words."""
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET].message_id
    reply, _ = office.handle(write("We look at it.", sender=DESK, in_reply_to=packet, number=2), twice())
    assert [row.kind for row in office.store.outgoing(mail_id=reply)] == [PERSON_REPLY]
    assert [recipient for recipient, _ in office.transport.given].count(ANNA) == 2


def test_gate_refusal_that_runs_twice_leaves_one_packet(office: Office) -> None:
    """The refused step fails both times and leaves nothing; the escalation leaves one row a kind."""
    hostile = office.with_templates(answer="Hello.\n")
    mail_id, _ = hostile.handle(write(REFUND, sender=JAMES), twice())
    assert sorted(row.kind for row in hostile.store.outgoing(mail_id=mail_id)) == [ACKNOWLEDGEMENT, PACKET]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("sent", OutboxStatus.SENT),
        ("retry", OutboxStatus.READY),
        ("failed", OutboxStatus.FAILED),
        ("uncertain", OutboxStatus.UNCERTAIN),
    ],
)
def test_delivery_is_noted(office: Office, status: str, expected: OutboxStatus) -> None:
    """What the server said decides; only `retry` is due again, later."""
    office.transport.deliveries = [Delivery.model_validate({"status": status, "detail": "told"})]
    mail_id, _ = office.handle(write(REFUND))
    row = office.sent(mail_id)[ANSWER]
    assert (row.status, row.last_detail, row.attempts) == (expected, "told", 1)
    assert (row.next_try_at > row.created_at) == (status == "retry")


def test_mail_is_given_up_after_the_last_try(office: Office) -> None:
    """`smtp.max_attempts` tries, then `failed`; never more."""
    smtp = office.settings.smtp.model_copy(update={"max_attempts": 2, "retry_base_s": 0.01})
    office.settings = office.settings.model_copy(update={"smtp": smtp})
    office.transport.deliveries = [Delivery(status="retry", detail="later")] * 3
    mail_id, _ = office.handle(write(REFUND))
    office.stages.deliver(office.sent(mail_id)[ANSWER])
    office.stages.deliver(office.sent(mail_id)[ANSWER])
    row = office.sent(mail_id)[ANSWER]
    assert (row.status, row.attempts) == (OutboxStatus.FAILED, 2)
    assert len(office.transport.given) == 2
    assert str(row.last_detail).startswith("given up after 2 tries")


def test_steps_give_back_what_they_were_given(office: Office) -> None:
    """Each result of the journey survives JSON: `Steps` refuses one that does not."""
    names: list[str] = []

    def record(name: str, work: Work) -> JsonValue:
        names.append(name)
        return work()

    office.handle(write(TWO), Steps(record, EngineSettings(), lambda _s: None))
    assert names == ["screen", "identify", "place", "plan", "answer", "send", "settle"]
