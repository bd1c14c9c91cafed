"""The labelled customer mails of `tests/mails`: what is expected of each, and how an agent's calls compare with it.

A mail is answered right where everything it was sent is an acceptable outcome of one of its questions, and wrong where
anything is not: one right block does not make up for a wrong one. What the labels mean stands in tests/mails/README.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from support_agent.trial import Trial, TriedCall

MAILS = Path(__file__).parent / "mails"


@dataclass(frozen=True)
class Label:
    """One mail; `expected` holds, for each question, every acceptable outcome."""

    path: Path
    customer: str | None
    level: int
    kind: str
    language: str
    expected: tuple[tuple[str, ...], ...]

    @property
    def answerable(self) -> tuple[tuple[str, ...], ...]:
        """The questions that the agent has an answer to."""
        return tuple(outcomes for outcomes in self.expected if outcomes != ("escalate",))


@dataclass(frozen=True)
class Score:
    """How one mail, or several together, came out; "questions" are those that the agent has an answer to."""

    mails: int
    answered: int
    wrong: int
    answerable: int
    answerable_answered: int
    questions: int
    questions_right: int

    @property
    def right_of_answered(self) -> float:
        """0..1; 1 where nothing was answered."""
        return (self.answered - self.wrong) / self.answered if self.answered else 1.0

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
            expected=tuple(tuple(outcomes) for outcomes in row["expected"]),
        )
        for row in map(json.loads, lines)
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
            case "send_document":
                sent.append(f"send_document({args['number']})")
            case "send_account_field":
                sent.append(f"send_account_field({args['field']})")
            case "ask_clarification":
                sent.append("ask_clarification")
    return tuple(sent)


def score(label: Label, trial: Trial) -> Score:
    """One mail."""
    sent = outcomes_of(trial.calls) if trial.outcome == "answer" else ()
    acceptable = {outcome for outcomes in label.expected for outcome in outcomes}
    is_wrong = any(outcome not in acceptable for outcome in sent)
    is_answerable = bool(label.answerable)
    return Score(
        mails=1,
        answered=int(bool(sent)),
        wrong=int(is_wrong),
        answerable=int(is_answerable),
        answerable_answered=int(is_answerable and bool(sent) and not is_wrong),
        questions=len(label.answerable),
        questions_right=sum(any(outcome in sent for outcome in outcomes) for outcomes in label.answerable),
    )


def total(scores: Iterable[Score]) -> Score:
    """Several mails together."""
    columns = zip(*((vars(one).values()) for one in scores), strict=True)
    return Score(*(sum(column) for column in columns))


def scores_of(mails: Iterable[Label], tried: Callable[[Label], Trial]) -> list[tuple[Label, Trial, Score]]:
    """Each mail, tried and scored."""
    results = []
    for label in mails:
        trial = tried(label)
        results.append((label, trial, score(label, trial)))
    return results
