"""Fact tools: internal searches that return pointers and scores, never text for a customer.

Checked by tests/unit/tools/test_find_documents.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from support_agent.tools.base import Context, Match, Pointed, Tool, ToolKind
from support_agent.tools.closed import DocumentNumber, QuestionNumber
from support_agent.tools.retrieval import finding_text, retrieve

SHOWN = 8
"""Most topics in the description of a result."""


class FindDocuments(Tool):
    """Find the documents, account values and series nearest to one of the customer's questions.

    With a fact room it also retrieves evidence, which takes the model seconds. It does not for questions that are
    nearest to an account value, or whose choice is settled.
    """

    name: ClassVar[str] = "find_documents"
    kind: ClassVar[ToolKind] = ToolKind.FACT

    question: QuestionNumber

    def run(self, context: Context) -> Pointed:
        question = context.questions[self.question - 1]
        if self.question not in context.found:
            context.found[self.question] = context.search.nearest(question)
        matches = context.found[self.question]
        documents = context.sendable
        is_due = self.question not in context.findings and self.question not in context.settled
        if context.room is not None and documents and is_due and _is_nearest_to_a_document(matches):
            likely = likely_document(context, self.question)
            context.findings[self.question] = retrieve(context.room, question, documents, likely)
        shown = ", ".join(f"{match.topic} {match.score:.2f}" for match in matches[:SHOWN])
        finding = context.findings.get(self.question)
        settled = context.settled.get(self.question)
        description = shown if finding is None else f"{shown}; looked into: {finding_text(finding)}"
        if settled is not None:
            description = f"{shown}; settled without evidence: {settled}"
        return Pointed(pointer=f"question {self.question}", description=description)


class FindEvidence(Tool):
    """Find the sentences of one document that answer one of the customer's questions."""

    name: ClassVar[str] = "find_evidence"
    kind: ClassVar[ToolKind] = ToolKind.FACT

    question: QuestionNumber
    number: DocumentNumber

    def run(self, context: Context) -> Pointed:
        document, earlier = context.sendable.get(self.number), context.findings.get(self.question)
        if context.room is not None and document is not None:
            question = context.questions[self.question - 1]
            finding = retrieve(context.room, question, {self.number: document}, self.number)
            context.findings[self.question] = finding if earlier is None else finding.after(earlier)
        found = context.findings.get(self.question)
        description = "not looked into" if found is None else f"looked into: {finding_text(found)}"
        return Pointed(pointer=f"question {self.question}", description=description)


def likely_document(context: Context, question: int) -> int | None:
    """The nearest document that may be sent, which the fact room searches first; None if there is none."""
    topics = (match.topic.partition(":") for match in context.found.get(question, ()))
    numbers = (int(number) for kind, _, number in topics if kind == "document")
    return next((number for number in numbers if number in context.sendable), None)


def _is_nearest_to_a_document(matches: Sequence[Match]) -> bool:
    return bool(matches) and matches[0].topic.startswith("document:")
