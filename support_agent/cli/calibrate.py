"""`support-agent calibrate`: fit the choice to one company, and print how much that improves it.

Checked by tests/unit/cli/test_calibrate.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from support_agent.cli.options import ConfigOption, JsonOption, now, print_data, quiet_log, settings_of
from support_agent.cli.progress import with_progress


def calibrate(
    risk: Annotated[
        float, typer.Option("--risk", min=0.001, max=0.5, help="The share of wrong answers that you allow.")
    ] = 0.02,
    mails: Annotated[
        Path | None,
        typer.Option("--mails", metavar="DIR", help="Also use your own labelled mails, as for `eval mails`."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE.svg", help="Draw risk against coverage, and reliability."),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write the file planner.calibration; the next start uses it.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit the choice to your company: for each kind of answer, how sure it must be so that few answers are wrong.

    The command asks every example question of the documents and accounts, each left out of the index while it is
    asked; every third one is asked once more with its topic left out. A threshold below planner.threshold_answer must
    be proven with 95 % certainty and is never below planner.threshold_floor. With too few questions no threshold
    changes. Without --write nothing is stored.
    """
    from support_agent.ops.evals.calibrating import calibrate as run_calibrate
    from support_agent.ops.evals.calibrating import table
    from support_agent.ops.evals.mail_labels import read_labels
    from support_agent.ops.evals.picture import check_picture, write_picture
    from support_agent.planner.calibration import write_calibration

    check_picture(picture)
    settings = settings_of(config)
    quiet_log(settings)
    labels = read_labels(mails) if mails else ()
    made, found = run_calibrate(settings, risk, labels, now(), with_progress)
    if picture is not None:
        write_picture(picture, found.after, len(found.after), risk)
    print_data(made, as_json, table(made, found))
    if write:
        write_calibration(settings.planner.calibration, made)
    typer.echo(f"{settings.planner.calibration}: written" if write else "not written: add --write", err=True)
