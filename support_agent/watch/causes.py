"""What is a cause for an alarm now, from the store alone: the alarms to the desk, `doctor`, the desk's page and the
metrics all read this one list.

Invariant: the same store gives the same causes in every process, and a cause says nothing of what is in a mail: counts,
instants, ids, and the names of the company's own servers. Checked by tests/unit/watch/test_causes.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from support_agent.cases.pause import read_pause
from support_agent.cases.rate_limits import CLOCK_SLACK, HOUR, Rates
from support_agent.config.agent import AgentSettings
from support_agent.config.mail_servers import ImapSettings
from support_agent.config.settings import Settings
from support_agent.core.diagnosis import mails, named
from support_agent.core.frozen import Frozen
from support_agent.store.keys import FORGOTTEN, NO_KEY
from support_agent.store.records import OutboxStatus
from support_agent.store.store import Store
from support_agent.store.watch_records import AlarmKind, Expiring
from support_agent.tools.ending import Reason

MOST_COUNTED = 10_000
"""Nothing is counted further."""
WEEK = timedelta(days=7)
USUAL_WEEKS = 4
"""In the same hours of each of so many weeks mail came in, where it is usual."""
MODEL_REASONS = (Reason.MODEL_FAILED, "model")
"""Reasons for which people get mails when the language model fails, or does not answer in time."""
LOG_TODO = "see that `support-agent run` is running, and what its log says"
UNCERTAIN_TODO = (
    "look for them in the Sent folder or the server's log, then confirm with `support-agent outbox"
    " sent ID`, `retry ID` or `give-up ID`; `support-agent outbox` lists them"
)
DESK_TODO = (
    "the server's reply is in `support-agent show CASE` and on the desk's page, where the case can be answered, too;"
    " then decide with `support-agent outbox retry ID` or `give-up ID`; `support-agent outbox` lists them"
)
LIMIT_TODO = "see in `support-agent cases` who writes so much; a higher agent.max_mails_per_hour allows more"


class Cause(Frozen):
    """Something that is wrong, and what to do about it."""

    kind: AlarmKind
    what: str
    todo: str


def causes(store: Store, settings: Settings, now: datetime) -> tuple[Cause, ...]:
    """Everything that is wrong now; reads the database, and looks for the pause file."""
    fetched_at = store.cursors.fetched_at(settings.imap.folder)
    away = tuple(unreachable(fetched_at, settings.imap, now))
    limits = tuple(limited(Rates(store, settings.agent), now))
    return (
        *away,
        *(() if away else _silent(store, settings, now)),
        *(() if limits else _backlog(store, settings, now)),
        *paused(settings.agent),
        *limits,
        *_uncertain(store, settings, now),
        *_desk_undelivered(store),
        *_unreadable(store),
        *_model(store, settings, now),
        *_expiring(store, settings, now),
    )


def unreachable(fetched_at: datetime | None, imap: ImapSettings, now: datetime) -> Iterator[Cause]:
    """The mailbox was not read to its end for too long."""
    if fetched_at is not None and now - fetched_at > timedelta(seconds=imap.alarm_after_s):
        silent_s = round((now - fetched_at).total_seconds())
        what = f"{imap.folder} was last read to its end {silent_s} seconds ago, at {_utc(fetched_at)}"
        yield Cause(kind=AlarmKind.MAILBOX_UNREACHABLE, what=what, todo=LOG_TODO)


def paused(agent: AgentSettings) -> Iterator[Cause]:
    """The agent is paused."""
    if (pause := read_pause(agent)) is not None:
        more = ", and agent.paused = false with a restart," if agent.paused else ""
        yield Cause(kind=AlarmKind.PAUSED, what=str(pause), todo=f"`support-agent resume`{more} ends it")


def limited(rates: Rates, now: datetime) -> Iterator[Cause]:
    """A limit of automatic mail for an hour is reached."""
    deciding, sending, unknown_senders = rates.stops(now)
    if why := deciding or sending or unknown_senders:
        what = "mail of unknown senders waits" if unknown_senders else "nothing automatic is sent"
        what = "everything automatic waits" if deciding else what
        yield Cause(kind=AlarmKind.LIMITED, what=f"{what}: {why}", todo=LIMIT_TODO)


def _silent(store: Store, settings: Settings, now: datetime) -> Iterator[Cause]:
    """No mail came in, although in the weeks before some did in the same hours."""
    window, folder = timedelta(hours=settings.watch.silent_after_h), settings.imap.folder
    if not window or store.watching.has_come(folder, now - window, now + WEEK):
        return
    weeks = (now - number * WEEK for number in range(1, USUAL_WEEKS + 1))
    if all(store.watching.has_come(folder, end - window, end) for end in weeks):
        what = (
            f"no mail has come into {folder} for {settings.watch.silent_after_h:g} hours; in each of the last "
            f"{USUAL_WEEKS} weeks some did in these hours"
        )
        todo = (
            "write a mail to the agent and see where it stays: the MX record, the mail server, a filter, a forwarding"
        )
        yield Cause(kind=AlarmKind.MAILBOX_SILENT, what=what, todo=todo)


def _backlog(store: Store, settings: Settings, now: datetime) -> Iterator[Cause]:
    """Mail waits for too long, or so many wait that no more are fetched."""
    number, since = store.watching.undecided(MOST_COUNTED)
    is_full = number >= min(settings.engine.max_waiting, MOST_COUNTED)
    if since is not None and (is_full or now - since > timedelta(seconds=settings.watch.backlog_after_s)):
        least = "at least " if number == MOST_COUNTED else ""
        what = f"{least}{mails(number)} not decided yet, the oldest since {_utc(since)}"
        what += "; by engine.max_waiting further ones stay in the mailbox meanwhile" if is_full else ""
        todo = next((cause.todo for cause in paused(settings.agent)), LOG_TODO)
        yield Cause(kind=AlarmKind.BACKLOG, what=what, todo=todo)


def _uncertain(store: Store, settings: Settings, now: datetime) -> Iterator[Cause]:
    rows = store.deliveries.unconfirmed((OutboxStatus.UNCERTAIN,), MOST_COUNTED)
    before = now - timedelta(hours=settings.watch.uncertain_after_h)
    if old := [row for row in rows if row.created_at <= before]:
        what = f"{mails(len(old))} may or may not have been sent, the oldest of {_utc(old[0].created_at)}"
        yield Cause(kind=AlarmKind.UNCERTAIN, what=what, todo=UNCERTAIN_TODO)


def _desk_undelivered(store: Store) -> Iterator[Cause]:
    """Mails that the desk did not get, also not without the customer's mail."""
    if rows := store.deliveries.lost_to_desk(limit=MOST_COUNTED):
        names = named(list(dict.fromkeys(row.case_id or row.id for row in rows)))
        oldest = _utc(rows[0].created_at)
        what = f"{mails(len(rows))} for the desk could not be delivered, the oldest of {oldest}: {names}"
        yield Cause(kind=AlarmKind.DESK_UNDELIVERED, what=what, todo=DESK_TODO)


def _unreadable(store: Store) -> Iterator[Cause]:
    """Mails that a person should see, and that nobody can read."""
    losses = store.deliveries.unnotified_losses()
    unreadable = store.sealing.unreadable({lost.mail_id for lost in losses})
    lost = [lost.id for lost in losses if lost.mail_id in unreadable]
    if found := [*lost, *store.watching.quarantined((FORGOTTEN, NO_KEY), MOST_COUNTED)]:
        what = f"{mails(len(found))} cannot be read, because the keys are gone: {named(found)}"
        todo = (
            "look whether the keys are those of today: if they are, the mails were forgotten, and"
            " `support-agent keys unreadable` deletes what is left"
        )
        yield Cause(kind=AlarmKind.UNREADABLE, what=what, todo=todo)


def _model(store: Store, settings: Settings, now: datetime) -> Iterator[Cause]:
    failed = sum(store.traffic.ended_for(code, now - HOUR, until=now + CLOCK_SLACK) for code in MODEL_REASONS)
    if failed >= settings.watch.max_model_failures:
        what = f"{mails(failed)} went to people within an hour because the language model failed"
        todo = "run `support-agent doctor`, which asks the model, and see what the log says of `model_failed`"
        yield Cause(kind=AlarmKind.MODEL, what=what, todo=todo)


def _expiring(store: Store, settings: Settings, now: datetime) -> Iterator[Cause]:
    soon, ends = now + timedelta(days=settings.watch.expires_days), store.watching.expiries()
    certificates = (
        (Expiring.IMAP_CERTIFICATE, f"the certificate of {settings.imap.host}"),
        (Expiring.SMTP_CERTIFICATE, f"the certificate of {settings.smtp.host}"),
    )
    ending = [f"{name} ends on {_utc(ends[what])}" for what, name in certificates if ends.get(what, soon) < soon]
    if ending:
        todo = "let whoever runs the server renew it: no connection is made without a valid certificate"
        yield Cause(kind=AlarmKind.CERTIFICATE, what="; ".join(ending), todo=todo)
    if (ends_at := ends.get(Expiring.REFRESH_TOKEN, soon)) < soon:
        what = f"the refresh token of the mail account ends, or was refused, on {_utc(ends_at)}"
        todo = "sign in again, and put the new refresh token into oauth.refresh_token_file"
        yield Cause(kind=AlarmKind.TOKEN, what=what, todo=todo)


def _utc(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"
