"""What is checked before a view runs, and what every response has."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest
from starlette.testclient import TestClient
from structlog.testing import capture_logs

from support_agent.config.desk import DeskSettings
from support_agent.config.desk_page import DeskPageSettings
from support_agent.config.settings import Settings
from support_agent.desk_page.people import Role
from support_agent.desk_page.sign_in import LinkEntrance, ProxyEntrance
from support_agent.desk_page.visit import Desk, Download, Framed, NotFound, Page, Result, SeeOther, Shown, Visit
from support_agent.errors import ConfigError, PermanentError, TransientError
from tests.fakes_journey import Clock
from tests.fakes_page import BY_PROXY, WHO, bare_site, form_key_in

DESK, ADA, AUDIT = "desk@harborfile.example", "ada@harborfile.example", "audit@elsewhere.example"
PAGE = BY_PROXY.model_copy(update={"admins": (ADA,), "readers": (AUDIT,), "max_upload_bytes": 10_000})
SEEN: list[Visit] = []


def home(desk: Desk, visit: Visit) -> Result:
    return Shown("base.html", {})


def do(desk: Desk, visit: Visit) -> Result:
    SEEN.append(visit)
    return SeeOther("/", "It is <done>.", is_error=visit.form.get("bad") == "1")


def fail(error: Exception) -> Callable[[Desk, Visit], Result]:
    def view(desk: Desk, visit: Visit) -> Result:
        raise error

    return view


ERRORS: tuple[tuple[Exception, int, str], ...] = (
    (NotFound(), 404, "nothing at this address"),
    (ConfigError("no case x: look", code="no_case"), 404, "no case x: look"),
    (PermanentError("it has left <already>"), 409, "it has left &lt;already&gt;"),
    (TransientError("the database is locked"), 503, "the database is locked"),
    (ValueError("a customer's words"), 500, "The program has a defect here"),
)
PAGES = (
    Page("/", home),
    Page("/do", do, Role.ANSWER, "POST"),
    Page("/rule", do, Role.ADMIN, "POST"),
    Page("/rules", home, Role.ADMIN),
    Page("/file", lambda desk, visit: Download(b"x", 'a"\r\nb.html')),
    Page("/frame", lambda desk, visit: Framed("<script>alert(1)</script>")),
    *(Page(f"/error/{nth}", fail(error)) for nth, (error, _, _) in enumerate(ERRORS)),
)


def browser(address: str = DESK, page: DeskPageSettings = PAGE, clock: Clock | None = None) -> TestClient:
    settings = Settings(desk=DeskSettings(address=DESK, staff=(ADA,)), desk_page=page)
    site = bare_site(settings, ProxyEntrance(page), clock or Clock(), PAGES)
    headers = {WHO: address} if address else {}
    return TestClient(site, page.origin, client=("127.0.0.1", 1), headers=headers, follow_redirects=False)


def key_in(page: httpx2.Response) -> str:
    return form_key_in(page.text)


def post(client: TestClient, path: str = "/do", **fields: str) -> httpx2.Response:
    return client.post(path, data={"form_key": key_in(client.get("/")), **fields})


@pytest.mark.parametrize("path", ["/", "/rules", "/file", "/frame", "/?a=b&c=%2F%2Fx"])
def test_without_a_session_a_page_leads_to_the_sign_in_and_back(path: str) -> None:
    answer = browser("").get(path)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/sign-in?next=%2F")


def test_without_a_session_nothing_is_changed() -> None:
    SEEN.clear()
    answer = browser("").post("/do", data={"form_key": "x"})
    assert (answer.status_code, SEEN) == (401, [])
    assert "Your session has ended. Nothing was done." in answer.text


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        (AUDIT, {"/"}),
        (DESK, {"/", "/do"}),
        (ADA, {"/", "/do", "/rule", "/rules"}),
        ("nobody@harborfile.example", set()),
    ],
)
def test_each_address_needs_its_role(address: str, allowed: set[str]) -> None:
    client = browser(address)
    assert {path for path in ("/", "/rules") if client.get(path).status_code == 200} == allowed & {"/", "/rules"}
    key = key_in(client.get("/")) if allowed else ""
    done = {path for path in ("/do", "/rule") if client.post(path, data={"form_key": key}).status_code == 303}
    assert done == allowed & {"/do", "/rule"}


def test_a_stranger_whom_the_proxy_names_is_told_that_the_address_is_none_of_the_desk() -> None:
    """It is logged as after any other sign-in."""
    with capture_logs() as logs:
        answer = browser("nobody@harborfile.example").get("/")
    assert (answer.status_code, "your address is not of the desk" in answer.text) == (403, True)
    assert [(entry["event"], entry["who"]) for entry in logs] == [("desk_page_not_let_in", "nobody@harborfile.example")]


def test_the_view_gets_the_fields_and_files_without_the_key() -> None:
    SEEN.clear()
    client = browser()
    key, file = key_in(client.get("/")), ("a.txt", b"text", "text/plain")
    data = {"form_key": key, "do": ["one", "two"]}
    assert client.post("/do?x=y", data=data, files=[("file", file)]).status_code == 303
    (visit,) = SEEN
    assert (visit.form, visit.query, visit.person.address) == ({"do": "two"}, {"x": "y"}, DESK)
    assert [tuple(upload) for upload in visit.files] == [("a.txt", "text/plain", b"text")]


def test_a_notice_is_shown_once_and_as_text() -> None:
    client = browser()
    assert post(client).headers["location"] == "/"
    assert "It is &lt;done&gt;." in client.get("/").text
    assert "It is &lt;done&gt;." not in client.get("/").text


def test_a_look_for_news_takes_no_notice_and_is_short_where_there_is_none() -> None:
    client = browser()
    post(client)
    first = client.get("/", headers={"X-Live": "1"})
    assert "done" not in first.text
    again = client.get("/", headers={"X-Live": "1", "X-Seen": first.headers["x-version"]})
    assert (again.status_code, again.content) == (204, b"")
    assert "It is &lt;done&gt;." in client.get("/").text


@pytest.mark.parametrize(("nth", "status", "said"), [(nth, *rest) for nth, (_, *rest) in enumerate(ERRORS)])
def test_an_error_has_its_page(nth: int, status: int, said: str) -> None:
    answer = browser().get(f"/error/{nth}")
    assert (answer.status_code, said in answer.text) == (status, True)


def test_a_defect_is_logged_without_its_values() -> None:
    """A traceback with them would write mails and session ids into the log."""
    with capture_logs() as logs:
        answer = browser().get("/error/4")
    (logged,) = [entry for entry in logs if entry["event"] == "desk_page_failed"]
    assert (logged["error"], logged["path"]) == ("ValueError", "/error/4")
    assert str(logged["at"]).startswith("test_site.py:")
    assert "a customer's words" not in f"{logs} {answer.text}"


def test_what_people_do_is_logged_with_who_and_without_what_they_wrote() -> None:
    with capture_logs() as logs:
        post(browser(), do="own words", words="Dear customer")
    (logged,) = [entry for entry in logs if entry["event"] == "desk_page_act"]
    assert (logged["who"], logged["what"], logged["path"]) == (DESK, "own words", "/do")
    assert "Dear customer" not in str(logs)


@pytest.mark.parametrize("path", ["/", "/nothing", "/error/4", "/sign-in", "/static/desk.css", "/file", "/frame"])
def test_every_response_has_the_headers(path: str) -> None:
    headers = browser().get(path).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert headers["referrer-policy"] == "same-origin"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "server" not in headers


def test_a_frame_runs_nothing() -> None:
    policy = browser().get("/frame").headers["content-security-policy"]
    assert "sandbox" in policy
    assert "script-src" not in policy


def test_a_download_is_never_shown() -> None:
    headers = browser().get("/file").headers
    assert headers["content-disposition"] == "attachment; filename*=UTF-8''a%22%0D%0Ab.html"
    assert headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize(
    ("origin", "name"), [("https://desk.example.com", "__Host-desk"), ("http://localhost:1", "desk")]
)
def test_the_cookie_is_for_this_host_and_not_for_scripts(origin: str, name: str) -> None:
    page = PAGE.model_copy(update={"public_url": origin})
    cookie = browser(page=page).get("/").headers["set-cookie"]
    assert cookie.startswith(f"{name}=")
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
    assert ("Secure" in cookie) == origin.startswith("https")
    assert "Domain" not in cookie


def test_signing_out_ends_the_session_and_needs_the_forms_key() -> None:
    client = browser()
    key = key_in(client.get("/"))
    old = client.cookies["desk"]
    assert client.post("/sign-out", data={"form_key": "x"}).status_code == 403
    assert client.post("/sign-out", data={"form_key": key}).status_code == 200
    client.cookies.set("desk", old)
    assert client.post("/do", data={"form_key": key}).status_code == 403
    assert client.get("/sign-out").status_code == 405


def test_a_link_signs_in_once_with_an_id_of_the_pages_own() -> None:
    settings = Settings(desk=DeskSettings(address=DESK))
    clock = Clock()
    entrance = LinkEntrance(settings.desk_page, DESK, clock)
    site = bare_site(settings, entrance, clock)
    client = TestClient(site, settings.desk_page.origin, client=("127.0.0.1", 1), cookies={"desk": "planted"})
    link = entrance.link()
    answer = client.get(link, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "planted" not in answer.headers["set-cookie"]
    assert DESK in client.get("/").text
    assert "Not signed in" in client.get(link).text
    assert client.get("/sign-in").status_code == 401


@pytest.mark.parametrize(
    "hosts",
    [[""], ["evil.example"], ["127.0.0.1"], ["127.0.0.1:8035", "127.0.0.1:8035"], ["127.0.0.1:8035", "evil.example"]],
)
def test_a_request_names_the_host_of_the_page_once(hosts: list[str]) -> None:
    """A page on this machine is not reached under a name that somebody else gave it (DNS rebinding)."""
    client = browser()
    request = client.build_request("GET", "/")
    request.headers = httpx2.Headers([(WHO, DESK), *(("Host", host) for host in hosts)])
    assert client.send(request).status_code == 421


@pytest.mark.parametrize("length", ["10001", "9" * 30, "-1", "1e3", "\u0661", ""])
def test_a_length_that_is_too_large_or_none_is_refused(length: str) -> None:
    answer = browser().post("/do", content=b"x", headers={b"Content-Length": length.encode()})
    assert answer.status_code == 413


def test_a_text_that_cannot_be_stored_is_refused() -> None:
    client = browser()
    assert post(client, do="a\0b").status_code == 400
    assert client.get("/?a=%00").status_code == 400
    body = (
        b'--x\r\nContent-Disposition: form-data; name="form_key"\r\n\r\n' + key_in(client.get("/")).encode() + b"\r\n"
        b'--x\r\nContent-Disposition: form-data; name="_charset_"\r\n\r\nunicode_escape\r\n'
        b'--x\r\nContent-Disposition: form-data; name="do"\r\n\r\n\\ud800\r\n--x--\r\n'
    )
    headers = {"Content-Type": "multipart/form-data; boundary=x; charset=unicode_escape"}
    assert client.post("/do", content=body, headers=headers).status_code == 400


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"])
def test_other_methods_are_refused(method: str) -> None:
    assert browser().request(method, "/").status_code == 405
