"""One SMTP session over aiosmtplib: connect, secure, sign in, send; bounded in time and size.

Invariant: each reply is complete by RFC 5321, section 4.2, and arrives in time, or `ConnectionLost` is raised; nothing
is sent while unexpected input from the server is pending; and no password or token is sent before TLS (S60). Checked by
tests/integration/transport/test_submission.py, whose server breaks off, hangs and sends nonsense at every line, and
with Postfix.

The library's event loop lives as long as the session and runs only inside its calls; to the outside all is synchronous.
The library drops unexpected input, also input injected before TLS, and reads "2500 x" as 250. So `_Protocol` keeps
every octet received, and each reply is compared with them.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TypeVar

import aiosmtplib
from aiosmtplib.auth import auth_login_encode
from aiosmtplib.protocol import SMTPProtocol

from support_agent.config.mail_servers import Security, SmtpSettings
from support_agent.transport.tls import certificate_end, client_context

MAX_PENDING_OCTETS = 65_536
"""Most pending input that is kept; the library itself rejects a reply of half this size."""
WRITE_POLL_S = 0.005
RECEIVE_TURNS = 2
"""Turns of the event loop that reading input takes: one to notice it, one to read it."""
REPLY = re.compile(rb"([2-5][0-9]{2})(?:-[^\r\n]*\r?\n\1)*(?: ([^\r\n]*))?\r?\n")
"""All lines of one reply; the text is that of the last line."""
READY = range(220, 221)
COMPLETED = range(250, 260)
"""Success replies; an unknown code counts by its first two digits (RFC 5321, section 4.2.1)."""
START_MAIL_INPUT = range(354, 355)
SIGNED_IN, CHALLENGE = 235, 334
SERVICE_CLOSES = 421

T = TypeVar("T")


class ConnectionLost(Exception):
    """There is no readable reply: the connection ended, the time ran out, or the input was not SMTP."""


class SmtpRefused(Exception):
    """The server answered a command with an unexpected code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class LoginRefused(SmtpRefused):
    """The server rejects the user, the password or the token."""


class NotOffered(Exception):
    """The server lacks what the settings need; neither a login nor a mail was sent."""


class _Protocol(SMTPProtocol):
    """The library's protocol, and every octet received that belongs to no reply yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self.wire: asyncio.Transport | None = None
        """The TCP connection, below TLS."""
        self.pending = bytearray()
        self.has_eof = False

    @property
    def excerpt(self) -> bytes:
        """The beginning of the pending input, for error messages."""
        return bytes(self.pending[:80])

    @property
    def is_closed(self) -> bool:
        return self.has_eof or self.wire is None or self.wire.is_closing()

    def data_received(self, data: bytes) -> None:
        self.pending += data[: MAX_PENDING_OCTETS - len(self.pending)]
        super().data_received(data)

    def eof_received(self) -> bool:
        self.has_eof = True
        return super().eof_received()

    def write(self, data: bytes) -> None:
        """Write to the connection; if that fails at once, the server cannot have received any of the data."""
        self.require_silence()
        super().write(data)
        if self.is_closed:
            raise ConnectionLost("the connection was lost")

    async def read_response(self, timeout: float | None = None) -> aiosmtplib.SMTPResponse:
        """Read one reply that no more input follows: it could be injected before TLS (RFC 3207, section 6)."""
        reply = await self.read_first(timeout)
        if self.pending:
            raise ConnectionLost(f"the server sent unexpected input after its reply: {self.excerpt!r}")
        return reply

    async def read_first(self, timeout: float | None) -> aiosmtplib.SMTPResponse:
        """Read one reply; input after it stays pending, and ends the session at the next command."""
        code, text = await super().read_response(timeout)
        match = REPLY.match(self.pending)
        if match is None:
            raise ConnectionLost(f"the server did not send an SMTP reply: {self.excerpt!r}")
        del self.pending[: match.end()]
        return aiosmtplib.SMTPResponse(code, text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))

    async def receive(self) -> None:
        """Read the input that arrived while the loop did not run."""
        for _ in range(RECEIVE_TURNS):
            await asyncio.sleep(0)

    def require_silence(self) -> None:
        """Check that the server has neither closed the connection nor sent anything unasked, as on its shutdown.

        Raises:
            SmtpRefused: it sent exactly one reply.
            ConnectionLost: it closed the connection, or sent something else.
        """
        if match := REPLY.fullmatch(self.pending):
            raise SmtpRefused(int(match[1]), (match[2] or b"").decode("utf-8", "replace"))
        if self.pending:
            raise ConnectionLost(f"the server sent unexpected input: {self.excerpt!r}")
        if self.is_closed:
            raise ConnectionLost("the server closed the connection")

    def unsent_octets(self) -> int:
        """Octets still buffered in this process, above and below TLS."""
        layers = (self.transport, self.wire)
        return sum(layer.get_write_buffer_size() for layer in layers if isinstance(layer, asyncio.WriteTransport))


class SmtpSession:
    """An open connection, for one thread at a time; `open_session` opens it, `close` ends it."""

    def __init__(self, settings: SmtpSettings, context: ssl.SSLContext | None) -> None:
        self._settings = settings
        self._context = context
        self._client = aiosmtplib.SMTP(
            hostname=settings.host, port=settings.port, timeout=settings.timeout_s, tls_context=context
        )
        self._socket = socket.create_connection((settings.host, settings.port), settings.timeout_s)
        # Its own loop: the thread's loop stays untouched, and the next call may come from another thread.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._protocol = _Protocol(self._runner.get_loop())
        self.extensions: dict[str, str] = {}
        """The extensions that the server offers, by upper-case name."""

    @property
    def certificate_ends_at(self) -> datetime | None:
        """When the server's certificate ends; None: the connection is not over TLS."""
        transport = self._protocol.transport
        return None if transport is None else certificate_end(transport.get_extra_info("ssl_object"))

    def begin(self, helo: str, token: str | None) -> None:
        """Read the greeting, secure the connection and sign in; raises the errors of `open_session`."""
        self._run(self._begin(helo, token))

    def expect(self, command: str, wanted: range = COMPLETED) -> None:
        """Send one command and read the reply; a code outside `wanted` raises `SmtpRefused`."""
        self._run(self._expect(command, wanted))

    def send(self, data: bytes, timeout_s: float) -> None:
        """Send data that gets no reply, until all of it has left this process."""
        self._run(self._send(data, timeout_s))

    def end_data(self) -> None:
        """Send the final dot; if this fails, the server cannot have received it."""
        with _mapped():
            self._protocol.write(b".\r\n")

    def final_reply(self, timeout_s: float) -> aiosmtplib.SMTPResponse:
        """Read the reply to the whole mail; any other than success raises `SmtpRefused`."""
        return _require(self._run(self._protocol.read_first(timeout_s)), COMPLETED)

    def quit(self, timeout_s: float) -> None:
        """Send QUIT if the connection still works, and close."""
        with suppress(ConnectionLost, SmtpRefused):
            self._run(self._client.quit(timeout=timeout_s))
        self.close()

    def close(self) -> None:
        """Release the socket and the loop, without waiting for the server."""
        if self._protocol.wire is not None:
            self._protocol.wire.abort()
        self._runner.close()
        self._socket.close()

    def _run(self, step: Coroutine[object, object, T]) -> T:
        with _mapped():
            return self._runner.run(step)

    async def _begin(self, helo: str, token: str | None) -> None:
        settings, client, protocol = self._settings, self._client, self._protocol
        loop = asyncio.get_running_loop()
        protocol.wire, _ = await loop.create_connection(lambda: protocol, sock=self._socket)
        if self._context is not None and settings.security is Security.TLS:
            protocol.require_silence()
            host, timeout_s = settings.host, settings.timeout_s
            protocol.transport = await loop.start_tls(
                protocol.wire, protocol, self._context, server_hostname=host, ssl_handshake_timeout=timeout_s
            )
        # Instead of `SMTP.connect`, which would create its own protocol; it sets only these two attributes.
        client.protocol, client.transport = protocol, protocol.transport
        _require(await protocol.read_response(settings.timeout_s), READY)
        await self._greet(helo)
        if settings.security is Security.STARTTLS:
            if not client.supports_extension("STARTTLS"):
                raise NotOffered("STARTTLS")
            await client.starttls()
            await self._greet(helo)
        if settings.user:
            await self._sign_in(token)

    async def _greet(self, helo: str) -> None:
        """Send EHLO and replace the known extensions."""
        self._client.last_ehlo_response = await self._expect(f"EHLO {helo}", COMPLETED)
        self.extensions = {name.upper(): value for name, value in self._client.esmtp_extensions.items()}

    async def _sign_in(self, token: str | None) -> None:
        """Sign in with a token, else with the password: AUTH PLAIN (RFC 4616), or LOGIN if the server lacks it."""
        client, user = self._client, self._settings.user
        password, offered = self._settings.password.get_secret_value(), client.server_auth_methods
        if self._settings.security is Security.PLAIN:
            raise NotOffered("a login without TLS: set smtp.security to 'tls' or 'starttls', or leave smtp.user empty")
        if token is not None:
            if "xoauth2" not in offered:
                raise NotOffered("AUTH XOAUTH2")
            await client.auth_xoauth2(user, token)
        elif "plain" in offered:
            await client.auth_plain(user, password)
        elif "login" in offered:  # the library sends the user name with the command, which not every server accepts
            for command in (b"AUTH LOGIN", *auth_login_encode(user, password)):
                code, text = await client.execute_command(command)
                if code != CHALLENGE:
                    break
            if code != SIGNED_IN:
                raise LoginRefused(code, text)
        else:
            raise NotOffered("AUTH PLAIN or LOGIN")

    async def _expect(self, command: str, wanted: range) -> aiosmtplib.SMTPResponse:
        await self._protocol.receive()
        return _require(await self._client.execute_command(command.encode()), wanted)

    async def _send(self, data: bytes, timeout_s: float) -> None:
        async with asyncio.timeout(timeout_s):
            await self._protocol.receive()
            self._protocol.write(data)
            while self._protocol.unsent_octets():
                await asyncio.sleep(WRITE_POLL_S)
            await self._protocol.receive()  # notice a closed connection before the final dot is sent


def open_session(settings: SmtpSettings, helo: str, token: str | None = None) -> SmtpSession:
    """Connect, secure the connection and sign in.

    Args:
        helo: Our own domain name, for EHLO.
        token: An access token, used instead of the password.
    Raises:
        ConfigError: `smtp.ca_file` cannot be read.
        ConnectionLost, SmtpRefused, NotOffered, OSError: the server or the network failed.
    """
    session = SmtpSession(settings, None if settings.security is Security.PLAIN else client_context(settings, "smtp"))
    try:
        session.begin(helo, token)
    except BaseException:
        session.close()
        raise
    return session


def _require(reply: aiosmtplib.SMTPResponse, wanted: range) -> aiosmtplib.SMTPResponse:
    if reply.code not in wanted:
        raise SmtpRefused(reply.code, reply.message)
    return reply


@contextmanager
def _mapped() -> Iterator[None]:
    """Map the library's errors to ours; a certificate error passes unchanged."""
    try:
        yield
    except aiosmtplib.SMTPAuthenticationError as error:
        raise LoginRefused(error.code, error.message) from error
    except aiosmtplib.SMTPResponseException as error:
        if error.code < 0:  # the library's code for a malformed reply
            raise ConnectionLost(error.message) from error
        raise SmtpRefused(error.code, error.message) from error
    except ssl.SSLCertVerificationError:
        raise
    except (aiosmtplib.SMTPException, OSError) as error:
        raise ConnectionLost(str(error) or "the time ran out") from error
