"""Outgoing mails as data: the payload, the rendered text with its sources, and the inputs of the headers.

Invariant: `compose` depends only on the rendered mail, its headers and the parent mail, so the stored data give the
same bytes again; every automatic mail has passed the gate. Checked by tests/unit/outbound/test_rendered_mail.py and
`replay`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue, SkipValidation

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.alarm import Alarm
from support_agent.answer.digest import Digest
from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.mail_parts import MadeFrom
from support_agent.answer.packet import Packet
from support_agent.answer.provenance import check
from support_agent.answer.render import render
from support_agent.answer.sources import RenderedAnswer
from support_agent.answer.templates import Templates
from support_agent.answer.verification import Verifier
from support_agent.config.agent import AgentSettings
from support_agent.core.frozen import Frozen
from support_agent.errors import GateRefused
from support_agent.mail.keys import message_id, origin_header
from support_agent.mail.message import Message
from support_agent.mail.outgoing import (
    OutgoingHead,
    compose,
    compose_notice,
    compose_person_reply,
    next_hops,
    reply_subject,
)
from support_agent.outbound.staff_files import StaffFile, enclosed, stored_files
from support_agent.store.records import OutgoingKind, RenderedMailRecord


class Headers(OutgoingHead):
    """Inputs of the headers; `parent_mail_id` is the stored customer's mail that is answered."""

    parent_mail_id: str


class RenderedMail(Frozen):
    """One mail without its headers: `payload` is its content as data, `spans` its text with the sources."""

    kind: OutgoingKind
    payload: SkipValidation[dict[str, JsonValue]]
    spans: SkipValidation[dict[str, JsonValue]]
    subject: str
    text: str
    html: str = ""

    def headers(
        self,
        agent: AgentSettings,
        case_id: str,
        mail_id: str,
        to: str,
        sent_at: datetime,
        parent: Message,
        parent_mail_id: str,
        number: int = 1,
        *,
        is_threaded: bool = True,
    ) -> Headers:
        """The headers; the Message-ID is the same on every try.

        Args:
            mail_id: The inbound mail that caused it: for a person's reply that reply, not the parent.
            number: Counts the mails of this kind for that mail, from 1.
            is_threaded: Whether an automatic mail names the ids of the customer's mail; only for proven senders.
        Raises:
            ConfigError: `agent.secret` is missing.
        """
        domain = agent.address.rpartition("@")[2]
        own_id = message_id(agent.secret, domain, case_id, mail_id, self.kind.named(number))
        return Headers(
            message_id=own_id,
            sent_at=sent_at.replace(microsecond=0),
            to=to,
            from_address=agent.address,
            from_name=agent.name,
            origin=origin_header(agent.secret, own_id, next_hops(parent, agent)),
            parent_mail_id=parent_mail_id,
            is_threaded=is_threaded,
        )

    def compose(self, headers: Headers, parent: Message, original: bytes, cause: bytes = b"") -> bytes:
        """The bytes of the mail.

        Args:
            parent: The customer's mail that is answered.
            original: The bytes of that mail, which a packet encloses unless it says that it does not.
            cause: The bytes of the mail that this one goes out for: a staff member's reply has its files.
        """
        match self.kind:
            case OutgoingKind.ANSWER | OutgoingKind.ACKNOWLEDGEMENT:
                return compose(headers, subject=self.subject, text=self.text, html=self.html, parent=parent)
            case OutgoingKind.PACKET | OutgoingKind.FAILURE | OutgoingKind.REMINDER | OutgoingKind.HELD:
                enclosed_mail = original if encloses_original(self.payload) else None
                return compose_notice(headers, subject=self.subject, text=self.text, original=enclosed_mail)
            case OutgoingKind.DIGEST | OutgoingKind.ALARM:
                return compose_notice(headers, subject=self.subject, text=self.text)
            case OutgoingKind.PERSON_REPLY:
                files = enclosed(stored_files(self.payload), cause)
                return compose_person_reply(headers, subject=self.subject, text=self.text, parent=parent, files=files)


def encloses_original(payload: Mapping[str, JsonValue]) -> bool:
    """Whether a packet encloses the mail that it is about."""
    return payload.get("original_id") is None


def answer_mail(final: FinalAnswer, templates: Templates, verifier: Verifier) -> RenderedMail:
    """Render an answer and pass it through the gate.

    Raises:
        GateRefused: a byte has no source, a source is not in the company's files (code `unfounded`), or a template
            cannot be used.
    """
    if wrong := next(verifier.mismatches(final, templates.locale_for(final.locale)), None):
        raise GateRefused(wrong, code="unfounded")
    return gated_mail(OutgoingKind.ANSWER, final, templates)


def gated_mail(kind: OutgoingKind, made_from: MadeFrom, templates: Templates) -> RenderedMail:
    """Make a mail if the gate passes it; the only place where rendered text becomes a mail that may leave.

    An answer that may leave is made by `answer_mail`.

    Raises:
        GateRefused: a byte has no source, or a template cannot be used.
    """
    rendered = render(made_from, templates)
    check(rendered, made_from, templates)
    return RenderedMail(
        kind=kind,
        payload=made_from.model_dump(mode="json"),
        spans=rendered.model_dump(mode="json"),
        subject=rendered.subject.text,
        text=rendered.text.text,
        html=rendered.html.text if isinstance(rendered, RenderedAnswer) else "",
    )


def reply_mail(parent_subject: str, words: str, files: Sequence[StaffFile] = ()) -> RenderedMail:
    """Make a mail of a staff member's own words and files to the customer."""
    payload: dict[str, JsonValue] = {"parent_subject": parent_subject, "words": words}
    if files:
        payload["files"] = [file.model_dump(mode="json") for file in files]
    return RenderedMail(
        kind=OutgoingKind.PERSON_REPLY,
        payload=payload,
        spans={},
        subject=reply_subject(parent_subject),
        text=words,
    )


def rerendered(record: RenderedMailRecord, templates: Templates) -> RenderedMail:
    """Render a stored mail again from its payload; `replay` checks separately whether an answer is still true.

    Raises:
        GateRefused: the templates cannot be used for it.
    """
    match record.kind:
        case OutgoingKind.ANSWER:
            return gated_mail(record.kind, FinalAnswer.model_validate(record.payload), templates)
        case OutgoingKind.ACKNOWLEDGEMENT:
            return gated_mail(record.kind, Acknowledgement.model_validate(record.payload), templates)
        case OutgoingKind.PACKET | OutgoingKind.FAILURE | OutgoingKind.REMINDER | OutgoingKind.HELD:
            return gated_mail(record.kind, Packet.model_validate(record.payload), templates)
        case OutgoingKind.DIGEST:
            return gated_mail(record.kind, Digest.model_validate(record.payload), templates)
        case OutgoingKind.ALARM:
            return gated_mail(record.kind, Alarm.model_validate(record.payload), templates)
        case OutgoingKind.PERSON_REPLY:
            words = str(record.payload["words"])
            return reply_mail(str(record.payload["parent_subject"]), words, stored_files(record.payload))
