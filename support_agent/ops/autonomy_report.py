"""What `support-agent autonomy` shows of each item: its mode, and why it has it; and how it is set by hand.

Invariant: only what the company has can be given a mode, and showing changes nothing. Checked by
tests/unit/cli/test_autonomy.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from support_agent.cases.autonomy import Autonomy
from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.core.findings import nearest
from support_agent.core.frozen import Frozen
from support_agent.core.modes import Mode
from support_agent.errors import ConfigError
from support_agent.facts.topics import topics_of
from support_agent.store.desk_records import ModeSource
from support_agent.store.store import Store

OPERATOR = "the operator"


class ItemAutonomy(Frozen):
    """One item: its mode, and who or what gave it that mode. `title` is "" if the company does not have it any more."""

    key: str
    title: str
    mode: Mode
    why: str


def titles_of(company: Company) -> dict[str, str]:
    """What has a mode, with its title: each document, field, series, kind of records and canned question."""
    topics = {topic.key: topic.title for topic in topics_of(company)}
    return topics | {f"question:{question.number}": question.about for question in company.questions}


def report(store: Store, settings: Settings, titles: Mapping[str, str]) -> tuple[ItemAutonomy, ...]:
    """Each item of the company, then items that only the store knows.

    Args:
        titles: From `titles_of`.
    """
    keys = dict.fromkeys([*titles, *store.modes.valid()])
    return tuple(
        ItemAutonomy(key=item.key, title=titles.get(item.key, ""), mode=item.mode, why=item.why)
        for item in Autonomy(store, settings.autonomy).modes(tuple(keys))
    )


def set_by_hand(store: Store, titles: Mapping[str, str], key: str, mode: Mode, why: str, now: datetime) -> None:
    """Give an item a mode; the rule never raises the item above it.

    Raises:
        ConfigError: the company has no such item.
    """
    _require(key, titles)
    store.modes.change(key, mode, ModeSource.BY_HAND, OPERATOR, why or "no reason given", now)


def undo(store: Store, key: str, now: datetime) -> None:
    """Undo the last change of an item's mode; the change before it holds again.

    Raises:
        ConfigError: its mode was never changed.
    """
    if store.modes.undo(key, now) is None:
        raise ConfigError(f"the mode of {key} was not changed: `support-agent autonomy` lists the items")


def _require(key: str, titles: Mapping[str, str]) -> None:
    if key not in titles:
        todo = "`support-agent autonomy` lists the items"
        raise ConfigError(f"there is no item {key!r}{nearest(key, titles)}: {todo}", code="no_item")
