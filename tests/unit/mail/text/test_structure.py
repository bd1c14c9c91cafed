"""The quick way to the tree of parts: what the standard library's parser makes of the same bytes, or nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.mail.text.structure import MAX_DEPTH, read_tree
from tests.fuzz.checks import check_structure

ROOT = Path(__file__).parents[4]
OWN_MAILS = [path for folder in ("tests", "support_agent") for path in sorted((ROOT / folder).rglob("*.eml"))]
LINES = st.sampled_from(
    [
        b"",
        b"",
        b"Subject: a",
        b"Subject:",
        b" folded",
        b"\t",
        b"Content-Type: text/plain",
        b"Content-Type: multipart/mixed; boundary=b",
        b"Content-Type: multipart/mixed;\n boundary=c",
        b'Content-Type: multipart/related; boundary="b c "',
        b"Content-Type: multipart/mixed; boundary=a:b",
        b"Content-Type: multipart/mixed",
        b"Content-Type: multipart/digest; boundary=b",
        b"Content-Type: message/rfc822",
        b"Content-Type: message/delivery-status",
        b"CONTENT-TYPE: MESSAGE/partial",
        b"Content-Type:",
        b"Content-Type: multipart",
        b"Content-Transfer-Encoding: base64",
        b"--b",
        b"--b",
        b"--b--",
        b"--b -- ",
        b"--b \t",
        b"--b-- ",
        b"--bb",
        b"--c",
        b"--c--",
        b"--b c",
        b"--a:b",
        b"--",
        b"From anna",
        b":",
        b"text",
        b"\x85\xe4: a",
        b"Subject: \xe4\x0b\x0c",
        b"a\x0b: b",
    ]
)
ENDS = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r\n", b"\r", b""])


@st.composite
def mails(draw: st.DrawFn) -> bytes:
    """Lines of which a parser has to know the meaning, in any order, mostly with one kind of line end."""
    end = draw(ENDS)
    lines = draw(st.lists(LINES, max_size=16))
    if draw(st.integers(0, 4)):
        return b"".join(line + (end or b"\n") for line in lines)
    return b"".join(line + draw(ENDS) for line in lines)


@pytest.mark.parametrize("path", OWN_MAILS, ids=lambda path: path.stem)
def test_tree_of_our_own_mails_is_that_of_the_standard_library(path: Path) -> None:
    """With either line end, and where the mail breaks off."""
    raw = path.read_bytes()
    lines = raw.replace(b"\r\n", b"\n")

    for variant in (raw, lines, lines.replace(b"\n", b"\r\n"), raw[: len(raw) * 2 // 3]):
        check_structure(variant)


def test_most_mails_go_the_quick_way() -> None:
    """Else it would be right, and of no use."""
    quick = sum(check_structure(path.read_bytes()) for path in OWN_MAILS)

    assert quick > len(OWN_MAILS) * 0.9


@settings(max_examples=1000, deadline=None)
@given(mails())
def test_tree_of_any_lines_is_that_of_the_standard_library(raw: bytes) -> None:
    check_structure(raw)


@pytest.mark.parametrize(
    "body",
    [
        b"--b\n\none\n\n--b\nContent-Type: text/html\n\ntwo\n--b--\n",
        b"preamble\n--b\n\none\n--b--",
        b"\n--b\n\n--b--\nepilogue\n",
        b"--b\nContent-Type: message/rfc822\n\nSubject: inner\n\ntext\n--b--\n",
        b"--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\n\none\n--c--\n\n--b\n\ntwo\n--b--\n",
        b"--b\nContent-Type: message/delivery-status\n\nA: 1\n\nB: 2\nC: 3\n\n--b--\n",
    ],
)
def test_usual_multiparts_go_the_quick_way(body: bytes) -> None:
    raw = b"From: a@b.example\nContent-Type: multipart/mixed; boundary=b\n\n" + body

    assert check_structure(raw)
    assert check_structure(raw.replace(b"\n", b"\r\n"))


@pytest.mark.parametrize(
    "raw",
    [
        b"Subject: a\rFrom: b\n\ntext",
        b" folded\nSubject: a\n\ntext",
        b"Subject: a\n\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\none\n".replace(b"a\n\n", b"a\n"),
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\n--b\n\none\n--b--\n",
        b"Content-Type: multipart/mixed\n\ntext",
        b"Content-Type: multipart/digest; boundary=b\n\n--b\n\nSubject: a\n\none\n--b--\n",
    ],
)
def test_what_is_unusual_is_left_to_the_standard_library(raw: bytes) -> None:
    """Another line end, a line before the header, a boundary that is doubled, missing or never closed, a digest."""
    assert read_tree(raw) is None


def test_deep_mails_are_left_to_the_standard_library() -> None:
    """It knows when to stop; and so does this."""
    inner = b"Content-Type: message/rfc822\n\n"

    assert check_structure(inner * MAX_DEPTH + b"Subject: a\n\ntext")
    assert read_tree(inner * 100_000) is None


@pytest.mark.parametrize(
    "raw",
    [
        b"X:" + b" " * 500_000,
        b"X" * 500_000,
        b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b " * 200_000,
        b"Content-Type: multipart/mixed; boundary=b\n\n" + b"\n--b" * 200_000,
        b"Content-Type: message/delivery-status\n\n" + b"a: b\n\n" * 50_000,
        b"A: b\n" * 100_000 + b"\n",
    ],
    ids=["spaces", "name", "one line", "boundaries", "blocks", "fields"],
)
def test_time_is_linear(raw: bytes) -> None:
    started = time.process_time()

    read_tree(raw)

    assert time.process_time() - started < 2


def test_headers_without_a_body_are_a_mail() -> None:
    assert check_structure(b"From: a@b.example\r\nSubject: a\r\n")
    assert not check_structure(b"From: a@b.example\r\nSubject: cut of")
