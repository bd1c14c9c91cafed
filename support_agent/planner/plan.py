"""The plan of one mail: the calls that were considered and made, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from support_agent.answer.final_answer import Answer
from support_agent.core.frozen import Frozen
from support_agent.models.language_model import Usage
from support_agent.planner.choice import Vote

Status = Literal["done", "below_threshold", "rejected", "failed"]


INTERNAL = frozenset({"find_documents", "find_evidence", "finish"})
"""Calls that are of no use to a person."""


class Call(Frozen):
    """One call, made or not.

    `confidence` is the joint probability of the choices that led to it; a call below `threshold` is not made.
    `considered` are the votes of these choices, the likeliest option first. `result` is what the model sees of the
    outcome: a pointer and a description, never data. `usage` is the plan's total so far; `seconds` is the time since
    the previous call, for the choices and the tool.
    """

    question: int
    tool: str
    args: dict[str, str | int | bool]
    confidence: float
    threshold: float
    considered: tuple[Vote, ...]
    status: Status
    result: str
    usage: Usage
    seconds: float


class Plan(Frozen):
    """The outcome for a mail.

    `answers` holds the blocks of the answer. `asked` counts the questions, `answered` those with an answer (None in
    plans stored by older versions). With at least one answer the outcome is `answer`; `reason` then says why the other
    questions, if any, went to a person. `close`: the mail closes its case and needs neither.
    """

    outcome: Literal["answer", "escalate", "close"]
    reason: str | None
    asked: int
    questions: tuple[str, ...]
    answers: tuple[Answer, ...]
    calls: tuple[Call, ...]
    usage: Usage
    seconds: float
    model: str
    combiner: str
    answered: int | None = None

    @property
    def is_partial(self) -> bool:
        """Whether something was answered and something else went to a person."""
        return self.outcome == "answer" and self.reason is not None


def unplanned(reason: str, outcome: Literal["escalate", "close"] = "escalate") -> Plan:
    """The plan of a mail that was decided without planning."""
    return Plan(
        outcome=outcome,
        reason=str(reason),
        asked=0,
        questions=(),
        answers=(),
        calls=(),
        usage=Usage(),
        seconds=0.0,
        model="",
        combiner="",
    )


def call_text(tool: str, arguments: Mapping[str, object]) -> str:
    """A call as a person reads it: `send_document(6)`."""
    return f"{tool}({', '.join(str(value) for value in arguments.values())})"
