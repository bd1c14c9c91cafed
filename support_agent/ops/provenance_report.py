"""The provenance report of a sent mail: the sources of each part of each line, and of each header.

Invariant: the parts of the lines, joined, are the text that was sent, and every part has a source; a part is described
from its stored source, never guessed from its words. Checked by tests/unit/ops/test_explain.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, assert_never

from support_agent.answer.final_answer import FinalAnswer, Item, RecordItem
from support_agent.answer.item_kinds import KINDS, VERSION_CHARACTERS, document_named
from support_agent.answer.sources import (
    AccountSource,
    ClarificationSource,
    ComputedSource,
    CustomerSource,
    DocumentSource,
    InboundSource,
    Rendered,
    RenderedAnswer,
    RenderedPacket,
    SettingsSource,
    Source,
    SubjectSource,
    TemplateSource,
    WordSource,
)
from support_agent.company.accounts import Queries
from support_agent.core.frozen import Frozen
from support_agent.errors import PermanentError
from support_agent.mail.keys import ORIGIN_HEADER
from support_agent.mail.message import parse
from support_agent.mail.outgoing import reply_subject
from support_agent.outbound.rendered_mail import Headers
from support_agent.outbound.staff_files import stored_files
from support_agent.store.records import OutboxRecord, OutgoingKind, RenderedMailRecord

NOT_STORED = "(not stored for the version of the company that decided this mail)"
UNKNOWN_HEADER = "unknown"
PIECE = re.compile(r"[^\n]*\n|[^\n]+")

_KINDS_OF_DATA = {"fields": "account field", "series": "series", "records": "record"}
_PLACES = {"step": "number of sentence", "cell": "row", "rule": "rule under row"}
_MAILBOX = "settings: agent.name and agent.address"
_PARENT = "the mail that is answered: its Message-ID and References"
_FIXED = "fixed"
HEADER_SOURCES: Mapping[str, str] = {
    "date": "computed: when the mail was made",
    "from": _MAILBOX,
    "reply-to": _MAILBOX,
    "message-id": "computed: keyed hash of the case, the mail it goes out for and its kind",
    "in-reply-to": _PARENT,
    "references": _PARENT,
    "auto-submitted": f"{_FIXED} for this kind of mail (RFC 3834, section 5)",
    "x-auto-response-suppress": f"{_FIXED} for this kind of mail",
    ORIGIN_HEADER.lower(): "computed: keyed hash of the Message-ID, with the hop count",
    "mime-version": _FIXED,
    "content-type": f"{_FIXED} for this kind of mail; the boundary is computed from the Message-ID",
    "content-transfer-encoding": _FIXED,
}


SETTINGS = {
    "company": "company.name",
    "support_address": "agent.address",
    "time_zone": "hours.time_zone",
    "reply_hours": "hours.reply_within_h",
}
"""The setting of each part that is one."""
SourceKind = Literal[
    "template",
    "word",
    "document",
    "account",
    "clarification",
    "settings",
    "customer",
    "subject",
    "computed",
    "inbound",
    "person",
]


class WhySource(Frozen):
    """A part of a line and its source, in words (`what`) and as data where there is any.

    `name` is a template's file or an account field or series, `line` the template's, `version` the first 12
    hex digits of the document's, `language` that of the document, `query` the one that returned the value.
    """

    kind: SourceKind
    text: str
    what: str
    name: str | None = None
    line: int | None = None
    number: int | None = None
    version: str | None = None
    language: str | None = None
    sentence: int | None = None
    query: str | None = None


class WhyLine(Frozen):
    """One line, without its end; an empty line has the source of its end."""

    text: str
    sources: tuple[WhySource, ...]


class WhyHeader(Frozen):
    """One header field of the mail, unfolded and decoded, and the source of its value."""

    name: str
    value: str
    what: str


class WhyFile(Frozen):
    """One file of the mail: its clean name, and whose it is."""

    name: str
    content_type: str
    size_bytes: int
    sha256: str
    what: str


class Sent(NamedTuple):
    """What the stored sources of a sent mail do not say: the items of each block, and the queries."""

    items: tuple[tuple[Item, ...], ...]
    queries: Queries | None


def text_of(record: RenderedMailRecord) -> tuple[str, str]:
    """Subject and text of a composed mail."""
    if record.kind is OutgoingKind.PERSON_REPLY:
        return reply_subject(str(record.payload["parent_subject"])), str(record.payload["words"])
    subject, text = _rendered(record)
    return subject.text, text.text


def lines_of(record: RenderedMailRecord, queries: Queries | None) -> tuple[WhyLine, tuple[WhyLine, ...]]:
    """The subject and the lines of the text of a composed mail.

    Args:
        queries: Those of the company version that decided the mail; None: not stored.
    """
    if record.kind is OutgoingKind.PERSON_REPLY:
        return _person_lines(record)
    subject, text = _rendered(record)
    sent = Sent(_items(record), queries)
    first = next(_lines(subject, sent), WhyLine(text="", sources=()))
    return first, tuple(_lines(text, sent))


def _items(record: RenderedMailRecord) -> tuple[tuple[Item, ...], ...]:
    """The items of each block of an answer; other mails have none."""
    if record.kind is not OutgoingKind.ANSWER:
        return ()
    return tuple(answer.items for answer in FinalAnswer.model_validate(record.payload).answers)


def headers_of(row: OutboxRecord, desk: str) -> tuple[WhyHeader, ...]:
    """The header fields of a mail as it was sent, without the Subject, which has its own line.

    Args:
        desk: Why a packet went to its address.
    """
    sources = {**HEADER_SOURCES, "to": desk if row.kind.is_for_desk else "the customer's From address"}
    return tuple(
        WhyHeader(name=name, value=value, what=sources.get(name.lower(), UNKNOWN_HEADER))
        for name, value in parse(row.raw).headers
        if name.lower() != "subject"
    )


def _rendered(record: RenderedMailRecord) -> tuple[Rendered, Rendered]:
    if record.kind.is_for_desk:
        packet = RenderedPacket.model_validate(record.spans)
        return packet.subject, packet.text
    answer = RenderedAnswer.model_validate(record.spans)
    return answer.subject, answer.text


def _person_lines(record: RenderedMailRecord) -> tuple[WhyLine, tuple[WhyLine, ...]]:
    """A person wrote the text; the subject is the customer's, with "Re:" before it."""
    subject, words = text_of(record)
    parent = Headers.model_validate(record.header_inputs).parent_mail_id
    asked = WhySource(kind="subject", text=subject, what=f"the subject of mail {parent}, with one Re:")
    wrote = f"a person, in mail {record.mail_id}"
    lines = tuple(
        WhyLine(text=line, sources=(WhySource(kind="person", text=line, what=wrote),))
        for line in words.removesuffix("\n").split("\n")
    )
    return WhyLine(text=subject, sources=(asked,)), lines


def files_of(record: RenderedMailRecord) -> tuple[WhyFile, ...]:
    """The files of a person's reply; other mails have none."""
    files = stored_files(record.payload) if record.kind is OutgoingKind.PERSON_REPLY else ()
    return tuple(
        WhyFile(
            name=file.name,
            content_type=file.content_type,
            size_bytes=file.size_bytes,
            sha256=file.sha256,
            what=f"a person's file, attachment {file.position + 1} of mail {record.mail_id}, its bytes unchanged",
        )
        for file in files
    )


def _lines(rendered: Rendered, sent: Sent) -> Iterator[WhyLine]:
    """The spans cut at line ends; neighbours from one source are one part."""
    parts: list[WhySource] = []
    for span in rendered.spans:
        described = _described(span.source, sent)
        for piece in PIECE.findall(span.text):
            text = piece.removesuffix("\n")
            if text or not parts:
                _add(parts, described.model_copy(update={"text": text}))
            if piece.endswith("\n"):
                yield _line(parts)
                parts = []
    if parts:
        yield _line(parts)


def _add(parts: list[WhySource], part: WhySource) -> None:
    if parts and parts[-1].model_copy(update={"text": part.text}) == part:
        parts[-1] = part.model_copy(update={"text": parts[-1].text + part.text})
    else:
        parts.append(part)


def _line(parts: list[WhySource]) -> WhyLine:
    return WhyLine(text="".join(part.text for part in parts), sources=tuple(parts))


def _described(source: Source, sent: Sent) -> WhySource:
    """A source in words; its `text` is filled in by the caller."""
    match source:
        case TemplateSource():
            what = f"template {source.name}:{source.line}"
            return WhySource(kind="template", text="", what=what, name=source.name, line=source.line)
        case WordSource():
            what = f"word for {source.section} {source.code!r}, {source.name}:{source.line}"
            return WhySource(kind="word", text="", what=what, name=source.name, line=source.line)
        case DocumentSource():
            return _document(source)
        case AccountSource():
            return _account(source, sent)
        case ClarificationSource():
            what = f"canned question {source.number}"
            return WhySource(kind="clarification", text="", what=what, number=source.number)
        case SettingsSource():
            key = SETTINGS[source.part]
            return WhySource(kind="settings", text="", what=f"settings: {key}", name=key)
        case CustomerSource():
            return WhySource(kind="customer", text="", what="the customer's name in the accounts")
        case SubjectSource():
            return WhySource(kind="subject", text="", what="the subject of the mail that is answered")
        case ComputedSource():
            from_hours = " by hours, when the mail was made" if source.part in ("open_day", "open_time") else ""
            what = f"computed: {source.part.replace('_', ' ')}{from_hours}"
            return WhySource(kind="computed", text="", what=what)
        case InboundSource():
            what = f"the case: {source.part.replace('_', ' ')}"
            return WhySource(kind="inbound", text="", what=what, name=source.part)
        case never:
            assert_never(never)


def _document(source: DocumentSource) -> WhySource:
    version = source.version[:VERSION_CHARACTERS]
    place = source.part.replace("_", " ")
    if source.sentence is not None:
        place = f"{_PLACES.get(source.part, source.part)} {source.sentence}"
    if source.column is not None:
        place = f"{place}, column {source.column}"
    return WhySource(
        kind="document",
        text="",
        what=f"{document_named(source.number, source.language)}, version {version}, {place}",
        number=source.number,
        version=version,
        language=source.language,
        sentence=source.sentence,
    )


def _account(source: AccountSource, sent: Sent) -> WhySource:
    """Only values name their query; labels and periods do not.

    Raises:
        PermanentError: the stored answer has no such item, or one without account data (code `record`).
    """
    items = sent.items[source.answer] if source.answer < len(sent.items) else ()
    item = items[source.item] if source.item < len(items) else None
    if item is None or (kind := KINDS[item.kind]).queries is None:
        place = f"answer {source.answer + 1}, item {source.item + 1}"
        what = f"the stored answer and its sources disagree: {source.name} is named as the source of {place}"
        raise PermanentError(f"{what}: restore the store from a backup", code="record")
    known = {} if sent.queries is None else getattr(sent.queries, kind.queries)
    is_queried = any(part.is_queried and part.cited_as == source.part for part in kind.shape.all_parts())
    query = " ".join(known.get(source.name, NOT_STORED).split()) if is_queried else None
    what = f"{_KINDS_OF_DATA[kind.queries]} {source.name}, {source.part.replace('_', ' ')}{_row(source.row, item)}"
    return WhySource(kind="account", text="", what=what, name=source.name, query=query)


def _row(row: int | None, item: Item) -> str:
    """The number of a table's row, or the name of a record's column."""
    if row is not None and isinstance(item, RecordItem) and row < len(item.columns):
        return f" {item.columns[row].column}"
    return "" if row is None else f" {row}"
