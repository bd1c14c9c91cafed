"""What a company says, looked up again: the items of an answer against the files that they were taken from.

Invariant: a document's title, address, date, headings, sentences, numbers and cells, a canned question, and the name
and labels of a field, a series or a record stand in an answer as in the company's files. The values of an account
change, so they cannot be looked up again: the gate compares them with what was read for this answer. Checked by
tests/unit/answer/test_verification.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from support_agent.answer.final_answer import DocumentItem, Excerpt, FinalAnswer
from support_agent.answer.item_kinds import KINDS
from support_agent.company.company import Company
from support_agent.company.documents import Document


@dataclass(frozen=True)
class Verifier:
    """Compares answers with the company's files.

    `document` finds a document by its version; where its language is not known, as in a replay, it is not compared.
    `company` is None where its other files are not known any more, as in a replay: of them nothing is stored.
    """

    document: Callable[[str], Document | None]
    company: Company | None = None

    @classmethod
    def of(cls, company: Company) -> Verifier:
        """The company as it is loaded."""
        return cls({document.version: document for document in company.texts}.get, company)

    def mismatches(self, final: FinalAnswer, locale: str) -> Iterator[str]:
        """What an answer says in the company's name and the company's files do not say, each in one sentence.

        Args:
            locale: That of the templates, in which labels and questions are taken.
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
    """Whether the document says all of it; what an older answer did not keep yet may be missing."""
    if not 0 <= excerpt.index < len(document.sentences):
        return False
    sentence = document.sentences[excerpt.index]
    fields = Excerpt.model_fields
    return all(
        value == getattr(sentence, name) or (value == fields[name].default and not keeps_form)
        for name, value in excerpt
    )
