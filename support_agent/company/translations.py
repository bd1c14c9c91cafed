"""Finds texts that are sent in English although there are templates for another language.

Invariant: findings are warnings, because the English text is sent instead. Checked by
tests/unit/company/test_translations.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from support_agent.company.account_specs import line_of, read_specs, spec_finding
from support_agent.company.questions import load_questions
from support_agent.config.toml_file import read_toml
from support_agent.core.findings import Finding, Severity
from support_agent.core.locales import FALLBACK_LOCALE, language_of, lookup
from support_agent.errors import ConfigError


def untranslated(accounts: Path, questions: Path, languages: Collection[str]) -> Iterator[Finding]:
    """The texts of accounts.toml and questions.toml that a language lacks.

    Args:
        languages: Those with templates; English is ignored.
    """
    others = sorted(language for language in languages if language_of(language) != FALLBACK_LOCALE)
    try:
        yield from _of_accounts(accounts, others)
        yield from _of_questions(questions, others)
    except ConfigError:
        return  # `check_company` reports the unreadable file


def _of_accounts(path: Path, languages: Collection[str]) -> Iterator[Finding]:
    file = read_toml(path)
    specs, _ = read_specs(file)
    if specs is None:
        return
    for group, entries in (("fields", specs.fields), ("series", specs.series), ("records", specs.records)):
        for name, spec in entries.items():
            table = f"{group}.{name}"
            for key, texts in spec.texts().items():
                for language in _lacking(texts, languages):
                    line = line_of(file, table, key)
                    what = f"[{table}] {key} has no {language!r} words: English is sent"
                    yield spec_finding(file, line, what, _todo(language), severity=Severity.WARNING)


def _of_questions(path: Path, languages: Collection[str]) -> Iterator[Finding]:
    questions = load_questions(path)
    if not questions:
        return
    file = read_toml(path)
    numbers = [table["number"] for table in file.data["question"]]
    for question in questions:
        line = file.line("question", "text", numbers.index(question.number))
        for language in _lacking(question.text, languages):
            what, todo = f"question {question.number} has no {language!r} text: English is sent", _todo(language)
            yield spec_finding(file, line, what, todo, severity=Severity.WARNING)


def _lacking(texts: Mapping[str, object], languages: Collection[str]) -> Iterator[str]:
    """The languages that would get the English text."""
    known = {key.lower() for key in texts} - {FALLBACK_LOCALE}
    return (language for language in languages if not known & set(lookup(language)))


def _todo(language: str) -> str:
    return f'add {language} = "..." beside the English'
