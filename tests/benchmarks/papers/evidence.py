"""`python -m tests.benchmarks.papers.evidence --data DIR`: which sentences of a document stand behind an answer.

What is found is compared with the sentences that people marked, by several ways; each is a function from a question,
an answer and a source to positions of the source's sentences. Here are the fact room's own way, by the graph, and two
that it must be better than: for each sentence of the answer the sentence that is nearest by meaning, or that shares
most words. Checked by tests/unit/papers/test_evidence.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AliasChoices, Field

from support_agent.app import open_embedder
from support_agent.commands import ConfigOption, JsonOption, print_data
from support_agent.company.company import Company
from support_agent.company.text import split_sentences
from support_agent.errors import ConfigError
from support_agent.evals.files import data_file
from support_agent.facts.chunks import Source, document_source, page_source
from support_agent.facts.graph.entailment import Entailment, JudgedEntailment, SimilarEntailment
from support_agent.facts.graph.evidence import EvidenceChainer
from support_agent.facts.graph.extraction import RuleExtractor
from support_agent.facts.graph.graph import graph_of
from support_agent.facts.graph.steps import DraftSteps
from support_agent.facts.inquiry.utility import knowledge_f1
from support_agent.facts.judge import Judge
from support_agent.frozen import Frozen
from support_agent.settings import Settings
from support_agent.settings_facts import EvidenceSettings
from support_agent.terminal import as_table
from support_agent.tools.base import Similarity
from support_agent.workspace import CONFIG_FILE
from tests.benchmarks.papers.command import ByModelOption, DataOption, given, open_judge, quiet_settings, run
from tests.benchmarks.papers.files import read_json_lines
from tests.benchmarks.papers.retrieval import Cosines, KeptEmbedder

FILE = "evidence.jsonl"

Position = Annotated[int, Field(ge=0)]

FindEvidence = Callable[[str, str, Source], Collection[int]]
"""Positions of the sentences of a source that stand behind an answer: (question, answer, source)."""


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

    `exact` is the share of cases in which exactly the marked sentences were chosen.
    """

    name: str
    precision: float
    recall: float
    f1: float
    exact: float
    chosen: float


class Report(Frozen):
    """How many answers were looked into, how many sentences people marked, and a row a way."""

    cases: int
    marked: int
    rows: tuple[Row, ...]


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


def evaluate(cases: Sequence[Marked], ways: Mapping[str, FindEvidence]) -> Report:
    """Find the evidence of each case by each way, in their order; 1 case or more."""
    gold = [case.gold for case in cases]
    rows = []
    for name, find in ways.items():
        found = [frozenset(find(case.question, case.answer, case.source)) for case in cases]
        rows.append(measured(name, found, gold))
    return Report(cases=len(cases), marked=sum(map(len, gold)), rows=tuple(rows))


def measured(name: str, found: Sequence[frozenset[int]], gold: Sequence[frozenset[int]]) -> Row:
    """The measures of one way; where nothing was chosen its precision is 0."""
    pairs = list(zip(found, gold, strict=True))
    right = sum(len(chosen & wanted) for chosen, wanted in pairs)
    n_found, n_gold = sum(map(len, found)), sum(map(len, gold))
    return Row(
        name=name,
        precision=right / max(1, n_found),
        recall=right / max(1, n_gold),
        f1=2 * right / max(1, n_found + n_gold),
        exact=sum(chosen == wanted for chosen, wanted in pairs) / max(1, len(pairs)),
        chosen=n_found / max(1, len(pairs)),
    )


def nearest_by_meaning(similarity: Similarity) -> FindEvidence:
    """For each sentence of the answer the one that is nearest by meaning, the first of equal ones."""

    def find(question: str, answer: str, source: Source) -> set[int]:
        texts = [sentence.text for sentence in source.sentences]
        return {_best(similarity.similarities(claim, texts)) for claim in split_sentences(answer)}

    return find


def nearest_by_words(question: str, answer: str, source: Source) -> set[int]:
    """For each sentence of the answer the one that shares most of its words with it, if any does."""
    scores = [[knowledge_f1(claim, one.text) for one in source.sentences] for claim in split_sentences(answer)]
    return {_best(claim) for claim in scores if any(claim)}


def nearest_by_graph(
    similarity: Similarity, entailment: Callable[[], Entailment], settings: EvidenceSettings
) -> FindEvidence:
    """For each sentence of the answer the one that the evidence chainer finds, on a graph made by rules, if any.

    Args:
        similarity: Makes the shortlists.
        entailment: Makes a new one for each case: one that a model failed asks it no more.
        settings: Weights and bounds.
    """

    def find(question: str, answer: str, source: Source) -> set[int]:
        chainer = EvidenceChainer(
            graph_of([source], RuleExtractor()),
            [source],
            settings=settings,
            steps=DraftSteps(),
            similarity=similarity,
            entailment=entailment(),
        )
        return {place.position for place in chainer.find(question, answer, sources={source.key}).places}

    return find


def _best(scores: Iterable[float]) -> int:
    return max(enumerate(scores), key=lambda pair: (pair[1], -pair[0]))[0]


def table(report: Report) -> str:
    """The report as lines of text."""
    rows: list[tuple[str, ...]] = [("", "PRECISION", "RECALL", "F1", "EXACT", "SENTENCES")]
    rows += [
        (row.name, *(f"{share:.1%}" for share in (row.precision, row.recall, row.f1, row.exact)), f"{row.chosen:.1f}")
        for row in report.rows
    ]
    return f"Evidence: {report.cases} answers, {report.marked} marked sentences\n\n{as_table(rows)}"


def evidence_ways(settings: Settings, judge: Judge | None) -> dict[str, FindEvidence]:
    """The ways to find evidence that are compared, by name; with a judge also the one that asks the model."""
    cosines = Cosines(KeptEmbedder(open_embedder(settings)))
    similar = SimilarEntailment(cosines)
    ways = {
        "Nearest by words": nearest_by_words,
        "Nearest by meaning": nearest_by_meaning(cosines),
        "Graph": nearest_by_graph(cosines, lambda: similar, settings.evidence),
    }
    if judge is not None:
        judged = partial(JudgedEntailment, judge, similar)
        ways["Graph and model"] = nearest_by_graph(cosines, judged, settings.evidence)
    return ways


def main(
    data: DataOption = None, by_model: ByModelOption = False, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Compare the graph's sentences with the nearest by words and by meaning, against those that people marked.

    evidence.jsonl has one line an answer: {"question": "...", "answer": "...", "document": 6, "sentences": [0, 3]}.
    The document is one of the company's, by its number, or a text; its sentences are counted from 0. The answer may
    be called draft. --by-model asks the language model as well whether a sentence bears the answer out.
    """
    settings = quiet_settings(config)
    has_company = config is not None or Path(CONFIG_FILE).is_file()
    company = Company.load(settings.company).documents if has_company else ()
    cases = load_cases(given(data), {document.number: document_source(document) for document in company})
    with open_judge(settings) if by_model else nullcontext() as judge:
        report = evaluate(cases, evidence_ways(settings, judge))
    print_data(report, as_json, table(report))


if __name__ == "__main__":
    run(main, "evidence")
