"""Loads the canned clarification questions of `policies/questions.toml`: numbered, one text per locale.

Invariant: an answer asks one of these questions verbatim. Checked by
tests/unit/company/test_questions.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from support_agent.company.front_matter import FileFindings
from support_agent.company.text import refused_character
from support_agent.config.toml_file import TomlFile, read_toml
from support_agent.core.findings import Finding, nearest
from support_agent.core.frozen import Frozen
from support_agent.core.locales import FALLBACK_LOCALE, LocaleTag, localised
from support_agent.errors import ConfigError


class CannedQuestion(Frozen):
    """One question to the customer; `about` is for the model, `text` maps locales to words."""

    number: Annotated[int, Field(ge=1, le=9_999)]
    about: Annotated[str, Field(min_length=1, max_length=300)]
    text: dict[LocaleTag, Annotated[str, Field(min_length=1, max_length=1_000)]]
    between: tuple[int, ...] = ()
    """Numbers of the documents that it distinguishes: it is asked if the answer is one of them, but unclear which."""
    about_records: str = ""
    """The kind of records ("invoices") of which it asks which one is meant; "" for none."""

    def text_for(self, locale: str) -> str:
        """The words for a locale tag, else the English ones."""
        return localised(self.text, locale)


def load_questions(path: Path) -> tuple[CannedQuestion, ...]:
    """The questions by number; () if the file does not exist.

    Raises:
        ConfigError: lists every error in the file.
    """
    questions, findings = _inspect(path)
    if findings:
        raise ConfigError("\n".join(map(str, findings)), code="questions")
    return questions


def check_questions(path: Path) -> list[Finding]:
    """The errors in the file; a missing file has none."""
    return _inspect(path)[1]


def _inspect(path: Path) -> tuple[tuple[CannedQuestion, ...], list[Finding]]:
    findings: list[Finding] = []
    report = FileFindings(path, findings)
    if not path.exists():
        return (), []
    try:
        file = read_toml(path)
    except ConfigError as error:
        what = str(error).removeprefix(f"{path}: ")
        report.add(None, what, "write [[question]] tables as the comments of `init` show")
        return (), findings
    for key in (key for key in file.data if key != "question"):
        report.add(file.line(key), f"unknown key {key}", "keep [[question]] tables only")
    tables = file.data.get("question", [])
    if not isinstance(tables, list):
        report.add(file.line("question"), "question is not a list", "write [[question]] in double brackets")
        return (), findings
    questions: dict[int, CannedQuestion] = {}
    for nth, table in enumerate(tables):
        question = _question(report, file, nth, table)
        if question is None:
            continue
        if question.number in questions:
            line = file.line("question", "number", nth)
            report.add(line, f"number {question.number} is used twice", "give it another number")
        questions[question.number] = question
    return tuple(questions[number] for number in sorted(questions)), findings


def _question(report: FileFindings, file: TomlFile, nth: int, table: Any) -> CannedQuestion | None:
    try:
        question = CannedQuestion.model_validate(table)
    except ValidationError as error:
        for detail in error.errors(include_input=False):
            _report_key(report, file, nth, detail["loc"], detail["type"])
        return None
    line = file.line("question", "text", nth) or file.line("question", "", nth)
    if FALLBACK_LOCALE not in question.text:
        what = f"question {question.number} has no English text"
        report.add(line, what, 'add en = "..." to it: the other locales fall back to it')
    for text in (question.about, *question.text.values()):
        if refused := refused_character(text, is_one_line=True):
            report.add(line, f"forbidden character {refused[1]} in question {question.number}")
    return question


def _report_key(report: FileFindings, file: TomlFile, nth: int, loc: tuple[int | str, ...], error_type: str) -> None:
    """Report one key that pydantic refused."""
    key = str(loc[0]) if loc else ""
    line = file.line("question", key, nth)
    if error_type == "missing":
        report.add(line, f"{key} is missing", 'a question has number, about and text = { en = "..." }')
    elif error_type == "extra_forbidden":
        report.add(line, f"unknown key {key}", f"delete it{nearest(key, CannedQuestion.model_fields)}")
    else:
        todo = 'a question has number = 1 to 9999, about = "..." and text = { en = "..." }'
        report.add(line, f"{'.'.join(map(str, loc))} cannot be used", todo)
