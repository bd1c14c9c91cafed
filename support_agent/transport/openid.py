"""Talks to an OpenID Connect provider: reads its document and its keys, and gets an ID token for a code.

Invariant: requests go to the issuer and to what its own document names, over TLS unless the issuer is this machine; no
redirect is followed, each answer is bounded in size and in time as a whole, and no error repeats a secret, a code or a
token. Checked by tests/unit/transport/test_openid.py.
Source: OpenID Connect Discovery 1.0, section 4; Core 1.0, section 3.1.3; RFC 6749, section 4.1.3; RFC 7636.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote_plus, urlsplit

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from support_agent.config.desk_page import DeskPageSettings
from support_agent.errors import ConfigError, PermanentError, SupportAgentError, TransientError
from support_agent.transport.bounded_request import RequestLimits, ask

if TYPE_CHECKING:
    import httpx2

MAX_ANSWER_BYTES = 500_000
"""The longest legitimate answer, the keys of a large provider, has some 50 kB."""
WELL_KNOWN = "/.well-known/openid-configuration"
REFUSED = "sign_in_refused"
_ERROR_CODE = re.compile(r"[a-z_]{1,40}")
"""Of the codes that RFC 6749 defines; anything else that a provider sends is not repeated."""

Key = dict[str, JsonValue]


class _Read(BaseModel):
    """A part of an answer; what it has besides is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Document(_Read):
    """What a provider says of itself."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class _KeySet(_Read):
    keys: tuple[Key, ...]


class _Tokens(_Read):
    id_token: str


class _Refusal(_Read):
    error: str = ""


def error_code(given: str) -> str:
    """The error code of a provider as it may be logged."""
    return given if _ERROR_CODE.fullmatch(given) else "no known error code"


@dataclass(frozen=True)
class Provider:
    """A provider whose document was read and checked; `transport` is httpx2's own unless a test gives another."""

    settings: DeskPageSettings
    document: Document
    transport: httpx2.AsyncBaseTransport | None = None

    @classmethod
    def read(cls, settings: DeskPageSettings, transport: httpx2.AsyncBaseTransport | None = None) -> Provider:
        """Read the provider's document.

        Raises:
            ConfigError: there is none, or another issuer's, or it names addresses without TLS.
            TransientError: the provider does not answer now.
        """
        issuer = settings.oidc_issuer
        where = f"{issuer.rstrip('/')}{WELL_KNOWN}"
        status, body = _ask(settings, transport, "GET", where)
        if status >= 500 or status == 429:
            raise TransientError(f"{where} answered HTTP {status}")
        try:
            document = Document.model_validate_json(body) if status == 200 else None
        except ValidationError:
            document = None
        if document is None:
            raise ConfigError(f"{where} is no provider's document (HTTP {status}): check desk_page.oidc_issuer")
        if document.issuer != issuer:
            todo = "write exactly that into desk_page.oidc_issuer, if it is your provider"
            raise ConfigError(f"{where} is the document of the issuer {document.issuer[:200]!r}: {todo}")
        is_protected = issuer.startswith("https://")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            scheme = _scheme_of(getattr(document, name))
            if scheme is None or (is_protected and scheme != "https"):
                raise ConfigError(f"{where} has no https address as {name}: ask the provider's administrator")
        return cls(settings, document, transport)

    def keys(self) -> tuple[Key, ...]:
        """The keys with which the provider signs now.

        Raises:
            TransientError: the provider does not send them now.
        """
        where = self.document.jwks_uri
        status, body = _ask(self.settings, self.transport, "GET", where)
        try:
            if status == 200:
                return _KeySet.model_validate_json(body).keys
        except ValidationError:
            pass
        raise TransientError(f"{where} sends no keys now (HTTP {status})")

    def id_token(self, code: str, verifier: str, redirect_uri: str) -> str:
        """The ID token for a code, not verified.

        Raises:
            PermanentError: the provider refuses the code (code `sign_in_refused`). ConfigError: it refuses this client.
            TransientError: it does not answer now.
        """
        where, secret = self.document.token_endpoint, self.settings.oidc_client_secret.get_secret_value()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        headers, client = {}, self.settings.oidc_client_id
        if secret and "client_secret_basic" in self.document.token_endpoint_auth_methods_supported:
            pair = f"{quote_plus(client)}:{quote_plus(secret)}"  # RFC 6749, section 2.3.1
            headers = {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        else:
            form |= {"client_id": client} | ({"client_secret": secret} if secret else {})
        status, body = _ask(self.settings, self.transport, "POST", where, form, headers)
        try:
            if status == 200:
                return _Tokens.model_validate_json(body).id_token
        except ValidationError:
            raise PermanentError(f"{where} sent no ID token", code=REFUSED) from None
        raise _refusal(where, status, body)


def _scheme_of(url: str) -> str | None:
    """The scheme of a web address; None: it is none."""
    try:
        parts = urlsplit(url)
        is_one = bool(parts.hostname) and parts.scheme in ("http", "https") and parts.username is None
    except ValueError:
        return None
    return parts.scheme if is_one else None


def _refusal(where: str, status: int, body: bytes) -> SupportAgentError:
    try:
        code = _Refusal.model_validate_json(body).error
    except ValidationError:
        code = ""
    if status == 429 or status >= 500:
        return TransientError(f"{where} answered HTTP {status}")
    if code in ("invalid_client", "unauthorized_client"):
        todo = "check desk_page.oidc_client_id and oidc_client_secret"
        return ConfigError(f"{where} refuses this client ({code}): {todo}")
    return PermanentError(f"{where} refused the code (HTTP {status}, {error_code(code)})", code=REFUSED)


def _ask(
    settings: DeskPageSettings,
    transport: httpx2.AsyncBaseTransport | None,
    method: str,
    where: str,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    limits = RequestLimits(settings.oidc_timeout_s, MAX_ANSWER_BYTES, "desk_page.oidc_issuer")
    return ask(method, where, limits, form, headers, transport)
