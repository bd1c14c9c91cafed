"""Serves the page until it is stopped.

Checked by tests/acceptance/test_desk_page.py, in a browser.
"""

from __future__ import annotations

from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from support_agent.config.desk_page import DeskPageSettings
from support_agent.desk_page import case, document_edit, documents, drafts, queue, templates_view
from support_agent.desk_page.people import check_people
from support_agent.desk_page.sessions import Sessions
from support_agent.desk_page.sign_in import Entrance, LinkEntrance, ProxyEntrance
from support_agent.desk_page.site import open_site
from support_agent.desk_page.visit import Desk, Page
from support_agent.errors import ConfigError

PAGES: tuple[Page, ...] = (
    *queue.PAGES,
    *case.PAGES,
    *templates_view.PAGES,
    *drafts.PAGES,
    *document_edit.PAGES,
    *documents.PAGES,
)
STOP_S = 5
"""Longest wait for requests that still run when the page is stopped."""


def open_page(desk: Desk, say: Callable[[str], None]) -> ASGIApp:
    """The application, ready to be served; the one-time link, if there is one, is said.

    Raises:
        ConfigError: nobody could use the page, or others than this machine could.
    """
    check_people(desk.settings)
    entrance = _entrance(desk)
    if isinstance(entrance, LinkEntrance):
        say(entrance.link())
    return open_site(desk, Sessions(desk.settings.desk_page, desk.now), entrance, PAGES)


def _entrance(desk: Desk) -> Entrance:
    page = desk.settings.desk_page
    match page.sign_in:
        case "link":
            return LinkEntrance(page, desk.settings.desk.address, desk.now)
        case "proxy":
            return ProxyEntrance(page)
        case "oidc":
            raise ConfigError("not yet")


def serve(app: ASGIApp, page: DeskPageSettings) -> None:
    """Serve until the process is told to stop."""
    config = uvicorn.Config(
        app,
        host=page.host,
        port=page.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_S,
        lifespan="off",
    )
    uvicorn.Server(config).run()
