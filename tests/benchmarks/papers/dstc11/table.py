"""The DSTC11 reports as lines of text, in percent, with the published numbers below.

Checked by tests/unit/papers/test_dstc11_selection.py and tests/unit/papers/test_dstc11_parts.py.
"""

from __future__ import annotations

from support_agent.frozen import Frozen
from support_agent.terminal import as_table
from tests.benchmarks.papers.dstc11.measures import Row
from tests.benchmarks.papers.dstc11.parts import PartsReport
from tests.benchmarks.papers.dstc11.selection import Report

PUBLISHED = (
    ("Published, LLM-Augmenter with BM25 and feedback", 0.3741, None),
    ("Published, LLM-Augmenter with gold knowledge", 0.5283, None),
    ("Published, trained selection of the track", None, 0.837),
)
"""(who, Knowledge-F1, selection F1). Its texts were written by a model, ours are the sentences themselves."""


class Measured(Frozen):
    """What the command prints; `parts` is None where no turns were sampled for the language model."""

    report: Report
    parts: PartsReport | None = None


def table(found: Measured) -> str:
    """All of it."""
    report, linking = found.report, found.report.linking
    head = ("", "KNOWLEDGE-F1", "PRECISION", "RECALL", "F1", "SENTENCES")
    rows = [(*head, "HOW MANY"), *((*_cells(row), ", ".join(row.learned)) for row in report.rows)]
    rows += [
        (name, _percent(knowledge), "", "", _percent(selection), "", "") for name, knowledge, selection in PUBLISHED
    ]
    text = (
        f"DSTC11 track 5: {report.turns} turns, {report.snippets} sentences and answers, halves by seed {report.seed}\n"
        f"Entity linking: precision {linking.precision:.1%}, recall {linking.recall:.1%}, exact {linking.exact:.1%}\n\n"
        f"{as_table(rows)}"
    )
    return text if found.parts is None else f"{text}\n\n{_parts_table(found.parts)}"


def _parts_table(parts: PartsReport) -> str:
    rows = [("", "KNOWLEDGE-F1", "PRECISION", "RECALL", "F1", "SENTENCES", "ANSWERED", "K-F1 OF THESE", "TOKENS", "S")]
    for row in parts.rows:
        numbers = (
            f"{row.answered:.1%}",
            _percent(row.knowledge_f1_answered),
            f"{row.tokens:.0f}",
            f"{row.seconds:.1f}",
        )
        rows.append((*_cells(row.chosen), *numbers))
    return f"With the language model, on {parts.sample} turns by seed {parts.seed}:\n{as_table(rows)}"


def _cells(row: Row) -> tuple[str, str, str, str, str, str]:
    shares = (f"{row.precision:.1%}", f"{row.recall:.1%}", f"{row.selection_f1:.1%}")
    return (row.name, _percent(row.knowledge_f1), *shares, f"{row.sentences:.1f}")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.2%}"
