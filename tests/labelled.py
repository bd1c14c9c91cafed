"""The labelled customer mails of `tests/mails`: what is expected of each, and how an agent's calls compare with it.

A mail is answered right where everything it was sent is an acceptable outcome of one of its questions, of a document an
acceptable section too, and wrong where anything is not: one right block does not make up for a wrong one. What the
labels mean stands in tests/mails/README.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support_agent.answer.final_answer import DocumentItem
from support_agent.company.account_specs import ALL_COLUMNS
from support_agent.trial import Tried, TriedCall

MAILS = Path(__file__).parent / "mails"


@dataclass(frozen=True)
class Sections:
    """Headings of a document that answer a question: each of `any_of` does, and without all `needs` it is not whole."""

    any_of: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Label:
    """One mail; `expected` holds, for each question, every acceptable outcome, `sections` those of its documents."""

    path: Path
    customer: str | None
    level: int
    kind: str
    language: str
    expected: tuple[tuple[str, ...], ...]
    sections: tuple[Mapping[int, Sections], ...] = ()

    @property
    def answerable(self) -> tuple[tuple[str, ...], ...]:
        """The questions that the agent has an answer to."""
        return tuple(outcomes for outcomes in self.expected if outcomes != ("escalate",))

    def of_document(self, number: int) -> tuple[Sections, ...]:
        """What is acceptable of a document, for each question that has it; empty where it answers none."""
        return tuple(question[number] for question in self.sections if number in question)


@dataclass(frozen=True)
class Sent:
    """What a mail got: the outcomes, and of each document the headings of its excerpts; of a link there are none."""

    outcomes: tuple[str, ...] = ()
    sections: Mapping[int, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Score:
    """How one mail, or several together, came out; "questions" are those that the agent has an answer to.

    `wrong_section` of the wrong ones are so by their sections alone. `documents` are the documents that were sent with
    sections to choose among, and `whole` of them miss nothing that the customer needs.
    """

    mails: int
    answered: int
    wrong: int
    wrong_section: int
    documents: int
    whole: int
    answerable: int
    answerable_answered: int
    questions: int
    questions_right: int

    @property
    def right_of_answered(self) -> float:
        """0..1; 1 where nothing was answered."""
        return (self.answered - self.wrong) / self.answered if self.answered else 1.0

    @property
    def named_of_answered(self) -> float:
        """0..1, the same where a document with another section counts as right: the right thing was named."""
        return (self.answered - self.wrong + self.wrong_section) / self.answered if self.answered else 1.0

    @property
    def answered_of_answerable(self) -> float:
        """0..1; 1 where nothing could be answered."""
        return self.answerable_answered / self.answerable if self.answerable else 1.0


def labels(name: str) -> tuple[Label, ...]:
    """The labels of a set, "tuning" or "labelled"."""
    folder = MAILS / name
    lines = (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(
        Label(
            path=folder / row["file"],
            customer=row["customer"],
            level=row["level"],
            kind=row["kind"],
            language=row["language"],
            expected=tuple(acceptable(outcomes) for outcomes in row["expected"]),
            sections=tuple(sections_in(question) for question in row.get("sections", ())),
        )
        for row in map(json.loads, lines)
    )


def acceptable(outcomes: Sequence[str]) -> tuple[str, ...]:
    """The outcomes of a label; where a column of a record is acceptable, so is the whole record, which has it."""
    whole = (
        outcome.rpartition(",")[0] + f",{ALL_COLUMNS})" for outcome in outcomes if outcome.startswith("send_record(")
    )
    return tuple(dict.fromkeys([*outcomes, *whole]))


def sections_in(question: Mapping[str, Mapping[str, Sequence[str]]]) -> Mapping[int, Sections]:
    """The acceptable sections of the documents of one question."""
    return {
        int(number): Sections(frozenset(sections["any_of"]), frozenset(sections["needs"]))
        for number, sections in question.items()
    }


def sent_in(tried: Tried) -> Sent:
    """What a mail got in a trial."""
    final = tried.decision.final if tried.decision is not None else None
    if tried.trial.outcome != "answer" or final is None:
        return Sent()
    documents = [item for answer in final.answers for item in answer.items if isinstance(item, DocumentItem)]
    return Sent(
        outcomes=outcomes_of(tried.trial.calls),
        sections={
            item.number: frozenset(excerpt.heading for excerpt in item.excerpts) for item in documents if item.excerpts
        },
    )


def outcomes_of(calls: Sequence[TriedCall]) -> tuple[str, ...]:
    """What was sent, in the words of the labels: pointers are followed back to the series they came from."""
    said: dict[str, str] = {}
    sent: list[str] = []
    for call in calls:
        args = {name: str(value) for name, value in call.args.items()}
        match call.tool:
            case "fetch_series":
                said[f"@{len(said) + 1}"] = f"{args['series']},{args['period']}"
            case "filter" | "sort":
                said[f"@{len(said) + 1}"] = said[args["pointer"]]
            case "aggregate":
                said[f"@{len(said) + 1}"] = f"{said[args['pointer']]},{args['aggregation']}"
            case "calculate":
                sides = f"{said[args['left']]},{args['operation']},{said[args['right']]}"
                said[f"@{len(said) + 1}"] = f"calculate({sides})"
            case "send_table":
                sent.append(f"send_table({said[args['pointer']]})")
            case "send_aggregate":
                value = said[args["pointer"]]
                sent.append(value if value.startswith("calculate(") else f"send_aggregate({value})")
            case "fetch_record":
                said[f"@{len(said) + 1}"] = f"{args['records']},{args['id']}"
            case "send_record":
                sent.append(f"send_record({said[args['pointer']]},{args['column']})")
            case "send_document":
                sent.append(f"send_document({args['number']})")
            case "send_account_field":
                sent.append(f"send_account_field({args['field']})")
            case "ask_clarification":
                sent.append("ask_clarification")
    return tuple(sent)


def score(label: Label, sent: Sent) -> Score:
    """One mail."""
    expected = {outcome for outcomes in label.expected for outcome in outcomes}
    is_other = any(outcome not in expected for outcome in sent.outcomes)
    is_beside = any(
        not any(headings & sections.any_of for sections in label.of_document(number))
        for number, headings in sent.sections.items()
    )
    is_wrong = is_other or is_beside
    is_answerable = bool(label.answerable)
    return Score(
        mails=1,
        answered=int(bool(sent.outcomes)),
        wrong=int(is_wrong),
        wrong_section=int(is_wrong and not is_other),
        documents=len(sent.sections),
        whole=sum(_is_whole(label.of_document(number), headings) for number, headings in sent.sections.items()),
        answerable=int(is_answerable),
        answerable_answered=int(is_answerable and bool(sent.outcomes) and not is_wrong),
        questions=len(label.answerable),
        questions_right=sum(
            any(_answers(label, place, outcome, sent) for outcome in outcomes)
            for place, outcomes in enumerate(label.expected)
            if outcomes in label.answerable
        ),
    )


def _is_whole(acceptable: Sequence[Sections], headings: frozenset[str]) -> bool:
    return any(headings & sections.any_of and sections.needs <= headings for sections in acceptable)


def _answers(label: Label, place: int, outcome: str, sent: Sent) -> bool:
    """Whether an acceptable outcome of a question was sent, of a document with an acceptable section."""
    if outcome not in sent.outcomes:
        return False
    number = document_of(outcome)
    headings = None if number is None else sent.sections.get(number)
    if number is None or headings is None:
        return True
    return bool(headings & label.sections[place].get(number, Sections()).any_of)


def document_of(outcome: str) -> int | None:
    """The number of the document that an outcome sends; None for every other one."""
    is_document = outcome.startswith("send_document(")
    return int(outcome.removeprefix("send_document(").removesuffix(")")) if is_document else None


def total(scores: Iterable[Score]) -> Score:
    """Several mails together."""
    columns = zip(*((vars(one).values()) for one in scores), strict=True)
    return Score(*(sum(column) for column in columns))


def scores_of(mails: Iterable[Label], tried: Callable[[Label], Tried]) -> list[tuple[Label, Tried, Score]]:
    """Each mail, tried and scored."""
    results = []
    for label in mails:
        one = tried(label)
        results.append((label, one, score(label, sent_in(one))))
    return results
