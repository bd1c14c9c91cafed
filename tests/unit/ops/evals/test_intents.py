"""Labelled questions: what is read, how one is decided, and what is counted of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support_agent.errors import ConfigError
from support_agent.facts.index import Index, memory_client
from support_agent.facts.search import CompanySearch
from support_agent.ops.evals.intents import (
    CascadeStep,
    DecidedQuestion,
    Line,
    Way,
    decided_of,
    evaluate,
    read_lines,
    report_of,
    table,
    topics_of_lines,
)
from support_agent.planner.choice import Chooser, ModelVotes, Option
from support_agent.tools.base import Match
from tests.fakes import PLAIN, ScriptedModel
from tests.unit.facts.test_search import WordEmbedder


def decided(label: str, topic: str, confidence: float, step: CascadeStep = CascadeStep.DECIDED) -> DecidedQuestion:
    return DecidedQuestion(
        topic=topic, right=() if label == "oos" else (label,), confidence=confidence, step=step, seconds=0.2
    )


CASES = [
    decided("a", "a", 0.9),
    decided("b", "b", 0.8, CascadeStep.ASKED),
    decided("oos", "a", 0.7),
    decided("b", "a", 0.6),
    decided("a", "a", 0.05, CascadeStep.HOPELESS),
]
OPTIONS = {f"document:{name}": Option(key=f"document:{name}", title=name) for name in "ab"}


def way(votes: ModelVotes, *answers: str) -> Way:
    return Way(Chooser(ScriptedModel(answers), PLAIN, model_votes=votes), OPTIONS, 0.6, 6)


def near(a: float, b: float) -> list[Match]:
    return [Match(topic="document:a", score=a), Match(topic="document:b", score=b)]


def test_lines_are_read_and_others_are_refused_with_their_number(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"text": "refund?", "label": "a"}\n\n{"text": "hi"}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"lines\.jsonl:3: label: Field required: write a line such as"):
        read_lines(path)
    path.write_text('{"text": "refund?", "label": "a"}\n', encoding="utf-8")
    assert read_lines(path) == [Line(text="refund?", label="a")]


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_line_ends_only_where_the_file_says_so(tmp_path: Path, start: str) -> None:
    """Failure: a file with a byte order mark, and a question with a separator that JSON allows, were refused."""
    path = tmp_path / "lines.jsonl"
    path.write_text(start + '{"text": "a\u2028b\u0085c", "label": "a"}\n', encoding="utf-8")
    assert [line.text for line in read_lines(path)] == ["a\u2028b\u0085c"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no line in it"),
        (b"\n \n", "no line in it"),
        (b"[" * 100_000, ":1: the line: Invalid JSON"),
        (b'{"text": "\\ud800", "label": "a"}', ":1: the line: Invalid JSON"),
        (b'{"text": " ", "label": "a"}', ":1: text:"),
        (b'{"text": "a", "label": ""}', ":1: label:"),
        (b'{"text": "a", "label": "b", "id": 1}', ":1: id:"),
        ('{"text": "a", "label": "b"}'.encode("utf-16"), "not UTF-8 text: save it as UTF-8"),
    ],
)
def test_a_broken_file_is_refused_with_what_is_wrong(tmp_path: Path, content: bytes, why: str) -> None:
    """Failure: some ended in a traceback, an empty file in a report on no questions."""
    path = tmp_path / "lines.jsonl"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=re.escape(f"lines.jsonl{why}" if why.startswith(":") else why)):
        read_lines(path)


def test_a_label_is_a_topic_and_out_of_scope_is_none() -> None:
    lines = [Line(text="x", label="card_arrival"), Line(text="y", label="card_arrival"), Line(text="z", label="oos")]
    (topic,) = topics_of_lines(lines)
    assert (topic.title, topic.questions) == ("card arrival", ("x", "y"))


def test_the_report_counts_what_is_right_in_scope_and_what_is_answered() -> None:
    report = report_of(CASES, threshold=0.65)
    assert (report.lines, report.in_scope, report.accuracy) == (5, 4, 0.75)
    assert report.seconds == pytest.approx(0.2)
    assert report.coverage == 0.6
    assert report.precision == pytest.approx(2 / 3)
    assert report.out_of_scope_answered == 1.0
    assert report.answered_right == {"0.90": 0.5, "0.95": 0.5, "0.98": 0.5}
    assert "0.750" in table(report)


def test_each_step_of_the_cascade_is_counted_with_its_cost() -> None:
    report = report_of(CASES, threshold=0.65)
    assert [(step.name, step.lines, step.right, step.answered) for step in report.steps] == [
        (CascadeStep.DECIDED, 3, 1, 2),
        (CascadeStep.HOPELESS, 1, 1, 0),
        (CascadeStep.ASKED, 1, 1, 1),
    ]


def test_the_step_that_settles_a_question_is_told() -> None:
    """The language model is asked in the middle only, and nowhere where it has no vote."""
    sure, doubtful, hopeless = near(1.2, 0.1), near(0.6, 0.55), near(0.1, 0.1)
    asked = way("doubtful", "yes", "yes", "a", "a")

    def step(of: Way, matches: list[Match]) -> CascadeStep:
        return decided_of(of.choose("?", matches), ["document:a"], 0.6).step

    assert step(asked, sure) is CascadeStep.DECIDED
    assert step(asked, hopeless) is CascadeStep.HOPELESS
    assert step(asked, doubtful) is CascadeStep.ASKED
    assert step(way("never"), doubtful) is CascadeStep.DECIDED


def test_a_right_topic_is_right_and_none_is_right_where_none_answers() -> None:
    choice = way("never").choose("?", near(1.0, 0.1))
    assert decided_of(choice, ["document:a"], 0.6).is_right
    assert not decided_of(choice, [], 0.6).is_right


def test_every_line_is_decided_by_the_search_and_timed() -> None:
    """A run without titles and without a language model works."""
    embedder = WordEmbedder()
    search = CompanySearch({"minilm": embedder}, {"minilm": Index(memory_client(), embedder, name="intents-unit")})
    lines = [Line(text="my refund", label="a"), Line(text="a lost password", label="b")]
    topics = topics_of_lines(lines)
    search.update(topics)
    ticks = iter(range(100))
    tests = [*lines, Line(text="cat", label="oos")]
    report, found = evaluate(search, way("never"), tests, lambda: float(next(ticks)))
    assert [one.topic for one in found[:2]] == ["document:a", "document:b"]
    assert [one.right for one in found] == [("document:a",), ("document:b",), ()]
    assert (report.lines, report.in_scope, report.seconds, report.tokens) == (3, 2, 1.0, 0.0)
