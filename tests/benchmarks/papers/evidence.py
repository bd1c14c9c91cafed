"""`python -m tests.benchmarks.papers.evidence [--by-model]`: which sentences of a document stand behind an answer.

What is found is compared with the sentences that are right, by several ways (`evidence_ways.py`): the fact room's own,
by the graph; the same without the graph; two that it must be better than (for each sentence of the answer the sentence
that is nearest by meaning, or that shares most words); and direct prompting: the language model cites sentences by
number. The cases are those of `constructed.py`, of the companies that nothing is fitted to, or marked by people. Ways
that need the model run on a sample. The intervals hold 95% of the resamples of the cases.
Checked by tests/unit/benchmarks/papers/test_evidence.py.
Source: GE-Chat (2025), which compares itself with direct prompting on 1,000 cases.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from pydantic import AliasChoices, Field

from support_agent.cli.options import ConfigOption, JsonOption, print_data
from support_agent.cli.terminal import as_table
from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.core.frozen import Frozen
from support_agent.demo.workspace import CONFIG_FILE
from support_agent.errors import ConfigError
from support_agent.facts.chunks import Source, document_source, page_source
from support_agent.models.judge import Judge, ModelJudge
from support_agent.models.opening import close, open_embedder, open_model
from support_agent.models.progress import stderr_progress
from support_agent.models.writer import Writer
from support_agent.ops.evals.files import data_file
from support_agent.tools.base import Similarity
from tests.benchmarks.companies import demo_settings
from tests.benchmarks.papers.command import ByModelOption, DataOption, patient, quiet_settings, run
from tests.benchmarks.papers.constructed import REPORTED, constructed, documents_of
from tests.benchmarks.papers.evidence_ways import FindEvidence, ways_with_model, ways_without_model
from tests.benchmarks.papers.files import read_json_lines
from tests.benchmarks.papers.resamples import middle, resamples
from tests.benchmarks.papers.retrieval import Cosines, KeptEmbedder

FILE = "evidence.jsonl"

Position = Annotated[int, Field(ge=0)]


class Case(Frozen):
    """One line of the file.

    `document` is the number of a document of the company, or a text; its sentences are counted from 0. `sentences` are
    those that stand behind the answer, 1 or more; the answer may be called `draft`.
    """

    question: str
    answer: str = Field(validation_alias=AliasChoices("answer", "draft"), min_length=1)
    document: int | str
    sentences: tuple[Position, ...] = Field(min_length=1)


class Marked(NamedTuple):
    """A case with its document read, and the positions that are right."""

    question: str
    answer: str
    source: Source
    gold: frozenset[int]


class Row(Frozen):
    """One way over all cases: 0..1, of chosen sentences all cases together; `chosen` is the mean number of them.

    `exact` is the share of cases in which exactly the marked sentences were chosen; `score` the mean of
    `evidence_score`. The ranges hold 95% of the resamples of the cases.
    """

    name: str
    precision: float
    recall: float
    f1: float
    f1_range: tuple[float, float]
    score: float
    score_range: tuple[float, float]
    exact: float
    chosen: float


class Report(Frozen):
    """How many answers were looked into, how many sentences are right, and a row a way."""

    cases: int
    marked: int
    rows: tuple[Row, ...]


class Reports(Frozen):
    """The ways that need no language model on all cases, and all ways on a sample of them; None: none was asked for."""

    everything: Report
    sample: Report | None


def load_cases(data: Path, documents: Mapping[int, Source]) -> tuple[Marked, ...]:
    """Read a file of cases, one JSON object a line.

    Args:
        data: The file, or the folder that holds evidence.jsonl.
        documents: The company's, by number.
    Raises:
        ConfigError: the file is not there, a line is no case, or its document or a sentence of it does not exist.
    """
    path = data_file(data, FILE)
    return tuple(_marked(path, case, documents) for case in read_json_lines(path, Case))


def _marked(path: Path, case: Case, documents: Mapping[int, Source]) -> Marked:
    if isinstance(case.document, str):
        source = page_source("text", "", case.document)
    elif case.document in documents:
        source = documents[case.document]
    else:
        raise ConfigError(
            f"{path}: {case.question!r}: the company has no document {case.document}: name its workspace with --config"
        )
    if max(case.sentences) >= len(source.sentences):
        raise ConfigError(
            f"{path}: {case.question!r}: sentence {max(case.sentences)} of a document that has "
            f"{len(source.sentences)}: count them from 0"
        )
    return Marked(case.question, case.answer, source, frozenset(case.sentences))


def evaluate(cases: Sequence[Marked], ways: Mapping[str, FindEvidence], similarity: Similarity, seed: int) -> Report:
    """Find the evidence of each case by each way, in their order; 1 case or more.

    Args:
        cases: What is looked into.
        ways: By name.
        similarity: Of the evidence score.
        seed: Of the resamples.
    """
    rows = []
    for name, find in ways.items():
        found = [frozenset(find(case.question, case.answer, case.source)) for case in cases]
        scores = [evidence_score(chosen, case, similarity) for chosen, case in zip(found, cases, strict=True)]
        rows.append(measured(name, found, [case.gold for case in cases], scores, seed))
    return Report(cases=len(cases), marked=sum(len(case.gold) for case in cases), rows=tuple(rows))


def evidence_score(chosen: Collection[int], case: Marked, similarity: Similarity) -> float:
    """How near the chosen sentences come to the right ones, and how short they are beside them: 0..1.

    The cosine of the two texts, those below 0 being 0, times min(1, words of the right ones / words of the chosen).
    It is this project's measure in the place of GE-Chat's equation 4, whose wording was not at hand: its values are
    not comparable with the paper's.
    """
    said, wanted = (
        " ".join(case.source.sentences[position].text for position in sorted(one)) for one in (chosen, case.gold)
    )
    if not said:
        return 0.0
    (cosine,) = similarity.similarities(wanted, [said])
    return min(max(cosine, 0.0), 1.0) * min(1.0, len(wanted.split()) / len(said.split()))


def measured(
    name: str,
    found: Sequence[frozenset[int]],
    gold: Sequence[frozenset[int]],
    scores: Sequence[float],
    seed: int,
) -> Row:
    """The measures of one way on 1 case or more; where nothing was chosen its precision is 0."""
    pairs = list(zip(found, gold, strict=True))
    counts = np.array([(len(chosen & wanted), len(chosen), len(wanted)) for chosen, wanted in pairs])
    right, n_found, n_gold = map(int, counts.sum(axis=0))
    draws = resamples(len(pairs), seed)
    drawn = counts[draws].sum(axis=1)
    return Row(
        name=name,
        precision=right / max(1, n_found),
        recall=right / max(1, n_gold),
        f1=2 * right / max(1, n_found + n_gold),
        f1_range=middle(2 * drawn[:, 0] / np.maximum(1, drawn[:, 1] + drawn[:, 2])),
        score=float(np.mean(scores)),
        score_range=middle(np.array(scores)[draws].mean(axis=1)),
        exact=sum(chosen == wanted for chosen, wanted in pairs) / len(pairs),
        chosen=n_found / len(pairs),
    )


def table(reports: Reports) -> str:
    """The reports as lines of text."""
    parts = [_table("all cases", reports.everything)]
    if reports.sample is not None:
        parts.append(_table("a sample of them", reports.sample))
    return "\n\n".join(parts)


def _table(what: str, report: Report) -> str:
    rows: list[tuple[str, ...]] = [("", "PRECISION", "RECALL", "F1", "95%", "SCORE", "95%", "EXACT", "SENTENCES")]
    rows += [
        (
            *(row.name, f"{row.precision:.1%}", f"{row.recall:.1%}", f"{row.f1:.1%}", _range(row.f1_range)),
            *(f"{row.score:.3f}", f"{row.score_range[0]:.3f} to {row.score_range[1]:.3f}"),
            *(f"{row.exact:.1%}", f"{row.chosen:.1f}"),
        )
        for row in report.rows
    ]
    return f"Evidence, {what}: {report.cases} answers, {report.marked} right sentences\n\n{as_table(rows)}"


def _range(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:.1%} to {bounds[1]:.1%}"


def constructed_cases(settings: Settings, n: int, seed: int) -> tuple[Marked, ...]:
    """The cases constructed from the documents of the reported companies."""
    cases = constructed(documents_of(REPORTED, settings), n, seed)
    return tuple(Marked(case.question, case.answer, case.source, case.gold) for case in cases)


def main(
    data: DataOption = None,
    cases: Annotated[int, typer.Option(min=1, help="Cases that are constructed.")] = 1_000,
    by_model: ByModelOption = False,
    sample: Annotated[int, typer.Option(min=1, help="Cases that the language model is asked about.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Of the cases, the sample and the resamples.")] = 1,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the graph's sentences with the nearest by words and by meaning, and with those that the model cites.

    The cases are constructed from documents; with --data people marked them: evidence.jsonl has one line an answer:
    {"question": "...", "answer": "...", "document": 6, "sentences": [0, 3]}. The document is one of the company's, by
    its number, or a text; its sentences are counted from 0. The answer may be called draft. --by-model asks the
    language model, too, about a sample of the cases: which sentences it cites, and whether one bears a claim out.
    """
    settings = quiet_settings(config)
    if data is None:
        with demo_settings() as demo:
            found = constructed_cases(demo, cases, seed)
    else:
        has_company = config is not None or Path(CONFIG_FILE).is_file()
        company = Company.load(settings.company).documents if has_company else ()
        found = load_cases(data, {document.number: document_source(document) for document in company})
    similarity = Cosines(KeptEmbedder(open_embedder(settings)))
    ways = ways_without_model(similarity, settings.evidence)
    everything, few = evaluate(found, ways, similarity, seed), None
    if by_model:
        drawn = random.Random(seed).sample(found, min(sample, len(found)))
        with open_both(settings) as (judge, writer):
            ways |= ways_with_model(similarity, settings.evidence, judge, writer, settings.grading.seed)
            few = evaluate(drawn, ways, similarity, seed)
    reports = Reports(everything=everything, sample=few)
    print_data(reports, as_json, table(reports))


@contextmanager
def open_both(settings: Settings) -> Iterator[tuple[Judge, Writer]]:
    """What says yes or no, and what writes, on one model; closed at the end.

    Raises:
        ConfigError: it cannot be used.
    """
    model = open_model(patient(settings), stderr_progress())
    try:
        yield ModelJudge(model), model
    finally:
        close(model)


if __name__ == "__main__":
    run(main, "evidence")
