"""A model hub on loopback that serves one file, and can break off in the middle of it."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.unit.models.packages import HUB, sha256

COMMIT = "c0" * 20
PATH = f"/{HUB.repository}/resolve/{HUB.revision}/{HUB.file}"


class TinyHub(ThreadingHTTPServer):
    """Serves `content`; the first `break_offs` downloads end after half of what was asked for."""

    daemon_threads = True

    def __init__(self, content: bytes, break_offs: int, has_ranges: bool) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = content
        self.break_offs = break_offs
        self.has_ranges = has_ranges
        self.starts: list[int] = []
        """The first byte asked for by each download."""
        self.user_agents: set[str] = set()
        self.tokens: set[str] = set()

    @property
    def url(self) -> str:
        """The hub's address."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """HEAD and GET of the one file, with ranges."""

    protocol_version = "HTTP/1.1"
    server: TinyHub

    def do_HEAD(self) -> None:
        """What the file is."""
        self._head(0, is_range=False)

    def do_GET(self) -> None:
        """The file, or its end."""
        asked = re.fullmatch(r"bytes=(\d+)-.*", self.headers.get("Range", ""))
        start = int(asked[1]) if asked and self.server.has_ranges else 0
        if self.path == PATH:  # before the reply: whoever has read that may look at once
            self.server.starts.append(start)
        if not self._head(start, is_range=asked is not None and self.server.has_ranges):
            return
        body = self.server.content[start:]
        if self.server.break_offs > 0:
            self.server.break_offs -= 1
            body = body[: len(body) // 2]
            self.close_connection = True
        self.wfile.write(body)

    def _head(self, start: int, *, is_range: bool) -> bool:
        self.server.user_agents.add(self.headers.get("User-Agent", ""))
        self.server.tokens.add(self.headers.get("Authorization", ""))
        is_known = self.path == PATH
        length = len(self.server.content) - start if is_known else 0
        self.send_response((206 if is_range else 200) if is_known else 404)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{sha256(self.server.content)}"')
        self.send_header("Content-Length", str(length))
        if is_range:
            total = len(self.server.content)
            self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        self.end_headers()
        return is_known

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@contextmanager
def tiny_hub(content: bytes, *, break_offs: int = 0, has_ranges: bool = True) -> Generator[TinyHub]:
    """Serve for as long as the context lasts."""
    with TinyHub(content, break_offs, has_ranges) as hub:
        thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()
