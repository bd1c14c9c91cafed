"""Queues outgoing mails: composes them and puts them into the outbox.

Invariant: a mail is in the outbox only if the gate passed it, and together with the data to rebuild it; a partial
answer and the packet with the open questions are queued together or not at all. Checked by
tests/unit/workflow/test_stages.py, tests/unit/workflow/test_stages_failures.py and, with real kills,
tests/journey/test_kill.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.templates import Templates
from support_agent.answer.verification import Verifier
from support_agent.cases.decision import Decision
from support_agent.cases.intentions import Intent
from support_agent.cases.route import ReceivedMail, RoutedMail
from support_agent.company.company import Company
from support_agent.config.packaged_files import packaged
from support_agent.config.settings import Settings
from support_agent.core.levels import CUSTOMER, PROVEN
from support_agent.errors import GateRefused
from support_agent.mail.keys import bounce_address
from support_agent.mail.outgoing import thread_subject
from support_agent.outbound.packing import packet_of
from support_agent.outbound.rendered_mail import (
    RenderedMail,
    acknowledgement_mail,
    answer_mail,
    packet_mail,
    reply_mail,
)
from support_agent.outbound.staff_files import StaffFile
from support_agent.outbound.story import NO_STORY, story_before
from support_agent.store.records import OutboxRecord, OutgoingKind, OutgoingMail
from support_agent.store.store import Store

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class OutboundQueue:
    """Puts mails into the outbox; a mail gets each kind once, except notices of failures. `now` is the clock."""

    store: Store
    settings: Settings
    company: Company
    templates: Templates
    now: Callable[[], datetime]

    def answer(self, mail: RoutedMail, decision: Decision, final: FinalAnswer) -> None:
        """Queue the answer, and a packet for the questions that it leaves open.

        Raises:
            GateRefused: the answer has a byte without a source; nothing is in the outbox.
        """
        rendered = answer_mail(final, self.templates, Verifier.of(self.company))
        rest = (self._packet(mail, decision, answered=rendered.text),) if decision.plan.is_partial else ()
        self.store.outbox.queue(*rest, self._outgoing(mail, rendered, mail.sender.address))

    def packet(self, mail: RoutedMail, decision: Decision, *, is_acknowledged: bool) -> None:
        """Queue the packet for the desk; `is_acknowledged`: with a fixed acknowledgement to the customer."""
        packet = self._packet(mail, decision)
        self.store.outbox.queue(packet, *(self._acknowledgement(mail) if is_acknowledged else ()))

    def failure(self, mail: RoutedMail, decision: Decision) -> OutboxRecord:
        """Queue a notice of a failure for the desk; return the existing notice if there is one for this reason."""
        notices = self.store.outbox.find(mail_id=mail.id, kind=OutgoingKind.FAILURE)
        for notice in notices:
            rendered = self.store.outbox.rendered(mail.id, notice.kind, notice.number)
            if rendered is not None and rendered.payload["reason_code"] == decision.plan.reason:
                return notice
        return self.store.outbox.queue(self._notice(mail, decision, notices))[0]

    def loss(self, mail: RoutedMail, decision: Decision, lost: OutboxRecord) -> OutboxRecord | None:
        """Queue the desk's notice that a mail of ours is lost; None: the desk was notified meanwhile."""
        notices = self.store.outbox.find(mail_id=mail.id, kind=OutgoingKind.FAILURE)
        return self.store.outbox.queue_notice(self._notice(mail, decision, notices), lost.id)

    def _notice(self, mail: RoutedMail, decision: Decision, earlier: Sequence[OutboxRecord]) -> OutgoingMail:
        number = 1 + max((notice.number for notice in earlier), default=0)
        return self._packet(mail, decision, OutgoingKind.FAILURE, number=number)

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
        number: int = 1,
    ) -> OutgoingMail:
        """Make a packet with the company's templates; if the gate refuses those, with the packaged templates."""
        needs_story = decision.plan.reason in (Intent.NOT_HELPED, Intent.ANY_NEWS)
        story = story_before(mail, self.store, self.settings) if needs_story else NO_STORY
        packet = packet_of(mail, decision, answered, self.settings, story)
        templates = self.templates
        try:
            rendered = packet_mail(packet, templates, kind)
        except GateRefused as refused:
            log.error("packet_refused", case_id=mail.route.case_id, mail_id=mail.id, code=refused.code)
            templates = Templates.load(packaged("templates"))
            rendered = packet_mail(packet, templates, kind)
        return self._outgoing(mail, rendered, self.settings.desk.address, templates=templates, number=number)

    def _acknowledgement(self, mail: RoutedMail) -> tuple[OutgoingMail, ...]:
        """Make the acknowledgement in the customer's language; none if the gate refuses it: a person has the case."""
        accounts, level = self.company.accounts, mail.sender.level
        customer = accounts.customer(mail.sender.address) if level >= CUSTOMER else None
        acknowledgement = Acknowledgement(
            company=self.settings.company.name,
            locale=self.templates.locale_of(customer, self.settings.company.locale),
            subject=thread_subject(mail.message.subject) if level >= PROVEN else None,
            support_address=self.settings.agent.address,
        )
        try:
            rendered = acknowledgement_mail(acknowledgement, self.templates)
        except GateRefused as refused:
            log.error("acknowledgement_refused", case_id=mail.route.case_id, mail_id=mail.id, code=refused.code)
            return ()
        return (self._outgoing(mail, rendered, mail.sender.address),)

    def _outgoing(
        self,
        mail: RoutedMail,
        rendered: RenderedMail,
        to: str,
        *,
        templates: Templates | None = None,
        parent: ReceivedMail | None = None,
        number: int = 1,
    ) -> OutgoingMail:
        """Compose the mail's bytes, and keep the data to rebuild them.

        Args:
            templates: The templates that rendered it; the company's by default.
            parent: The mail that it answers in the thread; `mail` by default.
            number: Counts the mails of this kind for `mail`, from 1.
        """
        templates, parent, agent = templates or self.templates, parent or mail, self.settings.agent
        self.store.versions.save_templates(templates.version, templates.as_files())
        headers = rendered.headers(
            agent,
            mail.route.case_id,
            mail.id,
            to,
            self.now(),
            parent.message,
            parent.id,
            number,
            is_threaded=mail.sender.level >= PROVEN,
        )
        verp = bounce_address(agent.address, headers.message_id)
        return OutgoingMail(
            mail_id=mail.id,
            case_id=mail.route.case_id,
            kind=rendered.kind,
            number=number,
            payload=rendered.payload,
            templates_version=templates.version,
            rendered=rendered.rendered,
            header_inputs=headers.model_dump(mode="json"),
            message_id=headers.message_id,
            envelope_from=verp if self.settings.smtp.verp else agent.address,
            recipient=to,
            raw=rendered.compose(headers, parent.message, parent.raw, mail.raw),
            created_at=headers.sent_at,
        )
