"""Run as a process of its own: the text inside one pdf or docx, from standard input to standard output, as JSON.

Invariant: it opens no file and no connection, and takes no more memory and processor time than its arguments say, so
that a hostile document costs its parent a bounded wait and nothing else. It imports nothing of the program, to start
quickly. Started and checked by `attachment_text`, tests/unit/mail/test_attachment_text.py.
"""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from typing import NamedTuple
from xml.parsers import expat

MAX_PAGES = 30
MAX_EXPANDED_BYTES = 20_000_000
"""A docx is a zip file: so much is expanded of its text at most."""
CHUNK_BYTES = 65_536
DOCUMENT = re.compile(r"word/document\d*\.xml")
WORD = ("wordprocessingml/2006/main ", "ooxml/wordprocessingml/main ")
"""What the names of Word's elements begin with after the scheme: the transitional and the strict form."""


class Text(NamedTuple):
    """`is_whole` is False where the document goes on."""

    text: str
    is_whole: bool


def pdf_text(raw: bytes, max_characters: int) -> Text:
    """The text of a pdf, page by page, as far as it has any; pictures of text have none."""
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(raw), strict=False)
    if reader.is_encrypted:
        reader.decrypt("")  # many are encrypted with an empty password, only to forbid printing
    pages: list[str] = []
    for number, page in enumerate(reader.pages):
        if number == MAX_PAGES or sum(map(len, pages)) > max_characters:
            return Text("\n\n".join(pages), False)
        pages.append(page.extract_text().strip())
    return Text("\n\n".join(filter(None, pages)), True)


class _Paragraphs:
    """Takes the events of word/document.xml; deleted and hidden words are not what the reader sees."""

    def __init__(self, max_characters: int) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.max_characters = max_characters
        self._is_text = self._is_hidden = False
        self._skipped = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = _tag(name)
        if self._skipped or tag in ("del", "moveFrom") or name.endswith(" Fallback"):
            self._skipped += 1
        elif tag == "r":
            self._is_hidden = False
        elif tag == "vanish":
            self._is_hidden = not any(value in ("0", "false", "off") for value in attributes.values())
        elif tag == "t":
            self._is_text = True
        elif tag in ("br", "cr"):
            self._add("\n")
        elif tag in ("tab", "tc"):
            self._add(" ")

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif _tag(name) == "t":
            self._is_text = False
        elif _tag(name) == "p":
            self._add("\n")

    def data(self, text: str) -> None:
        if self._is_text and not self._is_hidden and not self._skipped:
            self._add(text)

    def _add(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    @property
    def is_full(self) -> bool:
        return self.length > self.max_characters


def _tag(name: str) -> str:
    return name.rpartition(" ")[2] if any(word in name for word in WORD) else ""


def _refuse(*_: object) -> None:
    raise ValueError("a document type declaration, which no Word file has")


def docx_text(raw: bytes, max_characters: int) -> Text:
    """The text of a Word document, a line for each paragraph."""
    paragraphs = _Paragraphs(max_characters)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = _refuse  # no entities of its own: nothing to expand, nothing to fetch
    parser.StartElementHandler = paragraphs.start
    parser.EndElementHandler = paragraphs.end
    parser.CharacterDataHandler = paragraphs.data
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        name = next(name for name in archive.namelist() if DOCUMENT.fullmatch(name))
        read = 0
        with archive.open(name) as document:
            while chunk := document.read(CHUNK_BYTES):
                read += len(chunk)
                if paragraphs.is_full or read > MAX_EXPANDED_BYTES:
                    return Text("".join(paragraphs.parts).strip(), False)
                parser.Parse(chunk, False)
        parser.Parse(b"", True)
    return Text("".join(paragraphs.parts).strip(), True)


def _limit(cpu_s: int, memory_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # a system without it; the parent's time limit still holds
        return
    limits = ((resource.RLIMIT_CPU, cpu_s), (resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_FSIZE, 0))
    for limit, value in limits:
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):  # a lower one is set already, or this system does not have it
            continue


def main(kind: str, max_characters: str, cpu_s: str, memory_bytes: str) -> None:
    """Read the document from standard input and write {"text", "is_whole"}; a text that cannot be read is ""."""
    _limit(int(cpu_s), int(memory_bytes))
    reader = {"pdf": pdf_text, "docx": docx_text}[kind]
    try:
        text = reader(sys.stdin.buffer.read(), int(max_characters))
    except Exception:  # whatever a library raises on hostile bytes, memory and recursion included: no text
        text = Text("", False)
    found = text.text[: int(max_characters) + 1]
    sys.stdout.write(json.dumps({"text": found, "is_whole": text.is_whole}))


if __name__ == "__main__":
    main(*sys.argv[1:])
