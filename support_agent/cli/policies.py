"""`support-agent policies`: import files as numbered documents, and let a model propose example questions.

A person reviews both; the program uses neither before. Checked by
tests/unit/cli/test_policies.py, tests/unit/cli/test_suggest_questions.py and, as a subprocess,
tests/acceptance/test_policies.py.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from support_agent.cli import printing
from support_agent.cli.options import FAILED, ConfigOption, JsonOption, config_file, now, print_data, settings_of
from support_agent.cli.progress import with_progress

SUGGESTIONS_FILE = "suggested-questions.yaml"

policies_app = typer.Typer(
    help="The documents: import, suggest-questions.", no_args_is_help=True, rich_markup_mode=None
)


@policies_app.callback()
def policies() -> None:
    """The documents: import, suggest-questions."""


@policies_app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A txt, md, html, docx or pdf file.")],
    number: Annotated[int | None, typer.Option(help="The document's number; default: the next free one.")] = None,
    language: Annotated[
        str | None, typer.Option(metavar="TAG", help="The file is document --number in this language (de, pt-BR).")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Address of the whole text for customers (https://...).")] = None,
    valid_from: Annotated[
        datetime | None,
        typer.Option(
            "--valid-from", metavar="YYYY-MM-DD", formats=["%Y-%m-%d"], help="First day on which it may be sent."
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Turn a file into a numbered document for a person to review.

    While the document says `reviewed: false`, no customer gets it. `check` names what a person must still write; then
    the person changes that line. Nothing is overwritten. A file that cannot be read completely is not imported.
    """
    from support_agent.company.importing.unreviewed import GivenValues, import_document

    given = GivenValues(number=number, language=language, url=url, valid_from=valid_from.date() if valid_from else None)
    imported = import_document(file, settings_of(config).company.policies, given)
    print_data(imported, as_json, printing.imported(imported))


@policies_app.command("suggest-questions")
def suggest_questions(
    document: Annotated[int | None, typer.Option(metavar="N", help="The document; default: every one.")] = None,
    count: Annotated[int, typer.Option(min=1, max=20, help="Most questions for a document.")] = 5,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Default: {SUGGESTIONS_FILE} beside the configuration.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let the language model propose example questions, in a file from which a person copies the good ones.

    The program never reads that file, and does not change the documents. It leaves out proposals that ask nothing, that
    resemble an existing example, or that are nearer to another topic than to their own document. Exits with 1 if no
    proposal is left.
    """
    from support_agent.company.company import Company
    from support_agent.facts.opening import open_suggester
    from support_agent.facts.suggestions import check_file, chosen, suggest, write_suggestions

    settings = settings_of(config)
    file, policies = out or config_file(config).parent / SUGGESTIONS_FILE, settings.company.policies
    check_file(file, policies)
    company = Company.load(settings.company)
    documents = chosen(company.documents, document)
    with open_suggester(settings, company) as (search, writer):
        asked = with_progress(documents, "documents", len(documents))
        proposed = [suggest(one, search, writer, count, settings.grading.seed) for one in asked]
    made = write_suggestions(file, policies, writer.name, settings.company.day_of(now()), proposed)
    print_data(made, as_json, printing.suggestions(made))
    if not any(one.questions for one in made.documents):
        raise typer.Exit(FAILED)
