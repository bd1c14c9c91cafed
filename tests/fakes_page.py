"""The desk's page on an office, and a browser without a screen: it keeps cookies and fills in forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import httpx2
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from support_agent.config.desk_page import DeskPageSettings
from support_agent.config.settings import Settings
from support_agent.desk_page.backtest_process import Backtests
from support_agent.desk_page.checkup import Checkup
from support_agent.desk_page.server import PAGES
from support_agent.desk_page.sessions import Sessions
from support_agent.desk_page.sign_in import Entrance, ProxyEntrance
from support_agent.desk_page.site import open_site
from support_agent.desk_page.trials import OpenBench
from support_agent.desk_page.visit import Desk, Page, Shown
from support_agent.workflow.wired import Wired
from tests.fakes_journey import DESK, Office

if TYPE_CHECKING:
    from support_agent.store.store import Store

WHO = "X-Forwarded-Email"
BY_PROXY = DeskPageSettings(sign_in="proxy", proxy_addresses=("0.0.0.0/0",))


HOME = (Page("/", lambda desk, visit: Shown("base.html", {})),)
"""A page that shows who is signed in."""


@dataclass(frozen=True)
class Form:
    """A form of a page: where it goes, and its fields by name."""

    action: str
    method: str
    fields: dict[str, str]


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("method", "get"), {}))
        elif tag == "input" and self.forms and "name" in given:
            self.forms[-1].fields[given["name"]] = given.get("value", "")


def forms_of(page: str) -> list[Form]:
    """The forms of a page, in order."""
    reader = _Forms()
    reader.feed(page)
    return reader.forms


def form_key_in(page: str) -> str:
    """The key of the forms of a page."""
    return next(form.fields["form_key"] for form in forms_of(page) if "form_key" in form.fields)


def bare_site(
    settings: Settings, entrance: Entrance, now: Callable[[], datetime], pages: Sequence[Page] = HOME
) -> ASGIApp:
    """The site with pages that need neither store nor company."""
    desk = Desk(settings, cast("Store", None), cast("Callable[[], Wired]", None), now)
    return open_site(desk, Sessions(settings.desk_page, now), entrance, pages)


@dataclass
class Browser:
    """A person at the page, signed in by the proxy's header.

    `wired` is made anew for each request if none is given. `checkup` and `backtests` are made of the page's
    settings.
    """

    office: Office
    address: str = DESK
    page: DeskPageSettings = BY_PROXY
    wired: Callable[[], Wired] | None = None
    checkup: Callable[[Settings], Checkup | None] = lambda _: None
    backtests: Callable[[Settings], Backtests | None] = lambda _: None
    bench: OpenBench | None = None

    def __post_init__(self) -> None:
        settings = self.office.settings.model_copy(update={"desk_page": self.page})
        self.office = replace(self.office, settings=settings)
        wired = self.wired or (lambda: self.office.wired)
        parts = self.checkup(settings), self.backtests(settings), self.bench
        self.desk = Desk(settings, self.office.store, wired, self.office.clock, *parts)
        self.site = open_site(self.desk, Sessions(self.page, self.office.clock), ProxyEntrance(self.page), PAGES)
        self.client = self.client_of(self.site, self.page)

    def beside(self, address: str) -> Browser:
        """Another person at the same page, of the same process."""
        other = copy(self)
        other.address = address
        other.client = other.client_of(self.site, self.page)
        return other

    def client_of(self, site: ASGIApp, page: DeskPageSettings) -> TestClient:
        """The browser's connection to a page; a defect is a page with 500, as for people."""
        return TestClient(
            site, page.origin, raise_server_exceptions=False, client=("127.0.0.1", 1), headers={WHO: self.address}
        )

    def get(self, path: str) -> str:
        """A page that must be there."""
        answer = self.client.get(path)
        assert answer.status_code == 200, (answer.status_code, answer.text)
        return answer.text

    def forms(self, path: str) -> dict[str, Form]:
        """The forms of a page by what they order."""
        return {form.fields["do"]: form for form in forms_of(self.get(path)) if "do" in form.fields}

    def act(self, path: str, what: str, files: list[tuple[str, bytes, str]] | None = None, **fields: str) -> str:
        """Send the form that orders this, and return the page that comes after."""
        form = self.forms(path)[what]
        return self.send(form, fields, files).text

    def send(
        self, form: Form, fields: dict[str, str] | None = None, files: list[tuple[str, bytes, str]] | None = None
    ) -> httpx2.Response:
        """Send a form with these fields besides its own."""
        uploads = [("file", file) for file in files or ()]
        data = {**form.fields, **(fields or {})}
        return self.client.post(urlsplit(form.action).path, data=data, files=uploads or None)
