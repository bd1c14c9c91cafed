"""Fact tools: they look inside and return pointers and scores; a customer never sees their text."""

from __future__ import annotations

from typing import ClassVar

from support_agent.tools.base import Context, Kind, Pointed, Tool
from support_agent.tools.closed import QuestionNumber

SHOWN = 8
"""Topics named in the description of a result."""


class FindDocuments(Tool):
    """Find the documents, account values and series nearest to one of the customer's questions."""

    name: ClassVar[str] = "find_documents"
    kind: ClassVar[Kind] = Kind.FACT

    question: QuestionNumber

    def run(self, context: Context) -> Pointed:
        matches = context.search.nearest(context.questions[self.question - 1])
        context.found[self.question] = matches
        shown = ", ".join(f"{match.topic} {match.score:.2f}" for match in matches[:SHOWN])
        return Pointed(pointer=f"question {self.question}", description=shown)
