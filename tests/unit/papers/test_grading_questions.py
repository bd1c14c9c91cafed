"""The demo company's questions for the process table belong to its documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from support_agent.company.documents import load_documents
from support_agent.facts.chunks import document_source
from support_agent.resources import packaged
from tests.benchmarks import papers
from tests.benchmarks.papers.comparator import is_contained
from tests.benchmarks.papers.grading import FILE, Documents, Kind, Question, load_questions

DOCUMENTS: Documents = {document.number: document_source(document) for document in load_documents(packaged("policies"))}
PAPERS = Path(papers.__file__).parent
QUESTIONS = load_questions(PAPERS / FILE, DOCUMENTS)
TUNING = load_questions(PAPERS / "grading_tuning.toml", DOCUMENTS)


def test_there_are_three_easy_four_regular_three_hard_and_two_unanswerable_questions() -> None:
    """Rule: twelve rows, as the table of the paper has its kinds."""
    kinds = Counter(question.kind for question in QUESTIONS)
    assert kinds == {Kind.EASY: 3, Kind.REGULAR: 4, Kind.HARD: 3, Kind.UNANSWERABLE: 2}


def test_the_sentences_that_are_expected_hold_an_answer() -> None:
    """The failure's story: a document was edited, and the positions named other sentences ever after."""
    for question in QUESTIONS:
        if question.kind is Kind.UNANSWERABLE:
            continue
        texts = [DOCUMENTS[one.document].sentences[one.position].text for one in question.sentences]
        assert {one.document for one in question.sentences} == set(question.documents)
        assert is_contained(question.answers, "\n".join(texts)), question.question


def test_no_question_that_is_tuned_on_is_reported_on() -> None:
    """Rule: choose on one set, report on the other; not even a document is asked about in both."""
    assert not _documents(TUNING) & _documents(QUESTIONS)
    for question in TUNING:
        texts = [sentence.text for number in question.documents for sentence in DOCUMENTS[number].sentences]
        assert not question.answers or is_contained(question.answers, "\n".join(texts)), question.question


def _documents(questions: Sequence[Question]) -> set[int]:
    return {number for question in questions for number in question.documents}
