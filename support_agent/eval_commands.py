"""`support-agent eval`: what the parts of the fact room are worth on questions whose answers are known.

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


class _Asked(NamedTuple):
    """What the command was told."""

    data: Path | None
    sample: int
    seed: int
    by_model: bool
    config: Path | None


def eval_(
    benchmark: Annotated[Benchmark, typer.Argument(metavar="BENCHMARK", help="What is measured; see above.")],
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
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the fact room: wikiqa, dstc11, evidence, grading or search.

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

    is_asked_of_model = benchmark in {Benchmark.EVIDENCE, Benchmark.SEARCH}
    if (sample and benchmark is not Benchmark.DSTC11) or (by_model and not is_asked_of_model):
        raise ConfigError("--sample is an option of dstc11, --by-model of evidence and search: leave it out")
    settings = settings_of(config, optional=benchmark is not Benchmark.GRADING and benchmark is not Benchmark.SEARCH)
    configure_log(settings.log.model_copy(update={"level": "warning"}))
    measured, text = _measure(benchmark, settings, _Asked(data, sample, seed, by_model, config))
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


def _data(asked: _Asked) -> Path:
    if asked.data is None:
        raise ConfigError("say where the questions and their answers are, with --data DIR: `support-agent eval --help`")
    return asked.data


def _documents(settings: Settings) -> dict[int, Source]:
    """The company's documents by number."""
    from support_agent.company.company import Company
    from support_agent.facts.chunks import document_source

    return {document.number: document_source(document) for document in Company.load(settings.company).documents}
