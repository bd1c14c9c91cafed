"""Characters: RFC 2047 words, charsets, and strings that are safe to store."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.mail.text.decoding import decode_bytes, decode_words, header_text, safe_line


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("=?utf-8?q?a_b?= c", "a b c"),
        ("x =?utf-8?q?a?= =?utf-8?q?b?= y", "x ab y"),
        ("=?utf-8?q?a?= =?iso-8859-1?q?=FC?=", "aü"),
        ("=?utf-8?b?w7w?=", "ü"),
        ("=?UTF-8?B?R3LDvMOf?= =?utf-8?B?ZQ==?=", "Grüße"),
        ("=?utf-8?q?=C3?= =?utf-8?q?=BC?=", "ü"),
        ("=?utf-8*de?q?=C3=BC?=", "ü"),
        ("=?klingon?q?=C3=BC?=", "ü"),
        ("=?utf-8?x?abc?=", "=?utf-8?x?abc?="),
        ("=?utf-8?q?a", "=?utf-8?q?a"),
        ("=?utf-8?q?a=0Ab=00c?=", "a bc"),
    ],
)
def test_encoded_words(value: str, text: str) -> None:
    """RFC 2047, section 6.2, and what programs make of it."""
    assert decode_words(value) == text


@pytest.mark.parametrize("charset", ["rot13", "hex", "zlib", "idna", "punycode", "unicode_escape", "\0", "", None])
def test_names_that_are_no_charset_are_not_used(charset: str | None) -> None:
    assert decode_bytes(b"a\\u0041-xn--b", charset).text == "a\\u0041-xn--b"


@pytest.mark.parametrize(
    ("raw", "declared", "text"),
    [
        ("\u9555 \u7abf".encode("gb18030"), "gb2312", "\u9555 \u7abf"),
        ("\u2460\u9ad9".encode("cp932"), "Shift_JIS", "\u2460\u9ad9"),
        ("\ub625".encode("cp949"), "ks_c_5601-1987", "\ub625"),
        ("\u05e9\u05dc\u05d5\u05dd".encode("iso8859-8"), "ISO-8859-8-I", "\u05e9\u05dc\u05d5\u05dd"),
        ("\u65e5\u672c".encode("iso2022_jp"), None, "\u65e5\u672c"),
        ("\u65e5\u672c".encode("iso2022_jp"), "us-ascii", "\u65e5\u672c"),
        ("Gr\u00fc\u00dfe aus M\u00fcnchen".encode() + b"\xe2\x82", "utf-8", "Gr\u00fc\u00dfe aus M\u00fcnchen\ufffd"),
        (b"Gr\xfc\xdfe", "utf-8", "Gr\u00fc\u00dfe"),
        (b"caf\xe9", None, "caf\u00e9"),
    ],
)
def test_bytes_are_read_as_what_they_are_meant_to_be(raw: bytes, declared: str | None, text: str) -> None:
    """Names stand for a superset, Japanese names itself, and one damaged letter spoils no other."""
    assert decode_bytes(raw, declared).text == text


@given(st.binary(max_size=200), st.one_of(st.none(), st.text(max_size=12)))
def test_any_bytes_in_any_charset_are_text_that_can_be_stored(raw: bytes, charset: str | None) -> None:
    text = decode_bytes(raw, charset).text
    assert text.encode("utf-8").decode() == text
    assert "\0" not in text


@given(st.text(max_size=100))
def test_any_value_of_a_field_becomes_one_line(value: str) -> None:
    for text in (header_text(value), decode_words(value), safe_line(value)):
        assert not re.search(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]", text)
