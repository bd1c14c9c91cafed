"""The fixed mail that a customer gets when a person takes the case."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AwareDatetime, Field

from support_agent.core.frozen import Frozen


class Acknowledgement(Frozen):
    """The content of an acknowledgement. `subject` is the sanitised parent subject, or None below level 2.

    `opens_at` is when people work next, by the clock on the wall of the time zone `opens_in`; None: they work now, or
    it is not known. They answer within `reply_within_h` working hours; None: nothing is promised.
    """

    company: str
    locale: str
    subject: str | None
    support_address: str
    opens_at: AwareDatetime | None = None
    opens_in: str | None = None
    reply_within_h: Annotated[int, Field(ge=1)] | None = None

    @property
    def without_hours(self) -> Self:
        """The same, but it does not say when people answer: for templates that cannot say it."""
        return self.model_copy(update={"opens_at": None, "opens_in": None, "reply_within_h": None})
