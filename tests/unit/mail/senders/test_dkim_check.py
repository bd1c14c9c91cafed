"""Our own DKIM verification; rows S21 and S22. The mails are signed here, the DNS is a dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.mail.senders.dkim_check import DkimVerdict, verify_dkim
from tests.dkim_signing import SIGNED, Names, make_key, public_key, sign
from tests.unit.mail.mails import AGENT

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FROM = "example.net"
KEY = make_key()
MAIL = (
    b"From: Anna <anna@example.net>\r\nTo: support@harborfile.example\r\nSubject: A\r\n  question\r\n"
    b"Date: Fri, 20 Nov 2026 12:00:00 +0000\r\nMessage-ID: <1@example.net>\r\n\r\n"
    b"Can I get \t a refund? \r\n\r\nAnna\r\n\r\n\r\n"
)
IN_A_YEAR = str(int(NOW.timestamp()) + 365 * 86_400)


def names(**others: bytes) -> Names:
    return Names({f"s1._domainkey.{FROM}": KEY.record, **others})


def verdict(raw: bytes, lookup: Names | None = None, **changes: object) -> DkimVerdict:
    agent = AGENT.model_copy(update={"verify_dkim": True, **changes})
    return verify_dkim(raw, FROM, agent, NOW, lookup if lookup is not None else names())


@pytest.mark.parametrize("canonical", ["relaxed/relaxed", "relaxed/simple", "simple/relaxed", "simple/simple"])
@pytest.mark.parametrize("bits", [1024, 2048])
def test_s21_a_sound_signature_of_the_from_domain_is_aligned(canonical: str, bits: int) -> None:
    key = make_key(bits)
    lookup = Names({f"s1._domainkey.{FROM}": key.record})
    found = verdict(sign(MAIL, key, FROM, canonical=canonical), lookup)
    assert found == DkimVerdict(True, True, "DKIM signature of example.net, checked by us")
    assert lookup.asked == [(f"s1._domainkey.{FROM}", AGENT.dkim_timeout_s)]


def test_line_ends_of_a_file_change_nothing() -> None:
    assert verdict(sign(MAIL, KEY, FROM).replace(b"\r\n", b"\n")).is_aligned


@pytest.mark.parametrize("ends", [b"\n\n", b"\n\r\n", b"\r\n\n"])
def test_line_ends_around_the_blank_line_change_nothing(ends: bytes) -> None:
    """The header's last line ends with the first of the two."""
    assert verdict(sign(MAIL, KEY, FROM).replace(b"\r\n\r\n", ends, 1)).is_aligned


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
def test_header_without_a_body_is_read_to_its_end(end: bytes) -> None:
    """A CR alone is a line end for some readers; every other way to end is none of the header's matter."""
    head = sign(MAIL, KEY, FROM).partition(b"\r\n\r\n")[0]
    why = verdict(head + end).why
    assert ("a bare CR" in why) == (end == b"\r")


def test_a_signature_that_says_when_it_ends_holds_until_then() -> None:
    assert verdict(sign(MAIL, KEY, FROM, tags={"t": "1700000000", "x": IN_A_YEAR})).is_aligned


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        (b"refund", b"payout"),
        (b"Anna <anna@", b"Anna <boss@"),
        (b"Subject: A", b"Subject: B"),
        (b"Anna\r\n\r\n", b"Anna\r\n\r\nPS: send it to me.\r\n"),
    ],
)
def test_what_was_changed_on_the_way_does_not_match(written: bytes, instead: bytes) -> None:
    raw = sign(MAIL, KEY, FROM).replace(written, instead)
    assert not verdict(raw).has_pass
    assert verdict(raw).why.startswith("DKIM: example.net: ")


@pytest.mark.parametrize(
    "added",
    [
        b"From: boss@example.net\r\n",
        b"Subject: another\r\n",
        b"Content-Type: text/plain\r\nContent-Type: text/html\r\n",
    ],
)
def test_s22_a_second_field_on_top_of_the_signed_one_ends_it(added: bytes) -> None:
    """The signature covers the lower one, a reader may look at the upper one."""
    assert "several" in verdict(added + sign(MAIL, KEY, FROM)).why


def test_a_field_that_was_signed_as_absent_cannot_be_added() -> None:
    signed = (*SIGNED, "from", "reply-to")
    assert verdict(sign(MAIL, KEY, FROM, signed=signed)).is_aligned
    assert not verdict(b"Reply-To: x@evil.example\r\n" + sign(MAIL, KEY, FROM, signed=signed)).has_pass


@pytest.mark.parametrize(
    ("tags", "why"),
    [
        ({"l": "10"}, "l= leaves a part of the body unsigned"),
        ({"l": "0"}, "l= leaves a part of the body unsigned"),
        ({"x": "1700000000"}, "expired"),
        ({"x": str(int(NOW.timestamp()))}, "expired"),
        ({"x": "9" * 5000}, "a signature of more than"),
        ({"x": "soon"}, "expired"),
        ({"a": "rsa-sha1"}, "not signed with rsa-sha256"),
        ({"a": "ed25519-sha256"}, "not signed with rsa-sha256"),
        ({"a": None}, "not signed with rsa-sha256"),
        ({"v": "2"}, "ValidationError"),
        ({"i": "@evil.example"}, "ValidationError"),
        ({"c": "loose/loose"}, "MessageFormatError"),
        ({"d": "exa\u00fcmple.net"}, "a signature that cannot be read"),
        ({"d": "example..net"}, "d= or s= is no domain"),
        ({"s": "a b"}, "d= or s= is no domain"),
        ({"s": ""}, "d= or s= is no domain"),
        ({"d": None}, "a signature that cannot be read"),
        ({"h": None}, "a signature that cannot be read"),
        ({"z": " " * 200}, "spaces in a row"),
    ],
)
def test_a_signature_that_is_not_worth_believing_does_not_count(tags: Mapping[str, str | None], why: str) -> None:
    """RFC 6376, sections 3.5 and 8.2; RFC 8301, section 3.1."""
    found = verdict(sign(MAIL, KEY, FROM, tags=tags))
    assert not found.has_pass
    assert why in found.why


@pytest.mark.parametrize(
    ("signed", "why"),
    [(("subject", "date"), "from is not signed"), (("from", "date"), "subject is not signed")],
)
def test_from_and_subject_must_be_signed(signed: tuple[str, ...], why: str) -> None:
    found = verdict(sign(MAIL, KEY, FROM, signed=signed))
    assert (found.has_pass, found.why) == (False, f"DKIM: example.net: {why}")


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (make_key(768).record, "not a key of 1024 to 4096 bits"),
        (b"v=DKIM1; p=" + public_key(KEY.modulus << 4000, 65537), "not a key of 1024 to 4096 bits"),
        (b"v=DKIM1; p=" + public_key(KEY.modulus, (1 << 512) + 1), "not a key of 1024 to 4096 bits"),
        (make_key(seed=2).record, "the signature does not match"),
        (b"v=DKIM1; p=", "the key is revoked"),
        (b"v=DKIM2; p=x", "not a key of DKIM for RSA"),
        (b"v=DKIM1; k=ed25519; p=x", "not a key of DKIM for RSA"),
        (KEY.record + b"; t=y", "the key is for tests"),
        (KEY.record + b"; t=s:y", "the key is for tests"),
        (KEY.record + b"; h=sha1", "the key is not for this"),
        (KEY.record + b"; s=tlsrpt", "the key is not for this"),
        (KEY.record + b"; n=" + b"x" * 4000, "a key record that is too long"),
        (b"p=" + b"!" * 30, "UnparsableKeyError"),
        (b"p=\xff", "Error"),
        (b"v=spf1 -all", "no key in the DNS"),
        ((), "no key in the DNS"),
        ((KEY.record, make_key(seed=2).record), "several keys in the DNS"),
    ],
)
def test_a_key_that_is_weak_revoked_or_for_something_else_does_not_count(
    record: bytes | tuple[bytes, ...], why: str
) -> None:
    """RFC 6376, section 3.6.1; RFC 8301, section 3.2."""
    weak = make_key(768)
    key = weak if record == weak.record else KEY
    found = verdict(sign(MAIL, key, FROM), Names({f"s1._domainkey.{FROM}": record}))
    assert not found.has_pass
    assert why in found.why


@pytest.mark.parametrize("more", [b"; h=sha1:sha256", b"; s=email", b"; s=*", b"; t=", b"; n=ours", b"; t=s"])
def test_a_key_for_mail_counts(more: bytes) -> None:
    assert verdict(sign(MAIL, KEY, FROM), Names({f"s1._domainkey.{FROM}": KEY.record + more})).is_aligned


def test_a_key_that_is_not_for_subdomains_does_not_sign_for_one() -> None:
    raw = sign(MAIL, KEY, FROM, tags={"i": "@news.example.net"})
    assert verdict(raw).is_aligned
    strict = Names({f"s1._domainkey.{FROM}": KEY.record + b"; t=s"})
    assert "the key is not for subdomains" in verdict(raw, strict).why


@pytest.mark.parametrize("domain", ["mail.example.net", "net", "evil.example", "example.net.evil.example"])
def test_s21_a_signature_of_another_domain_is_a_pass_that_is_aligned_within_the_organisation_only(domain: str) -> None:
    found = verdict(sign(MAIL, KEY, domain), Names({f"s1._domainkey.{domain}": KEY.record}), alignment="relaxed")
    assert (found.has_pass, found.is_aligned) == (True, domain == "mail.example.net")


@pytest.mark.parametrize(("alignment", "is_aligned"), [("strict", False), ("relaxed", True)])
def test_s21_without_a_policy_a_subdomain_speaks_for_the_domain_only_where_the_settings_say_so(
    alignment: str, is_aligned: bool
) -> None:
    """As with the results of the border server: "strict", the default, asks for the From domain itself."""
    lookup = Names({f"s1._domainkey.mail.{FROM}": KEY.record})
    found = verdict(sign(MAIL, KEY, f"mail.{FROM}"), lookup, alignment=alignment)
    assert (found.has_pass, found.is_aligned) == (True, is_aligned)
    assert is_aligned or found.why.endswith(f"but {FROM} publishes no policy")
    assert AGENT.alignment == "strict"


@pytest.mark.parametrize(
    ("policy", "is_aligned"),
    [
        ((), False),
        (b"v=DMARC1; p=reject", True),
        (b"v=DMARC1; p=reject; adkim=r", True),
        (b"v=DMARC1; p=reject; adkim=s", False),
        (b"v=DMARC1;p=none;adkim = S;", False),
        (b"another text", False),
        ((b"v=DMARC1; p=none", b"v=DMARC1; p=reject"), False),
    ],
)
def test_s21_the_published_policy_says_whether_a_subdomain_speaks_for_the_domain(
    policy: bytes | tuple[bytes, ...], is_aligned: bool
) -> None:
    """RFC 7489, sections 3.1.1 and 6.6.3."""
    domain = "mail.example.net"
    lookup = Names({f"s1._domainkey.{domain}": KEY.record, f"_dmarc.{FROM}": policy})
    found = verdict(sign(MAIL, KEY, domain), lookup)
    assert (found.has_pass, found.is_aligned) == (True, is_aligned)


def test_s21_the_policy_of_a_subdomain_is_that_of_its_organisation_where_it_has_none() -> None:
    raw = sign(MAIL.replace(b"anna@", b"anna@shop."), KEY, FROM)
    lookup = Names({f"s1._domainkey.{FROM}": KEY.record, f"_dmarc.{FROM}": b"v=DMARC1; adkim=s"})
    found = verify_dkim(raw, f"shop.{FROM}", AGENT, NOW, lookup)
    assert (found.has_pass, found.is_aligned) == (True, False)
    assert [name for name, _ in lookup.asked] == [f"s1._domainkey.{FROM}", f"_dmarc.shop.{FROM}", f"_dmarc.{FROM}"]


@pytest.mark.parametrize("silent", [f"s1._domainkey.{FROM}", f"s1._domainkey.mail.{FROM}", f"_dmarc.{FROM}"])
def test_a_dns_that_does_not_answer_is_no_proof_and_no_error(silent: str) -> None:
    domain = f"mail.{FROM}" if "mail" in silent or "dmarc" in silent else FROM
    lookup = Names({f"s1._domainkey.{domain}": KEY.record}, silent=[silent])
    found = verdict(sign(MAIL, KEY, domain), lookup)
    assert not found.is_aligned
    assert "the DNS did not answer" in found.why


def test_the_signature_of_the_from_domain_is_looked_at_first_and_only_so_many() -> None:
    """A sender must not make us ask the DNS without end."""
    raw = sign(MAIL, KEY, FROM)
    for number in range(30):
        raw = sign(raw, KEY, f"d{number}.example")
    lookup = names()
    assert verdict(raw, lookup).is_aligned
    assert [name for name, _ in lookup.asked] == [f"s1._domainkey.{FROM}"]
    nothing = Names({})
    assert not verdict(raw, nothing, dkim_max_signatures=4).has_pass
    assert len(nothing.asked) == 4


def test_a_broken_signature_does_not_hide_a_sound_one() -> None:
    raw = b"DKIM-Signature: nonsense\r\n" + sign(sign(MAIL, KEY, FROM), KEY, FROM, tags={"bh": "AAAA"})
    assert verdict(raw).is_aligned


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (MAIL, "DKIM: no signature"),
        (b"", "DKIM: no signature"),
        (b" folded first\r\n" + MAIL, "cannot be checked"),
        (b"no colon\r\n" + MAIL, "cannot be checked"),
        (sign(MAIL, KEY, FROM).replace(b"Subject: A", b"Subject: A\rX: y"), "a bare CR or a NUL in the header"),
        (b"X: " + b"x" * 200_000 + b"\r\n" + MAIL, "a header of more than"),
        (sign(MAIL, KEY, FROM).replace(b"Date:", b"From eve Fri Nov 20\r\nDate:"), "a line in the header"),
    ],
)
def test_a_mail_that_cannot_be_checked_says_why(raw: bytes, why: str) -> None:
    found = verdict(raw)
    assert not found.has_pass
    assert why in found.why


def parted(content_type: bytes, body: bytes) -> bytes:
    """A mail of MIME, as its signer says by the version."""
    head = MAIL.partition(b"\r\n\r\n")[0]
    return head + b"\r\nMIME-Version: 1.0\r\nContent-Type: " + content_type + b"\r\n\r\n" + body


MIME = (*SIGNED, "mime-version")
PARTS = b"--b\r\n\r\nYes, cancel it.\r\n--b--\r\n"
MIXED = b'multipart/mixed;\r\n boundary="b"'


@pytest.mark.parametrize(
    ("content_type", "body", "is_believed"),
    [
        (MIXED, PARTS, True),
        (MIXED, b"\r\n \r\n" + PARTS + b"\r\n\r\n", True),
        (MIXED, b"Do you want to leave?\r\n" + PARTS, False),
        (MIXED, PARTS + b"That was a joke.\r\n", False),
        (MIXED, PARTS + b"That was a joke.\r\n" + PARTS, False),
        (MIXED, b"--b--\r\n" + PARTS, False),
        (b"multipart/mixed", PARTS, False),
        (b"multipart/mixed; boundary=c", PARTS, False),
        (b"multipart/mixed; boundary=b" + b";" * 2_000, PARTS, False),
        (b"text/plain", b"Do you want to leave?\r\n" + PARTS, True),
        (b"text/plain; charset=utf-8", b"Yes.\r\n", True),
        (b"text/plain; charset=utf-7", b"Yes.\r\n", False),
        (b"text/plain; format=flowed; delsp=yes", b"Do not \r\ncancel.\r\n", False),
        (b"text/plain; charset=iso-8859-7", b"Y\xe9s.\r\n", False),
        (b"text/html", b"Yes, <!-- do not --> cancel it.\r\n", False),
        (b"message/rfc822", b"Subject: x\r\n\r\nYes.\r\n", False),
    ],
)
def test_who_replays_a_mail_cannot_change_how_it_is_read(content_type: bytes, body: bytes, is_believed: bool) -> None:
    """Content-Type is often not signed, and with another one signed text could be hidden, or read as something else."""
    raw = parted(content_type, body)
    assert verdict(sign(raw, KEY, FROM, signed=MIME)).has_pass == is_believed
    assert verdict(sign(raw, KEY, FROM, signed=(*MIME, "content-type"))).has_pass


@pytest.mark.parametrize(
    "added",
    [
        b"MIME-Version: 1.0",
        b"Content-Type: text/plain; charset=utf-8",
        b"Content-Type: text/html",
        b'Content-Type: multipart/mixed; boundary="b"',
        b"Content-Transfer-Encoding: 8bit",
        b"content-transfer-encoding: base64",
        b"Content-Disposition: attachment",
    ],
)
@pytest.mark.parametrize("is_on_top", [True, False])
def test_a_field_of_mime_added_to_a_signed_mail_makes_the_signature_worthless(added: bytes, is_on_top: bool) -> None:
    raw = sign(MAIL, KEY, FROM)
    assert verdict(raw).has_pass
    head, _, body = raw.partition(b"\r\n\r\n")
    changed = added + b"\r\n" + raw if is_on_top else head + b"\r\n" + added + b"\r\n\r\n" + body
    assert not verdict(changed).has_pass
    assert "is not signed" in verdict(changed).why


def test_a_bare_carriage_return_cannot_make_two_readers_see_two_senders() -> None:
    """Python's parser takes a lone CR for a line end, the library does not."""
    mail = MAIL.replace(b"Subject: A", b"Subject: A\rFrom: boss@example.net")
    assert "a bare CR or a NUL in the header" in verdict(sign(mail, KEY, FROM)).why


def test_nothing_a_stranger_wrote_comes_into_why() -> None:
    """It stands in packets and on the terminal."""
    raw = sign(MAIL, KEY, FROM, tags={"a": "<script>", "c": "\x1b[31m", "s": "\x1b[31m"})
    assert verdict(raw).why.isprintable()
    assert "<" not in verdict(raw).why


def test_long_white_space_takes_no_time_of_its_square() -> None:
    """Guarded by the time limit of a test: each of these takes the library minutes."""
    spaces = b" " * 200_000
    assert verdict(sign(MAIL + spaces + b"x\r\n", KEY, FROM)).is_aligned
    assert not verdict(b"DKIM-Signature: v=1; b=" + b"\r\n " * 900 + b"\r\n" + MAIL).has_pass


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_bytes_give_a_verdict(data: st.DataObject) -> None:
    """A signed mail with bytes changed, put in or taken out anywhere, and whatever the DNS says: never an exception."""
    raw = bytearray(sign(MAIL, KEY, FROM))
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(raw)))
        raw[start : start + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    record = data.draw(st.one_of(st.just(KEY.record), st.binary(max_size=80), st.just(b"v=DKIM1; p=AAAA")))
    found = verdict(bytes(raw), Names({f"s1._domainkey.{FROM}": record}))
    assert found.has_pass or not found.is_aligned
    assert found.why
