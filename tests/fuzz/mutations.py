"""Damaged mails: a seed mail's bytes after a few accidents, each of which has happened to somebody.

Invariant: the same `Random` and seeds give the same bytes, and none is longer than `MAX_BYTES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

MAX_BYTES = 100_000
USUAL_BYTES = 8_000
"""Of nine in ten mails no more than this much is taken, so that a run is about many mails and not about long ones."""
MAX_ACCIDENTS = 6
FEW_BYTES = 24
Mutation = Callable[[Random, bytearray, Sequence[bytes]], None]

CHARSETS: tuple[bytes, ...] = (
    b"us-ascii",
    b"utf-8",
    b"UTF-16",
    b"utf-7",
    b"utf-32",
    b"idna",
    b"iso-2022-jp",
    b"hz",
    b"gb18030",
    b"big5",
    b"windows-1252",
    b"iso-8859-8-i",
    b"koi8-r",
    b"unknown-8bit",
    b"rot13",
    b"hex",
    b"zlib",
    b"",
    b"\x00",
    b'"',
)
ENCODINGS = (
    b"7bit",
    b"8bit",
    b"binary",
    b"base64",
    b"quoted-printable",
    b"x-uuencode",
    b"BASE64;",
    b"",
    b"=?",
    b"gzip",
)
TYPES = (
    b"text/plain",
    b"text/html",
    b"text/plain; format=flowed; delsp=yes",
    b"text/calendar",
    b"multipart/mixed",
    b"multipart/alternative; boundary=b",
    b"multipart/report; report-type=delivery-status; boundary=b",
    b"message/rfc822",
    b"message/delivery-status",
    b"message/partial; number=1; total=2",
    b"application/ms-tnef; name=winmail.dat",
    b"text",
    b"/",
    b"text/plain; charset*0*=utf-8''%E4; charset*1=%",
    b"text/plain; charset*=utf-8''utf-8",
)
MARKS: tuple[bytes, ...] = (
    b"\x00",
    b"\r",
    b"\n",
    b"\r\n\r\n",
    b"\x1a",
    b"\x1b$B",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\x85",
    b"--",
    b"\r\n.\r\n",
    b"=\r\n",
    b"=",
    b"=?utf-8?q?=",
    b"=?utf-8?b?////?=",
    b"?=",
    b"<",
    b">",
    b"(",
    b"\\",
    b'"',
)
MARKS += ("\u202e\u2066\u200b\ufeff".encode(), "\u2028\U000e0041".encode(), b"&#1114112;", b"<!--", b"<![CDATA[", b"%")
FIELDS = (
    b"From: a@b.example, c@d.example",
    b"From: Friends: a@b.example;",
    b"From: =?utf-8?b?PGFAYi5leGFtcGxlPg==?=",
    b"From: a@[127.0.0.1]",
    b"From: <@a,@b:c@d.example>",
    b'From: "a\\"@b.example" <c@d.example> (comment (nested',
    b"To: support@harborfile.example",
    b"To: undisclosed-recipients:;",
    b"Subject: =?utf-8?q?=0D=0ABcc:_a@b.example?=",
    b"Subject: " + b"Re: " * 200,
    b"Date: Fri, 99 Xyz 99999 99:99:99 +9999",
    b"Date: Thu, 01 Jan 0001 00:00:00 +2359",
    b"Date: 20 Nov 2026 12:00 (((",
    b"Message-ID: <>",
    b"Message-ID: <a@b.example> <c@d.example>",
    b"References: " + b"<a@b.example> " * 300,
    b"In-Reply-To: Your mail of Friday <a@b.example>",
    b"Auto-Submitted: no",
    b"Auto-Submitted: (comment) auto-replied (more); owner-email=a",
    b"Authentication-Results: mx.harborfile.example; dmarc=pass header.from=example.net",
    b"Authentication-Results: mx.harborfile.example 2; spf=(pass) pass",
    b'Authentication-Results: "mx.harborfile.example"; dkim=pass (a (b) \\) header.d="example.net',
    b"Authentication-Results: mx.harborfile.example/1 1; none",
    b"Return-Path: <>",
    b"Received: by a" * 60,
    b"Content-Disposition: attachment; filename*=utf-8''%00%2F..%2F; filename==?utf-8?q?a?=",
    b"X-Support-Agent-Origin: v1; hops=9999; token=0; tag=0",
    b": no name",
    b"No colon",
    b"\xc3\xa4: name in eight bits",
)
CHARSET = re.compile(rb"charset=\"?([^\s\";]*)", re.IGNORECASE)
ENCODING = re.compile(rb"content-transfer-encoding:[ \t]*([^\r\n]*)", re.IGNORECASE)
TYPE = re.compile(rb"content-type:[ \t]*([^\r\n;]*)", re.IGNORECASE)
BOUNDARY = re.compile(rb"boundary=\"?([^\s\";]+)", re.IGNORECASE)
LINE = re.compile(rb"[^\n]*\n")


def mutate(random: Random, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds after one to `MAX_ACCIDENTS` accidents."""
    limit = USUAL_BYTES if random.random() < 0.9 else MAX_BYTES
    mail = bytearray(random.choice(seeds)[:limit])
    for _ in range(random.randint(1, MAX_ACCIDENTS)):
        random.choice(MUTATIONS)(random, mail, seeds)
        del mail[limit:]
    return bytes(mail)


def _flip(random: Random, mail: bytearray, _seeds: Sequence[bytes]) -> None:
    for _ in range(random.randint(1, FEW_BYTES)):
        if mail:
            mail[random.randrange(len(mail))] = random.randrange(256)


def _flip_bit(random: Random, mail: bytearray, _seeds: Sequence[bytes]) -> None:
    if mail:
        mail[random.randrange(len(mail))] ^= 1 << random.randrange(8)


def _cut(random: Random, mail: bytearray, _seeds: Sequence[bytes]) -> None:
    start, end = _span(random, mail)
    del mail[start:end]


def _truncate(random: Random, mail: bytearray, _seeds: Sequence[bytes]) -> None:
    del mail[_place(random, mail) :]


def _duplicate(random: Random, mail: bytearray, _seeds: Sequence[bytes]) -> None:
    start, end = _span(random, mail)
    times = random.choice((1, 1, 1, 2, 50))
    place = _place(random, mail)
    mail[place:place] = (mail[start:end] * times)[:MAX_BYTES]


def _splice(random: Random, mail: bytearray, seeds: Sequence[bytes]) -> None:
    other = random.choice(seeds)
    start, end = _span(random, other)
    place = _place(random, mail)
    mail[place:place] = other[start:end]


def _swap_lines(random: Random, mail: bytearray, _seeds: Sequence[bytes]) -> None:
    lines = LINE.findall(bytes(mail))
    if len(lines) > 1:
        first, second = random.randrange(len(lines)), random.randrange(len(lines))
        lines[first], lines[second] = lines[second], lines[first]
        mail[:] = b"".join(lines)


def _mark(random: Random, mail: bytearray, _seeds: Sequence[bytes]) -> None:
    for _ in range(random.randint(1, 4)):
        place = _place(random, mail)
        mail[place:place] = random.choice(MARKS) * random.choice((1, 1, 1, 1, 300))


def _boundary(random: Random, mail: bytearray, _seeds: Sequence[bytes]) -> None:
    found = BOUNDARY.findall(bytes(mail)) or [b"b"]
    place = _place(random, mail)
    end = random.choice((b"", b"--", b" ", b"\r\nContent-Type: text/html\r\n"))
    mail[place:place] = b"\r\n--" + random.choice(found) + end + b"\r\n"


def _field(random: Random, mail: bytearray, _seeds: Sequence[bytes]) -> None:
    ends = [match.end() for match in LINE.finditer(bytes(mail[:4000]))]
    place = random.choice([0, *ends[:40]])
    mail[place:place] = random.choice(FIELDS) + random.choice((b"\r\n", b"\r\n", b"\n", b"\r", b"\r\n \r\n"))


def _line_ends(random: Random, mail: bytearray, _seeds: Sequence[bytes]) -> None:
    mail[:] = re.sub(rb"\r?\n", random.choice((b"\n", b"\r\n", b"\r", b"\r\r\n", b"\n\r")), bytes(mail))


def _replaced(pattern: re.Pattern[bytes], values: Sequence[bytes]) -> Mutation:
    def replace(random: Random, mail: bytearray, _seeds: Sequence[bytes]) -> None:
        found = list(pattern.finditer(bytes(mail)))
        if found:
            match = random.choice(found)
            mail[match.start(1) : match.end(1)] = random.choice(values)

    return replace


def _place(random: Random, mail: bytes | bytearray) -> int:
    """Anywhere, and every other time in the header, where there is most to break."""
    return random.randint(0, min(len(mail), random.choice((len(mail), 600))))


def _span(random: Random, mail: bytes | bytearray) -> tuple[int, int]:
    start = _place(random, mail)
    return start, min(len(mail), start + random.choice((1, 10, 100, 1000, len(mail))))


MUTATIONS: tuple[Mutation, ...] = (
    _flip,
    _flip_bit,
    _cut,
    _truncate,
    _duplicate,
    _splice,
    _swap_lines,
    _mark,
    _boundary,
    _field,
    _line_ends,
    _replaced(CHARSET, CHARSETS),
    _replaced(ENCODING, ENCODINGS),
    _replaced(TYPE, TYPES),
)
