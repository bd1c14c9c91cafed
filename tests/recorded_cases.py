"""Made-up recorded cases: one passage that stands out answers, several that are as near do not."""

from __future__ import annotations

from support_agent.facts.inquiry.memory import Memory, begin, with_evidence
from support_agent.facts.inquiry.policy import Action, InquiryLimits
from support_agent.facts.learning.recorded import RecordedCase, RecordedState
from support_agent.tools.fact_trace import Evidence

LOOK = Action.ACQUIRE
LIMITS = InquiryLimits(retrievals=2, drafts=0)
OPINIONS = {f"{n} passages": 0.9 for n in range(9)}


def found(memory: Memory, sources: int) -> Memory:
    return with_evidence(memory, [Evidence(source=f"document:{n}", first=0, last=0, grade=0.5) for n in range(sources)])


def made_case(number: int, *, is_answerable: bool, limits: InquiryLimits = LIMITS) -> RecordedCase:
    """A look of two seconds, and another one that finds nothing new."""
    start = begin(f"case {number}", f"Question {number}?")
    once = found(start, 1 if is_answerable else 4)
    states = (
        RecordedState(path=(), memory=start, helps=False),
        RecordedState(path=(LOOK,), memory=once, helps=is_answerable, seconds=2.0, tokens=100),
        RecordedState(path=(LOOK, LOOK), memory=found(once, 1), helps=is_answerable, seconds=2.0, tokens=100),
    )
    return RecordedCase(
        key=f"{number:03}", is_answerable=is_answerable, limits=limits, states=states, opinions=OPINIONS
    )


def made_cases(n: int, first: int = 0) -> tuple[RecordedCase, ...]:
    """Every other one is answerable."""
    return tuple(made_case(number, is_answerable=number % 2 == 0) for number in range(first, first + n))
