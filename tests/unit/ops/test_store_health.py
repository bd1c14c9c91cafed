"""What the database says of the agent's health: what is kept and stuck, how mails ended, and the clock."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support_agent.cases.escalation import EscalationReason
from support_agent.cases.rate_limits import CLOCK_SLACK
from support_agent.config.settings import Settings, StoreSettings
from support_agent.core.diagnosis import Diagnosis, Health
from support_agent.ops.doctor import diagnose
from support_agent.ops.store_health import ENDS, End, look_at_traffic
from support_agent.store.records import CaseId, MailStatus, OutboxStatus
from support_agent.store.store import Store
from support_agent.tools.ending import Reason
from support_agent.workflow.clock_trust import is_trusted
from tests.contract.store.examples import CASE, NOON, case, cursor, outgoing, put, record
from tests.fakes_doctor import Outside, of, settings_in, the
from tests.fakes_journey import NOON as NOVEMBER
from tests.fakes_journey import Office, write

EMAILS = Path(__file__).parents[2] / "emails"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Everything set, nothing started yet."""
    return settings_in(tmp_path)


@pytest.fixture
def store(settings: Settings, empty_store: Path, tmp_path: Path) -> Iterator[Store]:
    """The database of the settings, with its tables."""
    shutil.copy(empty_store, tmp_path / "store.sqlite3")
    with Store.open(settings.store.url) as opened:
        yield opened


# What is kept


def bring_to(store: Store, number: int, status: OutboxStatus) -> None:
    """Mail `number`, with an answer of that status in the outbox."""
    mail_id = record(store, number)
    store.cases.open(case(), mail_id)
    row = put(store, outgoing(mail_id, case_id=CASE))
    assert store.outbox.claim(row.id, NOON)
    if status is OutboxStatus.FAILED:
        store.outbox.mark_failed(row.id, "why", by="")
    else:
        store.outbox.mark_uncertain(row.id, "why", NOON, by="")


def test_a_database_at_work_counts_its_mails(settings: Settings, store: Store) -> None:
    mail_id = record(store, 1)
    record(store, 2)
    store.mails.end(mail_id, MailStatus.FILED, "S2", None, NOON)
    diagnosis = the("database", settings)
    assert (diagnosis.severity, diagnosis.what) == (
        Health.OK,
        "its tables are current; mails: 1 new, 1 filed",
    )


def test_the_workers_on_the_store_are_told_and_who_leads(settings: Settings, store: Store) -> None:
    for name in ("a", "b"):
        assert store.leases.take(f"worker:{name}", name, timedelta(days=1), NOON)
    assert store.leases.take("mailbox", "a", timedelta(days=1), NOON)
    assert the("workers", settings).what == "2 running; a fetches the mailbox"


def test_no_worker_is_said_and_a_warning_if_mails_wait(settings: Settings, store: Store) -> None:
    """Failure: the only worker had died, and nothing in the report was about workers."""
    idle = the("workers", settings)
    assert (idle.severity, idle.what) == (Health.OK, "none is running")
    record(store, 1)
    stopped = the("workers", settings)
    assert (stopped.severity, stopped.what) == (Health.WARNING, "none is running; not decided yet: 1 mail")
    assert "support-agent run" in stopped.todo


@pytest.mark.parametrize(
    ("status", "what", "todo"),
    [
        (OutboxStatus.UNCERTAIN, "1 mail may or may not have been sent", "Sent folder"),
        (OutboxStatus.FAILED, "1 mail could not be delivered", "support-agent show CASE"),
    ],
)
def test_mails_that_did_not_surely_go_out_are_a_warning(
    settings: Settings, store: Store, status: OutboxStatus, what: str, todo: str
) -> None:
    """S62: a person decides; the case is named."""
    bring_to(store, 1, status)
    fine, warning = of(diagnose(settings, Outside().probes()), "database")
    assert (fine.severity, warning.severity) == (Health.OK, Health.WARNING)
    assert warning.what == f"{what}, in case {CASE}"
    assert todo in warning.todo


def test_cases_with_people_are_counted_by_desk_where_there_are_several(settings: Settings, store: Store) -> None:
    for number, (case_id, desk, why) in enumerate(
        [
            (CaseId("AAAAAAAAAA"), "a@x.example", "rule 1 of desk.routes: topic document:1"),
            (CaseId("BBBBBBBBBB"), "a@x.example", "rule 1 of desk.routes: topic document:2"),
            (CaseId("CCCCCCCCCC"), "b@x.example", "desk.address"),
        ],
        start=1,
    ):
        if number == 3:
            assert len(of(diagnose(settings, Outside().probes()), "database")) == 1
        store.cases.open(case(case_id), record(store, number))
        store.cases.escalate(case_id)
        store.cases.give_to_desk(case_id, desk, why, None)
    _, desks = of(diagnose(settings, Outside().probes()), "database")
    assert (
        desks.what == "cases with people: 2 at a@x.example by rule 1 of desk.routes, 1 at b@x.example by desk.address"
    )


def test_mails_that_were_set_aside_are_a_warning(settings: Settings, store: Store) -> None:
    """S37: the mailbox goes on, and a person has to look. A Message-ID is a stranger's text."""
    for number in range(1, 8):
        mail_id = record(store, number, message_id=f"<{number}\x1b[2J@example.net>")
        store.mails.end(mail_id, MailStatus.QUARANTINED, "engine", "why", NOON)
    _, warning = of(diagnose(settings, Outside().probes()), "database")
    assert warning.severity is Health.WARNING
    assert warning.what.startswith("7 mails could not be handled and were quarantined: '<1\\x1b[2J@example")
    assert warning.what.endswith("(engine) and 2 more")


def test_an_older_database_is_a_warning(settings: Settings, store: Store) -> None:
    """It is upgraded at the next start; its mails are not counted, and nothing is changed now."""
    store.database.downgrade("0001")
    diagnosis = the("database", settings)
    assert (diagnosis.severity, "its schema is 0001" in diagnosis.what) == (Health.WARNING, True)
    assert store.database.revision() == "0001"


def test_a_file_that_is_no_database_is_an_error(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "store.sqlite3").write_bytes(b"not a database, but long enough to be looked at" * 100)
    diagnosis = the("database", settings)
    assert (diagnosis.severity, diagnosis.todo) == (Health.ERROR, "check store.url and its folder")


def test_a_database_without_tables_is_well(settings: Settings, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    assert the("database", settings).severity is Health.OK


# How mails ended


def seen(office: Office, tmp_path: Path, now: datetime = NOVEMBER) -> list[Diagnosis]:
    """What is said of automatic mail, from the database of this office; without the last line, on the limits."""
    store = StoreSettings(url=f"sqlite:///{tmp_path / 'store.sqlite3'}")
    *found, last = look_at_traffic(office.settings.model_copy(update={"store": store}), now)
    assert (last.severity, "this hour" in last.what) == (Health.OK, True)
    assert all(bool(entry.todo) == (entry.severity is not Health.OK) for entry in found)
    return found


@pytest.mark.parametrize(
    ("mail", "health", "what", "todo"),
    [
        ("from_own_address", Health.WARNING, "from our own address, or sent by this agent", "web form"),
        ("received_51_times", Health.WARNING, "through too many servers", "forwarding loop"),
        ("spam_flag", Health.OK, "spam by the word of your own server", ""),
    ],
)
def test_s9_s11_s14_what_nobody_reads_is_told_for_a_day(
    office: Office, tmp_path: Path, mail: str, health: Health, what: str, todo: str
) -> None:
    """S9 and S11 are dropped with an alarm, S14 is counted. Failure: a web form wrote as our own address, and each
    customer's mail that came by it was dropped with a record that nobody looked at.
    """
    raw = (EMAILS / f"{mail}.eml").read_bytes()
    for number in range(2):
        office.handle(b"X-Number: %d\r\n" % number + raw.replace(b"Message-ID: <", b"Message-ID: <%d" % number))
    (diagnosis,) = seen(office, tmp_path)
    assert (diagnosis.severity, todo in diagnosis.todo) == (health, True)
    assert diagnosis.what.startswith("2 mails ")
    assert what in diagnosis.what
    assert seen(office, tmp_path, NOVEMBER + timedelta(days=2)) == []


def test_staff_replies_that_no_customer_got_are_told(office: Office, tmp_path: Path) -> None:
    """Failure: beyond the day's notices a reply that was not passed on was known to nobody."""
    for number in range(3):
        mail_id = office.receive(write("We do.", number=number))
        office.store.mails.end(mail_id, MailStatus.FILED, EscalationReason.NOT_PASSED_ON, "too long", NOVEMBER)
    (diagnosis,) = seen(office, tmp_path)
    assert diagnosis.severity is Health.WARNING
    assert diagnosis.what.startswith("3 mails from the desk's people within a day, not passed on")
    assert "support-agent show" in diagnosis.todo


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.code)
def test_what_ended_while_the_clock_was_ahead_is_not_told(office: Office, tmp_path: Path, end: End) -> None:
    """Failure: once set ahead by a month, the warnings of "within a day" stayed for a month."""
    for ahead in (timedelta(days=30), CLOCK_SLACK + timedelta(seconds=1), CLOCK_SLACK):
        assert seen(office, tmp_path) == []
        mail_id = office.receive(write("We do.", number=ahead.days + ahead.seconds))
        office.store.mails.end(mail_id, MailStatus.FILED, end.code, None, NOVEMBER + ahead)
    (diagnosis,) = seen(office, tmp_path)
    assert diagnosis.what.startswith("1 mail ")


def test_s12_refused_repetitions_from_a_clock_that_was_ahead_are_not_counted(office: Office, tmp_path: Path) -> None:
    """The days of the settings end now."""
    mail_id = office.receive(write("We do."))
    store = StoreSettings(url=f"sqlite:///{tmp_path / 'store.sqlite3'}")
    settings = office.settings.model_copy(update={"store": store})
    office.store.mails.end(mail_id, MailStatus.ESCALATED, Reason.REPEATED, None, NOVEMBER + timedelta(days=30))
    (now,) = look_at_traffic(settings, NOVEMBER)
    (later,) = look_at_traffic(settings, NOVEMBER + timedelta(days=31))
    assert "refused in 7 days 0;" in now.what
    assert "refused in 7 days 1;" in later.what


# Clock


@pytest.mark.parametrize(
    ("behind", "health"),
    [
        (timedelta(days=-1), Health.OK),
        (timedelta(), Health.OK),
        (timedelta(minutes=1), Health.OK),
        (timedelta(minutes=1, seconds=1), Health.ERROR),
        (timedelta(hours=2), Health.ERROR),
    ],
)
def test_a_clock_behind_the_last_mail_is_an_error(
    settings: Settings, store: Store, behind: timedelta, health: Health
) -> None:
    """Retries would wait, and "this month" would be another one."""
    mail_id = store.mails.record(b"mail", "<1@example.net>", cursor(1), NOON).id
    store.cases.open(case(), mail_id)
    assert the("clock", settings, now=NOON - behind).severity is health


def test_a_clock_that_leapt_ahead_is_a_warning(settings: Settings, store: Store) -> None:
    """Nothing is deleted meanwhile. That the first day is one of doubt, too, is no news."""
    assert not is_trusted(store.watching, NOON - timedelta(days=1))
    assert of(diagnose(settings, Outside().probes()), "clock") == []
    assert is_trusted(store.watching, NOON)
    assert not is_trusted(store.watching, NOON + timedelta(days=30))
    diagnosis = the("clock", settings, now=NOON + timedelta(days=30))
    assert diagnosis.severity is Health.WARNING
    assert "nothing is deleted until" in diagnosis.what
    assert of(diagnose(settings, Outside().probes(NOON + timedelta(days=32))), "clock") == [], "that is over"


@pytest.mark.parametrize(
    ("now", "is_wrong"),
    [(datetime(1970, 1, 1, tzinfo=UTC), True), (NOON - timedelta(days=2), True), (NOON - timedelta(days=1), False)],
)
def test_without_a_mail_a_clock_before_the_programs_release_is_an_error(
    settings: Settings, store: Store, now: datetime, is_wrong: bool
) -> None:
    """Failure: nothing was said of a machine that had started in 1970."""
    found = of(diagnose(settings, Outside(released=NOON).probes(now)), "clock")
    assert [(one.severity, "this program was released on 2025-03-01" in one.what) for one in found] == [
        (Health.ERROR, True)
    ] * is_wrong
