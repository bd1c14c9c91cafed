"""Hand one mail to the SMTP server and say what is known afterwards.

Invariant: `sent` only after the server's 25z to the whole mail, `retry` and `failed` only where the server
cannot have taken it, and `uncertain` for everything between our final dot and a readable reply, so that no
caller can send twice by trusting this module (S61, S62; RFC 5321, section 4.5.3.2.6). Checked by
tests/integration/transport/test_outbox.py, which cuts, hangs and refuses at each line, and against Postfix.

One connection is kept for the next mail: made new after so many mails, after a while of silence, and whenever the
server does not answer RSET as it should.
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
from types import TracebackType
from typing import Literal, NoReturn, Protocol

from support_agent.config.settings import SignIn, SmtpSettings
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError, SupportAgentError, TransientError
from support_agent.mail.addresses import normal_address
from support_agent.transport.oauth import TokenSource
from support_agent.transport.smtp import (
    GO_ON,
    SERVICE_CLOSES,
    LoginRefused,
    Lost,
    NotOffered,
    Refused,
    Session,
    open_session,
)

MAX_DETAIL_CHARACTERS = 300
MIN_OCTETS_A_SECOND = 10_000
"""The slowest line that a mail is sent over; a mail gets that much more time than one line."""
QUIT_S = 2.0
LINE_END = re.compile(rb"\r\n|\r|\n")
LEADING_DOT = re.compile(rb"(?m)^\.")
NOT_XTEXT = re.compile(r"[^!-*,-<>-~]")
"""What may not stand in a parameter as it is (RFC 3461, section 4)."""
BAD_ADDRESS = re.compile(r"5\.1\.(?!7\b|8\b)\d{1,3}\b")
"""Enhanced codes (RFC 3463) that the recipient's address is no good; 5.1.7 and 5.1.8 are about the sender's."""
SIGN_IN_CODES = frozenset({530, 534, 535, 538})
"""The server wants another login (RFC 4954): about our settings, not about the mail."""

Status = Literal["sent", "retry", "failed", "uncertain"]


class Delivery(Frozen):
    """What became of one try. `smtp_code` is the server's last reply, None where there was none.

    `is_bad_address`: the server will never take mail to this recipient (5.1.z, RFC 3463, section 3.2).
    """

    status: Status
    detail: str
    smtp_code: int | None = None
    is_bad_address: bool = False


class _Phase(StrEnum):
    """Where in the dialogue a problem arose; nothing was taken before `FINAL_DOT`."""

    SESSION = "connecting"
    SENDER = "MAIL FROM"
    RECIPIENT = "RCPT TO"
    DATA = "DATA"
    CONTENT = "the content, before the final dot"
    FINAL_DOT = "the reply to the final dot"


class _Unsendable(Exception):
    """The server does not offer what this mail needs, so no later try can help."""


@dataclass
class _Kept:
    """An open session, how many mails went over it, and when the last one did, by the clock of the transport."""

    session: Session
    mails: int = 0
    used_at: float = 0.0


class Transport(Protocol):
    """The way out: the SMTP server of the settings, or for a dry run a place that keeps each mail."""

    def deliver(self, raw: bytes, envelope_from: str, recipient: str, envelope_id: str = "") -> Delivery:
        """Try once to deliver one mail to one recipient, as `SmtpTransport.deliver` does."""

    def close_idle(self) -> None:
        """Close what has not been used for a while."""


class SmtpTransport:
    """The way to the SMTP server of the settings; safe for several threads, of which one at a time finds the kept
    connection and the others open their own.

    Args:
        tokens: Where access tokens come from, for `smtp.auth = "xoauth2"`, and with it `now`, the time of day.
        clock: Seconds that only go forward, for how long a connection is kept.
    """

    def __init__(
        self,
        settings: SmtpSettings,
        tokens: TokenSource | None = None,
        now: Callable[[], datetime] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._tokens = tokens
        self._now = now
        self._clock = clock
        self._idle: _Kept | None = None
        self._lock = threading.Lock()

    def deliver(self, raw: bytes, envelope_from: str, recipient: str, envelope_id: str = "") -> Delivery:
        """Try once to deliver one mail to one recipient. Never raises for what a server or a network can do.

        Args:
            raw: The whole mail as `outgoing` made it.
            envelope_from: The address bounces come back to; "" for a mail that must not bounce.
            recipient: The one address it goes to.
            envelope_id: What a bounce shall name the mail by (ENVID), where the server can (RFC 3461).
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
            delivery, is_usable = self._hand_over(kept.session, raw, envelope_from, recipient, envelope_id)
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

    def check(self, helo: str = "localhost") -> None:
        """Connect, secure, log in and leave, for `doctor`.

        Raises:
            ConfigError: the user, the password, the certificate or STARTTLS must be put right by the
            operator. TransientError: the server cannot be reached now.
        """
        try:
            session = self._session(helo)
        except Exception as error:
            _raise_mapped(error, self._settings)
        try:
            session.expect("NOOP")
        except Exception as error:
            session.close()
            _raise_mapped(error, self._settings)
        session.quit(QUIT_S)

    def close_idle(self) -> None:
        """Leave the server if no mail has gone over the connection for a while; call it now and then."""
        with self._lock:
            kept = self._idle
            if kept is None or not self._is_stale(kept):
                return
            self._idle = None
        kept.session.quit(QUIT_S)

    def close(self) -> None:
        """Leave the server; the next mail opens a new connection."""
        with self._lock:
            kept, self._idle = self._idle, None
        if kept is not None:
            kept.session.quit(QUIT_S)

    def _open(self, helo: str) -> _Kept:
        """The kept connection, where the server still answers on it, else a new one."""
        with self._lock:
            kept, self._idle = self._idle, None
        if kept is not None:
            if not self._is_stale(kept):
                with suppress(Lost, Refused):
                    kept.session.expect("RSET")
                    return kept
            kept.session.quit(QUIT_S)
        return _Kept(self._session(helo))

    def _session(self, helo: str) -> Session:
        """A new session; an access token that is refused is replaced once, for it may have been revoked early."""
        token = self._token()
        try:
            return open_session(self._settings, helo, token)
        except LoginRefused:
            if token is None or self._tokens is None:
                raise
            self._tokens.refused(token)
            return open_session(self._settings, helo, self._token())

    def _token(self) -> str | None:
        if self._settings.auth is not SignIn.XOAUTH2:
            return None
        if self._tokens is None or self._now is None:
            raise ValueError("a transport with smtp.auth = 'xoauth2' is given a TokenSource and a clock")
        return self._tokens.token(self._now())

    def _is_stale(self, kept: _Kept) -> bool:
        return self._clock() - kept.used_at >= self._settings.idle_s

    def _keep(self, kept: _Kept, *, is_usable: bool) -> None:
        """Keep a connection for the next mail; of two that come back at once, one."""
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

    def _hand_over(
        self, session: Session, raw: bytes, envelope_from: str, recipient: str, envelope_id: str
    ) -> tuple[Delivery, bool]:
        """One mail transaction (RFC 5321, section 3.3), and whether the session is good for another one."""
        phase = _Phase.SENDER
        content = _normal(raw)
        try:
            options = self._mail_options(session, content, (envelope_from, recipient), envelope_id)
            session.expect(f"MAIL FROM:<{envelope_from}>{options}")
            phase = _Phase.RECIPIENT
            session.expect(f"RCPT TO:<{recipient}>{self._recipient_options(session)}")
            phase = _Phase.DATA
            session.expect("DATA", GO_ON)
            phase = _Phase.CONTENT
            session.send(_stuffed(content), self._settings.timeout_s + len(content) / MIN_OCTETS_A_SECOND)
            session.end_data()
            phase = _Phase.FINAL_DOT
            reply = session.final_reply(self._settings.final_timeout_s)
            return Delivery(status="sent", detail=_short(reply.message), smtp_code=reply.code), True
        except Exception as error:  # each kind of failure is a status; _judge says which
            is_clean = isinstance(error, _Unsendable) or (
                isinstance(error, Refused)
                and phase is not _Phase.CONTENT  # whose end the server still waits for
                and error.code >= 400
                and error.code != SERVICE_CLOSES
            )
            return _judge(phase, error), is_clean

    def _mail_options(self, session: Session, content: bytes, addresses: tuple[str, ...], envelope_id: str) -> str:
        """Extensions only where advertised (RFC 1870, 6152, 6531, 3461).

        Raises:
            _Unsendable: the mail needs one that is not.
        """
        offered, options = session.extensions, ""
        if "SIZE" in offered:
            limit = int(offered["SIZE"]) if offered["SIZE"].isdecimal() else 0
            if 0 < limit < len(content):
                raise _Unsendable(f"{len(content)} octets, and the server takes {limit} at most")
            options += f" SIZE={len(content)}"
        if not content.isascii():
            options += _needed(session, "8BITMIME", " BODY=8BITMIME")
        if not "".join(addresses).isascii():
            options += _needed(session, "SMTPUTF8", " SMTPUTF8")
        if "DSN" in offered and envelope_id and len(envelope_id) <= 100:  # RFC 3461, section 5.4
            options += f" RET=HDRS ENVID={_xtext(envelope_id)}"
        return options

    def _recipient_options(self, session: Session) -> str:
        if "DSN" not in session.extensions:
            return ""
        return " NOTIFY=SUCCESS,FAILURE" if self._settings.asks_delivery_reports else " NOTIFY=FAILURE"


def _needed(session: Session, extension: str, option: str) -> str:
    if extension not in session.extensions:
        raise _Unsendable(f"the mail needs {extension}, which the server does not offer")
    return option


def _xtext(text: str) -> str:
    return NOT_XTEXT.sub(lambda match: "".join(f"+{octet:02X}" for octet in match[0].encode()), text)


def _normal(raw: bytes) -> bytes:
    """The mail with the line ends of the wire; its length is what SIZE counts (RFC 1870, section 5)."""
    return b"\r\n".join(LINE_END.split(raw.removesuffix(b"\r\n"))) + b"\r\n"


def _stuffed(content: bytes) -> bytes:
    """The mail as DATA takes it, without the final dot (RFC 5321, section 4.5.2)."""
    return LEADING_DOT.sub(b"..", content)


def _judge(phase: _Phase, error: Exception) -> Delivery:
    """Map what went wrong and where to what the caller may do next."""
    if isinstance(error, _Unsendable):
        return Delivery(status="failed", detail=_short(str(error)))
    code = error.code if isinstance(error, Refused) else None
    detail = _short(f"{phase}: {code or type(error).__name__} {error}")
    if phase is _Phase.SESSION or code in SIGN_IN_CODES:
        # About the server or our settings, not about this mail: the next try may pass.
        return Delivery(status="retry", detail=detail, smtp_code=code)
    if code is not None and 500 <= code <= 599:
        is_bad_address = phase is _Phase.RECIPIENT and BAD_ADDRESS.match(str(error)) is not None
        return Delivery(status="failed", detail=detail, smtp_code=code, is_bad_address=is_bad_address)
    if code is not None and 400 <= code <= 499:
        return Delivery(status="retry", detail=detail, smtp_code=code)
    # Lost, too late, unreadable, or a reply that no server should give.
    unclear: Status = "uncertain" if phase is _Phase.FINAL_DOT else "retry"
    return Delivery(status=unclear, detail=detail)


def _raise_mapped(error: Exception, settings: SmtpSettings) -> NoReturn:
    """Map what went wrong in a session to what the operator may do."""
    where = f"{settings.host}:{settings.port}"
    match error:
        case SupportAgentError():
            raise error
        case LoginRefused() if error.code >= 500:
            raise ConfigError(
                f"{where} refuses smtp.user {settings.user!r}: check smtp.user and smtp.password",
                code="smtp_login",
            ) from error
        case ssl.SSLCertVerificationError():
            raise ConfigError(
                f"the certificate of {where} cannot be verified ({error}): check smtp.host, or set smtp.ca_file",
                code="smtp_certificate",
            ) from error
        case NotOffered():
            raise ConfigError(
                f"{where} does not offer what is needed ({error}): check smtp.security and smtp.port",
                code="smtp_security",
            ) from error
    raise TransientError(f"{where} cannot be used now: {_short(str(error)) or type(error).__name__}") from error


def _short(text: str) -> str:
    return " ".join(text.split())[:MAX_DETAIL_CHARACTERS]
