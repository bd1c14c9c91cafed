"""Recorded cases: what each path of actions came to where the real room answered a real question, to learn from.

A case is a tree: after each path of retrievals and drafts the memory, what the last action took, and whether an answer
would help from there. Any policy is played on it without a model, for the same actions gave the same when it was
recorded.

Invariant: what is played is what was recorded: an action that failed then ends with a person. Checked by
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
from support_agent.facts.inquiry.policy import ACTIONS, Action, Limits, Policy, choice, possible
from support_agent.models.judge import Grade, Judge
from support_agent.models.language_model import Usage
from support_agent.models.writer import Material
from support_agent.tools.fact_trace import Probability

Path_ = tuple[Action, ...]
PolicyOf = Callable[[Judge], Policy]


class Outcome(StrEnum):
    """What came of a question."""

    HELPED = "helped"
    MISLED = "misled"
    ESCALATED = "escalated"
    """To a person, and no document answers it."""
    MADE_TO_WAIT = "made_to_wait"
    """To a person, though a document answers it."""


REWARDS: Mapping[Outcome, float] = {
    Outcome.HELPED: 1.0,
    Outcome.MISLED: -2.0,
    Outcome.ESCALATED: 0.3,
    Outcome.MADE_TO_WAIT: -0.3,
}
"""A wrong answer is worse than none."""
SECOND = -0.005
"""The reward of a second that an action took: a retrieval of three seconds costs what the draft of ten costs thrice."""
NORMAL_95 = 1.96
FEWEST = 2
"""Cases that a margin can be told of."""
RECORD = "record it again with `support-agent facts record`"


class State(Frozen):
    """Where a path of actions led; `helps`: an answer from there would be right. Cost is that of its last action."""

    path: Path_
    memory: Memory
    helps: bool
    seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    tokens: int = Field(default=0, ge=0)


class RecordedCase(Frozen):
    """One question with all its states; a `Judge` that says again what the model said.

    `is_answerable`: some document answers it. `opinions`: the model's yes by the last text that it was shown.
    """

    key: str = Field(min_length=1)
    is_answerable: bool
    limits: Limits
    states: tuple[State, ...] = Field(min_length=1)
    opinions: Mapping[str, Probability] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_whole(self) -> RecordedCase:
        paths = [state.path for state in self.states]
        if paths[0] != () or len(set(paths)) < len(paths) or any(path[:-1] not in paths for path in paths):
            raise ValueError("its paths do not begin at the question, each with all before it, each once")
        return self

    @property
    def question(self) -> str:
        """What was asked."""
        return self.states[0].memory.question

    @cached_property
    def by_path(self) -> Mapping[Path_, State]:
        """The states, by the actions that led to them."""
        return {state.path: state for state in self.states}

    def outcome(self, state: State, action: Action) -> Outcome:
        """What ending the question there comes to."""
        if action is Action.ANSWER:
            return Outcome.HELPED if state.helps else Outcome.MISLED
        return Outcome.MADE_TO_WAIT if self.is_answerable else Outcome.ESCALATED

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
    """One action: the memory it was chosen on, and its reward, that of the question's outcome included."""

    memory: Memory
    action: Action
    reward: float


class Episode(NamedTuple):
    """One question from its beginning to its end; the rewards of its steps add up to `total`."""

    steps: tuple[Step, ...]
    outcome: Outcome
    seconds: float

    @property
    def total(self) -> float:
        return sum(step.reward for step in self.steps)


def returns(episode: Episode) -> tuple[float, ...]:
    """What came of each step: its reward and all after it, undiscounted; the first is the episode's total."""
    rewards = np.array([step.reward for step in episode.steps])
    return tuple(float(value) for value in rewards[::-1].cumsum()[::-1])


class Measured(Frozen):
    """How a policy did on some questions: mean reward and its 95% margin, shares of outcomes, and means of the cost."""

    policy: str
    questions: int
    reward: float
    margin: float
    outcomes: dict[Outcome, float]
    retrievals: float
    drafts: float
    seconds: float


def play(case: RecordedCase, policy: Policy, pick: Pick = choice) -> Episode:
    """One question to its end. Each action makes the path longer, so it ends."""
    steps: list[Step] = []
    path: Path_ = ()
    seconds = 0.0
    while True:
        state = case.by_path[path]
        action = pick(policy, state.memory)
        after = case.by_path.get((*path, action))
        if after is None:  # it ends here: by the policy, or by what failed or is not possible
            is_answer = action is Action.ANSWER and possible(state.memory, case.limits)[ACTIONS.index(action)]
            outcome = case.outcome(state, Action.ANSWER if is_answer else Action.ESCALATE)
            steps.append(Step(state.memory, action, REWARDS[outcome]))
            return Episode(tuple(steps), outcome, seconds)
        steps.append(Step(state.memory, action, SECOND * after.seconds))
        path, seconds = after.path, seconds + after.seconds


def measure(name: str, policy_for: PolicyOf, cases: Sequence[RecordedCase], pick: Pick = choice) -> Measured:
    """How a policy does on recorded cases, 2 or more.

    Args:
        name: For the table.
        policy_for: Makes the policy that decides, with the model's recorded opinions to ask.
        cases: What is asked.
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
        outcomes={each: sum(one.outcome is each for one in episodes) / len(episodes) for each in Outcome},
        retrievals=actions.count(Action.ACQUIRE) / len(episodes),
        drafts=actions.count(Action.DRAFT) / len(episodes),
        seconds=sum(one.seconds for one in episodes) / len(episodes),
    )


def apart(
    learned: Sequence[RecordedCase], reported: Sequence[RecordedCase]
) -> tuple[Sequence[RecordedCase], Sequence[RecordedCase]]:
    """Both, where they may be compared.

    Raises:
        ConfigError: one has too few, a case is in both, or the limits differ.
    """
    if not learned or len(reported) < FEWEST:
        raise ConfigError(f"{len(learned)} cases to learn from and {len(reported)} to report: record more of them")
    if {case.question for case in learned} & {case.question for case in reported}:
        raise ConfigError("a question is learned from and reported: record the reported ones from other mails")
    if learned[0].limits != reported[0].limits:
        raise ConfigError(f"the reported cases have other limits than those to learn from: {RECORD}")
    return learned, reported


def read_cases(path: Path) -> tuple[RecordedCase, ...]:
    """The cases of a file, one a line; what follows the last line end was cut off and is left out.

    Raises:
        ConfigError: the file is not there, a line is no case, or cases are of different limits.
    """
    try:
        *lines, _ = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {RECORD}") from error
    cases = tuple(_case(path, number, line) for number, line in enumerate(lines, start=1))
    if len({case.limits for case in cases}) > 1:
        raise ConfigError(f"{path}: its cases were recorded with different limits: {RECORD}")
    return cases


def _case(path: Path, number: int, line: str) -> RecordedCase:
    try:
        return RecordedCase.model_validate_json(line)
    except ValidationError as error:
        raise ConfigError(f"{path}: line {number} is no recorded case of this version: {RECORD}") from error
