"""The process table: what is right, what is counted, and which questions are refused."""

from __future__ import annotations

import pytest

from support_agent.config.facts import GradingSettings
from support_agent.facts.chunks import page_source
from support_agent.facts.grading_words import DRAFT_ORDER
from support_agent.facts.inquiry.workflow import Workflow
from support_agent.facts.spending import Budget
from support_agent.tools.fact_room import FindingReason, RetrievalResult
from support_agent.tools.fact_trace import Evidence, ModelText, NodeVisit, WorkflowNode
from tests.benchmarks.papers.grading import evaluate, plain
from tests.benchmarks.papers.process_questions import Kind, Question
from tests.benchmarks.papers.process_table import ProcessRow, Way, process_row, report_of, table
from tests.fakes_facts import Piece, ScriptedJudge, ScriptedRetriever, ScriptedWriter

DOCUMENTS = {
    1: page_source("document:1", "Refunds", "A plan is refunded within 30 days. The money goes back to the card."),
    2: page_source("document:2", "Seats", "A seat costs 22.00 EUR."),
}
DRAFT = ModelText(kind="draft", text="It is 30 days.", writer="scripted", seed=1)


def findings(*pointers: tuple[int, int, int], reason: FindingReason = FindingReason.ANSWERED) -> RetrievalResult:
    evidence = [Evidence(source=f"document:{n}", first=a, last=b, grade=0.9) for n, a, b in pointers]
    trace = (
        NodeVisit(node=WorkflowNode.RETRIEVER, cycle=0, decided="2 passages"),
        NodeVisit(node=WorkflowNode.DOCUMENT_GRADER, cycle=0, decided="1 of 2 relevant", passage_grades=(0.9, 0.1)),
        NodeVisit(node=WorkflowNode.GENERATOR, cycle=0, decided="written", model_text=DRAFT),
        NodeVisit(node=WorkflowNode.ANSWER_GRADER, cycle=0, decided="an answer", grade=0.7),
    )
    return RetrievalResult(
        reason=reason,
        evidence=tuple(evidence),
        cycles=1,
        index_version="v",
        tokens=100,
        forward_passes=3,
        seconds=1.5,
        trace=trace,
    )


def question(kind: Kind = Kind.EASY, *documents: int, **given: object) -> Question:
    return Question.model_validate({"kind": kind, "question": "How long?", "documents": documents, **given})


def row_of(asked: Question, found: RetrievalResult, way: Way = Way.WHOLE) -> ProcessRow:
    return process_row("demo", way, asked, found, DOCUMENTS)


@pytest.mark.parametrize(
    ("expected", "found", "reason", "is_right"),
    [
        ((1,), [(1, 0, 0)], FindingReason.ANSWERED, True),
        ((1,), [(1, 0, 0), (2, 0, 0)], FindingReason.ANSWERED, True),
        ((1,), [(2, 0, 0), (1, 0, 0)], FindingReason.ANSWERED, False),
        ((1, 2), [(2, 0, 0), (1, 0, 0)], FindingReason.ANSWERED, True),
        ((1, 2), [(1, 0, 0), (1, 1, 1)], FindingReason.ANSWERED, False),
        ((1,), [(1, 0, 0)], FindingReason.BUDGET, False),
        ((1,), [], FindingReason.IRRELEVANT, False),
    ],
)
def test_every_expected_document_and_an_expected_one_first_is_right(
    expected: tuple[int, ...], found: list[tuple[int, int, int]], reason: FindingReason, is_right: bool
) -> None:
    """Rule: what is not answered is not right, whatever was found on the way."""
    assert row_of(question(Kind.HARD, *expected), findings(*found, reason=reason)).is_right is is_right


def test_an_unanswerable_question_is_right_where_it_is_not_answered() -> None:
    """Rule: an honest "don't know" counts."""
    asked = question(Kind.UNANSWERABLE)
    assert row_of(asked, findings(reason=FindingReason.IRRELEVANT)).is_right
    assert not row_of(asked, findings((1, 0, 0))).is_right


def test_a_row_says_what_the_question_went_through() -> None:
    """Rule: nodes and grades in their order, the cost, and which sections and answers evidence and draft hold."""
    asked = question(Kind.HARD, sections=[{"document": 1, "heading": ""}], answers=["30 days"])
    row = row_of(asked, findings((1, 0, 0)))
    assert row.nodes == (
        WorkflowNode.RETRIEVER,
        WorkflowNode.DOCUMENT_GRADER,
        WorkflowNode.GENERATOR,
        WorkflowNode.ANSWER_GRADER,
    )
    assert [(grade.node, grade.grade) for grade in row.grades] == [
        (WorkflowNode.DOCUMENT_GRADER, 0.9), (WorkflowNode.DOCUMENT_GRADER, 0.1), (WorkflowNode.ANSWER_GRADER, 0.7),
    ]  # fmt: skip
    assert (row.cycles, row.tokens, row.forward_passes, row.seconds) == (1, 100, 3, 1.5)
    assert (row.documents, row.sections_found, row.sections) == ((1,), 1, 1)
    assert (row.is_contained, row.is_drafted) == (True, True)
    other = row_of(asked, findings((1, 1, 1)))
    assert (other.sections_found, other.is_contained, other.is_drafted) == (1, False, True)
    assert row_of(asked, findings((2, 0, 0))).sections_found == 0
    assert row_of(question(Kind.EASY, 1), findings((1, 0, 0))).is_contained is None


def test_totals_by_way_and_kind_and_of_all() -> None:
    """Rule: sums, the kinds in their order, all of them last; only what has a reference is compared."""
    asked = [question(Kind.HARD, 1), question(Kind.EASY, 1, answers=["30 days"]), question(Kind.EASY, 2)]
    ways = dict.fromkeys(Way, lambda _question, _budget: findings((1, 0, 0)))
    report = report_of(evaluate("demo", asked, ways, DOCUMENTS, 1_000))
    own = [(Kind.EASY, 2, 1), (Kind.HARD, 1, 1), (None, 3, 2)]
    assert [(row.way, row.kind, row.questions, row.right) for row in report.totals] == [
        (way, *row) for way in Way for row in own
    ]
    everything = report.totals[-1]
    assert (everything.contained, everything.drafted, everything.compared, everything.cycles) == (1, 1, 1, 3)
    assert (everything.tokens, everything.forward_passes, everything.seconds) == (300, 9, 4.5)
    lines = table(report).splitlines()
    assert lines[1].split(" > ") == ["   retriever", "document_grader", "draft_generator", "answer_grader"]
    assert lines[-3].split() == ["whole", "all", "2", "of", "3", "1", "of", "1", "1", "of", "1", "3", "300", "9", "4.5"]


@pytest.mark.parametrize(("right", "with_person", "are_met"), [(8, 2, True), (7, 2, False), (8, 1, False)])
def test_eight_of_ten_must_end_right_and_no_unanswerable_one_may_be_answered(
    right: int, with_person: int, are_met: bool
) -> None:
    """Rule: the bars are on the whole workflow; what plain retrieval does moves nothing."""
    lost = findings(reason=FindingReason.IRRELEVANT)
    rows = [row_of(question(Kind.EASY, 1), findings((1, 0, 0)) if n < right else lost) for n in range(10)]
    rows += [row_of(question(Kind.UNANSWERABLE), lost if n < with_person else findings((1, 0, 0))) for n in range(2)]
    rows += [row_of(question(Kind.UNANSWERABLE), findings((1, 0, 0)), Way.PLAIN)]
    report = report_of(rows)
    assert (report.bars.right, report.bars.answerable, report.bars.with_person) == (right, 10, with_person)
    assert report.bars.low < right / 10 < report.bars.high
    assert report.bars.are_met is are_met
    assert table(report).endswith("; met") is are_met


def test_plain_retrieval_answers_whatever_it_finds_and_drafts_once() -> None:
    """Rule: no grade is asked for; the evidence is what was found, in its order."""
    pieces = [
        Piece(source="document:2", first=0, last=0, text="22"),
        Piece(source="document:1", first=0, last=1, text="30"),
    ]
    writer = ScriptedWriter(["A seat costs 22.00 EUR."])
    workflow = Workflow(
        judge=ScriptedJudge({}),
        writer=writer,
        retriever=ScriptedRetriever([pieces]),
        web=None,
        settings=GradingSettings(drafts=True),
        clock=lambda: 0.0,
    )
    found = plain(workflow, "What is a seat?", Budget(10_000))
    assert [graded.source for graded in found.evidence] == ["document:2", "document:1"]
    assert found.is_answered
    assert [written.instruction for written in writer.history] == [DRAFT_ORDER]
    row = row_of(question(Kind.EASY, 2, answers=["22.00"]), found, Way.PLAIN)
    assert (row.is_right, row.is_drafted, row.tokens > 0) == (True, True, True)
