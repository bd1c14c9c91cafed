"""The parts of a mail: what is text, what is attached."""

from __future__ import annotations

import hashlib

from support_agent.mail.message import parse
from tests.unit.mail.mails import mail

ALTERNATIVES = b"""Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/plain

%s
--b
Content-Type: text/html

<p>rich words</p>
--b--
"""


def test_attachments_are_listed_with_size_and_digest_and_are_not_text() -> None:
    message = mail("attachments")
    assert message.text == "siehe Anhang"
    assert [(one.name, one.content_type) for one in message.attachments] == [
        ("größe.png", "image/png"),
        ("notes.txt", "text/plain"),
        ("", "message/rfc822"),
    ]
    png = message.attachments[0]
    assert png.size_bytes == 8
    assert png.sha256 == hashlib.sha256(b"\x89PNG\r\n\x1a\n").hexdigest()


def test_an_attached_mail_is_not_read() -> None:
    """Its text and its types are not those of this mail: a forwarded bounce is no bounce."""
    message = mail("customer_forwards_a_bounce")
    assert message.content_types == ("multipart/mixed", "text/plain", "message/rfc822")
    assert message.text == "What does this mean?"


def test_of_alternatives_the_plain_text_is_read() -> None:
    assert parse(ALTERNATIVES % b"plain words").text == "plain words"


def test_an_empty_plain_alternative_gives_way_to_the_html() -> None:
    assert parse(ALTERNATIVES % b"  ").text == "rich words"


def test_html_that_breaks_off_matters_only_where_it_is_the_text() -> None:
    """A mail must not wait for a person because of an alternative that nobody reads."""
    broken = ALTERNATIVES.replace(b"<p>rich words</p>", b"<p>rich words <a href='x")
    assert not [one for one in parse(broken % b"plain words").defects if one.startswith("limit: ")]
    assert [one for one in parse(broken % b" ").defects if one.startswith("limit: ")]


def test_html_alone_becomes_text() -> None:
    assert mail("html_only").visible_text.startswith("Hallo & guten Tag,")


def test_base64_that_is_broken_is_a_defect_or_text_and_never_an_exception() -> None:
    message = parse(b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n!!!\n")
    assert message.size_bytes > 0
