"""One request of a signed-in person, and what a view makes of it. Views are plain functions from one to the other.

Invariant: a view sees no header, no cookie and no session; `site` checks the session, the role and the form's key
before it calls one. Checked by tests/unit/desk_page/test_site.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from threading import Lock
from typing import Literal, NamedTuple
from urllib.parse import urlencode

from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.desk_page.backtest_process import Backtests
from support_agent.desk_page.checkup import Checkup
from support_agent.desk_page.people import Person, Role
from support_agent.desk_page.trials import OpenBench, Trials
from support_agent.desk_page.wording import Wording
from support_agent.store.store import Store
from support_agent.workflow.wired import Wired

NONE = "-"
"""Stands for "none" or "nobody" in an address, where an empty value would be left out."""
MOST_DIGITS = 5


@dataclass(frozen=True)
class Desk:
    """What the views work with: the store, the agent with today's files, and the clock.

    `wired` loads the company's files again where they have changed; nothing is fetched or sent by it. `checkup` runs
    the checks of `doctor`, `backtests` the backtest of uploaded mails; None: this page offers none.
    """

    settings: Settings
    store: Store
    wired: Callable[[], Wired]
    now: Callable[[], datetime]
    checkup: Checkup | None = None
    backtests: Backtests | None = None
    bench: OpenBench | None = None
    """Opens today's agent for past mails; None: what would change for them is not shown."""
    trials: Trials = field(default_factory=Trials)
    """What the drafts of documents and templates would change, while this process lives."""
    acting: Lock = field(default_factory=Lock)
    """Held while an act compares what its person saw with what is, and is carried out."""

    @property
    def company(self) -> Company:
        """The company's files as they are now."""
        return self.wired().company

    @property
    def today(self) -> date:
        """The day in the company's time zone."""
        return self.settings.company.day_of(self.now())


class Upload(NamedTuple):
    """A file of a form: its name as the browser gave it, proven in nothing, and its bytes."""

    name: str
    content_type: str
    data: bytes


@dataclass(frozen=True)
class Visit:
    """One request: who, the parts of the address, and the fields of the form; of a field given twice the last counts.

    `wording` has the page's words and formats in the reader's language.
    """

    person: Person
    wording: Wording
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Upload, ...] = ()

    def may(self, needed: Role) -> bool:
        """Whether the person may do what needs this role."""
        return self.person.role.covers(needed)

    def linked(self, **changes: str | None) -> str:
        """The query of this address with changes, for a link that filters; None or "" leaves a part out."""
        query = {key: value for key, value in {**self.query, **changes}.items() if value}
        return f"?{urlencode(query)}" if query else "?"

    @property
    def after(self) -> tuple[datetime, str] | None:
        """Where the part of a list before this one ended, see `end_of`; None: this is the first."""
        seconds, _, key = self.query.get("after", "").partition(" ")
        try:
            return datetime.fromtimestamp(float(seconds), UTC), key
        except (ValueError, OverflowError, OSError):
            return None


class Shown(NamedTuple):
    """A page: its template, and the template's values."""

    template: str
    values: Mapping[str, object]


class SeeOther(NamedTuple):
    """Go on at another address of the page, with a message there: what it says, and whether it is bad news."""

    to: str
    said: str = ""
    is_error: bool = False


class Download(NamedTuple):
    """A file for the person's disk; never shown in the page."""

    data: bytes
    name: str
    content_type: str = "application/octet-stream"


class Framed(NamedTuple):
    """HTML that is shown in a frame of its own, without scripts and without any fetch."""

    html: str


Result = Shown | SeeOther | Download | Framed
View = Callable[[Desk, Visit], Result]


class Page(NamedTuple):
    """An address of the page, its view, and the role that it needs; `method` POST changes something."""

    path: str
    view: View
    role: Role = Role.READ
    method: Literal["GET", "POST"] = "GET"


class NotFound(Exception):
    """There is nothing at this address."""


def end_of(at: datetime, key: str) -> str:
    """Where a part of a list ends, as `after` in the address of the next part: the last entry's instant and id."""
    return f"{at.timestamp():.6f} {key}"


def whole_number(text: str) -> int | None:
    """A number in an address, from 0 to 99,999; None: it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None
