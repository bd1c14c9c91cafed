"""`support-agent facts`: what the fact room finds out about a question, and how it learns when to give up.

Checked by tests/unit/cli/test_facts.py, tests/unit/cli/test_facts_train.py and
tests/integration/facts/test_facts_find.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from support_agent.cli import printing
from support_agent.cli.options import FAILED, ConfigOption, JsonOption, config_file, now, print_data, settings_of
from support_agent.cli.terminal import counted
from support_agent.core.levels import AUTHENTICATED, CUSTOMER

facts_app = typer.Typer(help="The fact room: find, record, train.", no_args_is_help=True, rich_markup_mode=None)


@facts_app.callback()
def facts() -> None:
    """The fact room: find, record, train."""


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
    from support_agent.company.company import Company
    from support_agent.facts.opening import open_workflow
    from support_agent.facts.spending import Budget
    from support_agent.ops.facts_page import check_page, facts_page, write_page
    from support_agent.ops.retrieval_report import report_on, searchable

    check_page(html)
    settings = settings_of(config)
    company = Company.load(settings.company)
    documents = searchable(company.documents, now().date(), level)
    with open_workflow(settings, company, documents.keys()) as workflow:
        found = workflow.find(question, Budget(settings.grading.max_tokens))
        graph = None if html is None else workflow.entity_graph(found)
    report = report_on(question, found, documents)
    print_data(report, as_json, printing.retrieval(report))
    if html is not None and graph is not None:
        write_page(html, facts_page(question, found, documents, graph))
        typer.echo(f"{html}: written", err=True)
    if not report.is_answered:
        raise typer.Exit(FAILED)


@facts_app.command("record")
def record(
    mails: Annotated[Path, typer.Argument(metavar="DIR", help="Labelled mails, as those of `support-agent eval`.")],
    out: Annotated[Path, typer.Option(metavar="FILE.jsonl", help="Cases are appended; those it has are kept.")],
    cases: Annotated[int, typer.Option(min=1, help="Stop when the file has so many.")] = 100,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of the order of the mails.")] = 1,
    config: ConfigOption = None,
) -> None:
    """Look into the questions of labelled mails along every path, with the configured model, for `facts train`.

    Of mails with one question that a document or nobody answers. A question takes the embedded model some ten seconds,
    with drafts a minute or more. Stop it at any time: the same command goes on.
    """
    from support_agent.company.company import Company
    from support_agent.facts.learning import recording
    from support_agent.facts.opening import open_recording
    from support_agent.ops.evals.mail_labels import read_labels
    from support_agent.ops.evals.mail_questions import askings
    from support_agent.ops.retrieval_report import searchable

    settings = settings_of(config)
    company = Company.load(settings.company)
    documents = searchable(company.documents, now().date(), CUSTOMER)
    labels = read_labels(mails)
    with open_recording(settings, company, documents.keys(), drafts=settings.grading.drafts) as (workflow, read):
        asked = askings(labels, read)
        done = recording.record(out, asked, workflow, company.by_number, cases=cases, seed=seed)
    typer.echo(f"{out}: {counted(done, 'recorded case')}", err=True)


@facts_app.command("train")
def train(
    recorded: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="What `facts record` wrote, to learn from.")],
    reported: Annotated[
        Path, typer.Option("--reported", metavar="FILE.jsonl", help="Other recorded cases, to measure on.")
    ],
    episodes: Annotated[int, typer.Option(min=0, max=1_000_000, help="Plays of recorded cases.")] = 8_000,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of everything that is drawn.")] = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the weights go; default: beside the configuration.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE.svg", help="Draw the learning curve.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train what decides how far a question is looked into: on a rule, recorded cases, and what people did.

    What people did stands in the store: their replies to packets of cases that were given up. Prints how the trained
    policy does on the reported cases, beside the rules and chance. It decides nothing until it is configured.
    """
    from support_agent.app import open_store
    from support_agent.company.document_languages import load_library
    from support_agent.desk.human_feedback import escalated_cases
    from support_agent.facts.learning import policy_weights, training
    from support_agent.facts.learning.comparison import TrainedPolicy, compared, rewards_of
    from support_agent.facts.learning.recorded import apart, read_cases
    from support_agent.ops.evals.picture import check_picture, write_learning_curve

    check_picture(picture)
    settings, folder = settings_of(config), config_file(config).parent.absolute()
    learned, held_out = apart(read_cases(recorded), read_cases(reported))
    with open_store(settings) as store:
        library = load_library(settings.company.policies, settings.company.locale)
        escalated = escalated_cases(store, (*library.documents, *library.translations))
    course = tuple(training.trained(learned, episodes, seed, escalated=escalated))
    measured = compared(course[-1], held_out)  # before anything is written: it may fail
    trained = TrainedPolicy(
        policy_file=policy_weights.save(course[-1], (out or folder).absolute()),
        recorded=len(learned),
        episodes=episodes,
        seed=seed,
        people=len(escalated),
        measured=measured,
    )
    print_data(trained, as_json, printing.trained_policy(trained, folder))
    if picture is not None:
        write_learning_curve(picture, rewards_of(course, held_out), trained.measured[1].reward)
