"""The files of a staff member's reply: which go to the customer, and why a reply with others is refused.

Invariant: a file goes out as the bytes that the staff member attached, under a clean name and a type that the settings
allow; its name, its declared type and its first bytes agree, and it holds no program that `file_contents` finds. What
was quoted from the packet is never among them, nor text of the packet in a file. The bytes are read from the stored
reply, so that the mail can be composed again. Checked by tests/unit/outbound/test_staff_files.py and
tests/journey/test_staff_files.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, NamedTuple

from pydantic import Field, JsonValue, TypeAdapter

from support_agent.config.desk import DeskSettings
from support_agent.core.frozen import Frozen
from support_agent.errors import PermanentError
from support_agent.mail.message import Attachment, Message, attached_bytes
from support_agent.mail.outgoing import ORIGINAL_NAME, EnclosedFile
from support_agent.mail.text.body import TNEF_DEFECT, TNEF_TYPES
from support_agent.mail.text.decoding import safe_line
from support_agent.outbound.file_contents import look_into

SIGNATURES = frozenset({"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"})
"""Attachments that only prove who wrote the mail."""
UNTYPED = frozenset({"application/octet-stream", "application/x-download", "binary/octet-stream"})
"""What mail programs declare for files whose type they do not know."""
MAX_NAME_CHARACTERS = 100
MARKS = re.compile(r'[\x00-\x1f\x7f-\x9f/\\\\:*?"<>|\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffd]+')
ADVICE = "send the reply again without it, or write to the customer directly"


class FileType(NamedTuple):
    """A type that can be allowed: its endings, and what its files begin with, "" where anything may."""

    endings: tuple[str, ...]
    begins: tuple[bytes, ...]
    declared: tuple[str, ...] = ()
    """Other names of the type."""


_ZIP = (b"PK\x03\x04",)
_OFFICE = "application/vnd.openxmlformats-officedocument."
TYPES: Mapping[str, FileType] = {
    "application/pdf": FileType(("pdf",), (b"%PDF-",), ("application/x-pdf",)),
    "image/png": FileType(("png",), (b"\x89PNG\r\n\x1a\n",)),
    "image/jpeg": FileType(("jpg", "jpeg"), (b"\xff\xd8\xff",), ("image/jpg", "image/pjpeg")),
    "image/gif": FileType(("gif",), (b"GIF87a", b"GIF89a")),
    "image/webp": FileType(("webp",), (b"RIFF",)),
    "text/plain": FileType(("txt", "log"), ()),
    "text/csv": FileType(("csv",), (), ("text/plain", "application/vnd.ms-excel", "application/csv")),
    f"{_OFFICE}wordprocessingml.document": FileType(("docx",), _ZIP, ("application/msword",)),
    f"{_OFFICE}spreadsheetml.sheet": FileType(("xlsx",), _ZIP, ("application/vnd.ms-excel",)),
    f"{_OFFICE}presentationml.presentation": FileType(("pptx",), _ZIP, ("application/vnd.ms-powerpoint",)),
    "application/vnd.oasis.opendocument.text": FileType(("odt",), _ZIP),
    "application/vnd.oasis.opendocument.spreadsheet": FileType(("ods",), _ZIP),
    "application/zip": FileType(("zip",), _ZIP, ("application/x-zip-compressed",)),
}
"""Every type that `desk.reply_file_types` may name."""


class StaffFile(Frozen):
    """One file of a reply, as it is stored: its position among the reply's attachments names its bytes."""

    position: Annotated[int, Field(ge=0)]
    name: str
    content_type: str
    size_bytes: Annotated[int, Field(ge=0)]
    sha256: str


STAFF_FILES: TypeAdapter[tuple[StaffFile, ...]] = TypeAdapter(tuple[StaffFile, ...])


class Chosen(NamedTuple):
    """The files that go out; or why the reply is refused, with what to do."""

    files: tuple[StaffFile, ...]
    why_not: str = ""


def files_of(
    reply: Message, raw: bytes, quoted: Iterable[str], desk: DeskSettings, is_of_packet: Callable[[str], bool]
) -> Chosen:
    """The staff member's own files in a reply.

    Args:
        raw: The bytes of the reply.
        quoted: sha256 of the files that the packet enclosed; a reply may carry them along.
        is_of_packet: Whether a text repeats the packet, which is for staff only.
    """
    known = frozenset(quoted)
    own = [(at, part) for at, part in enumerate(reply.attachments) if not is_left_out(part, known)]
    if not own:
        return Chosen(())
    if TNEF_DEFECT in "; ".join(reply.defects):
        return Chosen((), f"its winmail.dat cannot be read whole: send the files without it; {ADVICE}")
    if why := _too_much([part for _, part in own], desk):
        return Chosen((), why)
    contents = attached_bytes(raw)
    for at, part in own:
        if why := why_refused(part, contents[at], desk.reply_file_types, is_of_packet):
            return Chosen((), f"the attachment {clean_name(part.name)!r} {why}: {ADVICE}")
    return Chosen(tuple(_file(at, part) for at, part in own))


def enclosed(files: Sequence[StaffFile], raw: bytes) -> tuple[EnclosedFile, ...]:
    """The files with their bytes, from the stored reply.

    Raises:
        PermanentError: the stored reply has other bytes.
    """
    contents = attached_bytes(raw) if files else ()
    for file in files:
        content = contents[file.position] if file.position < len(contents) else b""
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise PermanentError(f"the stored reply no longer has the file {file.name!r}", code="other_file")
    return tuple(EnclosedFile(file.name, file.content_type, contents[file.position]) for file in files)


def stored_files(payload: Mapping[str, JsonValue]) -> tuple[StaffFile, ...]:
    """The files in the payload of a stored reply; replies of older versions have none."""
    return STAFF_FILES.validate_python(payload.get("files", ()))


def why_refused(part: Attachment, content: bytes, allowed: Sequence[str], is_of_packet: Callable[[str], bool]) -> str:
    """Why a file must not go to a customer, or ""."""
    ending = part.name.rpartition(".")[2].lower() if "." in part.name else ""
    content_type = next((name for name, known in TYPES.items() if ending in known.endings), "")
    if content_type not in allowed:
        return (
            f"is of a type that desk.reply_file_types does not allow ({part.content_type}, .{safe_line(ending)[:20]})"
        )
    kind = TYPES[content_type]
    if part.content_type not in (content_type, *kind.declared, *UNTYPED):
        return f"is named as {content_type} and declared as {part.content_type}"
    is_as_named = content.startswith(kind.begins) if kind.begins else b"\x00" not in content
    if not is_as_named:
        return f"is no {content_type} inside"
    inside = look_into(content)
    if inside.why_not:
        return inside.why_not
    return "repeats the packet, which is for staff only" if is_of_packet(inside.text) else ""


def clean_name(name: str) -> str:
    """A file's name without path, marks that file systems or headers read, and invisible characters."""
    last = re.split(r"[/\\]", name)[-1]
    plain = " ".join(MARKS.sub(" ", safe_line(last)).split()).strip(". ")
    stem, dot, ending = plain.rpartition(".")
    if not dot:
        return plain[:MAX_NAME_CHARACTERS] or "file"
    return f"{stem[: MAX_NAME_CHARACTERS - len(ending) - 1].strip('. ') or 'file'}.{ending}"


def is_left_out(part: Attachment, quoted: frozenset[str]) -> bool:
    """Whether a part is no file of the writer's own: a logo, a signature, a wrapping, or what the packet enclosed."""
    is_wrapping = part.content_type in TNEF_TYPES or part.content_type in SIGNATURES
    return part.is_inline_image or is_wrapping or part.sha256 in quoted or part.name == ORIGINAL_NAME


def _too_much(own: Sequence[Attachment], desk: DeskSettings) -> str:
    if len(own) > desk.max_reply_files:
        what = f"it has {len(own)} attachments, desk.max_reply_files is {desk.max_reply_files}"
        return f"{what}: send fewer, or write to the customer directly"
    size = sum(part.size_bytes for part in own)
    if size > desk.max_reply_files_bytes:
        what = f"its attachments have {size} bytes, desk.max_reply_files_bytes is {desk.max_reply_files_bytes}"
        return f"{what}: send smaller files, or write to the customer directly"
    return ""


def _file(at: int, part: Attachment) -> StaffFile:
    name = clean_name(part.name)
    ending = name.rpartition(".")[2].lower()
    content_type = next(name for name, known in TYPES.items() if ending in known.endings)
    return StaffFile(position=at, name=name, content_type=content_type, size_bytes=part.size_bytes, sha256=part.sha256)
