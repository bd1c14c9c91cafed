"""The weekly digest for the lead: what was answered, what went to people, who waits, as data.

Invariant: it has counts, codes, instants and the company's own titles, and no word of a customer. Checked by
tests/unit/workflow/test_digest.py.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, Field

from support_agent.core.frozen import Frozen

Number = Annotated[int, Field(ge=0)]
Hours = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Counted(Frozen):
    """How many mails have something in common: a topic, a reason, a rule; `title` is the company's, None for none."""

    name: str
    mails: Number
    title: str | None = None


class Grown(Frozen):
    """A topic with more mails than in the week before; `is_sure`: by more than chance explains."""

    topic: str
    title: str | None
    before: Number
    now: Number
    is_sure: bool


class Age(Frozen):
    """How many cases have waited from `least_days` on, for less than `below_days`; None: for longer."""

    least_days: Number
    below_days: Number | None
    cases: Number


class Digest(Frozen):
    """One week, from `since` to before `until`. Hours are those from a case's first mail to a person's answer."""

    locale: str
    since: AwareDatetime
    until: AwareDatetime
    mails: Number
    answered: Number
    partly_answered: Number
    escalated: Number
    filed: Number
    answered_by: tuple[Counted, ...] = ()
    reasons: tuple[Counted, ...] = ()
    filed_by: tuple[Counted, ...] = ()
    people_answered: Number
    people_open: Number
    median_hours: Hours | None = None
    ninetieth_hours: Hours | None = None
    grown: tuple[Grown, ...] = ()
    waiting: Number
    ages: tuple[Age, ...] = ()
