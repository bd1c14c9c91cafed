"""Send one mail to the SMTP server and report what is known afterwards.

Invariant: `sent` only after the server's success reply (25x) to the whole mail; `retry` and `failed` only if the server
cannot have accepted it; `uncertain` for everything between our final dot and a readable reply. So no caller can send a
mail twice by trusting this module (S61, S62; RFC 5321, section 4.5.3.2.6). Checked by
tests/integration/transport/test_submission.py, whose server breaks off, hangs and refuses at each line, and with
Postfix.

One connection is kept for the next mail. It is replaced after `smtp.mails_per_connection` mails, after `smtp.idle_s`
without a mail, and when the server does not answer RSET properly.
"""

from __future__ import annotations

import re
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from types import TracebackType
from typing import Literal, Protocol

from support_agent.config.mail_servers import SignIn, SmtpSettings
from support_agent.core.frozen import Frozen
from support_agent.core.observing import UNOBSERVED, Observer
from support_agent.errors import ConfigError, SupportAgentError, TransientError
from support_agent.mail.addresses import normal_address
from support_agent.transport.oauth import TokenSource
from support_agent.transport.smtp import (
    SERVICE_CLOSES,
    START_MAIL_INPUT,
    ConnectionLost,
    LoginRefused,
    NotOffered,
    SmtpRefused,
    SmtpSession,
    open_session,
)

MAX_DETAIL_CHARACTERS = 300
MIN_OCTETS_A_SECOND = 10_000
"""The slowest connection that is supported; sending a mail gets extra time at this rate."""
QUIT_S = 2.0
LINE_END = re.compile(rb"\r\n|\r|\n")
LEADING_DOT = re.compile(rb"(?m)^\.")
NOT_XTEXT = re.compile(r"[^!-*,-<>-~]")
"""Characters that must be encoded in a parameter (RFC 3461, section 4)."""
BAD_ADDRESS = re.compile(r"5\.1\.(?!7\b|8\b)\d{1,3}\b")
"""Enhanced codes (RFC 3463) that mean a bad recipient address; 5.1.7 and 5.1.8 are about the sender's."""
SIGN_IN_CODES = frozenset({530, 534, 535, 538})
"""Replies about the login (RFC 4954): our settings are at fault, not the mail."""

Status = Literal["sent", "retry", "failed", "uncertain"]


class Delivery(Frozen):
    """The result of one try. `smtp_code` is the server's last reply, None if there was none.

    `is_bad_address`: the server will never accept mail to this recipient (5.1.x, RFC 3463, section 3.2).
    """

    status: Status
    detail: str
    smtp_code: int | None = None
    is_bad_address: bool = False


class _Phase(StrEnum):
    """Where in the dialogue a problem occurred; before `FINAL_DOT` the server has accepted nothing."""

    SESSION = "connecting"
    SENDER = "MAIL FROM"
    RECIPIENT = "RCPT TO"
    DATA = "DATA"
    CONTENT = "the content, before the final dot"
    FINAL_DOT = "the reply to the final dot"


class _Unsendable(Exception):
    """The server lacks what this mail needs, so a later try cannot help."""


@dataclass
class _Connection:
    """An open session, how many mails it has sent, and when the last one was sent, by the transport's clock."""

    session: SmtpSession
    mails: int = 0
    used_at: float = 0.0


class Transport(Protocol):
    """Sends mails: to the SMTP server of the settings, or in a dry run into memory."""

    def deliver(self, raw: bytes, envelope_from: str, recipient: str, envelope_id: str = "") -> Delivery:
        """Try once to deliver one mail to one recipient; see `SmtpTransport.deliver`."""

    def close_idle(self) -> None:
        """Close a connection that has been idle too long."""


class SmtpTransport:
    """Sends over the SMTP server of the settings; safe for several threads: one uses the kept connection, others open
    their own.

    Args:
        tokens, now: The source of access tokens and the wall clock; needed for `smtp.auth = "xoauth2"`.
        clock: Monotonic seconds, for the idle time of the connection.
        observer: Notified of each connection.
    """

    def __init__(
        self,
        settings: SmtpSettings,
        tokens: TokenSource | None = None,
        now: Callable[[], datetime] | None = None,
        clock: Callable[[], float] = time.monotonic,
        observer: Observer = UNOBSERVED,
    ) -> None:
        self._settings = settings
        self._tokens = tokens
        self._now = now
        self._clock = clock
        self._observer = observer
        self._idle: _Connection | None = None
        self._lock = threading.Lock()

    def deliver(self, raw: bytes, envelope_from: str, recipient: str, envelope_id: str = "") -> Delivery:
        """Try once to deliver one mail to one recipient. Never raises for a fault of the server or the network.

        Args:
            raw: The whole mail from `outgoing`.
            envelope_from: The address that bounces go to; "" for a mail that must not bounce.
            recipient: The only recipient.
            envelope_id: The id by which a bounce names the mail (ENVID), if the server supports it (RFC 3461).
        Raises:
            ConfigError: `smtp.ca_file` cannot be read.
        """
        for address in filter(None, (envelope_from, recipient or "(none)")):
            if normal_address(address) is None:
                return Delivery(status="failed", detail=f"not an address that can be sent to: {address!r}")
        try:
            kept = self._open((envelope_from or recipient).rpartition("@")[2])
        except SupportAgentError:
            raise
        except Exception as error:
            return _judge(_Phase.SESSION, error)
        try:
            delivery, is_usable = self._transact(kept.session, raw, envelope_from, recipient, envelope_id)
        except BaseException:
            kept.session.close()
            raise
        self._keep(kept, is_usable=is_usable)
        return delivery

    def __enter__(self) -> SmtpTransport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def check(self) -> None:
        """Connect, secure the connection, sign in and quit, for `doctor`.

        Raises:
            ConfigError: the operator must correct the user, the password, the certificate or STARTTLS.
            TransientError: the server cannot be reached now.
        """
        try:
            session = self._session("localhost")
        except Exception as error:
            raise _mapped(error, self._settings) from error
        try:
            session.expect("NOOP")
        except Exception as error:
            session.close()
            raise _mapped(error, self._settings) from error
        session.quit(QUIT_S)

    def close_idle(self) -> None:
        """Close the kept connection if it has been idle too long; call it regularly."""
        with self._lock:
            kept = self._idle
            if kept is None or not self._is_stale(kept):
                return
            self._idle = None
        kept.session.quit(QUIT_S)

    def close(self) -> None:
        """Close the kept connection; the next mail opens a new one."""
        with self._lock:
            kept, self._idle = self._idle, None
        if kept is not None:
            kept.session.quit(QUIT_S)

    def _open(self, helo: str) -> _Connection:
        """The kept connection if the server still answers on it, else a new one."""
        with self._lock:
            kept, self._idle = self._idle, None
        if kept is not None:
            if not self._is_stale(kept):
                with suppress(ConnectionLost, SmtpRefused):
                    kept.session.expect("RSET")
                    return kept
            kept.session.quit(QUIT_S)
        return _Connection(self._session(helo))

    def _session(self, helo: str) -> SmtpSession:
        try:
            session = self._signed_in(helo)
        except Exception as error:
            self._observer.connected("smtp", _mapped(error, self._settings))
            raise
        self._observer.connected("smtp", None)
        self._observer.expires("smtp_certificate", session.certificate_ends_at)
        return session

    def _signed_in(self, helo: str) -> SmtpSession:
        if self._settings.auth is not SignIn.XOAUTH2:
            return open_session(self._settings, helo)
        if self._tokens is None or self._now is None:
            raise ValueError("a transport with smtp.auth = 'xoauth2' needs a TokenSource and a clock")
        attempt = partial(open_session, self._settings, helo)
        return self._tokens.sign_in(attempt, LoginRefused, self._now(), host=self._settings.host)

    def _is_stale(self, kept: _Connection) -> bool:
        return self._clock() - kept.used_at >= self._settings.idle_s

    def _keep(self, kept: _Connection, *, is_usable: bool) -> None:
        """Keep the connection for the next mail, unless another thread's is already kept."""
        kept.mails += 1
        kept.used_at = self._clock()
        if not is_usable:
            kept.session.close()
            return
        if kept.mails < self._settings.mails_per_connection and self._settings.idle_s > 0:
            with self._lock:
                if self._idle is None:
                    self._idle = kept
                    return
        kept.session.quit(QUIT_S)

    def _transact(
        self, session: SmtpSession, raw: bytes, envelope_from: str, recipient: str, envelope_id: str
    ) -> tuple[Delivery, bool]:
        """Do one mail transaction (RFC 5321, section 3.3); also returns whether the session can be used again."""
        phase = _Phase.SENDER
        # SIZE counts the octets on the wire, with CRLF line ends (RFC 1870, section 5).
        content = b"\r\n".join(LINE_END.split(raw.removesuffix(b"\r\n"))) + b"\r\n"
        try:
            options = self._mail_options(session, content, (envelope_from, recipient), envelope_id)
            session.expect(f"MAIL FROM:<{envelope_from}>{options}")
            phase = _Phase.RECIPIENT
            session.expect(f"RCPT TO:<{recipient}>{self._recipient_options(session)}")
            phase = _Phase.DATA
            session.expect("DATA", START_MAIL_INPUT)
            phase = _Phase.CONTENT
            timeout_s = self._settings.timeout_s + len(content) / MIN_OCTETS_A_SECOND
            session.send(LEADING_DOT.sub(b"..", content), timeout_s)  # RFC 5321, section 4.5.2
            session.end_data()
            phase = _Phase.FINAL_DOT
            reply = session.final_reply(self._settings.final_timeout_s)
            return Delivery(status="sent", detail=_short(reply.message), smtp_code=reply.code), True
        except Exception as error:  # _judge maps each failure to a status
            is_clean = isinstance(error, _Unsendable) or (
                isinstance(error, SmtpRefused)
                and phase is not _Phase.CONTENT  # there the server still waits for the final dot
                and error.code >= 400
                and error.code != SERVICE_CLOSES
            )
            return _judge(phase, error), is_clean

    def _mail_options(self, session: SmtpSession, content: bytes, addresses: tuple[str, ...], envelope_id: str) -> str:
        """Parameters for MAIL FROM, only for advertised extensions (RFC 1870, 6152, 6531, 3461).

        Raises:
            _Unsendable: the mail needs an extension that is not advertised.
        """
        offered, options = session.extensions, ""
        if "SIZE" in offered:
            limit = int(offered["SIZE"]) if offered["SIZE"].isdecimal() else 0
            if 0 < limit < len(content):
                raise _Unsendable(f"{len(content)} octets, and the server accepts at most {limit}")
            options += f" SIZE={len(content)}"
        if not content.isascii():
            options += _needed(session, "8BITMIME", " BODY=8BITMIME")
        if not "".join(addresses).isascii():
            options += _needed(session, "SMTPUTF8", " SMTPUTF8")
        if "DSN" in offered and envelope_id and len(envelope_id) <= 100:  # RFC 3461, section 5.4
            options += f" RET=HDRS ENVID={_xtext(envelope_id)}"
        return options

    def _recipient_options(self, session: SmtpSession) -> str:
        if "DSN" not in session.extensions:
            return ""
        return " NOTIFY=SUCCESS,FAILURE" if self._settings.asks_delivery_reports else " NOTIFY=FAILURE"


def _needed(session: SmtpSession, extension: str, option: str) -> str:
    if extension not in session.extensions:
        raise _Unsendable(f"the mail needs {extension}, which the server does not offer")
    return option


def _xtext(text: str) -> str:
    return NOT_XTEXT.sub(lambda match: "".join(f"+{octet:02X}" for octet in match[0].encode()), text)


def _judge(phase: _Phase, error: Exception) -> Delivery:
    """Map an error and its phase to the status that tells the caller what to do next."""
    if isinstance(error, _Unsendable):
        return Delivery(status="failed", detail=_short(str(error)))
    code = error.code if isinstance(error, SmtpRefused) else None
    detail = _short(f"{phase}: {code or type(error).__name__} {error}")
    if phase is _Phase.SESSION or code in SIGN_IN_CODES:
        # The server or our settings are at fault, not this mail: a later try may succeed.
        return Delivery(status="retry", detail=detail, smtp_code=code)
    if code is not None and 500 <= code <= 599:
        is_bad_address = phase is _Phase.RECIPIENT and BAD_ADDRESS.match(str(error)) is not None
        return Delivery(status="failed", detail=detail, smtp_code=code, is_bad_address=is_bad_address)
    if code is not None and 400 <= code <= 499:
        return Delivery(status="retry", detail=detail, smtp_code=code)
    # No reply, a late or unreadable one, or an invalid code.
    unclear: Status = "uncertain" if phase is _Phase.FINAL_DOT else "retry"
    return Delivery(status=unclear, detail=detail)


def _mapped(error: Exception, settings: SmtpSettings) -> SupportAgentError:
    """The error that tells the operator what to do."""
    where = f"{settings.host}:{settings.port}"
    match error:
        case SupportAgentError():
            return error
        case LoginRefused() if error.code >= 500:
            return ConfigError(
                f"{where} refuses smtp.user {settings.user!r}: check smtp.user and smtp.password",
                code="smtp_login",
            )
        case ssl.SSLCertVerificationError():
            return ConfigError(
                f"the certificate of {where} cannot be verified ({error}): check smtp.host, or set smtp.ca_file",
                code="smtp_certificate",
            )
        case NotOffered():
            return ConfigError(
                f"{where} lacks what the settings need ({error}): check smtp.security and smtp.port",
                code="smtp_security",
            )
    return TransientError(f"{where} cannot be used now: {_short(str(error)) or type(error).__name__}")


def _short(text: str) -> str:
    return " ".join(text.split())[:MAX_DETAIL_CHARACTERS]
