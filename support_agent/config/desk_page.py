"""The section `[desk_page]`: where the desk's page is served, who may sign in, and how."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from support_agent.config.mail_servers import LOOPBACK, OptionalPath
from support_agent.core.frozen import Frozen

DEFAULT_PORTS = {"http": 80, "https": 443}
_ORIGIN = re.compile(r"(https?)://([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?/?", re.IGNORECASE)


def _is_network(text: str) -> str:
    ip_network(text)
    return text


def _as_origin(text: str) -> str:
    """The origin as browsers write it: in lower case, without the scheme's own port (RFC 6454, section 6.2)."""
    if not text:
        return text
    if (found := _ORIGIN.fullmatch(text)) is None or int(found[3] or 1) not in range(1, 65_536):
        raise ValueError("write scheme and host, and a port if it has one, without a path: https://desk.example.com")
    scheme, host, port = found[1].lower(), found[2].lower(), found[3]
    return f"{scheme}://{host}" + (f":{int(port)}" if port and int(port) != DEFAULT_PORTS[scheme] else "")


def _is_issuer(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_url = bool(parts.hostname) and parts.scheme in DEFAULT_PORTS and parts.username is None
    except ValueError:
        is_url = False
    if text and (not is_url or "?" in text or "#" in text):
        raise ValueError("write the provider's issuer URL, without a query: https://login.example.com/tenant")
    if text and parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise ValueError("the address must begin with https://, because it says who people are")
    return text


class DeskPageSettings(Frozen):
    """The page on which people at the desk see and decide cases; `support-agent desk` serves it.

    Staff (`desk.address`, `desk.staff`, the addresses of `desk.routes`) may answer; `readers` may only read.
    """

    host: Annotated[str, Field(pattern=r"^[A-Za-z0-9.:-]{1,253}$")] = "127.0.0.1"
    """The address that it listens on. A reverse proxy with TLS in front serves it to others than this machine."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 8035
    """The port that it listens on."""
    public_url: Annotated[str, AfterValidator(_as_origin)] = ""
    """The page's address as browsers see it, such as `https://desk.example.com`; empty: `http://` with host and port.
    Requests for another host are refused."""
    sign_in: Literal["link", "proxy", "oidc"] = "link"
    """How people prove who they are. `link`: a one-time link that the command prints, only on this machine. `proxy`: a
    trusted proxy names them in a header. `oidc`: an OpenID Connect provider."""
    proxy_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,100}$")] = "X-Forwarded-Email"
    """The header in which the proxy names the person's address. The proxy must remove it from what browsers send."""
    proxy_addresses: tuple[Annotated[str, AfterValidator(_is_network)], ...] = ("127.0.0.1/32", "::1/128")
    """Networks of the proxy; the header of anybody else is ignored."""
    oidc_issuer: Annotated[str, AfterValidator(_is_issuer)] = ""
    """The provider's issuer URL, exactly as its document at `/.well-known/openid-configuration` below has it."""
    oidc_client_id: str = ""
    oidc_client_secret: SecretStr = SecretStr("")
    oidc_client_secret_file: OptionalPath = None
    """A file with only the client's secret; `oidc_client_secret` wins. Without either the client is a public one."""
    oidc_requires_verified_email: bool = True
    """False also takes an address of which the provider does not say whether it is verified; only for a provider at
    which your administrators alone set addresses. An address that it calls unverified never counts."""
    oidc_timeout_s: Annotated[float, Field(gt=0, le=60)] = 10.0
    """Longest wait for a whole answer of the provider."""
    readers: tuple[str, ...] = ()
    """Addresses that may read everything and decide nothing."""
    admins: tuple[str, ...] = ()
    """Addresses of staff that may also edit documents and templates, pause the agent, and decide about the outbox."""
    idle_min: Annotated[float, Field(gt=0, le=1440)] = 60.0
    """Minutes without a request after which a person must sign in again."""
    session_h: Annotated[float, Field(gt=0, le=168)] = 12.0
    """Hours after which a person must sign in again in any case."""
    link_min: Annotated[float, Field(gt=0, le=60)] = 10.0
    """Minutes in which the one-time link works."""
    max_sessions: Annotated[int, Field(ge=1, le=10_000)] = 200
    """Most people signed in at once; a further one ends the session that has been idle for the longest time."""
    max_upload_bytes: Annotated[int, Field(ge=10_000, le=1_000_000_000)] = 30_000_000
    """Largest request, files included."""
    live_s: Annotated[float, Field(ge=1, le=600)] = 5.0
    """Seconds between two looks of an open page for news."""

    @property
    def origin(self) -> str:
        """Scheme, host and port as browsers see them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url or _as_origin(f"http://{host}:{self.port}")

    @property
    def is_https(self) -> bool:
        """Whether browsers reach the page over TLS."""
        return self.origin.startswith("https://")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host in LOOPBACK
