"""`support-agent forget` and `support-agent export`: what is kept about a person, deleted or handed out.

Checked by tests/unit/cli/test_privacy.py.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import SecretStr

from support_agent.cli.backtest import WORK_FOLDER
from support_agent.cli.options import ConfigOption, JsonOption, config_file, now, print_data, settings_of
from support_agent.cli.printing import forgotten, person_traces

if TYPE_CHECKING:
    from support_agent.config.settings import Settings

RECEIPT_BYTES = 32
AddressArgument = Annotated[
    list[str], typer.Argument(metavar="ADDRESS", help="The person's address; several of one person may be named.")
]


def forget(
    addresses: AddressArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be deleted.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete everything that is kept about a person: cases, mails, plans, answers, labels, engine records, files.

    A case goes whole, with what others wrote in it. Nothing is deleted while a mail of the person is being handled or
    may still be sent. The results of backtests go as well, because they hold words without names. The same mails are
    never answered again. The audit log gets an entry that names nobody; the receipt proves whom it is about.
    """
    from support_agent.app.wiring import engine_records_of, open_store
    from support_agent.ops.forgetting import forget as forget_person
    from support_agent.ops.person import person_of, traces_of

    folder = config_file(config).parent.resolve()
    for name, settings in _existing(config):
        person = person_of(addresses, settings)
        results = folder / WORK_FOLDER
        with open_store(settings) as store:
            traces = traces_of(store, person, folder, results)
            if dry_run:
                print_data(traces, as_json, person_traces(traces))
                continue
            delete = engine_records_of(settings_of(config), name)
            done = forget_person(store, person, traces, results, delete, secrets.token_bytes(RECEIPT_BYTES), now())
        print_data(done, as_json, forgotten(done))


keys_app = typer.Typer(
    help="The keys of encrypted mails: seal, rotate, copy, unreadable.", no_args_is_help=True, rich_markup_mode=None
)


@keys_app.command("seal")
def seal(config: ConfigOption = None) -> None:
    """Encrypt what earlier versions stored in plain text. It may run beside the worker, be stopped and run again."""
    from support_agent.app.wiring import open_store

    for _, settings in _existing(config):
        with open_store(settings) as store:
            count = store.sealing.seal_plain()
            store.database.purge()
        typer.echo(f"{count} mails encrypted")


@keys_app.command("rotate")
def rotate(
    new: Annotated[Path, typer.Argument(metavar="FILE", help="A file with the new master key: 32 bytes in hex.")],
    config: ConfigOption = None,
) -> None:
    """Wrap every key with another master key. Stop the workers first, and then name the new file in the settings."""
    from support_agent.app.wiring import open_store
    from support_agent.errors import ConfigError
    from support_agent.store.audit import AuditEvent
    from support_agent.store.lock import only_process, this_process

    try:
        master = SecretStr(new.read_text("ascii").strip())
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"{new} cannot be read as a master key: `openssl rand -hex 32` makes one") from error
    with ExitStack() as alone:
        mailboxes = [settings for _, settings in _existing(config)]
        for settings in mailboxes:  # all before the first is rotated, or a second run could not open that one
            store = settings.store
            alone.enter_context(only_process(store.url, this_process("rotating keys"), timeout_s=store.timeout_s))
        for settings in mailboxes:
            with open_store(settings) as opened:
                count = opened.database.vault.keys.rotate(master)
                opened.audit.add(AuditEvent.KEYS_ROTATED, "the operator", now(), {"keys": count})
            typer.echo(f"{count} keys wrapped again: set store.master_key_file to {new} before the next start")


@keys_app.command("copy")
def copy(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="The SQLite file of the keys, or the URL of their database.")
    ],
    master_key_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The master key of these keys; by default the one beside their file, else that of the settings.",
        ),
    ] = None,
    brand: Annotated[
        str, typer.Option(metavar="NAME", help="Whose keys they are; by default the first mailbox's.")
    ] = "",
    config: ConfigOption = None,
) -> None:
    """Copy the keys of a store that moves, from FROM to where the settings have them now. Stop the workers first.

    Keys that were destroyed stay destroyed. The old keys stay where they are: delete them when the new store works.
    """
    from support_agent.errors import ConfigError
    from support_agent.ops.backup.key_copy import copy_keys
    from support_agent.store.lock import this_process

    mailboxes = dict(_mailboxes(config))
    if brand not in mailboxes:
        raise ConfigError(f"there is no brand {brand!r}: name one of {', '.join(filter(None, mailboxes)) or 'none'}")
    done = copy_keys(source, master_key_file, mailboxes[brand].store, this_process("copying keys"))
    typer.echo(f"keys copied to {done.place}: {done.keys}")
    if not done.is_wrapped:
        todo = "`support-agent keys rotate FILE` wraps them with one"
        typer.echo(f"support-agent: no master key wraps them there: {todo}", err=True)


@keys_app.command("unreadable")
def unreadable(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count them.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete mails whose key is gone, with their cases. A restore does so itself with those that were forgotten since.

    Check first that the keys are those of today: with the keys of another store everything is unreadable.
    """
    from support_agent.app.wiring import open_store

    for _, settings in _existing(config):
        with open_store(settings) as store:
            found = store.sealing.delete_unreadable(now(), dry_run=dry_run)
        what = "would go" if dry_run else "deleted"
        print_data(found, as_json, f"{found.cases} cases and {found.mails} mails {what}")


def export(
    addresses: AddressArgument,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The zip to write; it must not exist.")],
    config: ConfigOption = None,
) -> None:
    """Write everything that is kept about a person into a zip of mails (.eml) and JSON, with a README.

    It has nothing of other people: of a case with several, only the person's own mails and the answers to them.
    """
    from support_agent.app.wiring import open_store
    from support_agent.ops.person import person_of
    from support_agent.ops.person_export import export as export_person
    from support_agent.ops.person_export import opened

    is_kept = False
    with opened(out) as archive:
        for name, settings in _existing(config):
            with open_store(settings) as store:
                is_kept |= export_person(store, person_of(addresses, settings), archive, name, now())
    typer.echo(str(out))
    if not is_kept:
        typer.echo("support-agent: nothing is kept about this person: look whether the address is right", err=True)


def _existing(config: Path | None) -> list[tuple[str, Settings]]:
    """As `_mailboxes`; nothing is done to the first store while another is away.

    A store that was never made looks the same; only a person can tell.
    """
    from support_agent.app.wiring import require_store
    from support_agent.config.loading import BRANDS
    from support_agent.errors import ConfigError

    mailboxes = [*_mailboxes(config)]
    for name, settings in mailboxes:
        try:
            require_store(settings)
        except ConfigError as error:
            if not name or error.code != "no_store":
                raise
            todo = f"if the brand {name} never ran, take it out of {BRANDS} until it does"
            raise ConfigError(f"{error}; {todo}", code=error.code) from error
    return mailboxes


def _mailboxes(config: Path | None) -> Iterator[tuple[str, Settings]]:
    """The settings of the mailbox and of its brands, each with a store of its own."""
    from support_agent.config.loading import load_brands

    settings = settings_of(config)
    yield "", settings
    yield from load_brands(settings).items()
