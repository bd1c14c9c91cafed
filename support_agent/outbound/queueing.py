"""Queues outgoing mails: composes them and puts them into the outbox.

Invariant: a mail is in the outbox only if the gate passed it, and together with the data to rebuild it; a partial
answer and the packet with the open questions are queued together or not at all. Checked by
tests/unit/workflow/test_stages.py, tests/unit/workflow/test_stages_failures.py,
tests/unit/outbound/test_without_original.py and, with real kills, tests/journey/test_kill.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from pydantic import ValidationError

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.alarm import Alarm
from support_agent.answer.digest import Digest
from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.packet import Packet
from support_agent.answer.sources import RenderedAnswer
from support_agent.answer.templates import Templates
from support_agent.answer.verification import Verifier
from support_agent.cases.decision import Decision
from support_agent.cases.escalation import EscalationReason
from support_agent.cases.hours import Hours
from support_agent.cases.intentions import Intent
from support_agent.cases.route import ReceivedMail, RoutedMail
from support_agent.company.company import Company
from support_agent.config.packaged_files import packaged
from support_agent.config.settings import Settings
from support_agent.core.levels import PROVEN
from support_agent.errors import GateRefused, PermanentError
from support_agent.mail.keys import bounce_address
from support_agent.mail.outgoing import thread_subject
from support_agent.mail.senders.identity import Sender
from support_agent.outbound.addressees import Addressees
from support_agent.outbound.packing import CommandScope, Proposed, packet_of
from support_agent.outbound.rendered_mail import (
    Headers,
    RenderedMail,
    answer_mail,
    encloses_original,
    gated_mail,
    reply_mail,
)
from support_agent.outbound.staff_files import StaffFile
from support_agent.outbound.story import NO_STORY, story_before
from support_agent.store.records import (
    CaseId,
    MailId,
    OutboxEntry,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
    OutgoingMail,
    outbox_id_of,
)
from support_agent.store.store import Store
from support_agent.store.watch_records import AlarmRecord

log = structlog.get_logger(__name__)

WITH_STORY = (Intent.NOT_HELPED, Intent.ANY_NEWS, EscalationReason.REMINDER)
"""Reasons for which a person needs the case from its first mail on."""


@dataclass(frozen=True)
class OutboundQueue:
    """Puts mails into the outbox; a mail gets each kind once, except notices of failures, and what goes to the desk
    again without the original. `now` is the clock.
    """

    store: Store
    settings: Settings
    company: Company
    templates: Templates
    now: Callable[[], datetime]

    def answer(self, mail: RoutedMail, decision: Decision, final: FinalAnswer, require_new: Callable[[], None]) -> bool:
        """Queue the answer, due after the hold window, and a packet for the questions that it leaves open, for which
        the case is escalated.

        With `autonomy.hold_notice` the desk gets the answer that waits, too, and can undo it.

        Args:
            require_new: Called while no other answer can be queued for this sender; what it raises keeps this one out.
        Returns:
            False: nothing was queued, as another run has put an answer or a packet into the outbox meanwhile. The same
            holds for `propose` and `packet`.
        Raises:
            GateRefused: the answer has a byte without a source; nothing is in the outbox.
        """
        rendered = self.rendered(final)
        answer = self._outgoing(mail, rendered, mail.sender.address)
        rest = (self._packet(mail, decision, answered=rendered.text),) if decision.plan.is_partial else ()
        if hold_s := self.settings.autonomy.hold_s:
            leaves_at = answer.created_at + timedelta(seconds=hold_s)
            answer = answer.model_copy(update={"due_at": leaves_at})
            if self.settings.autonomy.hold_notice:
                held = Proposed.of(answer.id, answer.raw, rendered.subject, rendered.text, leaves_at)
                why = decision.because(EscalationReason.HELD, f"in {hold_s:.0f} seconds, by autonomy.hold_s")
                rest = (*rest, self._packet(mail, why, OutgoingKind.HELD, proposed=held))
        with self.store.database.together():
            self.store.outbox.lock_sender(mail.sender.address)
            is_first = self._queue(mail, *rest, answer, is_escalated=decision.plan.is_partial)
            if is_first:
                require_new()
        return is_first

    def propose(self, mail: RoutedMail, decision: Decision, final: FinalAnswer, *, is_acknowledged: bool) -> bool:
        """Escalate the case, and put the answer into the outbox as a proposal, with the packet that shows it.

        Args:
            decision: With the mode of the answer as its reason.
            is_acknowledged: As in `packet`.
        Raises:
            GateRefused: as `answer`.
        """
        rendered = self.rendered(final.model_copy(update={"is_approved": True}))
        answer = self._outgoing(mail, rendered, mail.sender.address)
        answer = answer.model_copy(update={"is_proposed": True})
        proposed = Proposed.of(answer.id, answer.raw, rendered.subject, rendered.text)
        packet = self._packet(mail, decision, proposed=proposed)
        acknowledgement = self._acknowledgement(mail) if is_acknowledged else ()
        return self._queue(mail, packet, answer, *acknowledgement, is_escalated=True)

    def packet(self, mail: RoutedMail, decision: Decision, *, is_acknowledged: bool, is_escalated: bool = True) -> bool:
        """Queue the packet for the desk, and escalate the case.

        Args:
            is_acknowledged: With a fixed acknowledgement to the customer.
            is_escalated: False: the case stays as it is.
        """
        packet, acknowledgement = self._packet(mail, decision), self._acknowledgement(mail) if is_acknowledged else ()
        return self._queue(mail, packet, *acknowledgement, is_escalated=is_escalated)

    def _queue(self, mail: RoutedMail, *mails: OutgoingMail, is_escalated: bool) -> bool:
        """Queue mails, and close the case to automation, both or neither; only the first run does either."""
        with self.store.database.together():
            is_first = self.store.outbox.queue_first(*mails)
            if is_first and is_escalated:
                self.store.cases.escalate(mail.route.case_id)
        return is_first

    def failure(self, mail: RoutedMail, decision: Decision) -> OutboxRecord:
        """Queue a notice of a failure for the desk; return the existing notice if there is one for this reason."""
        notices = self.store.outbox.find(mail_id=mail.id, kind=OutgoingKind.FAILURE)
        for notice in notices:
            rendered = self.store.outbox.rendered_mail(mail.id, notice.kind, notice.number)
            if rendered is not None and rendered.payload["reason_code"] == decision.plan.reason:
                return notice
        return self.store.outbox.queue(self._notice(mail, decision, notices))

    def loss(self, mail: RoutedMail, decision: Decision, lost: OutboxId) -> OutboxRecord | None:
        """Queue the desk's notice that a mail of ours is lost; None: the desk was notified meanwhile."""
        notices = self.store.outbox.find(mail_id=mail.id, kind=OutgoingKind.FAILURE)
        return self.store.outbox.queue_notice(self._notice(mail, decision, notices), lost)

    def without_original(self, lost: OutboxEntry) -> OutboxRecord | None:
        """Queue a mail for the desk, which could not be delivered, once more without the customer's mail.

        Its commands keep their keys.

        Returns:
            None: it has no such mail enclosed, or another process has queued it.
        Raises:
            PermanentError: its data are gone, or another version of the program wrote them.
        """
        record = self.store.outbox.rendered_mail(lost.mail_id, lost.kind, lost.number)
        if record is not None and not encloses_original(record.payload):
            return None
        try:
            packet = Packet.model_validate(record and record.payload).model_copy(update={"original_id": lost.mail_id})
        except ValidationError:
            raise PermanentError(f"the data of {lost.id} cannot be read any more", code="no_outbox") from None
        earlier = self.store.outbox.find(mail_id=lost.mail_id, kind=lost.kind)
        mail = self._for_desk(lost.kind, packet, lost.mail_id, lost.case_id, lost.recipient, _next_number(earlier))
        return self.store.outbox.queue_notice(mail, lost.id)

    def remind(self, mail: RoutedMail, decision: Decision, to: str = "") -> OutboxRecord:
        """Queue a reminder of a case that nobody has answered.

        Args:
            mail: The mail that the case's last packet is about.
            to: Who gets it; "": who gets the case's packets.
        """
        earlier = self.store.outbox.find(mail_id=mail.id, kind=OutgoingKind.REMINDER)
        packet = self._packet(mail, decision, OutgoingKind.REMINDER, number=_next_number(earlier), to=to)
        return self.store.outbox.queue(packet)

    def digest(self, digest: Digest, carrier: MailId, to: str) -> OutboxRecord:
        """Queue the weekly digest with the company's templates; if those cannot make it, with the packaged templates.

        Args:
            carrier: The mail that it is stored with, perhaps with earlier ones; nothing of it is in the digest.
        """
        return self.store.outbox.queue(self._news(digest, carrier, to))

    def alarm(self, alarm: Alarm, record: AlarmRecord, carrier: MailId) -> OutboxRecord | None:
        """Queue a mail about an alarm to the desk, as `digest`; None: another process has done so."""
        mail = self._news(alarm, carrier, self.settings.desk.address)
        return self.store.outbox.queue_alarm(mail, record)

    def _news(self, news: Digest | Alarm, carrier: MailId, to: str) -> OutgoingMail:
        """Make a mail about the agent itself, which is stored with a mail that it has nothing of."""
        kind = OutgoingKind.DIGEST if isinstance(news, Digest) else OutgoingKind.ALARM
        number = _next_number(self.store.outbox.find(mail_id=carrier, kind=kind))
        return self._for_desk(kind, news, carrier, None, to, number)

    def _for_desk(
        self,
        kind: OutgoingKind,
        made_from: Packet | Digest | Alarm,
        mail_id: MailId,
        case_id: CaseId | None,
        to: str,
        number: int,
    ) -> OutgoingMail:
        """Make a mail for the desk that encloses no mail; it is stored with this one."""
        parent, agent = ReceivedMail.of(mail_id, *self.store.mails.received(mail_id)), self.settings.agent
        rendered, templates = self._for_staff(
            lambda templates: gated_mail(kind, made_from, templates),
            lambda refused: log.warning("desk_mail_refused", kind=kind.value, mail_id=mail_id, code=refused.code),
        )
        headers = rendered.headers(
            agent, case_id or "", mail_id, to, self.now(), parent.message, mail_id, number, is_threaded=False
        )
        raw = rendered.compose(headers, parent.message, b"")
        return self._made(rendered, headers, templates, mail_id, case_id, raw, number)

    def _notice(self, mail: RoutedMail, decision: Decision, earlier: Sequence[OutboxRecord]) -> OutgoingMail:
        return self._packet(mail, decision, OutgoingKind.FAILURE, number=_next_number(earlier))

    def rendered(self, final: FinalAnswer) -> RenderedMail:
        """An answer as it would leave: rendered, and through the gate; nothing is queued.

        Raises:
            GateRefused: as `answer`.
        """
        return answer_mail(final, self.templates, Verifier.of(self.company))

    def chosen(self, mail: RoutedMail, final: FinalAnswer, to: Sender, parent: ReceivedMail) -> None:
        """Queue the answer that a person chose with the command in `mail`, in the thread of the customer's mail.

        Raises:
            GateRefused: as `answer`.
        """
        rendered = self.rendered(final)
        is_threaded = to.level >= PROVEN
        self.store.outbox.queue(self._outgoing(mail, rendered, to.address, parent=parent, is_threaded=is_threaded))

    def reply(
        self, mail: RoutedMail, words: str, to: str, parent: ReceivedMail, files: Sequence[StaffFile] = ()
    ) -> None:
        """Queue a staff member's words and files, in the thread of the customer's mail."""
        rendered = reply_mail(parent.message.subject, f"{words}\n", files)
        self.store.outbox.queue(self._outgoing(mail, rendered, to, parent=parent))

    def _packet(
        self,
        mail: RoutedMail,
        decision: Decision,
        kind: OutgoingKind = OutgoingKind.PACKET,
        *,
        answered: str | None = None,
        proposed: Proposed | None = None,
        number: int = 1,
        to: str = "",
    ) -> OutgoingMail:
        """Make a packet."""
        needs_story = decision.plan.reason in WITH_STORY
        story = story_before(mail, self.store, self.settings) if needs_story else NO_STORY
        about = mail.route.customer_mail_id if mail.route.is_staff_reply else mail.id
        if decision.plan.reason == EscalationReason.UNDELIVERED_UNREADABLE:  # `mail` is the bounce that says so
            about = None
        until = self.now().replace(microsecond=0) + timedelta(hours=self.settings.desk.key_valid_h)
        row_id, proposed = outbox_id_of(mail.id, kind, number), proposed or (self._proposed(about) if about else None)
        scope = CommandScope(row_id, about, self.company.version, until) if about is not None else None
        customer = self._customer(about) if mail.route.is_staff_reply else None
        packet = packet_of(mail, decision, answered, self.settings, scope, proposed, story, customer)
        if kind in (OutgoingKind.FAILURE, OutgoingKind.REMINDER) and self._is_undeliverable(mail.id):
            packet = packet.model_copy(update={"original_id": mail.id})
        rendered, templates = self._for_staff(
            lambda templates: gated_mail(kind, packet, templates),
            lambda refused: log.error("packet_refused", case_id=mail.route.case_id, mail_id=mail.id, code=refused.code),
        )
        to = to or Addressees(self.store, self.settings, self.company).of(mail, decision)
        return self._outgoing(mail, rendered, to, templates=templates, number=number)

    def _customer(self, mail_id: MailId | None) -> Sender | None:
        """The author of a stored mail, as was found when it came."""
        found = self.store.mails.get(mail_id) if mail_id is not None else None
        if found is None or found.level is None or found.sender_address is None:
            return None
        return Sender(address=found.sender_address, level=found.level, why=found.sender_why or "")

    def _is_undeliverable(self, mail_id: MailId) -> bool:
        """Whether a mail for the desk was sent again without this mail, because it could not be delivered with it."""
        return any(
            row.kind.is_packet and row.status is OutboxStatus.FAILED and row.notified_at is not None
            for row in self.store.outbox.find(mail_id=mail_id)
        )

    def _for_staff(
        self, make: Callable[[Templates], RenderedMail], say: Callable[[GateRefused], None]
    ) -> tuple[RenderedMail, Templates]:
        """Make a mail for staff with the company's templates; if the gate refuses those, with the packaged templates.

        Returns:
            The mail, and the templates that made it.
        """
        try:
            return make(self.templates), self.templates
        except GateRefused as refused:
            say(refused)
            templates = Templates.load(packaged("templates"))
            return make(templates), templates

    def _proposed(self, mail_id: MailId) -> Proposed | None:
        """The answer to a mail that waits for a person, as a packet shows it; None: there is none."""
        if (found := self.store.outbox.proposed(mail_id)) is None:
            return None
        row, record = found
        rendered = RenderedAnswer.model_validate(record.spans)
        return Proposed.of(row.id, row.raw, rendered.subject.text, rendered.text.text)

    def _acknowledgement(self, mail: RoutedMail) -> tuple[OutgoingMail, ...]:
        """Make the acknowledgement in the customer's language; none if the gate refuses it: a person has the case."""
        level, hours = mail.sender.level, self.settings.hours
        customer = self.company.addressee(mail.sender.address, level)
        opens_at = Hours(hours).closed_until(self.now())
        acknowledgement = Acknowledgement(
            company=self.settings.company.name,
            locale=self.templates.locale_of(customer, self.settings.company.locale),
            subject=thread_subject(mail.message.subject) if level >= PROVEN else None,
            support_address=self.settings.agent.address,
            opens_at=opens_at,
            opens_in=hours.time_zone if opens_at is not None else None,
            reply_within_h=hours.reply_within_h if hours.has_hours and hours.reply_within_h else None,
        )
        for one in dict.fromkeys((acknowledgement, acknowledgement.without_hours)):  # older templates lack the hours
            try:
                rendered = gated_mail(OutgoingKind.ACKNOWLEDGEMENT, one, self.templates)
                return (self._outgoing(mail, rendered, mail.sender.address),)
            except GateRefused as refused:
                log.error("acknowledgement_refused", case_id=mail.route.case_id, mail_id=mail.id, code=refused.code)
        return ()

    def _outgoing(
        self,
        mail: RoutedMail,
        rendered: RenderedMail,
        to: str,
        *,
        templates: Templates | None = None,
        parent: ReceivedMail | None = None,
        number: int = 1,
        is_threaded: bool | None = None,
    ) -> OutgoingMail:
        """Compose the mail's bytes, and keep the data to rebuild them.

        Args:
            templates: The templates that rendered it; the company's by default.
            parent: The mail that it answers in the thread; `mail` by default.
            number: Counts the mails of this kind for `mail`, from 1.
            is_threaded: Whether it names the ids of the parent; by default only for a proven sender of `mail`.
        """
        templates, parent, agent = templates or self.templates, parent or mail, self.settings.agent
        headers = rendered.headers(
            agent,
            mail.route.case_id,
            mail.id,
            to,
            self.now(),
            parent.message,
            parent.id,
            number,
            is_threaded=mail.sender.level >= PROVEN if is_threaded is None else is_threaded,
        )
        raw = rendered.compose(headers, parent.message, parent.raw, mail.raw)
        return self._made(rendered, headers, templates, mail.id, mail.route.case_id, raw, number)

    def _made(
        self,
        rendered: RenderedMail,
        headers: Headers,
        templates: Templates,
        mail_id: MailId,
        case_id: CaseId | None,
        raw: bytes,
        number: int,
    ) -> OutgoingMail:
        """A mail for the outbox, with the data to rebuild it, which need its templates."""
        agent, verp = self.settings.agent, self.settings.smtp.verp
        self.store.versions.save_templates(templates.version, templates.as_files())
        return OutgoingMail(
            mail_id=mail_id,
            case_id=case_id,
            kind=rendered.kind,
            number=number,
            payload=rendered.payload,
            templates_version=templates.version,
            spans=rendered.spans,
            header_inputs=headers.model_dump(mode="json"),
            message_id=headers.message_id,
            envelope_from=bounce_address(agent.address, headers.message_id) if verp else agent.address,
            recipient=headers.to,
            raw=raw,
            created_at=headers.sent_at,
        )


def _next_number(earlier: Sequence[OutboxRecord]) -> int:
    """The number of the next mail of a kind that may be sent several times."""
    return 1 + max((record.number for record in earlier), default=0)
