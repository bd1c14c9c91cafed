"""Plans a mail in `tools` mode: the model composes one call per step until it finishes.

Each call comes from a closed set (`candidates`). The confidence of a call is the minimum of three probabilities: the
model's own for the parts of the call, if it reports one; that of the topic, as in guided mode; and those of the calls
that returned its pointers. They are not multiplied, because the parts already include the topic's votes.

- What is sent must be the likeliest topic. For an item from two series, each must be the likeliest once the other is
  excluded, and their probabilities are multiplied; the same holds for a second item after a first.
- Data calls only read, so there a series does not compete with other series.

Invariant: a call that was not offered is never made, and nothing is sent below its threshold. Checked by
tests/unit/planner/test_composing.py, and with random calls by tests/integration/test_hostile_composer.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from support_agent.answer.final_answer import Item
from support_agent.company.periods.recognition import mentioned_periods
from support_agent.config.settings import PlannerSettings
from support_agent.errors import ToolCallRejected
from support_agent.planner.answer_content import words_of_period
from support_agent.planner.candidates import Candidate, Scope
from support_agent.planner.choice import NONE_KEY, Choice, Chooser, Option, Vote
from support_agent.planner.composers import Composed, Composer, ComposingStep
from support_agent.planner.forms import named_in
from support_agent.planner.heuristics import Heuristics
from support_agent.planner.plan_run import USUAL_PERIODS, PlanRun, Stop, clarification_probability
from support_agent.tools.base import Added, Context, Pointed, ToolKind, shown
from support_agent.tools.ending import REASON_BY_CODE, Escalate, Finish, Reason

COMPOSING_VERSION = "tools-3"
"""Changes when the confidence of composed calls or the offered calls change."""


class ComposedRun(PlanRun):
    """Tools mode: the model composes the calls."""

    def __init__(
        self,
        composer: Composer,
        chooser: Chooser,
        limits: PlannerSettings,
        clock: Callable[[], float],
        context: Context,
    ) -> None:
        super().__init__(chooser, limits, clock, context)
        self.composer = composer

    def _answer(self) -> tuple[Item, ...]:
        """The items that the composed calls send for the current question, once the model finishes."""
        options = self.guarded(self.shortlist)
        topic = self.guarded(lambda: self.topic(options))
        self.considered = topic.votes
        question = _Question(self, options, topic)
        kind, _, name = topic.key.partition(":")
        if kind == "record":  # the records that a question names are not the model's choice
            return self.record_items(name, topic)
        if self.named or (topic.key == NONE_KEY and not question.may_ask_back()):
            raise Stop(Reason.NOT_COVERED)
        return question.answer()

    def other_content(self, item: Item) -> list[str]:
        """Also every named period: each has an item, or the model could not finish."""
        named = mentioned_periods(self.context.current_question, self.context.today)
        words = [word for name in named for word in words_of_period(self.context.periods[name], self.context)]
        return [*super().other_content(item), *words]

    def compose(self, step: ComposingStep) -> Composed:
        """The model's next call, after a bounded number of tries."""

        def ask() -> Composed:
            composed = self.composer.compose(step)
            self.usage = self.usage + composed.usage
            return composed

        return self.guarded(ask)


class _Question:
    """One question and the calls that were composed for it."""

    def __init__(self, plan_run: ComposedRun, options: Sequence[Option], topic: Choice) -> None:
        self.plan_run = plan_run
        self.context = plan_run.context
        self.options = options
        self.topic = topic
        question = self.context.current_question
        named = mentioned_periods(question, self.context.today)
        usual = tuple(name for name in USUAL_PERIODS if name in self.context.periods)
        self.scope = Scope(
            context=self.context,
            topics=frozenset(option.key for option in options),
            named=named_in(question, self.context.search),
            periods=named or usual,
            names_periods=bool(named),
        )
        self.heuristics = Heuristics(self.scope, options, topic.votes)
        self.so_far: list[str] = []
        self.sure: dict[str, float] = {}
        """By pointer: the confidence of the call that returned it."""
        self.topics: dict[str, frozenset[str]] = {}
        """By pointer: the series its data came from."""
        self.sent: frozenset[str] = frozenset()
        """Topics of the items sent so far."""

    def may_ask_back(self) -> bool:
        """Whether a canned question distinguishes documents that are together likely enough."""
        least = self.plan_run.limits.threshold_answer
        return any(
            clarification_probability(number, self.context, self.topic.votes) >= least
            for number in self.context.clarifications
        )

    def answer(self) -> tuple[Item, ...]:
        """Make the composed calls until the model finishes; return their items.

        Raises:
            Stop: the model escalates, a call is too unsure or rejected too often, or the steps run out.
        """
        refused = 0
        for _ in range(self.plan_run.limits.max_steps):
            step = ComposingStep(self.context.current_question, tuple(self.so_far), self.scope.calls(), self.heuristics)
            composed = self.plan_run.compose(step)
            if composed.call.tool == Finish.name:
                return tuple(self.scope.items)
            if composed.call.tool == Escalate.name:
                raise Stop(Reason(str(dict(composed.call.arguments)["reason"])))
            try:
                self._carry_out(composed)
            except ToolCallRejected as error:
                refused += 1
                if error.code in REASON_BY_CODE:
                    raise Stop(REASON_BY_CODE[error.code]) from error
                if refused > self.plan_run.limits.max_repairs:
                    raise Stop(Reason.TOOL_FAILED) from error
                self.scope.made.add(composed.call)
                self.so_far.append(f"{_call_text(composed.call)} -> refused: {error.code}")
        raise Stop(Reason.LIMIT)

    def _carry_out(self, composed: Composed) -> None:
        """Check a call, make it, and record its result."""
        call = composed.call
        self._check(call)
        topics = frozenset(call.topics).union(*(self.topics[pointer] for pointer in call.pointers))
        of_topic = self._topic_probability(call, topics)
        votes = (*(self.topic.votes if call.topics else ()), *composed.votes)
        if of_topic is None:
            self.plan_run.record(
                call.tool, dict(call.arguments), 0.0, votes, "below_threshold", "another topic is likelier"
            )
            raise Stop(Reason.UNSURE)
        said = 1.0 if composed.probability is None else composed.probability
        parts = (of_topic, said, *(self.sure[pointer] for pointer in call.pointers))
        sure = math.nan if any(map(math.isnan, parts)) else min(parts)
        for of, value in call.members:
            if of.set_name == "documents":
                self.plan_run.retrieve_evidence(int(value), sure)
        result = self.plan_run.call(call.tool, dict(call.arguments), sure, votes)
        match result:
            case Added(item=item):
                self.scope.items.append(item)
                self.sent |= topics
                self.scope.note(call)
            case Pointed(pointer=pointer, description=description):
                self.sure[pointer], self.topics[pointer] = sure, topics
                self.heuristics.descriptions[pointer] = description
                self.scope.note(call, pointer)
            case _:
                raise Stop(Reason.TOOL_FAILED)
        self.so_far.append(f"{_call_text(call)} -> {shown(result)}")

    def _check(self, call: Candidate) -> None:
        """Apply the checks that guided mode applies to such a question."""
        sets = {of.set_name for of, _ in call.members}
        if "fields" in sets:
            self.plan_run.check_field_question()
        if "series" in sets or call.pointers:
            self.plan_run.check_series_question()

    def _topic_probability(self, call: Candidate, topics: frozenset[str]) -> float | None:
        """The probability of the call's topics, 0..1; None if another topic is likelier or the call has none."""
        asked_back = [int(value) for of, value in call.members if of.set_name == "clarifications"]
        if asked_back:
            return clarification_probability(asked_back[0], self.context, self.topic.votes) or None
        sure = 1.0 if topics else None
        for topic in sorted(topics):
            if call.kind is ToolKind.DATA:
                one = _among_other_kinds(topic, self.topic.votes)
            else:
                choice = self._topic_without((topics | self.sent) - {topic})
                one = choice.probability if choice.key == topic else None
            if one is None or sure is None:
                return None
            sure *= one
        return sure

    def _topic_without(self, others: Collection[str]) -> Choice:
        """The choice of the topic with some topics excluded."""
        if not others:
            return self.topic
        options = [option for option in self.options if option.key not in others]
        return self.plan_run.guarded(lambda: self.plan_run.topic(options, others))


def _among_other_kinds(topic: str, votes: Sequence[Vote]) -> float | None:
    """The probability of a topic among topics of other kinds; None if one of them is likelier."""
    kind = topic.partition(":")[0]
    rest = [vote for vote in votes if vote.key == topic or vote.key.partition(":")[0] != kind]
    best = max(rest, key=lambda vote: vote.probability)
    whole = sum(vote.probability for vote in rest)
    return best.probability / whole if best.key == topic and whole > 0 else None


def _call_text(call: Candidate) -> str:
    return f"{call.tool}({', '.join(f'{name}={value}' for name, value in call.arguments)})"
