"""Two hops: every piece stands where the file says, and a way is right where both are found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support_agent.company.documents import Document, load_documents
from support_agent.config.facts import Ways
from support_agent.errors import ConfigError
from support_agent.facts.chunks import document_source, in_characters
from support_agent.facts.index import Collection, memory_client
from support_agent.facts.passages import PassageIndex
from tests.benchmarks.companies import COMPANIES
from tests.benchmarks.papers.files import read_json_lines
from tests.benchmarks.papers.two_hops import FILE, Piece, Question, Report, evaluate, found_of, row_of, table
from tests.fakes_facts import Piece as Found
from tests.unit.facts.words import WordEmbedder

QUESTIONS = read_json_lines(FILE, Question)
FOLDERS = {"demo": Path(__file__).parents[4] / "policies", "shop": COMPANIES / "shop" / "policies"}
DOCUMENTS: dict[str, dict[int, Document]] = {
    name: {document.number: document for document in load_documents(folder)} for name, folder in FOLDERS.items()
}


def whole(document: Document) -> Found:
    return Found(source=f"document:{document.number}", first=0, last=len(document.sentences) - 1, text="")


def test_every_piece_stands_in_its_document() -> None:
    """Rule: 30 questions or more, each asked once, of both kinds, and the two pieces are two places."""
    assert len({one.question for one in QUESTIONS}) == len(QUESTIONS) >= 30
    assert min(Counter(one.kind for one in QUESTIONS).values()) >= 4
    for one in QUESTIONS:
        documents = DOCUMENTS[one.company]
        assert found_of(one, [whole(document) for document in documents.values()], documents) == (True, True)
        assert found_of(one, [], documents) == (False, False)
        numbers = {piece.document for piece in one.gold}
        assert len(numbers) == (2 if one.kind == "two documents" else 1)
        assert one.gold[0] != one.gold[1]


def test_a_piece_that_stands_nowhere_is_refused() -> None:
    wrong = QUESTIONS[0].model_copy(update={"gold": (Piece(document=1, words="nowhere"), QUESTIONS[0].gold[1])})
    with pytest.raises(ConfigError, match="does not stand in document 1"):
        found_of(wrong, [], DOCUMENTS["demo"])


def test_both_are_needed_and_each_is_counted() -> None:
    row = row_of("demo", "any", [(True, True), (True, False), (False, False), (True, True)], 1)
    assert (row.questions, row.both, row.pieces) == (4, 0.5, 0.625)
    assert row.both_range[0] <= 0.5 <= row.both_range[1]
    assert "50%" in table(Report(passages=4, seed=1, rows=(row,)))


def test_a_few_questions_are_searched_by_words() -> None:
    """The short form: the index itself, with an embedder that knows a few words."""
    documents = DOCUMENTS["shop"]
    index = PassageIndex(
        Collection(memory_client(), "two-hops-short"), WordEmbedder(), in_characters(400, 100), Ways.WORDS
    )
    index.update([document_source(document) for document in documents.values()])
    asked = [one for one in QUESTIONS if one.company == "shop"][:4]
    found = evaluate(asked, {"words": index}, documents, 6)["words"]
    assert len(found) == 4
    assert any(any(pieces) for pieces in found)
