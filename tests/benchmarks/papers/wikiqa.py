"""`python -m tests.benchmarks.papers.wikiqa --data DIR`: WikiQA, by the parts of the fact room.

Measured is how high they rank the sentence that answers among those of one page.
Counted are questions with at least one right sentence, as is usual; every sentence of the page is ranked, what a part
does not find comes last, in the order of the page. Checked by tests/unit/benchmarks/papers/test_wikiqa.py.
Source: WikiQA (Yang, Yih and Meek 2015), with its columns, its MAP and its MRR.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from support_agent.cli.options import ConfigOption, JsonOption, print_data
from support_agent.cli.terminal import as_table
from support_agent.config.facts import Ways
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.models.opening import open_embedder
from support_agent.ops.evals.files import data_file, read_text
from tests.benchmarks.papers.command import DataOption, given, quiet_settings, run
from tests.benchmarks.papers.files import first_fault
from tests.benchmarks.papers.retrieval import KeptEmbedder, OpenSearch, Search, sentence_search, sentence_source

FILE = "WikiQA-test.tsv"
COLUMNS = ("QuestionID", "Question", "DocumentID", "DocumentTitle", "SentenceID", "Sentence", "Label")
NAMES = {Ways.WORDS: "BM25", Ways.VECTORS: "Vectors", Ways.BOTH: "Fused"}


class Candidate(Frozen):
    """A sentence that may answer; `key` is unique in the file."""

    key: str
    title: str
    text: str
    is_right: bool


class Question(Frozen):
    """A question, and all sentences of its page, in order."""

    key: str
    text: str
    candidates: tuple[Candidate, ...]


class Ranked(Frozen):
    """One way over all counted questions: means, 0..1. `right` is the share with a right sentence first."""

    way: Ways
    map: float
    mrr: float
    right: float


class Report(Frozen):
    """`questions` of the file, of which `counted` have a right sentence; `sentences` of those that count."""

    questions: int
    counted: int
    sentences: int
    rows: tuple[Ranked, ...]


class _Line(Frozen):
    QuestionID: str
    Question: str
    DocumentTitle: str
    SentenceID: str
    Sentence: str
    Label: Literal["0", "1"]


def load_questions(data: Path) -> tuple[Question, ...]:
    """Read a WikiQA file: tab-separated, a head, no quoting.

    Args:
        data: The file, or the folder that holds WikiQA-test.tsv.
    Raises:
        ConfigError: the file is not there, lacks a column, has a line that is no row, or no right sentence at all.
    """
    path = data_file(data, FILE)
    found: dict[str, tuple[str, list[Candidate]]] = {}
    for number, row in enumerate(_rows(path), start=2):
        line = _line(path, number, row)
        candidate = Candidate(
            key=f"{line.QuestionID}/{line.SentenceID}",
            title=line.DocumentTitle,
            text=line.Sentence,
            is_right=line.Label == "1",
        )
        found.setdefault(line.QuestionID, (line.Question, []))[1].append(candidate)
    questions = tuple(Question(key=key, text=text, candidates=tuple(c)) for key, (text, c) in found.items())
    keys = [candidate.key for question in questions for candidate in question.candidates]
    if len(set(keys)) < len(keys):
        raise ConfigError(f"{path}: a SentenceID stands twice for one question: download the file again")
    if not any(candidate.is_right for question in questions for candidate in question.candidates):
        raise ConfigError(f"{path}: no sentence has the label 1: nothing can be measured on this file")
    return questions


def _rows(path: Path) -> list[dict[str | None, object]]:
    reader = csv.DictReader(read_text(path).split("\n"), delimiter="\t", quoting=csv.QUOTE_NONE)
    missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
    if missing:
        raise ConfigError(f"{path}: no column {', '.join(missing)}: this is no WikiQA file, which has tabs and a head")
    return [dict(row) for row in reader]


def _line(path: Path, number: int, row: Mapping[str | None, object]) -> _Line:
    if None in row:
        raise ConfigError(f"{path}:{number}: more than {len(COLUMNS)} columns: correct that line")
    try:
        return _Line.model_validate({name: row[name] for name in _Line.model_fields})
    except ValidationError as error:
        raise ConfigError(f"{path}:{number}: {first_fault(error)}: correct that line") from None


def evaluate(
    questions: Sequence[Question],
    open_search: OpenSearch,
    *,
    ways: Sequence[Ways] = (Ways.VECTORS, Ways.WORDS, Ways.BOTH),
) -> Report:
    """Rank the sentences of each question that counts, by each way.

    Args:
        questions: One of them at least has a right sentence.
        open_search: Makes a search by one way over the sentences, each a source of its own.
        ways: In the order of the report.
    """
    counted = [question for question in questions if any(candidate.is_right for candidate in question.candidates)]
    candidates = [candidate for question in counted for candidate in question.candidates]
    sources = [sentence_source(candidate.key, candidate.title, candidate.text) for candidate in candidates]
    return Report(
        questions=len(questions),
        counted=len(counted),
        sentences=len(sources),
        rows=tuple(_ranked(way, open_search(way, sources), counted) for way in ways),
    )


def _ranked(way: Ways, search: Search, questions: Sequence[Question]) -> Ranked:
    ranks = [right_ranks(_order(search, question), _right(question)) for question in questions]
    return Ranked(
        way=way,
        map=sum(map(average_precision, ranks)) / len(ranks),
        mrr=sum(1 / found[0] for found in ranks) / len(ranks),
        right=sum(found[0] == 1 for found in ranks) / len(ranks),
    )


def _order(search: Search, question: Question) -> list[str]:
    """All candidates: those that were found, then the others."""
    keys = [candidate.key for candidate in question.candidates]
    found = [passage.source for passage in search.find(question.text, len(keys), frozenset(keys))]
    return list(dict.fromkeys([*found, *keys]))


def _right(question: Question) -> set[str]:
    return {candidate.key for candidate in question.candidates if candidate.is_right}


def right_ranks(order: Sequence[str], right: Collection[str]) -> list[int]:
    """At which ranks, counted from 1, the right ones stand."""
    return [rank for rank, key in enumerate(order, start=1) if key in right]


def average_precision(ranks: Sequence[int]) -> float:
    """The mean, over the right ones, of the precision down to each: ranks 1 and 3 are (1/1 + 2/3) / 2."""
    return sum(number / rank for number, rank in enumerate(ranks, start=1)) / len(ranks)


def table(report: Report) -> str:
    """The report as lines of text."""
    rows = [("", "MAP", "MRR", "RIGHT")]
    rows += [(NAMES[row.way], f"{row.map:.4f}", f"{row.mrr:.4f}", f"{row.right:.1%}") for row in report.rows]
    head = (
        f"WikiQA: {report.counted} of {report.questions} questions have a right sentence, {report.sentences} sentences"
    )
    return f"{head}\n\n{as_table(rows)}"


def main(data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Rank the sentences of a page (WikiQA-test.tsv as published): MAP and MRR by vectors, by words, fused."""
    settings = quiet_settings(config)
    questions = load_questions(given(data))
    report = evaluate(questions, sentence_search(KeptEmbedder(open_embedder(settings))))
    print_data(report, as_json, table(report))


if __name__ == "__main__":
    run(main, "wikiqa")
