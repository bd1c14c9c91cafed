"""An agent at work with the real engine, of which a test takes backups at any point, and restored ones that go on."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event

from dbos import DBOS

from support_agent.app.wiring import wire
from support_agent.config.settings import CompanySettings, EngineSettings, Settings
from support_agent.engine.database import engine_url, prepare
from support_agent.engine.engine import Engine, executor_id
from support_agent.ops.backup.company_files import Configured
from support_agent.ops.backup.making import make_backup
from support_agent.ops.backup.restoring import Restored, restore
from support_agent.pipeline import handle
from support_agent.store.records import MailId
from support_agent.store.store import Store
from support_agent.workflow.versions import keep_company
from support_agent.workflow.worker import Worker
from tests.fakes_journey import NOON, Clock, Office, open_office
from tests.fakes_worker import FakeMailbox
from tests.journey.lives import Kill, Trace, Watch

FAST = EngineSettings(poll_interval_s=0.01, retry_base_s=0, max_interruptions=1000)
HOLDER = "pid 1 on here"

At = Callable[[str, Kill], None]
"""Takes a mail and a place of its journey: before the work of a step (0), or after its n-th write."""


class Points(Watch):
    """Tells of each place of a journey, where `Watch` kills the process."""

    def __init__(self, at: At) -> None:
        super().__init__(Trace(Path(os.devnull)), {})
        self._at = at

    def die_at(self, mail_id: str, place: Kill) -> None:
        if place.step:
            self._at(mail_id, place)


@contextmanager
def office_on(url: str, company: CompanySettings) -> Iterator[Office]:
    """An agent on the store of this URL, on the next day."""
    with Store.open(url) as store:
        office = open_office(company, store)
        settings = office.settings.store.model_copy(update={"url": url})
        office.settings = office.settings.model_copy(update={"store": settings})
        office.clock = Clock(NOON + timedelta(days=1))
        yield office
        office.decider.company.accounts.close()


def live(office: Office, mailbox: FakeMailbox, at: At = lambda _mail_id, _place: None) -> None:
    """One life of the program with `run --once`, with the real engine; `Shift` is the same with one in memory."""
    watch, decider = Points(at), office.decider
    store, transport = watch.watched(office.store), watch.watched(office.transport)
    wired = wire(office.settings, store, transport, decider.company, decider.templates, lambda: decider, office.clock)
    keep_company(store, decider.company)
    engine = Engine(engine_url(office.settings.store.url), executor_id(secrets.token_hex(4)), FAST)
    journeys = engine.serve(
        "", lambda mail_id, steps: handle(MailId(mail_id), watch.steps_of(mail_id, steps), wired.stages)
    )
    worker = Worker(office.settings, office.store, wired, journeys, lambda: mailbox, office.clock)
    worker.recover()
    engine.launch()
    try:
        worker.run_once(Event())
    finally:
        engine.stop(timeout_s=1)


def create_engine_tables(store_url: str) -> None:
    """Create the engine's tables beside a store, as the first launch of a worker does."""
    url = engine_url(store_url)
    prepare(url)
    DBOS.migrate(url)


def configured(folder: Path, settings: Settings) -> Configured:
    """The settings with a configuration file, and a company of one document: its files are copied with each backup."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("policies", "templates"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "policies" / "001-refund.md").write_text("---\nnumber: 1\n---\nThirty days.\n")
    (folder / "accounts.toml").write_text("")
    (folder / "support-agent.toml").write_text("")
    company = CompanySettings(
        policies=folder / "policies", templates=folder / "templates", accounts=folder / "accounts.toml"
    )
    return Configured(folder / "support-agent.toml", settings.model_copy(update={"company": company}))


def back_up(settings: Settings, folder: Path) -> Path:
    """A backup of this store below a folder; its path."""
    return make_backup({"": configured(folder / "workspace", settings)}, folder, NOON).path


def put_back(archive: Path, settings: Settings, *, is_exact: bool = False, may_replace: bool = False) -> Restored:
    """Restore a backup where these settings have the store."""
    brands = {"": settings}
    return restore(archive, brands, NOON, HOLDER, may_replace=may_replace, is_exact=is_exact)
