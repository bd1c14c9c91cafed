"""The rules by which a case gets its desk; part of `settings.DeskSettings`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from support_agent.core.frozen import Frozen
from support_agent.core.levels import Level

TopicPattern = Annotated[str, Field(pattern=r"^(document|field|series|record|question):([\w.-]{1,100}\*?|\*)$")]
"""A topic, or the topics whose names begin alike: `field:invoice_*`."""
LanguageCode = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]
ReasonCode = Annotated[str, Field(pattern=r"^[a-z_]{1,60}$")]


class DeskRoute(Frozen):
    """One rule of `desk.routes`: which cases go to this address instead of `desk.address`.

    A rule fits a case if each of its lists that is not empty has what the case has. The first rule that fits decides.
    """

    address: str
    """The desk of these cases. Its people are staff, as those of `desk.address`: their replies are passed on, and their
    commands carried out."""
    topics: tuple[TopicPattern, ...] = ()
    """Topics of the questions that a person gets: `document:3`, `field:plan`, `series:payments`, `record:invoices`,
    `question:1`; a `*` at the end stands for any rest of a name. A mail that a rule escalates before anything is chosen
    has no topic."""
    levels: tuple[Level, ...] = ()
    """Levels of the sender, 0 to 3."""
    languages: tuple[LanguageCode, ...] = ()
    """Languages that the mail is written in, as ISO 639 codes: `de`. It is the likeliest one; where the language of a
    known customer's locale is likely, it is that."""
    reasons: tuple[ReasonCode, ...] = ()
    """Reason codes that packets show in brackets: `person_asked_for`, `not_covered`."""
