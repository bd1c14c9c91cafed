"""The report of a backtest as one web page for the company's people, with pictures.

Invariant: the page depends on the report only, has no script and fetches nothing, and no text becomes markup.
Checked by tests/unit/ops/backtest/test_page.py.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import jinja2

from support_agent.answer.formatting import clean_line, clean_lines
from support_agent.ops.backtest.report import AtThreshold, Report

TEMPLATE = "page.html.j2"
WIDTH, HEIGHT = 520, 260
"""Of the picture's axes, in pixels."""


class Curve(NamedTuple):
    """The points of SVG lines: the interval as a polygon, both values of the precision, and the share answered."""

    interval: str
    least: str
    most: str
    share: str


def backtest_page(report: Report) -> str:
    """The page as HTML."""
    return _template().render(report=report, curve=_curve(report.thresholds), box=(WIDTH, HEIGHT))


def _curve(rows: tuple[AtThreshold, ...]) -> Curve:
    def line(points: list[tuple[float, float]]) -> str:
        return " ".join(f"{WIDTH * across:.1f},{HEIGHT * (1 - up):.1f}" for across, up in points)

    judged = [row for row in rows if row.precision.least is not None]
    upper = [(row.threshold, row.precision.high) for row in judged]
    lower = [(row.threshold, row.precision.low) for row in reversed(judged)]
    return Curve(
        interval=line([*upper, *lower]),
        least=line([(row.threshold, row.precision.least or 0.0) for row in judged]),
        most=line([(row.threshold, row.precision.most or 0.0) for row in judged if row.precision.judged]),
        share=line([(row.threshold, row.share) for row in rows]),
    )


def _clean(value: object) -> object:
    """Texts without control and bidirectional characters."""
    return clean_line(value) if type(value) is str else value


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_clean
    )
    environment.filters["percent"] = _percent
    environment.filters["lines"] = clean_lines
    return environment.from_string(files(__package__).joinpath(TEMPLATE).read_text(encoding="utf-8"))
