"""The command line: commands, printing, exit codes; no logic.

Exit codes: 0 done; 1 work failed, a check found errors, or a replay differs; 2 usage or configuration. Data goes to
stdout, everything else to stderr. Checked by tests/unit/cli/test_main.py and, as a subprocess, tests/acceptance.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from support_agent.cli import case_printing, printing
from support_agent.cli.audit import audit_app
from support_agent.cli.autonomy import autonomy_app
from support_agent.cli.backtest import backtest, coverage, what_if
from support_agent.cli.backup import backup_app, restore
from support_agent.cli.calibrate import calibrate
from support_agent.cli.case import case_app
from support_agent.cli.desk import desk
from support_agent.cli.eval import eval_
from support_agent.cli.facts import facts_app
from support_agent.cli.model import model_app
from support_agent.cli.options import DONE, FAILED, USAGE, ConfigOption, JsonOption, quiet_log, stopped_by_signal
from support_agent.cli.options import config_file as _config_file
from support_agent.cli.options import now as _now
from support_agent.cli.options import print_data as _print
from support_agent.cli.options import settings_of as _settings
from support_agent.cli.outbox import outbox_app
from support_agent.cli.policies import policies_app
from support_agent.cli.privacy import export, forget, keys_app
from support_agent.cli.probe import probe
from support_agent.config.settings import Settings
from support_agent.core.size_limits import first_line
from support_agent.demo.workspace import CONFIG_FILE
from support_agent.errors import ConfigError, SupportAgentError

app = typer.Typer(
    help="An email support agent whose language model only chooses; plain code answers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"support-agent {version('support-agent')}")
        raise typer.Exit


DebugOption = Annotated[bool, typer.Option("--debug", help="Print a traceback with an error.")]
VersionOption = Annotated[
    bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
]


@app.callback()
def options(debug: DebugOption = False, shows_version: VersionOption = False) -> None:
    """The options of every command."""
    _State.debug = debug


class _State:
    debug = False


def main(arguments: Sequence[str] | None = None) -> None:
    """The program; `arguments` are by default those of the process."""
    try:
        app(arguments)
    except ConfigError as error:
        _fail(error, str(error), USAGE)
    except SupportAgentError as error:
        _fail(error, str(error), FAILED)
    except Exception as error:
        what = f"unexpected {type(error).__name__}: {first_line(error)}"
        _fail(error, f"{what}: `support-agent --debug ...` shows where", FAILED)


def _fail(error: Exception, message: str, code: int) -> None:
    if _State.debug:
        traceback.print_exception(error)
    typer.echo(f"support-agent: {message}", err=True)
    sys.exit(code)


@app.command()
def init(directory: Annotated[Path, typer.Argument(help="The new workspace's folder.")]) -> None:
    """Write a commented workspace: configuration, policies, templates, accounts."""
    from support_agent.demo import workspace

    for path in workspace.init(directory, _now().date()):
        typer.echo(str(path))
    typer.echo(f"Next: support-agent check --config {directory / CONFIG_FILE}", err=True)


@app.command()
def check(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Validate configuration, documents, accounts and templates, and run the template tests."""
    from support_agent.core.findings import Severity
    from support_agent.ops.check import check_file

    findings = check_file(_config_file(config), _now())
    _print(findings, as_json, printing.findings(findings))
    raise typer.Exit(FAILED if any(finding.severity is Severity.ERROR for finding in findings) else DONE)


@app.command()
def run(
    once: Annotated[bool, typer.Option("--once", help="Handle what is in the mailbox, then exit.")] = False,
    config: ConfigOption = None,
) -> None:
    """Poll the mailboxes and answer mail until stopped. SIGTERM lets it finish the current mails."""
    from support_agent.app.workers import open_workers
    from support_agent.config.loading import load_brands
    from support_agent.config.log import configure_log
    from support_agent.workflow.mailboxes import run_all

    settings = _settings(config)
    configure_log(settings.log)
    stop = stopped_by_signal()
    with open_workers(settings, load_brands(settings)) as workers:
        run_all({name: worker.run_once if once else worker.run for name, worker in workers.items()}, stop)


@app.command()
def pause(
    reason: Annotated[str, typer.Option("--reason", help="Why; `doctor`, `cases` and `outbox` show it.")] = "",
    config: ConfigOption = None,
) -> None:
    """Stop automatic mail to customers at once. Mail that a rule escalates still reaches the desk; all else waits.

    Needs no database, and works with a broken configuration. The running worker notices it before its next mail.
    `touch paused` in the folder of the configuration does the same, unless agent.pause_file names another file.
    """
    from support_agent.cases.pause import pause_without_settings, read_pause, write_pause

    try:
        agent = _settings(config).agent
    except ConfigError as error:
        file = pause_without_settings(_config_file(config), reason)
        todo = "created, which pauses the worker unless agent.pause_file names another file"
        raise ConfigError(f"{error}\n{file}: {todo}") from error
    write_pause(agent, reason)
    typer.echo(str(read_pause(agent)))


@app.command()
def resume(config: ConfigOption = None) -> None:
    """End the pause: waiting mails are decided and sent, in the order in which they arrived."""
    from support_agent.cases.pause import end_pause, read_pause

    agent = _settings(config).agent
    was_there = end_pause(agent)
    still = read_pause(agent)
    if still is not None:
        typer.echo(f"support-agent: still {still}", err=True)
        raise typer.Exit(FAILED)
    typer.echo("resumed" if was_there else "was not paused")


@app.command("try")
def try_(
    mails: Annotated[list[Path], typer.Argument(metavar="MAIL", help="Mail files (.eml).")],
    as_level: Annotated[int | None, typer.Option("--as-level", min=0, max=3, help="Assume this sender level.")] = None,
    as_customer: Annotated[
        str | None, typer.Option("--as-customer", help="Assume the customer with this address.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Dry run: show what would happen to these mails. Nothing is stored, nothing is sent.

    With --json it prints one line for each mail. If a file cannot be read, no mail is tried (a usage error).
    """
    from support_agent.app.dry_runs import open_dry_run
    from support_agent.ops.dry_run import read_mail

    settings = _settings(config)
    raws = [(str(path), read_mail(path, settings.imap.max_message_bytes)) for path in mails]
    quiet_log(settings)
    dry_run = open_dry_run(settings)
    for file, raw in raws:
        tried = dry_run.try_mail(file, raw, _now(), as_level=as_level, as_customer=as_customer)
        typer.echo(tried.line.model_dump_json() if as_json else case_printing.dry_run(tried))


@app.command("inspect")
def inspect_(
    mails: Annotated[list[Path], typer.Argument(metavar="FILE", help="Mail files (.eml).")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what the program reads from mails without a model: text, quotation, bounce, screening, sender.

    Nothing is stored or sent. With --json it prints one line for each file. A file that cannot be read gets an `error`;
    the others are still read, and the command exits with 1. Without a configuration the program does not know your own
    addresses and border servers: then rule S10 never applies, and every level is 0.
    """
    from support_agent.company.accounts import Accounts
    from support_agent.ops.inspection import inspect_file
    from support_agent.transport.dns_lookup import DnsLookup

    settings = _settings(config, optional=True)
    has_company = config is not None or Path(CONFIG_FILE).is_file()
    accounts = Accounts.load(settings.company.accounts) if has_company else None
    code = DONE
    for path in mails:
        found = inspect_file(
            path, settings, lambda a: accounts is not None and accounts.customer(a) is not None, _now(), DnsLookup()
        )
        typer.echo(found.model_dump_json(by_alias=True) if as_json else printing.inspection(found))
        code = FAILED if found.error is not None else code
    raise typer.Exit(code)


@app.command()
def conformance(as_json: JsonOption = False) -> None:
    """Run the example mails of the rules about mail, and print each with pass or fail. Exits with 1 on a failure."""
    from support_agent.ops.conformance import run_rows

    rows = run_rows()
    _print(rows, as_json, printing.conformance(rows))
    raise typer.Exit(DONE if all(row.is_passed for row in rows) else FAILED)


@app.command()
def cases(
    limit: Annotated[int, typer.Option(min=1, help="Show this many, the newest first.")] = 50,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the cases."""
    from support_agent.app.wiring import existing_store
    from support_agent.cases.pause import read_pause

    settings = _settings(config)
    with existing_store(settings) as store:
        found = store.cases.recent(limit)
    _print(found, as_json, printing.cases(found))
    if paused := read_pause(settings.agent):
        typer.echo(f"support-agent: {paused}", err=True)


@app.command()
def show(
    case: Annotated[str, typer.Argument(help="Case id.")], config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Show a case's timeline: mails, levels, calls with confidence and runners-up, answers with sources, deliveries."""
    from support_agent.app.wiring import existing_store
    from support_agent.ops.explain import timeline

    with existing_store(_settings(config)) as store:
        story = timeline(store, case)
    _print(story, as_json, case_printing.timeline(story))


@app.command()
def why(
    case: Annotated[str, typer.Argument(help="Case id.")], config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Show each line of the sent text beside its source."""
    from support_agent.app.wiring import existing_store
    from support_agent.ops.explain import why as explain_why

    with existing_store(_settings(config)) as store:
        lines = explain_why(store, case)
    _print(lines, as_json, case_printing.why(lines))


@app.command()
def replay(
    case: Annotated[str | None, typer.Argument(help="Case id.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Replay every mail.")] = False,
    since: Annotated[
        datetime | None,
        typer.Option("--since", metavar="YYYY-MM-DD", formats=["%Y-%m-%d"], help="Replay the mails since this day."),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Also decide the mails again.")] = False,
    plan_config: Annotated[
        Path | None, typer.Option("--plan-config", help="With --plan: use another configuration.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="With --plan: use another GGUF file; with planner 'openai': another model's name."),
    ] = None,
    policies: Annotated[Path | None, typer.Option(help="With --plan: use another folder of policies.")] = None,
    templates: Annotated[Path | None, typer.Option(help="With --plan: use another folder of templates.")] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Render stored mails again and compare the bytes; with --plan also decide them again and show the difference.

    The mails come from the store of --config. --plan decides them with the same configuration, with that of
    --plan-config, or with the model, policies and templates that the other options name.
    """
    from support_agent.app.dry_runs import open_dry_run
    from support_agent.app.wiring import existing_store
    from support_agent.ops.replay import ReplayReport, chosen, plan_again
    from support_agent.ops.replay import replay as run_replay

    if sum((case is not None, every, since is not None)) != 1:
        raise ConfigError("say what to replay: a case id, --all, or --since YYYY-MM-DD")
    if not plan and (plan_config or model or policies or templates):
        raise ConfigError(
            "--plan-config, --model, --policies and --templates need --plan: without it no mail is decided again"
        )
    settings = _settings(config)
    quiet_log(settings)
    with existing_store(settings) as store:
        mails = chosen(store, case=case, since=since.replace(tzinfo=UTC) if since else None)
        report = ReplayReport(replayed=run_replay(store, mails))
        if plan:
            asked = _plan_settings(plan_config or config, model, policies, templates)
            again = plan_again(store, open_dry_run(asked), mails)
            report = report.model_copy(update={"replanned": again})
    _print(report, as_json, case_printing.replay(report))
    raise typer.Exit(FAILED if report.is_different else DONE)


def _plan_settings(config: Path | None, model: str | None, policies: Path | None, templates: Path | None) -> Settings:
    """A configuration with the model, policies and templates that the options name."""
    key = "model.path" if _settings(config).model.planner == "llama" else "model.name"
    return _settings(config, {key: model, "company.policies": policies, "company.templates": templates})


@app.command()
def doctor(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Check mailbox, sender, model, database, vector store and configuration; say what is wrong and what to do."""
    from support_agent.app.probes import real_probes
    from support_agent.core.diagnosis import Health
    from support_agent.ops.doctor import diagnose

    settings = _settings(config)
    quiet_log(settings)
    diagnoses = diagnose(settings, real_probes(_now()))
    _print(diagnoses, as_json, printing.diagnoses(diagnoses))
    raise typer.Exit(FAILED if any(entry.severity is Health.ERROR for entry in diagnoses) else DONE)


@app.command()
def demo(
    workspace: Annotated[Path, typer.Option(help="Folder of the demo's workspace; it is recreated.")] = Path(
        "demo-workspace"
    ),
) -> None:
    """Answer the demo company's mails over local IMAP and SMTP servers, and show what happened and why."""
    try:
        from support_agent.demo.run import run_demo
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the demo needs {error.name}: install the extra, `pip install 'support-agent[demo]'`"
        ) from error
    run_demo(workspace, _now(), typer.echo)


app.command()(desk)
app.command()(probe)
app.command()(coverage)
app.command()(backtest)
app.command("what-if")(what_if)
app.command()(forget)
app.command()(export)
app.command()(restore)
app.command("eval")(eval_)
app.command()(calibrate)
app.add_typer(model_app, name="model")
app.add_typer(outbox_app, name="outbox")
app.add_typer(autonomy_app, name="autonomy")
app.add_typer(case_app, name="case")
app.add_typer(policies_app, name="policies")
app.add_typer(facts_app, name="facts")
app.add_typer(backup_app, name="backup")
app.add_typer(audit_app, name="audit")
app.add_typer(keys_app, name="keys")
