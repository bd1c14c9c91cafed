"""What each step of the journey does: decisions from `decide`, letters from `post`, records in the store.

Invariant: a stage may run twice and leaves the same rows, and a mail to a customer that went missing is told to the
desk, whatever died when. Checked by tests/unit/test_stages.py, tests/unit/test_stages_failures.py and, with real
servers and real kills, by tests/integration/journey/test_kill.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import structlog

from support_agent.answer.sources import RenderedPacket
from support_agent.decide import Decider, Decision, HandOver, screened_out
from support_agent.delivery import Courier, DeliveryStatus
from support_agent.errors import SupportAgentError, TransientError
from support_agent.letters import own_words, unfit
from support_agent.levels import CUSTOMER, PROVEN, lower_address
from support_agent.mail.identity import Sender, identify
from support_agent.mail.message import Message, parse
from support_agent.mail.outbox import Transport
from support_agent.mail.screening import PERSON_RULE, Screening, Verdict, screen
from support_agent.place import Place, PlacedMail, case_id_of
from support_agent.post import Post
from support_agent.settings import Settings
from support_agent.store.records import (
    CaseId,
    CaseRecord,
    CaseState,
    LetterKind,
    MailId,
    MailStatus,
    OutboxRecord,
)
from support_agent.store.store import Store

log = structlog.get_logger(__name__)

TAKEN_UP = (Verdict.ANSWER, Verdict.DESK)
ACKNOWLEDGED_RULES = frozenset({None, PERSON_RULE, "S15"})
"""Screening rules after which a customer is still told that a person has the case."""
AUTOMATIC = (LetterKind.ANSWER, LetterKind.ACKNOWLEDGEMENT)
RATE_RULE = "S12"
DAY = timedelta(days=1)


class Outcome(StrEnum):
    """What became of a mail."""

    ANSWERED = "answered"
    ESCALATED = "escalated"
    FILED = "filed"


@dataclass(frozen=True)
class Stages:
    """The stages with what they work on; `now` is the clock, called once a stage."""

    store: Store
    decider: Decider
    transport: Transport
    settings: Settings
    index_version: str
    now: Callable[[], datetime]

    @property
    def post(self) -> Post:
        """What puts mails into the outbox."""
        return Post(self.store, self.decider, self.settings, self.now)

    @property
    def courier(self) -> Courier:
        """What takes them out."""
        return Courier(self.store, self.transport, self.settings.smtp, self.now)

    def keep_company(self) -> None:
        """Store what answers are made from, by version, for `replay` and `why`; call it before any mail is handled."""
        company = self.decider.company
        for document in company.documents:
            self.store.save_document(document.number, document.raw)
        self.store.save_queries(company.version, company.accounts.queries.model_dump())

    def parse(self, mail_id: MailId) -> Message:
        """The mail as recorded; the same every time, so it is not a recorded step."""
        return parse(self.store.raw_mail(mail_id))

    def screen(self, mail_id: MailId, message: Message) -> Screening:
        """Whether a machine may answer at all (RFC 3834), and that it has not met the mail before."""

        def is_staff_reply() -> bool:
            is_staff = self._is_staff(identify(message, self.settings.agent, self._is_customer))
            return is_staff and self._packet_named_by(message) is not None

        screening = screen(message, self.settings.agent, self.settings.desk, self._is_customer, is_staff_reply)
        if screening.verdict in TAKEN_UP and self._is_copy(mail_id, message):
            why = "a copy of a mail that was taken up before: the same Message-ID, sender, date and text"
            screening = Screening(verdict=Verdict.FILE, rule="copy", why=why)
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
        place = self._place(mail_id, message, sender)
        log.info("mail_placed", mail_id=mail_id, case_id=place.case_id)
        return place

    def _place(self, mail_id: MailId, message: Message, sender: Sender) -> Place:
        packet = self._packet_named_by(message) if self._is_staff(sender) else None
        if packet is not None and packet.case_id is not None:
            self.store.join_case(mail_id, packet.case_id)
            return Place(
                case_id=packet.case_id,
                may_answer=False,
                may_acknowledge=False,
                is_staff_reply=True,
                customer_mail_id=self._customer_mail_of(packet),
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
        limit = self._limit_reached(mail_id, case.id, sender)
        may_write = case.state is CaseState.OPEN and not limit
        return Place(
            case_id=case.id,
            may_answer=may_write,
            may_acknowledge=may_write and sender.level >= self.settings.agent.acknowledges_from_level,
            limit=limit,
        )

    def plan(self, mail: PlacedMail) -> Decision:
        """What the answer is; the model is asked here and nowhere else."""
        sender = mail.sender
        customer = self.decider.company.accounts.customer(sender.address) if sender.level >= CUSTOMER else None
        decision = self.decider.decide(mail.message, sender, customer, self.now())
        self.store.save_plan(decision.record(mail.id, self.decider.company.version, self.index_version))
        return decision

    def hand_over(self, screening: Screening, place: Place) -> Decision:
        """No plan: a rule or the state of the case says that a person must read this."""
        if screening.verdict is not Verdict.DESK and place.limit:
            screening = Screening(verdict=Verdict.DESK, rule=RATE_RULE, why=place.limit)
        if screening.verdict is Verdict.DESK:
            reason, why = screened_out(screening)
            return self.decider.hand_over(reason, self.now(), why)
        return self.decider.hand_over(HandOver.WITH_PERSON, self.now(), "a person has the case already")

    def failed(self, error: SupportAgentError) -> Decision:
        """No plan: deciding failed, and a person must read this."""
        log.error("decision_failed", code=error.code)
        return self.decider.failed(error, self.now())

    def answer(self, mail: PlacedMail, decision: Decision) -> Outcome:
        """Put the answer into the outbox, rendered and gated, and with it a packet for what is left.

        Raises:
            GateRefused: the answer has a byte without a source; nothing is in the outbox.
        """
        if self._is_answered(mail.id):  # before the process died
            return Outcome.ANSWERED
        if decision.final is None:
            return self.escalate(mail, decision)
        if decision.plan.is_partial:
            self.store.give_to_person(mail.place.case_id)
        self.post.answer(mail, decision, decision.final)
        return Outcome.ANSWERED

    def escalate(self, mail: PlacedMail, decision: Decision) -> Outcome:
        """A packet to the desk, a fixed acknowledgement to the customer where that is safe; the case is a person's.

        A sender of whom the desk has had its many packets today is a machine, and the mail is only filed.
        """
        if self._is_flood(mail):
            return self._file_flood(mail)
        recorded = self.store.mail(mail.id)
        rule = recorded.screening_rule if recorded is not None else None
        self.store.give_to_person(mail.place.case_id)
        is_acknowledged = mail.place.may_acknowledge and rule in ACKNOWLEDGED_RULES and not self._is_answered(mail.id)
        self.post.packet(mail, decision, is_acknowledged=is_acknowledged)
        return Outcome.ESCALATED

    def pass_on(self, mail: PlacedMail) -> None:
        """A staff member's words go to the customer of the case, in the customer's thread."""
        case, parent_id = self.store.case(mail.place.case_id), mail.place.customer_mail_id
        packet = self._packet_answered(mail.message)
        words = own_words(mail.message.visible_text, packet) if packet is not None else ""
        why = unfit(words, mail.message, packet) if packet is not None else "the packet that it answers is gone"
        if why or case is None or parent_id is None or not case.customer_address:
            why = why or "the case has no address of a customer"
            log.error("reply_not_passed_on", case_id=mail.place.case_id, mail_id=mail.id, why=why)
            self._tell_desk(mail.id, self.decider.hand_over(HandOver.NOT_PASSED_ON, self.now(), why))
            return
        self.post.reply(mail, words, case.customer_address, parent_id)

    def send(self, mail_id: MailId) -> list[str]:
        """One try for each mail of the outbox that belongs to this one and is due; the desk hears of a lost one."""
        statuses = self.courier.send(mail_id)
        return [status.value for status in (*statuses, *self.tell_losses(mail_id))]

    def deliver(self, record: OutboxRecord) -> DeliveryStatus:
        """One try."""
        return self.courier.deliver(record)

    def tell_losses(self, mail_id: MailId | None = None) -> list[DeliveryStatus]:
        """The desk hears of each mail to a customer that did not go out, or may not have, and that it was not told of.

        What is lost is read from the outbox, so that nobody need have been alive when it was.

        Args:
            mail_id: Only what went out for this mail.
        """
        told = []
        for lost in self.store.untold_losses(mail_id):
            why = f"the {lost.kind.value.replace('_', ' ')} to {lost.recipient} is {lost.status}: {lost.last_detail}"
            if lost.kind is LetterKind.ANSWER:
                self.store.settle_mail(lost.mail_id, MailStatus.ESCALATED, HandOver.UNDELIVERED, why, self.now())
            decision = self.decider.hand_over(HandOver.UNDELIVERED, self.now(), why)
            try:
                told.append(self.deliver(self._tell_desk(lost.mail_id, decision)))
            except SupportAgentError as error:  # tried again with the next mails that are due
                log.critical("loss_not_told", outbox_id=lost.id, code=error.code)
        return told

    def set_aside(self, mail_id: MailId, error: SupportAgentError) -> None:
        """The desk gets a mail whose journey failed; where even that fails, it is set aside and `doctor` says so."""
        try:
            self._tell_desk(mail_id, self.decider.failed(error, self.now()))
        except TransientError:
            raise  # not set aside yet, so it is told later
        except SupportAgentError as second:
            log.critical("mail_set_aside", mail_id=mail_id, code=error.code, second_code=second.code)
        self.store.settle_mail(mail_id, MailStatus.SET_ASIDE, error.code, str(error), self.now())

    def settle(self, mail_id: MailId, outcome: Outcome) -> str:
        """The mail is done, if it is not already: an answer that was lost has made it a person's.

        Why a person got it, or a part of it, stands in the packet.
        """
        letters = (self.store.letter_for(mail_id, kind) for kind in (LetterKind.PACKET, LetterKind.FAILURE))
        payload = next((letter.payload for letter in letters if letter is not None), None)
        code, why = (str(payload["reason_code"]), str(payload["why"]) or None) if payload else (None, None)
        self.store.settle_mail(mail_id, MailStatus(outcome.value), code, why, self.now())
        settled = self.store.mail(mail_id)
        return settled.status.value if settled is not None else outcome.value

    # ------------------------------------------------------------------------------------------------------------

    def _is_answered(self, mail_id: MailId) -> bool:
        return bool(self.store.outgoing(mail_id=mail_id, kind=LetterKind.ANSWER))

    def _is_customer(self, address: str) -> bool:
        return self.decider.company.accounts.customer(address) is not None

    def _is_staff(self, sender: Sender) -> bool:
        """Whether the sender speaks for the company: a staff address that is proven.

        Without a border server of our own to believe, nobody is proven and no reply is passed on.
        """
        staff = {lower_address(address) for address in (*self.settings.desk.staff, self.settings.desk.address)}
        return sender.address in staff and sender.level >= PROVEN

    def _is_copy(self, mail_id: MailId, message: Message) -> bool:
        """Whether it was taken up under other bytes: by another way, or from a folder that was numbered anew (S31).

        A Message-ID alone proves nothing, as senders make it, nor does what a less proven sender wrote: whoever forges
        a mail before its owner's comes must not silence that. Mails of one thread come here one after the other.
        """
        level = identify(message, self.settings.agent, self._is_customer).level
        for earlier in self.store.mails_with_message_id(message.message_id):
            if earlier.id != mail_id and earlier.screening_verdict in TAKEN_UP:
                other = self.parse(earlier.id)
                is_same = _told_apart_by(other) == _told_apart_by(message)
                if is_same and identify(other, self.settings.agent, self._is_customer).level >= level:
                    return True
        return False

    def _limit_reached(self, mail_id: MailId, case_id: CaseId, sender: Sender) -> str:
        """Which limit of automatic letters the case or the sender has reached (S12; RFC 3834, section 2), or ""."""
        in_case, a_day = self.settings.agent.max_letters_per_case, self.settings.agent.max_letters_per_sender_a_day
        if self.store.count_for_case(AUTOMATIC, case_id, but_for=mail_id) >= in_case:
            return f"{in_case} automatic letters went out in this case, the most that may"
        if self._sent_today(AUTOMATIC, mail_id, sender) >= a_day:
            return f"{a_day} automatic letters went to this sender within a day, the most that may"
        return ""

    def _sent_today(self, kinds: tuple[LetterKind, ...], mail_id: MailId, sender: Sender) -> int:
        """What went out for a sender's other mails within a day; senders without an address are not one sender."""
        if not sender.address:
            return 0
        since = self.now() - DAY
        return self.store.count_for_sender(kinds, sender.address, sender.level, since, but_for=mail_id)

    def _is_flood(self, mail: PlacedMail) -> bool:
        if self.store.outgoing(mail_id=mail.id, kind=LetterKind.PACKET):  # before the process died
            return False
        packets = self._sent_today((LetterKind.PACKET,), mail.id, mail.sender)
        return packets >= self.settings.agent.max_letters_per_sender_a_day

    def _file_flood(self, mail: PlacedMail) -> Outcome:
        why = f"the desk has had {self.settings.agent.max_letters_per_sender_a_day} packets of this sender today"
        log.critical("sender_over_limit", case_id=mail.place.case_id, mail_id=mail.id, why=why)
        screening = Screening(verdict=Verdict.FILE, rule=RATE_RULE, why=why)
        self.store.save_screening(mail.id, screening.verdict.value, screening.rule)
        self.file(mail.id, screening)
        return Outcome.FILED

    def _tell_desk(self, mail_id: MailId, decision: Decision) -> OutboxRecord:
        """A failure in a mail that is over for the machine; told once, whatever else went out for the mail."""
        message = self.parse(mail_id)
        sender = identify(message, self.settings.agent, self._is_customer)
        mail = PlacedMail(mail_id, message, sender, self.place(mail_id, message, sender))
        self.store.give_to_person(mail.place.case_id)
        return self.post.failure(mail, decision)

    def _packet_named_by(self, message: Message) -> OutboxRecord | None:
        """The packet that a mail replies to, by its keyed id."""
        for reference in (message.in_reply_to, *reversed(message.references)):
            for record in self.store.outgoing(message_id=reference) if reference else ():
                if record.kind.is_for_desk:
                    return record
        return None

    def _customer_mail_of(self, packet: OutboxRecord) -> MailId:
        """The customer's mail that a packet is about; one about a staff reply leads on to that reply's own packet."""
        message = self.parse(packet.mail_id)
        is_staff = self._is_staff(identify(message, self.settings.agent, self._is_customer))
        earlier = self._packet_named_by(message) if is_staff else None
        return packet.mail_id if earlier is None else self._customer_mail_of(earlier)

    def _packet_answered(self, message: Message) -> RenderedPacket | None:
        """The packet that a mail replies to, as it was rendered."""
        packet = self._packet_named_by(message)
        letter = self.store.letter_for(packet.mail_id, packet.kind) if packet is not None else None
        return RenderedPacket.model_validate(letter.rendered) if letter is not None else None

    def _thread(self, message: Message, sender: Sender) -> CaseRecord | None:
        """The case of the thread, for a proven participant only: a header alone is no proof."""
        references = [id_ for id_ in (message.in_reply_to, *reversed(message.references)) if id_]
        case = self.store.case_for_thread(references) if references else None
        if case is None or sender.level < PROVEN or sender.address not in case.participants:
            return None
        return case


def _told_apart_by(message: Message) -> tuple[object, ...]:
    """What two mails of one Message-ID are compared by, besides their level."""
    return message.from_, message.sent_at, message.visible_text
