"""Queues outgoing mails: composes them and puts them into the outbox.

Invariant: a mail is in the outbox only if the gate passed it, and together with the data to rebuild it; a partial
answer and the packet with the open questions are queued together or not at all. Checked by
tests/unit/workflow/test_stages.py, tests/unit/workflow/test_stages_failures.py and, with real kills,
tests/journey/test_kill.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.sources import RenderedAnswer
from support_agent.answer.templates import Templates
from support_agent.answer.verification import Verifier
from support_agent.cases.decision import Decision
from support_agent.cases.intentions import Intent
from support_agent.cases.route import ReceivedMail, RoutedMail, staff_addresses
from support_agent.company.company import Company
from support_agent.config.packaged_files import packaged
from support_agent.config.settings import Settings
from support_agent.core.levels import CUSTOMER, PROVEN
from support_agent.errors import GateRefused
from support_agent.mail.keys import bounce_address
from support_agent.mail.outgoing import thread_subject
from support_agent.mail.senders.identity import Sender
from support_agent.outbound.packing import CommandScope, Proposed, packet_of
from support_agent.outbound.rendered_mail import (
    RenderedMail,
    acknowledgement_mail,
    answer_mail,
    packet_mail,
    reply_mail,
)
from support_agent.outbound.staff_files import StaffFile
from support_agent.outbound.story import NO_STORY, story_before
from support_agent.store.records import MailId, OutboxRecord, OutgoingKind, OutgoingMail, outbox_id_of
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
        """Queue the answer, due after the hold window, and a packet for the questions that it leaves open.

        Raises:
            GateRefused: the answer has a byte without a source; nothing is in the outbox.
        """
        rendered = answer_mail(final, self.templates, Verifier.of(self.company))
        answer = self._outgoing(mail, rendered, mail.sender.address)
        if hold_s := self.settings.autonomy.hold_s:
            answer = answer.model_copy(update={"due_at": answer.created_at + timedelta(seconds=hold_s)})
        rest = (self._packet(mail, decision, answered=rendered.text),) if decision.plan.is_partial else ()
        self.store.outbox.queue(*rest, answer)

    def propose(self, mail: RoutedMail, decision: Decision, final: FinalAnswer, *, is_acknowledged: bool) -> None:
        """Put the answer into the outbox as a proposal, which no sender takes, with the packet that shows it.

        Args:
            decision: With the mode of the answer as its reason.
            is_acknowledged: As in `packet`.
        Raises:
            GateRefused: as `answer`.
        """
        rendered = answer_mail(final, self.templates, Verifier.of(self.company))
        answer = self._outgoing(mail, rendered, mail.sender.address)
        answer = answer.model_copy(update={"is_proposed": True})
        proposed = Proposed.of(answer.id, answer.raw, rendered.subject, rendered.text)
        packet = self._packet(mail, decision, proposed=proposed)
        self.store.outbox.queue(packet, answer, *(self._acknowledgement(mail) if is_acknowledged else ()))

    def packet(self, mail: RoutedMail, decision: Decision, *, is_acknowledged: bool) -> None:
        """Queue the packet for the desk; `is_acknowledged`: with a fixed acknowledgement to the customer."""
        packet = self._packet(mail, decision)
        self.store.outbox.queue(packet, *(self._acknowledgement(mail) if is_acknowledged else ()))

    def failure(self, mail: RoutedMail, decision: Decision) -> OutboxRecord:
        """Queue a notice of a failure for the desk; return the existing notice if there is one for this reason."""
        notices = self.store.outbox.find(mail_id=mail.id, kind=OutgoingKind.FAILURE)
        for notice in notices:
            rendered = self.store.outbox.rendered_mail(mail.id, notice.kind, notice.number)
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

    def check(self, final: FinalAnswer) -> None:
        """Render an answer and pass it through the gate, and queue nothing.

        Raises:
            GateRefused: as `answer`.
        """
        answer_mail(final, self.templates, Verifier.of(self.company))

    def chosen(self, mail: RoutedMail, final: FinalAnswer, to: Sender, parent: ReceivedMail) -> None:
        """Queue the answer that a person chose with the command in `mail`, in the thread of the customer's mail.

        Raises:
            GateRefused: as `answer`.
        """
        rendered = answer_mail(final, self.templates, Verifier.of(self.company))
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
    ) -> OutgoingMail:
        """Make a packet with the company's templates; if the gate refuses those, with the packaged templates."""
        needs_story = decision.plan.reason in (Intent.NOT_HELPED, Intent.ANY_NEWS)
        story = story_before(mail, self.store, self.settings) if needs_story else NO_STORY
        parent_id = mail.route.customer_mail_id or mail.id
        until = self.now().replace(microsecond=0) + timedelta(hours=self.settings.desk.key_valid_h)
        scope = CommandScope(outbox_id_of(mail.id, kind, number), parent_id, self.company.version, until)
        packet = packet_of(mail, decision, answered, self.settings, scope, proposed or self._proposed(parent_id), story)
        templates = self.templates
        try:
            rendered = packet_mail(packet, templates, kind)
        except GateRefused as refused:
            log.error("packet_refused", case_id=mail.route.case_id, mail_id=mail.id, code=refused.code)
            templates = Templates.load(packaged("templates"))
            rendered = packet_mail(packet, templates, kind)
        return self._outgoing(mail, rendered, self._desk_of(mail), templates=templates, number=number)

    def _desk_of(self, mail: RoutedMail) -> str:
        """Who gets the case's packets: the staff member who has the case, else the desk."""
        case = self.store.cases.get(mail.route.case_id)
        assignee = case.assignee if case is not None else None
        is_staff = assignee is not None and assignee in staff_addresses(self.settings)
        return assignee if assignee is not None and is_staff else self.settings.desk.address

    def _proposed(self, mail_id: MailId) -> Proposed | None:
        """The answer to a mail that waits for a person, as a packet shows it; None: there is none."""
        if (found := self.store.outbox.proposed(mail_id)) is None:
            return None
        row, record = found
        rendered = RenderedAnswer.model_validate(record.spans)
        return Proposed.of(row.id, row.raw, rendered.subject.text, rendered.text.text)

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
            is_threaded=mail.sender.level >= PROVEN if is_threaded is None else is_threaded,
        )
        verp = bounce_address(agent.address, headers.message_id)
        return OutgoingMail(
            mail_id=mail.id,
            case_id=mail.route.case_id,
            kind=rendered.kind,
            number=number,
            payload=rendered.payload,
            templates_version=templates.version,
            spans=rendered.spans,
            header_inputs=headers.model_dump(mode="json"),
            message_id=headers.message_id,
            envelope_from=verp if self.settings.smtp.verp else agent.address,
            recipient=to,
            raw=rendered.compose(headers, parent.message, parent.raw, mail.raw),
            created_at=headers.sent_at,
        )
