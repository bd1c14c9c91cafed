"""What each step of the journey does: decisions from `decide`, words from `answer`, records in the store.

Invariant: a stage may run twice and leaves the same rows; a mail is put into the outbox only after the gate has
passed it and in the same breath as the record from which it can be made again. Checked by tests/unit/test_stages.py
and, with real servers and real kills, by tests/integration/journey/test_kill.py.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import structlog
from pydantic import BaseModel, ConfigDict

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.sources import RenderedPacket
from support_agent.answer.templates import Templates
from support_agent.decide import (
    LEVEL_FOR_NAME,
    LEVEL_FOR_SUBJECT,
    Decider,
    Decision,
    HandOver,
    thread_subject,
)
from support_agent.delivery import DeliveryStatus, note_delivery
from support_agent.desk.packing import packet_of
from support_agent.errors import GateRefused, SupportAgentError
from support_agent.letters import Letter, acknowledgement_letter, answer_letter, own_words, packet_letter, reply_letter
from support_agent.mail.identity import Sender, identify
from support_agent.mail.message import Message, parse
from support_agent.mail.outbox import Delivery, Transport
from support_agent.mail.screening import Screening, Verdict, screen
from support_agent.resources import packaged
from support_agent.settings import Settings
from support_agent.store.records import (
    AnswerKind,
    AnswerRecord,
    CaseId,
    CaseRecord,
    CaseState,
    MailId,
    MailStatus,
    OutboxRecord,
    OutboxStatus,
    OutgoingMail,
)
from support_agent.store.store import Store
from support_agent.tools.ending import Reason

log = structlog.get_logger(__name__)

CASE_ID_CHARACTERS = 10
LEVEL_FOR_ACKNOWLEDGEMENT = 1
ACKNOWLEDGED_RULES = frozenset({None, "person", "S15"})
"""Screening rules after which a customer is still told that a person has the case."""


class Outcome(StrEnum):
    """What became of a mail."""

    ANSWERED = "answered"
    ESCALATED = "escalated"
    FILED = "filed"


class Place(BaseModel):
    """Where a mail belongs: its case, the number of what goes out for it (see `number_of`), and who has the case.

    `customer_mail_id` is the mail that a staff member's reply is passed on in answer to.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    case_id: CaseId
    number: int
    may_answer: bool
    may_acknowledge: bool
    is_staff_reply: bool = False
    customer_mail_id: MailId | None = None


@dataclass(frozen=True)
class Stages:
    """The stages with what they work on; `now` is the clock, called once a stage."""

    store: Store
    decider: Decider
    transport: Transport
    settings: Settings
    index_version: str
    now: Callable[[], datetime]

    def parse(self, mail_id: MailId) -> Message:
        """The mail as recorded; the same every time, so it is not a recorded step."""
        return parse(self.store.raw_mail(mail_id))

    def screen(self, mail_id: MailId, message: Message) -> Screening:
        """Whether a machine may answer at all (RFC 3834)."""
        screening = screen(message, self.settings.agent, self.settings.desk, self._is_customer)
        self.store.save_screening(mail_id, screening.verdict.value, screening.rule)
        return screening

    def file(self, mail_id: MailId, screening: Screening) -> str:
        """No answer, only a record."""
        self.store.settle_mail(mail_id, MailStatus.FILED, screening.rule or "screening", screening.why, self.now())
        return Outcome.FILED

    def identify(self, mail_id: MailId, message: Message) -> Sender:
        """The sender's level (RFC 8601)."""
        sender = identify(message, self.settings.agent, self._is_customer)
        self.store.save_sender(mail_id, sender.level, sender.why)
        return sender

    def place(self, mail_id: MailId, message: Message, sender: Sender) -> Place:
        """The case the mail belongs to: the thread's, for one of its participants; else a new one."""
        packet = self._packet_replied_to(message, sender)
        if packet is not None and packet.case_id is not None:
            self.store.join_case(mail_id, packet.case_id)
            return Place(
                case_id=packet.case_id,
                number=number_of(mail_id),
                may_answer=False,
                may_acknowledge=False,
                is_staff_reply=True,
                customer_mail_id=packet.mail_id,
            )
        case = self._thread(message, sender)
        if case is None:
            case = self.store.open_case(
                CaseRecord(
                    id=case_id_of(mail_id),
                    customer_address=sender.address,
                    subject=message.subject,
                    opened_at=self.now(),
                    participants=(sender.address,) if sender.address else (),
                ),
                mail_id,
            )
        else:
            case = self.store.join_case(mail_id, case.id)
        is_open = case.state is CaseState.OPEN
        return Place(
            case_id=case.id,
            number=number_of(mail_id),
            may_answer=is_open,
            may_acknowledge=is_open and sender.level >= LEVEL_FOR_ACKNOWLEDGEMENT,
        )

    def plan(self, mail_id: MailId, message: Message, sender: Sender) -> Decision:
        """What the answer is; the model is asked here and nowhere else."""
        customer = self.decider.company.accounts.customer(sender.address) if sender.level >= 3 else None
        decision = self.decider.decide(message, sender, customer, self.now())
        record = decision.record(mail_id, self.decider.company.version, self.index_version)
        self.store.save_plan(record)
        return decision

    def hand_over(self, screening: Screening) -> Decision:
        """No plan: a rule or the state of the case says that a person must read this."""
        if screening.rule == "person":
            return self.decider.hand_over(Reason.PERSON_ASKED_FOR, self.now(), screening.why)
        if screening.verdict is Verdict.DESK:
            return self.decider.hand_over(HandOver.SCREENING, self.now(), f"{screening.rule}: {screening.why}")
        return self.decider.hand_over(HandOver.WITH_PERSON, self.now(), "a person has the case already")

    def failed(self, error: SupportAgentError) -> Decision:
        """No plan: deciding failed, and a person must read this."""
        log.error("decision_failed", code=error.code)
        return self.decider.hand_over(HandOver.FAILED, self.now(), f"{error.code}: {error}")

    def answer(self, mail_id: MailId, message: Message, sender: Sender, place: Place, decision: Decision) -> Outcome:
        """Render, gate, record, and put into the outbox: the answer, and a packet for what is left.

        Raises:
            GateRefused: the answer has a byte without a source; nothing is in the outbox.
        """
        if self.store.outgoing(mail_id=mail_id, kind=AnswerKind.ANSWER):  # before the process died
            return Outcome.ANSWERED
        if decision.final is None:
            return self.escalate(mail_id, message, sender, place, decision, "")
        letter = answer_letter(decision.final, self.decider.templates)
        if decision.plan.is_partial:
            self._queue_packet(mail_id, message, sender, place, decision, "", answered=letter.text)
            self.store.move_case(place.case_id, CaseState.WITH_PERSON)
        self._queue(mail_id, message, place, letter, to=sender.address)
        return Outcome.ANSWERED

    def escalate(
        self, mail_id: MailId, message: Message, sender: Sender, place: Place, decision: Decision, why: str
    ) -> Outcome:
        """A packet to the desk, a fixed acknowledgement to the customer where that is safe; the case is a person's.

        The packet comes first: nobody is told that a person has the case before one has.
        """
        self._queue_packet(mail_id, message, sender, place, decision, why, answered=None)
        self.store.move_case(place.case_id, CaseState.WITH_PERSON)
        mail = self.store.mail(mail_id)
        rule = mail.screening_rule if mail is not None else None
        is_answered = bool(self.store.outgoing(mail_id=mail_id, kind=AnswerKind.ANSWER))
        if place.may_acknowledge and rule in ACKNOWLEDGED_RULES and not is_answered:
            self._queue_acknowledgement(mail_id, message, sender, place)
        return Outcome.ESCALATED

    def pass_on(self, mail_id: MailId, message: Message, place: Place) -> None:
        """A staff member's words go to the customer of the case, in the customer's thread."""
        case = self.store.case(place.case_id)
        words = own_words(message.visible_text, self._packet_text(place.customer_mail_id))
        if case is None or place.customer_mail_id is None or not case.customer_address or not words:
            log.error("reply_not_passed_on", case_id=place.case_id, message_id=mail_id, has_words=bool(words))
            why = "the reply has no words of its own, or the case no customer's address"
            self._tell_desk(mail_id, HandOver.NOT_PASSED_ON, why)
            return
        parent = self.parse(place.customer_mail_id)
        letter = reply_letter(parent.subject, f"{words}\n")
        self._queue(mail_id, parent, place, letter, to=case.customer_address, parent_id=place.customer_mail_id)

    def send(self, mail_id: MailId) -> list[str]:
        """One try for each mail of the outbox that belongs to this one and is due; the desk's comes first."""
        records = sorted(self.store.outgoing(mail_id=mail_id), key=lambda record: record.kind is not AnswerKind.PACKET)
        return [
            self.deliver(record).value
            for record in records
            if record.status is OutboxStatus.READY and record.next_try_at <= self.now()
        ]

    def deliver(self, record: OutboxRecord) -> DeliveryStatus:
        """One try: claimed first, so that no other process and no other run has it too."""
        if record.kind is AnswerKind.ACKNOWLEDGEMENT and not self._desk_has_packet(record.mail_id):
            return DeliveryStatus.HELD
        if not self.store.claim(record.id, self.now()):
            return DeliveryStatus.CLAIMED
        try:
            delivery = self.transport.deliver(record.raw, record.envelope_from, record.recipient)
        except SupportAgentError as error:  # raised before anything reached a server
            delivery = Delivery(status="retry", detail=f"{error.code}: {error}")
        log.info("delivery", kind=record.kind.value, status=delivery.status, code=delivery.smtp_code)
        status = note_delivery(self.store, self.settings.smtp, record, delivery, self.now())
        if status in (DeliveryStatus.FAILED, DeliveryStatus.UNCERTAIN):
            what = f"the {record.kind.value} to {record.recipient} is {status.value}"
            self.undelivered(record, f"{what}: {delivery.detail}")
        return status

    def _desk_has_packet(self, mail_id: MailId) -> bool:
        """Whether the packet went to the desk's server: before, no customer may read that a person has the case."""
        packets = self.store.outgoing(mail_id=mail_id, kind=AnswerKind.PACKET)
        return any(packet.status in (OutboxStatus.SENT, OutboxStatus.UNCERTAIN) for packet in packets)

    def undelivered(self, record: OutboxRecord, why: str) -> None:
        """The desk hears of a mail that did not go out, or may not have; a lost packet is an alarm in the log."""
        if record.kind is AnswerKind.PACKET:
            log.critical("packet_undelivered", case_id=record.case_id, outbox_id=record.id)
            return
        self._tell_desk(record.mail_id, HandOver.UNDELIVERED, why)

    def set_aside(self, mail_id: MailId, error: SupportAgentError) -> None:
        """The desk gets a mail whose journey failed; where even that fails, it stays set aside and `doctor` says so."""
        self.store.settle_mail(mail_id, MailStatus.SET_ASIDE, error.code, str(error), self.now())
        try:
            self._tell_desk(mail_id, HandOver.FAILED, f"{error.code}: {error}")
        except SupportAgentError as second:
            log.critical("mail_set_aside", message_id=mail_id, code=error.code, second_code=second.code)

    def settle(self, mail_id: MailId, outcome: Outcome) -> str:
        """The mail is done; why a person got it, or a part of it, stands in the packet."""
        packet = self.store.answer_for(mail_id, AnswerKind.PACKET)
        code = str(packet.payload["reason_code"]) if packet is not None else None
        text = str(packet.payload["reason_sentence"]) or None if packet is not None else None
        answers = self.store.outgoing(mail_id=mail_id, kind=AnswerKind.ANSWER)
        if any(answer.status in (OutboxStatus.FAILED, OutboxStatus.UNCERTAIN) for answer in answers):
            outcome = Outcome.ESCALATED
        self.store.settle_mail(mail_id, MailStatus(outcome.value), code, text, self.now())
        return outcome.value

    # ------------------------------------------------------------------------------------------------------------

    def _packet_text(self, mail_id: MailId | None) -> str:
        packet = self.store.answer_for(mail_id, AnswerKind.PACKET) if mail_id else None
        return RenderedPacket.model_validate(packet.rendered).text.text if packet else ""

    def _tell_desk(self, mail_id: MailId, reason: HandOver, why: str) -> None:
        """A packet about a mail that is over for the machine; once, whatever else has happened to the mail."""
        message = self.parse(mail_id)
        sender = identify(message, self.settings.agent, self._is_customer)
        place = self.place(mail_id, message, sender)
        decision = self.decider.hand_over(reason, self.now(), why)
        self._queue_packet(mail_id, message, sender, place, decision, "", answered=None)
        self.store.move_case(place.case_id, CaseState.WITH_PERSON)

    def _is_customer(self, address: str) -> bool:
        return self.decider.company.accounts.customer(address) is not None

    def _packet_replied_to(self, message: Message, sender: Sender) -> OutboxRecord | None:
        """The packet that a staff member answers: named by its keyed id, from a staff address that is proven.

        Without a border server of our own to believe, nobody is proven and no reply is passed on.
        """
        staff = {address.lower() for address in (*self.settings.desk.staff, self.settings.desk.address)}
        if sender.address not in staff or sender.level < 2:
            return None
        for reference in (message.in_reply_to, *reversed(message.references)):
            for record in self.store.outgoing(message_id=reference) if reference else ():
                if record.kind is AnswerKind.PACKET:
                    return record
        return None

    def _thread(self, message: Message, sender: Sender) -> CaseRecord | None:
        """The case of the thread, for a proven participant only: a header alone is no proof."""
        references = [id_ for id_ in (message.in_reply_to, *reversed(message.references)) if id_]
        case = self.store.case_for_thread(references) if references else None
        if case is None or sender.level < 2 or sender.address not in case.participants:
            return None
        return case

    def _queue_packet(
        self,
        mail_id: MailId,
        message: Message,
        sender: Sender,
        place: Place,
        decision: Decision,
        why: str,
        answered: str | None,
    ) -> None:
        """A packet in the company's words; if those are refused, in the words that came with the program."""
        packet = packet_of(message, sender, place.case_id, decision, why, answered, self.settings)
        templates = self.decider.templates
        try:
            letter = packet_letter(packet, templates)
        except GateRefused as refused:
            log.error("packet_refused", case_id=place.case_id, message_id=mail_id, code=refused.code)
            templates = Templates.load(packaged("templates"))
            letter = packet_letter(packet, templates)
        self._queue(mail_id, message, place, letter, to=self.settings.desk.address, templates=templates)

    def _queue_acknowledgement(self, mail_id: MailId, message: Message, sender: Sender, place: Place) -> None:
        """The fixed mail in the customer's language; none where the gate refuses it: a person has the case."""
        accounts = self.decider.company.accounts
        customer = accounts.customer(sender.address) if sender.level >= LEVEL_FOR_NAME else None
        acknowledgement = Acknowledgement(
            company=self.settings.company.name,
            locale=self.decider.locale_of(customer),
            subject=thread_subject(message) if sender.level >= LEVEL_FOR_SUBJECT else None,
            support_address=self.settings.agent.address,
        )
        try:
            letter = acknowledgement_letter(acknowledgement, self.decider.templates)
        except GateRefused as refused:
            log.error("acknowledgement_refused", case_id=place.case_id, code=refused.code)
            return
        self._queue(mail_id, message, place, letter, to=sender.address)

    def _queue(
        self,
        mail_id: MailId,
        message: Message,
        place: Place,
        letter: Letter,
        to: str,
        parent_id: MailId | None = None,
        templates: Templates | None = None,
    ) -> None:
        """Record what the mail is made from, then the mail itself; both once.

        Args:
            message: The customer's mail that it belongs to, whose id is `parent_id`; by default `mail_id`.
            templates: Those it was rendered with; by default the company's.
        """
        if self.store.outgoing(mail_id=mail_id, kind=letter.kind):
            return
        parent_id = parent_id or mail_id
        templates = templates or self.decider.templates
        agent = self.settings.agent
        headers = letter.headers(agent, place.case_id, place.number, to, self.now(), parent_id)
        raw = letter.compose(agent, headers, message, self.store.raw_mail(parent_id))
        self.store.save_templates(templates.version, templates.as_files())
        self.store.save_answer(
            AnswerRecord(
                mail_id=mail_id,
                kind=letter.kind,
                payload=letter.payload,
                templates_version=templates.version,
                rendered=letter.rendered,
                header_inputs=headers.model_dump(mode="json"),
                created_at=headers.sent_at,
            )
        )
        self.store.queue(
            OutgoingMail(
                mail_id=mail_id,
                case_id=place.case_id,
                kind=letter.kind,
                message_id=headers.message_id,
                envelope_from=self.settings.agent.address,
                recipient=to,
                raw=raw,
                created_at=headers.sent_at,
            )
        )


def case_id_of(mail_id: MailId) -> CaseId:
    """The id of the case a mail opens: short enough to say on the telephone."""
    digest = hashlib.sha256(f"case {mail_id}".encode()).digest()
    return CaseId(base64.b32encode(digest).decode()[:CASE_ID_CHARACTERS].lower())


def number_of(mail_id: MailId) -> int:
    """The number of the mails that go out for this one, for their Message-IDs: the same however often and in
    whatever order the mails of a case are handled."""
    return int(mail_id, 16)
