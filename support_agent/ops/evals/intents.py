"""Measures the choice of topics on labelled questions: `support-agent eval intents`.

Each label is a topic: its name is the title, its training lines are the example questions. Every test line is decided
like the question of a mail, by the same search, combiner and cascade. Checked by
tests/unit/ops/evals/test_intents.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import StringConstraints, ValidationError

from support_agent.company.text import collapse
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.facts.search import CompanySearch
from support_agent.facts.topics import Topic
from support_agent.ops.evals.files import first_problem, read_text
from support_agent.ops.evals.measures import answered_right, auroc, calibration_error, share
from support_agent.planner.choice import NONE_KEY, Choice, Chooser, Option, is_hopeless
from support_agent.tools.base import Match

OUT_OF_SCOPE = "oos"
"""The label of a line that no topic answers."""
KIND = "document:"


EXAMPLE = 'a line such as {"text": "...", "label": "..."} for each question'
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Line(Frozen):
    """One labelled question."""

    text: Words
    label: Words


class CascadeStep(StrEnum):
    """The steps of the cascade that can decide a question."""

    DECIDED = "decided without the language model"
    HOPELESS = "hopeless, so the language model was not asked"
    ASKED = "decided with the language model"


class DecidedQuestion(Frozen):
    """How one question was decided: the likeliest topic, its confidence, and the cost.

    `right` holds the topics that answer it; if there is none, only escalating is right.
    """

    topic: str
    right: tuple[str, ...]
    confidence: float
    step: CascadeStep
    forward_passes: int = 0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def is_right(self) -> bool:
        return self.topic in self.right


def read_lines(path: Path) -> list[Line]:
    """Lines of `{"text": ..., "label": ...}`.

    Raises:
        ConfigError: the file cannot be read, has no line, or a line is something else.
    """
    lines = []
    for number, row in enumerate(read_text(path).split("\n"), start=1):
        if not row.strip():
            continue
        try:
            lines.append(Line.model_validate_json(row))
        except ValidationError as error:
            raise ConfigError(f"{path}:{number}: {first_problem(error)}: write {EXAMPLE}") from None
    if not lines:
        raise ConfigError(f"{path}: no line in it: write {EXAMPLE}")
    return lines


def topics_of_lines(lines: Sequence[Line]) -> tuple[Topic, ...]:
    """One topic for each label but `oos`: the label in words is the title, its lines are the examples."""
    by_label: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        if line.label != OUT_OF_SCOPE:
            by_label[line.label].append(line.text)
    return tuple(
        Topic(key=KIND + label, title=" ".join(label.replace("_", " ").split()), questions=tuple(dict.fromkeys(texts)))
        for label, texts in sorted(by_label.items())
    )


def count_repeated(train: Iterable[Line], lines: Iterable[Line]) -> int:
    """How many lines have the text of a training line, whatever their spaces and capitals."""
    known = {collapse(line.text).casefold() for line in train}
    return sum(collapse(line.text).casefold() in known for line in lines)


class Way(NamedTuple):
    """How questions are decided: `options` are the topics as the model sees them, by key; `least` is the threshold an
    answer needs, 0..1, and `shortlist` how many topics the model chooses among."""

    chooser: Chooser
    options: Mapping[str, Option]
    least: float
    shortlist: int

    def choose(self, question: str, matches: Sequence[Match]) -> Choice:
        """Choose a topic as for the question of a mail; `matches` has the evidence for each topic."""
        chances = self.chooser.without_model(matches).chances
        likeliest = sorted(zip(chances, matches, strict=False), key=lambda pair: -pair[0])[: self.shortlist]
        return self.chooser.topic(question, matches, [self.options[match.topic] for _, match in likeliest], self.least)


def decided_of(choice: Choice, right: Iterable[str], least: float) -> DecidedQuestion:
    """How a question was decided.

    Args:
        right: The topics that answer it.
        least: The threshold of the choice.
    """
    best = next(vote for vote in choice.votes if vote.key != NONE_KEY)
    before = next(vote.unasked or 0.0 for vote in choice.votes if vote.key == NONE_KEY)
    step = CascadeStep.HOPELESS if is_hopeless([before], least) else CascadeStep.DECIDED
    return DecidedQuestion(
        topic=best.key,
        right=tuple(right),
        confidence=best.probability,
        step=CascadeStep.ASKED if choice.usage.forward_passes else step,
        forward_passes=choice.usage.forward_passes,
        tokens=choice.usage.tokens,
    )


class StepReport(Frozen):
    """One step of the cascade: the questions it decided, those with the right topic first, and the cost of one.

    `answered` counts those above the threshold; seconds, passes and tokens are per question.
    """

    name: CascadeStep
    lines: int
    right: int
    answered: int
    seconds: float
    forward_passes: float
    tokens: float


class IntentReport(Frozen):
    """The measures of one run; shares are 0..1, None where there is nothing to count.

    `answered_right` is, by precision, the largest share of the lines in scope that can be answered right while that
    share of the answers is right. `scope_auroc` separates lines in scope from others, `right_auroc` right from wrong.
    `in_train` counts the lines that are examples, too: they make the result better than it is.
    """

    lines: int
    in_scope: int
    in_train: int = 0
    accuracy: float
    answered_right: dict[str, float]
    threshold: float
    coverage: float
    precision: float | None
    out_of_scope_answered: float | None
    right_auroc: float | None
    scope_auroc: float | None
    calibration_error: float
    seconds: float
    forward_passes: float
    tokens: float
    steps: tuple[StepReport, ...]


PRECISIONS = (0.90, 0.95, 0.98)


def report_of(decided: Sequence[DecidedQuestion], threshold: float) -> IntentReport:
    """The measures over all lines; seconds, passes and tokens are per line."""
    inside = [one for one in decided if one.right]
    outside = [one for one in decided if not one.right]
    answered = [one for one in decided if one.confidence >= threshold]
    whole = _step(CascadeStep.DECIDED, decided, threshold)
    return IntentReport(
        lines=len(decided),
        in_scope=len(inside),
        accuracy=share([one.is_right for one in inside]) or 0.0,
        answered_right={f"{least:.2f}": answered_right(decided, least, len(inside)) for least in PRECISIONS},
        threshold=threshold,
        coverage=len(answered) / max(1, len(decided)),
        precision=share([one.is_right for one in answered]),
        out_of_scope_answered=share([one.confidence >= threshold for one in outside]),
        right_auroc=auroc(
            [one.confidence for one in inside if one.is_right], [one.confidence for one in inside if not one.is_right]
        ),
        scope_auroc=auroc([one.confidence for one in inside], [one.confidence for one in outside]),
        calibration_error=calibration_error(decided),
        seconds=whole.seconds,
        forward_passes=whole.forward_passes,
        tokens=whole.tokens,
        steps=tuple(_step(step, [one for one in decided if one.step is step], threshold) for step in CascadeStep),
    )


def _step(name: CascadeStep, of: Sequence[DecidedQuestion], threshold: float) -> StepReport:
    count = max(1, len(of))
    return StepReport(
        name=name,
        lines=len(of),
        right=sum(one.is_right for one in of),
        answered=sum(one.confidence >= threshold for one in of),
        seconds=sum(one.seconds for one in of) / count,
        forward_passes=sum(one.forward_passes for one in of) / count,
        tokens=sum(one.tokens for one in of) / count,
    )


def evaluate(
    search: CompanySearch, way: Way, lines: Sequence[Line], stopwatch: Callable[[], float]
) -> tuple[IntentReport, list[DecidedQuestion]]:
    """Decide every line.

    Args:
        search: Already updated with the topics.
        stopwatch: Seconds, from any start.
    """
    decided = []
    for line in lines:
        started = stopwatch()
        choice = way.choose(line.text, search.nearest(line.text))
        right = [KIND + line.label] if line.label != OUT_OF_SCOPE else []
        one = decided_of(choice, right, way.least)
        decided.append(one.model_copy(update={"seconds": stopwatch() - started}))
    return report_of(decided, way.least), decided


def table(report: IntentReport) -> str:
    """The report as text."""
    rows = [
        ("questions", f"{report.lines}, {report.in_scope} of them in scope"),
        ("right at the top, in scope", f"{report.accuracy:.3f}"),
        *(
            (f"answered right while {least} of the answers are", f"{value:.3f}")
            for least, value in report.answered_right.items()
        ),
        (f"answered at {report.threshold:g}", f"{report.coverage:.3f}"),
        ("of these right", _shown(report.precision)),
        ("out of scope and answered", _shown(report.out_of_scope_answered)),
        ("AUROC, right against wrong", _shown(report.right_auroc)),
        ("AUROC, in against out of scope", _shown(report.scope_auroc)),
        ("expected calibration error", f"{report.calibration_error:.3f}"),
        ("a decision", _cost(report)),
        *(
            (step.name, f"{step.lines}, {step.right} right at the top, {step.answered} answered; {_cost(step)}")
            for step in report.steps
        ),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def _shown(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def _cost(of: IntentReport | StepReport) -> str:
    return f"{of.seconds:.3f} s, {of.forward_passes:.1f} passes, {of.tokens:.0f} tokens each"
