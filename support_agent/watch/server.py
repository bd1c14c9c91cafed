"""Serves `/healthz`, `/readyz` and `/metrics`, in threads of the worker's process.

Invariant: it only reads, answers GET and HEAD of three fixed paths, and ends with the worker. Checked by
tests/unit/watch/test_server.py, over HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import structlog

from support_agent.errors import ConfigError
from support_agent.watch.health import OK, WatchedWorker
from support_agent.watch.recorder import Recorder

log = structlog.get_logger(__name__)

REQUEST_S = 10.0
"""Longest wait for a request and for its reader."""


class WatchServer(ThreadingHTTPServer):
    """Answers for the workers of this process, by the names of their brands."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], workers: Mapping[str, WatchedWorker], recorder: Recorder) -> None:
        self.workers, self.recorder = workers, recorder
        super().__init__(address, _Handler)

    def alive(self) -> dict[str, str]:
        """The loop of each worker."""
        return {_named(brand, "loop"): worker.loop() for brand, worker in self.workers.items()}

    def ready(self) -> dict[str, str]:
        """The parts of each worker."""
        return {
            _named(brand, part): state
            for brand, worker in self.workers.items()
            for part, state in worker.parts().items()
        }


class _Handler(BaseHTTPRequestHandler):
    server: WatchServer
    timeout = REQUEST_S
    server_version, sys_version = "support-agent", ""

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/healthz":
                self._say("alive", self.server.alive())
            case "/readyz":
                self._say("ready", self.server.ready())
            case "/metrics":
                body, content_type = self.server.recorder.rendered(self.headers.get("Accept", ""))
                self._send(HTTPStatus.OK, body, content_type)
            case _:
                self._send(HTTPStatus.NOT_FOUND, b"", "text/plain")

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a request each few seconds is no news."""

    def _say(self, what: str, parts: Mapping[str, str]) -> None:
        is_well = all(state == OK for state in parts.values())
        status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
        self._send(status, json.dumps({what: is_well, "parts": parts}).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def serving(host: str, port: int, workers: Mapping[str, WatchedWorker], recorder: Recorder) -> Iterator[int]:
    """Serve until the block ends.

    Yields:
        The port, which the system chooses if `port` is 0.
    Raises:
        ConfigError: the address cannot be used.
    """
    try:
        server = WatchServer((host, port), workers, recorder)
    except OSError as error:
        what = f"watch.host {host} and watch.port {port} cannot be used: {error.strerror}"
        raise ConfigError(f"{what}: each worker of a machine needs a port of its own, or 0 for none") from error
    thread = Thread(target=server.serve_forever, name="watch", daemon=True)
    thread.start()
    log.info("watch_served", host=host, port=server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _named(brand: str, part: str) -> str:
    return f"{brand}: {part}" if brand else part
