"""`python -m tests.benchmarks.papers.grading [--data FILE]`: the process table of the grading workflow.

It shows for each question what it went through, what it cost, and whether it ended right. Questions are easy (one
sentence answers, in nearly its words), regular (other words), hard (several sentences or documents together) or
unanswerable. Checked by tests/unit/papers/test_grading.py; the demo company's questions by
tests/unit/papers/test_grading_questions.py.
Source: tables 1b and 2b of the paper on advanced RAG for local models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, model_validator

from support_agent.app import open_workflow
from support_agent.commands import ConfigOption, JsonOption, now, print_data
from support_agent.company.company import Company
from support_agent.errors import ConfigError
from support_agent.evals.files import data_file
from support_agent.fact_story import searchable
from support_agent.facts.chunks import Source, document_source
from support_agent.facts.spending import Budget
from support_agent.facts.trace import Findings, Node, Pointer, Probability, Visit
from support_agent.frozen import Frozen
from support_agent.levels import CUSTOMER
from support_agent.terminal import NOTHING, as_table
from support_agent.toml_file import read_toml
from support_agent.tools.fact_room import FindingReason
from tests.benchmarks.papers.command import DataOption, quiet_settings, run
from tests.benchmarks.papers.comparator import is_contained
from tests.benchmarks.papers.files import first_fault, read_json_lines

FILE = "process.toml"

Documents = Mapping[int, Source]
"""The company's documents, by number."""


class Kind(StrEnum):
    """How hard a question is."""

    EASY = "easy"
    REGULAR = "regular"
    HARD = "hard"
    UNANSWERABLE = "unanswerable"


class ExpectedSentence(Frozen):
    """A sentence of a document, by its position from 0."""

    document: int
    position: int = Field(ge=0)


class Question(Frozen):
    """A question and what is right; an unanswerable one has nothing else.

    `documents`: numbers, all of which the answer needs. `sentences`: where it stands. `answers`: references, one of
    which is contained in a right answer.
    """

    kind: Kind
    question: str = Field(min_length=1)
    documents: tuple[int, ...] = ()
    sentences: tuple[ExpectedSentence, ...] = ()
    answers: tuple[Annotated[str, Field(min_length=1)], ...] = ()

    @model_validator(mode="after")
    def _is_answerable_or_not(self) -> Question:
        if self.kind is Kind.UNANSWERABLE and (self.documents or self.sentences or self.answers):
            raise ValueError("an unanswerable question has no documents, sentences or answers")
        if self.kind is not Kind.UNANSWERABLE and not self.documents:
            raise ValueError("say which documents answer it, or that it is unanswerable")
        if any(sentence.document not in self.documents for sentence in self.sentences):
            raise ValueError("a sentence stands in one of the documents")
        return self


class _File(Frozen):
    questions: tuple[Question, ...] = Field(min_length=1)


class Grade(Frozen):
    """One grade of a node: the document grader gives one a passage."""

    node: Node
    grade: Probability


class ProcessRow(Frozen):
    """One question on its way through the workflow.

    `is_right`: every expected document is among those of the evidence, and the best one is expected; an unanswerable
    question is right where it is not answered. `sentences_found`: so many of the expected `sentences`. `is_contained`:
    one of the reference answers stands in the evidence's sentences; None where there is none to compare.
    """

    kind: Kind
    question: str
    nodes: tuple[Node, ...]
    cycles: int
    grades: tuple[Grade, ...]
    tokens: int
    forward_passes: int
    seconds: float
    outcome: FindingReason
    documents: tuple[int, ...]
    expected: tuple[int, ...]
    is_right: bool
    sentences_found: int
    sentences: int
    is_contained: bool | None


class KindRow(Frozen):
    """All questions of one kind, or all there are: counts and sums; `compared` have a reference answer."""

    kind: Kind | None
    questions: int
    right: int
    contained: int
    compared: int
    cycles: int
    tokens: int
    forward_passes: int
    seconds: float


class Report(Frozen):
    """A row a question, in their order, and the totals by kind, all of them last."""

    rows: tuple[ProcessRow, ...]
    totals: tuple[KindRow, ...]


def load_questions(data: Path, documents: Documents) -> tuple[Question, ...]:
    """Read the questions: TOML with `[[questions]]`, or one JSON object a line.

    Args:
        data: The file, or the folder that holds process.toml.
        documents: Those of the company that is asked.
    Raises:
        ConfigError: the file is not there or not of this form, or names a document or sentence that does not exist.
    """
    path = data_file(data, FILE)
    if path.suffix == ".toml":
        try:
            questions = _File.model_validate(read_toml(path).data).questions
        except ValidationError as error:
            raise ConfigError(f"{path}: {first_fault(error)}: correct it") from None
    else:
        questions = read_json_lines(path, Question)
    for question in questions:
        _check(path, question, documents)
    return questions


def _check(path: Path, question: Question, documents: Documents) -> None:
    where = f"{path}: {question.question!r}"
    for number in question.documents:
        if number not in documents:
            raise ConfigError(f"{where}: the company has no document {number}: name its workspace with --config")
    for sentence in question.sentences:
        if sentence.position >= (n := len(documents[sentence.document].sentences)):
            raise ConfigError(f"{where}: document {sentence.document} has {n} sentences, counted from 0")


def evaluate(questions: Sequence[Question], find: Callable[[str], Findings], documents: Documents) -> Report:
    """Look into each question, each with a budget of its own.

    Args:
        questions: 1 or more.
        find: Looks into one question.
        documents: Whose sentences are compared with the reference answers.
    """
    rows = tuple(process_row(question, find(question.question), documents) for question in questions)
    kinds = [kind for kind in Kind if any(row.kind is kind for row in rows)]
    totals = [_total(kind, [row for row in rows if row.kind is kind]) for kind in kinds]
    return Report(rows=rows, totals=(*totals, _total(None, rows)))


def process_row(question: Question, findings: Findings, documents: Documents) -> ProcessRow:
    """What one question went through, and whether it ended right."""
    outcome = findings.outcome
    pointers = [graded.pointer for graded in outcome.evidence] if outcome.is_answered else []
    by_name = {source.key: number for number, source in documents.items()}
    found = tuple(dict.fromkeys(by_name[pointer.source] for pointer in pointers if pointer.source in by_name))
    held = {
        (by_name[pointer.source], position)
        for pointer in pointers
        if pointer.source in by_name
        for position in range(pointer.first, pointer.last + 1)
    }
    return ProcessRow(
        kind=question.kind,
        question=question.question,
        nodes=tuple(visit.node for visit in findings.trace),
        cycles=outcome.cycles,
        grades=tuple(grade for visit in findings.trace for grade in _grades(visit)),
        tokens=outcome.cost.tokens,
        forward_passes=outcome.cost.forward_passes,
        seconds=outcome.cost.seconds,
        outcome=outcome.reason,
        documents=found,
        expected=question.documents,
        is_right=_is_right(question, found, is_answered=outcome.is_answered),
        sentences_found=sum((sentence.document, sentence.position) in held for sentence in question.sentences),
        sentences=len(question.sentences),
        is_contained=is_contained(question.answers, _text(pointers, by_name, documents)) if question.answers else None,
    )


def _grades(visit: Visit) -> list[Grade]:
    values = [*visit.passage_grades, *([visit.grade] if visit.grade is not None else [])]
    return [Grade(node=visit.node, grade=value) for value in values]


def _is_right(question: Question, found: Sequence[int], *, is_answered: bool) -> bool:
    if question.kind is Kind.UNANSWERABLE:
        return not is_answered
    return bool(found) and found[0] in question.documents and set(question.documents) <= set(found)


def _text(pointers: Sequence[Pointer], by_name: Mapping[str, int], documents: Documents) -> str:
    """The sentences that are pointed at."""
    sentences = [
        documents[by_name[pointer.source]].sentences[pointer.first : pointer.last + 1]
        for pointer in pointers
        if pointer.source in by_name
    ]
    return "\n".join(sentence.text for passage in sentences for sentence in passage)


def _total(kind: Kind | None, rows: Sequence[ProcessRow]) -> KindRow:
    return KindRow(
        kind=kind,
        questions=len(rows),
        right=sum(row.is_right for row in rows),
        contained=sum(row.is_contained is True for row in rows),
        compared=sum(row.is_contained is not None for row in rows),
        cycles=sum(row.cycles for row in rows),
        tokens=sum(row.tokens for row in rows),
        forward_passes=sum(row.forward_passes for row in rows),
        seconds=sum(row.seconds for row in rows),
    )


def table(report: Report) -> str:
    """A block a question (its steps and grades), the table of all, and the totals by kind."""
    blocks = [_block(number, row) for number, row in enumerate(report.rows, start=1)]
    head = ("", "KIND", "CYCLES", "TOKENS", "PASSES", "SECONDS", "OUTCOME", "DOCUMENTS", "EXPECTED", "", "ANSWER")
    rows: list[tuple[str, ...]] = [head]
    rows += [
        (
            *(str(number), row.kind.value, str(row.cycles), str(row.tokens), str(row.forward_passes)),
            *(f"{row.seconds:.1f}", row.outcome.value, _numbers(row.documents), _numbers(row.expected)),
            *("right" if row.is_right else "wrong", _contained(row.is_contained)),
        )
        for number, row in enumerate(report.rows, start=1)
    ]
    totals: list[tuple[str, ...]] = [("KIND", "RIGHT", "ANSWER", "CYCLES", "TOKENS", "PASSES", "SECONDS")]
    totals += [
        (
            *("all" if row.kind is None else row.kind.value, f"{row.right} of {row.questions}"),
            *(f"{row.contained} of {row.compared}", str(row.cycles), str(row.tokens), str(row.forward_passes)),
            f"{row.seconds:.1f}",
        )
        for row in report.totals
    ]
    return "\n\n".join([*blocks, as_table(rows), as_table(totals)])


def _block(number: int, row: ProcessRow) -> str:
    grades = ", ".join(f"{grade.node.value} {grade.grade:.2f}" for grade in row.grades) or NOTHING
    steps = " > ".join(node.value for node in row.nodes)
    return as_table([(f"{number}", row.question), ("", steps), ("", grades)])


def _numbers(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers)) or NOTHING


def _contained(is_contained: bool | None) -> str:
    return NOTHING if is_contained is None else "contained" if is_contained else "missing"


def main(data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Ask the grading workflow questions about the documents of a workspace, and show what each goes through.

    process.toml has [[questions]] with kind (easy, regular, hard or unanswerable), question, documents, and perhaps
    sentences and answers; without --data it is the demo company's.
    """
    settings = quiet_settings(config, optional=False)
    company = Company.load(settings.company)
    documents: Documents = {document.number: document_source(document) for document in company.documents}
    questions = load_questions(data or Path(__file__).parent, documents)
    allowed = searchable(company.documents, now().date(), CUSTOMER).keys()
    with open_workflow(settings, company, allowed) as workflow:
        report = evaluate(
            questions, lambda question: workflow.find(question, Budget(settings.grading.max_tokens)), documents
        )
    print_data(report, as_json, table(report))


if __name__ == "__main__":
    run(main, "grading")
