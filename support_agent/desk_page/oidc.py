"""Signs people in by an OpenID Connect provider: the authorization code flow with PKCE.

What a sign-in needs until the browser comes back is in a cookie of this browser: a random seed, a time, and where the
person wanted to go. State, nonce and code verifier are made of that cookie with a key of this process, so that nothing
is kept for those who never come back, and none of them fits another browser, or a cookie that was changed.

Invariant: an address counts only from an ID token that a key of the provider signed, for this client, for this sign-in,
now, and as verified; each sign-in is tried once. Checked by tests/unit/desk_page/test_oidc.py.
Source: OpenID Connect Core 1.0, sections 3.1.2, 3.1.3.7 and 5.7; RFC 7636; RFC 9207; RFC 9700, section 2.1; RFC 8725.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import BoundedSemaphore, Lock
from typing import Any
from urllib.parse import urlencode

import structlog
from joserfc import jwk, jws, jwt
from joserfc.errors import BadSignatureError, JoseError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from support_agent.config.desk_page import DeskPageSettings
from support_agent.core.levels import lower_address
from support_agent.desk_page.sign_in import Came, own_path
from support_agent.errors import PermanentError, SupportAgentError, TransientError
from support_agent.transport.openid import REFUSED, Key, Provider, error_code

log = structlog.get_logger(__name__)

WAY = "oidc"
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA")
"""Signatures by a private key alone: with a symmetric one whoever can check a token could make it (RFC 8725, 3.1)."""
KEY_TYPES = ("RSA", "EC", "OKP")
RSA_CHARACTERS = 342
"""Of a modulus of 2,048 bits in base64; shorter keys do not count (RFC 7518, section 3.3)."""
SIGN_IN_TIME = timedelta(minutes=10)
KEYS_TIME = timedelta(hours=1)
"""After this the provider's keys are read again, so that one that it withdrew does not count for long."""
CLOCK_SKEW_S = 60
MOST_AT_ONCE = 8
"""Sign-ins that wait for the provider at a time; the page's other requests need threads, too."""
MOST_USED = 10_000
MAX_CHARACTERS = 4_000
"""Longest code or state that is looked at."""


@dataclass
class OidcEntrance:
    """Sign-in at a provider; `now` is the clock."""

    settings: DeskPageSettings
    provider: Provider
    now: Callable[[], datetime]
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _used: dict[str, datetime] = field(default_factory=dict)
    _keys: tuple[Key, ...] = ()
    _keys_until: datetime | None = None
    _lock: Lock = field(default_factory=Lock)
    _room: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MOST_AT_ONCE))

    @property
    def cookie(self) -> str:
        """The name of the cookie of a sign-in; the prefix keeps other hosts from setting it."""
        return "__Host-desk-sign-in" if self.settings.is_https else "desk-sign-in"

    @property
    def redirect_uri(self) -> str:
        """Where the provider sends the browser back to."""
        return f"{self.settings.origin}/sign-in/{WAY}"

    def begin(self, request: Request, to: str) -> Response | str:
        """Send the browser to the provider."""
        until = int((self.now() + SIGN_IN_TIME).timestamp())
        ticket = _base64(f"{secrets.token_urlsafe(32)} {until} {to}".encode())
        challenge = hashlib.sha256(self._made("verifier", ticket).encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self.settings.oidc_client_id,
            "redirect_uri": self.redirect_uri,
            "scope": "openid email",
            "state": self._made("state", ticket),
            "nonce": self._made("nonce", ticket),
            "code_challenge": _base64(challenge),
            "code_challenge_method": "S256",
        }
        where = self.provider.document.authorization_endpoint
        response = RedirectResponse(f"{where}{'&' if '?' in where else '?'}{urlencode(query)}", 303)
        age = int(SIGN_IN_TIME.total_seconds())
        response.set_cookie(
            self.cookie, ticket, max_age=age, path="/", secure=self.settings.is_https, httponly=True, samesite="lax"
        )
        return response

    def end(self, request: Request) -> Came | None:
        """Who comes back from the provider; the log says why, if it is nobody."""
        if request.path_params.get("way") != WAY:
            return None
        try:
            return self._came(request)
        except SupportAgentError as error:
            log.warning("desk_page_sign_in_failed", code=error.code, why=str(error))
            return None

    def address_of(self, request: Request) -> str | None:
        """Nobody."""
        return None

    def still_is(self, request: Request, address: str) -> bool:
        """Nothing says otherwise."""
        return True

    def _came(self, request: Request) -> Came:
        ticket, state = request.cookies.get(self.cookie, ""), _one(request, "state")
        if not ticket or not hmac.compare_digest(self._made("state", ticket).encode(), state.encode()):
            raise _refused("the state is not of a sign-in that this browser began, or this program was restarted since")
        _, until, to = urlsafe_b64decode(ticket + "=" * (-len(ticket) % 4)).decode().split(" ")
        if self.now() > datetime.fromtimestamp(int(until), UTC):
            raise _refused(f"it took longer than {SIGN_IN_TIME}")
        self._check_issuer(request)
        if "error" in request.query_params:
            raise _refused(f"the provider says: {error_code(request.query_params['error'])}")
        code = _one(request, "code")
        if not self._room.acquire(blocking=False):
            raise TransientError(f"{MOST_AT_ONCE} sign-ins wait for the provider already")
        try:
            self._use(state)
            token = self.provider.id_token(code, self._made("verifier", ticket), self.redirect_uri)
            claims = self._verified(token, self._made("nonce", ticket))
        finally:
            self._room.release()
        return Came(self._address(claims), own_path(to))

    def _check_issuer(self, request: Request) -> None:
        """Refuse what another provider sends back (RFC 9207)."""
        given = request.query_params.getlist("iss")
        is_needed = self.provider.document.authorization_response_iss_parameter_supported
        if given != [self.settings.oidc_issuer] and (given or is_needed):
            raise _refused("another issuer sent the browser back")

    def _use(self, state: str) -> None:
        """Let a sign-in be tried once."""
        now = self.now()
        with self._lock:
            for old in [one for one, until in self._used.items() if until < now]:
                del self._used[old]
            if state in self._used:
                raise _refused("this sign-in was tried before")
            if len(self._used) >= MOST_USED:
                del self._used[next(iter(self._used))]
            self._used[state] = now + SIGN_IN_TIME

    # The ID token

    def _verified(self, token: str, nonce: str) -> Mapping[str, object]:
        """The claims of an ID token.

        Raises:
            PermanentError: it is none of this provider's for this client and this sign-in, or not of now.
        """
        now, client = int(self.now().timestamp()), self.settings.oidc_client_id
        rules = jwt.JWTClaimsRegistry(
            now=now,
            leeway=CLOCK_SKEW_S,
            iss={"essential": True, "value": self.settings.oidc_issuer},
            sub={"essential": True},
            aud={"essential": True, "value": client},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            claims = self._signed(token)
            rules.validate(claims)
        except (JoseError, ValueError, TypeError, KeyError, RecursionError) as error:
            code = error.error if isinstance(error, JoseError) else type(error).__name__
            raise _refused(f"the ID token does not hold: {code}") from None
        if not isinstance(claims["nonce"], str) or claims.get("azp", client) != client:
            raise _refused("the ID token is for another client")
        if isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and "azp" not in claims:
            raise _refused("the ID token is for several clients and does not say which one asked")
        return claims

    def _signed(self, token: str) -> dict[str, Any]:
        """The claims of a token that a key of the provider signed; the keys are read again if none of them did.

        Raises:
            PermanentError: no key, or several, can have signed it. BadSignatureError, or what `_verified` catches: it
                is no such token.
        """
        registry = jws.JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        refused: Exception | None = None
        for keys in self._key_sets():
            try:
                return jwt.decode(token, partial(_signer, keys), registry=registry).claims
            except (BadSignatureError, PermanentError) as error:  # a provider may give a new key the name of the old
                refused = error
        raise refused or AssertionError("the last key set is the provider's own")

    def _key_sets(self) -> Iterator[tuple[Key, ...]]:
        now = self.now()
        if self._keys_until is not None and now < self._keys_until <= now + KEYS_TIME:  # or the clock was set back
            yield self._keys
        self._keys, self._keys_until = self.provider.keys(), now + KEYS_TIME
        yield self._keys

    def _address(self, claims: Mapping[str, object]) -> str:
        """The person's address.

        Raises:
            PermanentError: there is none, or it is not verified.
        """
        address, verified = claims.get("email"), claims.get("email_verified")
        if not isinstance(address, str) or not address:
            raise _refused("the ID token has no `email`: let the provider put it in")
        is_enough = verified is None and not self.settings.oidc_requires_verified_email
        if verified is not True and verified != "true" and not is_enough:  # some providers send a text
            raise _refused("the provider does not say that the address is verified")
        return lower_address(address)

    def _made(self, purpose: str, ticket: str) -> str:
        """A value that only this process can make of a cookie: 43 characters, as RFC 7636 wants of a verifier."""
        return _base64(hmac.digest(self._secret, f"{purpose} {ticket}".encode("utf-8", "surrogatepass"), "sha256"))


def _signer(keys: tuple[Key, ...], found: jwk.GuestProtocol) -> jwk.Key:
    """The one key that can have signed a token.

    Raises:
        PermanentError: there is none, or several.
    """
    fitting = [key for key in keys if _fits(key, found.headers())]
    if len(fitting) != 1:
        raise _refused("none of the provider's keys, or more than one, can have signed the ID token")
    return jwk.import_key(fitting[0])  # type: ignore[arg-type]  # it checks the values itself


def _fits(key: Key, header: Mapping[str, object]) -> bool:
    """Whether a key is for signatures and may have made that of a token with this header."""
    if key.get("kty") not in KEY_TYPES or key.get("use", "sig") != "sig":
        return False
    if key.get("kty") == "RSA" and len(str(key.get("n", ""))) < RSA_CHARACTERS:
        return False
    if key.get("alg") not in (None, header.get("alg")):
        return False
    return "kid" not in header or key.get("kid") == header["kid"]


def _one(request: Request, name: str) -> str:
    """The value of a part of the address that must be there once."""
    found = request.query_params.getlist(name)
    if len(found) != 1 or not 0 < len(found[0]) <= MAX_CHARACTERS or not found[0].isascii():
        raise _refused(f"the address has no single {name}")
    return found[0]


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _refused(why: str) -> PermanentError:
    return PermanentError(why, code=REFUSED)
