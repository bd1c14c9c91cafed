"""`python -m tests.benchmarks.papers.web_search --data DIR`: merged against sequential search.

Compared are how long each takes, and how many answers are in what is found.
Every question is asked in both modes, each time by a search that remembers nothing. Beside the wall time of a mode
stand the seconds of its slowest source and the sum of all: the merged search waits for the slowest, the sequential one
for the sum. Right by words and right by the model are told apart. Checked by tests/unit/papers/test_web_search.py.
Source: the merged search of LLM-ENHANCER (Algorithm 2), its comparison with the sequential one, its comparator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal, Protocol

from pydantic import Field, field_validator

from support_agent.app import open_embedder, utc_now
from support_agent.commands import ConfigOption, JsonOption, print_data
from support_agent.errors import ConfigError
from support_agent.evals.files import data_file
from support_agent.facts.index import TextEmbedder
from support_agent.facts.judge import Judge
from support_agent.facts.web.merged_search import Merged, MergedSearch
from support_agent.facts.web.open_search import open_sources
from support_agent.frozen import Frozen
from support_agent.settings import Settings
from support_agent.terminal import NOTHING, as_table
from tests.benchmarks.papers.command import ByModelOption, DataOption, given, open_judge, quiet_settings, run
from tests.benchmarks.papers.comparator import Comparison, compare
from tests.benchmarks.papers.files import read_json_lines

FILE = "search.jsonl"

Mode = Literal["parallel", "sequential"]
NAMES: dict[Mode, str] = {"parallel": "merged", "sequential": "sequential"}
"""What the modes are called, in their order."""


class Question(Frozen):
    """One line of the file; `answer` is a text, or a list of texts any of which is right."""

    question: str = Field(min_length=1)
    answer: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)

    @field_validator("answer", mode="before")
    @classmethod
    def _one_or_more(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


class Searcher(Protocol):
    """`facts.web.merged_search.MergedSearch`."""

    def search(self, question: str) -> Merged: ...


class Asked(Frozen):
    """One question in one mode; `failed` are the sources that did not answer.

    Seconds of the whole search, of its slowest source and of all its sources together. `first` compares the first
    passage with the reference, `all` all of them.
    """

    question: str
    seconds: float
    slowest_source: float
    sum_of_sources: float
    failed: tuple[str, ...]
    first: Comparison
    all: Comparison


class ModeRow(Frozen):
    """One mode over all questions: mean seconds, and how many were right; by the model None where it was not asked."""

    mode: Mode
    seconds: float
    slowest_source: float
    sum_of_sources: float
    failed_sources: int
    right_first: int
    right: int
    right_first_by_model: int | None
    right_by_model: int | None
    asked: tuple[Asked, ...]


class Report(Frozen):
    """How many questions, to which sources, and a row a mode."""

    questions: int
    sources: tuple[str, ...]
    rows: tuple[ModeRow, ...]


def load_questions(data: Path) -> tuple[Question, ...]:
    """Read questions with their answers, one JSON object a line.

    Args:
        data: The file, or the folder that holds search.jsonl.
    Raises:
        ConfigError: the file is not there, or a line is no question with its answer.
    """
    return read_json_lines(data_file(data, FILE), Question)


def evaluate(
    questions: Sequence[Question],
    open_search: Callable[[Mode], Searcher],
    *,
    sources: Sequence[str],
    stopwatch: Callable[[], float],
    judge: Judge | None = None,
) -> Report:
    """Ask each question in both modes.

    Args:
        questions: 1 or more.
        open_search: A search that remembers nothing, anew for each question.
        sources: Their names, for the report.
        stopwatch: Seconds.
        judge: The model, for the comparison by yes and no; None: by words alone.
    Raises:
        SupportAgentError: as the judge.
    """
    rows = []
    for mode in NAMES:
        asked = [_ask(question, open_search(mode), stopwatch, judge) for question in questions]
        rows.append(mode_row(mode, asked, by_model=judge is not None))
    return Report(questions=len(questions), sources=tuple(sources), rows=tuple(rows))


def _ask(question: Question, search: Searcher, stopwatch: Callable[[], float], judge: Judge | None) -> Asked:
    started_s = stopwatch()
    found = search.search(question.question)
    seconds = stopwatch() - started_s
    waits = [report.seconds for report in found.reports]
    texts = [passage.text for passage in found.passages]

    def compared(shown: Sequence[str]) -> Comparison:
        return compare(question.question, question.answer, "\n".join(shown), judge)

    return Asked(
        question=question.question,
        seconds=seconds,
        slowest_source=max(waits, default=0.0),
        sum_of_sources=sum(waits),
        failed=tuple(report.name for report in found.reports if report.why),
        first=compared(texts[:1]),
        all=compared(texts),
    )


def mode_row(mode: Mode, asked: Sequence[Asked], *, by_model: bool) -> ModeRow:
    """Means and counts of one mode; 1 question or more."""
    n = len(asked)
    return ModeRow(
        mode=mode,
        seconds=sum(one.seconds for one in asked) / n,
        slowest_source=sum(one.slowest_source for one in asked) / n,
        sum_of_sources=sum(one.sum_of_sources for one in asked) / n,
        failed_sources=sum(len(one.failed) for one in asked),
        right_first=sum(one.first.by_words for one in asked),
        right=sum(one.all.by_words for one in asked),
        right_first_by_model=sum(one.first.is_right_by_model for one in asked) if by_model else None,
        right_by_model=sum(one.all.is_right_by_model for one in asked) if by_model else None,
        asked=tuple(asked),
    )


def table(report: Report) -> str:
    """The report as lines of text: seconds are means a question, right are counts."""
    head = ("", "S", "SLOWEST", "SUM", "FAILED", "FIRST BY WORDS", "ALL BY WORDS", "FIRST BY MODEL", "ALL BY MODEL")
    rows: list[tuple[str, ...]] = [head]
    for row in report.rows:
        times = [f"{seconds:.2f}" for seconds in (row.seconds, row.slowest_source, row.sum_of_sources)]
        counts = (row.failed_sources, row.right_first, row.right, row.right_first_by_model, row.right_by_model)
        rows.append((NAMES[row.mode], *times, *(NOTHING if count is None else str(count) for count in counts)))
    return f"Search: {report.questions} questions to {', '.join(report.sources)}\n\n{as_table(rows)}"


def web_searches(settings: Settings, opened_embedder: Callable[[], TextEmbedder]) -> Callable[[Mode], MergedSearch]:
    """The merged search of the configuration in either mode, each time one that remembers nothing.

    Raises:
        ConfigError: no source is configured.
    """
    if not settings.search.sources:
        raise ConfigError(
            "search.sources names no source: set [search] in the configuration, and name it with --config"
        )
    embedder = opened_embedder()

    def opened(mode: Mode) -> MergedSearch:
        changed = settings.search.model_copy(update={"mode": mode})
        return MergedSearch(open_sources(changed, utc_now), embedder, changed, utc_now)

    return opened


def main(
    data: DataOption = None, by_model: ByModelOption = False, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Ask the sources of [search] at once and one after the other: how long each takes, and how often it is right.

    search.jsonl has one line a question: {"question": "...", "answer": "..."}, or a list of answers.
    """
    settings = quiet_settings(config, optional=False)
    questions = load_questions(given(data))
    searches = web_searches(settings, lambda: open_embedder(settings))
    with open_judge(settings) if by_model else nullcontext() as judge:
        report = evaluate(questions, searches, sources=settings.search.sources, stopwatch=time.monotonic, judge=judge)
    print_data(report, as_json, table(report))


if __name__ == "__main__":
    run(main, "web_search")
