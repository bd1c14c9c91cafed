"""A Python package index on loopback: the wheels of one folder, told as PEP 691 and PEP 700 say."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TYPE = "application/vnd.pypi.simple.v1+json"


class Handler(SimpleHTTPRequestHandler):
    """`/simple/PROJECT/` is the list of its files, relative to it; `/FILE` is one of them."""

    def do_GET(self) -> None:
        """A list or a file."""
        if not self.path.startswith("/simple/"):
            super().do_GET()
            return
        start = self.path.removeprefix("/simple/").rstrip("/").replace("-", "_")
        files = [
            {"filename": path.name, "url": f"../../{path.name}", "size": path.stat().st_size}
            for path in sorted(Path(self.directory).glob(f"{start}-*"))
        ]
        body = json.dumps({"meta": {"api-version": "1.1"}, "name": start, "files": files}).encode()
        self.send_response(200 if files else 404)
        self.send_header("Content-Type", TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@contextmanager
def tiny_index(folder: Path) -> Generator[str]:
    """Serve for as long as the context lasts; gives the address of the index."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/simple/"
        finally:
            server.shutdown()
            thread.join()
