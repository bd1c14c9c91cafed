"""Draws SVG pictures: risk against coverage, reliability, and learning curves.

Invariant: the same answers give the same bytes. Checked by tests/unit/ops/evals/test_picture.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from support_agent.errors import ConfigError
from support_agent.ops.evals.measures import Ranked, bounds, reliability, risk_coverage
from support_agent.ops.pictures import Dot, Point, Scale, Words, dots, file_of

CURVE_MARGIN = 0.05
"""Space below and above a learning curve, in reward."""
DIGITS = "{:.3g}".format
SHARE = Scale(0.0, 1.0, DIGITS)


def write_picture(path: Path, answers: Sequence[Ranked], asked: int, risk: float | None = None) -> None:
    """Draw risk against coverage, and beside it the share of right answers against their confidence.

    Args:
        path: An `.svg` file; it is overwritten.
        answers: All possible answers, whether given or not.
        asked: How many questions there were.
        risk: Drawn as a line where it is given, 0..1.
    Raises:
        ConfigError: the name does not end in .svg, or the file cannot be written.
    """
    pictures = {"Risk and coverage": _risk(answers, asked, risk), "Reliability": _reliability(answers)}
    _write(path, pictures)


def write_learning_curve(path: Path, rewards: Sequence[Point], rule: float) -> None:
    """Draw the mean reward on reported cases by number of plays learned from; the rule's reward is dashed.

    Raises:
        ConfigError: as `write_picture`.
    """
    heights, widest = [rule, *(reward for _, reward in rewards)], max([1.0, *(plays for plays, _ in rewards)])
    across = Scale(0.0, widest, "{:.0f}".format)
    up = Scale(min(heights) - CURVE_MARGIN, max(heights) + CURVE_MARGIN, DIGITS)
    title = "Learning curve (dashed: always)"
    words = Words(title, title, "plays", "mean reward of reported cases")
    lines = {"guide": [(0.0, rule), (widest, rule)], "line": rewards}
    _write(path, {title: dots(words, (), across, up, lines)})


def _write(path: Path, pictures: Mapping[str, Markup]) -> None:
    check_picture(path)
    try:
        path.write_text(file_of(pictures), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: name a file that can be written") from error


def check_picture(path: Path | None) -> None:
    """Refuse a name that does not end in .svg, before the measurement starts."""
    if path is not None and path.suffix.lower() != ".svg":
        raise ConfigError(f"--picture {path}: pictures are drawn as SVG: name a file that ends in .svg")


def _risk(answers: Sequence[Ranked], asked: int, risk: float | None) -> Markup:
    curve = risk_coverage(answers, asked)
    most = max(0.05, *(wrong for _, wrong in curve), risk or 0.0) if curve else 1.0
    guide = [] if risk is None else [(0.0, risk), (1.0, risk)]
    words = Words(
        "Risk and coverage", "Dashed: the risk that was asked for.", "share answered", "share of answers wrong"
    )
    return dots(words, (), SHARE, Scale(0.0, most, DIGITS), {"guide": guide, "line": curve})


def _reliability(answers: Sequence[Ranked]) -> Markup:
    """The share right by confidence, with its interval."""
    shown = [
        Dot(sure, right, *bounds(round(right * count), count), "", f"{right:.3g} of {count} right")
        for sure, right, count in reliability(answers)
    ]
    words = Words("Reliability", "Dashed: as sure as right.", "confidence", "share right")
    lines = {"guide": [(0.0, 0.0), (1.0, 1.0)], "line": [(dot.x, dot.y) for dot in shown]}
    return dots(words, shown, SHARE, SHARE, lines)
