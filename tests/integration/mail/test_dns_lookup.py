"""TXT look-ups over the wire, with a name server on the loopback interface; rows S21 and S23 need them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from support_agent.config.agent import AgentSettings
from support_agent.errors import TransientError
from support_agent.mail.senders.dkim_check import verify_dkim
from support_agent.transport.dns_lookup import DnsLookup
from tests.dkim_signing import make_key, sign

KEY = make_key(2048)
MAIL = b"From: anna@example.net\r\nSubject: A question\r\n\r\nCan I get a refund?\r\n"
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def strings(text: bytes) -> str:
    """TXT data: strings of at most 255 bytes."""
    return " ".join(f'"{text[at : at + 255].decode()}"' for at in range(0, len(text), 255))


RECORDS = {
    "s1._domainkey.example.net.": [strings(KEY.record)],
    "two.example.net.": ['"one" "whole"', '"another"'],
}


def answer(query: dns.message.Message) -> dns.message.Message | None:
    """The reply to one question: what `RECORDS` has, or what the name asks for; None: silence."""
    reply = dns.message.make_response(query)
    question = query.question[0]
    name = question.name.to_text().lower()
    if name == "silent.example.net.":
        return None
    if name == "broken.example.net.":
        reply.set_rcode(dns.rcode.SERVFAIL)
    elif name in RECORDS:
        reply.answer.append(dns.rrset.from_text(question.name, 60, "IN", "TXT", *RECORDS[name]))
    elif name != "empty.example.net.":
        reply.set_rcode(dns.rcode.NXDOMAIN)
    return reply


@contextmanager
def name_server() -> Iterator[int]:
    """A name server on a free UDP port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        port = int(server.getsockname()[1])

        def serve() -> None:
            while data := server.recvfrom(4096):
                if data[0] == b"stop":
                    return
                if reply := answer(dns.message.from_wire(data[0])):
                    server.sendto(reply.to_wire(), data[1])

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield port
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.sendto(b"stop", ("127.0.0.1", port))
            thread.join()


@pytest.fixture(scope="module")
def lookup() -> Iterator[DnsLookup]:
    with name_server() as port:
        yield DnsLookup(("127.0.0.1",), port)


def test_strings_of_a_record_are_one_and_records_are_several(lookup: DnsLookup) -> None:
    assert sorted(lookup("two.example.net", 5)) == [b"another", b"onewhole"]


@pytest.mark.parametrize("name", ["absent.example.net", "empty.example.net", "a..b", "x" * 64 + ".example", "." * 3])
def test_a_name_that_has_none_or_cannot_be_is_an_answer(lookup: DnsLookup, name: str) -> None:
    assert lookup(name, 5) == ()


@pytest.mark.parametrize("name", ["silent.example.net", "broken.example.net"])
def test_a_server_that_does_not_answer_is_no_answer(lookup: DnsLookup, name: str) -> None:
    with pytest.raises(TransientError, match="did not answer"):
        lookup(name, 0.3)


def test_a_server_that_is_not_there_is_no_answer() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(TransientError):
            DnsLookup(("127.0.0.1",), unused.getsockname()[1])("example.net", 0.3)


def test_s21_a_signed_mail_is_verified_with_a_key_from_the_dns(lookup: DnsLookup) -> None:
    agent = AgentSettings(verify_dkim=True)
    assert verify_dkim(
        sign(MAIL, KEY, "example.net", signed=("from", "subject")), "example.net", agent, NOW, lookup
    ).is_aligned
    other = verify_dkim(sign(MAIL, KEY, "absent.example"), "example.net", agent, NOW, lookup)
    assert other.why == "DKIM: absent.example: no key in the DNS"
