"""One session with an SMTP server over aiosmtplib: greeted, secured, signed in; bounded in time and size.

Invariant: a reply is a whole one by RFC 5321, section 4.2, read within its time, or `Lost` is raised; nothing is said
while the server has said more than it was asked; and no password or token leaves before TLS does (S60). Checked by
tests/integration/transport/test_outbox.py, whose server cuts, hangs and talks nonsense at every line, and by Postfix.

The library's event loop lives as long as the session and runs within its calls only; outside, all is synchronous. The
library drops what a server says unasked, goes on after what was said in the clear before TLS, and takes "2500 x" for
250; so its protocol keeps every octet here, and each reply is held against them.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import aiosmtplib
from aiosmtplib.auth import auth_login_encode
from aiosmtplib.protocol import SMTPProtocol

from support_agent.config.settings import Security, SmtpSettings
from support_agent.transport.tls import client_context

MAX_HEARD_OCTETS = 65_536
"""Kept of what a server says at once; the library ends a reply of half of it."""
WRITE_POLL_S = 0.005
LISTENING_TURNS = 2
"""Turns of the event loop: one sees that something came, in the next one it has been read."""
REPLY = re.compile(rb"([2-5][0-9]{2})(?:-[^\r\n]*\r?\n\1)*(?: ([^\r\n]*))?\r?\n")
"""All lines of a reply with one code; the text is that of the last."""
READY = range(220, 221)
COMPLETED = range(250, 260)
"""The mail system did as it was told; an unknown code counts by its first two digits (RFC 5321, section 4.2.1)."""
GO_ON = range(354, 355)
SIGNED_IN, CHALLENGE = 235, 334
SERVICE_CLOSES = 421

T = TypeVar("T")


class Lost(Exception):
    """No reply that can be read: the connection ended, the time was up, or it was not SMTP."""


class Refused(Exception):
    """The server answered one line with a code that was not wanted."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class LoginRefused(Refused):
    """The server does not take the user, the password or the token."""


class NotOffered(Exception):
    """The server does not offer what the settings need; neither a login nor a mail was sent."""


class _Line(SMTPProtocol):
    """The library's protocol, and every octet that no reply has accounted for yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self.wire: asyncio.Transport | None = None
        """The connection itself, also below TLS."""
        self.heard = bytearray()
        self.is_over = False

    @property
    def words(self) -> bytes:
        """The beginning of what was heard, for people."""
        return bytes(self.heard[:80])

    @property
    def is_gone(self) -> bool:
        return self.is_over or self.wire is None or self.wire.is_closing()

    def data_received(self, data: bytes) -> None:
        self.heard += data[: MAX_HEARD_OCTETS - len(self.heard)]
        super().data_received(data)

    def eof_received(self) -> bool:
        self.is_over = True
        return super().eof_received()

    def write(self, data: bytes) -> None:
        """Hand data to the system; where that fails at once, the server cannot have had any of it."""
        self.require_silence()
        super().write(data)
        if self.is_gone:
            raise Lost("the connection was lost")

    async def read_response(self, timeout: float | None = None) -> aiosmtplib.SMTPResponse:
        """Read one reply that nothing follows; what was said before TLS is not believed (RFC 3207, section 6)."""
        reply = await self.read_first(timeout)
        if self.heard:
            raise Lost(f"the server said more than it was asked: {self.words!r}")
        return reply

    async def read_first(self, timeout: float | None) -> aiosmtplib.SMTPResponse:
        """Read one reply; what follows it stays heard, and ends the session at the next line."""
        code, text = await super().read_response(timeout)
        match = REPLY.match(self.heard)
        if match is None:
            raise Lost(f"the server said what is no reply: {self.words!r}")
        del self.heard[: match.end()]
        return aiosmtplib.SMTPResponse(code, text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))

    async def listen(self) -> None:
        """Take in what came while the loop stood still."""
        for _ in range(LISTENING_TURNS):
            await asyncio.sleep(0)

    def require_silence(self) -> None:
        """See that the server did not go away, and said nothing unasked, as one that shuts down does.

        Raises:
            Refused: it said one whole reply.
            Lost: it is gone, or said something else.
        """
        if match := REPLY.fullmatch(self.heard):
            raise Refused(int(match[1]), (match[2] or b"").decode("utf-8", "replace"))
        if self.heard:
            raise Lost(f"the server said what it was not asked: {self.words!r}")
        if self.is_gone:
            raise Lost("the server closed the connection")

    def unsent_octets(self) -> int:
        """What waits in this process for the system to take it, above and below TLS."""
        layers = (self.transport, self.wire)
        return sum(layer.get_write_buffer_size() for layer in layers if isinstance(layer, asyncio.WriteTransport))


class Session:
    """An open connection; made by `open_session`, ended by `close`, for one thread at a time."""

    def __init__(self, settings: SmtpSettings, context: ssl.SSLContext | None) -> None:
        self._settings = settings
        self._context = context
        self._client = aiosmtplib.SMTP(
            hostname=settings.host, port=settings.port, timeout=settings.timeout_s, tls_context=context
        )
        self._socket = socket.create_connection((settings.host, settings.port), settings.timeout_s)
        # A loop of its own: the thread's is left as it is, and the next call may come from another thread.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._line = _Line(self._runner.get_loop())
        self.extensions: dict[str, str] = {}
        """What the server offers, by names in capitals."""

    def begin(self, helo: str, token: str | None) -> None:
        """Be greeted, secure the line and sign in; raises what `open_session` does."""
        self._run(self._begin(helo, token))

    def expect(self, line: str, wanted: range = COMPLETED) -> None:
        """Say one line and read the reply to it; any but a wanted one is `Refused`."""
        self._run(self._expect(line, wanted))

    def send(self, data: bytes, timeout_s: float) -> None:
        """Send what no reply is given to, until all of it has left this process."""
        self._run(self._send(data, timeout_s))

    def end_data(self) -> None:
        """Send the final dot; where this fails, the server cannot have had it."""
        with _mapped():
            self._line.write(b".\r\n")

    def final_reply(self, timeout_s: float) -> aiosmtplib.SMTPResponse:
        """Read the reply to the whole mail; any but a good one is `Refused`."""
        return _require(self._run(self._line.read_first(timeout_s)), COMPLETED)

    def quit(self, timeout_s: float) -> None:
        """Say goodbye where somebody listens, and close."""
        with suppress(Lost, Refused):
            self._run(self._client.quit(timeout=timeout_s))
        self.close()

    def close(self) -> None:
        """Release the socket and the loop, without waiting for the other side."""
        if self._line.wire is not None:
            self._line.wire.abort()
        self._runner.close()
        self._socket.close()

    def _run(self, step: Coroutine[object, object, T]) -> T:
        with _mapped():
            return self._runner.run(step)

    async def _begin(self, helo: str, token: str | None) -> None:
        settings, client, line = self._settings, self._client, self._line
        loop = asyncio.get_running_loop()
        line.wire, _ = await loop.create_connection(lambda: line, sock=self._socket)
        if self._context is not None and settings.security is Security.TLS:
            line.require_silence()
            host, timeout_s = settings.host, settings.timeout_s
            line.transport = await loop.start_tls(
                line.wire, line, self._context, server_hostname=host, ssl_handshake_timeout=timeout_s
            )
        # `SMTP.connect` would make a protocol of its own; these two are all that it leaves behind.
        client.protocol, client.transport = line, line.transport
        _require(await line.read_response(settings.timeout_s), READY)
        await self._greet(helo)
        if settings.security is Security.STARTTLS:
            if not client.supports_extension("STARTTLS"):
                raise NotOffered("STARTTLS")
            await client.starttls()
            await self._greet(helo)
        if settings.user:
            await self._sign_in(token)

    async def _greet(self, helo: str) -> None:
        """EHLO; what was known of the server before is forgotten."""
        self._client.last_ehlo_response = await self._expect(f"EHLO {helo}", COMPLETED)
        self.extensions = {name.upper(): value for name, value in self._client.esmtp_extensions.items()}

    async def _sign_in(self, token: str | None) -> None:
        """AUTH with a token, or a password (RFC 4616), or LOGIN where the server has nothing better."""
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
        elif "login" in offered:  # the library says the user's name before it is asked, which not every server knows
            for line in (b"AUTH LOGIN", *auth_login_encode(user, password)):
                code, text = await client.execute_command(line)
                if code != CHALLENGE:
                    break
            if code != SIGNED_IN:
                raise LoginRefused(code, text)
        else:
            raise NotOffered("AUTH PLAIN or LOGIN")

    async def _expect(self, line: str, wanted: range) -> aiosmtplib.SMTPResponse:
        await self._line.listen()
        return _require(await self._client.execute_command(line.encode()), wanted)

    async def _send(self, data: bytes, timeout_s: float) -> None:
        async with asyncio.timeout(timeout_s):
            await self._line.listen()
            self._line.write(data)
            while self._line.unsent_octets():
                await asyncio.sleep(WRITE_POLL_S)
            await self._line.listen()  # a server that is gone already must not have the final dot


def open_session(settings: SmtpSettings, helo: str, token: str | None = None) -> Session:
    """Connect, greet, secure and sign in.

    Args:
        helo: Our own name, a domain.
        token: An access token, shown instead of the password.
    Raises:
        ConfigError: `smtp.ca_file` cannot be read.
        Lost, Refused, NotOffered, OSError: as the server or the way to it will have it.
    """
    session = Session(settings, None if settings.security is Security.PLAIN else client_context(settings, "smtp"))
    try:
        session.begin(helo, token)
    except BaseException:
        session.close()
        raise
    return session


def _require(reply: aiosmtplib.SMTPResponse, wanted: range) -> aiosmtplib.SMTPResponse:
    if reply.code not in wanted:
        raise Refused(reply.code, reply.message)
    return reply


@contextmanager
def _mapped() -> Iterator[None]:
    """Map what the library raises to what a caller must know; a bad certificate stays what it is."""
    try:
        yield
    except aiosmtplib.SMTPAuthenticationError as error:
        raise LoginRefused(error.code, error.message) from error
    except aiosmtplib.SMTPResponseException as error:
        if error.code < 0:  # the library's word for what is no reply
            raise Lost(error.message) from error
        raise Refused(error.code, error.message) from error
    except ssl.SSLCertVerificationError:
        raise
    except (aiosmtplib.SMTPException, OSError) as error:
        raise Lost(str(error) or "the time was up") from error
