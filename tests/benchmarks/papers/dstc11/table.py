"""The DSTC11 reports as lines of text, in percent, with the published numbers below.

Checked by tests/unit/benchmarks/papers/test_dstc11_selection.py and tests/unit/benchmarks/papers/test_dstc11_parts.py.
"""

from __future__ import annotations

from typing import NamedTuple

from support_agent.cli.terminal import as_table
from support_agent.core.frozen import Frozen
from tests.benchmarks.papers.dstc11.measures import Row
from tests.benchmarks.papers.dstc11.parts import PartsReport
from tests.benchmarks.papers.dstc11.selection import Report

HEAD = (
    *("", "KNOWLEDGE-F1", "95% OF RESAMPLES", "PRECISION", "RECALL", "F1", "95% OF RESAMPLES"),
    *("BLEU-4", "ROUGE-L", "CHRF", "ANSWERED", "SENTENCES"),
)
PLACE = {name: HEAD.index(name) for name in ("KNOWLEDGE-F1", "F1", "BLEU-4", "ROUGE-L")}


class Published(NamedTuple):
    """What others report, 0..1, by the name of the column; their texts were written by a model."""

    who: str
    shares: dict[str, float]


PUBLISHED = (
    Published("Published, LLM-Augmenter with BM25 and feedback", {"KNOWLEDGE-F1": 0.3741}),
    Published("Published, LLM-Augmenter with gold knowledge", {"KNOWLEDGE-F1": 0.5283}),
    Published(
        "Published, the track's baseline, trained on its training set",
        {"F1": 0.8373, "BLEU-4": 0.1042, "ROUGE-L": 0.2875},
    ),
)
"""The last is of the whole validation set, its ROUGE-L with stems."""


class Measured(Frozen):
    """What the command prints; `by_mail` by the path a mail takes, `parts` None where no turns go through the model."""

    report: Report
    by_mail: tuple[Row, ...] = ()
    parts: PartsReport | None = None


def table(found: Measured) -> str:
    """All of it."""
    report, linking = found.report, found.report.linking
    rows: list[tuple[str, ...]] = [(*HEAD, "HOW MANY")]
    rows += [(*_cells(row), ", ".join(row.learned)) for row in (*found.by_mail, *report.rows)]
    rows += [(*_published(one), "") for one in PUBLISHED]
    text = (
        f"DSTC11 track 5: {report.turns} of {report.whole} turns, {report.snippets} sentences and answers, "
        f"seed {report.seed}\n"
        f"Entity linking: precision {linking.precision:.1%}, recall {linking.recall:.1%}, exact {linking.exact:.1%}\n\n"
        f"{as_table(rows)}"
    )
    return text if found.parts is None else f"{text}\n\n{_parts_table(found.parts)}"


def _parts_table(parts: PartsReport) -> str:
    rows: list[tuple[str, ...]] = [(*HEAD, "K-F1 OF THESE", "TOKENS", "S")]
    rows += [
        (*_cells(row.chosen), _percent(row.knowledge_f1_answered), f"{row.tokens:.0f}", f"{row.seconds:.1f}")
        for row in parts.rows
    ]
    return f"With the language model, on {parts.sample} turns by seed {parts.seed}:\n{as_table(rows)}"


def _cells(row: Row) -> tuple[str, ...]:
    like = row.likeness
    return (
        *(row.name, _percent(row.knowledge_f1), _between(row.knowledge_range)),
        *(f"{row.precision:.1%}", f"{row.recall:.1%}", f"{row.selection_f1:.1%}", _between(row.selection_range)),
        *(f"{share:.1%}" for share in (like.bleu, like.rouge_l, like.chrf, row.answered)),
        f"{row.sentences:.1f}",
    )


def _published(one: Published) -> tuple[str, ...]:
    cells = [one.who, *[""] * (len(HEAD) - 1)]
    for column, share in one.shares.items():
        cells[PLACE[column]] = _percent(share)
    return tuple(cells)


def _between(bounds: tuple[float, float]) -> str:
    return f"{100 * bounds[0]:.1f} to {100 * bounds[1]:.1f}"


def _percent(share: float) -> str:
    return f"{share:.2%}"
