"""Opens the journey on temporary stores that send nothing, and the past mails that it is compared with.

Checked by tests/unit/ops/test_dry_run.py and tests/unit/cli/test_backtest.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from support_agent.answer.templates import Templates
from support_agent.app.wiring import existing_store, open_decider, wire
from support_agent.company.company import Company
from support_agent.config.mail_servers import ImapSettings
from support_agent.config.senders import SenderSettings
from support_agent.config.settings import Settings
from support_agent.core.clock import utc_now
from support_agent.errors import ConfigError
from support_agent.facts.opening import open_search
from support_agent.models.progress import stderr_progress
from support_agent.store.store import Store
from support_agent.transport.mailbox import Mailbox
from support_agent.transport.oauth import TokenSource
from support_agent.transport.submission import Transport

if TYPE_CHECKING:
    from support_agent.mail.senders.dkim_check import TxtLookup
    from support_agent.models.writer import LanguageModel
    from support_agent.ops.backtest.running import Bench
    from support_agent.ops.backtest.sources import PastMails
    from support_agent.ops.dry_run import DryRun
    from support_agent.store.desk_records import ModeChange
    from support_agent.workflow.decide import Decider


def open_dry_run(settings: Settings) -> DryRun:
    """Wire the journey on temporary stores that send nothing; the first mail that needs the model opens it.

    Raises:
        ConfigError: a file of the company cannot be used.
    """
    from support_agent.ops.store_health import read_modes

    company, templates = Company.load(settings.company), Templates.load(settings.company.templates)
    decider = cache(
        lambda: open_decider(settings, stderr_progress(), in_memory=True, company=company, templates=templates)
    )
    return dry_run_of(settings, company, templates, decider, modes=read_modes(settings))


def dry_run_of(
    settings: Settings,
    company: Company,
    templates: Templates,
    decider: Callable[[], Decider],
    lookup_txt: TxtLookup | None = None,
    modes: tuple[ModeChange, ...] = (),
) -> DryRun:
    """Wire a dry run from collaborators that are already open; arguments as for `wire` and `DryRun`."""
    from support_agent.ops.dry_run import DryRun, Journey
    from support_agent.pipeline import handle

    def journey_on(changed: Settings, store: Store, transport: Transport, now: Callable[[], datetime]) -> Journey:
        wired = wire(changed, store, transport, company, templates, decider, now, lookup_txt=lookup_txt)
        return lambda mail_id, steps: handle(mail_id, steps, wired.stages)

    return DryRun(settings, company.accounts, journey_on, modes)


def open_bench(
    settings: Settings, level: int | None, *, without_model: bool = False, collection: str = "options"
) -> Bench:
    """Today's agent for past mail, and what compares its choices with people's answers.

    Args:
        level: The sender level to assume; see `Bench`.
        without_model: Decide without the language model: faster, but mails that need it go to people.
        collection: Prefix of the names of its indexes in memory; two that are used at once need two.
    Raises:
        ConfigError: a file of the company or a model cannot be used.
    """
    from support_agent.ops.backtest.contradictions import Numbered
    from support_agent.ops.backtest.judging import AnswerMatcher
    from support_agent.ops.backtest.meaning import Meaning
    from support_agent.ops.backtest.running import Bench, model_free, todays, version_of
    from support_agent.ops.evals.opening import NoModel

    # How good the agent is does not depend on whom it may answer already.
    settings = settings.model_copy(update={"senders": SenderSettings()})
    settings = model_free(settings) if without_model else settings
    company, templates = (
        todays(Company.load(settings.company), settings.company.day_of(utc_now())),
        Templates.load(settings.company.templates),
    )
    search = open_search(settings, company, in_memory=True, name=collection)
    decider = cache(
        lambda: open_decider(
            settings,
            stderr_progress(),
            in_memory=True,
            model=cast("LanguageModel", NoModel()) if without_model else None,
            company=company,
            templates=templates,
            search=search,
        )
    )
    meaning = Meaning(search.comparing, search.embedder.count_tokens)
    return Bench(
        settings=settings,
        company=company,
        dry_run=dry_run_of(settings, company, templates, decider),
        matcher=AnswerMatcher(company.texts, meaning, settings.backtest.shared_meaning),
        numbered=Numbered(company.texts, meaning),
        version=version_of(settings, company, templates, level, without_model),
        level=level,
    )


def read_past(settings: Settings, paths: Sequence[Path], since: datetime | None) -> PastMails:
    """The past mails of files, or, if none are named, of the mailbox and its Sent folder, where no flag changes.

    Raises:
        ConfigError: a file or a folder cannot be read.
    """
    from support_agent.ops.backtest.sources import collect, files_in, in_mailbox

    def open_folder(imap: ImapSettings) -> Mailbox:
        return Mailbox(imap, TokenSource(settings.oauth), utc_now, read_only=True)

    if not paths and not settings.imap.host:
        raise ConfigError("no mails: name an mbox, a Maildir or a folder of .eml files, or set imap.host")
    found = files_in(paths, settings.imap.max_message_bytes) if paths else in_mailbox(settings.imap, open_folder)
    return collect(found, settings.backtest, utc_now(), since)


def read_stored(settings: Settings, since: datetime | None) -> PastMails:
    """The mails that the agent itself has received, and what people wrote through the desk, of its store."""
    from support_agent.ops.backtest.sources import collect, in_store

    with existing_store(settings) as store:
        return collect(in_store(store, since), settings.backtest, utc_now())
