"""The questions for the process table belong to the documents of their companies."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support_agent.company.documents import load_documents
from support_agent.config.packaged_files import packaged
from support_agent.errors import ConfigError
from support_agent.facts.chunks import document_source, page_source
from tests.benchmarks.companies import COMPANIES as FOLDERS
from tests.benchmarks.papers.comparator import is_contained
from tests.benchmarks.papers.grading import COMPANIES, DEMO, REPORTED
from tests.benchmarks.papers.process_questions import FOLDER, Documents, Kind, load_questions

TUNING = FOLDER.parent / "grading_tuning.toml"
DOCUMENTS = {1: page_source("document:1", "Refunds", "A plan is refunded within 30 days.")}
ANSWERABLE = """
[[questions]]
kind = "easy"
question = "How long?"
sections = [{ document = 1, heading = "" }]
answers = ["30 days"]
"""


def documents_of(company: str) -> Documents:
    policies = packaged("policies") if company == DEMO else FOLDERS / company / "policies"
    return {int(document.number): document_source(document) for document in load_documents(policies)}


def test_every_company_has_questions_and_none_is_both_fitted_and_reported() -> None:
    """Rule: a company that somebody adds is asked about, too."""
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(COMPANIES)
    assert set(COMPANIES) - {DEMO} <= {path.name for path in FOLDERS.iterdir() if path.is_dir()}
    assert len(set(COMPANIES)) == len(COMPANIES) > len(REPORTED) > 0


@pytest.mark.parametrize("company", COMPANIES)
def test_each_company_has_three_easy_four_regular_three_hard_and_two_unanswerable_questions(company: str) -> None:
    """Rule: twelve rows, as the table of the paper has its kinds; a hard question needs two sections."""
    questions = load_questions(FOLDER / f"{company}.toml", documents_of(company))
    kinds = Counter(question.kind for question in questions)
    assert kinds == {Kind.EASY: 3, Kind.REGULAR: 4, Kind.HARD: 3, Kind.UNANSWERABLE: 2}
    assert all((len(question.sections) > 1) == (question.kind is Kind.HARD) for question in questions)


@pytest.mark.parametrize("company", COMPANIES)
def test_the_sections_that_are_expected_hold_an_answer(company: str) -> None:
    """The failure's story: a document was edited, and the question named another place ever after."""
    documents = documents_of(company)
    for question in load_questions(FOLDER / f"{company}.toml", documents):
        held = [
            documents[section.document].sentences[position].text
            for section in question.sections
            for position in sorted(section.positions(documents))
        ]
        assert question.kind is Kind.UNANSWERABLE or is_contained(question.answers, "\n".join(held)), question.question


def test_no_question_that_is_tuned_on_is_reported_on() -> None:
    """Rule: choose on one set, report on the other; not even a document is asked about in both."""
    documents = documents_of(DEMO)
    tuning = load_questions(TUNING, documents)
    reported = load_questions(FOLDER / "demo.toml", documents)
    assert not {n for one in tuning for n in one.expected} & {n for one in reported for n in one.expected}
    for question in tuning:
        texts = [sentence.text for number in question.expected for sentence in documents[number].sentences]
        assert not question.answers or is_contained(question.answers, "\n".join(texts)), question.question


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ANSWERABLE.replace("document = 1", "document = 3"), "the company has no document 3"),
        (ANSWERABLE.replace('heading = ""', 'heading = "Fees"'), "document 1 has no section 'Fees'"),
        (ANSWERABLE.replace('"easy"', '"unanswerable"'), "an unanswerable question has no sections"),
        (ANSWERABLE.replace('sections = [{ document = 1, heading = "" }]', ""), "say which sections answer it"),
        (ANSWERABLE + "documents = [1]\n", "say which sections answer it"),
        (ANSWERABLE.replace('"easy"', '"simple"'), r"questions\.0\.kind: Input should be 'easy'"),
        ("questions = []", "questions: Tuple should have at least 1 item"),
        ("[[question]]", "questions: Field required"),
        ("[[questions", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, told: str) -> None:
    """Rule: one line that says what is wrong; a question about another company would only be wrong, silently."""
    path = tmp_path / "questions.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=told):
        load_questions(path, DOCUMENTS)
