"""The rows of the process table and their totals: what each question went through, and whether it ended right.

Checked by tests/unit/benchmarks/papers/test_grading.py.
Source: tables 1a, 1b, 2a and 2b of the paper on advanced RAG for local models: a is the summary by kind of question of
plain retrieval with a draft and of the whole workflow, b the path of each question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from scipy.stats import binomtest  # type: ignore[import-untyped]

from support_agent.cli.terminal import NOTHING, as_table
from support_agent.core.frozen import Frozen
from support_agent.tools.fact_room import FindingReason, RetrievalResult
from support_agent.tools.fact_trace import NodeVisit, Probability, SentenceRange, WorkflowNode
from tests.benchmarks.papers.comparator import is_contained
from tests.benchmarks.papers.process_questions import Documents, Kind, Question

ANSWERABLE_BAR = 0.8
"""Share of the answerable questions that must end right; all of the unanswerable must end with a person."""


class Way(StrEnum):
    """How a question is looked into."""

    PLAIN = "plain"
    """The passages that are found and a draft from them: always an answer."""
    WHOLE = "whole"
    """The workflow with its graders and the web."""


class Grade(Frozen):
    """One grade of a node: the document grader gives one a passage."""

    node: WorkflowNode
    grade: Probability


class ProcessRow(Frozen):
    """One question on its way.

    `is_right`: every expected document is among those of the evidence, and the best one is expected; an unanswerable
    question is right where it is not answered. `sections_found`: so many of the expected `sections` have a sentence in
    the evidence. `is_contained`, `is_drafted`: one of the reference answers stands in the evidence's sentences, or in
    the last draft; None where there is none to compare.
    """

    company: str
    way: Way
    kind: Kind
    question: str
    nodes: tuple[WorkflowNode, ...]
    cycles: int
    grades: tuple[Grade, ...]
    tokens: int
    forward_passes: int
    seconds: float
    outcome: FindingReason
    documents: tuple[int, ...]
    expected: tuple[int, ...]
    is_right: bool
    sections_found: int
    sections: int
    is_contained: bool | None
    is_drafted: bool | None


class KindRow(Frozen):
    """The questions of one kind looked into in one way, None: all: counts and sums; `compared` have a reference."""

    way: Way
    kind: Kind | None
    questions: int
    right: int
    contained: int
    drafted: int
    compared: int
    cycles: int
    tokens: int
    forward_passes: int
    seconds: float


class Bars(Frozen):
    """What the whole workflow must reach: right ones of the answerable with a 95 % interval (Wilson), and of the
    unanswerable those that end with a person."""

    right: int
    answerable: int
    low: float
    high: float
    with_person: int
    unanswerable: int

    @property
    def are_met(self) -> bool:
        """Whether both are."""
        is_enough = self.right >= ANSWERABLE_BAR * self.answerable
        return is_enough and self.with_person == self.unanswerable


class Report(Frozen):
    """A row for each question and way, in their order, and the totals by way and kind, all kinds last."""

    rows: tuple[ProcessRow, ...]
    totals: tuple[KindRow, ...]
    bars: Bars


def process_row(company: str, way: Way, question: Question, found: RetrievalResult, documents: Documents) -> ProcessRow:
    """What one question went through, and whether it ended right."""
    by_name = {source.key: number for number, source in documents.items()}
    answered = found.evidence if found.is_answered else ()
    pointers = [one for one in answered if one.source in by_name]
    held: dict[int, set[int]] = {}
    for pointer in pointers:
        held.setdefault(by_name[pointer.source], set()).update(range(pointer.first, pointer.last + 1))
    drafts = [
        visit.model_text.text for visit in found.trace if visit.node is WorkflowNode.GENERATOR and visit.model_text
    ]
    return ProcessRow(
        company=company,
        way=way,
        kind=question.kind,
        question=question.question,
        nodes=tuple(visit.node for visit in found.trace),
        cycles=found.cycles,
        grades=tuple(grade for visit in found.trace for grade in _grades(visit)),
        tokens=found.tokens,
        forward_passes=found.forward_passes,
        seconds=found.seconds,
        outcome=found.reason,
        documents=tuple(held),
        expected=question.expected,
        is_right=_is_right(question, tuple(held), is_answered=found.is_answered),
        sections_found=sum(bool(one.positions(documents) & held.get(one.document, set())) for one in question.sections),
        sections=len(question.sections),
        is_contained=is_contained(question.answers, _text(pointers, by_name, documents)) if question.answers else None,
        is_drafted=is_contained(question.answers, drafts[-1] if drafts else "") if question.answers else None,
    )


def _grades(visit: NodeVisit) -> list[Grade]:
    values = [*visit.passage_grades, *([visit.grade] if visit.grade is not None else [])]
    return [Grade(node=visit.node, grade=value) for value in values]


def _is_right(question: Question, found: Sequence[int], *, is_answered: bool) -> bool:
    if question.kind is Kind.UNANSWERABLE:
        return not is_answered
    return bool(found) and found[0] in question.expected and set(question.expected) <= set(found)


def _text(pointers: Sequence[SentenceRange], by_name: dict[str, int], documents: Documents) -> str:
    """The sentences that are pointed at."""
    passages = (documents[by_name[one.source]].sentences[one.first : one.last + 1] for one in pointers)
    return "\n".join(sentence.text for passage in passages for sentence in passage)


def report_of(rows: Iterable[ProcessRow]) -> Report:
    """The rows with their totals; 1 row or more of the whole workflow."""
    rows = tuple(rows)
    totals = []
    for way in [way for way in Way if any(row.way is way for row in rows)]:
        own = [row for row in rows if row.way is way]
        kinds = [kind for kind in Kind if any(row.kind is kind for row in own)]
        totals += [_total(way, kind, [row for row in own if row.kind is kind]) for kind in kinds]
        totals.append(_total(way, None, own))
    return Report(rows=rows, totals=tuple(totals), bars=_bars([row for row in rows if row.way is Way.WHOLE]))


def _total(way: Way, kind: Kind | None, rows: Sequence[ProcessRow]) -> KindRow:
    return KindRow(
        way=way,
        kind=kind,
        questions=len(rows),
        right=sum(row.is_right for row in rows),
        contained=sum(row.is_contained is True for row in rows),
        drafted=sum(row.is_drafted is True for row in rows),
        compared=sum(row.is_contained is not None for row in rows),
        cycles=sum(row.cycles for row in rows),
        tokens=sum(row.tokens for row in rows),
        forward_passes=sum(row.forward_passes for row in rows),
        seconds=sum(row.seconds for row in rows),
    )


def _bars(rows: Sequence[ProcessRow]) -> Bars:
    answerable = [row.is_right for row in rows if row.kind is not Kind.UNANSWERABLE]
    unanswerable = [row.is_right for row in rows if row.kind is Kind.UNANSWERABLE]
    interval = binomtest(sum(answerable), max(len(answerable), 1)).proportion_ci(method="wilson")
    return Bars(
        right=sum(answerable),
        answerable=len(answerable),
        low=interval.low,
        high=interval.high,
        with_person=sum(unanswerable),
        unanswerable=len(unanswerable),
    )


def table(report: Report) -> str:
    """Table b (a block a question with its steps and grades, and a line each), then table a, then the bars."""
    blocks = [_block(number, row) for number, row in enumerate(report.rows, start=1)]
    return "\n\n".join([*blocks, as_table(_paths(report.rows)), as_table(_summary(report.totals)), _told(report.bars)])


def _paths(rows: Sequence[ProcessRow]) -> list[tuple[str, ...]]:
    head = ("", "COMPANY", "WAY", "KIND", "CYCLES", "TOKENS", "PASSES", "SECONDS", "OUTCOME", "DOCUMENTS", "EXPECTED")
    lines: list[tuple[str, ...]] = [(*head, "", "SECTIONS", "ANSWER", "DRAFT")]
    for number, row in enumerate(rows, start=1):
        costs = (str(row.cycles), str(row.tokens), str(row.forward_passes), f"{row.seconds:.1f}")
        found = (
            row.outcome.value,
            _numbers(row.documents),
            _numbers(row.expected),
            "right" if row.is_right else "wrong",
        )
        texts = (f"{row.sections_found}/{row.sections}", _contained(row.is_contained), _contained(row.is_drafted))
        lines.append((str(number), row.company, row.way.value, row.kind.value, *costs, *found, *texts))
    return lines


def _summary(totals: Sequence[KindRow]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [
        ("WAY", "KIND", "RIGHT", "ANSWER", "DRAFT", "CYCLES", "TOKENS", "PASSES", "SECONDS")
    ]
    for row in totals:
        right = (
            f"{row.right} of {row.questions}",
            f"{row.contained} of {row.compared}",
            f"{row.drafted} of {row.compared}",
        )
        costs = (str(row.cycles), str(row.tokens), str(row.forward_passes), f"{row.seconds:.1f}")
        lines.append((row.way.value, "all" if row.kind is None else row.kind.value, *right, *costs))
    return lines


def _told(bars: Bars) -> str:
    share = bars.right / max(bars.answerable, 1)
    right = f"{bars.right} of {bars.answerable} end right: {share:.2f} (95 %: {bars.low:.2f} to {bars.high:.2f})"
    person = f"{bars.with_person} of {bars.unanswerable} unanswerable end with a person"
    return f"whole: of the answerable {right}, bar {ANSWERABLE_BAR}; {person}; {'' if bars.are_met else 'not '}met"


def _block(number: int, row: ProcessRow) -> str:
    grades = ", ".join(f"{grade.node.value} {grade.grade:.2f}" for grade in row.grades) or NOTHING
    steps = " > ".join(node.value for node in row.nodes)
    return as_table([(f"{number}", row.question), ("", steps), ("", grades)])


def _numbers(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers)) or NOTHING


def _contained(is_contained: bool | None) -> str:
    return NOTHING if is_contained is None else "contained" if is_contained else "missing"
