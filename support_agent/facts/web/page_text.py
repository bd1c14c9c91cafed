"""Converts the bytes of a page to plain text: finds the charset, removes invisible characters, limits the length.

Invariant: the text has no control or invisible character, so it hides nothing from a person; a declared charset can
only choose among the charsets of the web. Checked by tests/unit/facts/web/test_page_text.py.
"""

from __future__ import annotations

import codecs
import html
import re
import unicodedata

from support_agent.extraction.html_text import html_to_text

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
PAGE_TYPES = HTML_TYPES | {"text/plain"}
HEAD_CHARACTERS = 4096
"""Search for a title or a charset in this many bytes."""
MAX_TITLE_CHARACTERS = 200
INVISIBLE = {"Cc", "Cf", "Co", "Cs", "Cn"}
"""Categories of Unicode: control, format (the tag characters too), private, surrogate, none."""
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w:.-]{1,40})", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,1000})", re.IGNORECASE)
_WEB_CHARSETS = """
    utf-8 utf-16 utf-16-le utf-16-be ascii big5 euc_jp euc_kr gb18030 gb2312 gbk iso2022_jp koi8-r koi8-u mac-roman
    shift_jis cp866 cp874 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 iso8859-1 iso8859-2 iso8859-3
    iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16
"""
WEB_CHARSETS = frozenset(_WEB_CHARSETS.split())
"""Codecs for the charsets of browsers (WHATWG Encoding Standard, section 4.2)."""
NOT_OVER_ASCII = frozenset({"utf-16", "utf-16-le", "utf-16-be", "iso2022_jp"})
"""Charsets whose bytes may be valid UTF-8 and mean something else."""


def decoded(body: bytes, charset: str) -> str:
    """Decode a body; never raises.

    Valid UTF-8 is read as UTF-8, even if declared otherwise: wrong declarations are common, and other charsets are
    hardly ever valid UTF-8 by chance. Otherwise the declared charset counts, else windows-1252.

    Args:
        charset: From the Content-Type; if "", a `meta` of the body counts.
    """
    match = _META_CHARSET.search(body[:HEAD_CHARACTERS])
    codec = _codec(charset) or (_codec(match.group(1).decode("ascii", "ignore")) if match else "")
    order = [codec] if codec in NOT_OVER_ASCII else ["utf-8-sig", codec]
    for name in filter(None, order):
        try:
            return body.decode(name)
        except UnicodeDecodeError:
            continue
    return body.decode("cp1252" if codec not in NOT_OVER_ASCII else codec, "replace")


def _codec(charset: str) -> str:
    """The codec of a charset's name; "" if the web does not use it."""
    try:
        name = codecs.lookup(charset.strip()).name
    except (LookupError, ValueError, UnicodeError):
        return ""
    return name if name in WEB_CHARSETS else ""


def page_text(body: bytes, media_type: str, charset: str, max_characters: int) -> tuple[str, str]:
    """Title and text of a page; the title may be ""."""
    characters = decoded(body, charset)
    if media_type not in HTML_TYPES:
        return "", visible(characters, max_characters)
    match = _TITLE.search(characters[: HEAD_CHARACTERS * 4])
    title = html.unescape(match.group(1)) if match else ""
    return line_of(title), visible(html_to_text(characters).text, max_characters)


def visible(text: str, max_characters: int) -> str:
    """The lines of the text without invisible characters, white space collapsed, cut after a whole word."""
    lines = (" ".join(_without_invisible(line).split()) for line in text[: max_characters * 4].splitlines())
    whole = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    if len(whole) <= max_characters:
        return whole
    cut = whole[:max_characters]
    is_between_words = whole[max_characters].isspace() or cut[-1].isspace()
    return cut.rstrip() if is_between_words else cut.rsplit(maxsplit=1)[0]


def line_of(text: str) -> str:
    """A title in one line, limited."""
    return visible(" ".join(text[: MAX_TITLE_CHARACTERS * 4].split()), MAX_TITLE_CHARACTERS)


def _without_invisible(line: str) -> str:
    if line.isascii() and line.isprintable():
        return line
    return "".join(c for c in line if c == "\t" or unicodedata.category(c) not in INVISIBLE)
