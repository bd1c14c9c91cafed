"""Asks the model for the next call: a server for a whole call, an embedded model part by part.

Both return one of the offered candidates, never text of the model: a call composed by a server is compared with the
candidates, and anything else is refused. Checked by tests/unit/planner/test_composers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from support_agent.errors import ToolCallRejected
from support_agent.models.language_model import CallModel, Model, Prompt, Usage, ask_for_call
from support_agent.planner.candidates import Argument, Candidate
from support_agent.planner.choice import LEAST_SURE, ModelVotes, Picker, Vote, is_clear, ranked, votes_on_members
from support_agent.planner.heuristics import Heuristics
from support_agent.tools.catalogue import TOOLS

SYSTEM = (
    "You answer the mail of a company's support desk by calls, one at a time; a program carries them out. You never "
    "see the customer's data: a call returns a pointer such as @1, and later calls take it. Rows are fetched, then "
    "filtered, sorted or made one number as the customer asks, then sent. Escalate where no call answers the question. "
    "Finish once everything that was asked for is sent."
)
FIRST = "What must be done first?"
NEXT = "What must be done next?"


class Composed(NamedTuple):
    """A call that the model composed, and the joint probability of its parts; None if the model reported none."""

    call: Candidate
    probability: float | None
    votes: tuple[Vote, ...]
    usage: Usage


@dataclass(frozen=True)
class ComposingStep:
    """What the model is asked: the question, the calls so far with their results, and the calls that may follow."""

    question: str
    so_far: tuple[str, ...]
    calls: tuple[Candidate, ...]
    heuristics: Heuristics


class Composer(Protocol):
    """Asks a model for the next call."""

    def compose(self, step: ComposingStep) -> Composed:
        """One of the step's calls.

        Raises:
            ToolCallRejected: the model made no usable call.
            SupportAgentError: what the model raises.
        """
        ...


def composer_for(model: Model, model_votes: ModelVotes) -> Composer:
    """The composer for a model that composes whole calls, or only scores closed options.

    Args:
        model_votes: When a model that only scores is asked.
    """
    return ServerComposer(model) if isinstance(model, CallModel) else ScoringComposer(model, model_votes)


class ServerComposer:
    """Lets a server compose a whole call; the tools' schemas list the closed sets as enumerations."""

    def __init__(self, model: CallModel) -> None:
        self._model = model

    def compose(self, step: ComposingStep) -> Composed:
        """One of the step's calls, with no probability.

        Raises:
            ToolCallRejected: another call (code `not_offered`), or none.
        """
        prompt = _prompt(step.question, step.so_far, (("\n\nMake the next call.", True),))
        said = ask_for_call(self._model, prompt, schemas(step))
        for call in step.calls:
            if said.tool == call.tool and _is_same(said.arguments, dict(call.arguments)):
                return Composed(call, None, (), said.usage)
        raise ToolCallRejected("the model composed a call that was not offered", code="not_offered")


class ScoringComposer:
    """Decodes a call part by part: the tool, then each argument, each chosen by title from the remaining candidates.

    The probability of a part combines the model's pick, minus its prior, with the heuristic vote; that of the call is
    the product of its parts. The model is asked about a part that the heuristics leave open (`doubtful`), about every
    part of more than one value (`always`), or about none (`never`).
    """

    def __init__(self, model: Model, model_votes: ModelVotes) -> None:
        self._picker = Picker(model)
        self._model_votes = model_votes

    def compose(self, step: ComposingStep) -> Composed:
        """One of the step's calls, and how likely it is among them."""
        return _Decoding(self._picker, self._model_votes, step).call()


class _Decoding:
    """The state of decoding one call."""

    def __init__(self, picker: Picker, model_votes: ModelVotes, step: ComposingStep) -> None:
        self.picker = picker
        self.model_votes = model_votes
        self.step = step
        self.left = list(step.calls)
        self.probability = 1.0
        self.votes: tuple[Vote, ...] = ()
        self.usage = Usage()

    def call(self) -> Composed:
        heuristics, calls = self.step.heuristics, self.step.calls
        tool = self._choose(
            NEXT if self.step.so_far else FIRST,
            list(dict.fromkeys(call.tool for call in calls)),
            lambda name: heuristics.tool_title(str(name)),
            lambda name: heuristics.score_tool(str(name), calls),
        )
        self.left = [call for call in calls if call.tool == tool]
        for place, argument in enumerate(TOOLS[str(tool)].model_fields):
            self._choose_argument(str(tool), place, argument)
        return Composed(self.left[0], self.probability, self.votes, self.usage)

    def _choose_argument(self, tool: str, place: int, argument: str) -> None:
        heuristics = self.step.heuristics
        values = list(dict.fromkeys(call.arguments[place][1] for call in self.left))
        chosen = self._choose(
            f"What is done next: {heuristics.tool_title(tool)}. Which {argument}?",
            values,
            lambda value: heuristics.title(tool, argument, value),
            lambda value: heuristics.score_value(tool, argument, value, values),
        )
        self.left = [call for call in self.left if call.arguments[place][1] == chosen]

    def _choose(
        self,
        ask: str,
        values: Sequence[Argument],
        title: Callable[[Argument], str],
        heuristic: Callable[[Argument], float],
    ) -> Argument:
        """Choose the likeliest of these values; note its probability and the votes."""
        if len(values) == 1:
            return values[0]
        keys, expected = [str(value) for value in values], [heuristic(value) for value in values]
        votes = votes_on_members(keys, expected)
        if self._is_asked([vote.probability for vote in votes]):
            titles = _unique_titles([title(value) for value in values], values)
            votes = votes_on_members(keys, expected, self._picks(ask, titles))
        self.votes += ranked(votes)
        best = max(range(len(values)), key=lambda place: votes[place].probability)
        self.probability *= votes[best].probability
        return values[best]

    def _is_asked(self, chances: Sequence[float]) -> bool:
        is_open = not is_clear(max(chances), LEAST_SURE)
        return self.model_votes == "always" or (self.model_votes == "doubtful" and is_open)

    def _picks(self, ask: str, titles: tuple[str, ...]) -> list[float]:
        listing = "\n".join(f"- {title}" for title in titles)
        parts = ((f"\n\n{ask}\n", True), (listing, False))
        prompt, empty = (_prompt(question, self.step.so_far, parts) for question in (self.step.question, ""))
        picks = self.picker.pick(prompt, empty, titles)
        self.usage += picks.usage
        return picks.scores


def schemas(step: ComposingStep) -> tuple[type[BaseModel], ...]:
    """The tools of a step as pydantic models: each argument an enumeration whose description explains the members."""
    tools = dict.fromkeys(call.tool for call in step.calls)
    return tuple(_schema(tool, [call for call in step.calls if call.tool == tool], step.heuristics) for tool in tools)


def _schema(tool: str, calls: Sequence[Candidate], heuristics: Heuristics) -> type[BaseModel]:
    fields: dict[str, Any] = {"tool": (_literal([tool]), ...)}
    for place, argument in enumerate(TOOLS[tool].model_fields):
        values = list(dict.fromkeys(call.arguments[place][1] for call in calls))
        titles = "; ".join(f"{value}: {heuristics.title(tool, argument, value)}" for value in values)
        fields[argument] = (_literal(values), Field(description=titles))
    config = ConfigDict(extra="forbid", frozen=True)
    made: type[BaseModel] = create_model(TOOLS[tool].__name__, __config__=config, __doc__=TOOLS[tool].__doc__, **fields)
    return made


def _literal(values: Sequence[Argument]) -> Any:
    """A type of exactly these values; pydantic alone would accept `true` for 1."""

    def exactly(given: object) -> object:
        if not any(given == value and type(given) is type(value) for value in values):
            raise ValueError("not one of the values")
        return given

    return Annotated[Literal.__getitem__(tuple(values)), BeforeValidator(exactly)]


def _prompt(question: str, so_far: Sequence[str], parts: tuple[tuple[str, bool], ...]) -> Prompt:
    """The question and the calls so far; only the program's own words are marked as trusted."""
    done = "\n".join(f"{place}. {line}" for place, line in enumerate(so_far, start=1))
    history = (("\n\nCalls so far:\n", True), (done, False)) if done else ()
    return Prompt(system=SYSTEM, task="Customer's question:\n", parts=((question, False), *history, *parts))


def _is_same(said: dict[str, Any], offered: dict[str, Argument]) -> bool:
    """Whether the arguments are equal in value and type: True is not 1."""
    return said == offered and all(type(said[name]) is type(value) for name, value in offered.items())


def _unique_titles(titles: Sequence[str], values: Sequence[Argument]) -> tuple[str, ...]:
    """The titles; duplicates get their value appended."""
    return tuple(
        f"{title} ({value})" if titles.count(title) > 1 else title for title, value in zip(titles, values, strict=True)
    )
