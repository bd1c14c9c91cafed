"""`python -m tests.benchmarks.fit`: fits the weights of `support_agent/planner/choice.py` to recorded votes.

Three sets, because the choice is made in three steps: of similarity, with yes/no, with the pick from the list. The
first says which options are asked about. The constants that part the steps were chosen on the same questions, so the
ten-fold numbers are a little too good.

The questions are those of the tuning mails and of `tests/mails/questions.jsonl`. With `--ask FILE` the embedded model
is asked for its votes first, with the product's own search and prompts (half an hour); else the recorded ones are used.
What is minimised: the mean negative log-probability of the right options in a conditional logit, plus a ridge.

Invariant: the committed weights are what this fit makes of the recorded votes, and its probabilities are the
product's. Checked by tests/unit/test_benchmarks.py.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from support_agent.app import open_decider, open_model, progress
from support_agent.configuration import load
from support_agent.decide import Decider
from support_agent.frozen import Frozen
from support_agent.mail.message import parse
from support_agent.model import ask_model
from support_agent.planner.choice import (
    BARE_PICK,
    JUDGED_WEIGHTS,
    LOWEST_PICK,
    MOST_JUDGED,
    NONE_KEY,
    NONE_TITLE,
    SIMILAR_WEIGHTS,
    TOPIC_ASK,
    WEIGHTS,
    Chooser,
    Option,
    Weights,
    _judge_prompt,
    _list_prompt,
    are_asked_about,
    is_settled,
)
from support_agent.planner.questions import questions_of
from support_agent.planner.topics import topic_option
from support_agent.settings import PlannerSettings
from support_agent.tools.base import Context
from support_agent.workspace import CONFIG_FILE, init
from tests.labelled import MAILS, labels

QUESTIONS = MAILS / "questions.jsonl"
RECORDED = MAILS / "votes.jsonl"
TODAY = datetime(2026, 11, 21, 12, tzinfo=UTC)
KINDS = {
    "send_document": "document",
    "send_account_field": "field",
    "send_aggregate": "series",
    "send_table": "series",
    "calculate": "series",
}
"""Which kind of topic a call in a label is about."""
STAGES = {"SIMILAR_WEIGHTS": SIMILAR_WEIGHTS, "JUDGED_WEIGHTS": JUDGED_WEIGHTS, "WEIGHTS": WEIGHTS}
"""The steps of a choice, by the name of their weights."""
FITTED = ("similarity", "nearest", "picked", "judged", "judged_bias", "none_bias", "none_picked")
SCALE = np.array([0.1, 0.1, 1.0, 1.0, 1.0, 0.1, 1.0])
"""How strongly the ridge holds each of them: similarities differ by hundredths, so their weights must be large."""
RIDGE = 0.02
WITHOUT_TOPIC = 1.3
"""What a question that nothing answers counts: a wrong answer is worse than none."""
FOLDS = 10
SURE = PlannerSettings().threshold_answer
NEARLY_CERTAIN = 0.95
STEPS = 200
Floats = NDArray[np.float64]


class Asked(Frozen):
    """A question and every topic that answers it, `none` among them where a person may; `mail` is "" for none."""

    mail: str
    question: str
    topics: tuple[str, ...]


class Voted(Asked):
    """With the votes on it: the options with the most similar first, log-probabilities of the pick from their list
    and `None`, the same for an empty mail, and the log-odds of yes for the first few.
    """

    options: tuple[str, ...]
    similarity: tuple[float, ...]
    picked: tuple[float, ...]
    prior: tuple[float, ...]
    judged: tuple[float, ...]

    @property
    def right(self) -> list[bool]:
        """Which of the options and `None` are right: `None` where no option on the list is."""
        found = [key in self.topics for key in (*self.options, NONE_KEY)]
        return found if any(found) else [*found[:-1], True]


def main() -> None:
    """Ask if told to, fit and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.fit", description="Fit the choice's weights.")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--votes", type=Path, default=RECORDED, metavar="FILE", help="recorded votes to fit to")
    which.add_argument("--ask", type=Path, metavar="FILE", help="ask the model, write its votes here and fit to them")
    parser.add_argument("--first", type=int, metavar="N", help="with --ask: only so many questions, for a trial")
    args = parser.parse_args()
    if args.ask is not None:
        record(args.ask, islice([*tuning_questions(), *other_questions()], args.first))
    questions = read(args.ask or args.votes)
    found = fit(questions)
    for stage, values in zip(STAGES, (found.similar, found.judged, found.whole), strict=True):
        print(pasted(stage, weights_of(values, stage)))  # noqa: T201
    print(cross_validated(questions))  # noqa: T201


def tuning_questions() -> list[Asked]:
    """The questions of the tuning mails, where they are as many as the label's or the label has one."""
    found = []
    for label in labels("tuning"):
        message = parse(label.path.read_bytes())
        questions = questions_of(message.subject, message.visible_text)
        if len(label.expected) == 1:
            questions = (" ".join(questions),)
        if len(questions) == len(label.expected):
            for question, outcomes in zip(questions, label.expected, strict=True):
                topics = tuple(sorted({topic_of(outcome) for outcome in outcomes}))
                found.append(Asked(mail=label.path.name, question=question, topics=topics))
    return found


def topic_of(outcome: str) -> str:
    """The topic an outcome of a label is about, `none` where it is about none."""
    call = re.match(r"(\w+)\((\w+)", outcome)
    return f"{KINDS[call[1]]}:{call[2]}" if call and call[1] in KINDS else NONE_KEY


def other_questions() -> list[Asked]:
    """Those of `questions.jsonl`."""
    rows = map(json.loads, QUESTIONS.read_text(encoding="utf-8").splitlines())
    return [Asked(mail="", question=row["question"], topics=(row["topic"],)) for row in rows]


def read(path: Path) -> list[Voted]:
    """Recorded votes, a line a question."""
    return [Voted.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


def record(path: Path, questions: Iterator[Asked]) -> None:
    """Ask the embedded model about each question, on the demo company, and write its votes."""
    with tempfile.TemporaryDirectory() as folder, path.open("w", encoding="utf-8") as file:
        workspace = Path(folder) / "workspace"
        init(workspace, TODAY.date())
        settings = load(workspace / CONFIG_FILE)
        model = open_model(settings.model, progress())
        decider = open_decider(settings, progress(), in_memory=True, model=model)
        for number, asked in enumerate(questions, start=1):
            file.write(_votes(asked, decider, Chooser(model)).model_dump_json() + "\n")
            print(f"{number}  {asked.question[:80]}", file=sys.stderr)  # noqa: T201


def _votes(asked: Asked, decider: Decider, chooser: Chooser) -> Voted:
    """Every vote, also where the product would not have asked for it because the others are sure enough."""
    options = _options(asked.question, decider)
    titles = (*(option.title for option in options), NONE_TITLE)
    prior, _ = chooser._prior(TOPIC_ASK, titles)
    scores = ask_model(chooser.model, _list_prompt(asked.question, TOPIC_ASK, titles), titles)
    judged = []
    for option in options[:MOST_JUDGED]:
        yes, no = ask_model(chooser.model, _judge_prompt(asked.question, option), ("yes", "no")).log_probabilities or (
            0.0,
            0.0,
        )
        judged.append(yes - no)
    return Voted(
        **asked.model_dump(),
        options=tuple(option.key for option in options),
        similarity=_rounded(option.similarity for option in options),
        picked=_rounded(scores.log_probabilities or ()),
        prior=_rounded(prior),
        judged=_rounded(judged),
    )


def _options(question: str, decider: Decider) -> list[Option]:
    company = decider.company
    context = Context(
        today=TODAY.date(),
        locale=decider.settings.company.locale,
        level=0,
        customer=None,
        documents={document.number: document for document in company.documents},
        clarifications={},
        periods={},
        accounts=company.accounts,
        search=decider.search,
        questions=(question,),
    )
    matches = decider.search.nearest(question)[: decider.settings.planner.shortlist]
    return [topic_option(match, context) for match in matches]


def _rounded(values: Sequence[float] | Iterator[float]) -> tuple[float, ...]:
    return tuple(round(value, 5) for value in values)


class Fit(Frozen):
    """Weights of the three steps, in the order of `FITTED`."""

    similar: tuple[float, ...]
    judged: tuple[float, ...]
    whole: tuple[float, ...]


def fit(questions: Sequence[Voted]) -> Fit:
    """The weights of each step, fitted to these questions."""
    similar = _solved(questions, "SIMILAR_WEIGHTS", np.zeros(len(FITTED)))
    judged, whole = (_solved(questions, stage, similar) for stage in ("JUDGED_WEIGHTS", "WEIGHTS"))
    return Fit(similar=tuple(similar), judged=tuple(judged), whole=tuple(whole))


def committed() -> Fit:
    """The weights that stand in the program."""
    similar, judged, whole = (tuple(getattr(weights, name) for name in FITTED) for weights in STAGES.values())
    return Fit(similar=similar, judged=judged, whole=whole)


def weights_of(values: Sequence[float], stage: str) -> Weights:
    """To three digits, under the committed version."""
    rounded = {name: round(float(value), 3) for name, value in zip(FITTED, values, strict=True)}
    return Weights(version=STAGES[stage].version, prior=STAGES[stage].prior, **rounded)


def pasted(name: str, weights: Weights) -> str:
    """The weights as they stand in the program; the version is the committed one, to be changed with any weight."""
    fields = {"version": "TOPIC_VERSION", **weights.model_dump(exclude_defaults=True, exclude={"version"})}
    lines = [f"    {field}={value}," for field, value in fields.items()]
    return "\n".join([f"{name} = Weights(", *lines, ")"]).replace("'", '"')


class Made(Frozen):
    """A choice: the probabilities of the options and `None`, whether the list was asked, and which are right."""

    chances: tuple[float, ...]
    is_listed: bool
    right: tuple[bool, ...]

    @property
    def top(self) -> int:
        return int(np.argmax(self.chances))

    @property
    def is_right(self) -> bool:
        return self.right[self.top]

    def is_answer(self, least: float) -> bool:
        """Whether an option, and not `None`, has so much."""
        return self.top < len(self.chances) - 1 and self.chances[self.top] >= least


def made(question: Voted, by: Fit) -> Made:
    """The choice as the product makes it at its default threshold."""
    similar = _softmax(_features(question, "SIMILAR_WEIGHTS", by.similar) @ by.similar)
    chances = _softmax(_features(question, "JUDGED_WEIGHTS", by.similar) @ by.judged)
    asked = are_asked_about(similar)
    judged = [odds if index in asked else None for index, odds in enumerate(question.judged)]
    judged += [None] * (len(chances) - len(judged))
    is_listed = not is_settled(chances, similar, judged, SURE)
    if is_listed:
        chances = _softmax(_features(question, "WEIGHTS", by.similar) @ by.whole)
    return Made(chances=tuple(chances), is_listed=is_listed, right=tuple(question.right))


def cross_validated(questions: Sequence[Voted]) -> str:
    """How often the most probable option is right, each question weighed by fits to the other folds."""
    choices: list[Made] = []
    for fold in range(FOLDS):
        others = [question for number, question in enumerate(questions) if number % FOLDS != fold]
        if others and questions[fold::FOLDS]:
            by = fit(others)
            choices += [made(question, by) for question in questions[fold::FOLDS]]
    listed = [choice for choice in choices if choice.is_listed]
    return f"# {FOLDS} folds: {_told(choices)}\n# of those the list was asked for: {_told(listed)}"


def _told(choices: Sequence[Made]) -> str:
    told = [f"{sum(choice.is_right for choice in choices)} of {len(choices)} right at the top"]
    for least in (SURE, NEARLY_CERTAIN):
        above = [choice.is_right for choice in choices if choice.is_answer(least)]
        told.append(f"{sum(above)} of {len(above)} answers (not none) above {least}")
    return ", ".join(told)


def _features(question: Voted, stage: str, similar: Sequence[float] | Floats) -> Floats:
    """A row an option and one for `None`, a column a weight; `similar` says which options are asked about."""
    count = len(question.options)
    rows = np.zeros((count + 1, len(FITTED)))
    rows[:count, 0] = question.similarity
    rows[0, 1] = question.similarity[0] - question.similarity[1]
    rows[count, 5] = 1.0
    if stage != "SIMILAR_WEIGHTS":
        asked = are_asked_about(_softmax(rows @ np.asarray(similar)))
        rows[asked, 3] = np.minimum(np.array(question.judged)[asked], BARE_PICK)
        rows[asked, 4] = 1.0
    if stage == "WEIGHTS":
        said = zip(question.picked, question.prior, strict=True)
        picked = [max(now - WEIGHTS.prior * was, LOWEST_PICK) for now, was in said]
        rows[:count, 2] = picked[:count]
        rows[count, 6] = picked[count]
    return rows


def _solved(questions: Sequence[Voted], stage: str, similar: Floats) -> Floats:
    """The minimum, by Newton's method with the step halved while it does not go down."""
    features = np.stack([_features(question, stage, similar) for question in questions])
    right = np.array([question.right for question in questions])
    counts = np.array([WITHOUT_TOPIC if question.topics == (NONE_KEY,) else 1.0 for question in questions])
    counts /= counts.sum()
    ridge = RIDGE * SCALE**2

    def loss(weights: Floats) -> float:
        chances = (_softmax(features @ weights) * right).sum(axis=1)
        return float(ridge @ weights**2 - counts @ np.log(np.maximum(chances, np.finfo(float).tiny)))

    weights = np.zeros(len(FITTED))
    for _ in range(STEPS):
        chances = _softmax(features @ weights)
        wanted = chances * right
        wanted /= wanted.sum(axis=1, keepdims=True)
        slope = np.einsum("n,nk,nkf->f", counts, chances - wanted, features) + 2 * ridge * weights
        apart = features - np.einsum("nk,nkf->nf", chances, features)[:, None]
        curve = np.einsum("n,nk,nkf,nkg->fg", counts, chances, apart, apart) + 2 * np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        while loss(weights - step) > loss(weights) and np.abs(step).max() > 1e-9:
            step /= 2
        weights = weights - step
        if np.abs(step).max() < 1e-9:
            break
    return weights


def _softmax(scores: Floats) -> Floats:
    raised: Floats = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total: Floats = raised.sum(axis=-1, keepdims=True)
    return raised / total


if __name__ == "__main__":
    main()
