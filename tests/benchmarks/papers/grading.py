"""`python -m tests.benchmarks.papers.grading --company NAME --chunk-tokens 256`: the tables of the grading workflow.

Twelve questions to each company, answered plainly (the passages that are found, and a draft from them) and by the
whole workflow, with the web as servers on loopback: the path of each question (table b), and by kind of question how
many ended right in what time (table a). Tables 1 of the paper are those with chunks of 256 tokens, 2 with 512. The
drafts' seed is `grading.seed`; intervals are Wilson's. `--company all` adds up over the companies; what the product
decides was never chosen on those of `REPORTED`. Checked by tests/unit/benchmarks/papers/test_grading.py and
test_commands.py.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from support_agent.cli.options import ConfigOption, JsonOption, print_data
from support_agent.company.company import Company
from support_agent.config.facts import ChunkUnit
from support_agent.config.search import SearchSettings
from support_agent.config.settings import Settings
from support_agent.core.levels import CUSTOMER
from support_agent.errors import ConfigError
from support_agent.facts.chunks import document_source
from support_agent.facts.inquiry.memory import begin, with_draft, with_evidence
from support_agent.facts.inquiry.nodes import Nodes
from support_agent.facts.inquiry.workflow import CASE, Workflow
from support_agent.facts.opening import open_workflow
from support_agent.facts.spending import Budget, Calls
from support_agent.ops.retrieval_report import searchable
from support_agent.tools.fact_room import FindingReason, RetrievalResult
from support_agent.tools.fact_trace import Cost
from tests.benchmarks.companies import TODAY, WITH_PAPERS, company_settings, demo_settings
from tests.benchmarks.papers.command import DataOption, quiet_settings, run
from tests.benchmarks.papers.local_web import known_by, local_web
from tests.benchmarks.papers.process_questions import FOLDER, Documents, Question, load_questions
from tests.benchmarks.papers.process_table import ProcessRow, Way, process_row, report_of, table
from tests.benchmarks.papers.web_questions import SetName, load_set

DEMO = "demo"
REPORTED = ("rail", "insurer")
COMPANIES = (DEMO, *WITH_PAPERS, *REPORTED)
ALL = "all"
OVERLAP_SHARE = 8
"""A chunk repeats at most one part in so many of the one before it; the paper does not say."""

Find = Callable[[str, Budget], RetrievalResult]


class ChunkTokens(StrEnum):
    """The paper's chunk sizes, in tokens of the embedding model."""

    TABLES_1 = "256"
    TABLES_2 = "512"


def web() -> AbstractContextManager[SearchSettings]:
    """The web as this benchmark asks it: servers on loopback that answer at once, and the settings that ask them."""
    return local_web(known_by(load_set(SetName.RECENT, None).articles, seed=1), delay=0.0)


@contextmanager
def open_ways(settings: Settings, company: Company) -> Iterator[Mapping[Way, Find]]:
    """The ways to look into a question of one company; models are closed at the end."""
    allowed = searchable(company.documents, TODAY.date(), CUSTOMER).keys()
    with open_workflow(settings, company, allowed) as workflow:
        yield {Way.PLAIN: partial(plain, workflow), Way.WHOLE: workflow.find}


def plain(workflow: Workflow, question: str, budget: Budget) -> RetrievalResult:
    """Retrieval and a draft, without a grade: every question is answered with what was found."""
    off = {"threshold_document": 0.0, "threshold_router": 0.0}
    nodes = Nodes(
        calls=Calls(workflow.judge, workflow.writer, budget),
        retriever=workflow.retriever,
        web=None,
        settings=workflow.settings.model_copy(update=off),
        clock=workflow.clock,
        read=workflow.read,
        question=question,
    )
    memory = begin(CASE, question)
    memory = with_evidence(memory, nodes.retrieve(memory).found)
    memory = with_draft(memory, nodes.write(memory))
    cost = sum((visit.cost for visit in nodes.visits), Cost())
    return RetrievalResult(
        reason=FindingReason.ANSWERED,
        evidence=nodes.evidence(memory, is_answered=True),
        index_version=workflow.index_version,
        trace=tuple(nodes.visits),
        **dict(cost),
    )


def evaluate(
    company: str, questions: Sequence[Question], ways: Mapping[Way, Find], documents: Documents, max_tokens: int
) -> list[ProcessRow]:
    """Look into each question in each way, with a budget of its own."""
    return [
        process_row(company, way, question, find(question.question, Budget(max_tokens)), documents)
        for way, find in ways.items()
        for question in questions
    ]


def measured(settings: Settings, name: str, data: Path | None) -> list[ProcessRow]:
    """The rows of one company; `data`: other questions than its own."""
    with tempfile.TemporaryDirectory() as folder:
        settings = company_settings(name, settings, Path(folder))
        company = Company.load(settings.company)
        try:
            documents: Documents = {int(one.number): document_source(one) for one in company.documents}
            questions = load_questions(data or FOLDER / f"{name}.toml", documents)
            with open_ways(settings, company) as ways:
                return evaluate(name, questions, ways, documents, settings.grading.max_tokens)
        finally:
            company.accounts.close()


def main(
    company: Annotated[str, typer.Option("--company", help=f"One of {', '.join(COMPANIES)}; or {ALL}.")] = DEMO,
    chunk_tokens: Annotated[ChunkTokens, typer.Option("--chunk-tokens", help="Longest chunk.")] = ChunkTokens.TABLES_1,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the grading workflow questions about a company's documents, and show what each goes through.

    Models, thresholds and bounds are those of the configuration, where --config names one. --data FILE asks other
    questions: TOML, [[questions]] with kind (easy, regular, hard or unanswerable), question, sections and answers.
    """
    if company not in (*COMPANIES, ALL):
        raise ConfigError(f"--company {company}: write one of {', '.join(COMPANIES)}, or {ALL}")
    size = int(chunk_tokens)
    with ExitStack() as stack:
        settings = quiet_settings(config, optional=False) if config else stack.enter_context(demo_settings())
        cut = {"chunk_unit": ChunkUnit.TOKENS, "chunk_size": size, "chunk_overlap": size // OVERLAP_SHARE}
        changed = {"facts": settings.facts.model_copy(update=cut), "search": stack.enter_context(web())}
        settings = settings.model_copy(update=changed)
        names = COMPANIES if company == ALL else (company,)
        report = report_of(row for name in names for row in measured(settings, name, data))
    print_data(report, as_json, table(report))


if __name__ == "__main__":
    run(main, "grading")
