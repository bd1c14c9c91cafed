"""Compares the items of an answer with the company's files.

Invariant: a document's title, address, date, headings, sentences, numbers and cells, a canned question, and the name
and labels of a field, a series or a record are in an answer as in the company's files. Account values change, so the
gate compares them with the values that were read for this answer. Checked by
tests/unit/answer/test_verification.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from support_agent.answer.final_answer import DocumentItem, FinalAnswer
from support_agent.answer.item_kinds import KINDS
from support_agent.company.company import Company
from support_agent.company.documents import Document, Excerpt


@dataclass(frozen=True)
class Verifier:
    """Compares answers with the company's files.

    `document` finds a document by its version; an unknown language, as in a replay, is not compared. `company` is None
    if its other files are unknown, as in a replay, because they are not stored.
    """

    document: Callable[[str], Document | None]
    company: Company | None = None

    @classmethod
    def of(cls, company: Company) -> Verifier:
        """A verifier for the loaded company."""
        return cls({document.version: document for document in company.texts}.get, company)

    def mismatches(self, final: FinalAnswer, locale: str) -> Iterator[str]:
        """The differences between an answer and the company's files, each in one sentence.

        Args:
            locale: The templates' locale, for labels and questions.
        """
        for item in (item for answer in final.answers for item in answer.items):
            if isinstance(item, DocumentItem):
                yield from self._in_document(item)
            elif self.company is not None:
                mismatch = KINDS[item.kind].mismatch
                wrong = mismatch(item, self.company, locale) if mismatch else f"{item.kind} cannot be verified"
                yield from (wrong,) if wrong else ()

    def _in_document(self, item: DocumentItem) -> Iterator[str]:
        name = f"document {item.number}, version {item.version[:12]}"
        document = self.document(item.version)
        if document is None:
            yield f"{name} is not there"
            return
        head, language = document.head, document.language or item.language
        parts = (head.number, head.title, head.url, head.valid_from, head.delivery.value, document.version, language)
        said = (item.number, item.title, item.url, item.valid_from, item.delivery, item.version, item.language)
        if parts != said:
            yield f"{name} has another number, title, address, date, delivery or language than the answer says"
        for excerpt in item.excerpts:
            if not _stands_in(excerpt, document, item.keeps_form):
                yield f"{name}: sentence {excerpt.index} is not what the answer says"


def _stands_in(excerpt: Excerpt, document: Document, keeps_form: bool) -> bool:
    """Whether the document contains the whole item; parts that older versions did not store may be missing."""
    if not 0 <= excerpt.index < len(document.sentences):
        return False
    sentence = document.sentences[excerpt.index]
    fields = Excerpt.model_fields
    return all(
        value == getattr(sentence, name) or (value == fields[name].default and not keeps_form)
        for name, value in excerpt
    )
