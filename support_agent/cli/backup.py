"""`support-agent backup` and `restore`: copy what the agent keeps while it works, check a copy, go back to one.

Checked by tests/acceptance/test_backup.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel
from typer.core import TyperGroup

from support_agent.cli.options import ConfigOption, JsonOption, config_file, now, print_data, settings_of

CREATE = "create"
ArchiveArgument = Annotated[Path, typer.Argument(metavar="BACKUP", help="The backup's folder.")]


class _CreatesByDefault(TyperGroup):
    """`backup FOLDER` is `backup create FOLDER`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, "--help"}:
            args = [CREATE, *args]
        return super().parse_args(ctx, args)


backup_app = typer.Typer(
    cls=_CreatesByDefault,
    help="Back up the store and the company's files: `backup FOLDER`.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class BackupReport(BaseModel):
    """A backup, as the commands print it."""

    path: Path
    made_at: str
    program: str
    bytes: int
    parts: int
    is_quiet: bool
    left_out: tuple[str, ...] = ()


class RestoreReport(BaseModel):
    """What a restore did."""

    backup: Path
    finished_only: bool
    kept: tuple[str, ...]
    uncertain: int
    forgotten: int
    unreadable: int


@backup_app.command(CREATE)
def create(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where backups are kept; this one gets a folder named by the time.")
    ],
    keep: Annotated[
        int | None, typer.Option(min=1, help="Afterwards delete all but this many backups of the folder.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a backup of all mailboxes while the worker runs, and print its path. `backup FOLDER` does the same.

    It has the store, the configuration, policies, templates, accounts.toml and the calibration.
    It has no secret that comes from the environment or from a file of its own, and no index, which is computed again.
    """
    from support_agent.config.loading import load_brands
    from support_agent.ops.backup.archive import delete_older
    from support_agent.ops.backup.company_files import Configured
    from support_agent.ops.backup.making import make_backup

    file = config_file(config)
    settings = settings_of(file)
    brands = {"": Configured(file, settings)}
    for name, one in load_brands(settings).items():
        brands[name] = Configured(settings.brands.files[name], one)
    made = make_backup(brands, folder, now())
    for older in delete_older(folder, keep) if keep is not None else ():
        typer.echo(f"support-agent: deleted {older}", err=True)
    if made.manifest.left_out:
        typer.echo(f"support-agent: not in it, keep a copy elsewhere: {', '.join(made.manifest.left_out)}", err=True)
    _print_backup(made.path, made.manifest, as_json, str(made.path))


@backup_app.command()
def verify(archive: ArchiveArgument, as_json: JsonOption = False) -> None:
    """Read a whole backup and compare each part with its digest; nothing is restored."""
    from support_agent.ops.backup.archive import verify as verify_archive

    manifest = verify_archive(archive)
    text = f"{archive}: whole, of {manifest.made_at:%Y-%m-%d %H:%M} UTC, {manifest.bytes:,} bytes"
    _print_backup(archive, manifest, as_json, text)


def restore(
    archive: ArchiveArgument,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a store that has mails; it is kept aside.")
    ] = False,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="The worker was stopped before the backup and has not run since: go on from there."
        ),
    ] = False,
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Only write the company's files, into a new folder.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Restore the store of a backup; stop the worker and the desk's page first.

    What may have happened after the backup is left to people: no customer is answered twice. If it is interrupted,
    nobody can open the store until the same command has finished it.
    """
    from support_agent.config.loading import load_brands
    from support_agent.ops.backup.archive import verify as verify_archive
    from support_agent.ops.backup.company_files import restore_files
    from support_agent.ops.backup.restoring import restore as restore_backup
    from support_agent.store.lock import this_process

    if to is not None:
        manifest = verify_archive(archive)
        restore_files(archive, manifest.files, to)
        if manifest.left_out:
            typer.echo(f"support-agent: put these there, too: {', '.join(manifest.left_out)}", err=True)
        typer.echo(f"Next: support-agent restore {archive} --config {to / manifest.configuration}", err=True)
        return
    settings = settings_of(config_file(config))
    done = restore_backup(
        archive,
        {"": settings, **load_brands(settings)},
        now(),
        this_process("restoring"),
        may_replace=replace,
        is_exact=exact,
    )
    report = RestoreReport(
        backup=archive,
        finished_only=done.finished_only,
        kept=done.kept,
        uncertain=done.uncertain,
        forgotten=done.forgotten,
        unreadable=done.unreadable,
    )
    print_data(report, as_json, _as_text(report))
    if settings.imap.move_handled_to and not exact:
        folder = settings.imap.move_handled_to
        typer.echo(
            f"support-agent: before you start the worker, move the mails that came since the backup from {folder!r}"
            f" back to {settings.imap.folder!r}: a person will decide them",
            err=True,
        )


def _as_text(report: RestoreReport) -> str:
    if report.finished_only:
        lines = ["finished the restore that was interrupted; to restore another backup, run it again with --replace"]
    else:
        lines = [f"restored {report.backup}"]
    lines += [f"the store before is kept in {place}" for place in report.kept]
    if report.forgotten:
        lines.append(f"{report.forgotten} mails were deleted since the backup, and are deleted again with their cases")
    if report.unreadable:
        lines.append(
            f"{report.unreadable} mails cannot be read, as their keys are not among the keys that are there: put back"
            " today's keys; if those are lost, `support-agent keys unreadable` deletes these mails"
        )
    if report.uncertain:
        lines.append(
            f"{report.uncertain} mails to customers may have gone out since: `support-agent outbox` lists them"
        )
    return "\n".join(lines)


def _print_backup(path: Path, manifest: Any, as_json: bool, text: str) -> None:
    report = BackupReport(
        path=path,
        made_at=manifest.made_at.isoformat(),
        program=manifest.program,
        bytes=manifest.bytes,
        parts=sum(1 for _ in manifest.parts),
        is_quiet=manifest.is_quiet,
        left_out=manifest.left_out,
    )
    print_data(report, as_json, text)
