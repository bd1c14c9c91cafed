"""Reads the labels of a company's own mails: the right answers to each.

The format is in the help of `support-agent eval`. Checked by tests/unit/ops/evals/test_mails.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from support_agent.company.account_specs import ALL_COLUMNS
from support_agent.company.company import Company
from support_agent.core.findings import nearest
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.ops.evals.files import data_file, first_problem, read_text
from support_agent.planner.plan_run import TOPIC_KINDS

LABELS = "labels.jsonl"
ESCALATED, ASKED_BACK = "escalate", "ask_clarification"
KINDS = TOPIC_KINDS | {"calculate": "series"}
"""The kind of topic of each outcome."""
MOST_NAMED = 10
"""Of what exists, where nothing is near a misspelt name."""
CALCULATED = slice(3, 4)
"""Where `calculate(SERIES,PERIOD,AGGREGATION,OPERATION,SERIES,PERIOD,AGGREGATION)` names its second series."""
_OUTCOME = re.compile(rf"({'|'.join(KINDS)})\((\w+)[^()]*\)")


class Sections(Frozen):
    """Headings of a document that answer a question: any of `any_of` does; a whole answer has all `needs` too."""

    any_of: frozenset[str]
    needs: frozenset[str] = frozenset()


@dataclass(frozen=True)
class MailLabel:
    """One mail; `expected` has every acceptable outcome of each question, `sections` those of its documents.

    `place` is the file and line that the label is from.
    """

    path: Path
    customer: str | None
    level: int
    kind: str
    language: str
    expected: tuple[tuple[str, ...], ...]
    sections: tuple[Mapping[int, Sections], ...] = ()
    place: str = ""

    @property
    def answerable(self) -> tuple[tuple[str, ...], ...]:
        """The questions that the agent has an answer to."""
        return tuple(outcomes for outcomes in self.expected if outcomes != ("escalate",))

    def of_document(self, number: int) -> tuple[Sections, ...]:
        """The acceptable sections of a document, for each question that it answers."""
        return tuple(question[number] for question in self.sections if number in question)


def _is_outcome(text: str) -> str:
    if text not in {ESCALATED, ASKED_BACK} and not _OUTCOME.fullmatch(text):
        raise ValueError(f"{text!r} is no outcome such as send_document(1), escalate or ask_clarification")
    return text


Outcome = Annotated[str, AfterValidator(_is_outcome)]


class _Row(Frozen):
    """One line of `labels.jsonl`."""

    file: str
    customer: str | None = None
    level: Annotated[int, Field(ge=0, le=3)]
    kind: str = "mail"
    language: str = "en"
    expected: Annotated[tuple[Annotated[tuple[Outcome, ...], Field(min_length=1)], ...], Field(min_length=1)]
    sections: tuple[dict[int, Sections], ...] = ()

    @model_validator(mode="after")
    def _each_question_has_sections(self) -> Self:
        if self.sections and len(self.sections) != len(self.expected):
            raise ValueError("sections has one object a question, as expected has one list")
        return self


def read_labels(folder: Path) -> tuple[MailLabel, ...]:
    """The labels of the mails in a folder.

    Raises:
        ConfigError: a line cannot be used, or its mail is not there.
    """
    path = data_file(folder, LABELS)
    labels = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = _Row.model_validate_json(line)
        except ValidationError as error:
            raise ConfigError(f"{path}:{number}: {first_problem(error)}: see `support-agent eval --help`") from None
        if not _is_beside(path, row.file):
            raise ConfigError(f"{path}:{number}: no mail {row.file} beside it: put it there, or delete the line")
        labels.append(_label(path.parent, row, f"{path}:{number}"))
    if not labels:
        raise ConfigError(f"{path}: no line in it: write one for each mail; see `support-agent eval --help`")
    return tuple(labels)


def _is_beside(path: Path, name: str) -> bool:
    """Whether a file of that name is in the same folder."""
    try:
        return Path(name).name == name and path.with_name(name).is_file()
    except (OSError, ValueError):
        return False


def require_known(labels: Iterable[MailLabel], company: Company) -> None:
    """Refuse labels that name what the company does not have: every answer to their mails would count as wrong.

    Raises:
        ConfigError: lists what is not there, each with its line.
    """
    unknown = [f"{label.place}: {what}" for label in labels for what in dict.fromkeys(_unknown(label, company))]
    if unknown:
        raise ConfigError("\n".join(f"{what}: correct it, or delete the line" for what in unknown))


def _unknown(label: MailLabel, company: Company) -> Iterator[str]:
    """What a label names and the company does not have."""
    accounts = company.accounts
    numbers = [str(number) for number in company.by_number]
    for outcome in chain.from_iterable(label.expected):
        call, _, arguments = outcome.removesuffix(")").partition("(")
        name, *more = arguments.split(",")
        match call:
            case "send_document":
                yield from _missing("document", name, numbers)
            case "send_account_field":
                yield from _missing("account field", name, accounts.fields)
            case "send_table" | "send_aggregate" | "calculate":
                for series in (name, *more[CALCULATED]):
                    yield from _missing("series", series, accounts.series)
            case "send_record":
                yield from _missing("record kind", name, accounts.records)
                if name in accounts.records:
                    columns = (*accounts.records[name].columns, ALL_COLUMNS)
                    yield from _missing(f"column of {name}", more[-1] if more else "", columns)
    for number, sections in chain.from_iterable(question.items() for question in label.sections):
        yield from _missing("document", str(number), numbers)
        headings = [heading for text in company.texts if text.number == number for heading in text.headings]
        for heading in sorted(sections.any_of | sections.needs if headings else ()):
            yield from _missing(f"section of document {number}", heading, headings)


def _missing(what: str, name: str, known: Collection[str]) -> Iterator[str]:
    if name not in known:
        first = ", ".join(islice(filter(None, known), MOST_NAMED))
        hint = nearest(name, known) or (first and f", but {first}")
        yield f"the company has no {what} {name!r}{hint}"


def _label(folder: Path, row: _Row, place: str) -> MailLabel:
    return MailLabel(
        path=folder / row.file,
        customer=row.customer,
        level=row.level,
        kind=row.kind,
        language=row.language,
        expected=tuple(acceptable(outcomes) for outcomes in row.expected),
        sections=row.sections,
        place=place,
    )


def acceptable(outcomes: Sequence[str]) -> tuple[str, ...]:
    """The outcomes of a label; if a column of a record is acceptable, so is the whole record."""
    whole = (
        outcome.rpartition(",")[0] + f",{ALL_COLUMNS})" for outcome in outcomes if outcome.startswith("send_record(")
    )
    return tuple(dict.fromkeys([*outcomes, *whole]))


def document_of(outcome: str) -> int | None:
    """The number of the document that an outcome sends; None for every other outcome."""
    is_document = outcome.startswith("send_document(")
    return int(outcome.removeprefix("send_document(").removesuffix(")")) if is_document else None


def topic_of(outcome: str) -> str | None:
    """The topic of an outcome ("document:1"); None for escalate and ask_clarification."""
    call = _OUTCOME.fullmatch(outcome)
    return f"{KINDS[call[1]]}:{call[2]}" if call else None
