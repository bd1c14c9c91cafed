"""Merged against sequential search: what is timed, and when an answer is right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support_agent.errors import ConfigError
from support_agent.facts.web.merged_search import Merged, MergedSearch, SourceReport, WebPassage
from support_agent.settings_search import SearchSettings
from tests.benchmarks.papers.comparator import CONTAINED_ASK
from tests.benchmarks.papers.web_search import Mode, Question, Report, evaluate, load_questions, table
from tests.fakes_facts import ScriptedJudge
from tests.fakes_search import HandClock, MeetingSource, ScriptedSource, page
from tests.unit.facts.words import WordEmbedder

QUESTIONS = (
    Question(question="How many days?", answer=("30 days", "a month")),
    Question(question="Who built it?", answer=("Ann Smith",)),
)


class Stopwatch:
    """A clock that the searches move."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Told:
    """A search that takes its sources' time: the longest of them, or one after the other."""

    def __init__(self, mode: Mode, stopwatch: Stopwatch) -> None:
        self.mode = mode
        self.stopwatch = stopwatch

    def search(self, question: str) -> Merged:
        waits = {"wikipedia": 1.0, "site": 3.0}
        self.stopwatch.seconds += max(waits.values()) if self.mode == "parallel" else sum(waits.values())
        texts = ("It rained.", "It takes 30 days.") if "days" in question else ("Smith built it.",)
        passages = [
            WebPassage(
                source="https://a.example/", first=0, last=0, heading="", text=text, score=1.0, found_by=("site",),
                is_excerpt=False,
            )
            for text in texts
        ]  # fmt: skip
        reports = [
            SourceReport(name=name, outcome="found", pages=1, seconds=seconds, why="broken" if name == "site" else "")
            for name, seconds in waits.items()
        ]
        return Merged(query=question, passages=tuple(passages), reports=tuple(reports))


def run(judge: ScriptedJudge | None = None) -> Report:
    stopwatch = Stopwatch()
    return evaluate(
        QUESTIONS, lambda mode: Told(mode, stopwatch), sources=("wikipedia", "site"), stopwatch=stopwatch, judge=judge
    )


def test_wall_time_stands_beside_the_slowest_source_and_the_sum() -> None:
    """Rule: means of seconds a question."""
    merged, sequential = run().rows
    assert (merged.mode, merged.seconds, merged.slowest_source, merged.sum_of_sources) == ("parallel", 3.0, 3.0, 4.0)
    assert (sequential.mode, sequential.seconds, sequential.failed_sources) == ("sequential", 4.0, 2)


def test_right_is_counted_of_the_first_passage_and_of_all() -> None:
    """Rule: by words; where no model was asked there is no number of its own, not 0."""
    merged, _ = run().rows
    assert (merged.right_first, merged.right, merged.right_by_model, merged.right_first_by_model) == (0, 1, None, None)
    assert [one.all.by_words for one in merged.asked] == [True, False]


def test_the_models_yes_is_counted_beside() -> None:
    """Rule: first and all passages of each question, in each mode; it changes nothing of the words."""
    judge = ScriptedJudge({CONTAINED_ASK: [0.1, 0.9, 0.6, 0.6] * 2})
    merged, sequential = run(judge).rows
    assert (merged.right_first_by_model, merged.right_by_model, merged.right) == (1, 2, 1)
    assert sequential.right_by_model == 2
    assert table(run(ScriptedJudge({CONTAINED_ASK: [0.9] * 8}))).splitlines()[-1].split() == [
        "sequential", "4.00", "3.00", "4.00", "2", "0", "1", "2", "2",
    ]  # fmt: skip


def test_the_real_search_asks_all_sources_at_once_where_it_is_merged() -> None:
    """Rule: sources that answer only while the other one is asked too find both answers, in one search."""
    settings = SearchSettings(timeout_s=5.0)
    text = "Ann Smith built it. It takes 30 days."

    def open_search(mode: Mode) -> MergedSearch:
        barrier: list[str] = []
        kind: Callable[[str], ScriptedSource] = (
            (lambda name: MeetingSource(name, barrier, 2, page("mill", text)))
            if mode == "parallel"
            else (lambda name: ScriptedSource(name, page("mill", text)))
        )
        chosen = settings.model_copy(update={"mode": mode})
        return MergedSearch([kind("a"), kind("b")], WordEmbedder(), chosen, HandClock())

    report = evaluate(QUESTIONS, open_search, sources=("a", "b"), stopwatch=Stopwatch())
    assert [(row.right_first, row.right, row.failed_sources) for row in report.rows] == [(2, 2, 0), (2, 2, 0)]


def test_an_answer_is_a_text_or_several(tmp_path: Path) -> None:
    """Rule: one JSON object a line."""
    path = tmp_path / "search.jsonl"
    path.write_text('{"question": "a", "answer": "b"}\n{"question": "c", "answer": ["d", "e"]}\n', "utf-8")
    assert [question.answer for question in load_questions(tmp_path)] == [("b",), ("d", "e")]
    path.write_text('{"question": "a", "answer": []}\n', "utf-8")
    with pytest.raises(ConfigError, match=r"search\.jsonl:1: answer: Tuple should have at least 1 item"):
        load_questions(tmp_path)
