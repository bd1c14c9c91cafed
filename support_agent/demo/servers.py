"""A mailbox and a mail server for the demo and for tests: IMAP and SMTP on loopback, one thread, in memory.

Both speak the real protocols, so that the demo runs production code. Invariant: mails keep their bytes and the order of
delivery, and nothing of the servers is left after `close`.
Checked by tests/integration/demo/test_servers.py.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from argparse import Namespace
from asyncio import AbstractEventLoop, BaseTransport, Server, StreamReader, StreamWriter, WriteTransport
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4
from weakref import WeakSet

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from proxyprotocol.sock import SocketInfo
from pymap.backend.dict import Config, Login
from pymap.backend.dict.filter import FilterSet
from pymap.backend.dict.mailbox import MailboxSet
from pymap.concurrent import Subsystem
from pymap.config import BackendCapability
from pymap.imap import IMAPServer
from pymap.parsing.message import AppendMessage
from pymap.user import UserMetadata
from pysasl.hashing import BuiltinHash

SMTP_LOG = logging.getLogger("mail.log")
"""The log of aiosmtpd: it has every command, and at each sign-in a warning about its own code."""
HOST = "127.0.0.1"
HOST_NAME = "localhost"
INBOX = "INBOX"
SENT_FOLDER = "Sent"
MAX_MAIL_BYTES = 50_000_000
HASH_ROUNDS = 1_000
"""For the only password; with the usual number each sign-in takes a quarter of a second."""
TIMEOUT_S = 30.0
"""Longest wait of another thread for the servers' thread."""
T = TypeVar("T")
SignsIn = Callable[[SMTP, Session, Envelope, str, Any], AuthResult]


@dataclass(frozen=True)
class Received:
    """A mail that the SMTP server accepted; `envelope_from` is "" for `MAIL FROM:<>`."""

    envelope_from: str
    recipients: tuple[str, ...]
    raw: bytes


class DemoServers:
    """The two servers, running from the beginning of a `with` to its end; any thread may call the methods.

    The mailbox of `user` has INBOX, which `deliver` fills, and an empty Sent. SMTP takes mail from anybody on
    this machine, signed in or not, to anybody, keeps it for `received` and brings it nowhere.
    """

    def __init__(self, *, user: str = "support", password: str = "demo") -> None:
        self.user = user
        self.password = password
        self.host = HOST
        self.imap_port = 0
        self.smtp_port = 0
        self._received: list[Received] = []
        self._mailboxes = MailboxSet()
        self._servers: list[Server] = []
        self._connections: WeakSet[WriteTransport] = WeakSet()
        self._loop: AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="demo-servers", daemon=True)
        self._thread.start()
        try:
            self._call(self._start())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def deliver(self, raw: bytes) -> int:
        """Put a mail into INBOX and return its UID, which is greater than every one before.

        Args:
            raw: The whole mail, lines ending in CRLF.
        Raises:
            RuntimeError: the servers are not running.
        """
        return self._call(self._append(raw))

    def received(self) -> tuple[Received, ...]:
        """Every mail accepted so far, in the order of arrival."""
        return tuple(self._received)

    def received_by(self, address: str) -> tuple[Received, ...]:
        """The mails to one address, in upper or lower case: a customer's inbox, or the desk's."""
        wanted = address.lower()
        return tuple(mail for mail in self._received if wanted in map(str.lower, mail.recipients))

    def close(self) -> None:
        """Stop both servers and end their connections; a second call does nothing."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        try:
            self._call(self._stop())
        finally:
            self._loop = self._thread = None
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` in the servers' thread and return its result."""
        if self._loop is None:
            work.close()
            raise RuntimeError("the demo's servers are not running: call this inside `with DemoServers()`")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(TIMEOUT_S)

    async def _start(self) -> None:
        SMTP_LOG.setLevel(logging.ERROR)
        await self._mailboxes.add_mailbox(SENT_FOLDER)
        config = _MailboxConfig(self.user, self.password)
        config.set_cache[self.user] = (self._mailboxes, FilterSet())
        imap = IMAPServer(await _login(config), config)

        async def connected(reader: StreamReader, writer: StreamWriter) -> None:
            # Awaited here: pymap's own way holds no reference to a session, and the garbage collector may end it.
            self._connections.add(writer.transport)
            await imap(reader, writer, SocketInfo.get(writer, None, unique_id=uuid4().bytes))

        self._servers = [
            await asyncio.start_server(connected, HOST, 0),
            await asyncio.get_running_loop().create_server(self._smtp_session, HOST, 0),
        ]
        self.imap_port, self.smtp_port = (server.sockets[0].getsockname()[1] for server in self._servers)

    def _smtp_session(self) -> SMTP:
        return _SmtpSession(self._connections, _Keep(self._received), self._signs_in)

    def _signs_in(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        """Whether a user may sign in to SMTP; mail is accepted without a sign-in too."""
        expected = LoginPassword(self.user.encode(), self.password.encode())
        return AuthResult(success=data == expected, handled=False)

    async def _append(self, raw: bytes) -> int:
        inbox = await self._mailboxes.get_mailbox(INBOX)
        return (await inbox.append(AppendMessage(raw))).uid

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        for connection in tuple(self._connections):
            connection.abort()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _MailboxConfig(Config):
    """pymap's in-memory mailbox of one user: passwords without TLS, no network lookups."""

    def __init__(self, user: str, password: str) -> None:
        super().__init__(
            Namespace(proxy_protocol=None),
            host=HOST,
            port=0,
            tls_enabled=False,
            demo_data=False,
            demo_user=user,
            demo_password=password,
            hash_context=BuiltinHash(rounds=HASH_ROUNDS),
            cpu_subsystem=Subsystem.for_asyncio(),
            max_append_len=MAX_MAIL_BYTES,
        )

    @property
    def greeting(self) -> bytes:
        return f"{HOST_NAME} is ready".encode()

    @property
    def backend_capability(self) -> BackendCapability:
        """Without IDLE: pymap answers it in a way that clients do not expect, and polling is enough."""
        return BackendCapability(idle=False, object_id=True, multi_append=True)


async def _login(config: _MailboxConfig) -> Login:
    login = Login(config)
    password = BuiltinHash(rounds=HASH_ROUNDS).hash(config.demo_password)
    await login.demo_user_identity.set(UserMetadata(config, config.demo_user, password=password))
    return login


class _SmtpSession(SMTP):
    """One SMTP connection; it adds itself to `connections`."""

    def __init__(self, connections: WeakSet[WriteTransport], keep: _Keep, signs_in: SignsIn) -> None:
        super().__init__(
            keep,
            hostname=HOST_NAME,
            data_size_limit=MAX_MAIL_BYTES,
            enable_SMTPUTF8=True,
            auth_require_tls=False,
            authenticator=signs_in,
            loop=asyncio.get_running_loop(),
        )
        self._connections = connections

    def connection_made(self, transport: BaseTransport) -> None:
        if isinstance(transport, WriteTransport):
            self._connections.add(transport)
        super().connection_made(transport)


class _Keep:
    """Accepts every mail and keeps it."""

    def __init__(self, received: list[Received]) -> None:
        self._received = received

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Called by aiosmtpd after the final dot; returns the reply to the client."""
        self._received.append(
            Received(
                envelope_from="" if envelope.mail_from in (None, "<>") else envelope.mail_from,
                recipients=tuple(envelope.rcpt_tos),
                raw=envelope.original_content or b"",
            )
        )
        return "250 OK: kept"
