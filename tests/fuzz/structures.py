"""Mails from scratch: MIME trees, header fields, addresses, dates and quotations as hypothesis strategies.

Each piece is well-formed, malformed or from the grey between, and any may stand beside any other.
"""

from __future__ import annotations

from base64 import encodebytes
from quopri import encodestring

from hypothesis import strategies as st

from tests.fuzz.mutations import CHARSETS, ENCODINGS, FIELDS, TYPES

WORDS = (
    "refund",
    "password",
    "human",
    "Rückerstattung",
    "поддержка",
    "返金",
    "שלום",
    "\U0001f600",
    "e\u0301",
    "\u202eabc",
    "",
)
NAMES = ("Anna", "=?utf-8?q?K=C3=A4the?=", '"Keller, Anna"', "(a comment)", '"a@b.example"', "=?x?z?=", "Ünal", "\x00")
DOMAINS = (
    "example.net",
    "EXAMPLE.NET",
    "xn--mnchen-3ya.example",
    "münchen.example",
    "[127.0.0.1]",
    "",
    "a..b",
    "a" * 300,
)
LOCALS = ("anna", "ANNA+tag", "no-reply", '"an na"', "mailer-daemon", "support", "", "ünal", "a" * 100, "<")
ATTRIBUTIONS = (
    "On Fri, 20 Nov 2026 at 12:00, Anna <anna@example.net> wrote:",
    "Am 20.11.2026 um 12:00 schrieb Anna Keller:",
    "El vie, 20 nov 2026 a las 12:00, Anna escribió:",
    "-----Original Message-----\nFrom: Anna\nSent: Friday\nTo: Support\nSubject: Re: refund",
    "________________________________\nVon: Anna <anna@example.net>\nGesendet: Freitag\nAn: Support\nBetreff: AW: x",
    "Le 20/11/2026 à 12:00, Anna a écrit :",
    "Begin forwarded message:",
    "-- ",
    "--",
    "Sent from my iPhone",
    "wrote:" * 50,
)
METHODS = ("dmarc", "spf", "dkim", "arc", "x-y", "dkim/1", "")
RESULTS = ("pass", "fail", "none", "PASS", "(pass)", '"pass"', "")
PROPERTIES = (
    "header.from=example.net",
    "header.d=example.net",
    "smtp.mailfrom=a@b.example",
    "header.from=",
    "a=b",
    "(c)",
)
AUTHSERV_IDS = ("mx.harborfile.example", "MX.harborfile.example 1", "other.example", '"mx.harborfile.example"', "")
ENDS = ("\r\n", "\n")

words = st.sampled_from(WORDS) | st.text(max_size=12)
phrases = st.lists(words, max_size=8).map(" ".join)
addresses = st.builds("{}@{}".format, st.sampled_from(LOCALS), st.sampled_from(DOMAINS))
mailboxes = st.one_of(
    addresses,
    st.builds("{} <{}>".format, st.sampled_from(NAMES), addresses),
    st.builds("{}: {}, {};".format, st.sampled_from(NAMES), addresses, addresses),
)
address_lists = st.lists(mailboxes, max_size=4).map(", ".join)
message_ids = st.builds("<{}@{}>".format, st.sampled_from(("1", "a.b", "$", "é", "")), st.sampled_from(DOMAINS))
id_lists = st.lists(message_ids, max_size=5).map(" ".join)
dates = st.builds(
    "{}, {} {} {} {:02}:{:02}:00 {}".format,
    st.sampled_from(("Fri", "Fr", "")),
    st.integers(-1, 40),
    st.sampled_from(("Nov", "nov", "13", "Mär")),
    st.integers(0, 99999),
    st.integers(0, 30),
    st.integers(0, 70),
    st.sampled_from(("+0000", "-0000", "GMT", "+9999", "EST", "", "(CET)")),
)
results = st.builds(
    "{}={} {}".format,
    st.sampled_from(METHODS),
    st.sampled_from(RESULTS),
    st.lists(st.sampled_from(PROPERTIES)).map(" ".join),
)
authentication = st.builds(
    "{}; {}".format, st.sampled_from(AUTHSERV_IDS), st.lists(results, max_size=4).map(";\r\n\t".join)
)
FIELD_VALUES = {
    "From": mailboxes,
    "To": st.just("support@harborfile.example") | address_lists,
    "Cc": address_lists,
    "Reply-To": address_lists,
    "Subject": phrases,
    "Date": dates,
    "Message-ID": message_ids,
    "In-Reply-To": id_lists,
    "References": id_lists,
    "Authentication-Results": authentication,
    "Auto-Submitted": st.sampled_from(("no", "auto-replied", "AUTO-generated; x=y", "(no) no", "")),
    "Return-Path": st.sampled_from(("<>", "<anna@example.net>", "")),
    "X-Other": phrases,
}
fields = st.one_of(*(st.builds(f"{name}: {{}}".format, values) for name, values in FIELD_VALUES.items()))
headers = st.tuples(
    st.builds("From: {}".format, mailboxes),
    st.just("To: support@harborfile.example"),
    st.lists(fields | st.sampled_from([field.decode("latin-1") for field in FIELDS]), max_size=10),
).map(lambda parts: [parts[0], parts[1], *parts[2]])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Paragraphs, attributions and quotations nested to any depth."""
    lines: list[str] = []
    depth = 0
    for _ in range(draw(st.integers(0, 8))):
        depth = max(0, depth + draw(st.integers(-1, 2)))
        block = draw(st.sampled_from(ATTRIBUTIONS) | phrases)
        lines += [f"{'> ' * depth}{line}" for line in block.split("\n")]
    return "\n".join(lines)


@st.composite
def leaves(draw: st.DrawFn) -> tuple[str, bytes]:
    """One part without parts: its Content fields and its body, which need not fit."""
    kind = draw(st.sampled_from([*TYPES, b"text/plain", b"text/plain", b"text/html", b"application/pdf"])).decode(
        "latin-1"
    )
    charset = draw(st.sampled_from(CHARSETS)).decode("latin-1")
    encoding = draw(st.sampled_from(ENCODINGS)).decode("latin-1")
    text = draw(texts())
    if "html" in kind:
        text = f"<div>{text}<blockquote><style>{text}</style><table><tr><td>{text}" * draw(st.sampled_from((1, 1, 40)))
    body = text.encode(draw(st.sampled_from(("utf-8", "utf-16", "utf-7"))), "replace")
    if encoding.lower().startswith("base64"):
        body = encodebytes(body)
    elif encoding == "quoted-printable":
        body = encodestring(body)
    form = draw(st.sampled_from(("charset=", "charset=", "charset*=utf-8''")))  # the last is that of RFC 2231
    return f"Content-Type: {kind}; {form}{charset}\r\nContent-Transfer-Encoding: {encoding}\r\n", body


def _joined(parts: list[tuple[str, bytes]], boundary: str, kind: str, is_closed: bool) -> tuple[str, bytes]:
    mark = f"--{boundary}".encode()
    body = b"".join(mark + b"\r\n" + head.encode() + b"\r\n" + content + b"\r\n" for head, content in parts)
    return f'Content-Type: {kind}; boundary="{boundary}"\r\n', body + (mark + b"--\r\n" if is_closed else b"")


def _containers(children: st.SearchStrategy[tuple[str, bytes]]) -> st.SearchStrategy[tuple[str, bytes]]:
    multipart = st.builds(
        _joined,
        st.lists(children, max_size=3),
        st.sampled_from(("b", "b", "bb", "c d", "")),
        st.sampled_from(
            ("multipart/mixed", "multipart/alternative", "multipart/report", "multipart/related", "multipart/")
        ),
        st.booleans(),
    )
    attached = children.map(
        lambda part: ("Content-Type: message/rfc822\r\n", b"Subject: inner\r\n" + part[0].encode() + b"\r\n" + part[1])
    )
    return multipart | attached


trees = st.recursive(leaves(), _containers, max_leaves=5)


@st.composite
def mails(draw: st.DrawFn) -> bytes:
    """A whole mail."""
    head, body = draw(trees)
    end = draw(st.sampled_from(ENDS))
    raw = (
        "\r\n".join(draw(headers)).encode("utf-8", "replace")
        + b"\r\n"
        + head.encode("utf-8", "replace")
        + b"\r\n"
        + body
    )
    return raw.replace(b"\r\n", end.encode())
