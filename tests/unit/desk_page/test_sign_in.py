"""The one-time link, the proxy's header, and where people go on to."""

from __future__ import annotations

from datetime import timedelta

import pytest
from starlette.requests import Request

from support_agent.config.desk_page import DeskPageSettings
from support_agent.desk_page.sign_in import Came, LinkEntrance, ProxyEntrance, own_path
from tests.fakes_journey import Clock

DESK = "desk@harborfile.example"


def request(
    peer: str = "127.0.0.1", way: str = "link", key: str = "", headers: tuple[tuple[str, str], ...] = ()
) -> Request:
    """A request from this address."""
    fields = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    scope = {"type": "http", "headers": fields, "query_string": f"key={key}".encode(), "path_params": {"way": way}}
    return Request(scope | ({"client": (peer, 1)} if peer else {}))


def key_of(link: str) -> str:
    return link.rpartition("=")[2]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def link(clock: Clock) -> LinkEntrance:
    return LinkEntrance(DeskPageSettings(link_min=10), DESK, clock)


def test_a_link_works_once(link: LinkEntrance) -> None:
    key = key_of(link.link())
    assert link.end(request(key=key)) == Came(DESK)
    assert link.end(request(key=key)) is None


def test_each_link_is_another(link: LinkEntrance) -> None:
    one, two = link.link(), link.link()
    assert one.startswith("http://127.0.0.1:8035/sign-in/link?key=")
    assert len(key_of(one)) >= 43
    assert [link.end(request(key=key_of(each))) for each in (two, one)] == [Came(DESK)] * 2


def test_a_link_works_for_some_minutes(link: LinkEntrance, clock: Clock) -> None:
    key = key_of(link.link())
    clock.instant += timedelta(minutes=10)
    assert link.end(request(key=key)) is None
    clock.instant -= timedelta(minutes=10)
    assert link.end(request(key=key)) is None, "it was tried"


@pytest.mark.parametrize("key", ["", "x", "A" * 43, "%ED%A0%80", "%00"])
def test_a_key_that_nobody_made_opens_nothing(link: LinkEntrance, key: str) -> None:
    good = key_of(link.link())
    assert link.end(request(key=key)) is None
    assert link.end(request(key=good)) == Came(DESK)


@pytest.mark.parametrize("peer", ["192.0.2.1", "10.0.0.1", "", "testclient", "fe80::1%eth0", "::ffff:192.0.2.1"])
def test_a_link_works_on_this_machine_alone(link: LinkEntrance, peer: str) -> None:
    """And is not used up by others."""
    key = key_of(link.link())
    assert link.end(request(peer, key=key)) is None
    assert link.end(request("::ffff:127.0.0.1", key=key)) == Came(DESK)


def test_a_link_is_not_another_ways(link: LinkEntrance) -> None:
    key = key_of(link.link())
    assert link.end(request(way="oidc", key=key)) is None


def test_by_link_no_request_proves_anything_by_itself(link: LinkEntrance) -> None:
    assert link.address_of(request()) is None
    assert link.still_is(request(), DESK)
    assert link.begin(request(), "/") == "link"


BEHIND = DeskPageSettings(sign_in="proxy", proxy_header="X-Auth-Email", proxy_addresses=("10.0.0.0/8", "fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "headers", "address"),
    [
        ("10.1.2.3", (("X-Auth-Email", DESK),), DESK),
        ("fd00::1", (("x-auth-email", f" {DESK} "),), DESK),
        ("::ffff:10.1.2.3", (("X-Auth-Email", "Desk@Harborfile.example"),), DESK),
        ("10.1.2.3", (("X-Auth-Email", ""),), None),
        ("10.1.2.3", (("X-Auth-Email", "  "),), None),
        ("10.1.2.3", (), None),
        ("10.1.2.3", (("X-Forwarded-Email", DESK),), None),
        ("10.1.2.3", (("X_Auth_Email", DESK),), None),
        ("10.1.2.3", (("X-Auth-Email", DESK), ("X-Auth-Email", "ada@harborfile.example")), None),
        ("10.1.2.3", (("X-Auth-Email", DESK), ("X-Auth-Email", DESK)), None),
        ("127.0.0.1", (("X-Auth-Email", DESK),), None),
        ("11.0.0.1", (("X-Auth-Email", DESK), ("X-Forwarded-For", "10.1.2.3")), None),
        ("", (("X-Auth-Email", DESK),), None),
        ("unix:", (("X-Auth-Email", DESK),), None),
    ],
)
def test_whom_a_proxy_names(peer: str, headers: tuple[tuple[str, str], ...], address: str | None) -> None:
    """Once, in the header of the settings, from the networks of the settings."""
    entrance, given = ProxyEntrance(BEHIND), request(peer, headers=headers)
    assert entrance.address_of(given) == address
    assert entrance.still_is(given, DESK) is (address == DESK)


def test_by_proxy_nobody_comes_back() -> None:
    assert ProxyEntrance(BEHIND).end(request("10.1.2.3")) is None
    assert ProxyEntrance(BEHIND).begin(request("10.1.2.3"), "/") == "proxy"


@pytest.mark.parametrize("path", ["/", "/cases/abc?choose=document:2", "/?reason=not_covered&level=2", "/%C3%A4"])
def test_people_go_on_to_paths_of_the_page(path: str) -> None:
    assert own_path(path) == path


@pytest.mark.parametrize(
    "path", ["", "x", "//x", "/\\x", "https://x", "/x y", "/x\n", "/\u00e4", "/" + "x" * 501, "/x#y"]
)
def test_people_go_on_nowhere_else(path: str) -> None:
    assert own_path(path) == "/"
