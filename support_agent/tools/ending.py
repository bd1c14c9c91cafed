"""Ending tools: the plan is finished, or a question is escalated."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from support_agent.tools.base import Context, Ended, Tool, ToolKind


class Reason(StrEnum):
    """Why a question or a whole mail goes to a person; the templates have the words for staff."""

    NOT_COVERED = "not_covered"
    NO_EVIDENCE = "no_evidence"
    BESIDE = "beside"
    UNKNOWN_RECORD = "unknown_record"
    UNSURE = "unsure"
    LEVEL = "level"
    NO_DATA = "no_data"
    LIMIT = "limit"
    TOOL_FAILED = "tool_failed"
    MODEL_FAILED = "model_failed"
    PERSON_ASKED_FOR = "person_asked_for"
    REPEATED = "repeated"


REASON_BY_CODE = {
    "level": Reason.LEVEL,
    "no_data": Reason.NO_DATA,
    "zero": Reason.NO_DATA,
    "units": Reason.NO_DATA,
    "not_valid": Reason.NOT_COVERED,
    "moved": Reason.NOT_COVERED,
    "no_evidence": Reason.NO_EVIDENCE,
    "section": Reason.UNSURE,
}
"""Codes of rejected calls that escalate the question at once, because another topic would not answer it."""


class Escalate(Tool):
    """Hand the question to a person."""

    name: ClassVar[str] = "escalate"
    kind: ClassVar[ToolKind] = ToolKind.ENDING

    reason: Reason

    def run(self, context: Context) -> Ended:
        return Ended(reason=self.reason.value)


class Finish(Tool):
    """Every question is answered or escalated."""

    name: ClassVar[str] = "finish"
    kind: ClassVar[ToolKind] = ToolKind.ENDING

    def run(self, context: Context) -> Ended:
        return Ended(reason=None)
