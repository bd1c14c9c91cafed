"""`support-agent facts`: what the fact room finds out about a question, for the people who run the agent.

Checked by tests/unit/test_facts_commands.py and tests/integration/facts/test_facts_find.py.
"""

from __future__ import annotations

from typing import Annotated

import typer

from support_agent import printing
from support_agent.commands import FAILED, ConfigOption, JsonOption, now, print_data, settings_of
from support_agent.levels import AUTHENTICATED

facts_app = typer.Typer(help="The fact room: find.", no_args_is_help=True, rich_markup_mode=None)


@facts_app.callback()
def facts() -> None:
    """The fact room: find."""


@facts_app.command("find")
def find(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A question as a customer asks it.")],
    level: Annotated[
        int, typer.Option(min=0, max=3, help="The sender's level, 0 to 3: which documents may be found.")
    ] = AUTHENTICATED,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look for the sentences of the documents that answer a question, and show each step and grade on the way.

    Drafts and rewritten questions are the model's, and marked so: no customer is ever sent them. Exits with 1 where no
    document answers.
    """
    from support_agent.app import open_workflow
    from support_agent.company.company import Company
    from support_agent.fact_story import fact_story, searchable
    from support_agent.facts.spending import Budget

    settings = settings_of(config)
    company = Company.load(settings.company)
    documents = searchable(company.documents, now().date(), level)
    with open_workflow(settings, company, documents.keys()) as workflow:
        found = workflow.find(question, Budget(settings.grading.max_tokens))
    story = fact_story(question, found, documents)
    print_data(story, as_json, printing.fact_story(story))
    if not story.is_answered:
        raise typer.Exit(FAILED)
