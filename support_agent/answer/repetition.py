"""Answers that say the same as one that was sent before (S12). Checked by tests/journey/test_repeated_answers.py."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from support_agent.answer.final_answer import Answer, Item, is_covered_by
from support_agent.core.frozen import Frozen


class SentAnswer(Frozen):
    """One block of an answer that was sent to this sender before."""

    case_id: str
    sent_at: datetime
    answer: Answer

    def says(self, item: Item) -> bool:
        """Whether it contained all of this item."""
        return any(is_covered_by(item, one) for one in self.answer.items)

    @property
    def where(self) -> str:
        """For a person: when it was sent, and in which case."""
        return f"the same was answered on {self.sent_at:%Y-%m-%d %H:%M} UTC, in case {self.case_id}"


def sent_before(answer: Answer, sent: Sequence[SentAnswer]) -> SentAnswer | None:
    """The block that said an answer before; None: it says something new.

    To say it again does not help, or a machine is asking (RFC 3834, section 2).
    """
    said = [next((one for one in sent if one.says(item)), None) for item in answer.items]
    return None if None in said else said[0]
