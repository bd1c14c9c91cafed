"""An outgoing mail as data: what it was made from, what was rendered, and the headers' inputs.

Invariant: `compose` is a function of the letter, its headers and the parent mail, so what is stored gives the same
bytes again; every letter to a customer has passed the gate. Checked by tests/unit/test_letters.py and `replay`.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import JsonValue

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.provenance import check
from support_agent.answer.render import render_acknowledgement, render_answer, render_packet
from support_agent.answer.sources import RenderedAnswer, RenderedPacket
from support_agent.answer.templates import Templates
from support_agent.desk.packet import Packet
from support_agent.frozen import Frozen
from support_agent.mail.keys import message_id, origin_header
from support_agent.mail.message import Message
from support_agent.mail.outgoing import (
    Head,
    compose,
    compose_notice,
    compose_person_reply,
    next_hops,
    reply_subject,
)
from support_agent.settings import AgentSettings
from support_agent.store.records import LetterKind, LetterRecord

TELLING_CHARACTERS = 12
"""A line of a packet with at least so many characters is known again in a reply to it."""


class Headers(Head):
    """What the headers are made from; `parent_mail_id` is the customer's mail that it belongs to, in the store."""

    parent_mail_id: str


class Letter(Frozen):
    """One mail before its headers: `payload` is what it says as data, `rendered` the spans with their sources."""

    kind: LetterKind
    payload: dict[str, JsonValue]
    rendered: dict[str, JsonValue]
    subject: str
    text: str
    html: str = ""

    def headers(
        self,
        agent: AgentSettings,
        case_id: str,
        number: int,
        to: str,
        sent_at: datetime,
        parent: Message,
        parent_mail_id: str,
    ) -> Headers:
        """The headers of the mail with that number in its case; the Message-ID is the same on every try.

        Raises:
            ConfigError: `agent.secret` is missing.
        """
        domain = agent.address.rpartition("@")[2]
        own_id = message_id(agent.secret, domain, case_id, number, self.kind.value)
        return Headers(
            message_id=own_id,
            sent_at=sent_at.replace(microsecond=0),
            to=to,
            from_address=agent.address,
            from_name=agent.name,
            origin=origin_header(agent.secret, own_id, next_hops(parent, agent)),
            parent_mail_id=parent_mail_id,
        )

    def compose(self, headers: Headers, parent: Message, original: bytes) -> bytes:
        """The bytes of the mail.

        Args:
            parent: The customer's mail that it belongs to.
            original: The bytes of that mail; they go along with a packet.
        """
        match self.kind:
            case LetterKind.ANSWER | LetterKind.ACKNOWLEDGEMENT:
                return compose(headers, subject=self.subject, text=self.text, html=self.html, parent=parent)
            case LetterKind.PACKET | LetterKind.FAILURE:
                return compose_notice(headers, subject=self.subject, text=self.text, original=original)
            case LetterKind.PERSON_REPLY:
                return compose_person_reply(headers, subject=self.subject, text=self.text, parent=parent)


def answer_letter(final: FinalAnswer, templates: Templates) -> Letter:
    """An answer, through the gate.

    Raises:
        GateRefused: a byte has no source, or a template cannot be used.
    """
    return _gated(LetterKind.ANSWER, final, render_answer(final, templates), templates)


def acknowledgement_letter(acknowledgement: Acknowledgement, templates: Templates) -> Letter:
    """The fixed mail that says that a person has the case, through the gate.

    Raises:
        GateRefused: as `answer_letter`.
    """
    rendered = render_acknowledgement(acknowledgement, templates)
    return _gated(LetterKind.ACKNOWLEDGEMENT, acknowledgement, rendered, templates)


def packet_letter(packet: Packet, templates: Templates, kind: LetterKind = LetterKind.PACKET) -> Letter:
    """A case for a person, or a `failure` in one, through the gate.

    Raises:
        GateRefused: as `answer_letter`.
    """
    return _gated(kind, packet, render_packet(packet, templates), templates)


def _gated(
    kind: LetterKind,
    made_from: FinalAnswer | Acknowledgement | Packet,
    rendered: RenderedAnswer | RenderedPacket,
    templates: Templates,
) -> Letter:
    """The letter, if the gate passes it: the one place where rendered text becomes a mail."""
    check(rendered, made_from, templates)
    return Letter(
        kind=kind,
        payload=made_from.model_dump(mode="json"),
        rendered=rendered.model_dump(mode="json"),
        subject=rendered.subject.text,
        text=rendered.text.text,
        html=rendered.html.text if isinstance(rendered, RenderedAnswer) else "",
    )


def reply_letter(parent_subject: str, words: str) -> Letter:
    """A staff member's own words, on their way to the customer."""
    payload: dict[str, JsonValue] = {"parent_subject": parent_subject, "words": words}
    return Letter(
        kind=LetterKind.PERSON_REPLY,
        payload=payload,
        rendered={},
        subject=reply_subject(parent_subject),
        text=words,
    )


def own_words(text: str, packet_text: str) -> str:
    """A staff member's words, up to where a mail program copied our packet, which is for staff only.

    Args:
        text: The visible text of the reply; a quotation in a form that nobody knows stands in it.
        packet_text: The packet that was answered.
    """
    internal = {line.strip() for line in packet_text.splitlines() if len(line.strip()) >= TELLING_CHARACTERS}
    kept: list[str] = []
    for line in text.splitlines():
        if line.strip("> \t") in internal:
            break
        kept.append(line)
    return "\n".join(kept).strip()


def again(record: LetterRecord, templates: Templates) -> Letter:
    """A stored letter, made again from its payload with those templates.

    Raises:
        GateRefused: the templates cannot be used for it.
    """
    match record.kind:
        case LetterKind.ANSWER:
            return answer_letter(FinalAnswer.model_validate(record.payload), templates)
        case LetterKind.ACKNOWLEDGEMENT:
            return acknowledgement_letter(Acknowledgement.model_validate(record.payload), templates)
        case LetterKind.PACKET | LetterKind.FAILURE:
            return packet_letter(Packet.model_validate(record.payload), templates, record.kind)
        case LetterKind.PERSON_REPLY:
            return reply_letter(str(record.payload["parent_subject"]), str(record.payload["words"]))
