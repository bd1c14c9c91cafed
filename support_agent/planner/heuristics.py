"""Titles and heuristic votes for the tools and arguments that a model may choose in `tools` mode.

The vote (0..1) follows from the topic's choice and the customer's words: a topic's probability, a named period or form,
the next missing step. It is combined with the model's vote and never decides alone. Checked by
tests/unit/planner/test_composing.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from support_agent.answer.final_answer import TableItem
from support_agent.planner import forms
from support_agent.planner.candidates import AGGREGATIONS, OPERATIONS, TOPICS, Argument, Candidate, Scope
from support_agent.planner.choice import NONE_KEY, Option, Vote
from support_agent.planner.plan_run import PERIOD_WORDS, clarification_probability
from support_agent.tools.base import ToolKind
from support_agent.tools.catalogue import TOOLS
from support_agent.tools.closed import MemberOf, PointerTo, marker_of
from support_agent.tools.data import Aggregate
from support_agent.tools.ending import Escalate, Finish, Reason

LIST = "list"
"""The key of the form that sends rows unchanged."""
USUAL = ("all_time", "total", Reason.NOT_COVERED.value)
"""Defaults if the question names nothing: half a vote."""


@dataclass
class Heuristics:
    """Titles and votes for one question; `descriptions` says what each pointer stands for."""

    scope: Scope
    options: Sequence[Option]
    votes: Sequence[Vote]
    descriptions: dict[str, str] = field(default_factory=dict)

    def tool_title(self, tool: str) -> str:
        """The first line of the tool's description."""
        return (TOOLS[tool].__doc__ or tool).strip().splitlines()[0].removesuffix(".")

    def title(self, tool: str, argument: str, value: Argument) -> str:
        """A member as the model reads it: a document by its title, a pointer by its description."""
        marker = marker_of(TOOLS[tool].model_fields[argument])
        if isinstance(marker, PointerTo):
            return f"{value}: {self.descriptions.get(str(value), '')}"
        if marker is None:
            return next((form.title for form in forms.FORMS if form.key == value), str(value).replace("_", " "))
        if marker.set_name in TOPICS:
            key = f"{TOPICS[marker.set_name]}:{value}"
            return next((option.title for option in self.options if option.key == key), str(value))
        if marker.set_name == "clarifications":
            return self.scope.context.clarifications[int(value)].about
        return PERIOD_WORDS.get(str(value), str(value))

    def score_tool(self, tool: str, calls: Sequence[Candidate]) -> float:
        """The vote for a tool, 0..1."""
        wanted = self._wanted(calls)
        if wanted is not None:
            return float(tool == wanted)
        if tool == Escalate.name:
            return self._probability(NONE_KEY)
        ours = [call for call in calls if call.tool == tool]
        topics = {topic for call in ours for topic in call.topics}
        if topics:
            return sum(self._probability(topic) for topic in topics)
        return max((self._clarification_probability(call) for call in ours), default=0.0)

    def score_value(self, tool: str, argument: str, value: Argument, values: Sequence[Argument]) -> float:
        """The vote for a member among the remaining values of this argument, 0..1."""
        marker = marker_of(TOOLS[tool].model_fields[argument])
        if isinstance(marker, PointerTo):
            return float(value == next((one for one in self.scope.loose if one in values), None))
        if isinstance(marker, MemberOf) and marker.set_name in TOPICS:
            topic = f"{TOPICS[marker.set_name]}:{value}"
            return 1.0 if self._is_open(topic) else self._probability(topic)
        if isinstance(marker, MemberOf) and marker.set_name == "periods" and self.scope.names_periods:
            return float(value == next((one for one in self.scope.periods if one in values), None))
        first = next((one for one in values if one in self.scope.named), None)
        return float(value == first) if first is not None else 0.5 * (value in USUAL)

    def _wanted(self, calls: Sequence[Candidate]) -> str | None:
        """The tool of the first missing step: transform rows, then send, then finish."""
        for kind in (ToolKind.DATA, ToolKind.ANSWER, ToolKind.ENDING):
            for call in calls:
                if call.kind is kind and self._is_missing(call):
                    return call.tool
        return None

    def _is_missing(self, call: Candidate) -> bool:
        if call.tool == Finish.name:
            return True
        data = [self.scope.context.data[pointer] for pointer in call.pointers]
        if any(pointer not in self.scope.loose for pointer in call.pointers):
            return False
        if call.kind is ToolKind.DATA:
            is_named = bool(call.choices & self.scope.named) or self._is_side(call)
            return is_named or any(map(self._is_open, call.topics))
        return bool(data) and all(
            not isinstance(one, TableItem) or bool(one.steps) or LIST in self.scope.named for one in data
        )

    def _is_side(self, call: Candidate) -> bool:
        """Whether the call computes the total for a named calculation, if no other number is named."""
        named = self.scope.named
        is_total = call.tool == Aggregate.name and "total" in call.choices
        return is_total and bool(named & OPERATIONS) and not named & AGGREGATIONS

    def _is_open(self, topic: str) -> bool:
        """Whether rows of a topic were fetched, but not yet for every named period."""
        fetched = [dict(call.arguments).get("period") for call in self.scope.made if topic in call.topics]
        return self.scope.names_periods and 0 < len(fetched) < len(self.scope.periods)

    def _probability(self, topic: str) -> float:
        """The probability of a topic; 0 once a call was made about it."""
        if any(topic in call.topics for call in self.scope.made):
            return 0.0
        return next((vote.probability for vote in self.votes if vote.key == topic), 0.0)

    def _clarification_probability(self, call: Candidate) -> float:
        numbers = [int(value) for of, value in call.members if of.set_name == "clarifications"]
        return max(
            (clarification_probability(number, self.scope.context, self.votes) for number in numbers), default=0.0
        )
