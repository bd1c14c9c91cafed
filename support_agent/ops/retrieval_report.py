"""What the fact room found out about the questions of a mail, as `show` tells it.

Invariant: sentences are the company's own, as they were when the mail was decided; what a model wrote is marked as
such. Checked by tests/journey/test_fact_room.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue, TypeAdapter, ValidationError

from support_agent.answer.packet import FoundEvidence
from support_agent.core.frozen import Frozen
from support_agent.desk.decision import Decision
from support_agent.tools.fact_room import Finding

JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


class WrittenText(Frozen):
    """A text that the model wrote while it looked, "draft" or "question": for people, marked as such."""

    kind: str
    text: str


class LookStory(Frozen):
    """What the fact room found out about a question, what it cost, and its own record of it.

    `evidence` is in the company's own sentences; what a model wrote stands in `trace`, and from there in `written`.
    """

    question: int
    is_answered: bool
    reason: str
    evidence: tuple[FoundEvidence, ...]
    index_version: str
    tokens: int
    forward_passes: int
    seconds: float
    written: tuple[WrittenText, ...]
    trace: JsonValue


def looks_of(decision: Decision) -> tuple[LookStory, ...]:
    """What was looked into for a mail, by question."""
    return tuple(_look_story(number, found, decision) for number, found in sorted(decision.findings.items()))


def _look_story(number: int, found: Finding, decision: Decision) -> LookStory:
    trace = _trace(found.trace)
    return LookStory(
        question=number,
        is_answered=found.is_answered,
        reason=found.reason,
        evidence=next((looked.evidence for looked in decision.looked if looked.number == number), ()),
        index_version=found.index_version,
        tokens=found.tokens,
        forward_passes=found.forward_passes,
        seconds=found.seconds,
        written=tuple(_written(trace)),
        trace=trace,
    )


def _trace(text: str) -> JsonValue:
    """The room's record as data; as its text, where it is no JSON."""
    try:
        return JSON.validate_json(text)
    except ValidationError:
        return text


def _written(trace: JsonValue) -> Iterator[WrittenText]:
    """The model's texts, wherever the room marked one in its record."""
    parts = trace if isinstance(trace, list) else list(trace.values()) if isinstance(trace, dict) else []
    if isinstance(trace, dict) and isinstance(marked := trace.get("model_text"), dict):
        yield WrittenText(kind=str(marked.get("kind", "text")), text=str(marked.get("text", "")))
    for part in parts:
        yield from _written(part)
