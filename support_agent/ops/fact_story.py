"""What `facts find` tells: which documents answer a question, sentence by sentence, and how that was found out.

The sentences are the company's own, read again by their positions; what pages of the web say, and what the model wrote
on the way, is marked as such. Checked by tests/unit/ops/test_fact_story.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from support_agent.answer.packet import FoundPage
from support_agent.company.documents import Document
from support_agent.core.frozen import Frozen
from support_agent.core.levels import Level
from support_agent.desk.looked import numbered
from support_agent.facts.inquiry.room import evidence_of
from support_agent.tools import fact_room
from support_agent.tools.fact_trace import Findings, Outcome, Visit


class Evidence(Frozen):
    """Whole sentences of a document, by position, with the grade that they help; None: it was not graded."""

    document: int
    title: str
    positions: tuple[int, ...]
    grade: float | None
    sentences: tuple[str, ...]


class FactStory(Frozen):
    """One question, looked into."""

    question: str
    is_answered: bool
    outcome: Outcome
    evidence: tuple[Evidence, ...]
    pages: tuple[FoundPage, ...]
    trace: tuple[Visit, ...]


def searchable(documents: Sequence[Document], today: date, level: Level) -> dict[str, Document]:
    """The documents that a sender of this level may be sent today, by the name of their passages' source."""
    return {f"document:{document.number}": document for document in documents if document.may_be_sent(today, level)}


def fact_story(question: str, found: Findings, documents: dict[str, Document]) -> FactStory:
    """The findings with the sentences that they point at."""
    by_number = {int(document.number): document for document in documents.values()}
    pointed = (entry for entry in evidence_of(found.outcome) if entry.document in by_number)
    return FactStory(
        question=question,
        is_answered=found.outcome.is_answered,
        outcome=found.outcome,
        evidence=tuple(_evidence(entry, by_number[entry.document]) for entry in pointed),
        pages=numbered(found.pages, documents.values()),
        trace=found.trace,
    )


def _evidence(entry: fact_room.Evidence, document: Document) -> Evidence:
    return Evidence(
        document=document.number,
        title=document.head.title,
        positions=entry.sentences,
        grade=entry.grade,
        sentences=tuple(document.sentences[position].text for position in entry.sentences),
    )
