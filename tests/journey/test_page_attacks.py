"""Attacks on the desk's page, as data: texts that want to be markup, forged and misdirected requests, and hurry.

None of them works, nothing is lost by them, and the person is told what happened.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from email.message import EmailMessage
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import quote, urlencode, urljoin, urlsplit

import httpx2
import pytest
import yaml
from markupsafe import escape
from sqlalchemy import text
from starlette.testclient import TestClient

from support_agent.answer.templates import Templates
from support_agent.config.desk import DeskSettings
from support_agent.config.desk_page import DeskPageSettings
from support_agent.core.modes import Mode
from support_agent.desk_page.sign_in import own_path
from support_agent.store.records import OutboxStatus, OutgoingKind
from tests.fakes_desk import Proposed, held_in, order, proposed_in, status_of
from tests.fakes_journey import ANNA, DESK, JAMES, STRANGER, Office, with_autonomy, write
from tests.fakes_page import BY_PROXY, WHO, Browser, Form, form_key_in, forms_of
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.seen import OFF_TOPIC, REFUND, TWO, opened

ADA, READER, NOBODY = "ada@harborfile.example", "reader@harborfile.example", "nobody@harborfile.example"
PAGE = BY_PROXY.model_copy(update={"readers": (READER,), "admins": (DESK,)})
ELEMENTS = """
a article b body button code dd details div dl dt figcaption figure footer form h1 h2 h3 head header html iframe input
kbd label li link main mark meta nav ol optgroup option p script section select small span strong summary textarea
time title ul
"""
HARMLESS = frozenset(ELEMENTS.split())
"""The elements that the page's templates write."""
ACTIVE = ("javascript:", "data:", "vbscript:")


class _Elements(HTMLParser):
    """What a browser makes of a page: its elements with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def assert_harmless(page: str) -> None:
    """Nothing in a page runs, fetches from elsewhere, covers it, or is an element that no template wrote."""
    for tag, attributes in _Elements(page).found:
        assert tag in HARMLESS, tag
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcdoc", "formaction")]
        for name in ("href", "src", "action"):
            assert not attributes.get(name, "").lower().strip().startswith(ACTIVE)
            assert not attributes.get(name, "/").startswith(("//", "http"))
        if tag == "script":
            assert attributes["src"] == "/static/desk.js"
        if tag == "iframe":
            assert attributes["sandbox"] == ""
    for character in ("\u202e", "\u2066", "\x07", "\x1b"):
        assert character not in page


def rows_of(office: Office) -> Mapping[str, list[tuple[object, ...]]]:
    """All that is stored."""
    with office.store.database.write() as connection:
        names = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars().all()
        return {
            name: sorted(map(tuple, connection.execute(text(f'SELECT * FROM "{name}"'))), key=repr) for name in names
        }


def deeds_of(office: Office) -> Mapping[str, list[tuple[object, ...]]]:
    """All that is stored but the mails of acts: a refused one is kept, with why it was refused."""
    return {name: rows for name, rows in rows_of(office).items() if name not in ("mails", "cursors")}


@dataclass
class Scene:
    """An answer that waits in one case, another in a second one, and people at the page."""

    proposed: Proposed
    other: Proposed
    page: DeskPageSettings = PAGE

    @classmethod
    def of(cls, office: Office) -> Scene:
        """Two customers have asked."""
        office = staffed(office)
        return cls(proposed_in(office), proposed_in(office, sender="anna.keller@example.net", number=2))

    @property
    def office(self) -> Office:
        return self.proposed.office

    @property
    def case(self) -> str:
        return f"/cases/{self.proposed.answer.case_id}"

    @property
    def other_case(self) -> str:
        return f"/cases/{self.other.answer.case_id}"

    def browser(self, address: str = DESK) -> Browser:
        """A person's, with a session."""
        return Browser(self.office, address, self.page)


def staffed(office: Office) -> Office:
    settings = office.settings.model_copy(update={"desk": DeskSettings(address=DESK, staff=(ADA,))})
    return replace(office, settings=settings, decider=replace(office.decider, settings=settings))


@pytest.fixture
def scene(office: Office) -> Scene:
    return Scene.of(office)


# Texts that want to be markup

MARKUP = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "</textarea></title></style><iframe src=//evil.example>",
    '" autofocus onfocus=alert(1) x="',
    "<a href=javascript:alert(1)>x</a>",
    "<div style=position:absolute;top:0>x</div>",
    "{{ 7*7 }}{% include 'case.html' %}",
    "<!--<base href=//evil.example/>",
    "\u202egnp.exe\u2066 \x1b[2J",
)


def mail_of(evil: str) -> bytes:
    """A mail that says this wherever its writer may: subject, name, address, text, names and types of files."""
    plain = "".join(character for character in evil if character.isprintable() or character in "\u202e\u2066")
    message = EmailMessage()
    message["From"] = f"NAME <{STRANGER}>"
    message["To"] = "support@harborfile.example"
    message["Subject"] = plain
    message["Message-ID"] = f"<{zlib.crc32(evil.encode())}@elsewhere.example>"
    message.set_content(f"{OFF_TOPIC}\n{evil}\n")
    message.add_attachment(b"x", maintype="text", subtype="html", filename=f"{plain}.html")
    raw = message.as_bytes().replace(b"text/html", b"text/x-<script>alert(2)</script>")
    name = f"=?utf-8?q?{''.join(f'={byte:02X}' for byte in plain.encode())}?="
    written_by = f"{name} <x'onclick=alert&y@elsewhere.example>"
    return raw.replace(f"NAME <{STRANGER}>".encode(), written_by.encode(), 1)


@pytest.mark.parametrize("evil", MARKUP)
def test_what_a_customer_writes_is_text(office: Office, evil: str) -> None:
    office = staffed(office)
    office.handle(mail_of(evil))
    browser = Browser(office, page=PAGE)
    (case,) = office.store.cases.recent(1)
    for path in ("/", f"/?{urlencode({'reason': evil, 'assignee': evil, 'desk': evil})}", f"/cases/{case.case.id}"):
        assert_harmless(browser.get(path))


@pytest.mark.parametrize("evil", MARKUP)
def test_what_the_companys_own_files_say_is_text(office: Office, evil: str) -> None:
    """Titles, desks and the words for a reason come from files that more people can write than run the page."""
    visible = "".join(character for character in evil if character.isprintable())
    given = proposed_in(office)
    with office.store.database.write() as connection:
        connection.execute(text("UPDATE cases SET desk = :evil, assignee = :evil"), {"evil": visible})
    company, files = given.office.decider.company, given.office.decider.templates.as_files()
    documents = tuple(
        one.model_copy(update={"head": one.head.model_copy(update={"title": visible})}) for one in company.documents
    )
    words = yaml.safe_load(files["en/words.yaml"])
    words["reason"] = dict.fromkeys(words["reason"], visible)
    templates = Templates.from_files(files | {"en/words.yaml": yaml.safe_dump(words)})
    decider = replace(given.office.decider, company=replace(company, documents=documents), templates=templates)
    named = given.office.settings.company.model_copy(update={"name": visible})
    changed = given.office.settings.model_copy(update={"company": named})
    browser = Browser(replace(given.office, decider=decider, settings=changed), page=PAGE)
    case = f"/cases/{given.answer.case_id}"
    for path in ("/", case, f"{case}?choose=document:2", f"{case}?choose=document:999"):
        page = browser.get(path)
        assert_harmless(page)
        assert escape(visible) in page


@pytest.mark.parametrize("evil", MARKUP)
def test_what_a_refusal_repeats_is_text(scene: Scene, evil: str) -> None:
    """The notice of an act says what was wrong, in the words of whoever sent it."""
    visible = "".join(character for character in evil if character.isprintable())
    browser = scene.browser()
    page = browser.act(scene.case, "assign", to=visible)
    assert "Nothing was done" in page
    assert_harmless(page)


def test_the_html_of_a_mail_is_downloaded_and_never_shown(office: Office) -> None:
    """It may fetch a picture that tells its sender, or lie over the page's buttons."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = STRANGER, "support@harborfile.example", "Look"
    message["Message-ID"] = "<html@elsewhere.example>"
    message.set_content(OFF_TOPIC)
    message.add_alternative("<style>*{position:fixed}</style><img src=https://evil.example/seen>", subtype="html")
    message.add_attachment(b"<script>alert(1)</script>", maintype="text", subtype="html", filename="a.html")
    mail_id, _ = office.handle(message.as_bytes())
    browser = Browser(office, page=PAGE)
    (case,) = office.store.cases.recent(1)
    page = browser.get(f"/cases/{case.case.id}")
    assert "evil.example" not in page
    assert_harmless(page)
    for place in ("0", "mail"):
        answer = browser.client.get(f"/cases/{case.case.id}/mails/{mail_id}/{place}")
        assert answer.headers["content-disposition"].startswith("attachment;")
        assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert "html" not in answer.headers["content-type"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_html_of_an_answer_can_neither_run_nor_fetch(scene: Scene) -> None:
    answer = scene.browser().client.get(f"{scene.case}/frame?id={scene.proposed.answer.id}")
    policy = answer.headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert not [part for part in policy if part.startswith(("script-src", "img-src", "connect-src", "form-action"))]


@pytest.mark.parametrize("path", ["/", "/sign-in", "/nothing", "/static/desk.js"])
def test_no_page_runs_a_script_or_fetches_from_elsewhere(scene: Scene, path: str) -> None:
    headers = scene.browser().client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not [word for word in ("unsafe", "http:", "https:", "*") if word in policy]
    assert headers["cache-control"] == "no-store"


# Forged requests


class Forged(NamedTuple):
    """A request that must not be carried out; `send` gets a form of the page that approves the waiting answer."""

    name: str
    send: Callable[[Scene, Browser, Form], httpx2.Response]
    status: int = 403
    said: str = "Nothing was done"


def post(
    browser: Browser, path: str, form: Form, headers: dict[str, str] | None = None, **fields: str
) -> httpx2.Response:
    data = {**form.fields, **fields}
    return browser.client.post(path, data=data, headers=headers or {}, follow_redirects=False)


def forged_by_header(name: str, value: str) -> Callable[[Scene, Browser, Form], httpx2.Response]:
    return lambda scene, browser, form: post(browser, scene.case, form, {name: value})


def forged_by_field(**fields: str) -> Callable[[Scene, Browser, Form], httpx2.Response]:
    return lambda scene, browser, form: post(browser, scene.case, form, None, **fields)


def without_form_key(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    return post(browser, scene.case, replace(form, fields={k: v for k, v in form.fields.items() if k != "form_key"}))


def of_another_session(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    other = scene.browser(ADA).forms(scene.case)["approve"]
    return post(browser, scene.case, form, form_key=other.fields["form_key"])


def of_an_earlier_session(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    browser.client.post("/sign-out", data={"form_key": form.fields["form_key"]})
    return post(browser, scene.case, form)


def later_by(span: timedelta) -> Callable[[Scene, Browser, Form], httpx2.Response]:
    def send(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
        browser.office.clock.instant += span  # type: ignore[attr-defined]
        return post(browser, scene.case, form)

    return send


def never_idle_but_too_long(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    for _ in range(24):
        browser.office.clock.instant += timedelta(minutes=31)  # type: ignore[attr-defined]
        browser.get("/")
    return post(browser, scene.case, form)


def kept_awake_by_its_script(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    """A page that looks for news by itself keeps nobody signed in."""
    for _ in range(4):
        browser.office.clock.instant += timedelta(minutes=20)  # type: ignore[attr-defined]
        browser.client.get("/", headers={"X-Live": "1"})
    return post(browser, scene.case, form)


def in_another_name(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    """The proxy says now that it is somebody else, in the same browser."""
    return post(browser, scene.case, form, {WHO: ADA})


def in_nobodys_name(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    return post(browser, scene.case, form, {WHO: NOBODY})


def named_twice(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    headers = [(WHO, DESK), (WHO, ADA)]
    browser.client.headers.pop(WHO)
    return browser.client.post(scene.case, data=form.fields, headers=headers)


def named_by_a_stranger(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    page = scene.page.model_copy(update={"proxy_addresses": ("10.0.0.0/8", "::1/128")})
    other = Browser(scene.office, DESK, page)
    return other.client.post(scene.case, data=form.fields)


def another_browsers_cookie(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    """Whoever steals a cookie still is whom the proxy names."""
    thief = TestClient(browser.client.app, scene.page.origin, client=("127.0.0.1", 1), headers={WHO: READER})
    thief.cookies = browser.client.cookies
    return thief.post(scene.case, data=form.fields)


def by_a_reader(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    reader = scene.browser(READER)
    key = form_key_in(reader.get(scene.case))
    return post(reader, scene.case, form, form_key=key)


def to_another_case(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    return browser.client.post(scene.other_case, data=form.fields)


def as_get(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    return browser.client.get(f"{scene.case}?{urlencode(form.fields)}")


def declared_too_large(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    headers = {"Content-Length": "99999999999", "Content-Type": "application/x-www-form-urlencoded"}
    return browser.client.post(scene.case, content=urlencode(form.fields), headers=headers)


def chunked_too_large(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    small = Browser(scene.office, DESK, scene.page.model_copy(update={"max_upload_bytes": 10_000}))
    fields = small.forms(scene.case)["approve"].fields
    chunks = [urlencode(fields).encode(), b"&pad=", *(b"x" * 1_000 for _ in range(20))]
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return small.client.post(scene.case, content=iter(chunks), headers=headers)


def with_many_fields(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    return browser.client.post(scene.case, data={**form.fields, **{f"f{n}": "" for n in range(300)}})


def as_json(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    return browser.client.post(scene.case, json=form.fields)


def broken_multipart(scene: Scene, browser: Browser, form: Form) -> httpx2.Response:
    headers = {"Content-Type": "multipart/form-data"}
    return browser.client.post(scene.case, content=b"--x\r\n", headers=headers)


FORGED = (
    Forged("no key of a form", without_form_key),
    Forged("an empty key of a form", forged_by_field(form_key="")),
    Forged("a key of a form that nobody made", forged_by_field(form_key="A" * 43)),
    Forged("a key of a form that is no ASCII", forged_by_field(form_key="\u212a" * 43)),
    Forged("the key of another person's session", of_another_session),
    Forged("the key of an earlier session", of_an_earlier_session),
    Forged("sent by another site", forged_by_header("Sec-Fetch-Site", "cross-site")),
    Forged("sent by a host beside", forged_by_header("Sec-Fetch-Site", "same-site")),
    Forged("sent by nobody's page", forged_by_header("Sec-Fetch-Site", "none")),
    Forged("a foreign origin", forged_by_header("Origin", "https://evil.example")),
    Forged("an origin that begins alike", forged_by_header("Origin", "http://127.0.0.1:8035.evil.example")),
    Forged("an origin that is hidden", forged_by_header("Origin", "null")),
    Forged("another scheme's origin", forged_by_header("Origin", "https://127.0.0.1:8035")),
    Forged("another host", forged_by_header("Host", "evil.example"), 421, "another host"),
    Forged("a host that begins alike", forged_by_header("Host", "127.0.0.1:8035.evil.example"), 421, "another host"),
    Forged("no host", forged_by_header("Host", ""), 421, "another host"),
    Forged("an idle session", later_by(timedelta(minutes=61))),
    Forged("a session that is too old", never_idle_but_too_long),
    Forged("a page left open", kept_awake_by_its_script),
    Forged("another person's name", in_another_name),
    Forged("a stranger's name", in_nobodys_name, said="your address is not of the desk"),
    Forged("two names", named_twice, 401),
    Forged("a name from outside the proxy's networks", named_by_a_stranger, 401),
    Forged("a stolen cookie", another_browsers_cookie),
    Forged("a person who may only read", by_a_reader),
    Forged("a form of another case", to_another_case, 200),
    Forged("a link", as_get, 200, "What the customer would get"),
    Forged("a body that says it is too large", declared_too_large, 413, "too large"),
    Forged("a body that is too large", chunked_too_large, 413),
    Forged("too many fields", with_many_fields, 400, ""),
    Forged("JSON", as_json),
    Forged("a broken form", broken_multipart, 400, ""),
    Forged("a key of a command that is too short", forged_by_field(key="A"), 404, "nothing at this address"),
    Forged("a key with a line break", forged_by_field(key="A\r\nBcc: x@evil.example"), 404, "nothing at this address"),
    Forged("an order that there is not", forged_by_field(do="delete"), 404, "nothing at this address"),
    Forged("a NUL", forged_by_field(do="approve\0"), 400, "could not be read"),
)


@pytest.mark.parametrize("forged", FORGED, ids=lambda forged: forged.name)
def test_nothing_is_done_by(scene: Scene, forged: Forged) -> None:
    browser = scene.browser()
    form = browser.forms(scene.case)["approve"]
    before = rows_of(scene.office) if forged.status != 200 else deeds_of(scene.office)
    answer = forged.send(scene, browser, form)
    assert (answer.status_code, forged.said in answer.text) == (forged.status, True), answer.text
    after = (rows_of if forged.status != 200 else deeds_of)(scene.office)
    assert {name: set(rows) ^ set(before[name]) for name, rows in after.items() if rows != before[name]} == {}
    assert "Approved. The answer leaves now." in scene.browser().act(scene.case, "approve"), "nothing was lost"


def test_a_reader_may_look_at_everything_and_is_offered_nothing(scene: Scene) -> None:
    reader = scene.browser(READER)
    page = reader.get(scene.case)
    assert [form.action for form in forms_of(page) if form.method == "post"] == ["/sign-out"]
    key = form_key_in(page)
    before = rows_of(scene.office)
    for what in ("approve", "document", "own words", "close", "spam", "give back", "claim", "assign", "reopen", "undo"):
        answer = reader.client.post(scene.case, data={"form_key": key, "do": what, "to": READER})
        assert (answer.status_code, "You may not do this" in answer.text) == (403, True)
    assert rows_of(scene.office) == before


def test_who_is_removed_from_the_settings_is_out(scene: Scene) -> None:
    """Whatever cookie the browser still has."""
    browser = scene.browser(ADA)
    form = browser.forms(scene.case)["approve"]
    without = scene.office.settings.model_copy(update={"desk": DeskSettings(address=DESK)})
    later = Browser(replace(scene.office, settings=without), ADA, scene.page)
    later.client.cookies = browser.client.cookies
    before = rows_of(scene.office)
    assert later.client.get(scene.case).status_code == 403
    assert later.client.post(scene.case, data=form.fields).status_code == 403
    assert rows_of(scene.office) == before


def test_a_planted_cookie_becomes_nobodys_session(scene: Scene) -> None:
    """Fixation: an attacker knows the id that the browser sends, and not the one that it gets."""
    browser = scene.browser()
    browser.client.cookies.set("desk", "planted", domain="127.0.0.1", path="/")
    assert "desk=" in browser.client.get("/").headers["set-cookie"]
    attacker = TestClient(browser.client.app, scene.page.origin, client=("127.0.0.1", 1), cookies={"desk": "planted"})
    assert attacker.get("/", follow_redirects=False).status_code == 303


def test_many_sessions_of_one_person_end_no_other_persons(scene: Scene) -> None:
    browser = Browser(scene.office, DESK, scene.page.model_copy(update={"max_sessions": 20}))
    form = browser.forms(scene.case)["approve"]
    for _ in range(40):
        other = TestClient(browser.client.app, scene.page.origin, client=("127.0.0.1", 1), headers={WHO: ADA})
        assert other.get("/").status_code == 200
        stranger = TestClient(browser.client.app, scene.page.origin, client=("127.0.0.1", 1), headers={WHO: NOBODY})
        assert stranger.get("/").status_code == 403
    assert "Approved." in browser.send(form).text


# Addresses

DOWNLOADS = (
    "{case}/mails/{mail}/1",
    "{case}/mails/{mail}/-1",
    "{case}/mails/{mail}/99999999999999999999999999",
    "{case}/mails/{mail}/0x0",
    "{case}/mails/{mail}/%C2%B2",
    "{case}/mails/{mail}/\u0660",
    "{case}/mails/{mail}/mail.eml",
    "{case}/mails/{mail}/..%2f..%2fetc%2fpasswd",
    "{case}/mails/{mail}/..",
    "{case}/mails/{mail}%2f..%2f{other}/mail",
    "{case}/mails/{other}/mail",
    "{case}/mails/{other}/0",
    "{case}/mails/%00/mail",
    "{case}/mails/../../../etc/passwd",
    "{case}/mails/none/mail",
    "/cases/none/mails/{mail}/mail",
    "/cases/%2e%2e%2f{mail}/mails/{mail}/mail",
    "{case}/frame",
    "{case}/frame?id={packet}",
    "{case}/frame?id={other_answer}",
    "{case}/frame?id=%00",
    "{case}/frame?choose=document:abc",
    "{case}/frame?choose=document:%C2%B2",
    "{case}/frame?choose=document:" + "9" * 5_000,
    "{case}/frame?choose=question:1",
    "{case}?choose=document:" + "9" * 5_000,
    "{case}?choose=document:%C2%B2",
    "{case}?choose=..",
    "/cases/%00",
    "/cases/" + "a" * 5_000,
    "/static/..%2fsite.py",
    "/static/%2e%2e/site.py",
    "/static/../words/en.yaml",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/case",
)


@pytest.mark.parametrize("path", DOWNLOADS, ids=lambda path: path[:60])
def test_an_address_gives_only_what_is_of_its_case(scene: Scene, path: str) -> None:
    packet = next(
        row for row in scene.office.store.outbox.find(case_id=scene.proposed.answer.case_id) if row.kind.is_for_desk
    )
    names = {"mail": scene.proposed.mail_id, "other": scene.other.mail_id, "other_answer": scene.other.answer.id}
    where = path.format(case=scene.case, packet=packet.id, **names)
    answer = scene.browser().client.get(where)
    assert answer.status_code in (400, 404)
    assert "root:" not in answer.text


@pytest.mark.parametrize("after", ["nan x", "inf x", "1e308 x", "-1e308 x", "x", "1", "\u0661 x", "1 \x00", " " * 500])
def test_a_wrong_place_in_the_queue_shows_no_error(scene: Scene, after: str) -> None:
    assert scene.browser().client.get("/", params={"after": after}).status_code in (200, 400)


@pytest.mark.parametrize(
    "tag", ["de-" + "x" * 300, "de-\u20ac", "de-%s", "de_DE;q=x", "en-{0}", "de;q=nan", "*", "en-\0"]
)
def test_a_wrong_language_shows_no_error(scene: Scene, tag: str) -> None:
    headers = {b"Accept-Language": tag.encode()}
    assert scene.browser().client.get(scene.case, headers=headers).status_code == 200


NAMES = (
    "../../etc/passwd",
    "a\r\nSet-Cookie: desk=evil.txt",
    'a"; filename="b.html',
    "a.html\u202egnp",
    "\u00e4\u4e2d\U0001f600.txt",
    "a" * 4_000 + ".txt",
    "",
    "..",
    "CON.txt",
    "%0d%0aSet-Cookie: x=y",
)


@pytest.mark.parametrize("name", NAMES, ids=lambda one: ascii(one)[:40])
def test_the_name_of_a_file_writes_no_header(office: Office, name: str) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = STRANGER, "support@harborfile.example", "Look"
    message["Message-ID"] = "<file@elsewhere.example>"
    message.set_content(OFF_TOPIC)
    message.add_attachment(b"the file", maintype="text", subtype="html", filename="NAME")
    quoted_name = quote(name, safe="")
    raw = message.as_bytes().replace(b'filename="NAME"', f"filename*=utf-8''{quoted_name}".encode())
    mail_id, _ = office.handle(raw)
    (case,) = office.store.cases.recent(1)
    answer = Browser(office, page=PAGE).client.get(f"/cases/{case.case.id}/mails/{mail_id}/0")
    assert answer.content == b"the file"
    assert answer.headers["content-type"] == "application/octet-stream"
    disposition = answer.headers["content-disposition"]
    assert disposition.startswith("attachment; filename*=UTF-8''")
    assert not set(disposition.partition("''")[2]) & set('"; /\\\r\n')
    assert len(disposition) < 2_000
    assert "evil" not in answer.headers.get("set-cookie", "")


KINDS = ("text/html", "message/rfc822", "multipart/mixed", "x", "text/plain; charset=x", "a/b/c")


STAFF_FILES = (*((name, KINDS[0]) for name in NAMES if name), *(("a.txt", kind) for kind in KINDS))


@pytest.mark.parametrize(("name", "kind"), STAFF_FILES, ids=lambda one: ascii(one)[:40])
def test_the_name_of_a_file_of_staff_writes_no_header(scene: Scene, name: str, kind: str) -> None:
    """It reaches the customer as one file, whatever it is called, or the person is told why not."""
    files = [(name.replace("\r\n", " "), b"the file", kind)]
    page = scene.browser().act(scene.case, "own words", files, words="It is attached.")
    sent = scene.office.store.outbox.find(kind=OutgoingKind.PERSON_REPLY)
    assert ("Your words leave now." in page) == bool(sent)
    for row in sent:
        assert [part.get_content_maintype() for part in opened(row).iter_attachments()] in (["text"], ["application"])
        assert "Set-Cookie" not in opened(row)
    assert sent or "Nothing was done" in page or "could not be read" in page


WAYS_ON = (
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/%5c/evil.example",
    "/%5C%5Cevil.example",
    "/%2f%2fevil.example",
    "/%252f%252fevil.example",
    "https://evil.example",
    "https:evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "/\t/evil.example",
    "/a\r\nLocation: https://evil.example",
    "/%0d%0aSet-Cookie:x=y",
    "\u2044/evil.example",
    "/\u2028//evil.example",
    "@evil.example",
    ".evil.example",
    "//[::1]/",
    "",
    "/" + "a" * 5_000,
)


@pytest.mark.parametrize("to", WAYS_ON, ids=lambda one: ascii(one)[:40])
def test_the_way_on_after_a_sign_in_stays_on_the_page(to: str) -> None:
    """As a browser reads the address: a backslash is a slash to it, and it drops tabs and line breaks."""
    path = own_path(to)
    dropped = path.replace("\\", "/").translate({9: None, 10: None, 13: None})
    assert dropped.startswith("/")
    assert not dropped.startswith("//")
    assert urlsplit(urljoin("https://desk.example.com/sign-in/oidc", path)).netloc == "desk.example.com"


# Hurry


def test_two_people_who_approve_at_once_send_one_answer(scene: Scene) -> None:
    """One is told that it leaves, the other that the case has changed."""
    pages = approved_at_once(scene, [first := scene.browser(DESK), first.beside(ADA)])
    assert sorted("Approved." in page for page in pages) == [False, True]
    assert sorted("Nothing was done" in page for page in pages) == [False, True]
    assert_one_answer_leaves(scene)


def test_at_two_pages_whoever_is_not_heard_can_do_it_again(scene: Scene) -> None:
    """Two processes share no lock: each may see the other's order, and then both are told that nothing was done."""
    browsers = [scene.browser(who) for who in (DESK, ADA)]
    pages = approved_at_once(scene, browsers)
    heard = sum("Approved." in page for page in pages)
    assert heard <= 1
    assert heard + sum("Nothing was done" in page for page in pages) == 2
    if not heard:
        assert "Approved." in browsers[0].act(scene.case, "approve")
    assert_one_answer_leaves(scene)


def approved_at_once(scene: Scene, browsers: Sequence[Browser]) -> list[str]:
    """What each is told who approves at the same instant as the others."""
    forms = [browser.forms(scene.case)["approve"] for browser in browsers]
    with ThreadPoolExecutor(len(browsers)) as all_:
        return list(all_.map(lambda pair: pair[0].send(pair[1]).text, zip(browsers, forms, strict=True)))


def assert_one_answer_leaves(scene: Scene) -> None:
    assert status_of(scene.office, scene.proposed.answer) == OutboxStatus.READY
    Shift(scene.office, FakeMailbox([])).work()
    answers = scene.office.store.outbox.find(case_id=scene.proposed.answer.case_id, kind=OutgoingKind.ANSWER)
    assert [row.status for row in answers] == [OutboxStatus.SENT]


def test_an_approval_and_own_words_at_once_send_the_machines_answer_once_at_most(scene: Scene) -> None:
    browsers = [first := scene.browser(DESK), first.beside(ADA)]
    forms = [browsers[0].forms(scene.case)["approve"], browsers[1].forms(scene.case)["own words"]]
    with ThreadPoolExecutor(2) as both:
        sent = both.map(
            lambda pair: pair[0].send(pair[1], {"words": "By hand."}).text, zip(browsers, forms, strict=True)
        )
        pages = list(sent)
    assert any("now." in page for page in pages)
    Shift(scene.office, FakeMailbox([])).work()
    answers = scene.office.store.outbox.find(case_id=scene.proposed.answer.case_id, kind=OutgoingKind.ANSWER)
    assert len(answers) == 1, "the machine's answer is one mail at most"


def closed(scene: Scene) -> Office:
    order(scene.office, scene.proposed.lines["close"])
    return scene.office


def replaced(scene: Scene) -> Office:
    order(scene.office, scene.proposed.lines["document 2"])
    return scene.office


def other_bytes(scene: Scene) -> Office:
    with scene.office.store.database.write() as connection:
        given = {"raw": b"evil", "id": scene.proposed.answer.id}
        connection.execute(text("UPDATE outbox SET raw = :raw WHERE id = :id"), given)
    return scene.office


def other_documents(scene: Scene) -> Office:
    """The document that the answer quotes was edited."""
    company = scene.office.decider.company
    changed = tuple(
        one.model_copy(update={"version": "0" * 64}) if one.number == 1 else one for one in company.documents
    )
    return replace(scene.office, decider=replace(scene.office.decider, company=replace(company, documents=changed)))


@pytest.mark.parametrize("change", [closed, replaced, other_bytes, other_documents])
def test_what_changed_a_moment_ago_is_not_approved(scene: Scene, change: Callable[[Scene], Office]) -> None:
    """The person approved what was on the screen, not what there is now."""
    form = scene.browser().forms(scene.case)["approve"]
    office = change(scene)
    later = Browser(office, DESK, scene.page)
    key = form_key_in(later.get(scene.case))
    before = deeds_of(office)
    page = later.send(form, {"form_key": key}).text
    assert "Nothing was done" in page
    after = deeds_of(office)
    assert {name: set(rows) ^ set(before[name]) for name, rows in after.items() if rows != before[name]} == {}


def test_a_mail_of_another_case_is_not_kept_back(office: Office) -> None:
    """Undo names a mail of the outbox: only one of the case whose page it is."""
    staff = with_autonomy(staffed(office), start=Mode.AUTO, hold_s=600)
    mine, _ = staff.handle(write(REFUND, number=1))
    other, _ = staff.handle(write(REFUND, sender="james.okafor@example.org", number=2))
    rows = [staff.sent(mail_id)[OutgoingKind.ANSWER] for mail_id in (mine, other)]
    browser = Browser(staff, DESK, PAGE)
    form = browser.forms(f"/cases/{rows[0].case_id}")["undo"]
    before = rows_of(staff)
    for outbox_id in (rows[1].id, "none", ""):
        assert browser.send(form, {"id": outbox_id}).status_code == 404
    assert rows_of(staff) == before
    assert "The answer does not leave." in browser.send(form).text
    assert [status_of(staff, row) for row in rows] == [OutboxStatus.CANCELLED, OutboxStatus.READY]


def test_an_answer_that_waits_for_a_person_is_not_undone(scene: Scene) -> None:
    """Failure: it is judged as wrong, its item loses trust, and nothing else happens."""
    browser = scene.browser()
    form = browser.forms(scene.case)["approve"]
    before = rows_of(scene.office)
    assert browser.send(form, {"do": "undo", "id": scene.proposed.answer.id}).status_code == 404
    assert rows_of(scene.office) == before


def test_own_words_about_an_answer_that_leaves_by_itself_reach_nobody(office: Office) -> None:
    """Failure: the customer gets the words of a person, and the answer that they were to replace."""
    given = held_in(staffed(office))
    browser = Browser(given.office, DESK, PAGE)
    case = f"/cases/{given.answer.case_id}"
    forms = browser.forms(case)
    assert {"own words", "approve", "document"}.isdisjoint(forms)
    before = rows_of(given.office)
    assert browser.send(forms["undo"], {"do": "own words", "words": "That is wrong!"}).status_code == 404
    assert rows_of(given.office) == before
    assert "The answer does not leave." in browser.send(forms["undo"]).text
    Shift(given.office, FakeMailbox([])).work()
    assert "Your words leave now." in browser.act(case, "own words", words="It is fixed.")


def test_the_open_question_is_answered_while_the_rest_waits_to_leave(office: Office) -> None:
    """Failure: the notice of the part that waits takes the place of the packet with the question that is open."""
    office = with_autonomy(staffed(office), hold_s=600, hold_notice=True)
    mail_id, _ = office.handle(write(TWO, sender=JAMES))
    browser = Browser(office, DESK, PAGE)
    case = f"/cases/{office.sent(mail_id)[OutgoingKind.ANSWER].case_id}"
    form = browser.forms(f"{case}?choose=document:2")["document"]
    assert "What you chose leaves now." in browser.send(form).text
    assert "undo" in browser.forms(case)


@pytest.mark.parametrize("command", ["approve", "document 2", "own words", "close", "claim"])
def test_own_words_that_are_a_command_are_not_carried_out(scene: Scene, command: str) -> None:
    """The page said that the words leave, and something else happened; the button for it looks at more."""
    browser = scene.browser()
    before = rows_of(scene.office)
    page = browser.act(scene.case, "own words", words=scene.proposed.lines[command])
    assert "what you wrote is a command" in page
    assert rows_of(scene.office) == before


def test_the_page_says_that_nothing_goes_to_another_reply_to(scene: Scene) -> None:
    """Failure: a form's mail has its own address in From and the customer's in Reply-To, which nobody saw."""
    browser = scene.browser()
    assert "Reply-To" not in browser.get(scene.case).partition('id="own"')[0]
    raw = b"Reply-To: Peter <o'neil&co@customer.example>\r\n" + write(REFUND, sender=ANNA, number=30)
    mail_id, _ = scene.office.handle(raw)
    page = browser.get(f"/cases/{scene.office.sent(mail_id)[OutgoingKind.PACKET].case_id}")
    assert f"What you send goes to {ANNA}." in page
    assert "Nothing goes to the address in Reply-To, o&#39;neil&amp;co@customer.example: to reach" in page


def test_the_page_says_whom_an_answer_goes_to(scene: Scene) -> None:
    """Attack: somebody whom the customer wrote a copy to writes last, and waits for what is meant for the customer."""
    copied = write(REFUND, sender=ANNA, number=30).replace(b"To: ", f"Cc: {JAMES}\r\nTo: ".encode(), 1)
    mail_id, _ = scene.office.handle(copied)
    case_id = scene.office.sent(mail_id)[OutgoingKind.PACKET].case_id
    browser = scene.browser()
    assert f"What you send goes to {ANNA}." in browser.get(f"/cases/{case_id}")
    answered = scene.office.sent(mail_id)[OutgoingKind.ACKNOWLEDGEMENT].message_id
    scene.office.handle(write("What is her plan?", sender=JAMES, number=31, in_reply_to=answered))
    page = browser.get(f"/cases/{case_id}?choose=field:plan")
    assert f"What you send goes to {JAMES}." in page
    assert ANNA not in page.partition('id="preview"')[2].partition('id="own"')[0]
