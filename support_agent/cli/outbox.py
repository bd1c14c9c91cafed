"""`support-agent outbox`: list the mails whose delivery is not confirmed; a person decides about each.

Checked by tests/unit/cli/test_outbox.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from support_agent.cli import printing
from support_agent.cli.options import ConfigOption, JsonOption, now, print_data, settings_of

outbox_app = typer.Typer(
    help="List mails whose delivery is not confirmed; or approve, undo, retry, sent, give-up.", rich_markup_mode=None
)
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The mail's id, as `support-agent outbox` lists it.")]


@outbox_app.callback(invoke_without_command=True)
def outbox(context: typer.Context, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the mails that wait, for a person too, that may or may not have been sent, or that failed.

    Each has its age, recipient, case and last error. With a command and an ID you decide about one mail; the case's
    timeline records it.
    """
    context.obj = (config, as_json)
    if context.invoked_subcommand is not None:
        return
    from support_agent.app.wiring import existing_store
    from support_agent.cases.pause import read_pause
    from support_agent.outbound.outbox_choices import entries

    settings = settings_of(config)
    with existing_store(settings) as store:
        found = entries(store, now())
    if paused := read_pause(settings.agent):
        typer.echo(f"support-agent: {paused}", err=True)
    print_data(found, as_json, printing.outbox(found))


@outbox_app.command("approve")
def approve(context: typer.Context, mail: IdArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Send a proposed answer as it is, if your files still say so; `support-agent show CASE` has its text."""
    _apply(context, mail, "approve", config, as_json)


@outbox_app.command("undo")
def undo(context: typer.Context, mail: IdArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Stop a held or proposed answer. A person gets the case, and the answer's items are corrected."""
    _apply(context, mail, "undo", config, as_json)


@outbox_app.command("retry")
def retry(context: typer.Context, mail: IdArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Send the mail again, though the first one may have arrived. Mail to an address that bounced is allowed again."""
    _apply(context, mail, "retry", config, as_json)


@outbox_app.command("sent")
def sent(context: typer.Context, mail: IdArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Mark the mail as sent: it is in the Sent folder or the server's log, or the customer has it."""
    _apply(context, mail, "sent", config, as_json)


@outbox_app.command("give-up")
def give_up(context: typer.Context, mail: IdArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Do not send the mail (again), and take it off the list."""
    _apply(context, mail, "give-up", config, as_json)


def _apply(context: typer.Context, outbox_id: str, choice: str, config: Path | None, as_json: bool) -> None:
    from support_agent.app.wiring import existing_store
    from support_agent.outbound.outbox_choices import OutboxChoice
    from support_agent.workflow.approval import choose

    group_config, group_json = context.obj
    settings = settings_of(config or group_config)
    with existing_store(settings) as store:
        confirmed = choose(store, settings, outbox_id, OutboxChoice(choice), now)
    was = "" if confirmed.is_new else ", as before"
    print_data(confirmed, as_json or group_json, f"{confirmed.outbox_id}: {confirmed.status.value}{was}")
