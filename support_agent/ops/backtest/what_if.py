"""Lists the past mails whose outcome other policies, templates or thresholds would change.

Both answers are made by today's program from the same mails, so nothing but the change makes a difference. Checked by
tests/unit/ops/backtest/test_what_if.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.ops.backtest.results import PastResult
from support_agent.store.desk_records import LabelOutcome

THRESHOLDS: Mapping[str, str] = {
    "answer": "planner.threshold_answer",
    "section": "planner.threshold_section",
    "data": "planner.threshold_data",
}


class WhatIfOutcome(Frozen):
    """What would happen to a mail: "answer" with its words, or the reason why a person gets it.

    `label` says what a person's answer shows about it.
    """

    outcome: str
    reason: str | None
    topics: tuple[str, ...]
    text: str
    label: LabelOutcome


class Changed(Frozen):
    """One mail, before and after the change."""

    place: str
    subject: str
    question: str
    before: WhatIfOutcome
    after: WhatIfOutcome


class WhatIf(Frozen):
    """All mails, and those that change; `newly_answered` and `no_longer_answered` count those among them."""

    mails: int
    changed: tuple[Changed, ...]
    newly_answered: int
    no_longer_answered: int


def compare(before: Sequence[PastResult], after: Sequence[PastResult]) -> WhatIf:
    """Compare the results of the same mails, in the same order."""
    pairs = [(one, other) for one, other in zip(before, after, strict=True) if _words(one) != _words(other)]
    return WhatIf(
        mails=len(before),
        changed=tuple(
            Changed(
                place=one.place,
                subject=one.subject,
                question=one.question,
                before=_outcome(one),
                after=_outcome(other),
            )
            for one, other in pairs
        ),
        newly_answered=sum(one.answer is None and other.answer is not None for one, other in pairs),
        no_longer_answered=sum(one.answer is not None and other.answer is None for one, other in pairs),
    )


def thresholds_in(text: str) -> dict[str, float]:
    """The settings that "answer=0.7,section=0.6" stands for.

    Raises:
        ConfigError: it is something else.
    """
    found: dict[str, float] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, _, value = part.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if name not in THRESHOLDS or not 0 <= number <= 1:
            what = f"--thresholds: {part!r} is none of {', '.join(THRESHOLDS)} with a number from 0 to 1"
            raise ConfigError(f"{what}: write for example answer=0.7,section=0.6")
        found[THRESHOLDS[name]] = number
    return found


def _words(result: PastResult) -> tuple[str, str, str]:
    """What a customer would see of it: an answer's words, or that there is none."""
    if result.answer is None:
        return result.outcome, "", ""
    return result.outcome, result.answer.text, result.answer.html


def _outcome(result: PastResult) -> WhatIfOutcome:
    sent = result.as_sent()
    return WhatIfOutcome(
        outcome=result.outcome,
        reason=result.reason,
        topics=tuple(dict.fromkeys(one.topic for one in sent.choices)),
        text="" if result.answer is None else result.answer.text,
        label=sent.label_at(0.0),
    )
