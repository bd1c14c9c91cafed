"""The topics of a company with their texts: the documents, account fields, series and records to choose from.

Checked by tests/unit/facts/test_topics.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from support_agent.company.company import Company
from support_agent.company.documents import Document
from support_agent.core.frozen import Frozen
from support_agent.tools.signals import TextKind


class Topic(Frozen):
    """One option of the choice and the company's own words about it; `key` is "document:6" or "field:plan"."""

    key: str
    title: str
    summary: str = ""
    questions: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()

    def texts(self) -> Mapping[TextKind, Sequence[str]]:
        """The texts to compare a question with, by kind."""
        whole = f"{self.title}. {self.summary}" if self.summary else ""
        heads = tuple(filter(None, (self.title, self.summary, whole)))
        return {"head": heads, "question": self.questions, "section": self.sections}


def topics_of(company: Company) -> tuple[Topic, ...]:
    """Every topic of a company, documents first; a document has the texts of all its languages."""
    by_number: dict[int, list[Document]] = {}
    for document in company.texts:
        by_number.setdefault(document.number, []).append(document)
    documents = [_document_topic(number, versions) for number, versions in by_number.items()]
    accounts = company.accounts
    kinds = (("field", accounts.fields), ("series", accounts.series), ("record", accounts.records))
    values = [
        Topic(key=f"{kind}:{name}", title=spec.label_for("en"), summary=spec.summary, questions=spec.questions)
        for kind, specs in kinds
        for name, spec in specs.items()
    ]
    return (*documents, *values)


def version_of_topics(topics: Sequence[Topic]) -> str:
    """Checksum of all texts of the topics."""
    return hashlib.sha256("\n".join(topic.model_dump_json() for topic in topics).encode()).hexdigest()


def _document_topic(number: int, versions: Sequence[Document]) -> Topic:
    """A document with its sections, each under the document's title and its own heading; translations add theirs."""
    first = versions[0].head
    return Topic(
        key=f"document:{number}",
        title=first.title,
        summary=first.summary,
        questions=tuple(question for version in versions for question in version.head.questions),
        sections=tuple(section for version in versions for section in section_texts(version)),
    )


def section_texts(document: Document) -> list[str]:
    """The text of each section of `document.sections`, under the document's title and its own heading."""
    return [
        f"{document.head.title}: {section[0].heading}. {' '.join(sentence.text for sentence in section)}"
        for section in document.sections
    ]
