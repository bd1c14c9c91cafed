"""What a customer means by a reply in a case that asks nothing new, as a closed set; `intention_vote` tells it.

Checked by tests/unit/cases/test_intention_vote.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from support_agent.core.frozen import Frozen


class Intent(StrEnum):
    """What a reply means; a closed set. `none`: anything else, or not sure enough."""

    THANKS = "thanks"
    SOLVED = "solved"
    WITHDRAWN = "withdrawn"
    NOT_HELPED = "not_helped"
    ANY_NEWS = "any_news"
    NONE = "none"

    @property
    def closes(self) -> bool:
        """Whether the customer needs nothing more."""
        return self in CLOSING


CLOSING = (Intent.THANKS, Intent.SOLVED, Intent.WITHDRAWN)


class Intention(Frozen):
    """The intent of a mail, how probable it is, and the version of the vote."""

    intent: Intent
    probability: Annotated[float, Field(ge=0, le=1)]
    version: str

    @property
    def why(self) -> str:
        """One sentence for a person."""
        return f"{SAYS[self.intent]}: {self.probability:.2f}"


SAYS: Mapping[Intent, str] = {
    Intent.THANKS: "the customer says thanks and asks nothing",
    Intent.SOLVED: "the customer says that it is solved",
    Intent.WITHDRAWN: "the customer no longer wants an answer",
    Intent.NOT_HELPED: "the customer says that the answer did not help",
    Intent.ANY_NEWS: "the customer asks for news",
    Intent.NONE: "the customer asks or tells something new",
}
