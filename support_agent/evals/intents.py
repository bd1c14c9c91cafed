"""How well topics are chosen on labelled questions: `support-agent eval intents`.

The labels are the topics, their names the titles, the training lines the example questions. Every test line is decided
as the question of a mail would be, by the same search, combiner and cascade. Checked by
tests/unit/evals/test_intents.py.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError

from support_agent.errors import ConfigError
from support_agent.facts.search import CompanySearch
from support_agent.facts.topics import Topic
from support_agent.frozen import Frozen
from support_agent.planner.choice import NONE_KEY, Chooser, Option

OUT_OF_SCOPE = "oos"
"""The label of a line that no topic answers."""
KIND = "document:"
SHORTLIST = 6


class Line(Frozen):
    """One labelled question."""

    text: str
    label: str


class Decided(Frozen):
    """What became of one test line: the likeliest topic, how sure it was, whether the language model was asked."""

    label: str
    topic: str
    confidence: float
    is_asked: bool
    forward_passes: int
    tokens: int

    @property
    def is_right(self) -> bool:
        return self.topic == self.label


def read_lines(path: Path) -> list[Line]:
    """Lines of `{"text": ..., "label": ...}`.

    Raises:
        ConfigError: the file cannot be read, or a line is something else.
    """
    try:
        rows = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: {error}: give a file of lines such as " + '{"text": "...", "label": "..."}'
        ) from error
    lines = []
    for number, row in enumerate(filter(str.strip, rows), start=1):
        try:
            lines.append(Line.model_validate(json.loads(row)))
        except (ValidationError, json.JSONDecodeError) as error:
            what = f'{path}:{number}: not a line such as {{"text": "...", "label": "..."}}'
            raise ConfigError(what) from error
    return lines


def topics_of_lines(lines: Sequence[Line]) -> tuple[Topic, ...]:
    """A topic a label, its name in words as title and its lines as examples; `oos` is none."""
    by_label: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        if line.label != OUT_OF_SCOPE:
            by_label[line.label].append(line.text)
    return tuple(
        Topic(key=KIND + label, title=" ".join(label.replace("_", " ").split()), questions=tuple(dict.fromkeys(texts)))
        for label, texts in sorted(by_label.items())
    )


def decide(search: CompanySearch, chooser: Chooser, titles: dict[str, str], line: Line, least: float) -> Decided:
    """Decide one line as the question of a mail would be.

    Args:
        titles: Of the topics, by key.
        least: The threshold an answer needs, 0..1.
    """
    matches = search.nearest(line.text)
    weighed = chooser.unasked(matches)
    likeliest = sorted(zip(weighed.chances, matches, strict=False), key=lambda pair: -pair[0])[:SHORTLIST]
    options = [Option(key=match.topic, title=titles[match.topic]) for _, match in likeliest]
    choice = chooser.topic(line.text, matches, options, least)
    best = next(vote for vote in choice.votes if vote.key != NONE_KEY)
    return Decided(
        label=line.label,
        topic=best.key.removeprefix(KIND),
        confidence=best.probability,
        is_asked=choice.usage.forward_passes > 0,
        forward_passes=choice.usage.forward_passes,
        tokens=choice.usage.tokens,
    )


class Step(Frozen):
    """One step of the cascade: how many lines it settled, and how many of them right."""

    name: str
    lines: int
    right: int


class Report(Frozen):
    """The measures of one run; shares are 0..1, None where there is nothing to count.

    `answered_right` is, by precision, the most of the lines in scope that can be answered rightly while that share of
    the answers is right. `scope_auroc` tells lines in scope from others, `right_auroc` right ones from wrong ones.
    """

    lines: int
    in_scope: int
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
    steps: tuple[Step, ...]


PRECISIONS = (0.90, 0.95, 0.98)
BINS = 15


def report_of(decided: Sequence[Decided], threshold: float, seconds: float) -> Report:
    """The measures over all lines; seconds, passes and tokens are those of one decision."""
    inside = [one for one in decided if one.label != OUT_OF_SCOPE]
    outside = [one for one in decided if one.label == OUT_OF_SCOPE]
    answered = [one for one in decided if one.confidence >= threshold]
    count = max(1, len(decided))
    return Report(
        lines=len(decided),
        in_scope=len(inside),
        accuracy=_share([one.is_right for one in inside]) or 0.0,
        answered_right={f"{least:.2f}": answered_right(decided, least) for least in PRECISIONS},
        threshold=threshold,
        coverage=len(answered) / count,
        precision=_share([one.is_right for one in answered]),
        out_of_scope_answered=_share([one.confidence >= threshold for one in outside]),
        right_auroc=auroc(
            [one.confidence for one in inside if one.is_right], [one.confidence for one in inside if not one.is_right]
        ),
        scope_auroc=auroc([one.confidence for one in inside], [one.confidence for one in outside]),
        calibration_error=calibration_error(decided),
        seconds=seconds / count,
        forward_passes=sum(one.forward_passes for one in decided) / count,
        tokens=sum(one.tokens for one in decided) / count,
        steps=tuple(
            Step(name=name, lines=len(of), right=sum(one.is_right for one in of))
            for name, of in (
                ("without the language model", [one for one in decided if not one.is_asked]),
                ("with the language model", [one for one in decided if one.is_asked]),
            )
        ),
    )


def answered_right(decided: Sequence[Decided], precision: float) -> float:
    """The largest share of the lines in scope that is answered rightly while `precision` of the answers is right."""
    inside = sum(one.label != OUT_OF_SCOPE for one in decided)
    return max((right for wrong, right in _curve(decided) if right >= precision * (right + wrong)), default=0) / max(
        1, inside
    )


def risk_coverage(decided: Sequence[Decided]) -> list[tuple[float, float]]:
    """Pairs of coverage and risk (the share of wrong answers), as the threshold goes down."""
    count = max(1, len(decided))
    return [((right + wrong) / count, wrong / (right + wrong)) for wrong, right in _curve(decided)]


def _curve(decided: Sequence[Decided]) -> list[tuple[int, int]]:
    """Counts of wrong and right answers at each threshold between two confidences, the highest first."""
    ranked = sorted(decided, key=lambda one: -one.confidence)
    counts, wrong, right = [], 0, 0
    for place, one in enumerate(ranked):
        wrong, right = wrong + (not one.is_right), right + one.is_right
        if place + 1 == len(ranked) or ranked[place + 1].confidence < one.confidence:
            counts.append((wrong, right))
    return counts


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """How often one of the first is above one of the second, ties counted half; None where one is empty."""
    if not higher or not lower:
        return None
    ranked = sorted([*((value, 1) for value in higher), *((value, 0) for value in lower)])
    total, below, place = 0.0, 0, 0
    while place < len(ranked):
        end = place
        while end < len(ranked) and ranked[end][0] == ranked[place][0]:
            end += 1
        firsts = sum(which for _, which in ranked[place:end])
        total += firsts * (below + (end - place - firsts) / 2)
        below += end - place - firsts
        place = end
    return total / (len(higher) * len(lower))


def calibration_error(decided: Sequence[Decided]) -> float:
    """Expected calibration error over fifteen bins of confidence: the mean distance of confidence and share right."""
    bins: dict[int, list[Decided]] = defaultdict(list)
    for one in decided:
        bins[min(int(one.confidence * BINS), BINS - 1)].append(one)
    return sum(abs(sum(one.confidence for one in of) - sum(one.is_right for one in of)) for of in bins.values()) / max(
        1, len(decided)
    )


def _share(hits: Sequence[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None


def evaluate(
    search: CompanySearch,
    chooser: Chooser,
    topics: Sequence[Topic],
    lines: Sequence[Line],
    *,
    threshold: float,
    stopwatch: Callable[[], float],
) -> tuple[Report, list[Decided]]:
    """Decide every line.

    Args:
        search: Already brought up to date with the topics.
        stopwatch: Seconds, from any start.
    """
    titles = {topic.key: topic.title for topic in topics}
    started = stopwatch()
    decided = [decide(search, chooser, titles, line, threshold) for line in lines]
    return report_of(decided, threshold, stopwatch() - started), decided


def table(report: Report) -> str:
    """The report as people read it."""
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
        ("a decision", f"{report.seconds:.3f} s, {report.forward_passes:.1f} passes, {report.tokens:.0f} tokens"),
        *((f"settled {step.name}", f"{step.lines}, {step.right} right") for step in report.steps),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def _shown(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"
