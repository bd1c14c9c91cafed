"""Working stand-ins for the program's own ports: answers are queued, what was asked can be read afterwards.

Each passes the contract suite of the port it stands in for (tests/contract).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel

from support_agent.models.language_model import ComposedCall, Model, Prompt, Scores, Usage, check_options
from support_agent.planner.combiner import Combiner, CombinerWeights, ModelWeights

PREFERRED = 0.98
"""Probability of an option that is named alone."""
LEAST = 1e-9
"""Probability, before normalising, of an option that an answer leaves nothing for."""


@dataclass(frozen=True)
class Asked:
    """One question to a `ScriptedModel`."""

    prompt: Prompt
    options: tuple[str, ...]

    @property
    def text(self) -> str:
        """All that the model read."""
        parts = "".join(text for text, _ in self.prompt.parts)
        return f"{self.prompt.system}\n{self.prompt.task}{parts}{self.prompt.lead}"


PLAIN = Combiner(
    version="plain",
    silent=CombinerWeights(topic={"minilm.raw": 1.0, "minilm.lead": 0.5}, none={"bias": 5.6}),
    asked=ModelWeights(before=1.0, picked=0.5, judged=1.2, is_judged=0.5),
)
"""Weighs a match by its score alone, where a test is about something else than the weights."""


class ScriptedModel:
    """`support_agent.models.language_model.Model` that gives queued answers; asked once too often, it fails.

    Args:
        answers: One a question: the option to prefer; or the probability of each option that has one, the
            rest shared by the others; or an error to raise.
        tells_probabilities: False for a server that tells only which option it picked.
    """

    name = "scripted"

    def __init__(
        self, answers: Sequence[str | Mapping[str, float] | Exception], *, tells_probabilities: bool = True
    ) -> None:
        self.answers = list(answers)
        self.tells_probabilities = tells_probabilities
        self.history: list[Asked] = []

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        """The next answer, as scores of these options.

        Raises:
            PermanentError: not 2..60 different options.
            AssertionError: no answer is left, or the next one does not fit the options.
        """
        check_options(options)
        self.history.append(Asked(prompt, tuple(options)))
        assert self.answers, f"question {len(self.history)} was not expected; its options: {list(options)}"
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        given = {answer: PREFERRED} if isinstance(answer, str) else dict(answer)
        assert set(given) <= set(options), f"{sorted(set(given) - set(options))} not among {list(options)}"
        probabilities = _completed(given, options)
        usage = Usage(prompt_tokens=len(self.history[-1].text.split()), forward_passes=1)
        picked = probabilities.index(max(probabilities))
        if not self.tells_probabilities:
            return Scores(log_probabilities=None, picked=picked, usage=usage)
        return Scores(log_probabilities=tuple(map(math.log, probabilities)), usage=usage)


def _completed(given: Mapping[str, float], options: Sequence[str]) -> list[float]:
    """A probability for each option: what is given, and equal shares of what is left; they add up to one."""
    left = 1.0 - sum(given.values())
    assert left >= -1e-9, f"the probabilities {dict(given)} add up to more than one"
    share = left / max(1, len(options) - len(given))
    shares = [max(given.get(option, share), LEAST) for option in options]
    return [value / sum(shares) for value in shares]


class ScriptedCallModel:
    """`support_agent.models.language_model.CallModel` that composes queued calls, and leaves choices to another model.

    Args:
        chooser: Answers `score`.
        calls: (tool, arguments) one a step, or an error to raise; asked once too often, it fails.
    """

    name = "scripted calls"

    def __init__(self, chooser: Model, calls: Sequence[tuple[str, Mapping[str, Any]] | Exception]) -> None:
        self.chooser = chooser
        self.queue = list(calls)
        self.prompts: list[str] = []
        self.offers: list[dict[str, type[BaseModel]]] = []

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        """What the other model says."""
        return self.chooser.score(prompt, options)

    def compose(self, prompt: Prompt, calls: Sequence[type[BaseModel]]) -> ComposedCall:
        """The next call, whether it is offered or not."""
        self.prompts.append("".join(text for text, _ in prompt.parts))
        self.offers.append({get_args(call.model_fields["tool"].annotation)[0]: call for call in calls})
        assert self.queue, f"step {len(self.offers)} was not expected"
        call = self.queue.pop(0)
        if isinstance(call, Exception):
            raise call
        tool, arguments = call
        return ComposedCall(tool=tool, arguments=dict(arguments), usage=Usage(prompt_tokens=10, forward_passes=1))
