"""The questions of the process table, and where the documents of a company answer them.

Questions are easy (one sentence answers, in nearly its words), regular (other words), hard (several sentences or
documents together) or unanswerable. Those of each company are in `process/NAME.toml`. Checked by
tests/unit/benchmarks/papers/test_process_questions.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, model_validator

from support_agent.config.toml_file import read_toml
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.facts.chunks import Source
from tests.benchmarks.papers.files import first_fault

FOLDER = Path(__file__).parent / "process"

Documents = Mapping[int, Source]
"""A company's documents, by number."""


class Kind(StrEnum):
    """How hard a question is."""

    EASY = "easy"
    REGULAR = "regular"
    HARD = "hard"
    UNANSWERABLE = "unanswerable"


class Section(Frozen):
    """A section of a document, by its heading."""

    document: int
    heading: str

    def positions(self, documents: Documents) -> frozenset[int]:
        """Those of its sentences; none where there is no such section."""
        source = documents.get(self.document)
        return (
            frozenset(one.index for one in source.sentences if one.heading == self.heading) if source else frozenset()
        )


class Question(Frozen):
    """A question and what is right; an unanswerable one has nothing else.

    `sections`: where the answer stands, all of which it needs; or `documents`, where only these are known. `answers`:
    references, one of which is contained in a right answer.
    """

    kind: Kind
    question: str = Field(min_length=1)
    sections: tuple[Section, ...] = ()
    documents: tuple[int, ...] = ()
    answers: tuple[Annotated[str, Field(min_length=1)], ...] = ()

    @model_validator(mode="after")
    def _is_answerable_or_not(self) -> Question:
        if self.kind is Kind.UNANSWERABLE and (self.expected or self.answers):
            raise ValueError("an unanswerable question has no sections, documents or answers")
        if self.kind is not Kind.UNANSWERABLE and bool(self.sections) == bool(self.documents):
            raise ValueError("say which sections answer it, or which documents, or that it is unanswerable")
        return self

    @property
    def expected(self) -> tuple[int, ...]:
        """The numbers of the documents that the answer needs."""
        return self.documents or tuple(dict.fromkeys(section.document for section in self.sections))


class _File(Frozen):
    questions: tuple[Question, ...] = Field(min_length=1)


def load_questions(path: Path, documents: Documents) -> tuple[Question, ...]:
    """Read the questions, TOML with `[[questions]]`.

    Args:
        documents: Those of the company that is asked.
    Raises:
        ConfigError: the file is not there or not of this form, or names a document or section that does not exist.
    """
    try:
        questions = _File.model_validate(read_toml(path).data).questions
    except ValidationError as error:
        raise ConfigError(f"{path}: {first_fault(error)}: correct it") from None
    for question in questions:
        where = f"{path}: {question.question!r}"
        for number in question.expected:
            if number not in documents:
                raise ConfigError(f"{where}: the company has no document {number}: name it with --company")
        for section in question.sections:
            if not section.positions(documents):
                raise ConfigError(f"{where}: document {section.document} has no section {section.heading!r}")
    return questions
