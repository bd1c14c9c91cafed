"""The checks of the case database for `doctor`: stuck mails, how mails ended, rate limits, the clock.

Invariant: a check changes nothing and creates no database, and mails with a future timestamp are not counted.
Checked by tests/unit/ops/test_store_health.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from support_agent.cases.escalation import EscalationReason
from support_agent.cases.rate_limits import CLOCK_SLACK, DAY, RATE_RULE, Rates
from support_agent.cases.routing import BY_HAND
from support_agent.config.database_url import normalise_url
from support_agent.config.settings import Settings
from support_agent.core.clock import SET_CLOCK, why_impossible
from support_agent.core.cursor import Cursor
from support_agent.core.diagnosis import Diagnosis, error, mails, named, ok, warning
from support_agent.errors import SupportAgentError
from support_agent.mail.machines.screening import BLOCK_RULE, OWN_MAIL_RULE
from support_agent.store.desk_records import ModeChange
from support_agent.store.keys import Keys, key_settings
from support_agent.store.records import MailStatus, OutboxStatus
from support_agent.store.store import Store
from support_agent.store.watch_records import AlarmKind, ClockTrust
from support_agent.tools.ending import Reason
from support_agent.watch.causes import MOST_COUNTED, UNCERTAIN_TODO, causes, limited, paused
from support_agent.workflow.membership import MAILBOX, WORKER

SMALL_SETBACK = timedelta(minutes=1)
"""A clock may lag behind the last mail by this much: it was only corrected."""

ALARMS = (
    AlarmKind.MAILBOX_SILENT,
    AlarmKind.BACKLOG,
    AlarmKind.UNREADABLE,
    AlarmKind.MODEL,
    AlarmKind.CERTIFICATE,
    AlarmKind.TOKEN,
)
"""What the other checks do not look at."""


class Progress(NamedTuple):
    """How far the mailbox was read, and when it was last read to its end."""

    is_first_start: bool
    cursor: Cursor | None
    fetched_at: datetime | None


def read_progress(settings: Settings) -> Progress:
    """The progress in the store. If the database cannot be read, all mails count; `look_at_database` reports it."""
    try:
        with current_store(settings) as store:
            stored = store.cursors.get(settings.imap.folder) if store is not None else None
            fetched_at = store.cursors.fetched_at(settings.imap.folder) if store is not None else None
    except SupportAgentError:
        return Progress(is_first_start=False, cursor=None, fetched_at=None)
    return Progress(stored is None, stored, fetched_at)


def read_modes(settings: Settings) -> tuple[ModeChange, ...]:
    """The changes of modes in the store; none where there is no store, or it cannot be read."""
    try:
        with current_store(settings) as store:
            return () if store is None else store.modes.history()
    except SupportAgentError:
        return ()


# What is kept


def look_at_database(settings: Settings, now: datetime) -> Iterator[Diagnosis]:
    """Whether the database can be used, and what in it needs attention."""
    subject = "database"
    with _store(settings) as store:
        if store is None or store.database.revision() is None:
            yield ok(subject, "empty: the first start makes the tables")
            return
        if not store.is_current():
            what = f"its schema is {store.database.revision()}, this version has {store.database.head()}"
            yield warning(subject, what, "make a copy of it: the next start upgrades it")
            return
        counted = ", ".join(
            f"{number} {status.value}" for status, number in store.traffic.totals().mails.items() if number
        )
        found = list(_kept(store, settings, now))  # first: it fails where a table is missing
        yield ok(subject, f"its tables are current; mails: {counted or 'none'}")
        yield from found


def workers(settings: Settings, now: datetime) -> frozenset[str]:
    """The workers that are alive; none where there is no store, or it cannot be read."""
    try:
        with current_store(settings) as store:
            return store.leases.holders(WORKER, now) if store is not None else frozenset()
    except SupportAgentError:
        return frozenset()


def look_at_workers(settings: Settings, now: datetime) -> Iterator[Diagnosis]:
    """Who handles mail; a warning if mails wait and nobody does."""
    subject = "workers"
    with current_store(settings) as store:
        alive = store.leases.holders(WORKER, now) if store is not None else ()
        leading = ", ".join(store.leases.holders(MAILBOX, now)) if store is not None else ""
        waiting = store.watching.undecided(MOST_COUNTED).number if store is not None else 0
    if alive:
        yield ok(subject, f"{len(alive)} running; {leading or 'none of them, for a moment,'} fetches the mailbox")
    elif waiting:
        yield warning(subject, f"none is running; not decided yet: {mails(waiting)}", "start `support-agent run`")
    else:
        yield ok(subject, "none is running")


def look_at_keys(settings: Settings) -> Iterator[Diagnosis]:
    """Whether the keys of encrypted mails are there, and the master key opens them."""
    with current_store(settings) as store:
        if store is not None:
            store.sealing.require_keys()
    url, timeout_s = normalise_url(settings.store.url), settings.store.timeout_s
    with closing(Keys(url, key_settings(settings.store), timeout_s)) as keys:
        if settings.store.encrypt:
            keys.check()
        if keys.is_there():
            yield ok("keys", f"{keys.place}: the master key opens them")
        elif settings.store.encrypt:
            yield ok("keys", "none yet: the first start makes them")


def _kept(store: Store, settings: Settings, now: datetime) -> Iterator[Diagnosis]:
    """What in the database needs attention."""
    yield from _undelivered(store, OutboxStatus.UNCERTAIN)
    yield from _undelivered(store, OutboxStatus.FAILED)
    if proposed := store.deliveries.unconfirmed((OutboxStatus.PROPOSED,)):
        names = named([row.case_id or row.mail_id for row in proposed])
        yield ok("database", f"{mails(len(proposed))} for a person to approve, in case {names}")
    yield from _desks(store)
    if settings.reminders.after_h:
        waiting = store.waits.cases(now - timedelta(days=settings.reminders.until_days))
        longest = f", the longest since {waiting[0].since:%Y-%m-%d %H:%M} UTC" if waiting else ""
        yield ok("database", f"cases that wait for a person's answer: {len(waiting)}{longest}")
    if suppressed := store.suppressions.all(now):
        names = named([entry.address for entry in suppressed])
        yield ok("database", f"no automatic mail goes to {names}: mail to them bounced")
    if aside := store.mails.find(status=MailStatus.QUARANTINED):
        names = named([f"{mail.message_id!r} ({mail.reason_code})" for mail in aside])
        what = f"{mails(len(aside))} could not be handled and were quarantined: {names}"
        yield warning("database", what, "find them in the mailbox by their Message-ID and answer by hand")


def _desks(store: Store) -> Iterator[Diagnosis]:
    """How many cases each desk has by which rule; nothing where all are at one desk."""
    cases = Counter[str]()
    for found in store.cases.at_desks():
        cases[f"{found.desk} by {found.why.partition(':')[0]}"] += found.cases
    if len(cases) > 1:
        yield ok("database", f"cases with people: {', '.join(f'{count} at {desk}' for desk, count in cases.items())}")


def _undelivered(store: Store, status: OutboxStatus) -> Iterator[Diagnosis]:
    rows = store.deliveries.unconfirmed((status,))
    if not rows:
        return
    names = named(list(dict.fromkeys(row.case_id or row.mail_id for row in rows)))
    if status is OutboxStatus.UNCERTAIN:
        what = f"{mails(len(rows))} may or may not have been sent, in case {names}"
        todo = UNCERTAIN_TODO
    else:
        what = f"{mails(len(rows))} could not be delivered, in case {names}"
        todo = (
            "`support-agent show CASE` has the server's reply; `support-agent outbox retry ID` sends again,"
            " or write to the customer yourself and run `support-agent outbox give-up ID`"
        )
    yield warning("database", what, todo)


# What comes and goes


class End(NamedTuple):
    """An end of mails that the operator should know: its code, the words after the number of mails, what to do."""

    code: str
    what: str
    todo: str


ENDS = (
    End(
        RATE_RULE,
        "within a day from senders over the packet limit: only filed (S12)",
        "look for them in the mailbox; a higher agent.max_packets_per_sender_a_day lets more through",
    ),
    End(
        OWN_MAIL_RULE,
        "within a day from our own address, or sent by this agent and returned: dropped, nobody has read them (S9)",
        "look at them in the mailbox: a web form must not send from our address, but from the customer's or another"
        " address of yours; a forwarding that returns our mail must end",
    ),
    End(
        "S11",
        "within a day through too many servers or answers: dropped, nobody has read them (S11)",
        "look at them in the mailbox: their Received lines name the servers of the forwarding loop that must end",
    ),
    End(
        EscalationReason.NOT_PASSED_ON,
        "from the desk's people within a day, not passed on to the customer",
        "a person is notified of at most agent.max_packets_per_sender_a_day a day: read the others in the mailbox;"
        " `support-agent show CASE` says why each was not passed on",
    ),
    End(
        EscalationReason.NOT_KEPT,
        "from the desk's people within a day, not passed on to the customer, as what they answer is no longer kept",
        f"{BY_HAND}: `support-agent show CASE` has what is left of the case",
    ),
    End(BLOCK_RULE, "within a day from senders that senders.block lists: filed, nobody has read them", ""),
    End(
        EscalationReason.NOT_ALLOWED,
        "within a day from senders that senders.allow does not list: a person has them",
        "",
    ),
    End(
        EscalationReason.NOT_CARRIED_OUT,
        "from the desk's people within a day with commands that were not carried out",
        "a person is notified of at most agent.max_packets_per_sender_a_day a day: `support-agent show CASE` says why"
        " each was refused, and the packet has the lines that work",
    ),
    End("S14", "within a day, spam by the word of your own server: filed (S14)", ""),
)


def ended(store: Store, now: datetime) -> Iterator[tuple[str, str]]:
    """How many mails had each of these ends within a day, and what to do about it, "" for nothing."""
    for end in ENDS:
        if number := store.traffic.ended_for(end.code, now - DAY, until=now + CLOCK_SLACK):
            yield f"{mails(number)} {end.what}", end.todo


def look_at_traffic(settings: Settings, now: datetime) -> Iterator[Diagnosis]:
    """Whether automatic mail is sent, and how near the limits are (S12); a pause is reported without a database."""
    subject, agent = "automatic mail", settings.agent
    pause = [warning(subject, cause.what, cause.todo) for cause in paused(agent)]
    yield from pause
    with current_store(settings) as store:
        if store is None:
            if not pause:
                yield ok(subject, "nothing was sent yet")
            return
        rates = Rates(store, agent)
        yield from (warning(subject, cause.what, cause.todo) for cause in limited(rates, now))
        yield from (warning(subject, what, todo) if todo else ok(subject, what) for what, todo in ended(store, now))
        yield ok(subject, _used(store, rates, now))


def _used(store: Store, rates: Rates, now: datetime) -> str:
    used = [f"{entry.what} {entry.used}/{entry.limit}" for entry in rates.used(now)]
    days = rates.agent.identical_answer_days
    refused = store.traffic.ended_for(Reason.REPEATED, now - days * DAY, until=now + CLOCK_SLACK)
    used.append(
        f"identical answers refused in {days} days {refused}"
        if days
        else "identical answers may be sent in another case"
    )
    return f"{'; '.join(used)}; {mails(store.traffic.totals().mails[MailStatus.NEW])} to handle"


# Alarms


def look_at_alarms(settings: Settings, now: datetime) -> Iterator[Diagnosis]:
    """The causes of alarms that no other check names."""
    with current_store(settings) as store:
        found = [cause for cause in causes(store, settings, now) if cause.kind in ALARMS] if store is not None else []
    for cause in found:
        yield warning(cause.kind.replace("_", " "), cause.what, cause.todo)
    if not found:
        yield ok("alarms", f"no cause: {', '.join(kind.replace('_', ' ') for kind in ALARMS)}")


# The clock


def look_at_clock(settings: Settings, now: datetime, released: datetime) -> Iterator[Diagnosis]:
    """Whether the clock is behind: then retries wait, and "this month" is another month; or has leapt ahead."""
    if why := why_impossible(now, released):
        yield error("clock", why, SET_CLOCK)
        return
    with current_store(settings) as store:
        newest = store.cases.recent(1) if store is not None else ()
        ends = store.watching.clock_trust() if store is not None else {}
    doubt = ends.get(ClockTrust.DOUBT)
    if doubt is not None and doubt > now and ClockTrust.TRUST in ends:
        what = f"it has leapt ahead, or no worker ran for long: nothing is deleted until {doubt:%Y-%m-%d %H:%M} UTC"
        yield warning("clock", what, "look whether it is right, and set it if not, best by NTP")
    last_at = newest[0].last_received_at if newest else None
    if last_at is None:
        return
    if now + SMALL_SETBACK < last_at:
        what = f"it is {now:%Y-%m-%d %H:%M} UTC here, but a mail came in at {last_at:%Y-%m-%d %H:%M}"
        yield error("clock", what, SET_CLOCK)
    else:
        yield ok("clock", f"{now:%Y-%m-%d %H:%M} UTC; the last mail came at {last_at:%Y-%m-%d %H:%M}")


@contextmanager
def _store(settings: Settings) -> Iterator[Store | None]:
    """The case database; None if its SQLite file is missing: opening would create it."""
    with Store.of(settings.store) as store:
        url = normalise_url(settings.store.url)
        is_missing = url.drivername == "sqlite" and not Path(url.database or "").exists()
        yield None if is_missing else store


@contextmanager
def current_store(settings: Settings) -> Iterator[Store | None]:
    """The same; None also if its tables are of another version."""
    with _store(settings) as store:
        yield store if store is not None and store.is_current() else None
