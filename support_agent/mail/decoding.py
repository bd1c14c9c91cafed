"""Characters out of the bytes of a mail: charsets that lie, RFC 2047 words, and text that is safe to keep.

Invariant: no function here raises on any input, and none returns a NUL, another control character or half a
surrogate, so every string can be stored and shown. Checked by tests/unit/mail/test_decoding.py.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import quopri
import re
from typing import NamedTuple

NOT_CHARSETS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"})
"""Python codecs that are no character sets of mail; some are slow or raise warnings."""
ASCII_KIN = frozenset({"ascii", "iso8859-1", "cp1252"})
"""Declared by programs that do not know: UTF-8 is tried first, then Windows-1252, a superset of Latin-1."""
ENCODED_WORD = re.compile(r"=\?([^?\s*]+)(?:\*[^?\s]*)?\?([bBqQ])\?([^?]*)\?=")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]")
LINE_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class Decoded(NamedTuple):
    """`is_as_declared` is False where the bytes were not what the mail said."""

    text: str
    is_as_declared: bool


def decode_bytes(raw: bytes, declared: str | None) -> Decoded:
    """Read bytes as the declared charset, else UTF-8, else Windows-1252 with a mark for each bad byte."""
    name = _codec_name(declared)
    candidates = ["utf-8", name] if name in ASCII_KIN or name is None else [name, "utf-8"]
    is_lie = name is not None and name.startswith(("utf-16", "utf-32")) and b"\0" not in raw
    if is_lie:  # without a single NUL it cannot be what it says
        candidates = ["utf-8"]
    for codec in candidates:
        if codec is None:
            continue
        try:
            return Decoded(safe_text(raw.decode(codec)), codec == name or (raw.isascii() and not is_lie))
        except (LookupError, UnicodeError, ValueError):
            continue
    return Decoded(safe_text(raw.decode("cp1252", "replace")), name in ASCII_KIN)


def _codec_name(declared: str | None) -> str | None:
    try:
        name = codecs.lookup((declared or "").strip().strip("\"'")).name
    except (LookupError, ValueError):
        return None
    return None if name.replace("_", "-") in NOT_CHARSETS else name


def safe_text(text: str) -> str:
    """Text with LF line ends, without NUL, controls and half surrogates."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")
    text = text.encode("utf-8", "replace").decode("utf-8") if _has_surrogate(text) else text
    return CONTROLS.sub("", text)


def safe_line(text: str) -> str:
    """Text on one line: each run of line ends and controls becomes one space."""
    return LINE_CONTROLS.sub(" ", safe_text(text)).strip()


def _has_surrogate(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def header_text(value: str) -> str:
    """A field's value as the parser gives it (8-bit bytes as surrogates), unfolded; still encoded."""
    raw = value.encode("utf-8", "surrogateescape") if _is_escaped(value) else value.encode("utf-8", "replace")
    return safe_line(re.sub(r"(?:\r\n|\r|\n)(?=[ \t])", "", decode_bytes(raw, "utf-8").text))


def _is_escaped(value: str) -> bool:
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def decode_words(value: str) -> str:
    """Decode the encoded words of an unfolded value (RFC 2047); white space between two of them is dropped.

    Neighbours of one charset are joined before decoding, because many programs cut inside a character.
    """
    out: list[str] = []
    pending: list[bytes] = []
    charset = ""
    end = 0

    def flush() -> None:
        if pending:
            out.append(decode_bytes(b"".join(pending), charset).text)
            pending.clear()

    for match in ENCODED_WORD.finditer(value):
        between = value[end : match.start()]
        if between.strip() or not pending or match[1].lower() != charset:
            flush()
            if between.strip() or end == 0:
                out.append(between)
        charset = match[1].lower()
        pending.append(_word_bytes(match[2], match[3]))
        end = match.end()
    flush()
    out.append(value[end:])
    return safe_line("".join(out))


def _word_bytes(encoding: str, encoded: str) -> bytes:
    raw = encoded.encode("utf-8", "replace")
    if encoding in "qQ":
        return quopri.decodestring(raw.replace(b" ", b"_"), header=True)
    try:
        return base64.b64decode(raw + b"=" * (-len(raw) % 4))
    except (binascii.Error, ValueError):
        return raw
