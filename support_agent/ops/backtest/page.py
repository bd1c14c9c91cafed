"""The report of a backtest as one web page for the company's people, with pictures.

Invariant: the page depends on the report only, has no script and fetches nothing, and no text becomes markup.
Checked by tests/unit/ops/backtest/test_page.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from support_agent.ops.backtest.report import AtThreshold, BacktestReport, MailCount
from support_agent.ops.page_templates import page_template
from support_agent.ops.pictures import Dot, PictureRow, Scale, Words, dots, rows

TEMPLATE = "backtest/page.html.j2"
SHARE = Scale(0.0, 1.0, "{:.0%}".format)


def backtest_page(report: BacktestReport) -> str:
    """The page as HTML."""
    return page_template(TEMPLATE).render(report=report, curve=_curve(report.thresholds), bars=_bars)


def _curve(thresholds: Sequence[AtThreshold]) -> Markup:
    judged = [(row.threshold, row.precision) for row in thresholds if row.precision.least is not None]
    shown = [Dot(x, one.least or 0.0, one.low, one.high, "", f"{one.low:.0%} to {one.high:.0%}") for x, one in judged]
    lines = {
        "share": [(row.threshold, row.share) for row in thresholds],
        "least": [(x, one.least or 0.0) for x, one in judged],
        "most": [(x, one.most or 0.0) for x, one in judged if one.judged],
    }
    title = "Share of right answers by threshold"
    return dots(Words(title, title, "confidence that an answer needs", "share"), shown, SHARE, SHARE, lines)


def _bars(counts: Sequence[MailCount], title: str) -> Markup:
    """Mails by what they have in common; the dark part would be answered."""
    shown = [
        PictureRow(f"{one.name}: {one.mails}", one.mails, "", f"{one.answered} answered", part=one.answered)
        for one in counts
    ]
    return rows(Words(title, title, "mails", ""), shown, "{:.0f}".format)
