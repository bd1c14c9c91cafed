"""`support-agent policies`: texts of other programs become numbered documents, for review.

Checked by tests/unit/test_policies_commands.py and, as a subprocess, tests/acceptance/test_policies.py.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from support_agent import printing
from support_agent.commands import ConfigOption, JsonOption, print_data, settings_of

policies_app = typer.Typer(help="The documents: import.", no_args_is_help=True, rich_markup_mode=None)


@policies_app.callback()
def policies() -> None:
    """The documents: import."""


@policies_app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A txt, md, html, docx or pdf file.")],
    number: Annotated[int | None, typer.Option(help="The document's number; default: the next free one.")] = None,
    language: Annotated[
        str | None, typer.Option(metavar="TAG", help="It is document --number in this language (de, pt-BR).")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Where customers find the whole text (https://...).")] = None,
    valid_from: Annotated[
        datetime | None, typer.Option("--valid-from", formats=["%Y-%m-%d"], help="The first day it is sent.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Turn a file into a numbered document for a person to review.

    Nobody is sent it while it says `reviewed: false`: `check` names what a person must still write, and that line is
    theirs to change. Nothing is overwritten; a file that cannot be read whole is not imported.
    """
    from support_agent.company.importing import Given, import_document

    given = Given(number=number, language=language, url=url, valid_from=valid_from.date() if valid_from else None)
    imported = import_document(file, settings_of(config).company.policies, given)
    print_data(imported, as_json, printing.imported(imported))
