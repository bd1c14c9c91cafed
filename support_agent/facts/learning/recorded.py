"""Recorded cases for training: the results of each path of actions of the real room on a real question.

A case is a tree: for each path of retrievals and drafts it has the memory, the cost of the last action, and whether an
answer would be right. Any policy can be played on it without a model.

Invariant: playing gives the recorded results; an action that failed during recording escalates. Checked by
tests/unit/facts/learning/test_recorded.py.
Source: LLM-Augmenter (Peng et al. 2023), policy learning; here on recorded cases in place of a user simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field, ValidationError, model_validator

from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError, PermanentError
from support_agent.facts.inquiry.loop import Pick
from support_agent.facts.inquiry.memory import Memory
from support_agent.facts.inquiry.policy import ACTIONS, Action, InquiryLimits, Policy, choice, possible
from support_agent.models.judge import Grade, Judge
from support_agent.models.language_model import Usage
from support_agent.models.writer import Material
from support_agent.tools.fact_trace import Probability

Path_ = tuple[Action, ...]
PolicyOf = Callable[[Judge], Policy]


class QuestionOutcome(StrEnum):
    """The outcome of a question."""

    HELPED = "helped"
    MISLED = "misled"
    ESCALATED = "escalated"
    """Escalated, and no document answers it."""
    MADE_TO_WAIT = "made_to_wait"
    """Escalated, though a document answers it."""


REWARDS: Mapping[QuestionOutcome, float] = {
    QuestionOutcome.HELPED: 1.0,
    QuestionOutcome.MISLED: -2.0,
    QuestionOutcome.ESCALATED: 0.3,
    QuestionOutcome.MADE_TO_WAIT: -0.3,
}
"""A wrong answer is worse than none."""
SECOND = -0.005
"""Reward per second of an action."""
NORMAL_95 = 1.96
FEWEST = 2
"""Least number of cases for a margin."""
RECORD = "record it again with `support-agent facts record`"


class RecordedState(Frozen):
    """The state after a path of actions; `helps`: an answer would be right. The cost is that of the last action."""

    path: Path_
    memory: Memory
    helps: bool
    seconds: float = Field(default=0.0, ge=0, le=10**6, allow_inf_nan=False)
    tokens: int = Field(default=0, ge=0)


class RecordedCase(Frozen):
    """One question with all its states; a `Judge` that repeats the recorded grades.

    `is_answerable`: some document answers it. `opinions`: the model's yes, by the last text of its prompt.
    """

    key: str = Field(min_length=1)
    is_answerable: bool
    limits: InquiryLimits
    states: tuple[RecordedState, ...] = Field(min_length=1)
    opinions: Mapping[str, Probability] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_whole(self) -> RecordedCase:
        paths = [state.path for state in self.states]
        if paths[0] != () or len(set(paths)) < len(paths) or any(path[:-1] not in paths for path in paths):
            raise ValueError("its paths do not begin at the question, each with all before it, each once")
        return self

    @property
    def question(self) -> str:
        """The question."""
        return self.states[0].memory.question

    @cached_property
    def by_path(self) -> Mapping[Path_, RecordedState]:
        """The states, by the actions that led to them."""
        return {state.path: state for state in self.states}

    def outcome(self, state: RecordedState, action: Action) -> QuestionOutcome:
        """The outcome of ending the question in this state."""
        if action is Action.ANSWER:
            return QuestionOutcome.HELPED if state.helps else QuestionOutcome.MISLED
        return QuestionOutcome.MADE_TO_WAIT if self.is_answerable else QuestionOutcome.ESCALATED

    def yes(self, question: str, material: Material) -> Grade:
        """See `Judge.yes`.

        Raises:
            PermanentError: the model was not asked this.
        """
        if material[-1][1] not in self.opinions:
            raise PermanentError(
                f"case {self.key} does not have the model's word on this: {RECORD}", code="not_recorded"
            )
        return Grade(probability=self.opinions[material[-1][1]], usage=Usage())


class Step(NamedTuple):
    """One action: the memory before it, and its reward, including that of the question's outcome."""

    memory: Memory
    action: Action
    reward: float


class Episode(NamedTuple):
    """One question from start to end; the rewards of its steps add up to `total`."""

    steps: tuple[Step, ...]
    outcome: QuestionOutcome
    seconds: float

    @property
    def total(self) -> float:
        return sum(step.reward for step in self.steps)


def returns(episode: Episode) -> tuple[float, ...]:
    """The return of each step: its reward and all later ones, undiscounted; the first is the episode's total."""
    rewards = np.array([step.reward for step in episode.steps])
    return tuple(float(value) for value in rewards[::-1].cumsum()[::-1])


class Measured(Frozen):
    """The results of a policy: mean reward with its 95% margin, shares of outcomes, and mean costs."""

    policy: str
    questions: int
    reward: float
    margin: float
    outcomes: dict[QuestionOutcome, float]
    retrievals: float
    drafts: float
    seconds: float


def play(case: RecordedCase, policy: Policy, pick: Pick = choice) -> Episode:
    """Play one question to its end; it ends because each action makes the path longer."""
    steps: list[Step] = []
    path: Path_ = ()
    seconds = 0.0
    while True:
        state = case.by_path[path]
        action = pick(policy, state.memory)
        after = case.by_path.get((*path, action))
        if after is None:  # it ends here: the policy ended it, or the action failed or is impossible
            is_answer = action is Action.ANSWER and possible(state.memory, case.limits)[ACTIONS.index(action)]
            outcome = case.outcome(state, Action.ANSWER if is_answer else Action.ESCALATE)
            steps.append(Step(state.memory, action, REWARDS[outcome]))
            return Episode(tuple(steps), outcome, seconds)
        steps.append(Step(state.memory, action, SECOND * after.seconds))
        path, seconds = after.path, seconds + after.seconds


def measure(name: str, policy_for: PolicyOf, cases: Sequence[RecordedCase], pick: Pick = choice) -> Measured:
    """Measure a policy on recorded cases, 2 or more.

    Args:
        name: Its name in the table.
        policy_for: Creates the policy; its judge has the model's recorded opinions.
        cases: The questions.
        pick: As in `inquire`.
    """
    episodes = [play(case, policy_for(case), pick) for case in cases]
    totals = np.array([episode.total for episode in episodes])
    actions = [step.action for episode in episodes for step in episode.steps]
    return Measured(
        policy=name,
        questions=len(episodes),
        reward=float(totals.mean()),
        margin=float(NORMAL_95 * totals.std(ddof=1) / np.sqrt(len(totals))),
        outcomes={each: sum(one.outcome is each for one in episodes) / len(episodes) for each in QuestionOutcome},
        retrievals=actions.count(Action.ACQUIRE) / len(episodes),
        drafts=actions.count(Action.DRAFT) / len(episodes),
        seconds=sum(one.seconds for one in episodes) / len(episodes),
    )


def apart(
    learned: Sequence[RecordedCase], reported: Sequence[RecordedCase]
) -> tuple[Sequence[RecordedCase], Sequence[RecordedCase]]:
    """Both lists, if they may be compared.

    Raises:
        ConfigError: one has too few cases, a case is in both, or the limits differ.
    """
    if not learned or len(reported) < FEWEST:
        raise ConfigError(f"{len(learned)} cases to learn from and {len(reported)} to report: record more of them")
    if {case.question for case in learned} & {case.question for case in reported}:
        raise ConfigError("a question is learned from and reported: record the reported ones from other mails")
    if learned[0].limits != reported[0].limits:
        raise ConfigError(f"the reported cases have other limits than those to learn from: {RECORD}")
    return learned, reported


def read_cases(path: Path) -> tuple[RecordedCase, ...]:
    """The cases of a file, one per line; an incomplete last line is ignored.

    Raises:
        ConfigError: the file is missing, a line is no case, or cases have different limits.
    """
    try:
        *lines, _ = path.read_bytes().split(b"\n")  # the incomplete one may end within a character
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {RECORD}") from error
    cases = tuple(_case(path, number, line) for number, line in enumerate(lines, start=1))
    if len({case.limits for case in cases}) > 1:
        raise ConfigError(f"{path}: its cases were recorded with different limits: {RECORD}")
    return cases


def _case(path: Path, number: int, line: bytes) -> RecordedCase:
    try:
        return RecordedCase.model_validate_json(line)
    except ValidationError as error:
        raise ConfigError(f"{path}: line {number} is no recorded case of this version: {RECORD}") from error
