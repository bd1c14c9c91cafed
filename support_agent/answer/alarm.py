"""An alarm for the desk: that something about the agent itself is wrong, still is, or is over, as data.

Invariant: it has codes, counts, instants and the names of the company's own servers and settings, and no word of a
customer. Checked by tests/unit/workflow/test_alarms.py.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from support_agent.core.frozen import Frozen


class Alarm(Frozen):
    """One mail about an alarm: it has `begun`, `lasts` or has `ended`, at the instant `at`.

    `what` and `todo` are sentences of the program. `again_h`: after how many hours the next mail follows while it
    lasts.
    """

    locale: str
    kind: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]
    state: Literal["begun", "lasts", "ended"]
    what: str
    todo: str = ""
    since: AwareDatetime
    at: AwareDatetime
    again_h: Annotated[float, Field(gt=0)]
