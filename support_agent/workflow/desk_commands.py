"""Carries out what a person at the desk orders by mail.

Invariant: nothing happens without a key that was made for exactly this: the command, the packet, the bytes of the
proposal or the company's files as they are now. Each key works once, commands send at most one answer to a mail, and a
step that runs twice does no more. Checked by tests/journey/test_desk_commands.py, with attacks by
tests/journey/test_desk_attacks.py, and with real kills by tests/journey/test_kill_people.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NamedTuple, assert_never

import structlog

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.packet import Packet
from support_agent.cases.commands import Command, GivenCommand, Ticket, digest_of, is_meant_as_command
from support_agent.cases.escalation import EscalationReason
from support_agent.cases.handling import Handling, Order
from support_agent.cases.route import ReceivedMail, RoutedMail, why_unwritable
from support_agent.cases.routing import BY_HAND, CaseRouting
from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.errors import PermanentError
from support_agent.mail.keys import desk_key
from support_agent.mail.senders.identity import Sender
from support_agent.outbound.outbox_choices import OutboxChoice, choosable
from support_agent.outbound.packing import CommandScope, ticket_of
from support_agent.outbound.queueing import OutboundQueue
from support_agent.outbound.staff_files import files_of
from support_agent.outbound.staff_words import is_of_packet, own_words, unfit, why_unreadable
from support_agent.store.desk_records import LabelSource, UsedKey
from support_agent.store.records import (
    CaseId,
    DeliverySource,
    MailId,
    OutboxEntry,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
)
from support_agent.store.store import Store
from support_agent.tools.person_choice import PersonChoice
from support_agent.workflow.approval import Approval, Approver, undo
from support_agent.workflow.decide import Decider, written_at
from support_agent.workflow.labelling import Labelling

log = structlog.get_logger(__name__)

ANSWERING = (Command.APPROVE, Command.DOCUMENT)
"""Commands that send an answer of the machine: of these one works for each mail of a customer."""
PROPOSED, CANCELLED = OutboxStatus.PROPOSED, OutboxStatus.CANCELLED
GOING = (OutboxStatus.READY, OutboxStatus.SENDING, OutboxStatus.SENT, OutboxStatus.UNCERTAIN)


class Offer(NamedTuple):
    """What the commands of a packet are about now, and their keys; one without a key has no subject or was given."""

    packet: OutboxEntry
    customer_mail: ReceivedMail
    proposed: OutboxRecord | None
    keys: Mapping[Command, str]


class Fitting(NamedTuple):
    """The packet whose key a command has, and the customer's mail that it is about."""

    row: OutboxEntry
    packet: Packet
    customer_mail: ReceivedMail


@dataclass(frozen=True)
class DeskCommands:
    """Carries out commands; `decider` is opened only to render a document, `now` is the clock."""

    store: Store
    settings: Settings
    company: Company
    decider: Callable[[], Decider]
    routing: CaseRouting
    queue: OutboundQueue
    labelling: Labelling
    approval: Approval
    now: Callable[[], datetime]

    def carry_out(self, mail: RoutedMail, given: GivenCommand) -> None:
        """Carry out a command that a proven staff member gives with this mail.

        Raises:
            PermanentError: it may not be carried out; the message says why. GateRefused, ToolCallRejected: the
                document cannot be sent.
        """
        fitting = self._fitting(mail, given)
        key = self._key(mail, given, fitting)
        _refuse_used(self.store.used_keys.earlier(key))
        act = self._act(mail, fitting, given)
        _refuse_used(self.store.used_keys.use(key))
        log.info("desk_command", command=given.command.value, case_id=mail.route.case_id, mail_id=mail.id)
        act()

    def _act(self, mail: RoutedMail, fitting: Fitting, given: GivenCommand) -> Callable[[], object]:
        """What the command does, once its key is used; what forbids it is found before.

        Raises:
            PermanentError, GateRefused, ToolCallRejected: as `carry_out`.
        """
        match given.command:
            case Command.APPROVE:
                return self._approve(mail, fitting)
            case Command.DOCUMENT:
                return self._send_chosen(mail, fitting, given.choice)
            case Command.OWN_WORDS:
                return self.pass_on(mail, fitting.row, fitting.customer_mail, given.words)
            case Command.CLOSE | Command.SPAM:
                self._refuse_if_others_wait(mail, fitting, given.command)
                return lambda: self._close(mail, fitting, given.command)
            case Command.GIVE_BACK:
                self._refuse_if_others_wait(mail, fitting, given.command)
                return lambda: self._order(mail, Order.GIVE_BACK)
            case Command.CLAIM:
                return lambda: self._order(mail, Order.CLAIM, to=mail.sender.address)
            case Command.UNDO:
                return self._undo(mail, fitting)
            case never:
                assert_never(never)

    def offer(self, case_id: CaseId) -> Offer | None:
        """What the last packet of a case that waits offers now, or the last one; None: none has commands.

        The notice of an answer that leaves by itself is no packet to answer: see `StaffReplies.pass_on`.
        """
        waits = self.store.waits.mails(case_id)
        newest_first = reversed(self.routing.threads.packets_of(case_id))
        for row in sorted(newest_first, key=lambda row: row.mail_id not in waits):
            if row.kind is OutgoingKind.HELD or (found := self._ticket(row)) is None:
                continue
            fitting, ticket = found
            secret = self.settings.agent.secret
            all_parts = {command: parts for command in Command if (parts := ticket.parts(command)) is not None}
            unused = {
                command: desk_key(secret, *parts) for command, parts in all_parts.items() if not self._is_used(parts)
            }
            return Offer(row, fitting.customer_mail, self._proposed_of(fitting.packet), unused)
        return None

    def _is_used(self, parts: tuple[str, ...]) -> bool:
        """Whether the command was used with a key of any secret that counts."""
        usable = (secret for secret in self.settings.agent.secrets if secret.get_secret_value())
        return any(self.store.used_keys.is_used(desk_key(secret, *parts)) for secret in usable)

    def pass_on(
        self, mail: RoutedMail, packet: OutboxEntry | None, customer_mail: ReceivedMail | None, text: str
    ) -> Callable[[], object]:
        """What passes a staff member's own words and files on to the customer; what forbids it is found before.

        What waits is judged by the words, and withdrawn.

        Args:
            packet: The one that is answered.
            text: The words, perhaps with a quotation of the packet below.
        Raises:
            PermanentError: this is not for the customer; the message says why.
        """
        rendered = self.routing.threads.packet_as_sent(packet) if packet is not None else None
        if rendered is None:
            raise _not_kept("the packet that it answers is no longer kept")
        if why := why_unreadable(mail.message):
            raise _refused(why)
        words = own_words(text, rendered)
        if why := unfit(words, rendered):
            raise _refused(why)
        if is_meant_as_command(words):
            todo = "copy the whole line out of the packet"
            raise _refused(f"it reads like a command, and its line is not complete: {todo}")
        if customer_mail is not None and not customer_mail.raw:
            raise _not_kept("the mail that it answers is no longer kept (store.raw_retention_days)")
        author = customer_mail.message.from_ if customer_mail is not None else None
        if customer_mail is None or author is None:
            raise _refused("the mail that it answers has no address of a customer")
        quoted, is_secret = (customer_mail.message.raw_sha256,), partial(is_of_packet, packet=rendered)
        files = files_of(mail.message, mail.raw, quoted, self.settings.desk, is_secret)
        if why := files.why_not or why_unwritable(author.addr):
            raise _refused(why)
        if not files.files and self._times_passed_on(mail, words) >= self.settings.desk.max_same_replies:
            raise _refused("these words went to the customer before, as an automatic reply would: write others")

        def pass_on() -> None:
            self.labelling.wrote(customer_mail.id, words, mail.sender.address, LabelSource.REPLY)
            self.withdraw(customer_mail.id, mail, "answered in own words")
            self.queue.reply(mail, words, author.addr, customer_mail, files.files)

        return pass_on

    def _times_passed_on(self, mail: RoutedMail, words: str) -> int:
        """How many other replies of the staff in the case have these words."""
        rows = self.routing.threads.mails_of(mail.route.case_id)
        others = (row for row in rows if row.kind is OutgoingKind.PERSON_REPLY and row.mail_id != mail.id)
        replies = (self.store.outbox.rendered_mail(row.mail_id, row.kind, row.number) for row in others)
        said = (str(reply.payload.get("words", "")) for reply in replies if reply is not None)
        return sum(text.strip() == words.strip() for text in said)

    def withdraw(self, customer_mail_id: MailId, mail: RoutedMail, why: str) -> None:
        """Cancel the answer to a customer's mail that waits for a person: a person has dealt with the mail."""
        answers = self.store.outbox.find(mail_id=customer_mail_id, kind=OutgoingKind.ANSWER, status=PROPOSED)
        for answer in answers:
            self._cancel(answer.id, mail, why)

    # Keys

    def _fitting(self, mail: RoutedMail, given: GivenCommand) -> Fitting:
        """The packet of this case that the key was made for.

        Raises:
            PermanentError: there is none, or it has expired (code `command_refused`).
        """
        if not given.is_alone:
            raise _refused("a command stands alone, and there is more text: nothing was done")
        if given.case_id not in (None, mail.route.case_id):
            raise _refused("it names another case than the packet that it answers")
        if (found := self._packet_with_key(mail, given)) is None:
            for answer in self.store.deliveries.in_case(mail.route.case_id, OutgoingKind.ANSWER):
                if answer.status is PROPOSED:
                    choosable(self.store, answer.id, OutboxChoice.APPROVE)  # raises what to do if its key is gone
            what = "its key is not one of this case, or what it is about has changed since"
            raise _refused(f"{what}: use a line of a packet of this case")
        fitting, ticket = found
        if mail.received_at > ticket.until and not mail.is_of_page:  # a session of the page has its own end
            raise _refused(f"its key expired at {ticket.until:%Y-%m-%d %H:%M} UTC")
        return fitting

    def mail_of_refused(self, mail: RoutedMail, given: GivenCommand) -> MailId | None:
        """The customer's mail that a refused command is about; None: it is not known.

        Its key says so, though it has expired; else the packet that it answers, or the only author of the case.
        """
        if (found := self._packet_with_key(mail, given)) is not None:
            return found[0].customer_mail.id
        return mail.route.customer_mail_id or self.routing.threads.mail_of_only_author(mail.route.case_id)

    def _packet_with_key(self, mail: RoutedMail, given: GivenCommand) -> tuple[Fitting, Ticket] | None:
        """The packet that the key was made for, whether or not it has expired."""
        for row in reversed(self.routing.threads.packets_of(mail.route.case_id)):
            found = self._ticket(row)
            if found is not None and found[1].fits(self.settings.agent.secrets, given):
                return found
        return None

    def _ticket(self, row: OutboxEntry) -> tuple[Fitting, Ticket] | None:
        """What the keys of a packet are bound to now; None: it has none, or its customer's mail cannot be read."""
        record = self.store.outbox.rendered_mail(row.mail_id, row.kind, row.number)
        packet = Packet.model_validate(record.payload) if record is not None else None
        if packet is None or packet.offered_until is None or row.case_id is None:
            return None
        about = self.routing.threads.mail_about(row, packet.about_mail_id)
        if about is None or self.store.sealing.unreadable({about}):
            return None
        customer_mail = self.routing.received(about)
        proposed = self._proposed_of(packet)
        scope = CommandScope(row.id, customer_mail.id, self.company.version, packet.offered_until)
        digest = digest_of(proposed.raw) if proposed is not None else None
        ticket = ticket_of(row.case_id, scope, digest, packet.leaves_at)
        return Fitting(row, packet, customer_mail), ticket

    def _proposed_of(self, packet: Packet) -> OutboxRecord | None:
        """The answer that a packet proposed, whatever became of it."""
        return self.store.outbox.get(OutboxId(packet.proposed_id)) if packet.proposed_id else None

    def _key(self, mail: RoutedMail, given: GivenCommand, fitting: Fitting) -> UsedKey:
        """The key as this mail uses it, and for an answer the only one that commands send to the customer's mail."""
        slot = f"{fitting.customer_mail.id}:answer" if given.command in ANSWERING else given.key
        return UsedKey(
            key=given.key,
            slot=slot,
            command=given.command.value,
            case_id=mail.route.case_id,
            mail_id=mail.id,
            who=mail.sender.address,
            used_at=self.now(),
        )

    # What is done

    def _approve(self, mail: RoutedMail, fitting: Fitting) -> Callable[[], object]:
        """Let the proposed answer leave as it was shown, if what it says is still the company's."""
        outbox_id = OutboxId(fitting.packet.proposed_id or "")
        who, how = mail.sender.address, LabelSource.COMMAND
        approver = Approver(DeliverySource.STAFF, who, f"approved by {who}, {_says(mail)}", how)
        return self.approval.of(outbox_id, approver, is_repeated=self._is_moved(outbox_id, mail))

    def _undo(self, mail: RoutedMail, fitting: Fitting) -> Callable[[], object]:
        """Keep an answer from leaving by itself, as long as it has not left."""
        outbox_id, who = OutboxId(fitting.packet.proposed_id or ""), mail.sender.address
        by = Approver(DeliverySource.UNDONE, who, f"undone by {who}, {_says(mail)}", LabelSource.COMMAND)
        return undo(self.store, self.settings, outbox_id, self.now, by, is_repeated=self._is_moved(outbox_id, mail))

    def _send_chosen(self, mail: RoutedMail, fitting: Fitting, choice: PersonChoice | None) -> Callable[[], object]:
        """Send what a person chose instead of what was proposed."""
        if choice is None:
            raise _refused("it does not say what to send: document 3, or send field:plan")
        customer_mail, proposed = fitting.customer_mail, self._proposed_of(fitting.packet)
        if proposed is not None and proposed.status in GOING:
            raise _refused(f"the answer that was proposed is {proposed.status.value}")
        sender, final = self.chosen_answer(customer_mail, choice, written_at(mail.message, mail.received_at))

        def send() -> None:
            self.labelling.sent(customer_mail.id, choice, final, mail.sender.address)
            if proposed is not None and proposed.status is PROPOSED:
                self._cancel(proposed.id, mail, f"{choice.text} instead")
            self.queue.chosen(mail, final, sender, customer_mail)

        return send

    def chosen_answer(
        self, customer_mail: ReceivedMail, choice: PersonChoice, ordered_at: datetime | None = None
    ) -> tuple[Sender, FinalAnswer]:
        """The answer that sends what a person chose, made and checked as every answer, and its recipient.

        Args:
            ordered_at: As for `Decider.chosen`.
        Raises:
            PermanentError, GateRefused, ToolCallRejected: it cannot be sent to this customer.
        """
        sender = self.routing.senders.of(customer_mail)
        if why := why_unwritable(sender.address):
            raise _refused(why)
        customer = self.company.known_customer(sender.address, sender.level)
        final = self.decider().chosen(customer_mail.message, sender, customer, self.now(), choice, ordered_at)
        self.queue.composer.rendered(final)  # raises what sending it would
        return sender, final

    def _refuse_if_others_wait(self, mail: RoutedMail, fitting: Fitting, command: Command) -> None:
        """Refuse to end the wait of a mail that came after the packet, or with `spam` that of another author's mail.

        Raises:
            PermanentError: there is one (code `command_refused`).
        """
        case_id, own = mail.route.case_id, self.store.mails.get(fitting.customer_mail.id)
        later = [one for one in self.routing.mails_that_wait(case_id, fitting.row) if one != own]
        if later:
            todo = "use a line of that mail's packet, or the desk's page"
            raise _refused(f"a mail of {later[-1].sender_address} came after it: {todo}")
        if command is not Command.SPAM:
            return
        author = own.sender_address if own is not None else None
        others = [one for one in self.routing.mails_that_wait(case_id) if one.sender_address != author]
        if others:
            who = others[-1].sender_address
            raise _refused(f"{who} waits in this case, too: answer that mail, or close the case")

    def _close(self, mail: RoutedMail, fitting: Fitting, command: Command) -> None:
        self.labelling.sent_nothing(fitting.customer_mail.id, mail.sender.address)
        self.withdraw(fitting.customer_mail.id, mail, command.value)
        self._order(mail, Order.CLOSE, command.value)

    def _order(self, mail: RoutedMail, order: Order, why: str = "", to: str | None = None) -> None:
        handling = Handling(self.store, self.settings)
        handling.order(mail.route.case_id, order, mail.sender.address, self.now(), why, to)

    def _cancel(self, outbox_id: OutboxId, mail: RoutedMail, why: str) -> None:
        """Cancel a proposal, once for this mail; the outbox says who ordered it."""
        if not self._is_moved(outbox_id, mail):
            detail, by = f"{why} by {mail.sender.address}, {_says(mail)}", DeliverySource.STAFF
            self.store.deliveries.update(outbox_id, CANCELLED, by, detail, self.now(), (PROPOSED,))

    def _is_moved(self, outbox_id: OutboxId, mail: RoutedMail) -> bool:
        """Whether this mail has changed the status of a proposal already, before the process died."""
        return any(update.detail.endswith(_says(mail)) for update in self.store.deliveries.of(outbox_id))


def _says(mail: RoutedMail) -> str:
    return f"says mail {mail.id}"


def _refuse_used(earlier: UsedKey | None) -> None:
    if earlier is not None:
        raise _refused(f"{earlier.who} used {earlier.command!r} already, at {earlier.used_at:%Y-%m-%d %H:%M} UTC")


def _not_kept(why: str) -> PermanentError:
    return PermanentError(f"{why}: {BY_HAND}", code=EscalationReason.NOT_KEPT)


def _refused(why: str) -> PermanentError:
    return PermanentError(why, code="command_refused")
