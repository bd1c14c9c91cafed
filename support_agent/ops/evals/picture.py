"""Draws SVG pictures: risk against coverage, reliability, and learning curves.

Invariant: the same answers give the same bytes. Checked by tests/unit/ops/evals/test_picture.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from support_agent.errors import ConfigError
from support_agent.ops.evals.measures import Ranked, reliability, risk_coverage

SIDE = 300
"""Width and height of a panel's axes, in pixels."""
MARGIN = 60
PER_DOT = 0.5
"""Growth of a dot with the square root of its number of answers."""
TICKS = 5
CURVE_MARGIN = 0.05
"""Space below and above a learning curve, in reward."""
STYLE = 'font-family="sans-serif" font-size="12" fill="#222"'
LINE, GUIDE = "#1f5fa8", "#999"
Point = tuple[float, float]


class Panel(NamedTuple):
    """One diagram; the axis across goes from 0 to `widest`. `dots` have a number of answers each, `guide` is dashed."""

    title: str
    across: str
    up: str
    most: float
    """The end of the upward axis, above `least`."""
    line: Sequence[Point]
    guide: Sequence[Point]
    dots: Sequence[tuple[float, float, int]] = ()
    least: float = 0.0
    widest: float = 1.0


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
    _write(path, (_risk_panel(answers, asked, risk), _reliability_panel(answers)))


def write_learning_curve(path: Path, rewards: Sequence[Point], rule: float) -> None:
    """Draw the mean reward on reported cases by number of plays learned from; the rule's reward is dashed.

    Raises:
        ConfigError: as `write_picture`.
    """
    heights, widest = [rule, *(reward for _, reward in rewards)], max(1.0, *(plays for plays, _ in rewards))
    least, most = min(heights) - CURVE_MARGIN, max(heights) + CURVE_MARGIN
    guide = [(0.0, rule), (widest, rule)]
    title, up = "Learning curve (dashed: always)", "mean reward of reported cases"
    _write(path, (Panel(title, "plays", up, most, rewards, guide, least=least, widest=widest),))


def _write(path: Path, panels: Sequence[Panel]) -> None:
    check_picture(path)
    try:
        path.write_text(_svg(panels), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: name a file that can be written") from error


def check_picture(path: Path | None) -> None:
    """Refuse a name that does not end in .svg, before the measurement starts."""
    if path is not None and path.suffix.lower() != ".svg":
        raise ConfigError(f"--picture {path}: pictures are drawn as SVG: name a file that ends in .svg")


def _risk_panel(answers: Sequence[Ranked], asked: int, risk: float | None) -> Panel:
    curve = risk_coverage(answers, asked)
    most = max(0.05, *(wrong for _, wrong in curve), risk or 0.0) if curve else 1.0
    guide = [] if risk is None else [(0.0, risk), (1.0, risk)]
    return Panel("Risk and coverage", "share answered", "share of answers wrong", most, curve, guide)


def _reliability_panel(answers: Sequence[Ranked]) -> Panel:
    bins = reliability(answers)
    line = [(sure, right) for sure, right, _ in bins]
    return Panel("Reliability", "confidence", "share right", 1.0, line, [(0.0, 0.0), (1.0, 1.0)], bins)


def _svg(panels: Sequence[Panel]) -> str:
    width, height = len(panels) * (SIDE + 2 * MARGIN), SIDE + 2 * MARGIN
    drawn = "".join(_panel(panel, place * (SIDE + 2 * MARGIN) + MARGIN) for place, panel in enumerate(panels))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {STYLE}>'
    return f'{head}\n<rect width="{width}" height="{height}" fill="white"/>\n{drawn}</svg>\n'


def _panel(panel: Panel, left: int) -> str:
    def at(point: Point) -> str:
        up = (point[1] - panel.least) / (panel.most - panel.least)
        return f"{left + SIDE * point[0] / panel.widest:.1f},{MARGIN + SIDE * (1 - up):.1f}"

    middle, bottom = left + SIDE / 2, MARGIN + SIDE
    parts = [
        f'<rect x="{left}" y="{MARGIN}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#222"/>',
        _text(middle, MARGIN - 20, panel.title, "middle"),
        _text(middle, bottom + 40, panel.across, "middle"),
        f'<g transform="rotate(-90 {left - 45} {MARGIN + SIDE / 2})">'
        f"{_text(left - 45, MARGIN + SIDE / 2, panel.up, 'middle')}</g>",
    ]
    for tick in range(TICKS + 1):
        part = tick / TICKS
        across, up = panel.widest * part, panel.least + (panel.most - panel.least) * part
        shown = f"{across:.1f}" if panel.widest == 1 else f"{across:.0f}"
        parts.append(_text(left + SIDE * part, bottom + 18, shown, "middle"))
        parts.append(_text(left - 6, bottom - SIDE * part + 4, f"{up:.3g}", "end"))
    if panel.guide:
        parts.append(_path(map(at, panel.guide), GUIDE, ' stroke-dasharray="4 4"'))
    parts.append(_path(map(at, panel.line), LINE))
    for sure, right, count in panel.dots:
        x, _, y = at((sure, right)).partition(",")
        parts.append(f'<circle cx="{x}" cy="{y}" r="{1 + PER_DOT * count**0.5:.1f}" fill="{LINE}" opacity="0.5"/>')
    return "".join(f"{part}\n" for part in parts)


def _path(points: Iterable[str], colour: str, more: str = "") -> str:
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.5"{more}/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
