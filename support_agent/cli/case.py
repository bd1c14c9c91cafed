"""`support-agent case`: who has a case; close, reopen, assign it, or give it back to the machine.

Checked by tests/unit/cli/test_case.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from support_agent.cli.options import ConfigOption, JsonOption, now, print_data, settings_of

case_app = typer.Typer(
    help="Who has a case: close, reopen, assign, give-back.", no_args_is_help=True, rich_markup_mode=None
)
CaseArgument = Annotated[str, typer.Argument(metavar="CASE", help="Case id.")]
WhyOption = Annotated[str, typer.Option("--why", help="Why; `show` says it.")]
StaffOption = Annotated[
    str, typer.Option("--to", metavar="ADDRESS", help="An address of a desk, or one of desk.staff.")
]


@case_app.command("close")
def close(case: CaseArgument, why: WhyOption = "", config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Close a case: what waits in it is not sent. A new question in it opens it again, for whoever had it."""
    _order(case, "close", why, None, config, as_json)


@case_app.command("reopen")
def reopen(case: CaseArgument, why: WhyOption = "", config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Open a closed case again; a person has it."""
    _order(case, "reopen", why, None, config, as_json)


@case_app.command("give-back")
def give_back(
    case: CaseArgument, why: WhyOption = "", config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Give a case back to the machine: its next mail is decided again, in the modes of its items."""
    _order(case, "give-back", why, None, config, as_json)


@case_app.command("assign")
def assign(
    case: CaseArgument, to: StaffOption, why: WhyOption = "", config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Give a case to somebody of the staff, or take it: its packets go to that address."""
    _order(case, "assign", why, to, config, as_json)


def _order(case: str, order: str, why: str, to: str | None, config: Path | None, as_json: bool) -> None:
    from support_agent.app.wiring import existing_store
    from support_agent.cases.handling import Handling, Order
    from support_agent.ops.autonomy_report import OPERATOR

    settings = settings_of(config)
    with existing_store(settings) as store:
        change = Handling(store, settings).order(case, Order(order), OPERATOR, now(), why, to)
        found = store.cases.get_one(case)
    was = "" if change is not None else ", as before"
    whose = f", {found.assignee}" if found.assignee else ""
    print_data(found, as_json, f"{found.id}: {found.state.value}{whose}{was}")
