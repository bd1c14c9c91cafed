"""The experiment of LLM-ENHANCER in a short form: a scripted writer and judge, and the product's search on loopback."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from support_agent.config.search import SearchSettings, Service
from support_agent.errors import ConfigError
from support_agent.facts.grading_words import PASSAGE
from support_agent.facts.material import Passage
from support_agent.models.judge import Grade
from support_agent.models.language_model import Usage
from support_agent.models.writer import Draft, Material, most_tokens
from tests.benchmarks.papers.answer_counts import Verdict
from tests.benchmarks.papers.comparator import is_contained
from tests.benchmarks.papers.enhancer import (
    MERGED,
    OFFLINE,
    OFFLINE_ORDER,
    SEQUENTIAL,
    WEB_ORDER,
    Parts,
    Report,
    Row,
    Searched,
    cutting_of,
    evaluate,
    searches,
    table,
    the_web,
)
from tests.benchmarks.papers.local_web import known_by, local_web
from tests.benchmarks.papers.web_questions import Question, QuestionSet, SetName, load_set
from tests.unit.facts.words import WordEmbedder

DEEP = Question(question="How deep is the well?", answer=("54 metres",))
TALL = Question(question="How tall is the mill?", answer=("9 metres",))
SOURCES = (Service.WIKIPEDIA, Service.GOOGLE, Service.SITE)
SAYS = {
    Service.GOOGLE: {"deep": "It is 12 metres deep."},
    Service.SITE: {"deep": "It is 54 metres deep.", "tall": "It is 9 metres tall."},
}
SECONDS = {Service.WIKIPEDIA: 1.0, Service.GOOGLE: 4.0, Service.SITE: 2.0}


class Stopwatch:
    """A clock that the searches and the writer move."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Told:
    """A search that takes as long as its slowest source; the last source's words come first. Wikipedia fails."""

    def __init__(self, sources: Sequence[Service], stopwatch: Stopwatch) -> None:
        self.sources = sources
        self.stopwatch = stopwatch

    def search(self, question: str, n: int) -> Searched:
        self.stopwatch.seconds += max(SECONDS[source] for source in self.sources)
        passages = [
            Passage(
                source="https://a.example/", first=0, last=0, heading="", text=text, score=1.0, found_by=(source,)
            )
            for source in reversed(self.sources)
            for word, text in SAYS.get(source, {}).items() if word in question
        ]  # fmt: skip
        failed = tuple(source for source in self.sources if source is Service.WIKIPEDIA)
        return Searched(tuple(passages[:n]), tuple(SECONDS[source] for source in self.sources), failed)


class Repeating:
    """`models.writer.Writer` that takes half a second to repeat the first passage, and knows nothing without one."""

    name = "repeating"

    def __init__(self, stopwatch: Stopwatch) -> None:
        self.orders: list[str] = []
        self.stopwatch = stopwatch

    def count_tokens(self, text: str) -> int:
        return most_tokens(text)

    def generate(
        self, instruction: str, material: Material, *, temperature: float, max_tokens: int, seed: int
    ) -> Draft:
        self.orders.append(instruction)
        self.stopwatch.seconds += 0.5
        text = next((text for name, text in material if name == PASSAGE), "I do not know.")
        return Draft(text=text, usage=Usage())


class Literal:
    """`models.judge.Judge` that says yes to every text of which `says` is a part."""

    def __init__(self, *says: str) -> None:
        self.says = says
        self.asked = 0

    def yes(self, question: str, material: Material) -> Grade:
        self.asked += 1
        text = dict(material)["Text"]
        return Grade(probability=1.0 if any(one in text for one in self.says) else 0.0, usage=Usage())


def rows_of(*questions: Question, judge: Literal | None = None) -> dict[str, Row]:
    """The rows over the scripted sources, by name."""
    stopwatch = Stopwatch()
    parts = Parts(lambda sources: Told(sources, stopwatch), Repeating(stopwatch), judge or Literal(), stopwatch)
    return {row.name: row for row in evaluate(questions, SOURCES, parts)}


def verdicts(row: Row) -> list[Verdict]:
    return [one.by_words for one in row.answers]


def test_every_way_answers_every_question() -> None:
    """Rule: the rows of the paper, in this order; without a passage nothing is written, which is no answer."""
    rows = rows_of(DEEP, TALL)
    assert list(rows) == [OFFLINE, "wikipedia", "google", "site", SEQUENTIAL, MERGED]
    right, wrong, none = Verdict
    assert verdicts(rows[OFFLINE]) == verdicts(rows["wikipedia"]) == [none, none]
    assert verdicts(rows["google"]) == [wrong, none]
    assert verdicts(rows["site"]) == verdicts(rows[MERGED]) == [right, right]
    assert [one.draft for one in rows["wikipedia"].answers] == ["", ""]


def test_the_sequential_way_takes_the_first_answer_and_the_seconds_until_then() -> None:
    """Rule: a wrong answer ends it too; a source that has none costs its time."""
    row = rows_of(DEEP, TALL)[SEQUENTIAL]
    assert [one.draft for one in row.answers] == ["It is 12 metres deep.", "It is 9 metres tall."]
    assert [one.waits.wall for one in row.answers] == [1.0 + 4.5, 1.0 + 4.0 + 2.5]
    assert row.failed_sources == 2


def test_wall_time_stands_beside_the_slowest_source_and_the_sum() -> None:
    """Rule: means of seconds a question; the merged way waits for the slowest source, not for all."""
    waits = rows_of(DEEP, TALL)[MERGED].waits
    assert (waits.search, waits.slowest_source, waits.sum_of_sources, waits.write) == (4.0, 4.0, 7.0, 0.5)
    assert waits.wall == 4.5


def test_the_models_yes_is_counted_beside_the_words() -> None:
    """Rule: it changes nothing of the words, and is not asked about what is no answer."""
    judge = Literal("12 metres")
    rows = rows_of(DEEP, judge=judge)
    assert (rows["google"].by_words.right, rows["google"].by_model.right) == (0, 1)
    assert (rows["site"].by_words.right, rows["site"].by_model.right) == (1, 0)
    assert (rows[OFFLINE].by_model.none, judge.asked) == (1, 3)


def test_what_is_found_and_what_is_answered_are_told_apart() -> None:
    """Rule: the right words may stand in a passage and not in the draft."""
    assert {name: row.found for name, row in rows_of(DEEP).items()} == {
        OFFLINE: 0, "wikipedia": 0, "google": 0, "site": 1, SEQUENTIAL: 0, MERGED: 1,
    }  # fmt: skip


def test_the_model_alone_is_ordered_to_answer_from_no_passages() -> None:
    stopwatch = Stopwatch()
    writer = Repeating(stopwatch)
    evaluate([DEEP], SOURCES, Parts(lambda sources: Told(sources, stopwatch), writer, Literal(), stopwatch))
    assert sorted(writer.orders) == sorted([OFFLINE_ORDER, *[WEB_ORDER] * 3])


def test_merged_answers_what_no_source_alone_can() -> None:
    """The short form on the made facts: the product's search and its sources, on servers of loopback."""
    whole = load_set(SetName.RECENT, None)
    known = known_by(whole.articles, 1)
    questions = [
        next(one for one in whole.questions if any(is_contained(one.answer, page.text) for page in own[:3]))
        for own in known.values()
    ][:4]
    stopwatch = Stopwatch()
    with local_web(known, delay=0.0) as settings:
        opened = searches(settings, WordEmbedder(), cutting_of("400/100"))
        rows = evaluate(questions, settings.sources, Parts(opened, Repeating(stopwatch), Literal(), stopwatch))
    found = {row.name: row.found for row in rows}
    assert found.pop(MERGED) == len(questions)
    assert max(found.values()) < len(questions)
    assert all(row.failed_sources == 0 for row in rows)
    report = Report(
        set=SetName.RECENT, questions=4, of_questions=44, pages=44, seed=1, chunk="400/100", is_live=False,
        model="repeating", rows=rows,
    )  # fmt: skip
    lines = table(report).splitlines()
    assert lines[0] == "recent: 4 of 44 questions (seed 1), a local web of 44 pages, chunks 400/100, repeating"
    assert lines[-1].split()[0] == "merged"
    assert lines[-1].split()[-2:] == ["0", "4"]
    assert len([line for line in lines if line.startswith("sequential")]) == 3


@pytest.mark.parametrize("chunk", ["400", "100/100", "0/0", "a/b", "400/-1"])
def test_chunks_that_cannot_be_cut_are_refused(chunk: str) -> None:
    with pytest.raises(ConfigError, match="write SIZE/OVERLAP"):
        cutting_of(chunk)


def test_questions_without_pages_are_asked_of_the_configured_sources_alone() -> None:
    """Rule: the web is off by default, and this asks nothing."""
    own = QuestionSet((DEEP,))
    with pytest.raises(ConfigError, match="--live"), the_web(own, SearchSettings(), 1, is_live=False):
        pass
    with (
        pytest.raises(ConfigError, match=r"search\.sources names no source"),
        the_web(own, SearchSettings(), 1, is_live=True),
    ):
        pass
