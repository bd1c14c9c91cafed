"""The retrieval report of a question: the evidence and every step to it, for `show` and `facts find`.

Invariant: sentences come from the company's documents, by position; text of web pages and of the model is marked as
such. Checked by tests/unit/ops/test_retrieval_report.py and
tests/journey/test_fact_room.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from support_agent.answer.packet import FoundEvidence, QuestionRetrieval
from support_agent.cases.decision import Decision
from support_agent.company.documents import Document
from support_agent.core.frozen import Frozen
from support_agent.core.levels import Level
from support_agent.desk.retrieved import numbered, quoted
from support_agent.tools.fact_room import RetrievalResult
from support_agent.tools.fact_trace import ModelText


class RetrievalReport(Frozen):
    """One question of a mail, by its number from 1: what was found, each step, and the cost.

    `evidence` is that of the `result` in words, of the company only, and its pages have the numbers of their documents;
    text of the model is in the `model_text` of the steps.
    """

    question: int
    text: str
    evidence: tuple[FoundEvidence, ...]
    result: RetrievalResult

    @property
    def written(self) -> tuple[ModelText, ...]:
        """What the model wrote in the steps, in order."""
        return tuple(visit.model_text for visit in self.result.trace if visit.model_text)


def reports_of(decision: Decision) -> tuple[RetrievalReport, ...]:
    """The reports of a mail, by question."""
    shown = {one.number: one for one in decision.retrievals}
    reports = []
    for number, found in sorted(decision.findings.items()):
        known = shown.get(number) or QuestionRetrieval(number=number, question="", reason_code=found.reason)
        result = found.model_copy(update={"pages": known.pages})
        reports.append(RetrievalReport(question=number, text=known.question, evidence=known.evidence, result=result))
    return tuple(reports)


def report_on(question: str, found: RetrievalResult, documents: dict[str, Document]) -> RetrievalReport:
    """The report of a question without a mail, from the documents that were searched."""
    cited = ((one, documents[key]) for one in found.cited if (key := f"document:{one.document}") in documents)
    evidence = tuple(quoted(document, one.sentences, one.grade, most=None) for one, document in cited)
    result = found.model_copy(update={"pages": numbered(found.pages, documents.values())})
    return RetrievalReport(question=1, text=question, evidence=evidence, result=result)


def searchable(documents: Sequence[Document], today: date, level: Level) -> dict[str, Document]:
    """The documents that a sender of this level may get today, by the source of their passages ("document:6")."""
    return {f"document:{document.number}": document for document in documents if document.may_be_sent(today, level)}
