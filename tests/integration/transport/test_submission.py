"""Sending: a server that misbehaves at each line, and a real Postfix; rows S60 to S62."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest
from pydantic import SecretStr

from support_agent.config.mail_servers import Security, SmtpSettings
from support_agent.errors import ConfigError, TransientError
from support_agent.transport.submission import Delivery, SmtpTransport
from tests.servers.certificates import Certificates
from tests.servers.dovecot import Dovecot, free_port
from tests.servers.postfix import LATER, MAX_MESSAGE_BYTES, REFUSED, Postfix
from tests.servers.smtp_script import CUT, DRIBBLE, ENDLESS_LINE, ENDLESS_REPLY, GOOD, HALF, HANG, ScriptedSmtp
from tests.servers.token_endpoint import token_endpoint, token_source

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FROM = "support@harborfile.example"
TO = "anna.keller@example.net"
RAW = b"From: support@harborfile.example\r\nSubject: t\r\n\r\nhello\r\n.\r\n..two\r\n"


SOON_S = 0.2
"""How long a server may hang before it is given up; where none hangs, a busy machine has much longer."""
SESSION, SECURED = ("GREETING", "EHLO"), ("STARTTLS", "EHLO-TLS", "AUTH")
BEFORE_THE_DOT = ("MAIL", "RCPT", "DATA")


def plain(port: int, **changes: object) -> SmtpSettings:
    base: dict[str, object] = {"host": "127.0.0.1", "port": port, "security": "plain"}
    return SmtpSettings.model_validate(base | changes)


def signed_in(port: int, certificates: Certificates, **changes: object) -> SmtpSettings:
    """STARTTLS and a login."""
    base: dict[str, object] = {"host": "localhost", "security": "starttls", "ca_file": certificates.authority}
    return plain(port, **(base | {"user": "support", "password": SecretStr("geheim-ä")} | changes))


def limits_for(script: dict[str, str]) -> dict[str, float]:
    hanging = {moment for moment, reply in script.items() if reply in (HANG, DRIBBLE)}
    limits = {"timeout_s": SOON_S} if hanging - {"DOT", "QUIT"} else {}
    return limits | ({"final_timeout_s": SOON_S} if "DOT" in hanging else {})


def deliver(script: dict[str, str], raw: bytes = RAW, to: str = TO, **changes: object) -> tuple[Delivery, ScriptedSmtp]:
    with (
        ScriptedSmtp(script) as server,
        SmtpTransport(plain(server.port, **limits_for(script), **changes)) as transport,
    ):
        return transport.deliver(raw, FROM, to, "sa.1+2"), server


def test_a_mail_arrives_byte_for_byte() -> None:
    """RFC 5321, 4.5.2: lines that begin with a dot survive, and are not counted by SIZE (RFC 1870, section 5)."""
    delivery, server = deliver({})
    assert delivery == Delivery(status="sent", detail="2.0.0 taken as 42", smtp_code=250)
    assert server.mails == [RAW]
    assert server.lines[:2] == ["EHLO harborfile.example", f"MAIL FROM:<{FROM}> SIZE={len(RAW)}"]


# What each misdeed comes to


def two_replies(moment: str) -> str:
    """The good reply, and one that nobody asked for."""
    return f"{GOOD[moment]}\r\n250 2.0.0 taken"


def two_codes(moment: str) -> str:
    return f"{GOOD[moment][:3]}-yes\r\n554 no"


RETRY, FAILED, UNCERTAIN, SENT = "retry", "failed", "uncertain", "sent"
MISDEEDS: tuple[tuple[str | Callable[[str], str], str, str, str], ...] = (
    (CUT, RETRY, RETRY, UNCERTAIN),
    (HANG, RETRY, RETRY, UNCERTAIN),
    (HALF, RETRY, RETRY, UNCERTAIN),
    (DRIBBLE, RETRY, RETRY, UNCERTAIN),
    (ENDLESS_LINE, RETRY, RETRY, UNCERTAIN),
    (ENDLESS_REPLY, RETRY, RETRY, UNCERTAIN),
    ("hello?", RETRY, RETRY, UNCERTAIN),
    ("", RETRY, RETRY, UNCERTAIN),
    ("250", RETRY, RETRY, SENT),
    ("251 wrong", RETRY, RETRY, SENT),
    ("220 wrong", RETRY, RETRY, UNCERTAIN),
    ("354 wrong", RETRY, RETRY, UNCERTAIN),
    ("999 wrong", RETRY, RETRY, UNCERTAIN),
    ("2500 wrong", RETRY, RETRY, UNCERTAIN),
    (two_codes, RETRY, RETRY, UNCERTAIN),
    (two_replies, RETRY, RETRY, SENT),
    ("421 4.3.2 closing", RETRY, RETRY, RETRY),
    ("451 4.7.1 greylisted", RETRY, RETRY, RETRY),
    ("452-4.3.1 full\r\n452 4.3.1 later", RETRY, RETRY, RETRY),
    ("530 5.7.0 log in first", RETRY, RETRY, RETRY),
    ("550 5.1.1 no", RETRY, FAILED, FAILED),
    ("554-5.7.1 no\r\n554 5.7.1 never", RETRY, FAILED, FAILED),
)
"""(what the server says; then the status: of the session, at MAIL, RCPT or DATA, as the reply to the final dot)."""
GOOD_AFTER_ALL = {
    ("250", "EHLO"), ("250", "EHLO-TLS"), ("250", "MAIL"), ("250", "RCPT"),
    ("251 wrong", "EHLO"), ("251 wrong", "EHLO-TLS"), ("251 wrong", "MAIL"), ("251 wrong", "RCPT"),
    ("220 wrong", "GREETING"), ("220 wrong", "STARTTLS"), ("354 wrong", "DATA"),
}  # fmt: skip
"""What is wrong at other moments only: a code counts by its first two digits (RFC 5321, section 4.2.1)."""


def cases(*moments: str) -> Iterator[tuple[str, str, str]]:
    """(moment, reply, status) of each misdeed at each of the moments."""
    for what, in_session, before, after in MISDEEDS:
        for moment in moments:
            reply = what if isinstance(what, str) else what(moment)
            if (reply, moment) not in GOOD_AFTER_ALL:
                status = after if moment == "DOT" else before if moment in BEFORE_THE_DOT else in_session
                yield moment, reply, status


@pytest.mark.parametrize(("moment", "reply", "status"), [*cases(*SESSION, *BEFORE_THE_DOT, "DOT")])
def test_s61_s62_whatever_the_server_does_the_state_says_what_is_known(moment: str, reply: str, status: str) -> None:
    """S61, S62: lost before the final dot is safe to retry, 4yz too; 5yz fails; lost after the dot is uncertain.

    RFC 5321, 4.5.3.2.6: without a readable reply to the dot the server may have taken the mail.
    """
    delivery, server = deliver({moment: reply})
    assert delivery.status == status, delivery.detail
    assert server.mails == ([RAW] if moment == "DOT" else [])
    if status == FAILED:
        assert "no" in delivery.detail
        assert delivery.smtp_code == int(reply[:3])


@pytest.mark.parametrize(("moment", "reply", "status"), [*cases(*SECURED)])
def test_s60_a_server_that_fails_at_tls_or_login_gets_no_mail(
    certificates: Certificates, moment: str, reply: str, status: str
) -> None:
    """S60, S61: what goes wrong before a mail is named says nothing about it, a refused login neither."""
    script = {moment: reply}
    with ScriptedSmtp(script, certificates) as server:
        settings = signed_in(server.port, certificates, **limits_for(script))
        with SmtpTransport(settings) as transport:
            delivery = transport.deliver(RAW, FROM, TO)
    assert (delivery.status, server.mails) == (status, [])


def test_s61_lost_while_the_content_is_on_its_way_is_safe_to_retry() -> None:
    """More than the buffers of both ends can hold: the dot cannot have left."""
    delivery, server = deliver({"CONTENT": CUT}, RAW + b"x" * 76 * 400_000)
    assert (delivery.status, server.mails) == ("retry", [])


def test_s62_what_is_said_before_the_server_has_the_mail_is_no_reply_to_it() -> None:
    """A mail that fills the buffers of both ends is on its way yet when a good reply comes."""
    delivery, server = deliver({"CONTENT": "250 2.0.0 taken"}, RAW + b"x" * 76 * 400_000)
    assert (delivery.status, server.mails) == ("retry", [])


def test_words_that_are_no_utf8_do_not_harm_what_is_noted() -> None:
    delivery, _ = deliver({"DOT": "250 ok gr\udcfcn"})
    assert (delivery.status, delivery.detail) == ("sent", "ok gr\ufffdn")


@pytest.mark.parametrize("problem", [CUT, HANG, "500 what?"])
def test_what_happens_after_the_server_took_the_mail_changes_nothing(problem: str) -> None:
    assert deliver({"QUIT": problem}, idle_s=0.0)[0].status == "sent"


def test_a_server_that_is_not_there_is_tried_again() -> None:
    assert SmtpTransport(plain(free_port())).deliver(RAW, FROM, TO).status == "retry"


@pytest.mark.parametrize("recipient", ["", "a@b.example\r\nRCPT TO:<x@y.example>", "a b@c.example"])
def test_an_address_that_cannot_be_written_to_fails_without_a_connection(recipient: str) -> None:
    assert SmtpTransport(plain(free_port())).deliver(RAW, FROM, recipient).status == "failed"


# S60: extensions, TLS, login


def test_s60_extensions_are_used_only_where_advertised() -> None:
    """No SIZE, no DSN, no word that the server does not know."""
    _, server = deliver({"EHLO": "250 test"})
    assert server.lines[1:3] == [f"MAIL FROM:<{FROM}>", f"RCPT TO:<{TO}>"]


@pytest.mark.parametrize(("asks", "notify"), [(False, "FAILURE"), (True, "SUCCESS,FAILURE")])
def test_s60_a_bounce_is_asked_to_name_the_mail_where_the_server_can(asks: bool, notify: str) -> None:
    """S60, S64: ENVID in xtext, RET and NOTIFY (RFC 3461) are how a bounce is known again."""
    _, server = deliver({"EHLO": "250-test\r\n250 DSN"}, asks_delivery_reports=asks)
    assert server.lines[1:3] == [
        f"MAIL FROM:<{FROM}> RET=HDRS ENVID=sa.1+2B2",
        f"RCPT TO:<{TO}> NOTIFY={notify}",
    ]


@pytest.mark.parametrize("extension", ["8BITMIME", "SMTPUTF8"])
def test_s60_what_needs_an_extension_goes_out_with_it_or_fails(extension: str) -> None:
    """RFC 6152, 6531: without the word the server may break what it is given; no later try can help."""
    raw, to = (b"Subject: \xc3\xa4\r\n\r\nx\r\n", TO) if extension == "8BITMIME" else (RAW, "ä@example.net")
    delivery, server = deliver({}, raw, to)
    assert (delivery.status, server.mails) == ("failed", [])
    assert extension in delivery.detail
    delivery, server = deliver({"EHLO": f"250-test\r\n250 {extension}"}, raw, to)
    assert (delivery.status, server.mails) == ("sent", [raw])
    assert extension in server.lines[1]
    assert server.lines[2] == f"RCPT TO:<{to}>"


def test_s60_a_mail_over_the_servers_size_is_not_sent() -> None:
    """RFC 1870: the server said how much it takes; 0 says nothing."""
    delivery, server = deliver({"EHLO": "250-test\r\n250 SIZE 10"})
    assert (delivery.status, server.mails) == ("failed", [])
    assert deliver({"EHLO": "250-test\r\n250 SIZE 0"})[0].status == "sent"


def test_s60_starttls_is_never_downgraded() -> None:
    """RFC 8314: a server (or a man in the middle) that offers no STARTTLS gets neither login nor mail."""
    with ScriptedSmtp() as server:
        settings = plain(server.port, host="localhost", security="starttls", user="u", password=SecretStr("p"))
        assert SmtpTransport(settings).deliver(RAW, FROM, TO).status == "retry"
        with pytest.raises(ConfigError, match=r"smtp\.security"):
            SmtpTransport(settings).check()
    assert not [line for line in server.lines if line.startswith(("AUTH", "MAIL"))]


def test_s60_what_was_said_before_tls_is_not_believed(certificates: Certificates) -> None:
    """RFC 3207, section 6: a man in the middle adds a reply to that of STARTTLS."""
    with ScriptedSmtp({"STARTTLS": "220 go on\r\n250 AUTH PLAIN"}, certificates) as server:
        delivery = SmtpTransport(signed_in(server.port, certificates)).deliver(RAW, FROM, TO)
    assert (delivery.status, server.lines) == ("retry", ["EHLO harborfile.example", "STARTTLS"])


def test_s60_no_login_without_tls() -> None:
    """RFC 8314: a password never goes over the wire in the clear, not even to this machine."""
    with ScriptedSmtp({"EHLO": "250-test\r\n250 AUTH PLAIN"}) as server:
        settings = plain(server.port, user="u", password=SecretStr("p"))
        assert SmtpTransport(settings).deliver(RAW, FROM, TO).status == "retry"
        with pytest.raises(ConfigError, match="login without TLS"):
            SmtpTransport(settings).check()
    assert server.lines == ["EHLO harborfile.example", "EHLO localhost"]


@pytest.mark.parametrize(
    ("offered", "said"),
    [
        ("AUTH LOGIN PLAIN", ["AUTH PLAIN AHN1cHBvcnQAZ2VoZWltLcOk"]),
        ("AUTH=PLAIN", ["AUTH PLAIN AHN1cHBvcnQAZ2VoZWltLcOk"]),
        ("AUTH LOGIN", ["AUTH LOGIN", "c3VwcG9ydA==", "Z2VoZWltLcOk"]),
    ],
)
def test_s60_login_comes_after_tls(certificates: Certificates, offered: str, said: list[str]) -> None:
    """S60: PLAIN (RFC 4616), in UTF-8; LOGIN where a server has nothing better."""
    script: dict[str, str | list[str]] = {"EHLO-TLS": f"250-test\r\n250 {offered}"}
    if len(said) > 1:
        script |= {"AUTH": "334 VXNlcm5hbWU6", "ANSWER": ["334 UGFzc3dvcmQ6"]}
    with ScriptedSmtp(script, certificates) as server, SmtpTransport(signed_in(server.port, certificates)) as transport:
        assert transport.deliver(RAW, FROM, TO).status == "sent"
    hello = "EHLO harborfile.example"
    assert server.lines[: 3 + len(said)] == [hello, "STARTTLS", hello, *said]


@pytest.mark.parametrize("is_taken", [True, False])
def test_s60_an_access_token_is_shown_where_the_settings_say_so(
    certificates: Certificates, tmp_path: Path, is_taken: bool
) -> None:
    """XOAUTH2: the challenge that says why a token is refused gets an empty answer; then another is tried once."""
    script: dict[str, str] = {"EHLO-TLS": "250-test\r\n250 AUTH XOAUTH2 PLAIN"}
    if not is_taken:
        script |= {"AUTH": "334 eyJzdGF0dXMiOiI0MDAifQ==", "ANSWER": "535 5.7.8 expired"}
    with token_endpoint() as endpoint, ScriptedSmtp(script, certificates) as server:
        settings = signed_in(server.port, certificates, auth="xoauth2")
        with SmtpTransport(settings, token_source(endpoint, tmp_path), lambda: NOON) as transport:
            delivery = transport.deliver(RAW, FROM, TO)
    auths = [i for i, line in enumerate(server.lines) if line.startswith("AUTH")]
    assert server.lines[auths[0]] == "AUTH XOAUTH2 dXNlcj1zdXBwb3J0AWF1dGg9QmVhcmVyIGFjY2Vzcy0xAQE="
    assert delivery.status == ("sent" if is_taken else "retry")
    assert [server.lines[i + 1] == "" for i in auths] == ([False] if is_taken else [True, True])
    assert len(endpoint.asked) == (1 if is_taken else 2)


# One connection for many mails


class Seconds:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def send_many(server: ScriptedSmtp, count: int = 3, **changes: object) -> list[str]:
    with SmtpTransport(plain(server.port, **changes)) as transport:
        return [transport.deliver(RAW, FROM, TO).status for _ in range(count)]


def test_one_connection_carries_many_mails_and_is_reset_between_them() -> None:
    with ScriptedSmtp() as server:
        assert send_many(server) == ["sent"] * 3
    assert (server.connections, len(server.mails)) == (1, 3)
    assert [line for line in server.lines if line in ("RSET", "QUIT")] == ["RSET", "RSET", "QUIT"]


@pytest.mark.parametrize(("changes", "connections"), [({"mails_per_connection": 2}, 2), ({"idle_s": 0.0}, 3)])
def test_a_connection_is_kept_within_its_bounds(changes: dict[str, object], connections: int) -> None:
    with ScriptedSmtp() as server:
        assert send_many(server, 3, **changes) == ["sent"] * 3
    assert (server.connections, len(server.mails)) == (connections, 3)


def test_a_connection_that_nobody_used_for_a_while_is_left() -> None:
    """Servers close idle connections; the next mail does not wait for that to be found out."""
    clock = Seconds()
    with ScriptedSmtp() as server, SmtpTransport(plain(server.port, idle_s=30.0), clock=clock) as transport:
        transport.deliver(RAW, FROM, TO)
        clock.now = 29.0
        transport.close_idle()
        assert "QUIT" not in server.lines
        clock.now = 60.0
        transport.close_idle()
        assert transport.deliver(RAW, FROM, TO).status == "sent"
    assert (server.connections, server.lines.count("QUIT")) == (2, 2)


@pytest.mark.parametrize("reply", [CUT, HANG, HALF, "hello?", "421 4.4.2 idle", "500 what?"])
def test_a_kept_connection_that_went_bad_is_replaced(reply: str) -> None:
    """The mail that finds it out goes out all the same, once."""
    limits = {"timeout_s": SOON_S} if reply == HANG else {}
    with ScriptedSmtp({"RSET": [reply]}) as server:
        assert send_many(server, 2, **limits) == ["sent"] * 2
    assert (server.connections, len(server.mails)) == (2, 2)


@pytest.mark.parametrize("said", ["", "421 4.3.2 shutting down\r\n", "hello?\r\n", "250 2.0.0 taken\r\n"])
@pytest.mark.parametrize("is_secured", [False, True])
def test_a_kept_connection_that_the_server_left_is_replaced(
    certificates: Certificates, is_secured: bool, said: str
) -> None:
    """A server shuts down between two mails: the next one finds it out before it says a word, and goes out."""
    with ScriptedSmtp({}, certificates) as server:
        settings = signed_in(server.port, certificates) if is_secured else plain(server.port)
        with SmtpTransport(settings) as transport:
            first = transport.deliver(RAW, FROM, TO)
            server.hang_up(said)
            second = transport.deliver(RAW, FROM, TO)
    assert [first.status, second.status, server.connections, len(server.mails)] == ["sent", "sent", 2, 2]
    assert "RSET" not in server.lines


@pytest.mark.parametrize("moment", ["MAIL", "RCPT", "DATA", "DOT"])
def test_s61_a_refused_mail_does_not_harm_the_next_on_the_same_connection(moment: str) -> None:
    """A refused recipient is refused alone: RSET, and the next mail goes out."""
    with ScriptedSmtp({moment: ["550 5.1.1 no"]}) as server:
        assert send_many(server, 2) == ["failed", "sent"]
    assert server.connections == 1
    assert len(server.mails) == (2 if moment == "DOT" else 1)


@pytest.mark.parametrize("reply", [CUT, HALF, "hello?", "421 closing"])
def test_s62_after_a_lost_reply_the_next_mail_has_a_new_connection(reply: str) -> None:
    """What comes late must not be taken for the reply to the next mail."""
    with ScriptedSmtp({"DOT": [reply]}) as server:
        first, second = send_many(server, 2)
    assert (first, second) == ("retry" if reply.startswith("421") else "uncertain", "sent")
    assert server.connections == 2


def test_threads_do_not_wait_for_each_other() -> None:
    """A server that is slow with one mail does not hold up another: who finds no kept connection opens one."""
    with ScriptedSmtp({"DOT": [HANG]}) as server, SmtpTransport(plain(server.port)) as transport:
        slow = Thread(target=transport.deliver, args=(RAW, FROM, TO), daemon=True)
        slow.start()
        while not server.mails:
            slow.join(0.01)
        assert transport.deliver(RAW, FROM, TO).status == "sent"
        assert slow.is_alive()
    slow.join(20)


# A real server


@pytest.mark.servers
@pytest.mark.parametrize("security", list(Security)[:2])
def test_postfix_takes_a_mail_and_it_is_in_the_mailbox(postfix: Postfix, dovecot: Dovecot, security: Security) -> None:
    port = postfix.smtps_port if security is Security.TLS else postfix.submission_port
    to = f"{security}@example.net"
    body = b"caf\xc3\xa9\r\n.\r\n" * 2000
    raw = b"From: support@harborfile.example\r\nMessage-ID: <1@t>\r\n\r\n" + body
    with SmtpTransport(postfix.settings(port=port, security=security)) as transport:
        delivery = transport.deliver(raw, FROM, to)
    assert (delivery.status, delivery.smtp_code) == ("sent", 250), delivery.detail
    _, _, arrived = dovecot.arrived(to).partition(b"\r\n\r\n")
    assert hashlib.sha256(arrived).digest() == hashlib.sha256(body).digest()


@pytest.mark.servers
def test_postfix_refuses_and_puts_off(postfix: Postfix) -> None:
    """S61, on one connection."""
    with SmtpTransport(postfix.settings()) as transport:
        assert transport.deliver(RAW, FROM, REFUSED).status == "failed"
        assert transport.deliver(RAW, FROM, LATER).status == "retry"
        assert transport.deliver(RAW, FROM, "relay@elsewhere.invalid").status == "sent"  # logged in: it would relay
        too_big = transport.deliver(RAW + b"x" * 70 * (MAX_MESSAGE_BYTES // 70), FROM, TO)
        assert (too_big.status, too_big.smtp_code) == ("failed", None)
        assert f"accepts at most {MAX_MESSAGE_BYTES}" in too_big.detail


@pytest.mark.servers
def test_check_passes_where_the_settings_are_right(postfix: Postfix) -> None:
    SmtpTransport(postfix.settings()).check()


@pytest.mark.servers
def test_a_wrong_password_is_tried_again_and_check_says_what_to_do(postfix: Postfix) -> None:
    """One mail must not fail for good because the operator is changing a password."""
    transport = SmtpTransport(postfix.settings(password=SecretStr("wrong-secret")))
    delivery = transport.deliver(RAW, FROM, TO)
    assert (delivery.status, delivery.smtp_code) == ("retry", 535)
    with pytest.raises(ConfigError, match=r"smtp\.user and smtp\.password") as caught:
        transport.check()
    assert "wrong-secret" not in str(caught.value) + delivery.detail


@pytest.mark.servers
def test_s60_a_certificate_of_a_stranger_is_refused(postfix: Postfix, certificates: Certificates) -> None:
    transport = SmtpTransport(postfix.settings(ca_file=certificates.stranger))
    assert transport.deliver(RAW, FROM, TO).status == "retry"
    with pytest.raises(ConfigError, match=r"smtp\.ca_file"):
        transport.check()


def test_check_of_a_server_that_is_not_there_says_that_it_may_pass() -> None:
    with pytest.raises(TransientError, match="cannot be used now"):
        SmtpTransport(plain(free_port())).check()
