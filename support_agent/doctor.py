"""Whether the agent could work now: each part it needs, how it is, and what to do about it.

Invariant: every check is run, whatever the others find, and none changes anything: no mail is read, sent or
marked, nothing is downloaded, no database is made. Checked by tests/unit/test_doctor.py, and against real
servers by tests/integration/test_doctor.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from support_agent.check import check_agent
from support_agent.cursor import Cursor
from support_agent.errors import SupportAgentError, ToolCallRejected, TransientError
from support_agent.findings import Severity
from support_agent.frozen import Frozen
from support_agent.pause import read_pause
from support_agent.planner.models import State, cache_dir, language_model, listing
from support_agent.planner.pinned import EMBEDDING_MODEL, LANGUAGE_MODEL
from support_agent.planner.port import Scores
from support_agent.planner.progress import progress_on
from support_agent.rates import DAY, RATE_RULE, Rates
from support_agent.resources import packaged
from support_agent.settings import ChromaSettings, ModelSettings, SentCopies, Settings
from support_agent.store.database import normalise_url
from support_agent.store.records import MailStatus, OutboxStatus
from support_agent.store.store import Store
from support_agent.tools.ending import Reason

MANY_MAILS = 20
"""More mails than this, handled at a first start without being asked for, would be a surprise."""
CLOCK_SLACK = timedelta(minutes=1)
NAMED = 5
"""Cases and mails that a diagnosis names; the rest is a number."""
MEGABYTE_BYTES = 1_000_000
_SERVER_TODO = "see that it runs and can be reached from here, then run `support-agent doctor` again"


class Health(StrEnum):
    """How bad it is: with an `error` no mail is answered, a `warning` wants a person's look."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Diagnosis(Frozen):
    """How one part is, and what to do; `todo` is "" where there is nothing to do."""

    subject: str
    severity: Health
    what: str
    todo: str = ""


class SeenMailbox(NamedTuple):
    """How many mails there are to handle, and the folder for copies of what goes out; None: there is none."""

    mails: int
    sent_folder: str | None


@dataclass(frozen=True)
class Probes:
    """What the checks reach the outside through; see `app.real_probes`. Each raises the errors of `errors.py`.

    `look_at_mailbox` logs in and counts the mails after a cursor, `check_sender` logs in and leaves,
    `ask_model` makes one choice on the model's server, `count_entries` is the number of texts in the vector
    store (None: not filled yet).
    """

    now: datetime
    look_at_mailbox: Callable[[Settings, Cursor | None], SeenMailbox]
    check_sender: Callable[[Settings], None]
    ask_model: Callable[[ModelSettings], Scores]
    count_entries: Callable[[ChromaSettings], int | None]


def diagnose(settings: Settings, probes: Probes) -> list[Diagnosis]:
    """Run every check; at least one diagnosis for each part, but the clock where nothing can be said."""
    return [diagnosis for subject, run in CHECKS for diagnosis in _run(subject, run, settings, probes)]


def _run(subject: str, run: Check, settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    """What a check says; where it fails, what it said before and why it failed."""
    try:
        yield from run(settings, probes)
    except SupportAgentError as error:
        yield _failure(subject, error)
    except Exception as error:  # one check never hides the others
        what = f"the check failed: {type(error).__name__}: {error}"
        yield _error(subject, what, "report this as a defect")


def _failure(subject: str, error: SupportAgentError) -> Diagnosis:
    """What is for the operator to put right ends in how, behind its last colon."""
    what = str(error)
    match error:
        case TransientError():
            todo = _SERVER_TODO
        case ToolCallRejected():
            todo = "use a model that can call tools"
        case _ if ": " in what:
            what, _, todo = what.rpartition(": ")
        case _:
            todo = "correct it in support-agent.toml"
    return _error(subject, what, todo)


def _configuration(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    subject, findings = "configuration", check_agent(settings)
    for finding in findings:
        say = _error if finding.severity is Severity.ERROR else _warning
        yield say(subject, finding.what, finding.todo)
    if not settings.agent.can_identify:
        what = "agent.authserv_ids is empty, so every sender has level 0 and nothing is answered"
        todo = "add the authserv-id that your own border server writes into Authentication-Results"
        todo += ", or set agent.verify_dkim where it writes none"
        yield _error(subject, what, todo)
    elif not findings:
        yield _ok(subject, f"answers come from {settings.agent.address}, people are {settings.desk.address}")


def _mailbox(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    subject, imap = "mailbox", settings.imap
    if not imap.host:
        yield _not_set(subject, "imap.host")
        return
    is_first_start, cursor, fetched_at = _progress(settings)
    count, sent_folder = probes.look_at_mailbox(settings, cursor)
    mails, place = _mails(count), f"{imap.host}: logged in to {imap.folder}"
    if not is_first_start:
        yield _ok(subject, f"{place}, {mails} to handle")
    elif imap.skip_existing:
        yield _ok(subject, f"{place}, the first start leaves {mails} alone")
    elif count > MANY_MAILS:
        todo = "set imap.skip_existing = true to leave alone what is there already"
        yield _warning(subject, f"{place}, the first start handles {mails}, old ones too", todo)
    else:
        yield _ok(subject, f"{place}, the first start handles {mails}")
    if sent_folder is None and imap.sent_copies is not SentCopies.NONE:
        named = f"the folder {imap.sent_folder!r}" if imap.sent_folder else "a folder for sent mail"
        todo = "make it, name another one in imap.sent_folder, or set imap.sent_copies = 'none'"
        yield _warning(subject, f"{imap.host} lacks {named}, so there are no copies of what goes out", todo)
    if fetched_at is not None and probes.now - fetched_at > timedelta(seconds=imap.alarm_after_s):
        silent_s = round((probes.now - fetched_at).total_seconds())
        what = f"{imap.folder} was last read to its end {silent_s} seconds ago, at {fetched_at:%Y-%m-%d %H:%M} UTC"
        yield _warning(subject, what, "see that `support-agent run` is running, and what its log says")


def _sender(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    if not settings.smtp.host:
        yield _not_set("sender", "smtp.host")
        return
    probes.check_sender(settings)
    how = "logged in" if settings.smtp.user else "connected, without a login"
    yield _ok("sender", f"{settings.smtp.host}: {how}")


def _model(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    subject, model = "model", settings.model
    if model.planner == "llama":
        if model.path is not None:
            path = language_model(model, progress_on(sys.stderr))  # looks at the file, fetches nothing
            yield _ok(subject, f"{path}: a GGUF file of your own")
        else:
            yield _stored(subject, LANGUAGE_MODEL.name, model)
        return
    if probes.ask_model(model).log_probabilities is not None:
        yield _ok(subject, f"{model.base_url}: {model.name} made a choice and says how sure it is")
        return
    what = f"{model.base_url}: {model.name} does not say how sure it is, so more mails go to people"
    yield _warning(subject, what, "use a server that returns logprobs, if you want fewer")


def _embedding(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    yield _stored("embedding model", EMBEDDING_MODEL.name, settings.model)


def _stored(subject: str, name: str, settings: ModelSettings) -> Diagnosis:
    """How much of a pinned model is in the cache; its files are not read again."""
    listed = next(entry for entry in listing(cache_dir(settings)) if entry.name == name)
    size = f"{listed.size_bytes // MEGABYTE_BYTES} MB"
    if listed.state is State.VERIFIED:
        return _ok(subject, f"{listed.title}: verified, {size} at {listed.path}")
    if listed.state is State.UNVERIFIED:
        what, todo = "is there, not verified yet", "run `support-agent model verify`"
    else:
        is_partial = listed.state is State.PARTIAL
        what = f"is {'not complete' if is_partial else 'not there'}, the first start fetches it ({size})"
        todo = "run `support-agent model pull`"
    return _warning(subject, f"{listed.title} {what}", todo)


def _database(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    subject = "database"
    with _store(settings) as store:
        if store is None or store.database.revision() is None:
            yield _ok(subject, "empty: the first start makes the tables")
            return
        if not store.is_current():
            what = f"its schema is {store.database.revision()}, this version has {store.database.head()}"
            yield _warning(subject, what, "make a copy of it: the next start upgrades it")
            return
        mails = ", ".join(f"{number} {status.value}" for status, number in store.counts().mails.items() if number)
        found = list(_kept(store, probes.now))  # before the word that all tables are there
        yield _ok(subject, f"its tables are current; mails: {mails or 'none'}")
        yield from found


def _kept(store: Store, now: datetime) -> Iterator[Diagnosis]:
    """What stands in the database and wants a look."""
    yield from _undelivered(store, OutboxStatus.UNCERTAIN)
    yield from _undelivered(store, OutboxStatus.FAILED)
    if suppressed := store.suppressions.all(now):
        names = _named([entry.address for entry in suppressed])
        yield _ok("database", f"no automatic mail goes to {names}: mail to them came back")
    if aside := store.mails(status=MailStatus.SET_ASIDE):
        names = _named([f"{mail.message_id!r} ({mail.reason_code})" for mail in aside])
        what = f"{_mails(len(aside))} could not be handled and were set aside: {names}"
        yield _warning("database", what, "find them in the mailbox by their Message-ID and answer by hand")


def _undelivered(store: Store, status: OutboxStatus) -> Iterator[Diagnosis]:
    rows = store.settlements.open(status)
    if not rows:
        return
    names = _named(list(dict.fromkeys(row.case_id or row.mail_id for row in rows)))
    if status is OutboxStatus.UNCERTAIN:
        what = f"{_mails(len(rows))} may or may not have gone out, in case {names}"
        todo = (
            "look for them in the Sent folder or the server's log, then say what you found with `support-agent outbox"
            " sent ID`, `retry ID` or `give-up ID`; `support-agent outbox` lists them"
        )
    else:
        what = f"{_mails(len(rows))} could not be delivered, in case {names}"
        todo = (
            "`support-agent show CASE` has the server's words; `support-agent outbox retry ID` sends again,"
            " or write to the customer yourself and say `support-agent outbox give-up ID`"
        )
    yield _warning("database", what, todo)


def _traffic(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    """Whether automatic mail goes out, and how near the limits are (S12); the pause is told without a database."""
    subject, agent = "automatic mail", settings.agent
    if pause := read_pause(agent):
        more = ", and agent.paused = false with a restart," if agent.paused else ""
        yield _warning(subject, str(pause), f"`support-agent resume`{more} lets it go on")
    with _current_store(settings) as store:
        if store is None:
            if pause is None:
                yield _ok(subject, "nothing was sent yet")
            return
        rates, now = Rates(store, agent), probes.now
        waiting = _mails(store.counts().mails[MailStatus.NEW])
        deciding, sending = rates.breaker(now), rates.sending_breaker(now)
        unproven = "" if deciding or sending else rates.breaker(now, 0)
        if deciding or sending or unproven:
            what = "mail of senders without proof waits" if unproven else "nothing automatic is sent"
            what = "everything automatic waits" if deciding else what
            todo = "see in `support-agent cases` who writes so much; a higher agent.max_letters_per_hour allows more"
            yield _warning(subject, f"{what}: {deciding or sending or unproven}", todo)
        if filed := store.traffic.settled_for(RATE_RULE, now - DAY):
            what = f"{_mails(filed)} within a day from senders of whom the desk had its most packets: only filed (S12)"
            todo = "look for them in the mailbox; a higher agent.max_letters_per_sender_a_day lets more through"
            yield _warning(subject, what, todo)
        used = [f"{entry.what} {entry.used}/{entry.limit}" for entry in rates.used(now)]
        days = agent.identical_answer_days
        refused = store.traffic.settled_for(Reason.REPEATED, now - days * DAY)
        used.append(
            f"identical answers refused in {days} days {refused}"
            if days
            else "identical answers may be sent in another case"
        )
        yield _ok(subject, f"{'; '.join(used)}; {waiting} to handle")


def _vectors(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    subject, where = "vector store", settings.chroma.url or str(settings.chroma.path)
    if not settings.chroma.url and not settings.chroma.path.exists():
        yield _ok(subject, f"{where}: the first start makes it")
        return
    count = probes.count_entries(settings.chroma)
    yield _ok(subject, f"{where}: {f'{count} texts' if count is not None else 'the first start fills it'}")


def _clock(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    """A clock that went back: retries would wait, and "this month" would be another one."""
    with _current_store(settings) as store:
        newest = store.cases(1) if store is not None else ()
    last_at = newest[0].last_received_at if newest else None
    if last_at is None:
        return
    if probes.now + CLOCK_SLACK < last_at:
        what = f"it is {probes.now:%Y-%m-%d %H:%M} UTC here, but a mail came in at {last_at:%Y-%m-%d %H:%M}"
        todo = "set this machine's clock, best by NTP"
        yield _error("clock", what, todo)
    else:
        yield _ok("clock", f"{probes.now:%Y-%m-%d %H:%M} UTC; the last mail came at {last_at:%Y-%m-%d %H:%M}")


Check = Callable[[Settings, Probes], Iterator[Diagnosis]]
CHECKS: tuple[tuple[str, Check], ...] = (
    ("configuration", _configuration),
    ("mailbox", _mailbox),
    ("sender", _sender),
    ("model", _model),
    ("embedding model", _embedding),
    ("database", _database),
    ("automatic mail", _traffic),
    ("vector store", _vectors),
    ("clock", _clock),
)
"""What is looked at, in this order."""


def _ok(subject: str, what: str) -> Diagnosis:
    return Diagnosis(subject=subject, severity=Health.OK, what=what)


def _warning(subject: str, what: str, todo: str) -> Diagnosis:
    return Diagnosis(subject=subject, severity=Health.WARNING, what=what, todo=todo)


def _error(subject: str, what: str, todo: str) -> Diagnosis:
    return Diagnosis(subject=subject, severity=Health.ERROR, what=what, todo=todo)


def _not_set(subject: str, key: str) -> Diagnosis:
    return _error(subject, f"{key} is not set", "fill it in in support-agent.toml")


def _mails(number: int) -> str:
    return "1 mail" if number == 1 else f"{number} mails"


def _named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _progress(settings: Settings) -> tuple[bool, Cursor | None, datetime | None]:
    """Whether the mailbox was never read, how far it was, and when it was last read to its end.

    Where the database cannot be read that is not known, and `_database` says so: then all mails are counted.
    """
    try:
        with _current_store(settings) as store:
            stored = store.cursor(settings.imap.folder) if store is not None else None
            fetched_at = store.fetched_at(settings.imap.folder) if store is not None else None
    except SupportAgentError:
        return False, None, None
    return stored is None, stored, fetched_at


@contextmanager
def _store(settings: Settings) -> Iterator[Store | None]:
    """The database of cases; None: a SQLite file that is not there, and which opening would make."""
    with Store.open(settings.store.url, packaged("migrations"), timeout_s=settings.store.timeout_s) as store:
        url = normalise_url(settings.store.url)
        is_missing = url.drivername == "sqlite" and not Path(url.database or "").exists()
        yield None if is_missing else store


@contextmanager
def _current_store(settings: Settings) -> Iterator[Store | None]:
    """The same; None also where its tables are not those of this version."""
    with _store(settings) as store:
        yield store if store is not None and store.is_current() else None
