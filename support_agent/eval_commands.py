"""`support-agent eval`: what choices and the parts of the fact room are worth where the right answers are known.

Checked by tests/unit/test_eval_commands.py and tests/integration/facts/test_eval.py.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, assert_never

import typer
from pydantic import BaseModel

from support_agent.commands import ConfigOption, JsonOption, now, print_data, settings_of
from support_agent.errors import ConfigError
from support_agent.levels import CUSTOMER
from support_agent.settings import Settings
from support_agent.workspace import CONFIG_FILE

if TYPE_CHECKING:
    from support_agent.facts.chunks import Source


class Benchmark(StrEnum):
    """What is measured."""

    WIKIQA = "wikiqa"
    DSTC11 = "dstc11"
    EVIDENCE = "evidence"
    GRADING = "grading"
    SEARCH = "search"
    INTENTS = "intents"
    MAILS = "mails"


OF_A_COMPANY = {Benchmark.GRADING, Benchmark.SEARCH, Benchmark.MAILS}
"""What needs a configuration."""


class ModelVotes(StrEnum):
    """`planner.model_votes`."""

    ALWAYS = "always"
    DOUBTFUL = "doubtful"
    NEVER = "never"


class _Asked(NamedTuple):
    """What the command was told."""

    data: Path | None
    sample: int
    seed: int
    by_model: bool
    config: Path | None
    train: Path | None
    test: Path | None
    oos: Path | None
    picture: Path | None
    model_votes: ModelVotes | None

    def options(self) -> dict[str, tuple[object, set[Benchmark]]]:
        """The options that some benchmarks have, with their values and who has them."""
        choices = {Benchmark.INTENTS, Benchmark.MAILS}
        return {
            "--sample": (self.sample, {Benchmark.DSTC11}),
            "--by-model": (self.by_model, {Benchmark.EVIDENCE, Benchmark.SEARCH}),
            "--data": (self.data, set(Benchmark) - {Benchmark.INTENTS}),
            "--train": (self.train, {Benchmark.INTENTS}),
            "--test": (self.test, {Benchmark.INTENTS}),
            "--oos": (self.oos, {Benchmark.INTENTS}),
            "--picture": (self.picture, choices),
            "--model-votes": (self.model_votes, choices),
        }


TrainOption = Annotated[Path | None, typer.Option("--train", metavar="FILE", help="intents: example questions.")]
TestOption = Annotated[Path | None, typer.Option("--test", metavar="FILE", help="intents: questions to decide.")]
OosOption = Annotated[Path | None, typer.Option("--oos", metavar="FILE", help="intents: questions for a person.")]
PictureOption = Annotated[
    Path | None,
    typer.Option("--picture", metavar="FILE.svg", help="intents, mails: risk against coverage, and reliability."),
]
VotesOption = Annotated[
    ModelVotes | None, typer.Option("--model-votes", help="intents, mails: instead of planner.model_votes.")
]


def eval_(
    benchmark: Annotated[Benchmark, typer.Argument(metavar="BENCHMARK", help="What is measured; see above.")],
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", show_default=False, help="The same as --data.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="The folder of the benchmark's files, or the file.")
    ] = None,
    sample: Annotated[
        int, typer.Option(min=0, metavar="N", help="dstc11: so many turns go through the language model too.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="dstc11: of the halves and of the sample.")] = 1,
    by_model: Annotated[
        bool, typer.Option("--by-model", help="evidence, search: by the model's yes or no too.")
    ] = False,
    train: TrainOption = None,
    test: TestOption = None,
    oos: OosOption = None,
    picture: PictureOption = None,
    model_votes: VotesOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure choices (intents, mails) or the fact room (wikiqa, dstc11, evidence, grading, search).

    intents reads lines of {"text": "...", "label": "..."}: those of --train are the example questions of their labels,
    those of --test and --oos are decided. The label "oos", and every line of --oos, is for a person.

    mails DIR decides .eml files of your own, as dry runs on the day they are dated. labels.jsonl beside them has one
    line a mail: {"file": "1.eml", "customer": "ada@example.org", "level": 3, "kind": "invoice", "language": "en",
    "expected": [["send_document(1)", "escalate"]], "sections": [{"1": {"any_of": ["Fees"], "needs": []}}]}.
    expected has a list a question, with each outcome that is right: send_document(NUMBER), send_account_field(FIELD),
    send_table(SERIES,PERIOD), send_aggregate(SERIES,PERIOD,total), send_record(KIND,ID,COLUMN or all), escalate or
    ask_clarification. customer, kind, language and sections may be left out; with sections, a document with none of
    the headings of any_of is a wrong answer.

    wikiqa ranks the sentences of a page (WikiQA-test.tsv as published): MAP and MRR by vectors, by words, fused.

    dstc11 chooses review sentences for dialogues (logs.json, labels.json and knowledge.json as published), with each
    part switched off in turn; with --sample also the parts that need the language model.

    evidence.jsonl has one line an answer: {"question": "...", "answer": "...", "document": 6, "sentences": [0, 3]}.
    The document is one of the company's, by its number, or a text; its sentences are counted from 0. The answer may
    be called draft. The graph's sentences are compared with the nearest by words and by meaning; --by-model asks the
    language model as well whether a sentence bears the answer out.

    grading is the process table of the grading workflow. process.toml has [[questions]] with kind (easy, regular, hard
    or unanswerable), question, documents, and perhaps sentences and answers; without --data it is the demo company's.

    search.jsonl has one line a question: {"question": "...", "answer": "..."}, or a list of answers. The sources of
    [search] are asked at once and one after the other.
    """
    from support_agent.app import configure_log

    asked = _Asked(data or folder, sample, seed, by_model, config, train, test, oos, picture, model_votes)
    foreign = [name for name, (value, of) in asked.options().items() if value and benchmark not in of]
    if foreign:
        raise ConfigError(f"{', '.join(foreign)}: no option of {benchmark}: leave it out")
    if folder is not None and data is not None:
        raise ConfigError(f"{folder} and --data {data}: name one of them")
    votes = {} if model_votes is None else {"planner.model_votes": model_votes.value}
    settings = settings_of(config, votes, optional=benchmark not in OF_A_COMPANY)
    configure_log(settings.log.model_copy(update={"level": "warning"}))
    measured, text = _measure(benchmark, settings, asked)
    print_data(measured, as_json, text)


def _measure(benchmark: Benchmark, settings: Settings, asked: _Asked) -> tuple[BaseModel, str]:
    match benchmark:
        case Benchmark.WIKIQA:
            return _wikiqa(settings, asked)
        case Benchmark.DSTC11:
            return _dstc11(settings, asked)
        case Benchmark.EVIDENCE:
            return _evidence(settings, asked)
        case Benchmark.GRADING:
            return _grading(settings, asked)
        case Benchmark.SEARCH:
            return _search(settings, asked)
        case Benchmark.INTENTS:
            return _intents(settings, asked)
        case Benchmark.MAILS:
            return _mails(settings, asked)
        case _ as never:
            assert_never(never)


def _wikiqa(settings: Settings, asked: _Asked) -> tuple[BaseModel, str]:
    from support_agent.app import open_embedder
    from support_agent.eval_parts import KeptEmbedder, sentence_search
    from support_agent.evals.wikiqa import evaluate, load_questions, table

    questions = load_questions(_data(asked))
    report = evaluate(questions, sentence_search(KeptEmbedder(open_embedder(settings))))
    return report, table(report)


def _dstc11(settings: Settings, asked: _Asked) -> tuple[BaseModel, str]:
    from support_agent.app import open_embedder
    from support_agent.eval_parts import KeptEmbedder, open_variants, retriever_among, sentence_search
    from support_agent.evals.dstc11 import evaluate
    from support_agent.evals.dstc11_data import load_benchmark
    from support_agent.evals.dstc11_measures import sources_of
    from support_agent.evals.dstc11_parts import evaluate_parts
    from support_agent.evals.dstc11_table import Measured, table

    benchmark = load_benchmark(_data(asked))
    embedder = KeptEmbedder(open_embedder(settings))
    found = Measured(report=evaluate(benchmark, embedder, sentence_search(embedder), seed=asked.seed))
    if asked.sample:
        with open_variants(settings, embedder, sources_of(benchmark)) as variants:
            parts = evaluate_parts(
                benchmark,
                retriever_among(embedder, sources_of(benchmark)),
                variants,
                sample=asked.sample,
                seed=asked.seed,
                max_tokens=settings.grading.max_tokens,
            )
        found = Measured(report=found.report, parts=parts)
    return found, table(found)


def _evidence(settings: Settings, asked: _Asked) -> tuple[BaseModel, str]:
    from support_agent.eval_parts import evidence_ways, open_judge
    from support_agent.evals.evidence import evaluate, load_cases, table

    has_company = asked.config is not None or Path(CONFIG_FILE).is_file()
    cases = load_cases(_data(asked), _documents(settings) if has_company else {})
    with open_judge(settings) if asked.by_model else nullcontext() as judge:
        report = evaluate(cases, evidence_ways(settings, judge))
    return report, table(report)


def _grading(settings: Settings, asked: _Asked) -> tuple[BaseModel, str]:
    import support_agent.demo
    from support_agent.app import open_workflow
    from support_agent.company.company import Company
    from support_agent.evals.process import evaluate, load_questions, table
    from support_agent.fact_story import searchable
    from support_agent.facts.spending import Budget

    documents = _documents(settings)
    questions = load_questions(asked.data or Path(support_agent.demo.__file__).parent, documents)
    company = Company.load(settings.company)
    allowed = searchable(company.documents, now().date(), CUSTOMER).keys()
    with open_workflow(settings, company, allowed) as workflow:
        report = evaluate(
            questions, lambda question: workflow.find(question, Budget(settings.grading.max_tokens)), documents
        )
    return report, table(report)


def _search(settings: Settings, asked: _Asked) -> tuple[BaseModel, str]:
    from support_agent.app import open_embedder
    from support_agent.eval_parts import open_judge, web_searches
    from support_agent.evals.web_search import evaluate, load_questions, table

    questions = load_questions(_data(asked))
    searches = web_searches(settings, lambda: open_embedder(settings))
    with open_judge(settings) if asked.by_model else nullcontext() as judge:
        report = evaluate(questions, searches, sources=settings.search.sources, stopwatch=time.monotonic, judge=judge)
    return report, table(report)


def _intents(settings: Settings, asked: _Asked) -> tuple[BaseModel, str]:
    from support_agent.eval_parts import open_intents
    from support_agent.evals.intents import OUT_OF_SCOPE, evaluate, read_lines, table, topics_of_lines
    from support_agent.evals.picture import check_picture, write_picture

    if asked.train is None or asked.test is None:
        raise ConfigError("say where the questions are, with --train FILE and --test FILE: `support-agent eval --help`")
    check_picture(asked.picture)
    topics, lines = topics_of_lines(read_lines(asked.train)), read_lines(asked.test)
    outside = read_lines(asked.oos) if asked.oos else []
    lines += [line.model_copy(update={"label": OUT_OF_SCOPE}) for line in outside]
    if not topics:
        raise ConfigError(f"{asked.train}: no line with a label: without one nothing can be chosen")
    with open_intents(settings, topics) as (search, way):
        report, decided = evaluate(search, way, lines, time.perf_counter)
    if asked.picture is not None:
        write_picture(asked.picture, decided, len(decided))
    return report, table(report)


def _mails(settings: Settings, asked: _Asked) -> tuple[BaseModel, str]:
    from support_agent.eval_parts import open_mail_trial
    from support_agent.evals.mail_labels import read_labels
    from support_agent.evals.mails import evaluate, line_of, report_of, table
    from support_agent.evals.picture import check_picture, write_picture

    check_picture(asked.picture)
    labels = read_labels(_data(asked))
    results = evaluate(labels, open_mail_trial(settings))
    if asked.picture is not None:
        write_picture(asked.picture, [one for one in results if one.score.answered], len(results))
    report = report_of(results)
    return report, "\n".join([*map(line_of, results), table(report)])


def _data(asked: _Asked) -> Path:
    if asked.data is None:
        raise ConfigError("say where the questions and their answers are, with --data DIR: `support-agent eval --help`")
    return asked.data


def _documents(settings: Settings) -> dict[int, Source]:
    """The company's documents by number."""
    from support_agent.company.company import Company
    from support_agent.facts.chunks import document_source

    return {document.number: document_source(document) for document in Company.load(settings.company).documents}
