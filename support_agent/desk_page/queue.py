"""The queue: which cases wait for a person, why, for how long, and who has them.

Checked by tests/unit/desk_page/test_queue.py.
"""

from __future__ import annotations

from typing import NamedTuple

from support_agent.cases.pause import read_pause
from support_agent.core.levels import Level
from support_agent.desk_page.visit import NONE, Desk, Page, Result, SeeOther, Shown, Visit, end_of
from support_agent.store.queue import NOBODY, Facet, Facets, QueueFilter
from support_agent.store.records import CaseId

SHOWN = 50
"""Cases of one page."""
MOST_SOUGHT = 320
"""Characters of an address that is looked for."""
FILTERS = ("assignee", "desk", "reason", "level", "language")


class Filter(NamedTuple):
    """A filter of the queue with the links of its values, and the value that is chosen, "" for all."""

    name: str
    facets: tuple[Facet, ...]
    chosen: str


def queue(desk: Desk, visit: Visit) -> Result:
    """The page of the queue."""
    after = (visit.after[0], CaseId(visit.after[1])) if visit.after else None
    found = desk.store.queue.cases(_filter(visit), SHOWN + 1, after)
    facets = desk.store.queue.facets()
    paused = read_pause(desk.settings.agent)
    values = {
        "cases": found[:SHOWN],
        "after": end_of(found[SHOWN - 1].since, found[SHOWN - 1].case_id) if len(found) > SHOWN else "",
        "total": facets.total,
        "filters": _filters(facets, visit),
        "paused": str(paused) if paused else "",
    }
    return Shown("queue.html", values)


def _filter(visit: Visit) -> QueueFilter:
    asked = {name: NOBODY if visit.query.get(name) == NONE else visit.query.get(name) for name in FILTERS}
    level = asked.pop("level")
    return QueueFilter(**asked, level=_level(level))


def _level(text: str | None) -> Level | None:
    levels: dict[str, Level] = {"0": 0, "1": 1, "2": 2, "3": 3}
    return levels.get(text or "")


def _filters(facets: Facets, visit: Visit) -> tuple[Filter, ...]:
    values = (facets.assignees, facets.desks, facets.reasons, facets.levels, facets.languages)
    return tuple(
        Filter(name, found, chosen)
        for name, found in zip(FILTERS, values, strict=True)
        if (chosen := visit.query.get(name, "")) or len(found) > 1  # one value filters nothing
    )


def find(desk: Desk, visit: Visit) -> Result:
    """The cases of a customer, or the one with an id."""
    text = visit.query.get("q", "").strip()[:MOST_SOUGHT]
    found = desk.store.cases.found(text, SHOWN) if text else ()
    if len(found) == 1:
        return SeeOther(f"/cases/{found[0].id}")
    return Shown("found.html", {"sought": text, "found": found})


PAGES = (Page("/", queue), Page("/cases", find))
