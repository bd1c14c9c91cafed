"""`support-agent backtest`, `what-if`, `coverage`: how good the agent would be, would become, and is, on your own mail.

Checked by tests/unit/cli/test_backtest.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from support_agent.cli import backtest_printing as printing
from support_agent.cli.options import ConfigOption, JsonOption, config_file, now, print_data, quiet_log, settings_of
from support_agent.config.backtest import PROVEN_BY_MAIL
from support_agent.errors import ConfigError

if TYPE_CHECKING:
    from support_agent.ops.backtest.running import RunProgress

WORK_FOLDER = "backtest-work"
PROGRESS_EVERY_S = 10.0
"""Seconds between two lines about how far a run is."""

PathsArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="PATH", help="mbox, Maildir, folder of .eml files, .eml file.")
]
OwnOption = Annotated[
    list[str] | None,
    typer.Option("--own", metavar="ADDRESS", help="An address from which your people write, or @domain; repeatable."),
]
SinceOption = Annotated[
    datetime | None,
    typer.Option("--since", metavar="YYYY-MM-DD", formats=["%Y-%m-%d"], help="Leave out mails before this day."),
]
LevelOption = Annotated[
    int | None,
    typer.Option(
        "--as-level",
        min=PROVEN_BY_MAIL,
        max=3,
        help="Assume this sender level; -1: what each mail proves; default: 2, for known customers 3.",
    ),
]
WithoutModelOption = Annotated[
    bool, typer.Option("--without-model", help="Ask no language model: faster, and a lower bound.")
]
WorkOption = Annotated[
    Path | None,
    typer.Option("--work", metavar="DIR", help=f"Where results are kept; default: {WORK_FOLDER} beside --config."),
]


def backtest(
    paths: PathsArgument = None,
    own: OwnOption = None,
    since: SinceOption = None,
    as_level: LevelOption = None,
    without_model: WithoutModelOption = False,
    work: WorkOption = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE.html", help="Also write the report as a web page.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide past mail with today's agent and compare with what your people answered. Nothing is sent or flagged.

    Without PATH it reads the mailbox and its Sent folder over IMAP, without changing a flag. The report says which
    share would be answered and how much of it rightly, which documents to write, which contradict each other, and what
    that saves. You can stop at any time: the same command continues. The report and the folder --work hold customers'
    words.
    """
    from support_agent.app.dry_runs import open_bench, read_past
    from support_agent.ops.backtest.page import backtest_page
    from support_agent.ops.backtest.report import report_of
    from support_agent.ops.backtest.running import past_of, with_own
    from support_agent.ops.facts_page import check_page, write_page

    check_page(html)
    addresses = own or []
    settings = with_own(settings_of(config), addresses)
    quiet_log(settings, "critical")
    mails = read_past(settings, paths or [], _utc(since))
    bench = open_bench(settings, as_level, without_model=without_model)
    past = past_of(mails, addresses, bench, _work(work, config), _progress())
    report = report_of(past, bench, now())
    print_data(report, as_json, printing.backtest(report))
    if html is not None:
        write_page(html, backtest_page(report))
        typer.echo(f"{html}: written", err=True)


def what_if(
    paths: PathsArgument = None,
    policies: Annotated[Path | None, typer.Option(help="Another folder of policies.")] = None,
    templates: Annotated[Path | None, typer.Option(help="Another folder of templates.")] = None,
    thresholds: Annotated[
        str | None,
        typer.Option(
            "--thresholds", metavar="answer=0.7,...", help="Other thresholds of `[planner]`: answer, section, data."
        ),
    ] = None,
    own: OwnOption = None,
    since: SinceOption = None,
    as_level: LevelOption = None,
    without_model: WithoutModelOption = False,
    work: WorkOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List past mails whose outcome other policies, templates or thresholds would change, with both answers.

    Without PATH the mails are those that the agent has received itself, with the level that they prove. Each is decided
    twice; what `backtest` has decided already is used again. Nothing is stored besides --work, and nothing is sent.
    """
    from support_agent.app.dry_runs import open_bench, read_past, read_stored
    from support_agent.ops.backtest.running import past_of, with_own
    from support_agent.ops.backtest.what_if import compare, thresholds_in

    changes = {"company.policies": policies, "company.templates": templates, **thresholds_in(thresholds or "")}
    if not any(value is not None for value in changes.values()):
        raise ConfigError("say what would change: --policies DIR, --templates DIR or --thresholds answer=0.7")
    addresses = own or []
    settings = with_own(settings_of(config), addresses)
    changed = with_own(settings_of(config, changes), addresses)
    quiet_log(settings, "critical")
    mails = read_past(settings, paths, _utc(since)) if paths else read_stored(settings, _utc(since))
    level = PROVEN_BY_MAIL if as_level is None and not paths else as_level
    folder = _work(work, config)
    before, after = (
        past_of(mails, addresses, open_bench(one, level, without_model=without_model), folder, _progress())
        for one in (settings, changed)
    )
    found = compare(before.results, after.results)
    print_data(found, as_json, printing.what_if(found))


def coverage(
    weeks: Annotated[int, typer.Option(min=1, max=520, help="How many weeks back from now.")] = 4,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was answered in the last weeks and by what, what went to people and why, and which topics grow.

    Replies and commands of the desk's people are not counted.
    """
    from support_agent.app.wiring import existing_store
    from support_agent.cases.route import staff_addresses
    from support_agent.desk.coverage import coverage_of

    settings = settings_of(config)
    with existing_store(settings) as store:
        found = coverage_of(store, staff_addresses(settings), now(), weeks)
    print_data(found, as_json, printing.coverage(found))


def _work(work: Path | None, config: Path | None) -> Path:
    return work or config_file(config).parent / WORK_FOLDER


def _utc(day: datetime | None) -> datetime | None:
    return None if day is None else day.replace(tzinfo=UTC)


def _progress() -> Callable[[RunProgress], None]:
    """Print on stderr how far a run is, every few seconds."""
    last = time.monotonic()

    def progress(step: RunProgress) -> None:
        nonlocal last
        if step.done < step.total and time.monotonic() - last < PROGRESS_EVERY_S:
            return
        last = time.monotonic()
        left = "" if step.seconds_left is None else f", about {step.seconds_left / 60:.0f} min left"
        typer.echo(f"{step.done} of {step.total} mails{left}", err=True)

    return progress
