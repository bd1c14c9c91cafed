"""Opens the search and the chooser that `eval intents` and `calibrate` measure with.

Invariant: the search is in memory, so no measurement changes the index of the worker. Checked by
tests/unit/cli/test_eval.py and tests/unit/cli/test_calibrate.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from support_agent.config.settings import Settings
from support_agent.errors import ConfigError, PermanentError
from support_agent.facts.opening import open_topic_search
from support_agent.facts.search import CompanySearch
from support_agent.facts.topics import Topic
from support_agent.models.language_model import Prompt, Scores
from support_agent.models.opening import close, open_model
from support_agent.models.progress import stderr_progress
from support_agent.ops.evals.intents import (
    KIND,
    OUT_OF_SCOPE,
    DecidedQuestion,
    IntentReport,
    Line,
    Way,
    count_repeated,
    evaluate,
    read_lines,
    topics_of_lines,
)
from support_agent.planner.choice import Chooser, Option
from support_agent.planner.combiner import committed

_NUMBERS = count(1)
"""Each search gets a collection of its own: collections in memory share one store."""


class NoModel:
    """Takes the place of the language model where it has no vote."""

    name = "none"

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        raise PermanentError("the language model has no vote here")


def open_search(settings: Settings) -> CompanySearch:
    """An empty search in memory.

    Raises:
        ConfigError: an embedding model cannot be used.
    """
    return open_topic_search(settings, in_memory=True, name=f"measured-{next(_NUMBERS)}")


@contextmanager
def open_chooser(settings: Settings) -> Iterator[Chooser]:
    """A chooser of topics without a calibration. It loads the language model only if `planner.model_votes` needs it."""
    votes = settings.planner.model_votes
    model = NoModel() if votes == "never" else open_model(settings, stderr_progress())
    try:
        yield Chooser(model, committed(tuple(settings.embedding.models)), model_votes=votes)
    finally:
        close(model)


def measure_intents(
    settings: Settings, train: Path, test: Path, oos: Path | None, clock: Callable[[], float]
) -> tuple[IntentReport, list[DecidedQuestion]]:
    """Decide the questions of `test`, and of `oos`, which a person must answer; `train` has the examples of each topic.

    Raises:
        ConfigError: a file cannot be used, no line of `train` has a topic, a label of `test` is none of them, or a
            model cannot be used.
    """
    examples, lines = read_lines(train), read_lines(test)
    topics = topics_of_lines(examples)
    _check_labels(train, topics, test, lines)
    outside = read_lines(oos) if oos else []
    lines += [line.model_copy(update={"label": OUT_OF_SCOPE}) for line in outside]
    search = open_search(settings)
    search.update(topics)
    options = {topic.key: Option(key=topic.key, title=topic.title) for topic in topics}
    with open_chooser(settings) as chooser:
        way = Way(chooser, options, settings.planner.threshold_answer, settings.planner.shortlist)
        report, decided = evaluate(search, way, lines, clock)
    return report.model_copy(update={"in_train": count_repeated(examples, lines)}), decided


def _check_labels(train: Path, topics: Sequence[Topic], test: Path, lines: Sequence[Line]) -> None:
    """Refuse labels that nothing can be right for: a misspelt one would count against the choice."""
    if not topics:
        raise ConfigError(f"{train}: every line has the label {OUT_OF_SCOPE!r}: add examples of what can be answered")
    known = {OUT_OF_SCOPE, *(topic.key.removeprefix(KIND) for topic in topics)}
    if unknown := sorted({line.label for line in lines} - known):
        todo = f"correct it, add examples of it, or write {OUT_OF_SCOPE!r} where a person must answer"
        raise ConfigError(f"{test}: no line of {train} has the label {unknown[0]!r}: {todo}")
