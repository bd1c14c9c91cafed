"""An SMTP server that misbehaves where its script says so; in-process, on a free loopback port.

The script maps a moment of the dialogue (`GREETING`, `EHLO`, `STARTTLS`, `EHLO-TLS`, `AUTH`, `ANSWER` to a challenge,
`MAIL`, `RCPT`, `DATA`, `CONTENT`, `DOT`, `RSET`, `QUIT`) to a reply, or to one of the misdeeds below. A list of replies
is used up one by one, then all goes well, as it does with what is not in the script.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from types import TracebackType
from typing import BinaryIO

from tests.servers.certificates import Certificates

CUT = "cut"
"""Close the connection."""
HANG = "hang"
"""Say nothing until the client goes."""
HALF = "half a line"
"""Close the connection within a good reply."""
ENDLESS_LINE = "endless line"
"""Say one line without end."""
ENDLESS_REPLY = "endless reply"
"""Say a reply whose every line promises another."""
DRIBBLE = "dribble"
"""Say one line a character at a time, without end."""
MISDEEDS = frozenset({CUT, HANG, HALF, ENDLESS_LINE, ENDLESS_REPLY, DRIBBLE})
DRIBBLE_S = 0.02

EXTENSIONS = "250-test\r\n250 SIZE 100000000"
GOOD = {
    "GREETING": "220 ready",
    "EHLO": EXTENSIONS,
    "EHLO-TLS": "250-test\r\n250-SIZE 100000000\r\n250 AUTH LOGIN PLAIN",
    "STARTTLS": "220 go on",
    "AUTH": "235 2.7.0 come in",
    "ANSWER": "235 2.7.0 come in",
    "MAIL": "250 ok",
    "RCPT": "250 ok",
    "DATA": "354 go on",
    "DOT": "250 2.0.0 taken as 42",
    "RSET": "250 ok",
    "QUIT": "221 bye",
}


class ScriptedSmtp:
    """Serves each connection in a thread; `lines` and `mails` are what clients said, `connections` how many came.

    Args:
        certificates: With them the server offers STARTTLS.
    """

    def __init__(
        self, script: Mapping[str, str | list[str]] | None = None, certificates: Certificates | None = None
    ) -> None:
        secured = {"EHLO": "250-test\r\n250 STARTTLS"} if certificates is not None else {}
        self._script: dict[str, str | list[str]] = {**GOOD, **secured, **(script or {})}
        self._context: ssl.SSLContext | None = None
        if certificates is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificates.certificate, certificates.key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._open: set[_Line] = set()
        self._is_stopped = threading.Event()
        self.port = int(self._listener.getsockname()[1])
        self.lines: list[str] = []
        self.mails: list[bytes] = []
        self.connections = 0

    def __enter__(self) -> ScriptedSmtp:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_stopped.set()
        with socket.create_connection(("127.0.0.1", self.port), timeout=5):
            pass  # wakes accept()
        self.hang_up()
        for thread in self._threads:
            thread.join(5)
        self._listener.close()

    def hang_up(self, said: str = "") -> None:
        """Say something unasked to every client, and close."""
        for line in list(self._open):
            with suppress(OSError):
                line.hang_up(said)

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._is_stopped.is_set():
                connection.close()
                return
            self.connections += 1
            thread = threading.Thread(target=self._attend, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _attend(self, connection: socket.socket) -> None:
        connection.settimeout(60)
        with suppress(OSError, ValueError), closing(_Line(self, connection)) as line:
            self._open.add(line)
            try:
                self._talk(line)
            finally:
                self._open.discard(line)

    def _talk(self, line: _Line) -> None:
        if not line.reply("GREETING"):
            return
        while (text := line.read()) is not None:
            self.lines.append(text)
            moment = "ANSWER" if line.said.startswith("334") else text.split(" ")[0].upper()
            if moment == "EHLO" and line.is_secure:
                moment = "EHLO-TLS"
            if not line.reply(moment) or moment == "QUIT":
                return
            if moment == "STARTTLS" and self._context is not None:
                line.secure(self._context)
            elif moment == "DATA" and line.said.startswith("354") and not self._take(line):
                return

    def _take(self, line: _Line) -> bool:
        """Take a mail; False where the connection is over."""
        if "CONTENT" in self._script:
            return line.reply("CONTENT")
        content = line.read_content()
        if content is None:
            return False
        self.mails.append(content)
        return line.reply("DOT")

    def next_reply(self, moment: str) -> str:
        """What the script has for a moment."""
        reply = self._script.get(moment, "502 what?")
        if isinstance(reply, str):
            return reply
        return reply.pop(0) if reply else GOOD[moment]


class _Line:
    """One client's connection."""

    def __init__(self, server: ScriptedSmtp, connection: socket.socket) -> None:
        self._server = server
        self._connection = connection
        self._file: BinaryIO = connection.makefile("rb")
        self.is_secure = False
        self.said = ""

    def read(self) -> str | None:
        line = self._file.readline()
        return line.decode("utf-8", "replace").rstrip("\r\n") if line else None

    def read_content(self) -> bytes | None:
        """The mail up to its final dot; None where that never came."""
        content: list[bytes] = []
        for line in self._file:
            if line == b".\r\n":
                return b"".join(content)
            content.append(line.removeprefix(b"."))
        return None

    def secure(self, context: ssl.SSLContext) -> None:
        self._file.close()
        self._connection = context.wrap_socket(self._connection, server_side=True)
        self._file = self._connection.makefile("rb")
        self.is_secure = True

    def reply(self, moment: str) -> bool:
        """Answer as the script says; False where the connection is over."""
        self.said = self._server.next_reply(moment)
        if self.said not in MISDEEDS:
            self._connection.sendall(self.said.encode("utf-8", "surrogateescape") + b"\r\n")
            return True
        self._misbehave(moment)
        return False

    def hang_up(self, said: str) -> None:
        self._connection.sendall(said.encode())
        self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._file.close()
        self._connection.close()

    def _misbehave(self, moment: str) -> None:
        match self.said:
            case "half a line":
                self._connection.sendall(GOOD[moment].partition("\r\n")[0][:-1].encode())
            case "endless line":
                self._connection.sendall(b"250 ")
                while True:
                    self._connection.sendall(b"x" * 4096)
            case "endless reply":
                while True:
                    self._connection.sendall(b"250-and\r\n" * 100)
            case "dribble":
                while True:
                    self._connection.sendall(b"2")
                    time.sleep(DRIBBLE_S)
            case "hang":
                while self._connection.recv(4096):
                    pass
            case "cut" if moment == "CONTENT":
                _reset(self._connection)


def _reset(connection: socket.socket) -> None:
    """Close with a reset, as a server that dies does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
