"""Checks the rows about outgoing mail, each on the answer to one example mail.

Invariant: a check reads the bytes that would be sent, never the values that they were made from. Checked by
tests/unit/ops/test_conformance.py, which also breaks each of them.
"""

from __future__ import annotations

import email
import email.policy
from collections.abc import Callable
from datetime import UTC, datetime
from email.header import decode_header, make_header
from email.message import Message as Mail

from support_agent.config.agent import AgentSettings
from support_agent.core.levels import lower_address
from support_agent.errors import PermanentError
from support_agent.mail import keys
from support_agent.mail.message import Message
from support_agent.mail.outgoing import (
    MAX_LINE_OCTETS,
    MAX_REFERENCES_OCTETS,
    SUPPRESS,
    OutgoingHead,
    compose,
    compose_notice,
    next_hops,
    reply_subject,
)

SENT_AT = datetime(2026, 3, 10, 9, 20, tzinfo=UTC)
TEXT = "Grüße,\n\n" + "a long line of an answer, " * 60 + "\n"
HTML = f"<p>{TEXT}</p>"
MIN_TOKEN_HEX = 24
"""96 bits."""

Check = Callable[[Message, AgentSettings], str]
"""Says what is wrong with the answer to a mail, or ""."""


def answer_to(parent: Message, agent: AgentSettings) -> bytes:
    """The mail that would be sent as an answer to `parent`, with a fixed text."""
    head = _head(parent, agent)
    return compose(head, subject=reply_subject(parent.subject), text=TEXT, html=HTML, parent=parent)


def _head(parent: Message, agent: AgentSettings, case: str = "case") -> OutgoingHead:
    domain = agent.address.rpartition("@")[2]
    own_id = keys.message_id(agent.secret, domain, case, parent.raw_sha256, "answer")
    return OutgoingHead(
        message_id=own_id,
        sent_at=SENT_AT,
        to=parent.from_.addr if parent.from_ is not None else "",
        from_address=agent.address,
        from_name=agent.name,
        origin=keys.origin_header(agent.secret, own_id, next_hops(parent, agent)),
    )


def _read(raw: bytes) -> Mail:
    return email.message_from_bytes(raw, policy=email.policy.compat32)


def _value(mail: Mail, name: str) -> str:
    values = mail.get_all(name, [])
    return " ".join(str(values[0]).split()) if len(values) == 1 else ""


def _recipient(parent: Message, agent: AgentSettings) -> str:
    mail = _read(answer_to(parent, agent))
    sender = parent.from_.addr if parent.from_ is not None else ""
    if lower_address(_value(mail, "To")) != sender or mail.get_all("Cc") or mail.get_all("Bcc"):
        return f"goes to {_value(mail, 'To')!r}, not to {sender!r} alone"
    return ""


def _auto_submitted(parent: Message, agent: AgentSettings) -> str:
    answer = _value(_read(answer_to(parent, agent)), "Auto-Submitted")
    notice = _value(_read(compose_notice(_head(parent, agent), subject="A case", text=TEXT)), "Auto-Submitted")
    return "" if (answer, notice) == ("auto-replied", "auto-generated") else f"Auto-Submitted: {answer}; {notice}"


def _thread(parent: Message, agent: AgentSettings) -> str:
    mail = _read(answer_to(parent, agent))
    answered, references = _value(mail, "In-Reply-To"), _value(mail, "References").split()
    if parent.has_synthetic_id:
        return "names an id that nobody else knows" if answered or references else ""
    ends = [*parent.references[:1], parent.message_id]
    if answered != parent.message_id or [*references[: len(ends) - 1], *references[-1:]] != ends:
        return f"In-Reply-To {answered}, References {references}"
    octets = len(" ".join(references))
    return "" if octets <= MAX_REFERENCES_OCTETS else f"References of {octets} octets"


def _message_id(parent: Message, agent: AgentSettings) -> str:
    first, again = (_value(_read(answer_to(parent, agent)), "Message-ID") for _ in range(2))
    other = _head(parent, agent, "another case").message_id
    token = first.split(".")[1] if first.count(".") > 1 else ""
    if first != again or first == other or len(token) < MIN_TOKEN_HEX:
        return f"Message-ID {first}, then {again}, and {other} for another case"
    return "" if keys.is_own_message_id(agent.secrets, first) else f"{first} is not known again"


def _subject(parent: Message, agent: AgentSettings) -> str:
    try:
        compose(_head(parent, agent), subject="a\r\nBcc: b@example.org", text=TEXT, html=HTML, parent=parent)
    except PermanentError:
        mail = _read(answer_to(parent, agent))
        subject = str(make_header(decode_header(_value(mail, "Subject"))))
        is_one = subject.startswith("Re: ") and not subject[4:].lower().startswith(("re:", "aw:"))
        is_safe = subject.isprintable() and not mail.get_all("Bcc")
        return "" if is_one and is_safe else f"Subject: {subject!r}"
    return "a subject of two lines is let through"


def _sender(parent: Message, agent: AgentSettings) -> str:
    mail = _read(answer_to(parent, agent))
    fields = {name: _value(mail, name) for name in ("From", "Reply-To")}
    ours = f"<{lower_address(agent.address)}>"
    return "" if all(value.endswith(ours) for value in fields.values()) else str(fields)


def _suppressed(parent: Message, agent: AgentSettings) -> str:
    value = _value(_read(answer_to(parent, agent)), "X-Auto-Response-Suppress")
    return "" if value == SUPPRESS == "OOF, AutoReply, DR, RN, NRN" else value or "nothing"


def _body(parent: Message, agent: AgentSettings) -> str:
    raw = answer_to(parent, agent)
    mail = _read(raw)
    parts = [part for part in mail.walk() if not part.is_multipart()]
    kinds = [(part.get_content_type(), part.get_content_charset(), part.get_content_disposition()) for part in parts]
    longest = max(map(len, raw.split(b"\r\n")))
    is_right = kinds == [("text/plain", "utf-8", None), ("text/html", "utf-8", None)]
    if mail.get_content_type() != "multipart/alternative" or not is_right or longest > MAX_LINE_OCTETS:
        return f"{mail.get_content_type()} of {kinds}, longest line {longest}"
    return "" if b"\n" not in raw.replace(b"\r\n", b"") else "a bare LF"


def _origin(parent: Message, agent: AgentSettings) -> str:
    value = _value(_read(answer_to(parent, agent)), keys.ORIGIN_HEADER)
    origin = keys.read_origin(agent.secrets, value)
    hops = next_hops(parent, agent)
    if origin is None or not origin.is_ours or origin.hops != hops:
        return f"{keys.ORIGIN_HEADER}: {value}"
    forged = keys.read_origin(agent.secrets, value.replace(f"hops={hops}", f"hops={hops + 1}"))
    return "" if forged is not None and not forged.is_ours else "another hop count verifies too"


CHECKS: dict[str, Check] = {
    "S16": _recipient,
    "S40": _auto_submitted,
    "S41": _thread,
    "S42": _message_id,
    "S43": _subject,
    "S44": _sender,
    "S45": _suppressed,
    "S49": _body,
    "S50": _origin,
}
"""By row; a check returns "" if the answer obeys the row."""
