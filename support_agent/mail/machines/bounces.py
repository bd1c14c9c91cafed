"""Read a bounce: which of our mails did not arrive, at whom, and whether for good.

By RFC 3464 where the server keeps to it; else by `flufl.bounce`, which knows the notices of many servers; else by the
general rules of `bounce_wording`.

Invariant: any bytes give a `DeliveryNotice` or None, never an exception, in bounded time. A bounce is anybody's
writing: it only names addresses and ids, and whoever acts on one first finds a mail of ours in it (S64). Checked by
tests/unit/mail/machines/test_bounces.py.
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
    Notice,
    failed_addresses,
    is_delay,
    lists_address,
    read_notice,
    status_in,
    tells_of_failure,
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
    is_marked_answer,
)
from support_agent.mail.message import Message
from support_agent.mail.text.body import raw_payload
from support_agent.mail.text.limits import careful_tree

MAX_BOUNCE_BYTES = 500_000
"""Of the raw mail; what a server says stands at its beginning."""
MAX_LIBRARY_LINES = 3_000
MAX_LIBRARY_COLUMNS = 1_000
"""Lines of the raw mail that the library is given, and their length: it searches each with many patterns."""
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
"""Names under which servers write: words of a local part, or a whole display name. They are never a proof."""
ANSWERED_SUBJECT = re.compile(r"^\s*(?:(?:re|aw|fwd?|wg|tr|rv|antw|sv)\s*:\s*)+", re.IGNORECASE)
RETURNED_PART = re.compile(
    r"^content-type:[ \t]*(?:message/(?:rfc822|global)|text/rfc822-headers)", re.IGNORECASE | re.MULTILINE
)
MESSAGE_ID_FIELD = re.compile(
    r"^[>| \t]{0,20}(?:x-)?(?:original-)?message-id:\s{0,80}(<[^<>\s]{1,990}>)", re.IGNORECASE | re.MULTILINE
)

logging.getLogger("flufl.bounce").disabled = True  # it logs each detector, and a traceback where one fails


class Fate(StrEnum):
    """What became of a mail of ours; `delivered` is also one that went on to a server which reports no more."""

    FAILED = "failed"
    DELAYED = "delayed"
    DELIVERED = "delivered"


class DeliveryNotice(Frozen):
    """What a server says of a mail that it was given.

    `recipients` are those whom `fate` is about, in lower case: where one failed for good, not those who are late.
    `status` is an enhanced code (RFC 3463), "" where none is known. `original_message_ids` were found in the returned
    mail, or (`is_returned` False) there is only the one that the notice answers to. `envelope_ids` are the report's
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
        """Whether the mail will not arrive any more."""
        return self.fate is Fate.FAILED


class _Told(NamedTuple):
    fate: Fate
    recipients: tuple[str, ...]
    status: str


def read_bounce(message: Message, raw: bytes) -> DeliveryNotice | None:
    """What a mail says of a mail that did not arrive, or not yet; None for every other mail."""
    notice = read_delivery_notice(message, raw)
    return None if notice is None or notice.fate is Fate.DELIVERED else notice


def read_delivery_notice(message: Message, raw: bytes) -> DeliveryNotice | None:
    """What a mail says of what became of another mail; None where it says nothing of that.

    Args:
        message: As parsed from `raw`.
        raw: The bytes of the mail.
    """
    if not why_bounce(message):
        return None
    report = _report(message, raw)
    told = _reported(report.recipients)
    if told is None or (told.fate is not Fate.DELIVERED and not told.recipients):
        told = _in_words(message, raw, told)
    returned = _returned_ids(message, raw, report)
    ids = returned or _answered_ids(message)
    return DeliveryNotice(
        fate=told.fate,
        recipients=told.recipients[:MAX_ADDRESSES],
        status=told.status,
        original_message_ids=ids[:MAX_MESSAGE_IDS],
        is_returned=bool(returned),
        envelope_ids=report.envelope_ids[:MAX_MESSAGE_IDS],
    )


def why_bounce(message: Message) -> str:
    """Why a mail is taken for a bounce, or "": a report, or a server's name and its words, or the words alone.

    A vacation notice may have no return path, speak of mail that is not forwarded and quote an answer of ours that
    speaks of failures: what says that it is an answer is none, unless a server's own name and the subject say more.
    A person who writes about mail that did not arrive is no bounce: from one who is no server it takes a subject that
    says so first, a text that does and asks for nothing, and a returned mail or a list of addresses.
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
        told = match[0] if match else "its text says so" if tells_of_failure(read_notice(text).text) else ""
        return f"a server writes of a mail that did not arrive: {told.strip()[:80]!r}" if told else ""
    notice = read_notice(text)
    is_proven = match is not None and (has_returned or notice.has_original or lists_address(notice.text))
    if match is None or not is_proven or not tells_of_failure(notice.text) or asks(notice.text):
        return ""
    return f"the subject and the text read like a bounce: {match[0].strip()[:80]!r}"


def _is_automatic(message: Message, is_daemon: bool, is_told: bool) -> bool:
    """Whether a mail says that it is an answer by machine, and not in the way in which servers say it of bounces.

    Args:
        is_daemon: It has a server's address.
        is_told: It has a server's name, and the subject speaks of a failure.
    """
    if is_automatic_subject(message.subject):
        return True
    if is_told:
        return False
    return is_marked_answer(message) or (not is_daemon and bool(why_automatic(message.subject, message.visible_text)))


def _is_daemon(message: Message) -> bool:
    """Whether From has the address of a server, or the empty one, or is not there."""
    senders = message.all_headers("From")
    return not senders or any("<>" in value or DAEMON_LOCAL_PART.search(_sender(value)[1]) for value in senders)


def _has_servers_name(message: Message) -> bool:
    return any(DAEMON_NAME.fullmatch(_sender(value)[0]) for value in message.all_headers("From"))


def _sender(value: str) -> tuple[str, str]:
    """Display name and local part of a From field, read as it stands; a comment is a name too."""
    value = value[:MAX_SENDER_CHARACTERS]
    found = re.search(r"<([^<>]*)>", value) or re.search(r"(\S+@\S+)", value)
    if found is None:
        return value, ""
    name = value[: found.start()].strip() or value[found.end() :]
    return name.strip(' \t"()'), found[1].rpartition("@")[0].strip('"')


def _own_text(message: Message) -> str:
    """What the sender wrote; the whole where that is nothing."""
    return message.visible_text if message.visible_text.strip() else message.text


def _is_delivery_report(message: Message) -> bool:
    declared = (message.header("Content-Type") or "").lower()
    has_part = not STATUS_PARTS.isdisjoint(message.content_types)
    return has_part or bool(re.search(r"report-type\s*=\s*\"?(global-)?delivery-status", declared))


def _reported(recipients: tuple[RecipientStatus, ...]) -> _Told | None:
    """What the fields say; None where they say nothing of what became of anybody, or of some only that all is well."""
    failed = [recipient for recipient in recipients if recipient.is_failed]
    late = [recipient for recipient in recipients if recipient.is_delayed]
    is_well = bool(recipients) and all(recipient.is_delivered for recipient in recipients)
    chosen = failed or late or (recipients if is_well else ())
    if not chosen:
        return None
    addresses = tuple(dict.fromkeys(recipient.address for recipient in chosen if recipient.address))
    status = next((recipient.status for recipient in chosen if recipient.status), "")
    return _Told(Fate.FAILED if failed else Fate.DELAYED if late else Fate.DELIVERED, addresses, status)


def _in_words(message: Message, raw: bytes, reported: _Told | None) -> _Told:
    """What is said in words; what a report's fields say of status and fate stands."""
    late, failed = _by_library(raw)
    notice, whole = read_notice(_own_text(message)), read_notice(message.text)
    others = {address.addr for address in (*message.to, *message.cc, message.from_) if address is not None}
    if reported is not None:
        fate = reported.fate
    elif failed or late:
        fate = Fate.FAILED if failed else Fate.DELAYED
    else:
        fate = Fate.DELAYED if is_delay(message.subject, notice.text) else Fate.FAILED
    addresses = failed or (late if fate is Fate.DELAYED else ()) or failed_addresses(notice.text, others)
    if not addresses:
        addresses = _only_recipient(raw, notice if notice.has_original else whole)
    status = reported.status if reported is not None else ""
    return _Told(fate, addresses, status or status_in(notice.text, fate is Fate.FAILED))


def _by_library(raw: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Late and failed addresses, as the library finds them."""
    lines = raw[:MAX_BOUNCE_BYTES].split(b"\n")[:MAX_LIBRARY_LINES]
    try:
        mail = careful_tree(b"\n".join(line[:MAX_LIBRARY_COLUMNS] for line in lines))
        late, failed = all_failures(mail)
    except Exception:  # its detectors were written for mail as servers make it: what breaks one is no bounce it knows
        return (), ()
    return _usable(late), _usable(failed)


def _usable(found: frozenset[bytes]) -> tuple[str, ...]:
    return tuple(sorted({usable_address(text.decode("ascii", "replace")) for text in found} - {""}))


def _report(message: Message, raw: bytes) -> DeliveryStatus:
    """The fields of all report parts; of the text too, where a gateway made text of them."""
    texts = [message.text] if re.search(r"^(final|original)-recipient:", message.text, re.I | re.M) else []
    if not (STATUS_PARTS | NOTIFICATION_PARTS).isdisjoint(message.content_types):
        texts = [*_report_texts(message, raw), *texts]
    read = [read_delivery_status(text) for text in texts]
    return DeliveryStatus(
        tuple(dict.fromkeys(value for one in read for value in one.envelope_ids)),
        tuple(dict.fromkeys(value for one in read for value in one.message_ids)),
        tuple(recipient for one in read for recipient in one.recipients),
    )


def _report_texts(message: Message, raw: bytes) -> Iterator[str]:
    try:
        whole = careful_tree(raw[:MAX_BOUNCE_BYTES])
    except Exception:  # beyond what the parser may be given; as in `message`
        yield raw[:MAX_BOUNCE_BYTES].decode("utf-8", "replace")
        return
    for part in _parts(whole):
        if part.get_content_type() in STATUS_PARTS | NOTIFICATION_PARTS:
            yield _part_text(part)


def _parts(part: email.message.Message) -> Iterator[email.message.Message]:
    """The parts of a mail, without those of mails within it."""
    yield part
    if not part.get_content_type().startswith("message/"):
        for child in _children(part):
            yield from _parts(child)


def _children(part: email.message.Message) -> list[email.message.Message]:
    children = part.get_payload() if part.is_multipart() else []
    return [child for child in children if isinstance(child, email.message.Message)]


def _part_text(part: email.message.Message) -> str:
    """The fields of a report part, which the parser reads as one header for each block of it.

    A block that is no header, as after a blank line too many or in an encoding that a report may not have, is its text.
    """
    if not part.is_multipart():
        return _decoded(part)
    text = "\n\n".join(map(_block_text, _children(part)))
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
    """A block as it came; its bytes beyond ASCII are UTF-8 (RFC 6533), which the parser keeps as surrogates."""
    fields = [f"{name}: {value}" for name, value in block.raw_items()]
    text = "\n".join([*fields, *([""] if fields else []), raw_payload(block)])
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _returned_ids(message: Message, raw: bytes, report: DeliveryStatus) -> tuple[str, ...]:
    """Message-IDs of the returned mail."""
    text = raw[:MAX_BOUNCE_BYTES].decode("utf-8", "replace").replace("\r\n", "\n")
    found = (*report.message_ids, *MESSAGE_ID_FIELD.findall(text), *MESSAGE_ID_FIELD.findall(message.text))
    return tuple(dict.fromkeys(id_ for id_ in found if id_ != message.message_id))


def _answered_ids(message: Message) -> tuple[str, ...]:
    """The id that a server's notice answers to, for want of a returned mail; a person's mail answers to ours too."""
    is_servers = _is_delivery_report(message) or _is_daemon(message)
    return (message.in_reply_to,) if is_servers and message.in_reply_to else ()


def _only_recipient(raw: bytes, notice: Notice) -> tuple[str, ...]:
    """The recipient of the returned mail where it has one only: it is the one that failed, unless it is a list."""
    head = _returned_head(raw) or notice.original
    head = re.sub(r"\n[ \t]+", " ", head[:MAX_HEAD_CHARACTERS])
    if re.search(r"^(list-[\w-]+|precedence|x-mailman-[\w-]+|mailing-list|cc):", head, re.IGNORECASE | re.MULTILINE):
        return ()
    to = re.findall(r"^to:[ \t]*(.{1,300})$", head, re.IGNORECASE | re.MULTILINE)
    found = {usable_address(text) for value in to for text in ADDRESS_IN_TEXT.findall(value)}
    return tuple(found) if len(found) == 1 and "" not in found else ()


def _returned_head(raw: bytes) -> str:
    """The header of the first returned part, as it stands in the raw mail."""
    text = raw[:MAX_BOUNCE_BYTES].decode("utf-8", "replace").replace("\r\n", "\n")
    part = RETURNED_PART.search(text)
    start = text.find("\n\n", part.end()) if part is not None else -1
    if start < 0:
        return ""
    head = text[start + 2 : start + 2 + MAX_HEAD_CHARACTERS].lstrip("\n")
    return head.partition("\n\n")[0]
