"""`python -m tests.benchmarks.papers.enhancer --data DIR`: does the web make a local model answer better?

LLM-ENHANCER's experiment on this program's parts. Each question is answered in several ways: by the model alone
("offline"), from each web source alone, from the sources in turn until one's passages give an answer ("sequential"),
and from all at once ("merged": their chunks in one Chroma collection, with their source as metadata). The product's
merged search finds the passages, its writer answers from as many as a draft reads, and the answer comparator judges the
answer twice: by its words, and by the model's yes or no. The sequential way is put together from the answers of the
single sources: it takes their seconds one after another, and its answer is the first that is one.

Without `--live` the web is `local_web`, whose services wait so long each: there, compare the seconds with each other
only. How answers are counted stands in `answer_counts`, which questions there are in `web_questions`.
Every search remembers nothing. Checked by tests/unit/benchmarks/papers/test_enhancer.py.
Source: LLM-ENHANCER, Algorithms 1 and 2 (merging, splitting at 400 characters with an overlap of 100), its rows.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, NamedTuple, Protocol

import typer

from support_agent.cli.options import ConfigOption, JsonOption, print_data
from support_agent.cli.terminal import as_table
from support_agent.config.search import SearchSettings, Service
from support_agent.config.settings import Settings
from support_agent.core.clock import utc_now
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.facts.chunks import Cutting, in_characters
from support_agent.facts.grading_words import DRAFT_ORDER, QUESTION
from support_agent.facts.index import TextEmbedder
from support_agent.facts.material import Passage, named
from support_agent.facts.web.merged_search import MergedSearch
from support_agent.facts.web.open_search import open_sources
from support_agent.facts.web.pages import WebPage
from support_agent.facts.web.sources import WebSource
from support_agent.models.judge import Judge
from support_agent.models.opening import open_embedder
from support_agent.models.writer import Material, Writer
from tests.benchmarks.papers.answer_counts import Measure, Scores, Verdict, is_no_answer, scores_of, verdict_of
from tests.benchmarks.papers.command import DataOption, open_judge_and_writer, quiet_settings, run
from tests.benchmarks.papers.comparator import compare, is_contained
from tests.benchmarks.papers.local_web import known_by, local_web
from tests.benchmarks.papers.web_questions import Question, QuestionSet, SetName, load_set

OFFLINE, SEQUENTIAL, MERGED = "offline model", "sequential", "merged"
WAY_OUT = "If you do not know it, write: I do not know."
OFFLINE_ORDER = f"Answer the customer's question in one to three short sentences. {WAY_OUT}"
WEB_ORDER = f"{DRAFT_ORDER} {WAY_OUT}"
"""The fact room's drafts have no way out, as they are graded; these are not, and the paper counts who does not know."""
CHUNK = "400/100"
SetOption = Annotated[SetName, typer.Option("--set", help="Which questions; recent needs no --data.")]
QuestionsOption = Annotated[int, typer.Option("--questions", min=0, metavar="N", help="So many of them; 0: all.")]
SeedOption = Annotated[int, typer.Option(min=0, metavar="S", help="Of the sample, and of who knows which page.")]
ChunkOption = Annotated[str, typer.Option(metavar="SIZE/OVERLAP", help="Of the chunks of pages, in characters.")]
LiveOption = Annotated[bool, typer.Option("--live", help="Ask the sources of [search] in the configuration.")]


class Searched(NamedTuple):
    """What a search found, how many seconds each source took, and the names of those that gave no answer."""

    passages: tuple[Passage, ...]
    seconds: tuple[float, ...]
    failed: tuple[str, ...]


class Searcher(Protocol):
    """`TimedSearch`."""

    def search(self, question: str, n: int) -> Searched: ...


class TimedSource:
    """A web source that notes how long it took, and whether it failed."""

    def __init__(self, source: WebSource) -> None:
        self.name = source.name
        self.seconds = 0.0
        self.has_failed = False
        self._source = source

    async def search(self, query: str, deadline: float) -> Sequence[WebPage]:
        started_s = time.monotonic()
        self.has_failed = True
        try:
            pages = await self._source.search(query, deadline)
            self.has_failed = False
            return pages
        finally:
            self.seconds = time.monotonic() - started_s


class TimedSearch:
    """The product's merged search, over sources that are timed."""

    def __init__(self, settings: SearchSettings, embedder: TextEmbedder, cutting: Cutting) -> None:
        self._sources = [TimedSource(source) for source in open_sources(settings, utc_now)]
        self._merged = MergedSearch(self._sources, embedder, settings, utc_now, cutting=cutting)

    def search(self, question: str, n: int) -> Searched:
        passages = self._merged.find(question, n)
        failed = tuple(source.name for source in self._sources if source.has_failed)
        return Searched(passages, tuple(source.seconds for source in self._sources), failed)


class Parts(NamedTuple):
    """What answers and judges.

    `open_search` gives a search among some sources that remembers nothing; of its passages the first `passages` are
    written from, in at most `tokens` tokens.
    """

    open_search: Callable[[Sequence[Service]], Searcher]
    writer: Writer
    judge: Judge
    stopwatch: Callable[[], float]
    passages: int = 4
    tokens: int = 120
    seed: int = 1


class Waits(Frozen):
    """Seconds of one search or of the mean of some; the slowest source and the sum of all are within `search`."""

    search: float = 0.0
    slowest_source: float = 0.0
    sum_of_sources: float = 0.0
    write: float = 0.0

    @property
    def wall(self) -> float:
        """Until the answer is there."""
        return self.search + self.write

    def __add__(self, other: Waits) -> Waits:
        return Waits(**{name: value + getattr(other, name) for name, value in self})

    def over(self, n: int) -> Waits:
        """A mean."""
        return Waits(**{name: value / n for name, value in self})


class Answered(Frozen):
    """One question, answered in one way; `is_found`: the words of a right answer stand in the passages."""

    question: str
    draft: str
    by_words: Verdict
    by_model: Verdict
    is_found: bool = False
    waits: Waits
    failed: tuple[str, ...] = ()


class Row(Frozen):
    """One way over all questions: `waits` are means a question, `failed_sources` and `found` counts."""

    name: str
    by_words: Scores
    by_model: Scores
    found: int
    waits: Waits
    failed_sources: int
    answers: tuple[Answered, ...]


class Report(Frozen):
    """What was asked of what, and a row a way."""

    set: SetName
    questions: int
    of_questions: int
    pages: int
    seed: int
    chunk: str
    is_live: bool
    model: str
    rows: tuple[Row, ...]


def evaluate(questions: Sequence[Question], sources: Sequence[Service], parts: Parts) -> tuple[Row, ...]:
    """Answer each question in every way.

    Args:
        questions: 1 or more.
        sources: In the order in which the sequential way asks them.
    Raises:
        SupportAgentError: as the writer and the judge.
    """
    answered: dict[str, list[Answered]] = {}
    for question in questions:
        single = {source.value: _from_web(question, (source,), parts) for source in sources}
        ways = {
            OFFLINE: _offline(question, parts),
            **single,
            SEQUENTIAL: in_turn(list(single.values())),
            MERGED: _from_web(question, sources, parts),
        }
        for name, one in ways.items():
            answered.setdefault(name, []).append(one)
    return tuple(row_of(name, answers) for name, answers in answered.items())


def _offline(question: Question, parts: Parts) -> Answered:
    draft, seconds = _written(OFFLINE_ORDER, [(QUESTION, question.question)], parts)
    return _judged(question, draft, parts).model_copy(update={"waits": Waits(write=seconds)})


def _from_web(question: Question, sources: Sequence[Service], parts: Parts) -> Answered:
    """From what these sources find; nothing is written from nothing."""
    search = parts.open_search(sources)
    started_s = parts.stopwatch()
    found = search.search(question.question, parts.passages)
    seconds = parts.stopwatch() - started_s
    texts = [passage.text for passage in found.passages]
    material = [*named(texts), (QUESTION, question.question)]
    draft, write_s = _written(WEB_ORDER, material, parts) if texts else ("", 0.0)
    each = found.seconds
    waits = Waits(search=seconds, slowest_source=max(each, default=0.0), sum_of_sources=sum(each), write=write_s)
    is_found = is_contained(question.answer, "\n".join(texts))
    done = {"waits": waits, "failed": found.failed, "is_found": is_found}
    return _judged(question, draft, parts).model_copy(update=done)


def _written(order: str, material: Material, parts: Parts) -> tuple[str, float]:
    started_s = parts.stopwatch()
    draft = parts.writer.generate(order, material, temperature=0.0, max_tokens=parts.tokens, seed=parts.seed)
    return draft.text.strip(), parts.stopwatch() - started_s


def _judged(question: Question, draft: str, parts: Parts) -> Answered:
    """Both verdicts; the model is not asked whether an answer that is none is right."""
    by_words = verdict_of(draft, is_right=is_contained(question.answer, draft))
    by_model = Verdict.NONE
    if not is_no_answer(draft):
        compared = compare(question.question, question.answer, draft, parts.judge)
        by_model = Verdict.RIGHT if compared.is_right_by_model else Verdict.WRONG
    return Answered(question=question.question, draft=draft, by_words=by_words, by_model=by_model, waits=Waits())


def in_turn(answers: Sequence[Answered]) -> Answered:
    """The first that is an answer, after the seconds of all before it; the last one where none is.

    Args:
        answers: Of the single sources to one question, in their order, 1 or more.
    """
    waits, failed = Waits(), tuple[str, ...]()
    for one in answers:
        waits, failed = waits + one.waits, (*failed, *one.failed)
        if not is_no_answer(one.draft):
            break
    return one.model_copy(update={"waits": waits, "failed": failed})


def row_of(name: str, answers: Sequence[Answered]) -> Row:
    """Counts and means of one way; 1 answer or more."""
    return Row(
        name=name,
        by_words=scores_of(one.by_words for one in answers),
        by_model=scores_of(one.by_model for one in answers),
        found=sum(one.is_found for one in answers),
        waits=sum((one.waits for one in answers), Waits()).over(len(answers)),
        failed_sources=sum(len(one.failed) for one in answers),
        answers=tuple(answers),
    )


def table(report: Report) -> str:
    """The report as lines of text: answers by words, by the model, then seconds, which are means a question."""
    where = "the sources of the configuration" if report.is_live else f"a local web of {report.pages} pages"
    asked = f"{report.questions} of {report.of_questions} questions (seed {report.seed})"
    lines = [f"{report.set.value}: {asked}, {where}, chunks {report.chunk}, {report.model}"]
    for title, way in (("by words", "by_words"), ("by the model's yes or no", "by_model")):
        rows: list[tuple[str, ...]] = [("", "RIGHT", "WRONG", "NONE", "PRECISION", "RECALL", "F1")]
        for row in report.rows:
            scores: Scores = getattr(row, way)
            counts = (str(scores.right), str(scores.wrong), str(scores.none))
            rows.append((row.name, *counts, *map(_shown, (scores.precision, scores.recall, scores.f1))))
        lines += ["", f"Answers {title}, with 95% intervals", as_table(rows)]
    times: list[tuple[str, ...]] = [
        ("", "WALL S", "SEARCH", "SLOWEST SOURCE", "SUM OF SOURCES", "WRITING", "FAILED SOURCES", "FOUND")
    ]
    for row in report.rows:
        waits = row.waits
        seconds = (waits.wall, waits.search, waits.slowest_source, waits.sum_of_sources, waits.write)
        times.append((row.name, *(f"{one:.2f}" for one in seconds), str(row.failed_sources), str(row.found)))
    return "\n".join([*lines, "", "Seconds a question; found: the answer's words stand in a passage", as_table(times)])


def _shown(measure: Measure) -> str:
    return f"{measure.value:.2f} ({measure.low:.2f}-{measure.high:.2f})"


def cutting_of(chunk: str) -> Cutting:
    """The chunks of the option, such as "400/100".

    Raises:
        ConfigError: it is none.
    """
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", chunk)
    if match is None or not int(match[2]) < int(match[1]):
        raise ConfigError(f"--chunk {chunk!r}: write SIZE/OVERLAP in characters, the overlap shorter, such as {CHUNK}")
    return in_characters(int(match[1]), int(match[2]))


@contextmanager
def the_web(asked: QuestionSet, settings: SearchSettings, seed: int, *, is_live: bool) -> Iterator[SearchSettings]:
    """The settings of the sources that are asked: the configured ones, or those of the local web while it is served.

    Raises:
        ConfigError: there is nothing to ask.
    """
    if is_live:
        if not settings.sources:
            raise ConfigError("search.sources names no source: set [search] in the configuration, and name it")
        yield settings
    elif not asked.articles:
        raise ConfigError("these questions have no pages of their own: ask the configured sources with --live")
    else:
        with local_web(known_by(asked.articles, seed)) as local:
            yield local


def searches(
    settings: SearchSettings, embedder: TextEmbedder, cutting: Cutting
) -> Callable[[Sequence[Service]], Searcher]:
    """Opens the product's merged search among some of the sources, each time one that remembers nothing."""

    def opened(sources: Sequence[Service]) -> TimedSearch:
        return TimedSearch(settings.model_copy(update={"sources": tuple(sources)}), embedder, cutting)

    return opened


def main(
    data: DataOption = None,
    set_name: SetOption = SetName.WIKIQA,
    questions: QuestionsOption = 20,
    seed: SeedOption = 1,
    chunk: ChunkOption = CHUNK,
    live: LiveOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer questions offline, from each web source, from one after another, and from all at once.

    Sets: wikiqa (WikiQA-test.tsv as published), recent (made facts of 2026, in the repository), own (search.jsonl, one
    line a question: {"question": "...", "answer": "..."}, or a list of answers; with --live).
    """
    settings, cutting = quiet_settings(config, optional=not live), cutting_of(chunk)
    whole = load_set(set_name, data)
    asked = whole.sampled(questions, seed)
    with the_web(asked, settings.search, seed, is_live=live) as search:
        opened = searches(search, open_embedder(settings), cutting)
        rows, model = _rows(asked, search.sources, settings, opened)
    report = Report(
        set=set_name,
        questions=len(asked.questions),
        of_questions=len(whole.questions),
        pages=len(asked.articles),
        seed=seed,
        chunk=chunk,
        is_live=live,
        model=model,
        rows=rows,
    )
    print_data(report, as_json, table(report))


def _rows(
    asked: QuestionSet,
    sources: Sequence[Service],
    settings: Settings,
    opened: Callable[[Sequence[Service]], Searcher],
) -> tuple[tuple[Row, ...], str]:
    """The rows by the configured model, and its name."""
    grading = settings.grading
    with open_judge_and_writer(settings) as (judge, writer):
        parts = Parts(opened, writer, judge, time.monotonic, grading.passages, grading.draft_tokens, grading.seed)
        return evaluate(asked.questions, sources, parts), writer.name


if __name__ == "__main__":
    run(main, "enhancer")
