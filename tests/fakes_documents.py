"""An office whose documents and templates are edited on the desk's page: the files of the office are its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from html import unescape
from pathlib import Path

from support_agent.answer.templates import Templates
from support_agent.app.dry_runs import dry_run_of
from support_agent.company.company import Company, stamp_of
from support_agent.config.backtest import PROVEN_BY_MAIL
from support_agent.config.desk_page import DeskPageSettings
from support_agent.config.settings import Settings
from support_agent.ops.backtest.contradictions import Numbered
from support_agent.ops.backtest.judging import AnswerMatcher
from support_agent.ops.backtest.running import Bench, todays
from support_agent.workflow.wired import Wired
from tests.fakes_journey import DESK, TODAY, Office, make_company, office_in
from tests.fakes_page import BY_PROXY, Browser, forms_of
from tests.unit.ops.backtest.made import MEANING

BY_ADMIN = BY_PROXY.model_copy(update={"admins": (DESK,), "readers": ("reader@harborfile.example",)})


@contextmanager
def own_office_in(folder: Path, empty_store: Path) -> Iterator[Office]:
    """An office whose files a test may change."""
    (folder / "own").mkdir()
    with office_in(folder, make_company(folder / "own"), empty_store) as opened:
        yield opened


def with_files(office: Office) -> Office:
    """The office with its files as they are on the disk now, as the worker takes them over."""
    company = office.settings.company
    loaded = Company.load(company), Templates.load(company.templates)
    office = replace(office, decider=replace(office.decider, company=loaded[0], templates=loaded[1]))
    office.keep_company()
    return office


def bench_on(office: Office, settings: Settings, _collection: str) -> Bench:
    """Today's agent with the files of these settings, and the office's model."""
    company, templates = Company.load(settings.company), Templates.load(settings.company.templates)
    company = todays(company, TODAY)
    decider = replace(office.decider, company=company, templates=templates)
    return Bench(
        settings=settings,
        company=company,
        dry_run=dry_run_of(settings, company, templates, lambda: decider),
        matcher=AnswerMatcher(company.texts, MEANING, 0.6),
        numbered=Numbered(company.texts, MEANING),
        version=company.version + templates.version,
        level=PROVEN_BY_MAIL,
    )


@dataclass
class Editor(Browser):
    """A person who edits the documents of an office; what is published is used at once."""

    page: DeskPageSettings = BY_ADMIN

    def __post_init__(self) -> None:
        @lru_cache(maxsize=1)
        def wired_with(_stamp: object) -> Wired:
            return with_files(self.office).wired

        self.wired = lambda: wired_with(stamp_of(self.office.settings.company))
        self.bench = partial(bench_on, self.office)
        super().__post_init__()

    def edited(self, path: str, what: str, text: str | None = None, **fields: str) -> str:
        """Send the form at this address with a text, by default the one that is there; return the page after it."""
        page = self.get(path)
        form = next(form for form in forms_of(page) if "base" in form.fields)
        given = {"text": text if text is not None else text_in(page), "do": what, **fields}
        answer = self.client.post(form.action, data={**form.fields, **given})
        assert answer.status_code == 200, (answer.status_code, answer.text)
        return answer.text

    def again(self, page: str, what: str, **fields: str) -> str:
        """Send the form of a page as it is."""
        form = next(form for form in forms_of(page) if "base" in form.fields)
        answer = self.client.post(form.action, data={**form.fields, "text": text_in(page), "do": what, **fields})
        assert answer.status_code == 200, (answer.status_code, answer.text)
        return answer.text


def text_in(page: str) -> str:
    """The text in the form of a page."""
    area = page.partition('<textarea id="text"')[2]
    return unescape(area.partition(">\n")[2].partition("</textarea>")[0])
