"""Serves the page until it is stopped.

Checked by tests/acceptance/test_desk_page.py, in a browser.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from threading import Event, Thread

import uvicorn
from starlette.types import ASGIApp

from support_agent.config.desk_page import DeskPageSettings
from support_agent.desk_page import (
    backtest,
    case,
    case_forms,
    case_preview,
    document_edit,
    documents,
    drafts,
    evidence,
    operations,
    quality,
    queue,
    templates_view,
)
from support_agent.desk_page.people import check_people
from support_agent.desk_page.sessions import Sessions
from support_agent.desk_page.sign_in import Entrance, LinkEntrance, ProxyEntrance
from support_agent.desk_page.site import open_site
from support_agent.desk_page.visit import Desk, Page
from support_agent.errors import ConfigError
from support_agent.transport.openid import Provider

PAGES: tuple[Page, ...] = (
    *queue.PAGES,
    *case.PAGES,
    *case_forms.PAGES,
    *case_preview.PAGES,
    *evidence.PAGES,
    *templates_view.PAGES,
    *drafts.PAGES,
    *document_edit.PAGES,
    *documents.PAGES,
    *quality.PAGES,
    *backtest.PAGES,
    *operations.PAGES,
)
STOP_S = 5
"""Longest wait for requests that still run when the page is stopped."""


def open_page(desk: Desk) -> tuple[ASGIApp, str]:
    """The application, ready to be served, and the one-time link to it, or else its address.

    Raises:
        ConfigError: nobody could use the page, or others than this machine could; or the OpenID Connect provider
            cannot be used. TransientError: the provider does not answer now.
    """
    check_people(desk.settings)
    entrance = _entrance(desk)
    app = open_site(desk, Sessions(desk.settings.desk_page, desk.now), entrance, PAGES)
    return app, entrance.link() if isinstance(entrance, LinkEntrance) else desk.settings.desk_page.origin


def _entrance(desk: Desk) -> Entrance:
    page = desk.settings.desk_page
    match page.sign_in:
        case "link":
            return LinkEntrance(page, desk.settings.desk.address, desk.now)
        case "proxy":
            return ProxyEntrance(page)
        case "oidc":
            from support_agent.desk_page.oidc import OidcEntrance  # here: its cryptography takes its time to import

            return OidcEntrance(page, Provider.read(page), desk.now)


def serve(app: ASGIApp, page: DeskPageSettings, stop: Event, listening: Callable[[], None]) -> None:
    """Serve until `stop` is set.

    Args:
        listening: Called when the page can be reached.
    Raises:
        ConfigError: the address is in use, or not one of this machine.
    """
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
    server = uvicorn.Server(config)
    with _socket_on(page) as bound:
        listening()
        # In the main thread the library would take over the signals and end the process by the signal itself.
        thread = Thread(target=server.run, kwargs={"sockets": [bound]}, name="desk-page")
        thread.start()
        stop.wait()
        server.should_exit = True
        thread.join()


def _socket_on(page: DeskPageSettings) -> socket.socket:
    """A socket that listens where the page is served."""
    family = socket.AF_INET6 if ":" in page.host else socket.AF_INET
    try:
        return socket.create_server((page.host, page.port), family=family)
    except OSError as error:
        is_of_resolver = isinstance(error, socket.gaierror)  # its numbers are its own
        reason = os.strerror(error.errno) if error.errno and not is_of_resolver else str(error)
        what = f"desk_page: cannot listen on {page.host}:{page.port} ({reason})"
        raise ConfigError(f"{what}: stop what listens there, or correct desk_page.host or desk_page.port") from error
