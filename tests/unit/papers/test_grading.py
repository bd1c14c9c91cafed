"""The process table: what is right, what is counted, and which files are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.errors import ConfigError
from support_agent.facts.chunks import page_source
from support_agent.facts.trace import (
    Cost,
    Findings,
    GradedPointer,
    Node,
    Outcome,
    Pointer,
    Visit,
)
from support_agent.tools.fact_room import FindingReason
from tests.benchmarks.papers.grading import (
    FILE,
    Kind,
    Question,
    evaluate,
    load_questions,
    process_row,
    table,
)

DOCUMENTS = {
    1: page_source("document:1", "Refunds", "A plan is refunded within 30 days. The money goes back to the card."),
    2: page_source("document:2", "Seats", "A seat costs 22.00 EUR."),
}
ANSWERABLE = """
[[questions]]
kind = "easy"
question = "How long?"
documents = [1]
sentences = [{ document = 1, position = 0 }]
answers = ["thirty days"]
"""


def findings(*pointers: tuple[int, int, int], reason: FindingReason = FindingReason.ANSWERED) -> Findings:
    evidence = [
        GradedPointer(pointer=Pointer(source=f"document:{n}", first=a, last=b), grade=0.9) for n, a, b in pointers
    ]
    trace = (
        Visit(node=Node.RETRIEVER, cycle=0, decided="2 passages"),
        Visit(node=Node.DOCUMENT_GRADER, cycle=0, decided="1 of 2 relevant", passage_grades=(0.9, 0.1)),
        Visit(node=Node.ANSWER_GRADER, cycle=0, decided="an answer", grade=0.7),
    )
    cost = Cost(tokens=100, forward_passes=3, seconds=1.5)
    outcome = Outcome(reason=reason, evidence=tuple(evidence), cycles=1, cost=cost, index_version="v")
    return Findings(outcome=outcome, trace=trace)


def question(kind: Kind = Kind.EASY, *documents: int, **given: object) -> Question:
    return Question.model_validate({"kind": kind, "question": "How long?", "documents": documents, **given})


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
    assert process_row(question(Kind.HARD, *expected), findings(*found, reason=reason), DOCUMENTS).is_right is is_right


def test_an_unanswerable_question_is_right_where_it_is_not_answered() -> None:
    """Rule: an honest "don't know" counts."""
    asked = question(Kind.UNANSWERABLE)
    assert process_row(asked, findings(reason=FindingReason.IRRELEVANT), DOCUMENTS).is_right
    assert not process_row(asked, findings((1, 0, 0)), DOCUMENTS).is_right


def test_a_row_says_what_the_question_went_through() -> None:
    """Rule: nodes and grades in their order, the cost, and of the evidence which sentences and answers it holds."""
    asked = question(
        Kind.HARD, 1, answers=["30 days"], sentences=[{"document": 1, "position": 0}, {"document": 1, "position": 1}]
    )
    row = process_row(asked, findings((1, 0, 0)), DOCUMENTS)
    assert row.nodes == (Node.RETRIEVER, Node.DOCUMENT_GRADER, Node.ANSWER_GRADER)
    assert [(grade.node, grade.grade) for grade in row.grades] == [
        (Node.DOCUMENT_GRADER, 0.9), (Node.DOCUMENT_GRADER, 0.1), (Node.ANSWER_GRADER, 0.7),
    ]  # fmt: skip
    assert (row.cycles, row.tokens, row.forward_passes, row.seconds) == (1, 100, 3, 1.5)
    assert (row.documents, row.sentences_found, row.sentences, row.is_contained) == ((1,), 1, 2, True)
    other = process_row(asked, findings((1, 1, 1)), DOCUMENTS)
    assert (other.sentences_found, other.is_contained) == (1, False)
    assert process_row(question(Kind.EASY, 1), findings((1, 0, 0)), DOCUMENTS).is_contained is None


def test_totals_by_kind_and_of_all() -> None:
    """Rule: sums, the kinds in their order, all of them last; only what has a reference is compared."""
    asked = [question(Kind.HARD, 1), question(Kind.EASY, 1, answers=["30 days"]), question(Kind.EASY, 2)]
    report = evaluate(asked, lambda _question: findings((1, 0, 0)), DOCUMENTS)
    assert [(row.kind, row.questions, row.right) for row in report.totals] == [
        (Kind.EASY, 2, 1), (Kind.HARD, 1, 1), (None, 3, 2),
    ]  # fmt: skip
    everything = report.totals[-1]
    assert (everything.contained, everything.compared, everything.cycles) == (1, 1, 3)
    assert (everything.tokens, everything.forward_passes, everything.seconds) == (300, 9, 4.5)
    lines = table(report).splitlines()
    assert lines[1].split(" > ") == ["   retriever", "document_grader", "answer_grader"]
    assert lines[-1].split() == ["all", "2", "of", "3", "1", "of", "1", "3", "300", "9", "4.5"]


def test_questions_are_toml_or_a_json_object_a_line(tmp_path: Path) -> None:
    """Rule: the same questions either way."""
    (tmp_path / FILE).write_text(ANSWERABLE, "utf-8")
    lines = tmp_path / "x.jsonl"
    lines.write_text(
        '{"kind": "easy", "question": "How long?", "documents": [1], "sentences": [{"document": 1, "position": 0}], '
        '"answers": ["thirty days"]}\n',
        "utf-8",
    )
    assert load_questions(tmp_path, DOCUMENTS) == load_questions(lines, DOCUMENTS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ANSWERABLE.replace("[1]", "[3]").replace("document = 1", "document = 3"), "the company has no document 3"),
        (ANSWERABLE.replace("position = 0", "position = 2"), "document 1 has 2 sentences, counted from 0"),
        (ANSWERABLE.replace('"easy"', '"unanswerable"'), "an unanswerable question has no documents"),
        (ANSWERABLE.replace("documents = [1]", ""), "say which documents answer it"),
        (ANSWERABLE.replace("documents = [1]", "documents = [2]"), "a sentence stands in one of the documents"),
        (ANSWERABLE.replace('"easy"', '"simple"'), r"questions\.0\.kind: Input should be 'easy'"),
        ("questions = []", "questions: Tuple should have at least 1 item"),
        ("[[question]]", "questions: Field required"),
        ("[[questions", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, told: str) -> None:
    """Rule: one line that says what is wrong; a question about another company would only be wrong, silently."""
    (tmp_path / FILE).write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=told):
        load_questions(tmp_path, DOCUMENTS)
