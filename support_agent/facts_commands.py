"""`support-agent facts`: what the fact room finds out about a question, and how it learns when to give up.

Checked by tests/unit/test_facts_commands.py, tests/unit/test_facts_train.py and
tests/integration/facts/test_facts_find.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from support_agent import printing
from support_agent.commands import FAILED, ConfigOption, JsonOption, config_file, now, print_data, settings_of
from support_agent.levels import AUTHENTICATED

facts_app = typer.Typer(help="The fact room: find, train.", no_args_is_help=True, rich_markup_mode=None)


@facts_app.callback()
def facts() -> None:
    """The fact room: find, train."""


@facts_app.command("find")
def find(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A question as a customer asks it.")],
    level: Annotated[
        int, typer.Option(min=0, max=3, help="The sender's level, 0 to 3: which documents may be found.")
    ] = AUTHENTICATED,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE.html", help="Write all of it as a page, to a new file.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look for the sentences of the documents that answer a question, and show each step and grade on the way.

    Drafts and rewritten questions are the model's, and marked so: no customer is ever sent them. --html shows the
    documents with the evidence highlighted, the draft's steps, its entities, and what was rejected. Exits with 1 where
    no document answers.
    """
    from support_agent.app import open_workflow
    from support_agent.company.company import Company
    from support_agent.fact_story import fact_story, searchable
    from support_agent.facts.spending import Budget
    from support_agent.facts_page import check_page, facts_page, write_page

    check_page(html)
    settings = settings_of(config)
    company = Company.load(settings.company)
    documents = searchable(company.documents, now().date(), level)
    with open_workflow(settings, company, documents.keys()) as workflow:
        found = workflow.find(question, Budget(settings.grading.max_tokens))
    story = fact_story(question, found, documents)
    print_data(story, as_json, printing.fact_story(story))
    if html is not None:
        write_page(html, facts_page(question, found, documents))
        typer.echo(f"{html}: written", err=True)
    if not story.is_answered:
        raise typer.Exit(FAILED)


@facts_app.command("train")
def train(
    episodes: Annotated[int, typer.Option(min=0, max=1_000_000, help="Simulated cases to learn from.")] = 8_000,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of everything that is drawn.")] = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the weights go; default: beside the configuration.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train what decides how far a question is looked into: on a rule, simulated users, and what people did.

    What people did stands in the store: their replies to packets of cases that were given up. Prints how the trained
    policy does on simulated users that it has not met, beside the rules. It decides nothing until it is configured.
    """
    from support_agent.app import open_store
    from support_agent.company.document_languages import load_library
    from support_agent.deeds import escalated_cases
    from support_agent.facts.learning import policy_weights, training
    from support_agent.facts.learning.comparison import TrainedPolicy, compared
    from support_agent.policy_printing import trained_policy

    settings, folder = settings_of(config), config_file(config).parent.absolute()
    with open_store(settings) as store:
        library = load_library(settings.company.policies, settings.company.locale)
        escalated = escalated_cases(store, (*library.documents, *library.translations))
    weights = training.train(episodes, seed, escalated=escalated)
    trained = TrainedPolicy(
        policy_file=policy_weights.save(weights, (out or folder).absolute()),
        episodes=weights.episodes,
        seed=weights.seed,
        people=weights.people,
        measured=compared(weights),
    )
    print_data(trained, as_json, trained_policy(trained, folder))
