"""Turns a file (txt, md, html, docx, pdf) into a numbered document for a person to review.

Invariant: the document says `reviewed: false`, so no customer gets it until a person changes that. Keys that a person
must fill in (summary, audience, and url and valid_from unless given) are empty, which `check` refuses. Nothing is
overwritten or fetched, and a file that cannot be read completely is not imported.
Checked by tests/unit/company/importing/test_unreviewed.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt

from support_agent.company.documents import REVIEWED, UNREVIEWED, Document, inspect_directory
from support_agent.company.front_matter import FrontMatter, front_matter_and_body
from support_agent.company.importing.markdown_writer import to_markdown
from support_agent.company.importing.plain_text import blocks_of_text, join_pages
from support_agent.company.markdown import MarkdownRefused, parse_blocks
from support_agent.company.text import collapse, refused_character
from support_agent.core.frozen import Frozen
from support_agent.core.locales import is_locale
from support_agent.errors import ConfigError
from support_agent.extraction.blocks import Block, BlockKind, Refusal
from support_agent.extraction.process import ExtractionLimits, FileKind, extract

MAX_FILE_BYTES = 20_000_000
LIMITS = ExtractionLimits(max_characters=200_000, max_pages=200, timeout_s=60.0, memory_bytes=1_000_000_000)
"""Most characters: a longer text must be split into several documents."""
MAX_NUMBER = 99_999
MAX_NAME = 60
"""Most characters of the name in a file name."""
MAX_TITLE = 120
_MARKDOWN = MarkdownIt("commonmark").enable("table")
LIGATURES = range(0xFB00, 0xFB07)
"""Two letters in one character, as pdf files have them ("\\ufb01")."""
BREAKS = {"\f": "\n\n", "\v": "\n", "\u0085": "\n", "\u2028": "\n", "\u2029": "\n\n", "\r": "\n"}
BULLETS = dict.fromkeys("\uf0b7\uf0a7\uf0a8\uf076", "\u2022")
"""Bullets of Word's symbol fonts, as private-use characters."""
_READ_AS: dict[int, str] = {ord(character): text for character, text in (BREAKS | BULLETS).items()}

_SEPARATE = "cut it into files of one subject each, and import each of them"
_REFUSED = {
    Refusal.ENCRYPTED: "it has a password, or is of Word 2003 or older: save it without a password, or as .docx",
    Refusal.BROKEN: "it is damaged, or not what its name says: open it in its own program and save it again",
    Refusal.TOO_MUCH: (
        f"it has more than {LIMITS.max_pages} pages or {LIMITS.max_characters} characters, or takes longer than "
        f"{LIMITS.timeout_s:g} s: {_SEPARATE}"
    ),
}
_PDF_NOTE = (
    "a pdf has no headings, lists or tables of its own: what stands here is guessed from its lines, and page headers "
    "and footers are left out"
)
_PAGE_NOTE = "menus, footers and forms of the page are left out"


Known = dict[str, str | date | None]
"""Known keys of the front matter; None: a person must write it."""


class Imported(Frozen):
    """The imported document: `missing` are the keys that a person must fill in, `notes` the passages to check."""

    path: Path
    number: int
    title: str
    sentences: int
    missing: tuple[str, ...]
    notes: tuple[str, ...]


class GivenValues(Frozen):
    """The values given with the command; None is left to the review.

    With `language` it is a translation of the document with the given number.
    """

    number: int | None = None
    language: str | None = None
    url: str | None = None
    valid_from: date | None = None


def import_document(file: Path, policies: Path, given: GivenValues) -> Imported:
    """Write `NNN-name.md`, not reviewed, from a file; by default NNN follows the highest existing number.

    A translation is written to the folder of its language, with the audience and delivery of its document.

    Raises:
        ConfigError: the file cannot be read completely or has no text, the number is taken, the folder is missing, or
            there is no document to translate; nothing is written then.
    """
    read = _READERS.get(file.suffix.lower())
    if read is None:
        suffixes = ", ".join(sorted(_READERS))
        raise _error(file, f"cannot be imported, only {suffixes}: save it as one of them")
    if given.url is not None and not given.url.startswith("https://"):
        raise ConfigError(f"--url {given.url!r}: write an address that begins with https://", code="import")
    original = _original(policies, given) if given.language is not None else None
    folder = policies / given.language if given.language is not None else policies
    number = free_number(folder, given.number) if original is None or folder.is_dir() else int(original.number)
    found = read(file, _bytes(file))
    if not (sentences := sum(len(block.units) for block in parse_blocks(found.body))):
        raise _error(file, "no text in it; a scanned pdf has only pictures of text: type it, or use OCR first")
    title = found.title or None
    path = folder / f"{number:03d}-{name_of(found.title or file.stem)}.md"
    known: Known = {"title": title, "url": given.url, "valid_from": given.valid_from}
    known |= {"delivery": original.head.delivery.value, "audience": original.head.audience} if original else {}
    _write(path, _unreviewed(file, number, known, found))
    missing = {"summary", *({"audience"} - known.keys()), *(key for key, value in known.items() if value is None)}
    return Imported(
        path=path,
        number=number,
        title=found.title,
        sentences=sentences,
        missing=tuple(key for key in FrontMatter.model_fields if key in missing),
        notes=found.notes,
    )


def original_text(name: str, raw: bytes) -> str:
    """The plain text of a file, to be compared with what was imported; "" if it cannot be read."""
    suffix = Path(name).suffix.lower()
    kind = next((kind for kind in (FileKind.PDF, FileKind.DOCX) if suffix == f".{kind}"), None)
    if kind is not None:
        return "\n".join(" ".join(block.texts) for block in extract(kind, raw, LIMITS).blocks)
    try:
        return _decoded(Path(name), raw)[0]
    except ConfigError:
        return ""


@dataclass(frozen=True)
class _Found:
    """`title` is "" if the file has no heading; `body` is Markdown for `parse_blocks`."""

    title: str
    body: str
    notes: tuple[str, ...] = ()


def _bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise _error(file, f"cannot be read: {error.strerror}: name a file that can be read") from error
    if len(raw) > MAX_FILE_BYTES:
        raise _error(file, f"more than {MAX_FILE_BYTES // 1_000_000} MB: {_SEPARATE}")
    return raw


def _read_text(file: Path, raw: bytes) -> _Found:
    text, notes = _decoded(file, raw)
    clean, dropped = _clean(text)
    return _found(list(blocks_of_text(clean)), (*notes, *_dropped_notes(dropped)))


def _read_markdown(file: Path, raw: bytes) -> _Found:
    """The Markdown unchanged if a document may contain it; else converted through HTML."""
    text, notes = _decoded(file, raw)
    clean, dropped = _clean(text)
    notes = (*notes, *_dropped_notes(dropped))
    head, body, _ = front_matter_and_body(clean)
    data = _yaml(head or "")
    if isinstance(data, dict):
        notes = (*notes, "the file's own front matter is left out, but for its title")
    else:  # text between two rules is ordinary text
        data, body = {}, clean
    own = data.get("title")
    title = own if isinstance(own, str) else _first_heading(body)
    try:
        parse_blocks(body)
    except MarkdownRefused:
        page = _MARKDOWN.render(body)
        body, more = _rewritten(_extracted(FileKind.HTML, file, page.encode()))
        notes = (*notes, *more)
    return _Found(_short(title), body.strip() + "\n", notes)


def _first_heading(body: str) -> str:
    """The first of the headings of the highest level, or ""."""
    tokens = _MARKDOWN.parse(body)
    found = [
        (token.tag, " ".join(child.content for child in inline.children or () if child.content))
        for token, inline in pairwise(tokens)
        if token.type == "heading_open"
    ]
    return min(found, key=lambda heading: heading[0])[1] if found else ""


def _read_page(file: Path, raw: bytes) -> _Found:
    return _found(_extracted(FileKind.HTML, file, raw), (_PAGE_NOTE,))


def _read_word(file: Path, raw: bytes) -> _Found:
    return _found(_extracted(FileKind.DOCX, file, raw))


def _read_pdf(file: Path, raw: bytes) -> _Found:
    pages = [block.texts[0] for block in _extracted(FileKind.PDF, file, raw)]
    clean, dropped = _clean(join_pages(pages))
    return _found(blocks_of_text(clean), (_PDF_NOTE, *_dropped_notes(dropped)))


_READERS: dict[str, Callable[[Path, bytes], _Found]] = {
    ".txt": _read_text,
    ".text": _read_text,
    ".md": _read_markdown,
    ".markdown": _read_markdown,
    ".html": _read_page,
    ".htm": _read_page,
    ".docx": _read_word,
    ".pdf": _read_pdf,
}


def _extracted(kind: FileKind, file: Path, raw: bytes) -> tuple[Block, ...]:
    extracted = extract(kind, raw, LIMITS)
    if extracted.refusal is not None:
        raise _error(file, _REFUSED[extracted.refusal])
    return extracted.blocks


def _found(found: Iterable[Block], notes: tuple[str, ...] = ()) -> _Found:
    blocks = list(found)
    headings = [(block.level, number) for number, block in enumerate(blocks) if block.kind is BlockKind.HEADING]
    title = _clean(blocks[min(headings)[1]].texts[0])[0] if headings else ""
    body, more = _rewritten(blocks)
    return _Found(_short(title), body, (*notes, *more))


def _rewritten(blocks: Iterable[Block]) -> tuple[str, tuple[str, ...]]:
    """Blocks as Markdown without forbidden characters, and notes on omissions."""
    cleaned: list[Block] = []
    dropped = left_out = 0
    for block in blocks:
        texts = [_clean(text) for text in block.texts]
        dropped += sum(count for _, count in texts)
        left_out += block.kind is BlockKind.LEFT_OUT
        cleaned.append(block._replace(texts=tuple(text for text, _ in texts)))
    left = f"what is no text (pictures, footnotes) is left out, {left_out} in all: a comment stands in its place"
    return to_markdown(cleaned), (*((left,) if left_out else ()), *_dropped_notes(dropped))


def _dropped_notes(count: int) -> tuple[str, ...]:
    return (f"{count} invisible or control characters are left out",) if count else ()


def _decoded(file: Path, raw: bytes) -> tuple[str, tuple[str, ...]]:
    """Decode text of unknown encoding, with LF; the last guess is Windows-1252."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        codecs = ["utf-16"]
    else:
        codecs = ["utf-8-sig", "cp1252"]
    for codec in codecs:
        try:
            text = raw.decode(codec).replace("\r\n", "\n")
        except UnicodeError:
            continue
        if "\0" in text:
            break
        if len(text) > LIMITS.max_characters:
            raise _error(file, _REFUSED[Refusal.TOO_MUCH])
        return text, ("read as Windows-1252: look at letters with accents",) if codec == "cp1252" else ()
    raise _error(file, "not a text: save it as UTF-8")


def _clean(text: str) -> tuple[str, int]:
    """The text without forbidden characters, and their number without line breaks and soft hyphens."""
    text = text.replace("\r\n", "\n").translate(_READ_AS)
    kept: list[str] = []
    dropped = 0
    for character in text:
        if refused_character(character) or unicodedata.category(character) in ("Cs", "Cn", "Co"):
            dropped += character != "\u00ad"
        else:
            kept.append(unicodedata.normalize("NFKC", character) if ord(character) in LIGATURES else character)
    return "".join(kept), dropped


def _yaml(text: str) -> Any:
    """The content of a front matter, or None."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _short(title: str) -> str:
    """A valid title for a document, or ""."""
    plain = collapse(title)
    return plain if len(plain) <= MAX_TITLE else ""


def _original(policies: Path, given: GivenValues) -> Document:
    """The document to translate."""
    if given.language is None or not is_locale(given.language):
        todo = "write a language such as de, or a language and a country, pt-BR"
        raise ConfigError(f"--language {given.language!r} is no language: {todo}", code="import")
    if given.number is None:
        raise ConfigError("--language needs --number: the number of the document that it translates", code="import")
    for document in inspect_directory(policies).documents:
        if document.number == given.number:
            return document
    todo = "import or mend it first, in the company's own language"
    raise ConfigError(f"there is no document {given.number} that can be sent: {todo}", code="import")


def free_number(policies: Path, wanted: int | None = None) -> int:
    """A free number; numbers of faulty and of unreviewed files are taken, too."""
    if not policies.is_dir():
        raise ConfigError(
            f"{policies}: no such folder: set company.policies to the folder of the documents", code="import"
        )
    names = {path.name: re.match(r"0*(\d{1,5})-", path.name) for path in policies.glob("*.md")}
    taken = {int(match.group(1)): name for name, match in names.items() if match}
    number = wanted if wanted is not None else max(taken, default=0) + 1
    if not 1 <= number <= MAX_NUMBER:
        raise ConfigError(f"number {number}: documents have 1 to {MAX_NUMBER}: name one with --number", code="import")
    if number in taken:
        todo = "name another with --number, or leave it out for the next free one"
        raise ConfigError(f"number {number} is that of {taken[number]}: {todo}", code="import")
    return number


def name_of(title: str) -> str:
    """The title in lower-case letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", title.lower().replace("ß", "ss"))
    words = re.findall(r"[a-z0-9]+", "".join(c for c in plain if not unicodedata.combining(c)))
    return "-".join(words)[:MAX_NAME].strip("-") or "document"


def _unreviewed(file: Path, number: int, known: Known, found: _Found) -> str:
    """The file's text: a front matter with the known values, and comments that say what to do."""
    name = collapse("".join(c if c.isprintable() and not refused_character(c) else " " for c in file.name))
    lines = [
        "---",
        f"# Imported from {name}, and not reviewed yet. Read the text beside the original, fill in what is",
        f"# empty (`support-agent check` names it), then make it `{REVIEWED}`; until then no customer gets it.",
        UNREVIEWED,
        *(f"# look: {note}" for note in found.notes),
        f"number: {number}",
        _key("title", known["title"], "as the model reads it, 1 to 120 characters"),
        _key("summary", None, "what it answers and what it does not; the model chooses by it"),
        _key("url", known["url"], "https://... where customers find the whole text"),
        _key("delivery", known.get("delivery", "excerpt"), "") + "   # full, excerpt or link",
        "questions: []   # a few as customers ask them, one a line:   - How do I ...?",
        _key("valid_from", known["valid_from"], "a day such as 2025-01-31"),
        _key("audience", known.get("audience"), "everyone, or customers: sent only to known customers"),
        "---",
    ]
    return "\n".join(lines) + "\n" + found.body


def _key(key: str, value: str | date | None, meaning: str) -> str:
    if value is None:
        return f"{key}:   # {meaning}"
    return yaml.safe_dump({key: value}, allow_unicode=True, width=10_000).strip()


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: allow writing it", code="import") from error


def _error(file: Path, text: str) -> ConfigError:
    return ConfigError(f"{file}: {text}", code="import")
