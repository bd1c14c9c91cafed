"""`support-agent audit`: list, verify and publish the log of what was sent, decided, published and forgotten.

Checked by tests/unit/cli/test_audit.py.
"""

from __future__ import annotations

from typing import Annotated

import typer

from support_agent.cli.options import DONE, FAILED, ConfigOption, JsonOption, print_data, settings_of

audit_app = typer.Typer(
    help="The audit log, a chain of hashes: list, verify, head.", no_args_is_help=True, rich_markup_mode=None
)


@audit_app.command("list")
def list_(
    act: Annotated[str, typer.Option("--act", help='Only entries of this act, such as "mail sent".')] = "",
    limit: Annotated[int, typer.Option(min=1, help="Show this many, the newest first.")] = 50,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the entries of the audit log."""
    from support_agent.app.wiring import existing_store
    from support_agent.cli.printing import audit_entries
    from support_agent.errors import ConfigError
    from support_agent.store.audit import AuditEvent

    if act and act not in list(AuditEvent):
        raise ConfigError(f"--act {act!r}: choose one of {', '.join(AuditEvent)}")
    with existing_store(settings_of(config)) as store:
        found = store.audit.entries(AuditEvent(act) if act else None, limit)
    print_data(found, as_json, audit_entries(found))


@audit_app.command("verify")
def verify(
    head: Annotated[
        str | None, typer.Option("--head", metavar="HASH", help="A head that was published: the log must contain it.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compute the chain again; exits with 1 if an entry was changed, removed, inserted or moved."""
    from support_agent.app.wiring import existing_store

    with existing_store(settings_of(config)) as store:
        found = store.audit.verify(head)
    whole = f"{found.entries} entries, whole; head {found.head.hash}"
    print_data(found, as_json, found.problem or whole)
    raise typer.Exit(FAILED if found.problem else DONE)


@audit_app.command("head")
def head(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Print the last hash, to be published: it proves later that nothing before it was changed."""
    from support_agent.app.wiring import existing_store

    with existing_store(settings_of(config)) as store:
        found = store.audit.head()
    print_data(found, as_json, found.hash)
