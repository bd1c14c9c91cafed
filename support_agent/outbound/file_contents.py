"""Looks into a file that is to go to a customer: whether it holds a program, and the text in it.

Invariant: for any bytes this ends in bounded time and memory and raises nothing; what cannot be looked into is refused,
and so is a PDF that is not read to its end: the packet could be on a page that was not read. No content is run or
written to disk; PDFs are read in a process of their own. Not looked into: pictures and scanned pages (for text), links
and formulas. Checked by tests/unit/outbound/test_file_contents.py.
"""

from __future__ import annotations

import codecs
import html
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from support_agent.extraction.blocks import Refusal
from support_agent.extraction.process import ExtractionLimits, FileKind, extract
from support_agent.mail.text.decoding import decode_bytes

MAX_ENTRIES = 5_000
"""Files in one archive."""
MAX_EXPANDED_BYTES = 100_000_000
"""Of one attachment, with the archives inside it."""
MAX_RATIO, RATIO_FROM_BYTES = 250, 5_000_000
"""A longer entry that expands to more than so many times its size is a zip bomb; XML seldom reaches 50."""
MAX_DEPTH = 2
"""An archive in an archive: a spreadsheet behind a chart of a document."""
MAX_PAGES = 500
PDF_LIMITS = ExtractionLimits(max_characters=2_000_000, max_pages=MAX_PAGES, timeout_s=15.0, memory_bytes=1_000_000_000)
"""A longer PDF is refused. A page of text takes some milliseconds."""

BYTE_ORDER = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
PICTURE = (b"\xff\xd8", b"\x89PNG", b"GIF8", b"RIFF")
ZIP_BEGINS, PDF_BEGINS, OLD_OFFICE = b"PK\x03\x04", b"%PDF-", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
EXECUTABLE = (b"MZ", b"\x7fELF", b"#!", b"\xca\xfe\xba\xbe", b"\xfe\xed\xfa", b"\xcf\xfa\xed\xfe", OLD_OFFICE)
"""What programs begin with; a compound file in an archive is a macro project, an OLE object, or an old document."""
RUNNABLE = re.compile(
    r".*\.(?:apk|app|bash|bat|chm|cmd|com|cpl|deb|dll|dotm|docm|exe|gadget|hta|html?|inf|iso|jar|jse?|lnk|mht|msc|ms[ip]"
    r"|pif|pl|pptm|ps1|py|rb|reg|rpm|scr|sh|url|vb[es]?|ws[fh]|xhtml|xlam|xlsm)",
    re.DOTALL,
)
"""Endings of files that run, or that a browser runs scripts of."""
OPEN_DOCUMENT = frozenset({"mimetype", "content.xml", "META-INF/manifest.xml"})
MACRO_FOLDERS = ("basic/", "scripts/")
"""Where OpenDocument files keep their programs."""
OFFICE_PROGRAM = re.compile(r"vbaproject|macroenabled|activex|oleobject", re.IGNORECASE)
"""Names of programs in Office files, and their content types and relations, whatever the part is called."""
SCRIPT = re.compile(rb"<script|<\?php|javascript:", re.IGNORECASE)
TAG = re.compile(r"<[^<>]*>")

PDF_NAMES = ("JavaScript", "Launch", "EmbeddedFile", "EmbeddedFiles", "SubmitForm", "ImportData", "GoToE", "RichMedia")
STREAM = re.compile(rb"(?<!end)stream\r?\n")
MAX_DICTIONARY_BYTES = 20_000
"""The dictionary of a stream stands directly before it."""


def _pdf_name(name: str) -> bytes:
    """A pattern for a name in a PDF, where any character may be written as "#" and two hex digits (PDF 1.7, 7.3.5)."""
    return b"".join(b"(?:%c|#%02x)" % (ord(character), ord(character)) for character in name)


PDF_PROGRAM = re.compile(b"/(?:" + b"|".join(map(_pdf_name, PDF_NAMES)) + rb")(?![\w#.+-])", re.IGNORECASE)
"""Actions and files in a PDF that run, send or import something; jumps and links are none."""
OBJECT_STREAM = re.compile(b"/" + _pdf_name("ObjStm"), re.IGNORECASE)
FILTERS = re.compile(rb"/[\w#]*(?:Decode|Crypt|Predictor|Encrypt)\b")
PLAIN_FILTER = [b"/FlateDecode"]
ENCRYPTED = re.compile(b"/" + _pdf_name("Encrypt") + rb"(?![\w#])")
BROKEN = "is broken, so that what is in it cannot be checked"


NOT_READ = {
    Refusal.ENCRYPTED: "needs a password, so that what is in it cannot be checked",
    Refusal.BROKEN: BROKEN,
    Refusal.TOO_MUCH: (
        f"has more than {MAX_PAGES} pages or {PDF_LIMITS.max_characters} characters, or takes longer than"
        f" {PDF_LIMITS.timeout_s:g} s to read, so that what is in it cannot be checked"
    ),
}
"""Why a PDF that was not read to its end must not go out."""


class Contents(NamedTuple):
    """What is in a file: why it must not go out, or ""; and its text, which is empty if it must not."""

    why_not: str = ""
    text: str = ""


class _Refused(Exception):
    """Why a file must not go out."""


class _Budget:
    """How many bytes may still be expanded."""

    def __init__(self) -> None:
        self.left = MAX_EXPANDED_BYTES

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise _Refused(f"expands to more than {MAX_EXPANDED_BYTES} bytes")


def look_into(content: bytes) -> Contents:
    """Look into a file, by what its bytes are; its name and its declared type are checked elsewhere."""
    try:
        return Contents(text="\n".join(_texts(content, _Budget(), MAX_DEPTH)))
    except _Refused as refused:
        return Contents(why_not=str(refused))


def plain_text(content: bytes) -> str:
    """The text of a file that is nothing but text; Windows writes a mark of the byte order before UTF-16."""
    return decode_bytes(content, "utf-16" if content.startswith(BYTE_ORDER) else None).text


def _texts(content: bytes, budget: _Budget, depth: int) -> Iterator[str]:
    """The texts in a file.

    Raises:
        _Refused: the file must not go out.
    """
    if content.startswith(ZIP_BEGINS):
        if depth == 0:
            raise _Refused("has archives in archives, which are not looked into")
        yield from _of_archive(content, budget, depth)
    elif content.startswith(PDF_BEGINS):
        _check_pdf(content, budget)
        found = extract(FileKind.PDF, content, PDF_LIMITS)
        if found.refusal is not None:
            raise _Refused(NOT_READ[found.refusal])
        yield from (text for block in found.blocks for text in block.texts)
    elif content.startswith(PICTURE) or (b"\x00" in content[:1_000] and not content.startswith(BYTE_ORDER)):
        if SCRIPT.search(content):
            raise _Refused("holds a program: a script")
    else:
        yield plain_text(content)


def _of_archive(content: bytes, budget: _Budget, depth: int) -> Iterator[str]:
    if content.count(b"PK\x01\x02") > MAX_ENTRIES:
        raise _Refused(f"holds more than {MAX_ENTRIES} files")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            is_open_document = not OPEN_DOCUMENT.isdisjoint(archive.namelist())
            for entry in archive.infolist():
                name = entry.filename.lower().replace("\\", "/").lstrip("/")
                if is_open_document and name.startswith(MACRO_FOLDERS):
                    raise _Refused(f"holds a program: {entry.filename[:80]!r}")
                yield from _of_entry(archive, entry, name, budget, depth)
    except _Refused:
        raise
    except Exception as error:  # libraries may raise anything on hostile bytes
        raise _Refused(BROKEN) from error


def _of_entry(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, budget: _Budget, depth: int
) -> Iterator[str]:
    if entry.flag_bits & 1:
        raise _Refused("is encrypted, so that what is in it cannot be checked")
    if RUNNABLE.fullmatch(name) or OFFICE_PROGRAM.search(name):
        raise _Refused(f"holds a program: {entry.filename[:80]!r}")
    if entry.file_size > max(RATIO_FROM_BYTES, MAX_RATIO * entry.compress_size):
        raise _Refused("expands to far more than its size")
    budget.spend(entry.file_size)
    content = archive.read(entry)
    if content.startswith(EXECUTABLE):
        raise _Refused(f"holds a program: {entry.filename[:80]!r}")
    if not name.endswith((".xml", ".rels")):
        yield from _texts(content, budget, depth - 1)
        return
    written = plain_text(content)
    if name.endswith((".rels", "[content_types].xml")) and OFFICE_PROGRAM.search(html.unescape(written)):
        raise _Refused("holds a program: a macro or an embedded object")
    yield html.unescape(TAG.sub("", written))


def _check_pdf(content: bytes, budget: _Budget) -> None:
    """Refuse a PDF with an action or a file inside, also where it is packed into a stream of objects.

    Raises:
        _Refused: it has one, or cannot be looked into.
    """
    if PDF_PROGRAM.search(content):
        raise _Refused("holds a program: a PDF with an action or a file inside")
    is_encrypted = ENCRYPTED.search(content) is not None
    for stream in STREAM.finditer(content):
        before = content[max(0, stream.start() - MAX_DICTIONARY_BYTES) : stream.start()]
        before = before[before.rfind(b"endobj") + 1 :]
        if not OBJECT_STREAM.search(before):
            continue
        filters = FILTERS.findall(before)
        if is_encrypted or (filters and filters != PLAIN_FILTER):
            raise _Refused("is packed or encrypted so that what is in it cannot be checked")
        if filters and PDF_PROGRAM.search(_expanded(content, stream.end(), budget)):
            raise _Refused("holds a program: a PDF with an action or a file inside")


def _expanded(content: bytes, start: int, budget: _Budget) -> bytes:
    end, reader = content.find(b"endstream", start), zlib.decompressobj()
    try:
        found = reader.decompress(content[start : end if end > 0 else None], budget.left + 1)
    except zlib.error as error:
        raise _Refused(BROKEN) from error
    budget.spend(len(found))
    if not reader.eof:
        raise _Refused(BROKEN)
    return found
