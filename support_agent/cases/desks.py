"""Which desk gets a case: the first rule of `desk.routes` that fits it, else `desk.address`.

Invariant: what a rule looks at is recorded with the mail or read from its text, so the same mail always fits the same
rule. Checked by tests/unit/cases/test_desks.py and tests/journey/test_desk_routes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from support_agent.company.languages import likely_languages
from support_agent.config.desk import DeskRoute, DeskSettings
from support_agent.core.locales import language_of
from support_agent.mail.message import Message

NO_LANGUAGE = "zxx"
"""ISO 639: a text without words of a language, such as a key."""
DEFAULT = "desk.address"


class Desk(NamedTuple):
    """An address, and the rule by which a case goes there."""

    address: str
    why: str


class Subject(NamedTuple):
    """What rules look at; topics and language are looked for only if a rule names any.

    The language is "" where none is recognised.
    """

    topics: Callable[[], Sequence[str]]
    level: int
    reason: str
    language: Callable[[], str]


def desk_for(settings: DeskSettings, subject: Subject) -> Desk:
    """The desk of a case."""
    for number, route in enumerate(settings.routes, start=1):
        if (found := _fit(route, subject)) is not None:
            return Desk(route.address, f"rule {number} of desk.routes{': ' if found else ''}{', '.join(found)}")
    return Desk(settings.address, f"{DEFAULT}, as no rule of desk.routes fits" if settings.routes else DEFAULT)


def language_in(message: Message, locale: str | None) -> str:
    """The language that a mail is written in, as an ISO 639 code; "" where none is recognised.

    Args:
        locale: That of a known customer: its language counts if it is likely, as a short text fits several.
    """
    likely = languages_in(message)
    known = language_of(locale) if locale is not None else ""
    found = known if known in likely else next(iter(likely), "")
    return "" if found == NO_LANGUAGE else found


def languages_in(message: Message) -> tuple[str, ...]:
    """The languages that a mail may be written in, as `likely_languages`."""
    return likely_languages(message.visible_text.strip() or message.subject)


def is_covered(pattern: str, by: str) -> bool:
    """Whether one pattern of topics stands for all that another stands for; a topic is its own pattern."""
    return pattern.startswith(by[:-1]) if by.endswith("*") else pattern == by


def _fit(route: DeskRoute, subject: Subject) -> list[str] | None:
    """What of the case each list of a rule fits, in words; None: one of them does not fit."""
    found: list[str] = []
    for text in _found(route, subject):
        if text is None:
            return None
        found.append(text)
    return found


def _found(route: DeskRoute, subject: Subject) -> Iterator[str | None]:
    if route.topics:
        fits = (topic for topic in subject.topics() if any(is_covered(topic, by) for by in route.topics))
        topic = next(fits, None)
        yield f"topic {topic}" if topic else None
    if route.levels:
        yield f"level {subject.level}" if subject.level in route.levels else None
    if route.reasons:
        yield f"reason {subject.reason}" if subject.reason in route.reasons else None
    if route.languages:
        language = subject.language()
        yield f"language {language}" if language in route.languages else None
