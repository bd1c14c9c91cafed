"""`support-agent facts`: find evidence for a question, and train the policy that decides when to escalate.

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
        int, typer.Option(min=0, max=3, help="The sender's level, 0 to 3: it limits the documents.")
    ] = AUTHENTICATED,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE.html", help="Also write everything as a web page, to a new file."),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the sentences of the documents that answer a question, and show each step with its grade.

    The model writes the drafts and the rewritten questions; they are marked as such, and no customer gets them. --html
    shows the documents with the evidence highlighted, the steps and entities of the draft, and what was rejected. Exits
    with 1 if no document answers.
    """
    from support_agent.company.company import Company
    from support_agent.facts.opening import open_workflow
    from support_agent.facts.spending import Budget
    from support_agent.ops.facts_page import check_page, facts_page, write_page
    from support_agent.ops.retrieval_report import report_on, searchable

    check_page(html)
    settings = settings_of(config)
    company = Company.load(settings.company)
    documents = searchable(company.documents, settings.company.day_of(now()), level)
    with open_workflow(settings, company, documents.keys()) as workflow:
        found = workflow.find(question, Budget(settings.grading.max_tokens))
        graph = None if html is None else workflow.entity_graph(found)
    report = report_on(question, found, documents)
    print_data(report, as_json, printing.retrieval(report))
    if html is not None and graph is not None:
        write_page(html, facts_page(question, found, documents, graph))
        typer.echo(f"{html}: written", err=True)
    if not found.is_answered:
        raise typer.Exit(FAILED)


@facts_app.command("record")
def record(
    mails: Annotated[Path, typer.Argument(metavar="DIR", help="Labelled mails, as those of `support-agent eval`.")],
    out: Annotated[Path, typer.Option(metavar="FILE.jsonl", help="The file that recorded cases are appended to.")],
    cases: Annotated[int, typer.Option(min=1, help="Stop when the file has this many cases.")] = 100,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the order of the mails.")] = 1,
    config: ConfigOption = None,
) -> None:
    """Record what every path of the fact room finds for the questions of labelled mails, for `facts train`.

    Only mails with one question count, and only if a document or a person must answer it. The embedded model takes
    about ten seconds for a question, a minute or more with drafts. You can stop at any time: the same command
    continues.
    """
    from support_agent.company.company import Company
    from support_agent.facts.learning import recording
    from support_agent.facts.opening import open_recording
    from support_agent.ops.evals.mail_labels import read_labels, require_known
    from support_agent.ops.evals.mail_questions import askings
    from support_agent.ops.retrieval_report import searchable

    settings = settings_of(config)
    company = Company.load(settings.company)
    documents = searchable(company.documents, settings.company.day_of(now()), CUSTOMER)
    labels = read_labels(mails)
    require_known(labels, company)
    with open_recording(settings, company, documents.keys(), drafts=settings.grading.drafts) as (workflow, read):
        asked = askings(labels, read)
        done = recording.record(out, asked, workflow, company.by_number, cases=cases, seed=seed)
    typer.echo(f"{out}: {counted(done, 'recorded case')}", err=True)


@facts_app.command("train")
def train(
    recorded: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="Cases of `facts record` to learn from.")],
    reported: Annotated[
        Path, typer.Option("--reported", metavar="FILE.jsonl", help="Other recorded cases to measure on.")
    ],
    episodes: Annotated[int, typer.Option(min=0, max=1_000_000, help="How often a recorded case is played.")] = 8_000,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of all random numbers.")] = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for the weights; default: that of the configuration.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE.svg", help="Draw the learning curve.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train the policy that decides how long to look for evidence: on a rule, recorded cases and human feedback.

    Human feedback is in the store: the replies of people to packets of escalated cases. The command measures the
    trained policy on the reported cases and compares it with the rules and with chance. The policy decides nothing
    until you configure it.
    """
    from support_agent.app.wiring import open_store
    from support_agent.company.document_languages import load_library
    from support_agent.desk.human_feedback import escalated_cases
    from support_agent.facts.learning.comparison import train_policy
    from support_agent.facts.learning.recorded import apart, read_cases
    from support_agent.ops.evals.picture import check_picture, write_learning_curve

    check_picture(picture)
    settings, folder = settings_of(config), config_file(config).parent.absolute()
    learned, held_out = apart(read_cases(recorded), read_cases(reported))
    with open_store(settings) as store:
        library = load_library(settings.company.policies, settings.company.locale)
        escalated = escalated_cases(store, (*library.documents, *library.translations))
    trained, curve = train_policy(learned, held_out, escalated, episodes, seed, out or folder)
    print_data(trained, as_json, printing.trained_policy(trained, folder))
    if picture is not None:
        write_learning_curve(picture, curve, trained.measured[1].reward)
