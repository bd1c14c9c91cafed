"""Read a bounce: which of our mails did not arrive, which recipients failed, and whether the failure is permanent.

Three readers are tried: the report fields of RFC 3464, then `flufl.bounce`, which knows the notices of many servers,
then the general rules of `bounce_wording`.

Invariant: any bytes give a `DeliveryNotice` or None, never an exception, in bounded time. Anybody can forge a bounce,
so a notice only names addresses and ids; callers act on it only after they find one of our mails in it (S64). Checked
by tests/unit/mail/machines/test_bounces.py.
"""

from __future__ import annotations

import email.message
import logging
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from flufl.bounce import all_failures

from support_agent.core.frozen import Frozen
from support_agent.mail.machines.automatic_wording import asks, is_automatic_subject, why_automatic
from support_agent.mail.machines.bounce_wording import (
    ADDRESS_LINE,
    BounceText,
    is_delay,
    named_addresses,
    read_notice,
    reports_failure,
    status_in,
)
from support_agent.mail.machines.bounce_words import BOUNCE_SUBJECT
from support_agent.mail.machines.delivery_status import (
    ADDRESS_IN_TEXT,
    DeliveryStatus,
    RecipientStatus,
    read_delivery_status,
    usable_address,
)
from support_agent.mail.machines.machine_headers import (
    FAILED_RECIPIENTS,
    NOTIFICATION_PARTS,
    RETURNED_PARTS,
    STATUS_PARTS,
    empty_return_path,
    is_automatic_answer,
)
from support_agent.mail.message import Message
from support_agent.mail.text.body import raw_payload
from support_agent.mail.text.limits import careful_tree, children

MAX_BOUNCE_BYTES = 500_000
"""Read of the raw mail: a server writes its notice at the beginning."""
MAX_LIBRARY_LINES = 3_000
MAX_LIBRARY_COLUMNS = 1_000
"""How many lines of the raw mail the library gets, and their length: it tries many patterns on each line."""
MAX_HEAD_CHARACTERS = 20_000
MAX_SENDER_CHARACTERS = 400
MAX_ADDRESSES = 100
MAX_MESSAGE_IDS = 10

DAEMON_LOCAL_PART = re.compile(
    r"(?<![a-z\d])(mailer[-_. ]?daemon|post(master|office)|mdaemon|mail[-_. ]delivery|system administrator)(?![a-z\d])"
    r"|^microsoftexchange[\da-f]{32}$",
    re.IGNORECASE,
)
DAEMON_NAME = re.compile(
    r"\W*((mailer[-_. ]?daemon|mdaemon|postmaster|returned[-_. ]mail)"
    r"|(internet )?(mail|mailer)[-_. ](delivery|transport|deliver)[-_. ]?((sub)?system|service|agent)?"
    r"|(system|mail) administrator|mail ?(server|system)|(mail )?delivery (sub)?system)\W*",
    re.IGNORECASE,
)
"""Names that mail servers use: words of a local part, or a whole display name. They prove nothing."""
ANSWERED_SUBJECT = re.compile(r"^\s*(?:(?:re|aw|fwd?|wg|tr|rv|antw|sv)\s*:\s*)+", re.IGNORECASE)
RETURNED_PART = re.compile(
    r"^content-type:[ \t]*(?:message/(?:rfc822|global)|text/rfc822-headers)", re.IGNORECASE | re.MULTILINE
)
MESSAGE_ID_FIELD = re.compile(
    r"^[>| \t]{0,20}(?:x-)?(?:original-)?message-id:\s{0,80}(<[^<>\s]{1,990}>)", re.IGNORECASE | re.MULTILINE
)

logging.getLogger("flufl.bounce").disabled = True  # it logs every detector, with a traceback for one that fails


class Fate(StrEnum):
    """What happened to one of our mails; `delivered` includes mail relayed to a server that sends no reports."""

    FAILED = "failed"
    DELAYED = "delayed"
    DELIVERED = "delivered"


class DeliveryNotice(Frozen):
    """What a server reports about a mail that it accepted.

    `recipients` are the lower-case addresses that have this `fate`: if any failed, the delayed ones are left out. In a
    notice that only its words make one, they are all addresses that it names; callers know whom they wrote to. `status`
    is an enhanced code (RFC 3463), "" where none is known. `original_message_ids` come from the returned mail; if there
    is none (`is_returned` False), the only candidate is the notice's In-Reply-To. `envelope_ids` are the report's
    Original-Envelope-Id.
    """

    fate: Fate
    recipients: tuple[str, ...]
    status: str
    original_message_ids: tuple[str, ...]
    is_returned: bool
    envelope_ids: tuple[str, ...]

    @property
    def is_permanent(self) -> bool:
        """Whether the server has given up."""
        return self.fate is Fate.FAILED


class _Outcome(NamedTuple):
    fate: Fate
    recipients: tuple[str, ...]
    status: str


def read_bounce(message: Message, raw: bytes) -> DeliveryNotice | None:
    """The failure or delay that a mail reports; None for every other mail."""
    notice = read_delivery_notice(message, raw)
    return None if notice is None or notice.fate is Fate.DELIVERED else notice


def read_delivery_notice(message: Message, raw: bytes) -> DeliveryNotice | None:
    """The failure, delay or delivery of another mail that a mail reports; None where it reports nothing.

    Args:
        message: As parsed from `raw`.
        raw: The bytes of the mail.
    """
    if not why_bounce(message):
        return None
    report = _report(message, raw)
    outcome = _reported(report.recipients)
    if outcome is None or (outcome.fate is not Fate.DELIVERED and not outcome.recipients):
        outcome = _in_words(message, raw, outcome)
    returned = _returned_ids(message, raw, report)
    ids = returned or _answered_ids(message)
    return DeliveryNotice(
        fate=outcome.fate,
        recipients=outcome.recipients[:MAX_ADDRESSES],
        status=outcome.status,
        original_message_ids=ids[:MAX_MESSAGE_IDS],
        is_returned=bool(returned),
        envelope_ids=report.envelope_ids[:MAX_MESSAGE_IDS],
    )


def why_bounce(message: Message) -> str:
    """Why a mail counts as a bounce, or "": it is a report, or a server sent it, or its wording is that of a bounce.

    A vacation notice may have an empty return path and quote an answer of ours about failures. So a mail that declares
    itself an automatic answer is no bounce, unless it has a server's name and a bounce's subject. Nor is a person's
    mail about lost mail. So without a server's name the subject must have a bounce's words (the subject of a reply to a
    bounce does not count), the text must report a failure and ask for nothing, and there must be a returned mail or a
    list of addresses.
    """
    if _is_delivery_report(message):
        return "a delivery report"
    if message.header(FAILED_RECIPIENTS):
        return "names failed recipients"
    plain = ANSWERED_SUBJECT.sub("", message.subject)
    match = BOUNCE_SUBJECT.search(plain)
    if match is not None and plain != message.subject and match.start() == 0:
        match = None
    is_daemon = _is_daemon(message)
    is_server = is_daemon or _has_servers_name(message)
    is_nameless = is_server or bool(empty_return_path(message))
    if not (match or is_nameless) or _is_automatic(message, is_daemon, is_server and match is not None):
        return ""
    text = _own_text(message)
    has_returned = not RETURNED_PARTS.isdisjoint(message.content_types)
    if is_daemon or (is_nameless and (match or has_returned)):
        words = match[0] if match else "its text says so" if reports_failure(read_notice(text).text) else ""
        return f"a server writes of a mail that did not arrive: {words.strip()[:80]!r}" if words else ""
    notice = read_notice(text)
    is_proven = match is not None and (has_returned or notice.has_original or ADDRESS_LINE.search(notice.text))
    if match is None or not is_proven or not reports_failure(notice.text) or asks(notice.text):
        return ""
    return f"the subject and the text read like a bounce: {match[0].strip()[:80]!r}"


def _is_automatic(message: Message, is_daemon: bool, is_servers_bounce: bool) -> bool:
    """Whether a mail declares itself an automatic answer; servers set the same fields on bounces, which do not count.

    Args:
        is_daemon: The sender has a server's address.
        is_servers_bounce: The sender has a server's name, and the subject is that of a bounce.
    """
    if is_automatic_subject(message.subject):
        return True
    if is_servers_bounce:
        return False
    if is_automatic_answer(message):
        return True
    return not is_daemon and bool(why_automatic(message.subject, message.visible_text))


def _is_daemon(message: Message) -> bool:
    """Whether From is missing, is empty ("<>"), or has the address of a mail server."""
    senders = message.all_headers("From")
    return not senders or any("<>" in value or DAEMON_LOCAL_PART.search(_sender(value)[1]) for value in senders)


def _has_servers_name(message: Message) -> bool:
    return any(DAEMON_NAME.fullmatch(_sender(value)[0]) for value in message.all_headers("From"))


def _sender(value: str) -> tuple[str, str]:
    """Display name and local part of a From field as written; a comment counts as a name."""
    value = value[:MAX_SENDER_CHARACTERS]
    found = re.search(r"<([^<>]*)>", value) or re.search(r"(\S+@\S+)", value)
    if found is None:
        return value, ""
    name = value[: found.start()].strip() or value[found.end() :]
    return name.strip(' \t"()'), found[1].rpartition("@")[0].strip('"')


def _own_text(message: Message) -> str:
    """The sender's own words; the whole text where there are none."""
    return message.visible_text if message.visible_text.strip() else message.text


def _is_delivery_report(message: Message) -> bool:
    declared = (message.header("Content-Type") or "").lower()
    has_part = not STATUS_PARTS.isdisjoint(message.content_types)
    return has_part or bool(re.search(r"report-type\s*=\s*\"?(global-)?delivery-status", declared))


def _reported(recipients: tuple[RecipientStatus, ...]) -> _Outcome | None:
    """The outcome that the report fields give; None where no recipient failed or is late, and not all are delivered."""
    failed = [recipient for recipient in recipients if recipient.is_failed]
    late = [recipient for recipient in recipients if recipient.is_delayed]
    is_well = bool(recipients) and all(recipient.is_delivered for recipient in recipients)
    chosen = failed or late or (recipients if is_well else ())
    if not chosen:
        return None
    addresses = tuple(dict.fromkeys(recipient.address for recipient in chosen if recipient.address))
    status = next((recipient.status for recipient in chosen if recipient.status), "")
    return _Outcome(Fate.FAILED if failed else Fate.DELAYED if late else Fate.DELIVERED, addresses, status)


def _in_words(message: Message, raw: bytes, reported: _Outcome | None) -> _Outcome:
    """The outcome by the wording; fate and status of the report fields take precedence."""
    late, failed = _by_library(raw)
    notice, whole = read_notice(_own_text(message)), read_notice(message.text)
    others = {address.addr for address in (*message.to, *message.cc, message.from_) if address is not None}
    if reported is not None:
        fate = reported.fate
    elif failed or late:
        fate = Fate.FAILED if failed else Fate.DELAYED
    else:
        fate = Fate.DELAYED if is_delay(message.subject, notice.text) else Fate.FAILED
    addresses = failed or (late if fate is Fate.DELAYED else ()) or named_addresses(notice.text, others)
    if not addresses:
        addresses = _only_recipient(raw, notice if notice.has_original else whole)
    status = reported.status if reported is not None else ""
    return _Outcome(fate, addresses, status or status_in(notice.text, fate is Fate.FAILED))


def _by_library(raw: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The delayed and the failed addresses that the library finds."""
    lines = raw[:MAX_BOUNCE_BYTES].split(b"\n")[:MAX_LIBRARY_LINES]
    try:
        mail = careful_tree(b"\n".join(line[:MAX_LIBRARY_COLUMNS] for line in lines))
        late, failed = all_failures(mail)
    except Exception:  # its detectors expect well-formed mail: a mail that breaks one is no bounce that it knows
        return (), ()
    return _usable(late), _usable(failed)


def _usable(found: frozenset[bytes]) -> tuple[str, ...]:
    return tuple(sorted({usable_address(text.decode("ascii", "replace")) for text in found} - {""}))


def _report(message: Message, raw: bytes) -> DeliveryStatus:
    """The fields of all report parts, and of the text, because some gateways turn report parts into text."""
    texts = [message.text] if re.search(r"^(final|original)-recipient:", message.text, re.I | re.M) else []
    if not (STATUS_PARTS | NOTIFICATION_PARTS).isdisjoint(message.content_types):
        texts = [*_report_texts(raw), *texts]
    read = [read_delivery_status(text) for text in texts]
    return DeliveryStatus(
        tuple(dict.fromkeys(value for one in read for value in one.envelope_ids)),
        tuple(dict.fromkeys(value for one in read for value in one.message_ids)),
        tuple(recipient for one in read for recipient in one.recipients),
    )


def _report_texts(raw: bytes) -> Iterator[str]:
    try:
        whole = careful_tree(raw[:MAX_BOUNCE_BYTES])
    except Exception:  # beyond the parser's limits; as in `message`
        yield raw[:MAX_BOUNCE_BYTES].decode("utf-8", "replace")
        return
    for part in _own_parts(whole):
        if part.get_content_type() in STATUS_PARTS | NOTIFICATION_PARTS:
            yield _part_text(part)


def _own_parts(part: email.message.Message) -> Iterator[email.message.Message]:
    """The parts of a mail, without those of attached mails."""
    yield part
    if not part.get_content_type().startswith("message/"):
        for child in children(part):
            yield from _own_parts(child)


def _part_text(part: email.message.Message) -> str:
    """The fields of a report part; the parser makes one message of each block, with the fields as its header.

    A block that does not parse as a header (after a superfluous blank line, or when it is encoded, which RFC 3464
    forbids) is kept as that message's body.
    """
    if not part.is_multipart():
        return _decoded(part)
    text = "\n\n".join(map(_block_text, children(part)))
    coded = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    if coded not in {"base64", "quoted-printable"}:
        return text
    inner = email.message.Message()
    inner["Content-Transfer-Encoding"] = coded
    inner.set_payload(text.strip())
    return _decoded(inner)


def _decoded(part: email.message.Message) -> str:
    payload = part.get_payload(decode=True)
    return payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""


def _block_text(block: email.message.Message) -> str:
    """One block as received; non-ASCII bytes are UTF-8 (RFC 6533), which the parser keeps as surrogates."""
    fields = [f"{name}: {value}" for name, value in block.raw_items()]
    text = "\n".join([*fields, *([""] if fields else []), raw_payload(block)])
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _returned_ids(message: Message, raw: bytes, report: DeliveryStatus) -> tuple[str, ...]:
    """Message-IDs of the returned mail."""
    found = (*report.message_ids, *MESSAGE_ID_FIELD.findall(_raw_text(raw)), *MESSAGE_ID_FIELD.findall(message.text))
    return tuple(dict.fromkeys(id_ for id_ in found if id_ != message.message_id))


def _answered_ids(message: Message) -> tuple[str, ...]:
    """The In-Reply-To of a server's notice, used where no mail is returned; people's replies have one too."""
    is_servers = _is_delivery_report(message) or _is_daemon(message)
    return (message.in_reply_to,) if is_servers and message.in_reply_to else ()


def _only_recipient(raw: bytes, notice: BounceText) -> tuple[str, ...]:
    """The recipient of the returned mail, if it has exactly one and that is no mailing list: then that one failed."""
    head = _returned_head(raw) or notice.original
    head = re.sub(r"\n[ \t]+", " ", head[:MAX_HEAD_CHARACTERS])
    if re.search(r"^(list-[\w-]+|precedence|x-mailman-[\w-]+|mailing-list|cc):", head, re.IGNORECASE | re.MULTILINE):
        return ()
    to = re.findall(r"^to:[ \t]*(.{1,300})$", head, re.IGNORECASE | re.MULTILINE)
    found = {usable_address(text) for value in to for text in ADDRESS_IN_TEXT.findall(value)}
    return tuple(found) if len(found) == 1 and "" not in found else ()


def _returned_head(raw: bytes) -> str:
    """The header of the first returned part, as written in the raw mail."""
    text = _raw_text(raw)
    part = RETURNED_PART.search(text)
    start = text.find("\n\n", part.end()) if part is not None else -1
    if start < 0:
        return ""
    head = text[start + 2 : start + 2 + MAX_HEAD_CHARACTERS].lstrip("\n")
    return head.partition("\n\n")[0]


def _raw_text(raw: bytes) -> str:
    return raw[:MAX_BOUNCE_BYTES].decode("utf-8", "replace").replace("\r\n", "\n")
