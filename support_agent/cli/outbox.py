"""`support-agent outbox`: what is not known to be out, and what a person decides about it.

Checked by tests/unit/cli/test_outbox.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from support_agent.cli import printing
from support_agent.cli.options import ConfigOption, JsonOption, now, print_data, settings_of

outbox_app = typer.Typer(help="Mails that are not known to be out: list, retry, sent, give-up.", rich_markup_mode=None)
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The mail's id, as `support-agent outbox` lists it.")]


@outbox_app.callback(invoke_without_command=True)
def outbox(context: typer.Context, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the mails that wait, may or may not have gone out, or failed: age, recipient, case, the last error.

    With a command and an ID a person decides about one; the case's timeline says so.
    """
    context.obj = (config, as_json)
    if context.invoked_subcommand is not None:
        return
    from support_agent.app import open_store
    from support_agent.cases.pause import read_pause
    from support_agent.outbound.delivery_status import entries

    settings = settings_of(config)
    with open_store(settings) as store:
        found = entries(store, now())
    if paused := read_pause(settings.agent):
        typer.echo(f"support-agent: {paused}", err=True)
    print_data(found, as_json, printing.outbox(found))


@outbox_app.command("retry")
def retry(context: typer.Context, mail: IdArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Send it again, though the first may have arrived; an address that bounced is written to again."""
    _settle(context, mail, "retry", config, as_json)


@outbox_app.command("sent")
def sent(context: typer.Context, mail: IdArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """It went out: you have seen it in the Sent folder, in the server's log, or the customer has it."""
    _settle(context, mail, "sent", config, as_json)


@outbox_app.command("give-up")
def give_up(context: typer.Context, mail: IdArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Do not send it (again); it is not listed any more."""
    _settle(context, mail, "give-up", config, as_json)


def _settle(context: typer.Context, outbox_id: str, choice: str, config: Path | None, as_json: bool) -> None:
    from support_agent.app import open_store
    from support_agent.outbound.delivery_status import Choice, apply_choice

    group_config, group_json = context.obj
    with open_store(settings_of(config or group_config)) as store:
        settled = apply_choice(store, outbox_id, Choice(choice), now())
    was = "" if settled.is_new else ", as it was before"
    print_data(settled, as_json or group_json, f"{settled.outbox_id}: {settled.status.value}{was}")
