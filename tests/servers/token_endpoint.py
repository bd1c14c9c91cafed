"""A token endpoint (RFC 6749) on loopback: it lets in whom it knows, and answers amiss where it is told to.

It also tells Dovecot whose an access token is, as `tokeninfo_url` of a `passdb oauth2` asks.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from support_agent.config.mail_servers import OAuthSettings
from support_agent.transport.oauth import TokenSource, write_secret

CLIENT_ID = "client-1"
CLIENT_SECRET = "client-secret-1"


@dataclass
class TokenEndpoint:
    """`asked` has the form of each request; `answers` are given first, one each: a status and a body."""

    user: str = "support@harborfile.example"
    refresh_token: str = "refresh-1"
    rotates: bool = False
    expires_in: object = 3600
    delay_s: float = 0.0
    pause_s: float = 0.0
    """Before each byte of an answer."""
    asked: list[dict[str, str]] = field(default_factory=list)
    answers: list[tuple[int, bytes]] = field(default_factory=list)
    valid: set[str] = field(default_factory=set)
    port: int = 0

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}/token"

    def grant(self, form: dict[str, str]) -> tuple[int, bytes]:
        """What is said to a request for a token."""
        self.asked.append(form)
        if self.delay_s:
            time.sleep(self.delay_s)
        if self.answers:
            return self.answers.pop(0)
        if form.get("client_id") != CLIENT_ID or form.get("client_secret", CLIENT_SECRET) != CLIENT_SECRET:
            return 401, b'{"error": "invalid_client"}'
        match form.get("grant_type"):
            case "refresh_token" if form.get("refresh_token") == self.refresh_token:
                pass
            case "client_credentials" if "client_secret" in form:
                pass
            case _:
                return 400, b'{"error": "invalid_grant", "error_description": "Token has been expired or revoked."}'
        token = f"access-{len(self.asked)}"
        self.valid.add(token)
        answer: dict[str, object] = {"access_token": token, "token_type": "Bearer", "expires_in": self.expires_in}
        if self.rotates and form["grant_type"] == "refresh_token":
            self.refresh_token = f"refresh-{len(self.asked) + 1}"
            answer["refresh_token"] = self.refresh_token
        return 200, json.dumps(answer).encode()

    def tell(self, token: str) -> tuple[int, bytes]:
        """Whose a token is."""
        if token not in self.valid:
            return 401, b'{"error": "invalid_token"}'
        return 200, json.dumps({"email": self.user, "expires_in": 100}).encode()


def token_source(endpoint: TokenEndpoint, folder: Path) -> TokenSource:
    """The product's own, with a refresh token in this folder that the endpoint knows."""
    write_secret(folder / "refresh", endpoint.refresh_token)
    where = {"token_url": endpoint.url, "client_id": CLIENT_ID, "refresh_token_file": folder / "refresh"}
    return TokenSource(OAuthSettings.model_validate(where))


@contextmanager
def token_endpoint(**values: object) -> Iterator[TokenEndpoint]:
    """A running endpoint."""
    endpoint = TokenEndpoint(**values)  # type: ignore[arg-type]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._say(*endpoint.grant({key: values[0] for key, values in parse_qs(text).items()}))

        def do_GET(self) -> None:
            self._say(*endpoint.tell(parse_qs(urlsplit(self.path).query).get("access_token", [""])[0]))

        def _say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for part in (body,) if not endpoint.pause_s else (bytes([byte]) for byte in body):
                time.sleep(endpoint.pause_s)
                self.wfile.write(part)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
