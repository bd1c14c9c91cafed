"""Loads all data of the company: documents, accounts, canned questions.

Invariant: a `Company` does not change while a mail is handled; `version` names all that it was loaded from.
Checked by tests/unit/company/test_company.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import TypeVar

import structlog

from support_agent.company.accounts import Accounts, check_accounts
from support_agent.company.document_languages import Library, check_translations, in_language, load_library
from support_agent.company.documents import Document, check_documents
from support_agent.company.questions import CannedQuestion, check_questions, load_questions
from support_agent.company.values import Customer
from support_agent.company.vocabulary import Vocabulary, vocabulary_of
from support_agent.config.settings import CompanySettings
from support_agent.core.findings import Finding
from support_agent.core.levels import CUSTOMER, Level
from support_agent.errors import ConfigError, PermanentError, TransientError

log = structlog.get_logger(__name__)

QUESTIONS_FILE = "questions.toml"
"""In the folder of the documents."""
Stamp = tuple[tuple[str, int, int], ...]
"""Changes when a file of the company does: path, instant of the change in ns, and bytes of each."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Company:
    """The company's texts and values; `documents` are all documents by number, valid today or not.

    `translations` are documents in other languages than the company's own, by number and language.
    """

    documents: tuple[Document, ...]
    accounts: Accounts
    questions: tuple[CannedQuestion, ...]
    translations: tuple[Document, ...] = ()

    @classmethod
    def load(cls, settings: CompanySettings) -> Company:
        """Read all files of `settings`.

        Raises:
            ConfigError: lists the errors of all files.
        """
        errors: list[str] = []

        def read(loader: Callable[[Path], _T], path: Path) -> _T | None:
            try:
                return loader(path)
            except ConfigError as error:
                errors.append(str(error))
                return None

        library = read(lambda policies: load_library(policies, settings.locale), settings.policies)
        questions = read(load_questions, settings.policies / QUESTIONS_FILE)
        accounts = read(lambda path: Accounts.load(path, zone=settings.time_zone), settings.accounts)
        if library is None or questions is None or accounts is None:
            raise ConfigError("\n".join(errors), code="company")
        return cls(library.documents, accounts, questions, library.translations)

    @property
    def by_number(self) -> dict[int, Document]:
        """The documents in the company's own language, by number."""
        return {document.number: document for document in self.documents}

    @property
    def texts(self) -> tuple[Document, ...]:
        """Every document in every language."""
        return (*self.documents, *self.translations)

    def known_customer(self, address: str, level: Level) -> Customer | None:
        """The customer with this address, if the sender's level proves it; else None, as if the address were unknown.

        Raises:
            TransientError, PermanentError: the company's database failed.
        """
        return self.accounts.customer(address) if level >= CUSTOMER else None

    def addressee(self, address: str, level: Level) -> Customer | None:
        """As `known_customer`, to choose the language of a mail: None, too, where the account data cannot be read.

        A person gets a mail at once, though nobody may know its customer's language while the database is away.
        """
        try:
            return self.known_customer(address, level)
        except (ConfigError, TransientError, PermanentError) as error:
            log.warning("language_not_looked_up", code=error.code)
            return None

    def in_language(self, locale: str, today: date) -> Mapping[int, Document]:
        """The translations for readers of a locale on a day, by document number."""
        return in_language(Library(self.documents, self.translations), locale, today)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the documents in the company's own language."""
        return vocabulary_of(self.documents)

    @cached_property
    def version(self) -> str:
        """sha256, in hex, over the documents' versions, the declared accounts and the canned questions."""
        documents = [f"document {document.number} {document.version}" for document in self.documents]
        documents += [f"document {one.number} {one.language} {one.version}" for one in self.translations]
        questions = [f"question {question.model_dump_json()}" for question in self.questions]
        lines = [*documents, f"accounts {self.accounts.version}", *questions]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def stamp_of(settings: CompanySettings) -> Stamp:
    """Name the company's files as they are on the disk, without reading one.

    Raises:
        TransientError: a folder went while it was listed, or cannot be listed now.
    """
    try:
        found = [path for folder in (settings.policies, settings.templates) for path in sorted(folder.rglob("*"))]
    except OSError as error:
        raise TransientError(f"the company's files cannot be listed now: {error.strerror}", code="company") from error
    return tuple(stamp for path in (*found, settings.accounts) if (stamp := _stamp(path)) is not None)


def _stamp(path: Path) -> tuple[str, int, int] | None:
    """None: no file is there, or not any more."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return (str(path), stat.st_mtime_ns, stat.st_size) if S_ISREG(stat.st_mode) else None


def check_company(settings: CompanySettings, today: date) -> list[Finding]:
    """The errors and warnings of the company's files; runs the accounts' queries."""
    return [
        *check_documents(settings.policies, today),
        *check_translations(settings.policies, settings.locale, today),
        *check_questions(settings.policies / QUESTIONS_FILE),
        *check_accounts(settings.accounts, zone=settings.time_zone),
    ]
