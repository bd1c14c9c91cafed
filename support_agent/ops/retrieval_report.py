"""The retrieval report of a question: the evidence and every step to it, for `show` and `facts find`.

Invariant: sentences come from the company's documents, by position; text of web pages and of the model is marked as
such. Checked by tests/unit/ops/test_retrieval_report.py and
tests/journey/test_fact_room.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from support_agent.answer.packet import FoundEvidence, FoundPage, QuestionRetrieval
from support_agent.cases.decision import Decision
from support_agent.company.documents import Document
from support_agent.core.frozen import Frozen
from support_agent.core.levels import Level
from support_agent.desk.retrieved import numbered, quoted
from support_agent.tools.fact_room import RetrievalResult
from support_agent.tools.fact_trace import ModelText, NodeVisit


class RetrievalReport(Frozen):
    """One question of a mail, by its number from 1: what was found, each step, and the cost.

    `evidence` has sentences of the company only; text of the model is in the `model_text` of the steps.
    """

    question: int
    text: str
    is_answered: bool
    reason: str
    evidence: tuple[FoundEvidence, ...]
    pages: tuple[FoundPage, ...]
    grounded: float | None
    answers: float | None
    cycles: int
    index_version: str
    tokens: int
    forward_passes: int
    seconds: float
    trace: tuple[NodeVisit, ...]

    @property
    def written(self) -> tuple[ModelText, ...]:
        """What the model wrote in the steps, in order."""
        return tuple(visit.model_text for visit in self.trace if visit.model_text)


def reports_of(decision: Decision) -> tuple[RetrievalReport, ...]:
    """The reports of a mail, by question."""
    shown = {one.number: one for one in decision.retrievals}
    reports = []
    for number, found in sorted(decision.findings.items()):
        known = shown.get(number) or QuestionRetrieval(number=number, question="", reason_code=found.reason)
        reports.append(_report(number, known.question, found, known.evidence, known.pages))
    return tuple(reports)


def report_on(question: str, found: RetrievalResult, documents: dict[str, Document]) -> RetrievalReport:
    """The report of a question without a mail, from the documents that were searched."""
    cited = ((one, documents[key]) for one in found.cited if (key := f"document:{one.document}") in documents)
    evidence = tuple(quoted(document, one.sentences, one.grade, most=None) for one, document in cited)
    return _report(1, question, found, evidence, numbered(found.pages, documents.values()))


def searchable(documents: Sequence[Document], today: date, level: Level) -> dict[str, Document]:
    """The documents that a sender of this level may get today, by the source of their passages ("document:6")."""
    return {f"document:{document.number}": document for document in documents if document.may_be_sent(today, level)}


def _report(
    number: int, text: str, found: RetrievalResult, evidence: tuple[FoundEvidence, ...], pages: tuple[FoundPage, ...]
) -> RetrievalReport:
    return RetrievalReport(
        question=number,
        text=text,
        is_answered=found.is_answered,
        reason=found.reason,
        evidence=evidence,
        pages=pages,
        grounded=found.grounded,
        answers=found.answers,
        cycles=found.cycles,
        index_version=found.index_version,
        tokens=found.tokens,
        forward_passes=found.forward_passes,
        seconds=found.seconds,
        trace=found.trace,
    )
