"""Sends a canary mail through the whole loop, and times each hop: to the mailbox, the worker, and back.

Invariant: the canary is an ordinary mail of an ordinary sender: no rule, limit or gate makes an exception for it, and
it is not sent where the next one would go to a person. Checked by tests/unit/ops/test_probe.py, and over real servers
by tests/acceptance/test_probe.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Protocol

from support_agent.answer.final_answer import DocumentItem, FinalAnswer
from support_agent.cases.rate_limits import CLOCK_SLACK, DAY, TO_SENDER
from support_agent.cases.route import own_addresses
from support_agent.config.mail_servers import ImapSettings, SignIn, SmtpSettings
from support_agent.config.settings import Settings
from support_agent.core.frozen import Frozen
from support_agent.core.levels import UNKNOWN, lower_address
from support_agent.errors import ConfigError, PermanentError
from support_agent.mail.addresses import is_own
from support_agent.store.records import MailId, MailRecord, OutboxRecord, OutboxStatus, OutgoingKind
from support_agent.store.store import Store
from support_agent.transport.submission import Delivery, Transport

INBOX = "INBOX"
SUBJECT = "A question"


class Hop(Frozen):
    """One hop: when it was done, and the seconds since the one before."""

    name: str
    at: datetime
    seconds: float


class Probed(Frozen):
    """What became of the canary: `outcome` is "answered", "acknowledged", or its status in the store, "" for none.

    `why` says what is wrong, "" for nothing.
    """

    from_address: str
    message_id: str
    case_id: str | None = None
    outcome: str = ""
    document: int | None = None
    hops: tuple[Hop, ...] = ()
    seconds: float = 0.0
    is_ok: bool = False
    why: str = ""


class CanaryMailbox(Protocol):
    """The canary's own mailbox; see `transport.mailbox.Mailbox`."""

    def has_message_id(self, folder: str, message_id: str) -> bool:
        """Whether a folder has this mail."""


@dataclass(frozen=True)
class Probe:
    """Sends a canary and waits for what comes back.

    Args:
        transport: Sends as the canary.
        open_mailbox: Opens the canary's mailbox.
        store: The workers' store, which is only read.
        now, clock, wait: The wall clock, monotonic seconds, and a pause of some seconds.
    """

    settings: Settings
    transport: Transport
    open_mailbox: Callable[[], AbstractContextManager[CanaryMailbox]]
    store: Store
    now: Callable[[], datetime]
    clock: Callable[[], float]
    wait: Callable[[float], None]

    def run(self, nonce: str) -> Probed:
        """Probe once.

        Args:
            nonce: Makes the Message-ID unique.
        Raises:
            ConfigError: `[probe]` cannot be used.
            PermanentError: the canary's next mail would go to a person, so it was not sent.
            TransientError: the canary's mailbox, or the database, cannot be reached.
        """
        require_probe_settings(self.settings)
        begun_at = self.now()
        sender = _address_at(self.settings, begun_at)
        self._require_room(sender, begun_at)
        message_id = f"<{nonce}@{sender.rpartition('@')[2]}>"
        with self.open_mailbox() as mailbox:  # before the mail, so that a wrong password sends none
            delivery = self._submit(sender, message_id, begun_at)
            if delivery.status != "sent":
                return Probed(from_address=sender, message_id=message_id, why=f"not sent: {delivery.detail}")
            submitted_at = self.now()
            back_at, mail = self._wait(mailbox, message_id)
        return self._probed(sender, message_id, begun_at, submitted_at, back_at, mail)

    def _submit(self, sender: str, message_id: str, at: datetime) -> Delivery:
        mail, to = EmailMessage(policy=SMTP), self.settings.agent.address
        for name, text in (("From", sender), ("To", to), ("Subject", SUBJECT), ("Message-ID", message_id)):
            mail[name] = text
        mail["Date"] = format_datetime(at)
        mail.set_content(self.settings.probe.question)
        return self.transport.deliver(mail.as_bytes(), sender, to)

    def _wait(self, mailbox: CanaryMailbox, message_id: str) -> tuple[datetime | None, MailRecord | None]:
        """Wait until the answer is back, nothing can come any more, or the time is over."""
        ends_s = self.clock() + self.settings.probe.timeout_s
        while True:
            mail = next(iter(self.store.mails.find(message_id=message_id)), None)
            reply = self._reply(mail.id) if mail is not None else None
            if reply is not None and mailbox.has_message_id(INBOX, reply.message_id):
                return self.now(), mail
            is_over = mail is not None and mail.handled_at is not None and reply is None
            if is_over or self.clock() >= ends_s:
                return None, mail
            self.wait(self.settings.probe.poll_interval_s)

    def _reply(self, mail_id: MailId) -> OutboxRecord | None:
        """The answer to the canary, or the acknowledgement."""
        rows = {row.kind: row for row in self.store.outbox.find(mail_id=mail_id)}
        return rows.get(OutgoingKind.ANSWER, rows.get(OutgoingKind.ACKNOWLEDGEMENT))

    def _require_room(self, sender: str, now: datetime) -> None:
        """Refuse where the next answer would be one too many for a sender, so that a person would get the mail."""
        agent, none = self.settings.agent, MailId("")
        sent = self.store.traffic.for_sender(TO_SENDER, sender, UNKNOWN, now - DAY, none, now + CLOCK_SLACK)
        if sent >= agent.max_mails_per_sender_a_day:
            raise PermanentError(
                f"the canary has had {sent} automatic mails within a day, as many as agent.max_mails_per_sender_a_day"
                " allows: probe less often"
            )
        since = now - timedelta(days=agent.identical_answer_days)
        if self.store.traffic.answers(None, sender, UNKNOWN, since=since, but_for=none):
            raise PermanentError(
                f"{sender} has had an answer within agent.identical_answer_days, and the same one is not sent again:"
                " set probe.has_tags, or probe less often"
            )

    def _probed(
        self,
        sender: str,
        message_id: str,
        begun_at: datetime,
        submitted_at: datetime,
        back_at: datetime | None,
        mail: MailRecord | None,
    ) -> Probed:
        reply = self._reply(mail.id) if mail is not None else None
        hops = tuple(_hops(begun_at, self._instants(submitted_at, mail, reply, back_at)))
        document = self._document(reply)
        outcome = mail.status.value if mail is not None else ""
        if reply is not None:
            outcome = "answered" if reply.kind is OutgoingKind.ANSWER else "acknowledged"
        wanted = self.settings.probe.document
        why = self._why(mail, reply, back_at)
        if not why and wanted and document != wanted:
            why = f"document {wanted} should have answered, not {document or 'an acknowledgement'}"
        return Probed(
            from_address=sender,
            message_id=message_id,
            case_id=mail.case_id if mail is not None else None,
            outcome=outcome,
            document=document,
            hops=hops,
            seconds=(hops[-1].at - begun_at).total_seconds(),
            is_ok=not why,
            why=why,
        )

    def _instants(
        self, submitted_at: datetime, mail: MailRecord | None, reply: OutboxRecord | None, back_at: datetime | None
    ) -> Iterator[tuple[str, datetime]]:
        yield "submitted", submitted_at
        if mail is None:
            return
        yield "recorded", mail.received_at
        if (plan := self.store.plans.get(mail.id)) is not None:
            yield "planned", plan.planned_at + timedelta(seconds=plan.seconds)
        if reply is not None and reply.sent_at is not None:
            yield "sent", reply.sent_at
        if back_at is not None:
            yield "back", back_at

    def _document(self, reply: OutboxRecord | None) -> int | None:
        """The number of the document that answered."""
        if reply is None or reply.kind is not OutgoingKind.ANSWER:
            return None
        rendered = self.store.outbox.rendered_mail(reply.mail_id, reply.kind, reply.number)
        answers = FinalAnswer.model_validate(rendered.payload).answers if rendered is not None else ()
        items = (item for answer in answers for item in answer.items)
        return next((item.number for item in items if isinstance(item, DocumentItem)), None)

    def _why(self, mail: MailRecord | None, reply: OutboxRecord | None, back_at: datetime | None) -> str:
        """What is wrong with the way of the canary, or ""."""
        timeout_s = self.settings.probe.timeout_s
        if mail is None:
            return f"no worker recorded it within {timeout_s:g} s: see the mailbox, and that `support-agent run` runs"
        if reply is None and mail.handled_at is not None:
            return f"it was {mail.status.value}, and nothing was sent: {mail.why or mail.reason_code}"
        if reply is None:
            return f"it was recorded, and not decided within {timeout_s:g} s"
        if reply.status is OutboxStatus.PROPOSED:
            return "the answer waits for a person: `support-agent autonomy set ITEM auto` lets it leave by itself"
        if reply.status is not OutboxStatus.SENT:
            return f"the {reply.kind.value} is {reply.status.value}: {reply.last_detail or 'not tried yet'}"
        if back_at is None:
            return f"the {reply.kind.value} was sent, and did not arrive within {timeout_s:g} s"
        return ""


def require_probe_settings(settings: Settings) -> None:
    """Refuse settings with which no canary can be sent.

    Raises:
        ConfigError: says what to set.
    """
    probe = settings.probe
    if not probe.address or not probe.question.strip():
        raise ConfigError("[probe] is not set: probe.address and probe.question name the canary and what it asks")
    address = lower_address(probe.address)
    if is_own(address, settings.agent) or address in own_addresses(settings):
        raise ConfigError(f"probe.address {probe.address} is one of the agent's or the desk's: give the canary its own")


def canary_imap(settings: Settings) -> ImapSettings:
    """The canary's mailbox: on the server of `[imap]`, unless `[probe]` names another."""
    probe = settings.probe
    changes = {
        "host": probe.imap_host or settings.imap.host,
        "port": probe.imap_port or settings.imap.port,
        "auth": SignIn.PASSWORD,
        "user": probe.user or probe.address,
        "password": probe.password,
        "folder": INBOX,
        "move_handled_to": "",
    }
    return ImapSettings.model_validate({**dict(settings.imap), **changes})


def canary_smtp(settings: Settings) -> SmtpSettings:
    """The canary's way out: over the server of `[smtp]`, unless `[probe]` names another; with a password."""
    probe = settings.probe
    changes = {
        "host": probe.smtp_host or settings.smtp.host,
        "port": probe.smtp_port or settings.smtp.port,
        "auth": SignIn.PASSWORD,
        "user": (probe.user or probe.address) if probe.password.get_secret_value() else "",
        "password": probe.password,
        "verp": False,
    }
    return SmtpSettings.model_validate({**dict(settings.smtp), **changes})


def _address_at(settings: Settings, now: datetime) -> str:
    """The canary's address; with a tag of its own for each instant, if it has tags."""
    local, _, domain = settings.probe.address.rpartition("@")
    return f"{local}+{now:%Y%m%d%H%M%S}@{domain}" if settings.probe.has_tags else settings.probe.address


def _hops(begun_at: datetime, instants: Iterator[tuple[str, datetime]]) -> Iterator[Hop]:
    """Each hop with the seconds since the one before; the workers' clocks are not this machine's."""
    before = begun_at
    for name, at in instants:
        yield Hop(name=name, at=at, seconds=(at - before).total_seconds())
        before = at
