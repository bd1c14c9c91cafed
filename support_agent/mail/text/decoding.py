"""Decode the bytes of a mail to text: wrong charsets, RFC 2047 words, and text that is safe to store.

Invariant: no function here raises on any input, and none returns a NUL, another control character or a lone surrogate,
so every string can be stored and shown. Checked by tests/unit/mail/text/test_decoding.py.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import functools
import quopri
import re
from typing import NamedTuple

NOT_CHARSETS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"})
"""Python codecs that are not charsets of mail; some are slow or raise warnings."""
ASCII_KIN = frozenset({"ascii", "iso8859-1", "cp1252"})
"""Programs that do not know the charset declare these. UTF-8 is tried first, then Windows-1252, a superset of
Latin-1."""
WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "iso2022_jp": "iso2022_jp_ext",
}
"""Charsets that programs declare when they use a superset (WHATWG Encoding, "names and labels")."""
OTHER_NAMES = {
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "x-gbk": "gb18030",
    "x-sjis": "cp932",
    "x-mac-roman": "mac-roman",
    "macintosh": "mac-roman",
    "unicode-1-1-utf-7": "utf-7",
    "unicode-1-1-utf-8": "utf-8",
    "utf8mb4": "utf-8",
    "windows-874": "cp874",
    "windows-31j": "cp932",
    "x-windows-949": "cp949",
    "ks_c_5601-1987": "cp949",
    "cp65001": "utf-8",
    "cp1200": "utf-16-le",
    "ansi": "cp1252",
}
"""Charset names in mail and on Windows that Python does not know."""
JAPANESE_ESCAPES = (b"\x1b$B", b"\x1b$@", b"\x1b(J")
"""ISO-2022-JP identifies itself by these bytes; old programs do not declare it."""
ENCODED_WORD = re.compile(r"=\?([^?\s*]+)(?:\*[^?\s]*)?\?([bBqQ])\?([^?]*)\?=")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]")
NO_ASCII_CONTROLS = {code: None for code in range(128) if CONTROLS.match(chr(code))}
"""For `str.translate` on ASCII text, which takes a third of the pattern's time."""
FOLD = re.compile(r"(?:\r\n|\r|\n)(?=[ \t])")
TABS = re.compile(r"\t+")
MAX_TOKEN_CHARACTERS = 2_000
"""How much of a field `token_of` reads."""
LINE_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class Decoded(NamedTuple):
    """Decoded text; `is_as_declared` is False where the declared charset is wrong."""

    text: str
    is_as_declared: bool


def decode_bytes(raw: bytes, declared: str | None) -> Decoded:
    """Decode as the declared charset, else UTF-8, else Windows-1252 with U+FFFD for each invalid byte."""
    name = _codec_name(declared)
    if raw.isascii() and (name is None or name in ASCII_KIN or name == "utf-8") and b"\x1b$" not in raw:
        return Decoded(safe_text(raw.decode("ascii")), True)
    candidates = ["utf-8", name] if name in ASCII_KIN or name is None else [name, "utf-8"]
    is_lie = name is not None and name.startswith(("utf-16", "utf-32")) and b"\0" not in raw
    if is_lie:  # real UTF-16 or UTF-32 mail has NUL bytes
        candidates = ["utf-8"]
    elif name not in ("iso2022_jp_ext", "iso2022_kr") and any(escape in raw for escape in JAPANESE_ESCAPES):
        candidates.insert(0, "iso2022_jp_ext")
    for codec in candidates:
        if codec is None:
            continue
        try:
            return Decoded(safe_text(raw.decode(codec)), codec == name or (raw.isascii() and not is_lie))
        except (LookupError, UnicodeError, ValueError):
            continue
    if name in (None, "utf-8") and (text := _nearly_utf8(raw)):
        return Decoded(safe_text(text), False)
    return Decoded(safe_text(raw.decode("cp1252", "replace")), name in ASCII_KIN)


def _nearly_utf8(raw: bytes) -> str:
    """UTF-8 with a few damaged bytes, each replaced by U+FFFD; "" where the bytes are something else."""
    text = raw.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    letters = len(text) - len(text.encode("ascii", "ignore")) - damaged
    return text if letters > 2 * damaged else ""


@functools.lru_cache(maxsize=256)
def _codec_name(declared: str | None) -> str | None:
    label = (declared or "").strip().strip("\"'").lower()
    try:
        name = codecs.lookup(OTHER_NAMES.get(label, label)).name
    except (LookupError, ValueError):
        return None
    return None if name.replace("_", "-") in NOT_CHARSETS else WIDER.get(name, name)


def safe_text(text: str) -> str:
    """Text with LF line ends, without NUL, other controls and lone surrogates."""
    if text.isascii():
        if text.isprintable():  # the common case: nothing to do
            return text
        return text.replace("\r\n", "\n").replace("\r", "\n").translate(NO_ASCII_CONTROLS)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")
    return CONTROLS.sub("", text.encode("utf-8", "replace").decode("utf-8"))


def safe_line(text: str) -> str:
    """Text on one line: each run of line ends and controls becomes one space."""
    if text.isascii() and text.isprintable():
        return text.strip()
    return LINE_CONTROLS.sub(" ", safe_text(text)).strip()


def header_text(value: str) -> str:
    """A field's value from the parser (8-bit bytes as surrogates), unfolded; encoded words stay encoded."""
    if "\n" in value or "\r" in value:
        value = FOLD.sub("", value)
    plain = TABS.sub(" ", value) if "\t" in value else value
    if plain.isascii() and plain.isprintable():  # nearly all of them
        return plain.strip()
    try:
        raw = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        raw = value.encode("utf-8", "replace")
    return safe_line(decode_bytes(raw, "utf-8").text)


def decode_words(value: str) -> str:
    """Decode the encoded words of an unfolded value (RFC 2047); white space between two of them is dropped.

    Adjacent words of one charset are joined before decoding, because many programs split inside a character.
    """
    if "=?" not in value:
        return safe_line(value)
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


def token_of(value: str) -> str:
    """A field's keyword in lower case, without parameters and (nested) comments (RFC 5322, section 3.2.2)."""
    depth, plain = 0, []
    for char in value[:MAX_TOKEN_CHARACTERS]:
        if char == ")" and depth:
            depth -= 1
            plain.append(" ")
        elif char == "(":
            depth += 1
        elif not depth:
            plain.append(char)
    return "".join(plain).partition(";")[0].strip().lower()
