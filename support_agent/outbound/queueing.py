"""Queues outgoing mails: puts into the outbox what `composing` makes.

Invariant: a mail is in the outbox only if the gate passed it, and together with the data to rebuild it; a partial
answer and the packet with the open questions are queued together or not at all. Checked by
tests/unit/workflow/test_stages.py, tests/unit/workflow/test_stages_failures.py,
tests/unit/outbound/test_without_original.py and, with real kills, tests/journey/test_kill.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pydantic import ValidationError

from support_agent.answer.alarm import Alarm
from support_agent.answer.digest import Digest
from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.packet import Packet
from support_agent.cases.decision import Decision
from support_agent.cases.escalation import EscalationReason
from support_agent.cases.route import ReceivedMail, RoutedMail
from support_agent.config.settings import Settings
from support_agent.core.levels import PROVEN
from support_agent.errors import PermanentError
from support_agent.mail.senders.identity import Sender
from support_agent.outbound.composing import Composer, next_number
from support_agent.outbound.packing import Proposed
from support_agent.outbound.rendered_mail import encloses_original, reply_mail
from support_agent.outbound.staff_files import StaffFile
from support_agent.store.records import MailId, OutboxEntry, OutboxId, OutboxRecord, OutgoingKind, OutgoingMail
from support_agent.store.store import Store
from support_agent.store.watch_records import AlarmRecord


@dataclass(frozen=True)
class OutboundQueue:
    """Puts mails into the outbox; a mail gets each kind once, except notices of failures, and what goes to the desk
    again without the original.
    """

    store: Store
    settings: Settings
    composer: Composer

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
        rendered = self.composer.rendered(final)
        answer = self.composer.outgoing(mail, rendered, mail.sender.address)
        rest = (self.composer.packet(mail, decision, answered=rendered.text),) if decision.plan.is_partial else ()
        if hold_s := self.settings.autonomy.hold_s:
            leaves_at = answer.created_at + timedelta(seconds=hold_s)
            answer = answer.model_copy(update={"due_at": leaves_at})
            if self.settings.autonomy.hold_notice:
                held = Proposed.of(answer.id, answer.raw, rendered.subject, rendered.text, leaves_at)
                why = decision.because(EscalationReason.HELD, f"in {hold_s:.0f} seconds, by autonomy.hold_s")
                rest = (*rest, self.composer.packet(mail, why, OutgoingKind.HELD, proposed=held))
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
        rendered = self.composer.rendered(final.model_copy(update={"is_approved": True}))
        answer = self.composer.outgoing(mail, rendered, mail.sender.address)
        answer = answer.model_copy(update={"is_proposed": True})
        proposed = Proposed.of(answer.id, answer.raw, rendered.subject, rendered.text)
        packet = self.composer.packet(mail, decision, proposed=proposed)
        acknowledgement = self.composer.acknowledgement(mail) if is_acknowledged else ()
        return self._queue(mail, packet, answer, *acknowledgement, is_escalated=True)

    def packet(self, mail: RoutedMail, decision: Decision, *, is_acknowledged: bool, is_escalated: bool = True) -> bool:
        """Queue the packet for the desk, and escalate the case.

        Args:
            is_acknowledged: With a fixed acknowledgement to the customer.
            is_escalated: False: the case stays as it is.
        """
        packet = self.composer.packet(mail, decision)
        acknowledgement = self.composer.acknowledgement(mail) if is_acknowledged else ()
        return self._queue(mail, packet, *acknowledgement, is_escalated=is_escalated)

    def _queue(self, mail: RoutedMail, *mails: OutgoingMail, is_escalated: bool) -> bool:
        """Queue mails, and with `is_escalated` give the case to a person, all or nothing; only the first run does."""
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
        return self.store.outbox.queue(self.composer.notice(mail, decision, notices))

    def loss(self, mail: RoutedMail, decision: Decision, lost: OutboxId) -> OutboxRecord | None:
        """Queue the desk's notice that a mail of ours is lost; None: the desk was notified meanwhile."""
        notices = self.store.outbox.find(mail_id=mail.id, kind=OutgoingKind.FAILURE)
        return self.store.outbox.queue_notice(self.composer.notice(mail, decision, notices), lost)

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
        number = next_number(self.store.outbox.find(mail_id=lost.mail_id, kind=lost.kind))
        mail = self.composer.for_desk(lost.kind, packet, lost.mail_id, lost.case_id, lost.recipient, number)
        return self.store.outbox.queue_notice(mail, lost.id)

    def remind(self, mail: RoutedMail, decision: Decision, to: str = "") -> OutboxRecord:
        """Queue a reminder of a case that nobody has answered.

        Args:
            mail: The mail that the case's last packet is about.
            to: Who gets it; "": who gets the case's packets.
        """
        earlier = self.store.outbox.find(mail_id=mail.id, kind=OutgoingKind.REMINDER)
        packet = self.composer.packet(mail, decision, OutgoingKind.REMINDER, number=next_number(earlier), to=to)
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
        number = next_number(self.store.outbox.find(mail_id=carrier, kind=kind))
        return self.composer.for_desk(kind, news, carrier, None, to, number)

    def chosen(self, mail: RoutedMail, final: FinalAnswer, to: Sender, parent: ReceivedMail) -> None:
        """Queue the answer that a person chose with the command in `mail`, in the thread of the customer's mail.

        Raises:
            GateRefused: as `answer`.
        """
        rendered, is_threaded = self.composer.rendered(final), to.level >= PROVEN
        answer = self.composer.outgoing(mail, rendered, to.address, parent=parent, is_threaded=is_threaded)
        self.store.outbox.queue(answer)

    def reply(
        self, mail: RoutedMail, words: str, to: str, parent: ReceivedMail, files: Sequence[StaffFile] = ()
    ) -> None:
        """Queue a staff member's words and files, in the thread of the customer's mail."""
        rendered = reply_mail(parent.message.subject, f"{words}\n", files)
        self.store.outbox.queue(self.composer.outgoing(mail, rendered, to, parent=parent))
