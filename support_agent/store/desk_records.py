"""Records of what people at the desk decide: modes of autonomy, commands.

Invariant: as in `records`. Checked by tests/contract/store/test_modes.py and test_used_keys.py.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from support_agent.core.modes import Mode
from support_agent.store.records import CaseId, CaseState, Instant, MailId, Record

ItemKey = Annotated[str, Field(pattern=r"^(document|field|series|record|question):[\w.-]{1,100}$")]
"""What has a mode; see `core.modes`."""


class ModeSource(StrEnum):
    """Why a mode changed: a person set it, the rule raised it, or a person's correction lowered it."""

    BY_HAND = "by hand"
    EARNED = "earned"
    CORRECTED = "corrected"


class ModeChange(Record):
    """One change of an item's mode; `number` counts the changes of a key from 1.

    A change that is not undone is valid. `why` is one sentence. `mail_id` is the mail whose answer a person corrected;
    `mode` is the one that a correction led to then, and it counts as one step (`cases.earning.mode_after`).
    """

    key: ItemKey
    number: Annotated[int, Field(ge=1)]
    mode: Mode
    by: ModeSource
    who: str
    why: str
    changed_at: Instant
    undone_at: Instant | None = None
    mail_id: MailId | None = None


class LabelOutcome(StrEnum):
    """What a person did with a mail: sent the answer of the machine, another choice, own words, or nothing."""

    SAME = "same"
    OTHER_CHOICE = "other choice"
    OWN_WORDS = "own words"
    NOTHING = "nothing"


class LabelSource(StrEnum):
    """How it is known what a person did."""

    COMMAND = "command"
    REPLY = "reply"
    SENT_FOLDER = "the Sent folder"
    BY_HAND = "by hand"


class Label(Record):
    """One judgement of a person about the answer to a mail; `number` counts those of a mail from 1.

    `keys` are the items that are judged by it, those of the answer; `choice` is the other one that a person sent. The
    last label of a mail that is not undone is valid.
    """

    mail_id: MailId
    number: Annotated[int, Field(ge=1)] = 1
    outcome: LabelOutcome
    choice: ItemKey | None = None
    keys: tuple[ItemKey, ...]
    who: str
    how: LabelSource
    made_at: Instant
    undone_at: Instant | None = None

    @property
    def is_right(self) -> bool:
        """Whether the person did what the machine would have done."""
        return self.outcome is LabelOutcome.SAME


class CaseChange(Record):
    """A change of who has a case, as a person ordered it; `number` counts those of a case from 1."""

    case_id: CaseId
    number: Annotated[int, Field(ge=1)]
    before: CaseState
    after: CaseState
    assignee: str | None
    who: str
    why: str
    changed_at: Instant


class UsedKey(Record):
    """A key of the desk that was used, by which mail of whom; `slot` is what only one command may do."""

    key: str
    slot: str
    command: str
    case_id: CaseId
    mail_id: MailId
    who: str
    used_at: Instant
