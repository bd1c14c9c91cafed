"""One address of the web is read within bounds, and nothing of the own network ever is."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from support_agent.errors import TransientError
from support_agent.facts.web import client as web_client
from support_agent.facts.web.client import (
    MAX_REDIRECTS,
    FetchLimits,
    HttpResponse,
    WebClient,
    origin_of,
    plain_address,
)
from tests.servers.certificates import Certificates
from tests.servers.web import Reply, closed_port, web_server

T = TypeVar("T")

HTML = frozenset({"text/html"})
LIMITS = FetchLimits(timeout_s=10.0, max_bytes=1000, user_agent="support-agent test")
PATIENCE_S = 0.2
"""How long a caller waits for what never comes."""


def get(client: WebClient, address: str, kinds: frozenset[str] = HTML) -> HttpResponse:
    """Read an address in a loop of its own."""
    return asyncio.run(client.get(address, kinds))


def within(work: Coroutine[None, None, T]) -> T:
    """The result of work that has little time."""

    async def timed() -> T:
        async with asyncio.timeout(PATIENCE_S):
            return await work

    return asyncio.run(timed())


def test_a_page_comes_with_its_type_and_charset() -> None:
    with web_server(lambda _: Reply(b"<p>Hello", "Text/HTML; Charset='UTF-8'")) as web:
        answer = get(WebClient(LIMITS, trusted=[web.url]), f"{web.url}/a?b=c")
    assert answer == HttpResponse(f"{web.url}/a?b=c", "text/html", "utf-8", b"<p>Hello")
    asked = web.asked[0]
    assert (asked.path, asked.query, asked.headers["user-agent"]) == ("/a", {"b": "c"}, "support-agent test")
    assert asked.headers["host"] == f"127.0.0.1:{web.port}"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
def test_an_address_of_the_own_network_is_never_connected_to(host: str) -> None:
    """A search result may name the metadata server of the cloud; here it names a server beside us."""
    with web_server(lambda _: Reply(b"secret")) as web, pytest.raises(TransientError) as refused:
        get(WebClient(LIMITS), f"http://{host}:{web.port}/latest/meta-data/")
    assert web.asked == []
    assert "port of its own" in str(refused.value)


@pytest.mark.parametrize("host", ["169.254.169.254", "[::1]", "10.0.0.1", "[fd00:ec2::254]", "0", "localhost"])
def test_the_refusal_names_the_setting_that_would_allow_it(host: str) -> None:
    with pytest.raises(TransientError, match=r"search\.private_origins"):
        get(WebClient(LIMITS), f"http://{host}/latest/meta-data/")


def test_a_name_that_leads_inside_is_refused_and_one_look_decides() -> None:
    """A name server may say something else each time: what is judged is what is connected to."""
    said = iter([["127.0.0.1"], ["1.1.1.1"], ["1.1.1.1"]])
    looked: list[tuple[str, int]] = []

    def resolver(host: str, port: int) -> Sequence[str]:
        looked.append((host, port))
        return next(said)

    with pytest.raises(TransientError, match="not on the public internet"):
        get(WebClient(LIMITS, resolver=resolver), "http://rebinding.example/")
    assert looked == [("rebinding.example", 80)]


def test_the_connection_goes_to_the_address_that_was_judged_under_the_name_that_was_asked_for() -> None:
    with web_server(lambda _: Reply(b"Hello")) as web:
        origin = f"http://shop.example:{web.port}"
        client = WebClient(LIMITS, trusted=[origin], resolver=lambda host, port: ["127.0.0.1"])
        assert get(client, f"{origin}/a").body == b"Hello"
    assert web.asked[0].headers["host"] == f"shop.example:{web.port}"


def test_a_second_address_of_a_host_is_tried() -> None:
    """A host is often reachable by one of IPv4 and IPv6 only."""
    with web_server(lambda _: Reply(b"Hello")) as web:
        origin = f"http://shop.example:{web.port}"
        client = WebClient(LIMITS, trusted=[origin], resolver=lambda host, port: ["::1", "127.0.0.1"])
        assert get(client, origin).body == b"Hello"


def test_a_redirect_into_the_own_network_is_not_followed() -> None:
    """Also from a page that may be read."""
    with web_server(lambda _: Reply(b"secret")) as inside:
        leads = Reply(status=302, headers={"Location": f"http://127.0.0.1:{inside.port}/secret"})
        with web_server(lambda _: leads) as web, pytest.raises(TransientError):
            get(WebClient(LIMITS, trusted=[web.url]), web.url)
    assert len(web.asked) == 1
    assert inside.asked == []


def test_redirects_are_few_and_carry_no_cookie() -> None:
    """A loop ends; nothing that a server sets comes back to it."""
    again = Reply(status=301, headers={"Location": "/again", "Set-Cookie": "who=you"})
    with web_server(lambda _: again) as web, pytest.raises(TransientError, match="redirects more than"):
        get(WebClient(LIMITS, trusted=[web.url]), web.url)
    assert len(web.asked) == MAX_REDIRECTS + 1
    assert not any("cookie" in request.headers for request in web.asked)


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://[", "gopher://x/", "http://a\x7fb/"])
def test_a_redirect_to_what_is_no_page_is_refused(location: str) -> None:
    with (
        web_server(lambda _: Reply(status=302, headers={"Location": location})) as web,
        pytest.raises(TransientError),
    ):
        get(WebClient(LIMITS, trusted=[web.url]), web.url)
    assert len(web.asked) == 1


def test_a_redirect_that_a_rule_forbids_is_not_followed() -> None:
    """Such as robots.txt's."""
    with web_server(lambda _: Reply(status=302, headers={"Location": "/private"})) as web:
        client = WebClient(LIMITS, trusted=[web.url])
        with pytest.raises(TransientError, match="must not be read"):
            asyncio.run(client.get(web.url, HTML, may_read=lambda address: "private" not in address))
    assert web.paths == ["/"]


def test_a_key_is_sent_to_the_address_of_the_setting_alone() -> None:
    with web_server(lambda _: Reply(b"{}")) as elsewhere:
        leads = Reply(status=307, headers={"Location": elsewhere.url})
        with web_server(lambda _: leads) as web:
            client = WebClient(LIMITS, trusted=[web.url, elsewhere.url])
            with pytest.raises(TransientError, match="correct the setting"):
                asyncio.run(client.post(web.url, HTML, headers={"X-API-KEY": "hunter2"}, body=b"{}"))
    assert web.asked[0].headers["x-api-key"] == "hunter2"
    assert elsewhere.asked == []


@pytest.mark.parametrize(
    ("reply", "what"),
    [
        (Reply(b"x" * 1001), "longer than 1000 bytes"),
        (Reply(b"x" * 10_000_000), "longer than 1000 bytes"),
        (Reply(gzip.compress(b"x" * 10_000_000)[:900], headers={"Content-Encoding": "gzip"}), "longer than 1000"),
        (Reply(gzip.compress(bytes(range(256)))[:100], headers={"Content-Encoding": "gzip"}), "breaks off"),
        (Reply(b"no gzip", headers={"Content-Encoding": "gzip"}), "not packed as it says"),
        (Reply(b"x", headers={"Content-Encoding": "br"}), "not asked for"),
        (Reply(b"x" * 100, cut=True), "RemoteProtocolError"),
        (Reply(b"x", kind="image/png"), "does not answer with"),
        (Reply(b"x", kind=""), "does not answer with"),
        (Reply(b"x", status=404), "HTTP 404"),
        (Reply(b"", status=204), "HTTP 204"),
        (Reply(b"", status=302), "HTTP 302"),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused(reply: Reply, what: str) -> None:
    """Too long, packed or unpacked, cut, of another kind, an error."""
    with web_server(lambda _: reply) as web, pytest.raises(TransientError, match=what):
        get(WebClient(LIMITS, trusted=[web.url]), web.url)


def test_a_packed_answer_is_unpacked() -> None:
    with web_server(lambda _: Reply(gzip.compress(b"Hello" * 100), headers={"Content-Encoding": "gzip"})) as web:
        assert get(WebClient(LIMITS, trusted=[web.url]), web.url).body == b"Hello" * 100


@pytest.mark.parametrize("reply", [Reply(hangs=True), Reply(dribbles=True), Reply(b"x", delay_s=20)])
def test_nobody_waits_longer_than_they_want(reply: Reply) -> None:
    """A server that sends its head byte by byte never lets a single read time out."""
    with web_server(lambda _: reply) as web:
        with pytest.raises(TimeoutError):
            within(WebClient(LIMITS, trusted=[web.url]).get(web.url, HTML))
        assert not web.ended.is_set()


def test_a_name_server_that_does_not_answer_is_not_waited_for() -> None:
    """Its thread is left behind: neither the caller nor the loop's end waits for it."""
    release = threading.Event()
    left: list[bool] = []

    def resolver(host: str, port: int) -> Sequence[str]:
        left.append(release.wait(30))
        return ["127.0.0.1"]

    with pytest.raises(TimeoutError):
        within(WebClient(LIMITS, resolver=resolver).get("http://shop.example/", HTML))
    assert left == []
    release.set()


def test_a_port_where_nobody_listens_and_a_name_that_is_none_are_errors() -> None:
    origin = f"http://127.0.0.1:{closed_port()}"
    with pytest.raises(TransientError, match="cannot be reached"):
        get(WebClient(LIMITS, trusted=[origin]), origin)

    def resolver(host: str, port: int) -> Sequence[str]:
        raise OSError("no such host")

    with pytest.raises(TransientError, match="no host that is known"):
        get(WebClient(LIMITS, resolver=resolver), "http://shop.example/")


def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A proxy of the environment would undo the judgement on addresses; a .netrc would send a password."""
    (tmp_path / "netrc").write_text("default login me password hunter2\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    with web_server(lambda _: Reply(b"Hello")) as web:
        assert get(WebClient(LIMITS, trusted=[web.url]), web.url).body == b"Hello"
    assert "authorization" not in web.asked[0].headers


def test_a_certificate_must_be_that_of_the_name(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection goes to an address, the certificate is asked for by name; one of another name is refused."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    web_client.tls_context.cache_clear()
    try:
        with web_server(lambda _: Reply(b"Hello"), certificates) as web:
            for name, is_right in (("localhost", True), ("shop.example", False)):
                origin = f"https://{name}:{web.port}"
                client = WebClient(LIMITS, trusted=[origin], resolver=lambda host, port: ["127.0.0.1"])
                if is_right:
                    assert get(client, origin).body == b"Hello"
                else:
                    with pytest.raises(TransientError, match="ConnectError"):
                        get(client, origin)
    finally:
        web_client.tls_context.cache_clear()
    assert len(web.asked) == 1


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("HTTP://Shop.Example:80/a#part", "http://shop.example/a"),
        ("https://shop.example", "https://shop.example/"),
        ("https://shop.example:8443/a?b=c", "https://shop.example:8443/a?b=c"),
        ("https://me:secret@shop.example/", ""),
        ("javascript:alert(1)", ""),
        ("/relative", ""),
        ("http://", ""),
        ("http://a b/", ""),
        ("http://shop.example/\x00", ""),
        ("https://shop.example/" + "a" * 2000, ""),
    ],
)
def test_an_address_is_kept_in_one_form_or_not_at_all(address: str, plain: str) -> None:
    assert plain_address(address) == plain


def test_an_origin_has_its_port() -> None:
    assert origin_of("https://Shop.example/a") == "https://shop.example:443"
    assert origin_of("http://[::1]:8080") == "http://::1:8080"
    assert origin_of("mailto:a@b.example") == ""
