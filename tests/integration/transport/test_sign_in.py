"""Signing in with access tokens (XOAUTH2) to a real Dovecot, and to a server that says what no real one does; S36."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from support_agent.config.mail_servers import ImapSettings, Security
from support_agent.errors import ConfigError, TransientError
from support_agent.transport.mailbox import Mailbox
from support_agent.transport.oauth import TokenSource
from tests.servers.certificates import Certificates
from tests.servers.dovecot import Dovecot, running_dovecot
from tests.servers.imap_script import OK, scripted_imap
from tests.servers.token_endpoint import TokenEndpoint, token_endpoint, token_source

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
USER = "support@harborfile.example"
SELECTED = b"* 0 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 1] x\r\n%t OK [READ-WRITE] done\r\n"


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with token_endpoint(user=USER) as running:
        yield running


@pytest.fixture
def tokens(endpoint: TokenEndpoint, tmp_path: Path) -> TokenSource:
    return token_source(endpoint, tmp_path)


@pytest.fixture
def dovecot(certificates: Certificates, endpoint: TokenEndpoint) -> Iterator[Dovecot]:
    """A server that asks the endpoint whose a token is."""
    url = f"http://127.0.0.1:{endpoint.port}/info?access_token="
    with running_dovecot(certificates, token_url=url) as server:
        yield server


def open_with(imap: ImapSettings, tokens: TokenSource) -> int:
    with Mailbox(imap, tokens, lambda: NOON) as mailbox:
        return mailbox.count_after(None)


@pytest.mark.servers
def test_s36_access_token_opens_the_mailbox(dovecot: Dovecot, tokens: TokenSource, endpoint: TokenEndpoint) -> None:
    """Over TLS; the second connection uses the same token."""
    dovecot.fill(USER, [b"Subject: one\r\n\r\nhello\r\n"])
    imap = dovecot.settings(USER, auth="xoauth2", password="")
    assert [open_with(imap, tokens) for _ in range(2)] == [1, 1]
    assert len(endpoint.asked) == 1


@pytest.mark.servers
def test_s36_token_that_was_revoked_is_replaced_once(
    dovecot: Dovecot, tokens: TokenSource, endpoint: TokenEndpoint
) -> None:
    imap = dovecot.settings(USER, auth="xoauth2", password="")
    open_with(imap, tokens)
    endpoint.valid.clear()
    with capture_logs() as logs:
        open_with(imap, tokens)
    assert [entry["event"] for entry in logs] == ["access_token_refused"]
    assert len(endpoint.asked) == 2


@pytest.mark.servers
def test_s36_token_of_somebody_else_is_refused_with_what_to_do(
    dovecot: Dovecot, tokens: TokenSource, endpoint: TokenEndpoint
) -> None:
    """After one new token the server is believed, and no token is in the error."""
    imap = dovecot.settings("other@harborfile.example", auth="xoauth2", password="")
    with pytest.raises(ConfigError, match=r"imap\.user and \[oauth\]") as caught:
        open_with(imap, tokens)
    assert len(endpoint.asked) == 2
    assert "access-" not in str(caught.value)


def scripted(port: int, **changes: object) -> ImapSettings:
    base = {"host": "localhost", "port": port, "security": Security.PLAIN, "user": USER, "timeout_s": 5.0}
    return ImapSettings.model_validate(base | changes)


def test_s36_what_is_wrong_with_a_token_is_heard_out(tokens: TokenSource) -> None:
    """Google: the server says why in a challenge, which is answered with nothing; then it says NO."""
    rules = (
        ("AUTHENTICATE XOAUTH2", b"+ \r\n"),
        ("dXNlcj1", b"+ eyJzdGF0dXMiOiI0MDAifQ==\r\n"),
        ("$", b"%t NO [AUTHENTICATIONFAILED] Invalid credentials\r\n"),
    )
    with scripted_imap(*rules) as server:
        settings = scripted(server.port, auth="xoauth2")
        with pytest.raises(ConfigError, match="AUTHENTICATIONFAILED"):
            open_with(settings, tokens)
    answers = [line for line in server.heard if "AUTHENTICATE" not in line and "CAPABILITY" not in line]
    assert [line[:7] for line in answers if "LOGOUT" not in line] == ["dXNlcj1", "", "dXNlcj1", ""]


def test_connection_that_dies_at_the_login_may_come_back() -> None:
    """It is no refusal: a person need not look at the password."""
    with scripted_imap(("LOGIN", b"")) as server, pytest.raises(TransientError, match="cannot be used now"):
        Mailbox(scripted(server.port)).__enter__()


def test_login_that_is_refused_for_now_may_come_back() -> None:
    """RFC 5530."""
    busy = ("LOGIN", b"%t NO [UNAVAILABLE] later\r\n")
    with scripted_imap(busy) as server, pytest.raises(TransientError, match="cannot log in"):
        Mailbox(scripted(server.port)).__enter__()


def test_s36_starttls_that_is_not_offered_sends_no_password() -> None:
    """Never downgraded, also where somebody in between takes the offer away."""
    with scripted_imap() as server:
        settings = scripted(server.port, security=Security.STARTTLS, password="secret")
        with pytest.raises(ConfigError, match="does not offer STARTTLS"):
            Mailbox(settings).__enter__()
    assert not [line for line in server.heard if "LOGIN" in line or "secret" in line]


def test_server_that_takes_utf8_only_gets_names_as_they_are() -> None:
    """RFC 6855: UTF8=ONLY; others get modified UTF-7 (RFC 3501)."""
    capabilities = b"* CAPABILITY IMAP4rev1 ENABLE UTF8=ONLY\r\n%t OK done\r\n"
    enabled = b"* ENABLED UTF8=ACCEPT\r\n%t OK done\r\n"
    rules = (("CAPABILITY", capabilities), ("ENABLE", enabled), ("SELECT", SELECTED), ("UID SEARCH", OK("none")))
    for say, heard in ((rules, 'SELECT "Köln"'), (rules[2:], 'SELECT "K&APY-ln"')):
        with scripted_imap(*say) as server, Mailbox(scripted(server.port, folder="Köln")):
            pass
        assert [line.partition(" ")[2] for line in server.heard if "SELECT" in line] == [heard]
