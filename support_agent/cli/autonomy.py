"""`support-agent autonomy`: the mode of each item and why it has it; set a mode by hand, or undo a change.

Checked by tests/unit/cli/test_autonomy.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from support_agent.cli import printing
from support_agent.cli.options import ConfigOption, JsonOption, now, print_data, settings_of
from support_agent.core.modes import Mode

if TYPE_CHECKING:
    from support_agent.config.settings import Settings
    from support_agent.store.store import Store

autonomy_app = typer.Typer(
    help="List in which mode each item leaves, and why; or set, apply, judge, undo.", rich_markup_mode=None
)
KeyArgument = Annotated[
    str, typer.Argument(metavar="ITEM", help="Such as document:3, as `support-agent autonomy` says.")
]


@autonomy_app.callback(invoke_without_command=True)
def autonomy(context: typer.Context, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List each document, field, series, kind of records and canned question with its mode and the reason for it.

    Modes: `off`, a person answers; `shadow`, the same, and the desk is shown the answer; `approve`, the answer leaves
    when a person confirms it; `auto`, it leaves by itself. A mail has the strictest mode of its items.

    Below the list stands what the rule would change. The rule is in the settings `autonomy`.
    """
    context.obj = (config, as_json)
    if context.invoked_subcommand is None:
        _show(config, as_json)


@autonomy_app.command("set")
def set_(
    context: typer.Context,
    item: KeyArgument,
    mode: Annotated[Mode, typer.Argument(help="The new mode: off, shadow, approve or auto.")],
    why: Annotated[str, typer.Option("--why", help="Why; the list shows it.")] = "",
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set an item's mode by hand; people's judgements never raise it above that, and may lower it."""
    from support_agent.ops.autonomy_report import set_by_hand

    _change(context, lambda store, titles: set_by_hand(store, titles, item, mode, why, now()), item, config, as_json)


@autonomy_app.command("apply")
def apply(context: typer.Context, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Give each item the mode that it has earned: what the list says "would change"."""
    from support_agent.ops.autonomy_report import apply as apply_rule
    from support_agent.ops.autonomy_report import report

    group_config, group_json = context.obj
    with _opened(config or group_config) as (store, settings, titles):
        changed = apply_rule(store, settings, titles, now())
        found = [one for one in report(store, settings, titles) if one.key in changed]
    print_data(found, as_json or group_json, printing.autonomy(found) if found else "nothing changes")


@autonomy_app.command("judge")
def judge(
    context: typer.Context,
    case: Annotated[str, typer.Argument(help="Case id.")],
    done: Annotated[
        str, typer.Argument(metavar="DONE", help="same, own-words, nothing, or what was right: document:3.")
    ],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge the last answer of a case, also one that was sent: a wrong one lowers its items at once."""
    from support_agent.ops.autonomy_report import label_by_hand, report

    group_config, group_json = context.obj
    with _opened(config or group_config, must_exist=True) as (store, settings, titles):
        label = label_by_hand(store, settings, titles, case, done, now())
        found = [one for one in report(store, settings, titles) if one.key in label.keys]
    print_data(found, as_json or group_json, printing.autonomy(found))


@autonomy_app.command("unjudge")
def unjudge(
    context: typer.Context, case: Annotated[str, typer.Argument(help="Case id.")], config: ConfigOption = None
) -> None:
    """Undo the last judgement in a case, whoever made it, and what it lowered."""
    from support_agent.ops.autonomy_report import unlabel

    with _opened(config or context.obj[0], must_exist=True) as (store, settings, _):
        unlabel(store, settings, case, now())
    typer.echo("undone")


@autonomy_app.command("export")
def export(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder for the labelled mails.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write what people did as labelled mails, for `calibrate --mails` and `eval mails`.

    They lie in a folder that is named by the labels that they were made from.
    """
    from support_agent.app.wiring import existing_store
    from support_agent.ops.people_labels import export as write

    group_config, group_json = context.obj
    with existing_store(settings_of(config or group_config)) as store:
        made = write(store, folder)
    text = f"{made.folder}: {made.mails} labelled mails, {made.left_out} labels are not exact and left out"
    print_data(made, as_json or group_json, text)


@autonomy_app.command("undo")
def undo(context: typer.Context, item: KeyArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Undo the last change of an item's mode, whoever made it; the one before it holds again."""
    from support_agent.ops.autonomy_report import undo as undo_change

    _change(context, lambda store, _: undo_change(store, item, now()), item, config, as_json)


def _change(
    context: typer.Context,
    change: Callable[[Store, Mapping[str, str]], None],
    item: str,
    config: Path | None,
    as_json: bool,
) -> None:
    """Change something of an item, and show the item."""
    group_config, group_json = context.obj
    with _opened(config or group_config) as (store, _, titles):
        change(store, titles)
    _show(config or group_config, as_json or group_json, item)


def _show(config: Path | None, as_json: bool, item: str | None = None) -> None:
    from support_agent.ops.autonomy_report import report

    with _opened(config) as (store, settings, titles):
        found = [one for one in report(store, settings, titles) if item in (None, one.key)]
    print_data(found, as_json, printing.autonomy(found))


@contextmanager
def _opened(config: Path | None, *, must_exist: bool = False) -> Iterator[tuple[Store, Settings, dict[str, str]]]:
    """The store, the settings, and the titles of the company's items.

    Args:
        must_exist: Refuse a database without a store; modes may be set before the first start.
    """
    from support_agent.app.wiring import open_store, require_store
    from support_agent.company.company import Company
    from support_agent.ops.autonomy_report import titles_of

    settings = settings_of(config)
    if must_exist:
        require_store(settings)
    titles = titles_of(Company.load(settings.company))
    with open_store(settings) as store:
        yield store, settings, titles
