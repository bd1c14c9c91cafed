"""Address fields: one reading only, or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.mail import addresses
from support_agent.mail.addresses import (
    MAX_ADDRESSES,
    normal_address,
    normal_domain,
    parse_addresses,
    parse_fields,
)
from support_agent.mail.machines.screening import Verdict, screen
from support_agent.mail.message import parse
from support_agent.mail.text.decoding import decode_words
from tests.unit.mail.mails import AGENT, DESK


def read(value: str) -> tuple[list[tuple[str, str]], bool]:
    parsed = parse_addresses(value, decode_words)
    return [(one.name, one.addr) for one in parsed.found], parsed.is_exact


@pytest.mark.parametrize(
    ("value", "name", "addr"),
    [
        ("a@b.example", "", "a@b.example"),
        ("<A@B.Example>", "", "a@b.example"),
        ("Anna Keller <a@b.example>", "Anna Keller", "a@b.example"),
        ('"Keller, Anna" <a@b.example>', "Keller, Anna", "a@b.example"),
        (r'"A \"x\" B" <a@b.example>', 'A "x" B', "a@b.example"),
        ('"c@d.example" <a@b.example>', "c@d.example", "a@b.example"),
        ("a@b.example (Anna (K))", "Anna (K)", "a@b.example"),
        ("=?utf-8?q?M=C3=BCller=2C_x=40y?= <a@b.example>", "Müller, x@y", "a@b.example"),
        ("Anna <a+tag@b.example.>", "Anna", "a+tag@b.example"),
        ("a@b.example <a@b.example>", "a@b.example", "a@b.example"),
        ("A@B.example <a@b.example>", "A@B.example", "a@b.example"),
        ("Anna <a@BÜCHER.example>", "Anna", "a@xn--bcher-kva.example"),
    ],
)
def test_one_plain_address_is_exact(value: str, name: str, addr: str) -> None:
    assert read(value) == ([(name, addr)], True)


@pytest.mark.parametrize(
    "value",
    [
        "c@d.example <a@b.example>",
        "<c@d.example> <a@b.example>",
        "a@b.example.evil.example <a@b.example>",
        "a@b.example c@d.example <a@b.example>",
        '"Bob" a@b.example <a@b.example>',
        "a@b.example <a@b.example> a@b.example",
        "Anna <a@b.example> Keller",
        "Friends: a@b.example;",
        "undisclosed-recipients:;",
        '"Anna <a@b.example>',
        "Anna (x <a@b.example>",
        "Anna <a@b.example",
        "Anna",
        "a@b.example <>",
        "a@b@c.example",
        '"a b"@c.example',
        "a@b.example;",
    ],
)
def test_what_two_readers_could_read_differently_is_not_exact(value: str) -> None:
    """A mail program, a filter and we must agree on who the sender is."""
    assert read(value)[1] is False


def test_a_list_keeps_its_usable_addresses() -> None:
    assert read("a@b.example, , Bob <c@d.example>") == ([("", "a@b.example"), ("Bob", "c@d.example")], True)
    assert read("Friends: a@b.example, c@d.example; e@f.example")[0] == [
        ("", "a@b.example"),
        ("", "c@d.example"),
        ("", "e@f.example"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "@b.example", "a@", "a b@c.example", "a@b c.example", "a@-b.example", "a\r\n@b.c"),
        *("a\xad@b.example", "a\ufeff@b.example", "\xa0a@b.example"),
    ],
)
def test_what_is_no_address_is_none(text: str) -> None:
    assert normal_address(text) is None


def test_sharp_s_keeps_its_own_domain() -> None:
    """IDNA 2003 would turn it into the domain of somebody else."""
    assert normal_domain("straße.example") == "xn--strae-oqa.example"


@given(st.text(st.sampled_from('ab@.<>(),;:"\\ \n\x00ü'), max_size=60))
def test_any_value_is_read_and_every_address_is_normal(value: str) -> None:
    for address in parse_addresses(value, decode_words).found:
        assert normal_address(address.addr) == address.addr


def test_only_ascii_letters_of_the_local_part_are_lowered() -> None:
    """`str.lower` makes a "k" of the KELVIN SIGN: the address of somebody else."""
    assert normal_address("anna.Keller@example.net") == "anna.keller@example.net"
    assert normal_address("anna.\u212aeller@example.net") == "anna.\u212aeller@example.net"


@pytest.mark.parametrize("piece", ["a@\u00fc.de,", "<a@b.de>,", "no address,", "\u00fc <a@b.de>;"])
def test_a_field_of_very_many_addresses_is_read_in_part(piece: str) -> None:
    found = parse_addresses(piece * 5_000, str)
    assert len(found.found) in (0, MAX_ADDRESSES)
    assert (found.is_exact, found.is_whole) == (False, False)


def test_a_field_with_as_many_addresses_as_may_be_is_read_whole() -> None:
    for end in ("", ",", " , ,"):
        found = parse_addresses("a@b.de," * (MAX_ADDRESSES - 1) + "a@b.de" + end, str)
        assert (len(found.found), found.is_whole) == (MAX_ADDRESSES, True)
    assert not parse_addresses("a@b.de," * MAX_ADDRESSES + "a@b.de", str).is_whole


def test_the_limit_is_that_of_all_fields_of_a_name_and_brings_the_mail_to_a_person() -> None:
    raw = b"From: <a@b.example>\r\n" + b"To: x@y.example\r\n" * 600
    message = parse(raw + b"To: " + b"x@y.example, " * 600 + b"\r\nTo: z@y.example\r\n\r\nhi")
    assert len(message.to) == MAX_ADDRESSES
    assert "limit: more than 1000 addresses in To" in message.defects
    assert parse(raw + b"\r\nhi").defects == ()


@pytest.mark.parametrize("name", ["To", "Cc", "Reply-To", "Resent-To", "Delivered-To"])
@pytest.mark.parametrize("address", ["a@\u00fc..x", "no address", "\u00fc..x <a@\u00fc..x>", "a@b.example"])
def test_addresses_that_are_none_count_towards_the_limit(
    monkeypatch: pytest.MonkeyPatch, name: str, address: str
) -> None:
    """Failure: 50 fields of 999 invalid internationalised addresses, 1.3 MB, cost 3.3 seconds of processor time."""
    tried: list[str] = []

    def counted(text: str) -> str | None:
        tried.append(text)
        return normal_address(text)

    monkeypatch.setattr(addresses, "normal_address", counted)
    field = f"{name}: {', '.join([address] * 900)}\r\n".encode()
    raw = b"From: <a@b.example>\r\n" + field * 20 + b"\r\nhi"
    message = parse(raw)
    screening = screen(message, AGENT, DESK)
    assert screening.verdict is Verdict.DESK
    assert len(tried) <= 2 * MAX_ADDRESSES + 10
    is_parsed = name in ("To", "Cc", "Reply-To")
    assert (f"limit: more than 1000 addresses in {name.capitalize()}" in message.defects) is is_parsed


def test_as_many_addresses_as_may_be_are_read_whole_from_several_fields() -> None:
    """A field without an address takes nothing of the limit."""
    values = ["a@b.de, " * 400, "", "nobody", "a@b.de, " * 599, " , "]
    found = parse_fields(values, str)
    assert (len(found.found), found.is_whole) == (MAX_ADDRESSES - 1, True)
    assert not parse_fields([*values, "a@b.de"], str).is_whole
