"""A made OpenID Connect provider, in memory: its document, its keys, codes that work once, and ID tokens."""

from __future__ import annotations

import hashlib
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from urllib.parse import parse_qs, parse_qsl, quote_plus, urlsplit

import httpx2
from joserfc import jwk, jwt
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from support_agent.config.desk_page import DeskPageSettings

ISSUER, CLIENT, SECRET = "https://login.example.com/tenant", "desk-client", "a secret+with signs"
BY_OIDC = DeskPageSettings(
    sign_in="oidc",
    public_url="https://desk.example.com",
    oidc_issuer=ISSUER,
    oidc_client_id=CLIENT,
    oidc_client_secret=SecretStr(SECRET),
)
LARGE = 600_000


@cache
def rsa(kid: str) -> jwk.RSAKey:
    """A key of the provider, or of an attacker, by its name; made once, because that takes its time."""
    return jwk.RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})


@cache
def ec(kid: str) -> jwk.ECKey:
    """The same on a curve."""
    return jwk.ECKey.generate_key("P-256", {"kid": kid})


Sign = Callable[[dict[str, object]], str]


def signed(key: jwk.Key, alg: str, **header: object) -> Sign:
    """Signs claims by a key; without `kid` in the header there is that of the key."""
    return lambda claims: jwt.encode({"alg": alg, "kid": key.kid, **header}, dict(claims), key, algorithms=[alg])


@dataclass
class MadeProvider:
    """The provider; a test changes what it says. `asked` are the forms that came to the token endpoint."""

    now: Callable[[], datetime]
    claims: dict[str, object | None] = field(default_factory=dict)
    """Claims other than those of a right token; None leaves one out."""
    sign: Sign = field(default_factory=lambda: signed(rsa("one"), "RS256"))
    keys: list[Mapping[str, object]] = field(default_factory=lambda: [dict(rsa("one").as_dict())])
    document: dict[str, object] = field(default_factory=dict)
    answers: dict[str, Callable[[], Response]] = field(default_factory=dict)
    """Answers in the place of those of a path."""
    email: str = "desk@harborfile.example"
    asked: list[dict[str, str]] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def transport(self) -> httpx2.ASGITransport:
        """The way to it."""
        paths = {"/tenant/.well-known/openid-configuration": self._says, "/keys": self._sends_keys}
        routes = [Route(path, answer) for path, answer in paths.items()]
        return httpx2.ASGITransport(Starlette(routes=[*routes, Route("/token", self._gives, methods=["POST"])]))

    def consent(self, where: str, **changes: str) -> str:
        """What a person's browser does at the provider: the address that it is sent back to."""
        asked = {**dict(parse_qsl(urlsplit(where).query)), **changes}
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        code = f"code-{len(self._codes) + 1}"
        self._codes[code] = asked
        return f"{asked['redirect_uri']}?code={code}&state={quote_plus(asked['state'])}"

    def _answered(self, path: str, right: Callable[[], Response]) -> Response:
        self.fetched.append(path)
        return self.answers.get(path, right)()

    async def _says(self, request: Request) -> Response:
        base = "https://login.example.com"
        right = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "jwks_uri": f"{base}/keys",
        }
        return self._answered("/document", lambda: JSONResponse(right | self.document))

    async def _sends_keys(self, request: Request) -> Response:
        return self._answered("/keys", lambda: JSONResponse({"keys": self.keys}))

    async def _gives(self, request: Request) -> Response:
        form = {name: values[-1] for name, values in parse_qs((await request.body()).decode()).items()}
        self.asked.append(form | {"authorization": request.headers.get("authorization", "")})
        return self._answered("/token", lambda: self._tokens(form, request.headers.get("authorization", "")))

    def _tokens(self, form: dict[str, str], given: str) -> Response:
        pair = b64encode(f"{quote_plus(CLIENT)}:{quote_plus(SECRET)}".encode()).decode()
        if given != f"Basic {pair}" and form.get("client_secret") != SECRET:
            return JSONResponse({"error": "invalid_client"}, 401)
        asked = self._codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or asked["redirect_uri"] != form["redirect_uri"] or asked["code_challenge"] != challenge:
            return JSONResponse({"error": "invalid_grant"}, 400)
        at = int(self.now().timestamp())
        right: dict[str, object] = {"iss": ISSUER, "sub": "248289761001", "aud": CLIENT, "exp": at + 300, "iat": at}
        right |= {"nonce": asked["nonce"], "email": self.email, "email_verified": True}
        claims = {name: value for name, value in (right | self.claims).items() if value is not None}
        return JSONResponse({"access_token": "unused", "token_type": "Bearer", "id_token": self.sign(claims)})
