"""The report of a backtest as one web page for the company's people, with pictures.

Invariant: the page depends on the report only, has no script and fetches nothing, and no text becomes markup.
Checked by tests/unit/ops/backtest/test_page.py.
"""

from __future__ import annotations

from typing import NamedTuple

from support_agent.ops.backtest.report import AtThreshold, BacktestReport
from support_agent.ops.page_templates import page_template

TEMPLATE = "backtest/page.html.j2"
WIDTH, HEIGHT = 520, 260
"""Of the picture's axes, in pixels."""


class Curve(NamedTuple):
    """The points of SVG lines: the interval as a polygon, both values of the precision, and the share answered."""

    interval: str
    least: str
    most: str
    share: str


def backtest_page(report: BacktestReport) -> str:
    """The page as HTML."""
    return page_template(TEMPLATE).render(report=report, curve=_curve(report.thresholds), box=(WIDTH, HEIGHT))


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
