"""Hand one mail to the SMTP server and say what is known afterwards.

Invariant: `sent` only after the server's 250 to the whole mail, `retry` and `failed` only where the server
cannot have taken it, and `uncertain` for everything between our final dot and a readable reply, so that no
caller can send twice by trusting this module (S61, S62; RFC 5321, section 4.5.3.2.6). Checked by
tests/integration/mail/test_outbox.py, which cuts, hangs and refuses at each line, and against Postfix.

The dialogue is driven line by line because only that tells in which phase a connection was lost. The event
loop of aiosmtplib starts and ends inside each call; outside, everything is synchronous.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from contextlib import suppress
from enum import StrEnum
from typing import Literal, NoReturn

import aiosmtplib

from support_agent.errors import ConfigError, TransientError
from support_agent.frozen import Frozen
from support_agent.mail.addresses import normal_address
from support_agent.mail.tls import client_context
from support_agent.settings import Security, SmtpSettings

MAX_DETAIL_CHARACTERS = 300
WRITE_POLL_S = 0.01
QUIT_S = 2.0
CLOSING_TURNS = 5
"""Turns of the event loop in which a connection's closed socket is released."""
LINE_END = re.compile(rb"\r\n|\r|\n")

Status = Literal["sent", "retry", "failed", "uncertain"]


class Delivery(Frozen):
    """What became of one try. `smtp_code` is the server's last reply, None where there was none."""

    status: Status
    detail: str
    smtp_code: int | None = None


class _Phase(StrEnum):
    """Where in the dialogue a problem arose; nothing was taken before `FINAL_DOT`."""

    SESSION = "connecting"
    SENDER = "MAIL FROM"
    RECIPIENT = "RCPT TO"
    DATA = "DATA"
    CONTENT = "the content, before the final dot"
    FINAL_DOT = "the reply to the final dot"


class _Refused(Exception):
    """The server answered one line with a code that we did not want."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Transport:
    """The way to the SMTP server of the settings; one connection per mail, safe for several threads."""

    def __init__(self, settings: SmtpSettings) -> None:
        self._settings = settings

    def deliver(self, raw: bytes, envelope_from: str, recipient: str) -> Delivery:
        """Try once to deliver one mail to one recipient. Never raises for what a server or a network can do.

        Args:
            raw: The whole mail as `outgoing` made it.
            envelope_from: The address bounces come back to; "" for a mail that must not bounce.
            recipient: The one address it goes to.
        Raises:
            ConfigError: `smtp.ca_file` cannot be read.
        """
        for address in filter(None, (envelope_from, recipient or "(none)")):
            plain = normal_address(address)
            if plain is None or not plain.isascii():
                return Delivery(status="failed", detail=f"not an address that can be sent to: {address!r}")
        return asyncio.run(self._deliver(raw, envelope_from, recipient))

    def check(self, helo: str = "localhost") -> None:
        """Connect, secure, log in and leave, for `doctor`.

        Raises:
            ConfigError: the user, the password, the certificate or STARTTLS must be put right by the
            operator. TransientError: the server cannot be reached now.
        """
        asyncio.run(self._check(helo))

    async def _check(self, helo: str) -> None:
        client = self._client(helo)
        try:
            await client.connect()
            await client.noop()
        except Exception as error:
            _raise_mapped(error, self._settings)
        finally:
            await _leave(client)

    async def _deliver(self, raw: bytes, envelope_from: str, recipient: str) -> Delivery:
        phase = _Phase.SESSION
        client = self._client((envelope_from or recipient).rpartition("@")[2])
        try:
            await client.connect()
            if client.is_ehlo_or_helo_needed:
                await client.ehlo()
            phase = _Phase.SENDER
            await _command(client, f"MAIL FROM:<{envelope_from}>{_mail_options(client, raw)}", 250)
            phase = _Phase.RECIPIENT
            await _command(client, f"RCPT TO:<{recipient}>", 250, 251)
            phase = _Phase.DATA
            await _command(client, "DATA", 354)
            phase = _Phase.CONTENT
            await _write_content(client, raw, self._settings.timeout_s)
            phase = _Phase.FINAL_DOT
            reply = await _command(client, ".", 250, timeout_s=self._settings.final_timeout_s)
            return Delivery(status="sent", detail=_short(reply.message), smtp_code=reply.code)
        except Exception as error:  # each kind of failure is a status; _judge says which
            return _judge(phase, error)
        finally:
            await _leave(client)

    def _client(self, helo: str) -> aiosmtplib.SMTP:
        settings = self._settings
        return _Client(
            hostname=settings.host,
            port=settings.port,
            username=settings.user or None,
            password=settings.password.get_secret_value() or None,
            local_hostname=helo,
            timeout=settings.timeout_s,
            use_tls=settings.security is Security.TLS,
            start_tls=settings.security is Security.STARTTLS,  # True: a server without STARTTLS is refused
            tls_context=None if settings.security is Security.PLAIN else client_context(settings, "smtp"),
        )


async def _command(
    client: aiosmtplib.SMTP, line: str, *wanted: int, timeout_s: float | None = None
) -> aiosmtplib.SMTPResponse:
    limit = client.timeout if timeout_s is None else timeout_s
    reply = await client.execute_command(line.encode("ascii"), timeout=limit)
    if reply.code not in wanted:
        raise _Refused(reply.code, reply.message)
    return reply


def _mail_options(client: aiosmtplib.SMTP, raw: bytes) -> str:
    """Extensions only where advertised (RFC 1870, RFC 6152)."""
    size = f" SIZE={len(raw)}" if client.supports_extension("size") else ""
    needs_8bit = not raw.isascii() and client.supports_extension("8bitmime")
    return size + (" BODY=8BITMIME" if needs_8bit else "")


async def _write_content(client: aiosmtplib.SMTP, raw: bytes, timeout_s: float) -> None:
    """Send the mail without its final dot and wait until all has left this process (RFC 5321, 4.5.2)."""
    lines = LINE_END.split(raw.removesuffix(b"\r\n"))
    stuffed = b"".join((b"." + line if line.startswith(b".") else line) + b"\r\n" for line in lines)
    transport = client.transport
    if not isinstance(transport, asyncio.WriteTransport):
        raise aiosmtplib.SMTPServerDisconnected("Connection lost")
    transport.write(stuffed)
    async with asyncio.timeout(timeout_s + len(stuffed) / 10_000):  # a slow line still moves 10 kB a second
        await asyncio.sleep(0)  # let a connection that is already gone be noticed before the dot
        while client.is_connected and transport.get_write_buffer_size():
            await asyncio.sleep(WRITE_POLL_S)
    if not client.is_connected:
        raise aiosmtplib.SMTPServerDisconnected("Connection lost")


class _Client(aiosmtplib.SMTP):
    """Closes at once: a TLS connection would wait for the other side, and its socket outlive the loop."""

    def close(self) -> None:
        transport = self.transport
        super().close()
        if isinstance(transport, asyncio.WriteTransport):
            transport.abort()


async def _leave(client: aiosmtplib.SMTP) -> None:
    """Say goodbye where somebody listens; what was decided before stands."""
    with suppress(aiosmtplib.SMTPException, OSError):
        if client.is_connected:
            await client.quit(timeout=QUIT_S)
    client.close()
    for _ in range(CLOSING_TURNS):
        await asyncio.sleep(0)


def _judge(phase: _Phase, error: Exception) -> Delivery:
    """Map what went wrong and where to what the caller may do next."""
    code = _code(error)
    detail = _short(f"{phase}: {code or type(error).__name__} {error}")
    if phase is _Phase.SESSION:  # about the server or our settings, not about this mail: the next try may pass
        return Delivery(status="retry", detail=detail, smtp_code=code)
    if code is None:  # lost, timed out or unreadable
        return Delivery(status="uncertain" if phase is _Phase.FINAL_DOT else "retry", detail=detail)
    if 500 <= code <= 599:
        return Delivery(status="failed", detail=detail, smtp_code=code)
    if 400 <= code <= 499:
        return Delivery(status="retry", detail=detail, smtp_code=code)
    unclear: Status = "uncertain" if phase is _Phase.FINAL_DOT else "retry"  # a reply that no server should give
    return Delivery(status=unclear, detail=detail, smtp_code=code)


def _code(error: Exception) -> int | None:
    """The reply code of a refusal; None for what is no reply (aiosmtplib uses -1 for unreadable ones)."""
    if isinstance(error, _Refused | aiosmtplib.SMTPResponseException):
        return error.code if 200 <= error.code <= 599 else None
    return None


def _raise_mapped(error: Exception, settings: SmtpSettings) -> NoReturn:
    """Map a library error of the session to ours."""
    where = f"{settings.host}:{settings.port}"
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__
    if isinstance(error, ConfigError):
        raise error
    if isinstance(error, aiosmtplib.SMTPAuthenticationError) and error.code >= 500:
        raise ConfigError(
            f"{where} refuses smtp.user {settings.user!r}: check smtp.user and smtp.password",
            code="smtp_login",
        ) from error
    if cause is not None:
        raise ConfigError(
            f"the certificate of {where} cannot be verified ({cause}): check smtp.host, or set smtp.ca_file",
            code="smtp_certificate",
        ) from error
    if isinstance(error, aiosmtplib.SMTPNotSupported) or "STARTTLS" in str(error):
        raise ConfigError(
            f"{where} does not offer what is needed ({_short(str(error))}): check smtp.security and smtp.port",
            code="smtp_security",
        ) from error
    raise TransientError(f"{where} cannot be used now: {_short(str(error)) or type(error).__name__}") from error


def _short(text: str) -> str:
    return " ".join(text.split())[:MAX_DETAIL_CHARACTERS]
