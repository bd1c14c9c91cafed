"""Sending: a server that misbehaves at each line, and a real Postfix; rows S60 to S62."""

from __future__ import annotations

import hashlib

import pytest
from pydantic import SecretStr

from support_agent.errors import ConfigError, TransientError
from support_agent.mail.outbox import Delivery, Transport
from support_agent.settings import Security, SmtpSettings
from tests.servers.certificates import Certificates
from tests.servers.dovecot import Dovecot, free_port
from tests.servers.postfix import LATER, MAX_MESSAGE_BYTES, REFUSED, Postfix
from tests.servers.smtp_script import CUT, HANG, ScriptedSmtp

FROM = "support@harborfile.example"
TO = "anna.keller@example.net"
RAW = b"From: support@harborfile.example\r\nSubject: t\r\n\r\nhello\r\n.\r\n..two\r\n"


SOON_S = 0.2
"""How long a server may hang before it is given up; where none hangs, a busy machine has much longer."""


def plain(port: int, **changes: object) -> SmtpSettings:
    base: dict[str, object] = {"host": "127.0.0.1", "port": port, "security": "plain"}
    return SmtpSettings.model_validate(base | changes)


def deliver(script: dict[str, str], raw: bytes = RAW) -> tuple[Delivery, ScriptedSmtp]:
    hanging = {moment for moment, reply in script.items() if reply == HANG}
    limits = {"timeout_s": SOON_S} if hanging - {"DOT", "QUIT"} else {}
    limits |= {"final_timeout_s": SOON_S} if "DOT" in hanging else {}
    with ScriptedSmtp(script) as server:
        return Transport(plain(server.port, **limits)).deliver(raw, FROM, TO), server


def test_a_mail_arrives_byte_for_byte() -> None:
    """RFC 5321, 4.5.2: lines that begin with a dot survive."""
    delivery, server = deliver({})
    assert delivery == Delivery(status="sent", detail="2.0.0 taken as 42", smtp_code=250)
    assert server.mails == [RAW]
    assert server.lines[:2] == ["EHLO harborfile.example", f"MAIL FROM:<{FROM}> SIZE={len(RAW)}"]


def test_s60_extensions_are_used_only_where_advertised() -> None:
    _, server = deliver({"EHLO": "250 test"})
    assert f"MAIL FROM:<{FROM}>" in server.lines


@pytest.mark.parametrize("moment", ["MAIL", "RCPT", "DATA", "DOT"])
def test_s61_a_5yz_reply_about_the_mail_fails_it(moment: str) -> None:
    delivery, server = deliver({moment: "550 5.1.1 no"})
    assert (delivery.status, delivery.smtp_code) == ("failed", 550)
    assert "5.1.1 no" in delivery.detail
    assert len(server.mails) == (moment == "DOT")


@pytest.mark.parametrize("moment", ["GREETING", "MAIL", "RCPT", "DATA", "DOT"])
@pytest.mark.parametrize("reply", ["421 4.3.2 closing", "451 4.7.1 greylisted"])
def test_s61_a_4yz_reply_is_tried_again(moment: str, reply: str) -> None:
    delivery, _ = deliver({moment: reply})
    assert (delivery.status, delivery.smtp_code) == ("retry", int(reply[:3]))


@pytest.mark.parametrize("moment", ["GREETING", "EHLO"])
def test_a_server_that_refuses_the_session_says_nothing_about_the_mail(moment: str) -> None:
    delivery, _ = deliver({moment: "554 go away"})
    assert (delivery.status, delivery.smtp_code) == ("retry", 554)


@pytest.mark.parametrize("problem", [CUT, HANG, "hello?"])
@pytest.mark.parametrize("moment", ["GREETING", "EHLO", "MAIL", "RCPT", "DATA"])
def test_s61_lost_before_the_final_dot_is_safe_to_retry(moment: str, problem: str) -> None:
    delivery, server = deliver({moment: problem})
    assert delivery.status == "retry"
    assert server.mails == []


def test_s61_lost_while_the_content_is_on_its_way_is_safe_to_retry() -> None:
    """More than the buffers of both ends can hold: the dot cannot have left."""
    delivery, server = deliver({"CONTENT": CUT}, RAW + b"x" * 76 * 400_000)
    assert (delivery.status, server.mails) == ("retry", [])


@pytest.mark.parametrize("problem", [CUT, HANG, "hello?", "354 go on"])
def test_s62_lost_after_the_final_dot_is_uncertain(problem: str) -> None:
    """RFC 5321, 4.5.3.2.6: the server may have taken the mail; a blind retry could send it twice."""
    delivery, server = deliver({"DOT": problem})
    assert delivery.status == "uncertain"
    assert server.mails == [RAW]


@pytest.mark.parametrize("problem", [CUT, HANG, "500 what?"])
def test_what_happens_after_the_server_took_the_mail_changes_nothing(problem: str) -> None:
    assert deliver({"QUIT": problem})[0].status == "sent"


def test_a_server_that_is_not_there_is_tried_again() -> None:
    assert Transport(plain(free_port())).deliver(RAW, FROM, TO).status == "retry"


@pytest.mark.parametrize("recipient", ["", "a@b.example\r\nRCPT TO:<x@y.example>", "a b@c.example", "ä@b.example"])
def test_an_address_that_cannot_be_written_to_fails_without_a_connection(recipient: str) -> None:
    assert Transport(plain(free_port())).deliver(RAW, FROM, recipient).status == "failed"


def test_s60_starttls_is_never_downgraded() -> None:
    """RFC 8314: a server (or a man in the middle) that offers no STARTTLS gets neither login nor mail."""
    with ScriptedSmtp() as server:
        settings = plain(server.port, host="localhost", security="starttls", user="u", password=SecretStr("p"))
        assert Transport(settings).deliver(RAW, FROM, TO).status == "retry"
        with pytest.raises(ConfigError, match=r"smtp\.security"):
            Transport(settings).check()
    assert not [line for line in server.lines if line.startswith(("AUTH", "MAIL"))]


@pytest.mark.servers
@pytest.mark.parametrize("security", list(Security)[:2])
def test_postfix_takes_a_mail_and_it_is_in_the_mailbox(postfix: Postfix, dovecot: Dovecot, security: Security) -> None:
    port = postfix.smtps_port if security is Security.TLS else postfix.submission_port
    to = f"{security}@example.net"
    body = b"caf\xc3\xa9\r\n.\r\n" * 2000
    raw = b"From: support@harborfile.example\r\nMessage-ID: <1@t>\r\n\r\n" + body
    delivery = Transport(postfix.settings(port=port, security=security)).deliver(raw, FROM, to)
    assert (delivery.status, delivery.smtp_code) == ("sent", 250), delivery.detail
    _, _, arrived = dovecot.arrived(to).partition(b"\r\n\r\n")
    assert hashlib.sha256(arrived).digest() == hashlib.sha256(body).digest()


@pytest.mark.servers
def test_postfix_refuses_and_puts_off(postfix: Postfix) -> None:
    transport = Transport(postfix.settings())
    assert transport.deliver(RAW, FROM, REFUSED).status == "failed"
    assert transport.deliver(RAW, FROM, LATER).status == "retry"
    assert transport.deliver(RAW, FROM, "relay@elsewhere.invalid").status == "sent"  # logged in: it would relay
    too_big = RAW + b"x" * 70 * (MAX_MESSAGE_BYTES // 70)
    assert transport.deliver(too_big, FROM, TO).smtp_code == 552


@pytest.mark.servers
def test_check_passes_where_the_settings_are_right(postfix: Postfix) -> None:
    Transport(postfix.settings()).check()


@pytest.mark.servers
def test_a_wrong_password_is_tried_again_and_check_says_what_to_do(postfix: Postfix) -> None:
    """One mail must not fail for good because the operator is changing a password."""
    transport = Transport(postfix.settings(password=SecretStr("wrong-secret")))
    delivery = transport.deliver(RAW, FROM, TO)
    assert (delivery.status, delivery.smtp_code) == ("retry", 535)
    with pytest.raises(ConfigError, match=r"smtp\.user and smtp\.password") as caught:
        transport.check()
    assert "wrong-secret" not in str(caught.value) + delivery.detail


@pytest.mark.servers
def test_s60_a_certificate_of_a_stranger_is_refused(postfix: Postfix, certificates: Certificates) -> None:
    transport = Transport(postfix.settings(ca_file=certificates.stranger))
    assert transport.deliver(RAW, FROM, TO).status == "retry"
    with pytest.raises(ConfigError, match=r"smtp\.ca_file"):
        transport.check()


def test_check_of_a_server_that_is_not_there_says_that_it_may_pass() -> None:
    with pytest.raises(TransientError, match="cannot be used now"):
        Transport(plain(free_port())).check()
