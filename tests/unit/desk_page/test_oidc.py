"""Signing in at an OpenID Connect provider, and every way in which somebody else could try to."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from joserfc import jwk, jwt
from starlette.responses import JSONResponse, Response
from starlette.testclient import TestClient
from structlog.testing import capture_logs

from support_agent.config.desk import DeskSettings
from support_agent.config.desk_page import DeskPageSettings
from support_agent.config.settings import Settings
from support_agent.desk_page import oidc
from support_agent.desk_page.oidc import OidcEntrance
from support_agent.transport.openid import Provider
from tests.fakes_journey import Clock
from tests.fakes_openid import BY_OIDC, CLIENT, ISSUER, LARGE, SECRET, MadeProvider, ec, rsa, signed
from tests.fakes_page import bare_site

PERSON = "desk@harborfile.example"


@dataclass
class Scene:
    """The page, its provider, and a browser of a person, perhaps one of somebody else."""

    page: DeskPageSettings = BY_OIDC
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.provider = MadeProvider(self.clock)
        self.entrance = OidcEntrance(self.page, Provider.read(self.page, self.provider.transport), self.clock)
        settings = Settings(desk=DeskSettings(address=PERSON), desk_page=self.page)
        self.site = bare_site(settings, self.entrance, self.clock)
        self.browser = self.another()

    def another(self) -> TestClient:
        """A browser without cookies."""
        return TestClient(self.site, self.page.origin, follow_redirects=False)

    def begin(self, browser: TestClient | None = None, to: str = "/") -> str:
        """Where the page sends a browser to sign in."""
        answer = (browser or self.browser).get("/sign-in", params={"next": to})
        assert answer.status_code == 303
        return answer.headers["location"]

    def came(self) -> str:
        """A whole sign-in up to the address that the provider sends the browser back to."""
        return self.provider.consent(self.begin())


def let_in(answer: httpx2.Response) -> bool:
    """Whether an answer opens a session."""
    cookies = answer.headers.get_list("set-cookie")
    is_open = any(cookie.startswith("__Host-desk=") for cookie in cookies)
    assert answer.status_code == (303 if is_open else 403)
    return is_open


def test_a_person_signs_in_and_goes_on_to_where_she_wanted() -> None:
    scene = Scene()
    answer = scene.browser.get(scene.provider.consent(scene.begin(to="/?reason=not_covered")))
    assert let_in(answer)
    assert answer.headers["location"] == "/?reason=not_covered"
    assert PERSON in scene.browser.get("/").text


def test_the_provider_is_asked_for_a_code_with_pkce_state_and_nonce() -> None:
    scene = Scene()
    where = scene.begin()
    asked = dict(parse_qsl(urlsplit(where).query))
    assert where.startswith("https://login.example.com/authorize?")
    assert (asked["client_id"], asked["scope"]) == (CLIENT, "openid email")
    assert asked["redirect_uri"] == "https://desk.example.com/sign-in/oidc"
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    assert asked["code_challenge_method"] == "S256"
    assert SECRET not in where


def test_two_sign_ins_share_nothing() -> None:
    scene = Scene()
    one, two = (dict(parse_qsl(urlsplit(scene.begin()).query)) for _ in range(2))
    assert all(one[name] != two[name] for name in ("state", "nonce", "code_challenge"))


def test_the_cookie_of_a_sign_in_is_for_this_host_this_flow_and_some_minutes() -> None:
    scene = Scene()
    cookie = scene.browser.get("/sign-in").headers["set-cookie"]
    assert cookie.startswith("__Host-desk-sign-in=")
    assert {"HttpOnly", "Secure", "SameSite=lax", "Max-Age=600", "Path=/"} <= set(cookie.split("; "))


def test_a_client_without_basic_authentication_sends_its_secret_in_the_form() -> None:
    scene = Scene()
    scene.provider.document["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    scene.entrance.provider = Provider.read(scene.page, scene.provider.transport)
    assert let_in(scene.browser.get(scene.came()))
    assert scene.provider.asked[0]["client_secret"] == SECRET


@pytest.mark.parametrize("alg", ["ES256", "PS256", "RS512", "Ed25519"])
def test_every_asymmetric_signature_counts(alg: str) -> None:
    scene = Scene()
    keys: dict[str, jwk.Key] = {"ES256": ec("two"), "Ed25519": jwk.OKPKey.generate_key("Ed25519", {"kid": "three"})}
    key = keys.get(alg, rsa("one"))
    scene.provider.keys.append(dict(key.as_dict()) if alg in keys else {})
    scene.provider.sign = signed(key, alg)
    assert let_in(scene.browser.get(scene.came()))


def test_a_new_key_is_fetched_once() -> None:
    """Providers change their keys at any time."""
    scene = Scene()
    assert let_in(scene.browser.get(scene.came()))
    assert let_in(scene.browser.get(scene.came()))
    assert scene.provider.fetched.count("/keys") == 1
    scene.provider.keys = [dict(rsa("new").as_dict())]
    scene.provider.sign = signed(rsa("new"), "RS256")
    assert let_in(scene.browser.get(scene.came()))
    assert scene.provider.fetched.count("/keys") == 2


@pytest.mark.parametrize("kid", ["one", None])
def test_a_new_key_under_the_name_of_the_old_one_is_fetched(kid: str | None) -> None:
    """Failure: a provider that changed its key without another name kept everybody out for an hour."""
    scene = Scene()
    for key in (rsa("one"), rsa("new")):
        named = {"kid": kid} if kid is not None else {}
        material = {name: value for name, value in public(key).items() if name != "kid"}
        scene.provider.keys = [material | named]
        scene.provider.sign = lambda claims, key=key, named=named: jwt.encode(  # type: ignore[misc]
            {"alg": "RS256", **named}, dict(claims), key, algorithms=["RS256"]
        )
        assert let_in(scene.browser.get(scene.came()))
    assert scene.provider.fetched.count("/keys") == 2


def test_a_key_that_was_withdrawn_counts_no_longer_than_an_hour() -> None:
    scene = Scene()
    assert let_in(scene.browser.get(scene.came()))
    scene.provider.keys = [dict(rsa("new").as_dict())]
    scene.clock.instant += timedelta(hours=1)
    assert not let_in(scene.browser.get(scene.came()))


def test_a_clock_that_is_set_back_keeps_no_key_for_longer() -> None:
    """Failure: a key that the provider had withdrawn counted until the clock was where it had been."""
    scene = Scene()
    assert let_in(scene.browser.get(scene.came()))
    scene.clock.instant -= timedelta(days=300)
    scene.provider.keys = [dict(rsa("new").as_dict())]
    assert not let_in(scene.browser.get(scene.came()))


def test_a_provider_that_leaves_out_whether_it_verified_is_taken_only_by_a_setting() -> None:
    loose = Scene(BY_OIDC.model_copy(update={"oidc_requires_verified_email": False}))
    loose.provider.claims["email_verified"] = None
    assert let_in(loose.browser.get(loose.came()))
    loose.provider.claims["email_verified"] = False
    assert not let_in(loose.browser.get(loose.came()))


# Attacks on the way back


class Attack(NamedTuple):
    """Something that signs nobody in; `why` is a part of what the log says."""

    name: str
    do: Callable[[Scene], httpx2.Response]
    why: str


def back(change: Callable[[str], str]) -> Callable[[Scene], httpx2.Response]:
    """The way back with another address."""
    return lambda scene: scene.browser.get(change(scene.came()))


def with_claims(**claims: object | None) -> Callable[[Scene], httpx2.Response]:
    def do(scene: Scene) -> httpx2.Response:
        scene.provider.claims |= claims
        return scene.browser.get(scene.came())

    return do


def with_token(
    make: Callable[[dict[str, object]], str], *keys: dict[str, object]
) -> Callable[[Scene], httpx2.Response]:
    def do(scene: Scene) -> httpx2.Response:
        scene.provider.sign = make
        scene.provider.keys += keys
        return scene.browser.get(scene.came())

    return do


def with_time(name: str, seconds: int) -> Callable[[Scene], httpx2.Response]:
    return lambda scene: with_claims(**{name: int(scene.clock().timestamp()) + seconds})(scene)


def another_browser(scene: Scene) -> httpx2.Response:
    return scene.another().get(scene.came())


def victims_browser(scene: Scene) -> httpx2.Response:
    """The attacker's own way back, opened in a browser that has begun a sign-in of its own."""
    victim = scene.another()
    scene.begin(victim)
    return victim.get(scene.came())


def changed_cookie(scene: Scene) -> httpx2.Response:
    where, name = scene.came(), scene.entrance.cookie
    scene.browser.cookies.set(name, scene.browser.cookies[name][:-1] + "A", domain="desk.example.com", path="/")
    scene.browser.cookies.set(name, "x" * 90, domain="desk.example.com", path="/")
    return scene.browser.get(where)


def replayed(scene: Scene) -> httpx2.Response:
    where = scene.came()
    assert let_in(scene.browser.get(where))
    asked = len(scene.provider.asked)
    answer = scene.browser.get(where)
    assert len(scene.provider.asked) == asked, "a code is sent once"
    return answer


def code_of_another_sign_in(scene: Scene) -> httpx2.Response:
    """A stolen code in the attacker's own sign-in: PKCE binds it to the browser that began."""
    stolen = dict(parse_qsl(urlsplit(scene.came()).query))["code"]
    attacker = scene.another()
    state = dict(parse_qsl(urlsplit(scene.begin(attacker)).query))["state"]
    return attacker.get("/sign-in/oidc", params={"code": stolen, "state": state})


def too_late(scene: Scene) -> httpx2.Response:
    where = scene.came()
    scene.clock.instant += timedelta(minutes=10)
    return scene.browser.get(where)


def by_restarted_program(scene: Scene) -> httpx2.Response:
    where = scene.came()
    scene.entrance._secret = b"another process"
    return scene.browser.get(where)


def missing_issuer(scene: Scene) -> httpx2.Response:
    scene.provider.document["authorization_response_iss_parameter_supported"] = True
    scene.entrance.provider = Provider.read(scene.page, scene.provider.transport)
    return scene.browser.get(scene.came())


def refused_by_person(scene: Scene) -> httpx2.Response:
    state = dict(parse_qsl(urlsplit(scene.came()).query))["state"]
    return scene.browser.get("/sign-in/oidc", params={"error": "access_denied", "state": state})


def by_unknown(scene: Scene) -> httpx2.Response:
    scene.provider.email = "mallory@elsewhere.example"
    return scene.browser.get(scene.came())


def without(name: str) -> Callable[[str], str]:
    return lambda where: where.replace(f"{name}=", "other=", 1)


def answering(path: str, answer: Callable[[], Response]) -> Callable[[Scene], httpx2.Response]:
    def do(scene: Scene) -> httpx2.Response:
        scene.provider.answers[path] = answer
        return scene.browser.get(scene.came())

    return do


def part(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def by_hand(alg: str, secret: bytes = b"", kid: object = "one") -> Callable[[dict[str, object]], str]:
    """A token that a library would not make: without a signature, or with HMAC by whatever is the secret."""

    def sign(claims: dict[str, object]) -> str:
        signing = f"{part({'alg': alg, 'kid': kid})}.{part(claims)}"
        signature = hmac.digest(secret, signing.encode(), "sha256") if secret else b""
        return f"{signing}.{urlsafe_b64encode(signature).rstrip(b'=').decode()}"

    return sign


def with_short_key(scene: Scene) -> httpx2.Response:
    scene.provider.keys = [public(rsa("one"), n="x" * 171)]
    return scene.browser.get(scene.came())


def with_changed_claims(claims: dict[str, object]) -> str:
    """A right token of somebody else with another address in it."""
    head, _, tail = signed(rsa("one"), "RS256")({**claims, "email": "mallory@elsewhere.example"}).split(".")
    return ".".join([head, part(claims), tail])


def public(key: jwk.Key, **changes: object) -> dict[str, object]:
    return {**key.as_dict(private=False), **changes}


OCT = jwk.OctKey.generate_key(256, {"kid": "oct"})
MALLORY = rsa("mallory")
WAYS_BACK = (
    Attack("no state", back(without("state")), "no single state"),
    Attack("an empty state", back(lambda where: where.partition("&state=")[0] + "&state="), "no single state"),
    Attack("another state", back(lambda where: where[:-1] + ("A" if where[-1] != "A" else "B")), "the state is not"),
    Attack("two states", back(lambda where: f"{where}&state=x"), "no single state"),
    Attack("a huge state", back(lambda where: where + "x" * 9_000), "no single state"),
    Attack("no code", back(without("code")), "no single code"),
    Attack("two codes", back(lambda where: f"{where}&code=x"), "no single code"),
    Attack("a code that nobody gave", back(lambda where: where.replace("code=code", "code=x")), "invalid_grant"),
    Attack("a browser that began nothing", another_browser, "the state is not"),
    Attack("a browser that began another sign-in", victims_browser, "the state is not"),
    Attack("a cookie that was changed", changed_cookie, "the state is not"),
    Attack("the same way back again", replayed, "was tried before"),
    Attack("a stolen code", code_of_another_sign_in, "invalid_grant"),
    Attack("after ten minutes", too_late, "it took longer"),
    Attack("after a restart", by_restarted_program, "the state is not"),
    Attack("of another issuer", back(lambda where: f"{where}&iss=https://evil.example"), "another issuer"),
    Attack("of two issuers", back(lambda where: f"{where}&iss={ISSUER}&iss=https://evil.example"), "another issuer"),
    Attack("of no issuer, where one is promised", missing_issuer, "another issuer"),
    Attack("the person says no", refused_by_person, "access_denied"),
    Attack("a person whom nobody knows here", by_unknown, ""),
    Attack("another way's address", back(lambda where: where.replace("/oidc", "/link")), ""),
)
TOKENS = (
    Attack("another nonce", with_claims(nonce="of-another-sign-in"), "invalid_claim"),
    Attack("no nonce", with_claims(nonce=None), "missing_claim"),
    Attack("a list of nonces", with_claims(nonce=["x", "y"]), "invalid_claim"),
    Attack("another issuer", with_claims(iss="https://evil.example"), "invalid_claim"),
    Attack("an issuer that begins alike", with_claims(iss=f"{ISSUER}/other"), "invalid_claim"),
    Attack("no issuer", with_claims(iss=None), "missing_claim"),
    Attack("another audience", with_claims(aud="other-client"), "invalid_claim"),
    Attack("no audience", with_claims(aud=None), "missing_claim"),
    Attack("several audiences without azp", with_claims(aud=[CLIENT, "other"]), "for several clients"),
    Attack("another client's azp", with_claims(aud=[CLIENT, "other"], azp="other"), "for another client"),
    Attack("no subject", with_claims(sub=None), "missing_claim"),
    Attack("expired", with_time("exp", -61), "expired_token"),
    Attack("without an end", with_claims(exp=None), "missing_claim"),
    Attack("an end that is a text", with_claims(exp="9999999999"), "invalid_claim"),
    Attack("of the future", with_time("iat", 120), "invalid_claim"),
    Attack("without a beginning", with_claims(iat=None), "missing_claim"),
    Attack("not yet valid", with_time("nbf", 120), "invalid_claim"),
    Attack("an unverified address", with_claims(email_verified=False), "not say that the address is verified"),
    Attack("nothing on verification", with_claims(email_verified=None), "not say that the address is verified"),
    Attack("a verification that is a number", with_claims(email_verified=1), "not say that the address is verified"),
    Attack("no address", with_claims(email=None), "no `email`"),
    Attack("a list of addresses", with_claims(email=[PERSON]), "no `email`"),
    Attack("an address with a sign that looks alike", with_claims(email="des\u212a@harborfile.example"), ""),
    Attack("two addresses", with_claims(email=f"{PERSON},mallory@elsewhere.example"), ""),
    Attack("an address with a line break", with_claims(email=f"{PERSON}\n"), ""),
)
KEYS = (
    Attack("no signature", with_token(by_hand("none")), "unsupported_algorithm"),
    Attack("no algorithm that is known", with_token(by_hand("nOnE")), "unsupported_algorithm"),
    Attack(
        "HS256 with the public key as PEM",
        with_token(by_hand("HS256", rsa("one").as_pem(private=False))),
        "unsupported_algorithm",
    ),
    Attack(
        "HS256 with the public key as JSON",
        with_token(by_hand("HS256", json.dumps(public(rsa("one"))).encode())),
        "unsupported_algorithm",
    ),
    Attack("claims that were changed", with_token(with_changed_claims), "bad_signature"),
    Attack("another key under a known kid", with_token(signed(MALLORY, "RS256", kid="one")), "bad_signature"),
    Attack("a key that nobody knows", with_token(signed(MALLORY, "RS256")), "can have signed"),
    Attack(
        "a key in the token's own header",
        with_token(signed(ec("x"), "ES256", kid="one", jwk=public(ec("x")))),
        "the ID token does not hold",
    ),
    Attack("two keys with one kid", with_token(signed(rsa("one"), "RS256"), public(MALLORY, kid="one")), "can have"),
    Attack("a key for encryption", with_token(signed(MALLORY, "RS256"), public(MALLORY, use="enc")), "can have signed"),
    Attack(
        "a key for another algorithm", with_token(signed(MALLORY, "RS256"), public(MALLORY, alg="PS256")), "can have"
    ),
    Attack(
        "a symmetric key of the provider",
        with_token(signed(OCT, "HS256"), dict(OCT.as_dict())),
        "unsupported_algorithm",
    ),
    Attack("a kid that is a list", with_token(by_hand("RS256", b"x", ["one"])), "the ID token does not hold"),
    Attack("a short RSA key", with_short_key, "can have signed"),
    Attack("a key on a curve for RS256", with_token(signed(rsa("one"), "RS256", kid="ec"), public(ec("ec"))), "hold"),
    Attack("no token at all", with_token(lambda claims: "abc"), "the ID token does not hold"),
    Attack("an empty token", with_token(lambda claims: ""), "the ID token does not hold"),
    Attack("a huge token", with_token(lambda claims: "a." * 100_000), "the ID token does not hold"),
)
ANSWERS = (
    Attack("a huge answer", answering("/token", lambda: Response(b" " * LARGE)), "sent more than"),
    Attack("huge keys", answering("/keys", lambda: Response(b" " * LARGE)), "sent more than"),
    Attack("no JSON", answering("/token", lambda: Response("<html>")), "sent no ID token"),
    Attack("a deep JSON", answering("/token", lambda: Response("[" * 200_000)), "sent no ID token"),
    Attack("no ID token", answering("/token", lambda: JSONResponse({"access_token": "x"})), "sent no ID token"),
    Attack("no keys", answering("/keys", lambda: JSONResponse({"keys": []})), "can have signed"),
    Attack("keys that are none", answering("/keys", lambda: JSONResponse({"keys": "one"})), "sends no keys now"),
    Attack(
        "a redirect elsewhere",
        answering("/token", lambda: Response(status_code=307, headers={"Location": "https://evil.example/"})),
        "refused the code (HTTP 307",
    ),
    Attack("an error of the server", answering("/token", lambda: Response(status_code=503)), "answered HTTP 503"),
    Attack(
        "a refused client", answering("/token", lambda: JSONResponse({"error": "invalid_client"}, 401)), "client_id"
    ),
    Attack(
        "an error that writes into the log",
        answering("/token", lambda: JSONResponse({"error": "a\nb: c"}, 400)),
        "no known error code",
    ),
)


@pytest.mark.parametrize("attack", [*WAYS_BACK, *TOKENS, *KEYS, *ANSWERS], ids=lambda attack: attack.name)
def test_nobody_is_signed_in_by(attack: Attack) -> None:
    """The person sees a plain page, the log says why, and neither has a secret, a code or a token."""
    scene = Scene()
    with capture_logs() as logs:
        answer = attack.do(scene)
    assert not let_in(answer)
    assert "Not signed in" in answer.text
    said = [str(entry["why"]) for entry in logs if entry["event"] == "desk_page_sign_in_failed"]
    assert attack.why in (said or [""])[-1]
    assert logs[-1]["event"] == "desk_page_not_let_in"
    everything = f"{logs} {answer.text}"
    assert not any(secret in everything for secret in (SECRET, "code-1", "eyJ", "unused"))


def test_a_session_of_before_is_another_one_after_the_sign_in() -> None:
    """A planted cookie does not become the person's session (fixation)."""
    scene = Scene()
    scene.browser.cookies.set("__Host-desk", "planted", domain="desk.example.com", path="/")
    answer = scene.browser.get(scene.came())
    assert let_in(answer)
    assert "planted" not in answer.headers["set-cookie"]


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nSet-Cookie: x=y"])
def test_the_way_on_is_a_path_of_the_page(to: str) -> None:
    scene = Scene()
    answer = scene.browser.get(scene.provider.consent(scene.begin(to=to)))
    assert let_in(answer)
    assert answer.headers["location"] == "/"


def test_only_some_sign_ins_wait_for_the_provider_at_a_time() -> None:
    """A provider that hangs does not take the page's threads."""
    scene = Scene()
    where = scene.came()
    for _ in range(oidc.MOST_AT_ONCE):
        assert scene.entrance._room.acquire(blocking=False)
    with capture_logs() as logs:
        assert not let_in(scene.browser.get(where))
    assert "wait for the provider already" in logs[0]["why"]
    scene.entrance._room.release()
    assert let_in(scene.browser.get(where)), "it was not tried before"


def test_what_is_remembered_of_sign_ins_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oidc, "MOST_USED", 3)
    scene = Scene()
    for _ in range(5):
        assert let_in(scene.browser.get(scene.came()))
    assert len(scene.entrance._used) == 3
    scene.clock.instant += timedelta(minutes=11)
    assert let_in(scene.browser.get(scene.came()))
    assert len(scene.entrance._used) == 1


def test_without_tls_the_cookies_have_plain_names() -> None:
    """On this machine alone, as browsers refuse the prefix there."""
    scene = Scene(BY_OIDC.model_copy(update={"public_url": "http://localhost:8035"}))
    assert scene.entrance.cookie == "desk-sign-in"
    assert replace(scene.entrance, settings=BY_OIDC).cookie == "__Host-desk-sign-in"
