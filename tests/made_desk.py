"""A desk with a day's cases: what waits, what was answered, what leaves soon. For the browser's tests and pictures."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import uvicorn

from support_agent.company.company import stamp_of
from support_agent.config.desk_page import DeskPageSettings
from support_agent.config.settings import Settings
from support_agent.core.modes import Mode
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.desk_page.backtest_process import Backtests
from support_agent.desk_page.server import PAGES
from support_agent.desk_page.sessions import Sessions
from support_agent.desk_page.sign_in import LinkEntrance
from support_agent.desk_page.site import open_site
from support_agent.desk_page.visit import Desk
from support_agent.ops.backtest.running import Bench
from support_agent.store.store import Store
from support_agent.workflow.wired import Wired
from tests.fakes_documents import bench_on, with_files
from tests.fakes_journey import ANNA, CUSTOMERS, DESK, JAMES, STRANGER, TODAY, Office, make_company, open_office, write
from tests.fakes_journey import with_autonomy as in_modes
from tests.fakes_room import found, says
from tests.journey.backtest_program import COMMAND
from tests.journey.test_fact_room import with_rooms

STARTS_S = 20


@contextmanager
def made_desk(folder: Path) -> Iterator[Office]:
    """An office after a day's mails."""
    company, path = make_company(folder), folder / "store.sqlite3"
    with Store.open(f"sqlite:///{path}") as store:
        store.upgrade()
        office = open_office(company, store)
        office.keep_company()
        _day(office)
        yield in_modes(office, start=Mode.APPROVE)
        office.decider.company.accounts.close()


def _day(office: Office) -> None:
    roomy, _ = with_rooms(office, refund=found(says(1, 0, 1, 2)))
    auto = in_modes(office, start=Mode.AUTO)
    careful = in_modes(replace(roomy, settings=roomy.decider.settings), start=Mode.APPROVE)
    held = in_modes(office, start=Mode.AUTO, hold_s=3600)
    auto.handle(write("How much did I pay last year?", sender=ANNA, subject="Payments last year", number=1))
    auto.handle(write("How do I reset my password?", sender=CUSTOMERS[2], subject="Locked out", number=2))
    careful.handle(write("Can I get a refund for my yearly plan?", sender=JAMES, subject="Refund", number=3))
    careful.handle(write("How many seats have I paid?", sender=ANNA, subject="Seats", number=4))
    careful.handle(write("I want to speak to a person, please.", sender=CUSTOMERS[0], subject="Call me", number=5))
    careful.handle(
        write("Wo ist mein blauer Regenschirm geblieben?", sender=CUSTOMERS[1], subject="Regenschirm", number=6)
    )
    careful.handle(write("What about my umbrella?", sender=STRANGER, subject="An umbrella", proof=None, number=7))
    held.handle(write("How do I cancel my plan?", sender=CUSTOMERS[3], subject="Cancel", number=8))


class Served:
    """A page that is served: its address, the way in, and its settings."""

    def __init__(self, office: Office, page: DeskPageSettings, link: LinkEntrance) -> None:
        self.office, self.page, self._link = office, page, link
        self.address = page.origin

    @property
    def link(self) -> str:
        """A new one-time link."""
        return self._link.link()


@contextmanager
def served(office: Office, folder: Path, page: DeskPageSettings | None = None) -> Iterator[Served]:
    """Serve the page of an office on a free port of this machine, with all that the program gives it.

    Args:
        folder: Of the configuration and the backtests.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = (page or DeskPageSettings(admins=(DESK,))).model_copy(update={"port": port})
    office = replace(office, settings=office.settings.model_copy(update={"desk_page": settings}))
    link = LinkEntrance(settings, DESK, office.clock)
    site = open_site(_desk(office, folder), Sessions(settings, office.clock), link, PAGES)
    server = uvicorn.Server(uvicorn.Config(site, port=port, log_config=None, lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + STARTS_S
    while not server.started and time.monotonic() < until:
        time.sleep(0.02)
    try:
        yield Served(office, settings, link)
    finally:
        server.should_exit = True
        thread.join()


def _desk(office: Office, folder: Path) -> Desk:
    """The desk as `support-agent desk` opens it, on the office's files as they are now."""
    workspace = folder / "workspace"
    init(workspace, TODAY)
    backtests = Backtests(office.settings, workspace / CONFIG_FILE, workspace / "backtest-work", COMMAND)

    @lru_cache(maxsize=1)
    def wired_with(_stamp: object) -> Wired:
        return with_files(office).wired

    def wired() -> Wired:
        return wired_with(stamp_of(office.settings.company))

    def bench(changed: Settings, collection: str) -> Bench:
        return bench_on(office, changed, collection)

    return Desk(office.settings, office.store, wired, office.clock, backtests=backtests, bench=bench)
