"""Shows a person what the fact room found about the questions of a mail: sentences of the company's documents.

Web pages are shown apart; a page of the company's own site has the number of its document. Only a person uses that
number: the text of a page never chooses a document for a customer. A document is chosen by its own words in the index
and by the thresholds of every choice, or not at all.

Invariant: every sentence is a document's own, as it was when the mail was decided; a page has the number of a document
that the sender may get, or none. Checked by tests/unit/desk/test_retrieved.py,
tests/journey/test_fact_room.py and tests/journey/test_web_pages.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from support_agent.answer.packet import FoundEvidence, FoundPage, QuestionRetrieval, QuotedSentence
from support_agent.company.documents import MAX_EXCERPT_CHARACTERS, Document
from support_agent.company.links import link_key
from support_agent.config.search import Service
from support_agent.tools.base import UNSURE_SECTION, Context

MOST_EVIDENCE = 5
"""A person is shown at most this many pieces of evidence for a question, the surest first."""


def retrieved(context: Context) -> tuple[QuestionRetrieval, ...]:
    """The findings for each question: sentences of the documents, and web pages."""
    return tuple(_retrieval(number, context) for number in sorted({*context.findings, *context.unsure}))


def _retrieval(number: int, context: Context) -> QuestionRetrieval:
    finding = context.findings.get(number)
    return QuestionRetrieval(
        number=number,
        question=context.questions[number - 1],
        reason_code=finding.reason if finding is not None and number not in context.unsure else UNSURE_SECTION,
        evidence=tuple(_evidence(number, context))[:MOST_EVIDENCE],
        pages=numbered(finding.pages, context.sendable.values()) if finding is not None else (),
    )


def numbered(pages: Sequence[FoundPage], documents: Iterable[Document]) -> tuple[FoundPage, ...]:
    """The pages; a page of the company's own site gets the number of the one document with its address.

    Args:
        documents: Those that the sender may get.
    """
    keys = [link_key(page.address) if Service.SITE in page.found_by else None for page in pages]
    at: dict[str | None, list[int]] = {}
    for document in documents if any(keys) else ():
        at.setdefault(link_key(document.head.url), []).append(document.number)
    found = [at.get(key, []) for key in keys]
    return tuple(
        page.model_copy(update={"document": sharing[0] if len(sharing) == 1 else None})
        for page, sharing in zip(pages, found, strict=True)
    )


def _evidence(number: int, context: Context) -> Iterator[FoundEvidence]:
    """The likeliest answer that was too unsure to send, then the evidence of the fact room."""
    if (unsure := context.unsure.get(number)) is not None:
        yield quoted(unsure.document, unsure.positions, _grade(unsure.probability))
    if (finding := context.findings.get(number)) is not None:
        for entry in finding.cited:
            document = context.documents[entry.document]
            shown = unsure.positions if unsure is not None and unsure.document is document else ()
            if left := [position for position in entry.sentences if position not in shown]:
                yield quoted(document, left, entry.grade)


def _grade(probability: float) -> float | None:
    return min(probability, 1.0) if probability >= 0 else None  # a NaN is none


def quoted(
    document: Document, positions: Sequence[int], grade: float | None, most: int | None = MAX_EXCERPT_CHARACTERS
) -> FoundEvidence:
    """Sentences as evidence: at most `most` characters together, but at least one sentence; None: all."""
    sentences: list[QuotedSentence] = []
    for position in positions:
        text = document.sentences[position].text
        if sentences and most is not None and sum(len(earlier.text) for earlier in sentences) + len(text) > most:
            break
        sentences.append(QuotedSentence(position=position, text=text))
    return FoundEvidence(number=document.number, title=document.head.title, grade=grade, sentences=tuple(sentences))
