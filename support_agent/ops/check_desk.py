"""Checks the settings about people: the rules by which cases get their desk, lists of senders, reminders, hours.

Checked by tests/unit/ops/test_check_desk.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

from support_agent.answer.templates import Templates
from support_agent.cases.desks import is_covered
from support_agent.cases.escalation import EscalationReason
from support_agent.cases.intentions import Intent
from support_agent.company.company import Company
from support_agent.company.languages import known_languages
from support_agent.config.desk import DeskRoute
from support_agent.config.settings import Settings
from support_agent.core.findings import Finding, Severity, nearest
from support_agent.errors import ConfigError
from support_agent.mail.addresses import normal_address
from support_agent.mail.senders.lists import entry_for
from support_agent.ops.autonomy_report import titles_of
from support_agent.ops.config_file import ConfigFile, people_findings
from support_agent.tools.ending import Reason

ROUTES = "desk.routes"


def check_routes(settings: Settings, config: ConfigFile) -> Iterator[Finding]:
    """What is wrong with `desk.routes` by itself: addresses, and rules that can never decide."""
    routes = settings.desk.routes
    yield from check_route_addresses(settings, config)
    for nth in range(len(routes)):
        if why := _why_never(routes, nth, settings.agent.answers_from_level):
            what, todo = f"{_rule(nth)} can never decide: {why}", "change the order or the lists, or delete it"
            yield config.finding(f"{ROUTES}.address", what, todo, nth=nth)


def check_route_addresses(settings: Settings, config: ConfigFile) -> Iterator[Finding]:
    """What is wrong with the addresses of `desk.routes`."""
    for nth, route in enumerate(settings.desk.routes):
        people = "the people who get these cases"
        yield from people_findings(config, settings.agent, f"{ROUTES}.address", [route.address], people, nth)


def check_named(settings: Settings, config: ConfigFile) -> Iterator[Finding]:
    """What `desk.routes` names and the company, or the program, does not have."""
    routes = settings.desk.routes
    if not any((route.topics, route.languages, route.reasons) for route in routes):
        return
    topics, reasons, languages = _topics(settings), _reasons(settings), known_languages()
    for nth, route in enumerate(routes):
        for pattern in route.topics:
            if topics is not None and not any(is_covered(topic, pattern) for topic in topics):
                what = f"{_rule(nth)} names {pattern}, and the company has no such topic{nearest(pattern, topics)}"
                yield config.finding(f"{ROUTES}.topics", what, "`support-agent autonomy` lists them", nth=nth)
        for key, names, known, why in (
            ("languages", route.languages, languages, "no mail is recognised as being in it"),
            ("reasons", route.reasons, reasons, "no packet has it"),
        ):
            for name in (name for name in names if name not in known):
                what = f"{_rule(nth)} names {name!r} in its {key}, and {why}{nearest(name, known)}"
                yield config.finding(f"{ROUTES}.{key}", what, "correct it, or delete it", nth=nth)


def check_senders(settings: Settings, config: ConfigFile) -> Iterator[Finding]:
    """What is wrong with the lists of senders: addresses of ours that they block, and entries that never count."""
    senders, key = settings.senders, "senders.block"
    for address in dict.fromkeys(filter(None, settings.people)):
        if entry := entry_for(normal_address(address) or "", senders.block):
            what = f"{key} has {entry!r}, which stands for {address}, an address of your people"
            yield config.finding(key, what, "delete it: their mail would be filed unless it answers a packet")
    for entry in senders.allow:
        if block := entry_for(normal_address(entry) or f"x@{entry.rpartition('@')[2]}", senders.block):
            what = f"senders.allow has {entry!r}, and {key} has {block!r}, which counts first"
            yield config.finding("senders.allow", what, "delete one of them", severity=Severity.WARNING)


def check_reminders(settings: Settings, config: ConfigFile) -> Iterator[Finding]:
    """What is wrong with the settings of reminders and the digest, and of the hours that they go by."""
    reminders, key = settings.reminders, "reminders.address"
    if reminders.address:
        yield from people_findings(config, settings.agent, key, [reminders.address], "the address of a person")
        if not reminders.after_h:
            what, todo = f"{key} is set, and reminders.after_h is 0, so nobody is reminded", "set reminders.after_h"
            yield config.finding(key, what, todo, severity=Severity.WARNING)
        elif reminders.address_from > reminders.most:
            what = f"reminders.address_from = {reminders.address_from} is above reminders.most = {reminders.most}"
            todo = f"raise reminders.most: {reminders.address} gets no reminder"
            yield config.finding("reminders.address_from", what, todo, severity=Severity.WARNING)
    if address := settings.digest.address:
        yield from people_findings(config, settings.agent, "digest.address", [address], "the address of a person")
    hours = settings.hours
    if (hours.holidays or hours.reply_within_h) and not hours.has_hours:
        what = "no day of the week has hours, so nothing is said of hours.holidays and hours.reply_within_h"
        todo = 'write the hours of a day: monday = ["09:00-17:00"]'
        yield config.finding("hours.monday", what, todo, severity=Severity.WARNING)


def _rule(nth: int) -> str:
    return f"rule {nth + 1} of {ROUTES}"


def _why_never(routes: Sequence[DeskRoute], nth: int, answers_from_level: int) -> str:
    """Why a rule can never decide, or ""."""
    route = routes[nth]
    earlier = next((place for place in range(nth) if _takes_all(routes[place], route)), None)
    if earlier is not None:
        return f"rule {earlier + 1} fits first, whatever it fits"
    if route.topics and route.levels and max(route.levels) < answers_from_level:
        return "nothing is chosen for a sender below agent.answers_from_level, so such a mail has no topic"
    return ""


def _takes_all(earlier: DeskRoute, later: DeskRoute) -> bool:
    """Whether an earlier rule fits whatever a later one fits."""
    both = (
        (earlier.levels, later.levels),
        (earlier.languages, later.languages),
        (earlier.reasons, later.reasons),
    )
    if any(first and not (then and set(then) <= set(first)) for first, then in both):
        return False
    if not earlier.topics:
        return True
    return bool(later.topics) and all(any(is_covered(topic, by) for by in earlier.topics) for topic in later.topics)


def _topics(settings: Settings) -> frozenset[str] | None:
    """Every topic of the company; None where its files cannot be read, which other checks say."""
    try:
        company = Company.load(settings.company)
    except ConfigError:
        return None
    with closing(company.accounts):
        return frozenset(titles_of(company))


def _reasons(settings: Settings) -> frozenset[str]:
    known = {code.value for kind in (Reason, EscalationReason, Intent) for code in kind}
    with suppress(ConfigError):  # `check_templates` says what is wrong
        known |= set(Templates.load(settings.company.templates).codes("reason"))
    return frozenset(known)
