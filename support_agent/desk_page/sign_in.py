"""How people sign in: a one-time link on this machine, or a trusted proxy's header; `oidc` has the third way.

Invariant: a link works once and for some minutes; the header counts only from the proxy's own networks; after a sign-in
people go on only to a path of the page itself. Checked by tests/unit/desk_page/test_sign_in.py.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network
from threading import Lock
from typing import NamedTuple, Protocol

from starlette.requests import Request
from starlette.responses import Response

from support_agent.config.desk_page import DeskPageSettings
from support_agent.core.levels import lower_address
from support_agent.desk_page.sessions import digest_of

START = "/"
OWN_PATH = re.compile(r"/(?![/\\])[A-Za-z0-9/_.~:@!$&'()*+,;=?%-]{0,500}")
KEY_BYTES = 32


class Came(NamedTuple):
    """Who has signed in, and where that person wanted to go."""

    address: str
    to: str = START


class Entrance(Protocol):
    """A way to sign in."""

    def begin(self, request: Request, to: str) -> Response | str:
        """Send the browser where people sign in, or return what says how people do it: "link" or "proxy"."""

    def end(self, request: Request) -> Came | None:
        """Who comes back from there; None: nobody proved anything."""

    def address_of(self, request: Request) -> str | None:
        """Who this request proves to be by itself; None: nobody."""

    def still_is(self, request: Request, address: str) -> bool:
        """Whether nothing in the request says that it comes from another person than its session's."""


def own_path(given: str) -> str:
    """A path of the page itself, with its query; anything else becomes the start page."""
    return given if OWN_PATH.fullmatch(given) else START


@dataclass
class LinkEntrance:
    """A one-time link, which the command prints; `now` is the clock. For this machine only."""

    settings: DeskPageSettings
    address: str
    now: Callable[[], datetime]
    _keys: dict[bytes, datetime] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def link(self) -> str:
        """A new link; it works once."""
        key = secrets.token_urlsafe(KEY_BYTES)
        with self._lock:
            self._keys[digest_of(key)] = self.now() + timedelta(minutes=self.settings.link_min)
        return f"{self.settings.origin}/sign-in/link?key={key}"

    def begin(self, request: Request, to: str) -> Response | str:
        """The command must be asked for a link."""
        return "link"

    def end(self, request: Request) -> Came | None:
        """The operator, if the key is one of ours, unused and in time."""
        if request.path_params.get("way") != "link" or not _is_from(request, ("127.0.0.0/8", "::1/128")):
            return None
        given, now = digest_of(request.query_params.get("key", "")), self.now()
        with self._lock:
            until = next((self._keys.pop(key) for key in list(self._keys) if hmac.compare_digest(key, given)), None)
        return Came(self.address) if until is not None and now <= until else None

    def address_of(self, request: Request) -> str | None:
        """Nobody."""
        return None

    def still_is(self, request: Request, address: str) -> bool:
        """Nothing says otherwise."""
        return True


@dataclass(frozen=True)
class ProxyEntrance:
    """A reverse proxy that signs people in and names them in a header of each request."""

    settings: DeskPageSettings

    def begin(self, request: Request, to: str) -> Response | str:
        """The proxy did not name anybody."""
        return "proxy"

    def end(self, request: Request) -> Came | None:
        """Nobody comes back: the proxy does it all."""
        return None

    def address_of(self, request: Request) -> str | None:
        """The person whom the proxy names."""
        if not _is_from(request, self.settings.proxy_addresses):
            return None
        named = request.headers.getlist(self.settings.proxy_header)
        return lower_address(named[0].strip()) if len(named) == 1 and named[0].strip() else None

    def still_is(self, request: Request, address: str) -> bool:
        """Each request must name the session's person."""
        return self.address_of(request) == address


def _is_from(request: Request, networks: tuple[str, ...]) -> bool:
    try:
        peer = ip_address(request.client.host if request.client is not None else "")
    except ValueError:
        return False
    peer = getattr(peer, "ipv4_mapped", None) or peer  # as a socket for both families has it
    return any(peer in ip_network(network) for network in networks)
