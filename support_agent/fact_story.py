"""What `facts find` tells: which documents answer a question, sentence by sentence, and how that was found out.

The sentences are the company's own, read again by their positions; what the model wrote on the way stands in the trace,
marked as such. Checked by tests/unit/test_fact_story.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from support_agent.company.documents import Document
from support_agent.facts.trace import Findings, GradedPointer, Outcome, Visit
from support_agent.frozen import Frozen
from support_agent.levels import CUSTOMER, Level


class Evidence(Frozen):
    """Whole sentences of a document, `first` to `last`, with the grade that they help; None: it was not graded."""

    document: int
    title: str
    first: int
    last: int
    grade: float | None
    sentences: tuple[str, ...]


class FactStory(Frozen):
    """One question, looked into."""

    question: str
    is_answered: bool
    outcome: Outcome
    evidence: tuple[Evidence, ...]
    trace: tuple[Visit, ...]


def searchable(documents: Sequence[Document], today: date, level: Level) -> dict[str, Document]:
    """The documents that a sender of this level may be sent today, by the name of their passages' source."""
    return {
        f"document:{document.number}": document
        for document in documents
        if document.is_valid_on(today) and (level >= CUSTOMER or document.head.audience == "everyone")
    }


def fact_story(question: str, found: Findings, documents: dict[str, Document]) -> FactStory:
    """The findings with the sentences that they point at; pages of the web are pointers only."""
    pointed = (entry for entry in found.outcome.evidence if entry.pointer.source in documents)
    return FactStory(
        question=question,
        is_answered=found.outcome.is_answered,
        outcome=found.outcome,
        evidence=tuple(_evidence(entry, documents[entry.pointer.source]) for entry in pointed),
        trace=found.trace,
    )


def _evidence(entry: GradedPointer, document: Document) -> Evidence:
    pointer = entry.pointer
    return Evidence(
        document=document.number,
        title=document.head.title,
        first=pointer.first,
        last=pointer.last,
        grade=entry.grade,
        sentences=tuple(sentence.text for sentence in document.sentences[pointer.first : pointer.last + 1]),
    )
