"""An SMTP server that misbehaves where its script says so; in-process, on a free loopback port.

The script maps a moment of the dialogue (`GREETING`, `EHLO`, `MAIL`, `RCPT`, `DATA`, `DOT`, ...) to a reply
line, or to `CUT` (close the connection) or `HANG` (say nothing until the client goes). What is not in the
script goes well.
"""

from __future__ import annotations

import socket
import struct
import threading
from types import TracebackType

CUT = "cut"
HANG = "hang"
GOOD = {
    "GREETING": "220 ready",
    "EHLO": "250-test\r\n250 SIZE 100000000",
    "MAIL": "250 ok",
    "RCPT": "250 ok",
    "DATA": "354 go on",
    "DOT": "250 2.0.0 taken as 42",
    "QUIT": "221 bye",
}


class ScriptedSmtp:
    """Serves one connection after the other; `lines` and `mails` are what clients said."""

    def __init__(self, script: dict[str, str] | None = None) -> None:
        self._script = GOOD | (script or {})
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._is_stopped = threading.Event()
        self.port = int(self._listener.getsockname()[1])
        self.lines: list[str] = []
        self.mails: list[bytes] = []

    def __enter__(self) -> ScriptedSmtp:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_stopped.set()
        with socket.create_connection(("127.0.0.1", self.port), timeout=5):
            pass  # wakes accept()
        self._thread.join(5)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection:
                if self._is_stopped.is_set():
                    return
                connection.settimeout(10)
                try:
                    self._talk(connection)
                except OSError:
                    continue

    def _talk(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as lines:
            if not self._reply(connection, "GREETING"):
                return
            for line in lines:
                text = line.decode("ascii", "replace").rstrip("\r\n")
                self.lines.append(text)
                moment = text.split(" ")[0].upper()
                if not self._reply(connection, moment) or moment == "QUIT":
                    return
                if moment != "DATA" or not self._script["DATA"].startswith("354"):
                    continue
                if self._script.get("CONTENT") == CUT:
                    _reset(connection)
                    return
                self.mails.append(_read_content(lines))
                if not self._reply(connection, "DOT"):
                    return

    def _reply(self, connection: socket.socket, moment: str) -> bool:
        """Answer as the script says; False where the connection is over."""
        reply = self._script.get(moment, "502 what?")
        if reply == HANG:
            while connection.recv(4096):
                pass
        if reply in {CUT, HANG}:
            return False
        connection.sendall(reply.encode() + b"\r\n")
        return True


def _read_content(lines: object) -> bytes:
    content = []
    for line in lines:  # type: ignore[attr-defined]
        if line == b".\r\n":
            break
        content.append(line[1:] if line.startswith(b".") else line)
    return b"".join(content)


def _reset(connection: socket.socket) -> None:
    """Close with a reset, as a server that dies does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
