"""Records the result of each path of actions on a real question with the real model, for training.

Invariant: only whole lines are written, and a recorded question is not asked again, so an interrupted recording can
continue. Checked by tests/unit/facts/learning/test_recording.py.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import structlog

from support_agent.company.documents import Document
from support_agent.core.file_lock import takes_lock
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError, PermanentError, SupportAgentError
from support_agent.facts.inquiry.loop import advance
from support_agent.facts.inquiry.memory import Memory, begin
from support_agent.facts.inquiry.nodes import Nodes
from support_agent.facts.inquiry.policy import ACTIONS, Action, possible, self_ask
from support_agent.facts.inquiry.workflow import Workflow
from support_agent.facts.learning.recorded import Path_, RecordedCase, RecordedState, read_cases
from support_agent.facts.spending import Budget
from support_agent.models.judge import Grade, Judge
from support_agent.models.writer import Material

log = structlog.get_logger(__name__)

BEGINNING = b'{"key":'
"""The start of a written case; an unfinished end of a file without it is no interrupted case."""
MOST_CYCLES = 2
"""Upper limit: with more, one question has hundreds of paths."""
TOKENS = 1_000_000
"""Most tokens for all paths of one question; each path is bounded by its actions."""


class Asking(Frozen):
    """A question and the headings that answer it, by document; no heading: the whole document. Empty: no answer."""

    key: str
    question: str
    answers: dict[int, frozenset[str]]


class _Opinions:
    """A `Judge` that records the model's grades, by the last text of the prompt."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.kept: dict[str, float] = {}

    def yes(self, question: str, material: Material) -> Grade:
        grade = self._judge.yes(question, material)
        self.kept[material[-1][1]] = grade.probability
        return grade


def record(
    path: Path,
    asked: Iterable[Asking],
    workflow: Workflow,
    documents: Mapping[int, Document],
    *,
    cases: int,
    seed: int,
) -> int:
    """Append cases to a file up to a number; questions that the model cannot take are skipped.

    Args:
        path: A file with one JSON object per line, or a new one.
        asked: Questions with unique keys.
        workflow: Answers each question.
        documents: The documents, by number.
        cases: The number of cases to reach; fewer if there are fewer questions.
        seed: Seed of their order.
    Returns:
        The number of cases in the file.
    Raises:
        ConfigError: the file has other content or cases of other limits, cannot be written, or another process records
            into it.
    """
    with _alone_with(path):
        earlier = _earlier(path)
        if earlier and earlier[0].limits != workflow.limits:
            raise ConfigError(f"{path}: its cases were recorded with other limits: name another file")
        done = {case.key for case in earlier}
        ordered = sorted(asked, key=lambda one: one.key)
        random.Random(seed).shuffle(ordered)
        for one in [one for one in ordered[:cases] if one.key not in done]:
            try:
                line = recorded(one, workflow, documents).model_dump_json()
            except PermanentError as error:  # the model can never take this question
                log.warning("case_not_recorded", key=one.key, code=error.code)
                continue
            with _written(path), path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
            done.add(one.key)
        return len(done)


def _earlier(path: Path) -> tuple[RecordedCase, ...]:
    """The cases of a file; an incomplete last line is removed from it. A file with other content is not changed.

    Raises:
        ConfigError: the file has other content, or cannot be written.
    """
    cases = read_cases(path)
    with _written(path), path.open("rb+") as file:
        whole, end, rest = file.read().rpartition(b"\n")
        if not (rest.startswith(BEGINNING) or BEGINNING.startswith(rest)):
            raise ConfigError(f"{path}: it does not hold recorded cases: name another file")
        file.truncate(len(whole + end))
    return cases


@contextmanager
def _alone_with(path: Path) -> Iterator[None]:
    """Let one process record into a file, which is made if it is new: two would record each question twice.

    Raises:
        ConfigError: another one does, or the file cannot be written.
    """
    with _written(path):
        file = path.open("ab")
    with file:
        if not takes_lock(file, without_locks=True):
            raise ConfigError(f"{path}: another process records into it: wait for it, or name another file")
        yield


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """Report errors of the file as ConfigError."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: name a file that can be written") from error


def recorded(asking: Asking, workflow: Workflow, documents: Mapping[int, Document]) -> RecordedCase:
    """All paths of one question, within the workflow's limits; a path ends before an action that fails.

    Raises:
        ConfigError: the limits allow too many paths.
    """
    limits = workflow.limits
    if workflow.settings.max_cycles > MOST_CYCLES:
        raise ConfigError(f"grading.max_cycles = {workflow.settings.max_cycles}: at most {MOST_CYCLES} are recorded")
    opinions = _Opinions(workflow.judge)
    rule = self_ask(opinions, limits)
    states: list[RecordedState] = []

    def follow(path: Path_, memory: Memory, nodes: Nodes, noted: int) -> None:
        rule.probabilities(memory)
        spent = [visit.cost for visit in nodes.visits[noted:]]
        helps = _helps(asking, nodes, memory, documents)
        seconds, tokens = sum(cost.seconds for cost in spent), sum(cost.tokens for cost in spent)
        states.append(RecordedState(path=path, memory=memory, helps=helps, seconds=seconds, tokens=tokens))
        is_possible = dict(zip(ACTIONS, possible(memory, limits), strict=True))
        for action in (Action.ACQUIRE, Action.DRAFT):
            if is_possible[action]:
                branch = nodes.branch()
                try:
                    after = advance(memory, action, branch, limits)
                except SupportAgentError:
                    continue
                follow((*path, action), after, branch, len(nodes.visits))

    memory = begin(asking.key, asking.question)
    follow((), memory, workflow.nodes(memory, Budget(TOKENS)), 0)
    return RecordedCase(
        key=asking.key, is_answerable=bool(asking.answers), limits=limits, states=tuple(states), opinions=opinions.kept
    )


def _helps(asking: Asking, nodes: Nodes, memory: Memory, documents: Mapping[int, Document]) -> bool:
    """Whether the best document of the evidence answers, with an answering section among the evidence."""
    found = nodes.evidence(memory, is_answered=True)
    number = found[0].document if found else None
    if number is None or number not in asking.answers:
        return False
    spans = [one for one in found if one.document == number]
    sentences = documents[number].sentences
    headings = {sentence.heading for one in spans for sentence in sentences[one.first : one.last + 1]}
    return not asking.answers[number] or bool(asking.answers[number] & headings)
