"""Opens what the desk's page works with, beside a running worker. Checked by tests/acceptance/test_desk_page.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING, cast

from support_agent.answer.templates import Templates
from support_agent.app.wiring import open_decider, open_store, wire
from support_agent.company.company import Company, Stamp, stamp_of
from support_agent.config.settings import Settings
from support_agent.core.clock import utc_now
from support_agent.facts.opening import open_topic_search
from support_agent.models.progress import stderr_progress
from support_agent.store.store import Store
from support_agent.transport.oauth import TokenSource
from support_agent.transport.submission import SmtpTransport
from support_agent.workflow.versions import keep_company

if TYPE_CHECKING:
    from support_agent.models.writer import LanguageModel
    from support_agent.workflow.decide import Decider
    from support_agent.workflow.wired import Wired


@contextmanager
def open_desk(settings: Settings) -> Iterator[tuple[Store, Callable[[], Wired]]]:
    """Open what the desk's page works with, beside a running worker, which sends what people decide.

    Yields:
        The store, and what returns the agent with the company's files as they are now. It has no language model and
        an empty index: a document that a person chooses needs neither, but for its sections the embedders.
    Raises:
        ConfigError: a file of the company or the database cannot be used.
    """
    from support_agent.ops.backtest.running import model_free
    from support_agent.ops.evals.opening import NoModel

    loading, opening = Lock(), Lock()

    @lru_cache(maxsize=1)
    def wired_with(stamp: Stamp) -> Wired:
        company, templates = Company.load(settings.company), Templates.load(settings.company.templates)

        @cache
        def opened() -> Decider:
            return open_decider(
                model_free(settings),
                stderr_progress(),
                in_memory=True,
                model=cast("LanguageModel", NoModel()),
                company=company,
                templates=templates,
                search=open_topic_search(settings, in_memory=True, name="desk", keeps_vectors=True),
            )

        def decider() -> Decider:
            with opening:
                return opened()

        transport = SmtpTransport(settings.smtp, TokenSource(settings.oauth), utc_now)
        keep_company(store, company)
        return wire(settings, store, transport, company, templates, decider, utc_now)

    def wired() -> Wired:
        with loading:
            return wired_with(stamp_of(settings.company))

    with open_store(settings) as store:
        yield store, wired
