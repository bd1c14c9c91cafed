"""What a provider's document must say, and the bounds of every request to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import httpx2
import pytest
from starlette.responses import JSONResponse, Response

from support_agent.config.desk_page import DeskPageSettings
from support_agent.errors import ConfigError, SupportAgentError, TransientError
from support_agent.transport.openid import MAX_ANSWER_BYTES, Provider
from tests.fakes_journey import Clock
from tests.fakes_openid import BY_OIDC, ISSUER, LARGE, MadeProvider


class Outside(httpx2.AsyncBaseTransport):
    """A server without end: `wait_s` before the answer, and then a byte or many each `pause_s`."""

    def __init__(self, part: bytes, *, wait_s: float = 0.0, pause_s: float = 0.0) -> None:
        self.part, self.wait_s, self.pause_s, self.sent = part, wait_s, pause_s, 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer without end."""
        await asyncio.sleep(self.wait_s)

        async def body() -> AsyncIterator[bytes]:
            while True:
                await asyncio.sleep(self.pause_s)
                self.sent += len(self.part)
                yield self.part

        return httpx2.Response(200, content=body())


class Failing(httpx2.AsyncBaseTransport):
    """A server that cannot be reached, for this reason."""

    def __init__(self, why: str) -> None:
        self.why = why

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Fail to connect."""
        raise httpx2.ConnectError(self.why)


def impatient(**changes: object) -> DeskPageSettings:
    return DeskPageSettings.model_validate({**dict(BY_OIDC), "oidc_timeout_s": 0.05, **changes})


def test_the_document_is_read_below_the_issuer() -> None:
    provider = MadeProvider(Clock())
    read = Provider.read(BY_OIDC, provider.transport)
    assert read.document.token_endpoint == "https://login.example.com/token"
    assert provider.fetched == ["/document"]


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"issuer": f"{ISSUER}/"}, f"is the document of the issuer '{ISSUER}/': write exactly that"),
        ({"issuer": "https://evil.example"}, "is the document of the issuer 'https://evil.example'"),
        ({"issuer": None}, "is no provider's document"),
        ({"token_endpoint": "http://login.example.com/token"}, "has no https address as token_endpoint"),
        ({"jwks_uri": "file:///etc/passwd"}, "has no https address as jwks_uri"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "has no https address as authorization_endpoint"),
        ({"jwks_uri": "https://user:password@login.example.com/keys"}, "has no https address as jwks_uri"),
        ({"jwks_uri": "https://["}, "has no https address as jwks_uri"),
    ],
)
def test_a_wrong_document_is_an_error_of_the_configuration(document: dict[str, object], why: str) -> None:
    provider = MadeProvider(Clock(), document=document)
    with pytest.raises(ConfigError) as caught:
        Provider.read(BY_OIDC, provider.transport)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        (lambda: Response(status_code=404), ConfigError, "is no provider's document (HTTP 404)"),
        (lambda: Response("<html>"), ConfigError, "is no provider's document (HTTP 200)"),
        (lambda: JSONResponse([]), ConfigError, "is no provider's document"),
        (lambda: Response("[" * 200_000), ConfigError, "is no provider's document"),
        (lambda: Response(status_code=503), TransientError, "answered HTTP 503"),
        (lambda: Response(b" " * LARGE), TransientError, f"sent more than {MAX_ANSWER_BYTES} bytes"),
        (
            lambda: Response(status_code=302, headers={"Location": "https://evil.example/"}),
            ConfigError,
            "is no provider's document (HTTP 302)",
        ),
    ],
)
def test_what_answers_otherwise_is_an_error(
    answer: Callable[[], Response], kind: type[SupportAgentError], why: str
) -> None:
    """A redirect is not followed."""
    provider = MadeProvider(Clock(), answers={"/document": answer})
    with pytest.raises(kind) as caught:
        Provider.read(BY_OIDC, provider.transport)
    assert why in str(caught.value)
    assert len(provider.fetched) == 1


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    server = Outside(b" " * 10_000)
    with pytest.raises(TransientError, match="sent more than"):
        Provider.read(BY_OIDC, server)
    assert server.sent <= MAX_ANSWER_BYTES + 10_000


@pytest.mark.parametrize("server", [Outside(b" ", wait_s=60), Outside(b" ", pause_s=0.01)], ids=["silent", "dripping"])
def test_the_time_is_that_of_the_whole_answer(server: Outside) -> None:
    """A byte now and then does not begin it anew."""
    with pytest.raises(TransientError, match=r"did not answer within 0\.05 s"):
        Provider.read(impatient(), server)


def test_a_packed_answer_is_not_unpacked() -> None:
    """A few bytes can become gigabytes."""
    packed = MadeProvider(
        Clock(), answers={"/document": lambda: Response(b"\x1f\x8b", headers={"Content-Encoding": "gzip"})}
    )
    with pytest.raises(ConfigError, match="is no provider's document"):
        Provider.read(BY_OIDC, packed.transport)


@pytest.mark.parametrize(
    ("why", "kind", "said"),
    [
        ("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed", ConfigError, "the certificate of .* cannot be verified"),
        ("refused", TransientError, "cannot be used now: ConnectError"),
    ],
)
def test_a_provider_that_cannot_be_reached(why: str, kind: type[SupportAgentError], said: str) -> None:
    with pytest.raises(kind, match=said):
        Provider.read(BY_OIDC, Failing(why))


def test_on_this_machine_a_provider_needs_no_tls() -> None:
    issuer = "http://127.0.0.1:9000/tenant"
    plain: dict[str, object] = {"issuer": issuer, "token_endpoint": "http://127.0.0.1:9000/token"}
    provider = MadeProvider(Clock(), document=plain)
    assert Provider.read(impatient(oidc_issuer=issuer, oidc_timeout_s=5), provider.transport).document.issuer == issuer
