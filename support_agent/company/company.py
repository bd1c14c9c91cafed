"""Everything the company says and knows, loaded at once: documents, accounts, canned questions.

Invariant: a `Company` does not change while a mail is handled; `version` names all that it was loaded from.
Checked by tests/unit/company/test_company.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TypeVar

from support_agent.company.accounts import Accounts, check_accounts
from support_agent.company.documents import Document, check_documents, load_documents
from support_agent.company.questions import CannedQuestion, check_questions, load_questions
from support_agent.errors import ConfigError
from support_agent.findings import Finding
from support_agent.settings import CompanySettings

QUESTIONS_FILE = "questions.toml"
"""Stands in the folder of the documents."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Company:
    """The company's words and values; `documents` are all of them, by number, valid or not."""

    documents: tuple[Document, ...]
    accounts: Accounts
    questions: tuple[CannedQuestion, ...]

    @classmethod
    def load(cls, settings: CompanySettings) -> Company:
        """Read everything that `settings` names.

        Raises:
            ConfigError: listing what is wrong in any of the files.
        """
        errors: list[str] = []

        def read(loader: Callable[[Path], _T], path: Path) -> _T | None:
            try:
                return loader(path)
            except ConfigError as error:
                errors.append(str(error))
                return None

        documents = read(load_documents, settings.policies)
        questions = read(load_questions, settings.policies / QUESTIONS_FILE)
        accounts = read(Accounts.load, settings.accounts)
        if documents is None or questions is None or accounts is None:
            raise ConfigError("\n".join(errors), code="company")
        return cls(documents=documents, accounts=accounts, questions=questions)

    @property
    def version(self) -> str:
        """sha256, in hex, over the documents' versions, the declared accounts and the canned questions."""
        documents = [f"document {document.number} {document.version}" for document in self.documents]
        questions = [f"question {question.model_dump_json()}" for question in self.questions]
        lines = [*documents, f"accounts {self.accounts.version}", *questions]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def check_company(settings: CompanySettings, today: date) -> list[Finding]:
    """What is wrong with the company's files, each finding with what to do; the accounts' queries are run."""
    return [
        *check_documents(settings.policies, today),
        *check_questions(settings.policies / QUESTIONS_FILE),
        *check_accounts(settings.accounts),
    ]
