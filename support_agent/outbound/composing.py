"""Composes outgoing mails: rendered, through the gate, as bytes, with the data to rebuild them.

Invariant: what is rendered here has passed the gate, with the company's templates or, for staff, the packaged ones.
Nothing is put into the outbox: `queueing` does that. Checked by tests/unit/workflow/test_stages.py and
tests/unit/workflow/test_stages_failures.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

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
from support_agent.errors import GateRefused
from support_agent.mail.keys import bounce_address
from support_agent.mail.outgoing import thread_subject
from support_agent.mail.senders.identity import Sender
from support_agent.outbound.addressees import Addressees
from support_agent.outbound.packing import CommandScope, Proposed, packet_of
from support_agent.outbound.rendered_mail import Headers, RenderedMail, answer_mail, gated_mail
from support_agent.outbound.story import NO_STORY, story_before
from support_agent.store.records import (
    CaseId,
    MailId,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
    OutgoingMail,
    outbox_id_of,
)
from support_agent.store.store import Store

log = structlog.get_logger(__name__)

WITH_STORY = (Intent.NOT_HELPED, Intent.ANY_NEWS, EscalationReason.REMINDER)
"""Reasons for which a person needs the case from its first mail on."""


@dataclass(frozen=True)
class Composer:
    """Makes mails for the outbox; `now` is the clock."""

    store: Store
    settings: Settings
    company: Company
    templates: Templates
    now: Callable[[], datetime]

    def rendered(self, final: FinalAnswer) -> RenderedMail:
        """An answer as it would leave: rendered, and through the gate.

        Raises:
            GateRefused: the answer has a byte without a source.
        """
        return answer_mail(final, self.templates, Verifier.of(self.company))

    def outgoing(
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

    def packet(
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
        return self.outgoing(mail, rendered, to, templates=templates, number=number)

    def notice(self, mail: RoutedMail, decision: Decision, earlier: Sequence[OutboxRecord]) -> OutgoingMail:
        """Make a notice of a failure, which follows these earlier ones about the mail."""
        return self.packet(mail, decision, OutgoingKind.FAILURE, number=next_number(earlier))

    def acknowledgement(self, mail: RoutedMail) -> tuple[OutgoingMail, ...]:
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
                return (self.outgoing(mail, rendered, mail.sender.address),)
            except GateRefused as refused:
                log.error("acknowledgement_refused", case_id=mail.route.case_id, mail_id=mail.id, code=refused.code)
        return ()

    def for_desk(
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

    def _proposed(self, mail_id: MailId) -> Proposed | None:
        """The answer to a mail that waits for a person, as a packet shows it; None: there is none."""
        if (found := self.store.outbox.proposed(mail_id)) is None:
            return None
        row, record = found
        rendered = RenderedAnswer.model_validate(record.spans)
        return Proposed.of(row.id, row.raw, rendered.subject.text, rendered.text.text)

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


def next_number(earlier: Sequence[OutboxRecord]) -> int:
    """The number of the next mail of a kind that may be sent several times."""
    return 1 + max((record.number for record in earlier), default=0)
