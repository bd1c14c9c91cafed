"""A web server on loopback that says what a function tells it, and misbehaves where it is told to."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.servers.certificates import Certificates

END_S = 30.0
"""What hangs is let go after this long, should a test forget to end."""


@dataclass(frozen=True)
class Request:
    """What was asked; `target` is path and query as they came."""

    method: str
    target: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """What is said: `hangs` before a word of it, or is `cut` after half of its body."""

    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    cut: bool = False
    delay_s: float = 0.0
    dribbles: bool = False
    """Sends its head, one byte of it each 20 ms, and never ends it."""


Answering = Callable[[Request], Reply]
NOT_FOUND = Reply(b"not here", status=404)


@dataclass
class WebServer:
    """A running server; `asked` has each request in order."""

    port: int
    asked: list[Request] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Its origin."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        """What was asked for."""
        return [request.path for request in self.asked]


@contextmanager
def web_server(answering: Answering, certificates: Certificates | None = None) -> Iterator[WebServer]:
    """Serve until the block ends, over TLS where there is a certificate; what hangs then is let go."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            headers = {key.lower(): value for key, value in self.headers.items()}
            request = Request(self.command, self.path, parts.path, query, headers, body)
            web.asked.append(request)
            with suppress(OSError):
                self._say(answering(request))

        def _say(self, reply: Reply) -> None:
            if reply.hangs:
                web.ended.wait(END_S)
                return
            if reply.delay_s:
                web.ended.wait(reply.delay_s)
            if reply.dribbles:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not web.ended.wait(0.02):
                    self.wfile.write(b"x")
                return
            self.send_response(reply.status)
            given: dict[str, str] = {"Content-Type": reply.kind, "Content-Length": str(len(reply.body))}
            for name, value in {**given, **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that goes away is what is tested."""

    server = Server(("127.0.0.1", 0), Handler)
    if certificates is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.certificate, certificates.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    web = WebServer(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.ended.set()
        server.shutdown()
        server.server_close()
        thread.join(10)


def closed_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
