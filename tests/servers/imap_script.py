"""An IMAP server that answers what it is told: for what no real server can be brought to say."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Rule = tuple[str, bytes]
"""A pattern of a command without its tag, and what is said to it; `%t` is the tag. b"" hangs up."""

DRIPS, DRIP_S = 300, 0.01
DRIPPING = b"* 1 EXISTS\r\n"
"""What begins with this twice comes after it was said `DRIPS` times, now and then."""
GREETING = b"* OK [CAPABILITY IMAP4rev1] ready\r\n"


@dataclass
class ScriptedImap:
    """What was said to each connection is in `heard`; the first rule that fits a line answers it."""

    port: int
    rules: Sequence[Rule]
    heard: list[str] = field(default_factory=list)
    _last_tag: str = ""

    def answer(self, line: str) -> bytes:
        """To one line, "BAD" where no rule fits; a line without a tag (a SASL response, DONE) is looked up whole."""
        tag, _, command = line.partition(" ")
        for pattern, said in self.rules:
            if re.match(pattern, command or line, re.IGNORECASE):
                return said.replace(b"%t", self._tag(tag).encode())
        return f"{tag} BAD unknown\r\n".encode()

    def _tag(self, tag: str) -> str:
        """That of the line, or of the command that the line goes on with."""
        if re.fullmatch(r"[A-Z]{4}\d+", tag):
            self._last_tag = tag
        return self._last_tag

    def talk(self, connection: socket.socket, greeting: bytes) -> None:
        """Until either side hangs up."""
        with connection, connection.makefile("rb") as lines:
            connection.sendall(greeting)
            for raw in lines:
                line = raw.decode("utf-8", "replace").rstrip("\r\n")
                self.heard.append(line)
                said = self.answer(line)
                if not said:
                    return
                for _ in range(DRIPS if said.startswith(DRIPPING * 2) else 0):
                    connection.sendall(DRIPPING)
                    time.sleep(DRIP_S)
                connection.sendall(said)


OK: Callable[[str], bytes] = lambda what: f"%t OK {what}\r\n".encode()  # noqa: E731
BASICS: tuple[Rule, ...] = (
    (r"CAPABILITY", b"* CAPABILITY IMAP4rev1\r\n%t OK done\r\n"),
    (r"LOGIN", OK("in")),
    (r"LOGOUT", b"* BYE bye\r\n%t OK done\r\n"),
    (r"NOOP", OK("done")),
)


@contextmanager
def scripted_imap(*rules: Rule, greeting: bytes = GREETING) -> Iterator[ScriptedImap]:
    """A server on a loopback port that knows these rules, then `BASICS`; one connection after the other."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = ScriptedImap(int(listener.getsockname()[1]), (*rules, *BASICS))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with suppress(OSError):
                server.talk(connection, greeting)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)
