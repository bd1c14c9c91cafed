"""The worker while it is paused: it looks before each decision and each mail, and `doctor` says so."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from structlog.testing import capture_logs

from support_agent.cases.pause import end_pause, write_pause
from support_agent.cases.rate_limits import Rates
from support_agent.config.settings import Settings, StoreSettings
from support_agent.core.diagnosis import Health
from support_agent.mail.message import parse
from support_agent.ops.doctor import CHECKS, Probes
from support_agent.pipeline import handle
from support_agent.store.records import MailId, MailStatus, OutboxStatus, mail_id_of
from support_agent.store.traffic import Traffic
from support_agent.transport.submission import Delivery
from tests.fakes_journey import ANNA, CUSTOMERS, DESK, JAMES, NOON, Clock, Office, once, twice, with_agent, write
from tests.fakes_worker import FakeMailbox, Shift, recipients
from tests.unit.seen import ANSWER, CANCEL, HUMAN, PACKET, PERSON_REPLY, REFUND, one


@pytest.fixture
def office(office: Office, tmp_path: Path) -> Office:
    """An office with a pause file of its own."""
    return with_agent(office, pause_file=tmp_path / "paused")


def pause(office: Office) -> None:
    write_pause(office.settings.agent, "wrong refund policy")


def resume(office: Office) -> None:
    assert end_pause(office.settings.agent)


# Mails that come while it is there


def test_mail_that_comes_while_paused_is_recorded_and_waits_unplanned(office: Office) -> None:
    pause(office)
    with capture_logs() as logs:
        mail_id, outcome = office.handle(write(REFUND), twice())
    assert (outcome, one(office, mail_id).status, office.sent(mail_id)) == ("held", MailStatus.NEW, {})
    assert office.store.plans.get(mail_id) is None
    waits = next(entry for entry in logs if entry["event"] == "mail_waits")
    assert "wrong refund policy" in waits["why"]
    resume(office)
    assert handle(mail_id, once(), office.stages) == "answered"


def test_a_mail_for_the_desk_that_only_the_hourly_limit_holds_names_the_limit(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: the log named the pause, which holds no such mail; whoever resumed found it waiting."""
    pause(office)
    monkeypatch.setattr(Rates, "breaker", lambda *_: "too many mails in an hour")
    assert office.stages.breaker.for_mail(None, is_for_desk=True) == "too many mails in an hour"
    assert "wrong refund policy" in office.stages.breaker.for_mail(None, is_for_desk=False)


def test_answer_that_is_made_when_the_pause_begins_does_not_go_out(office: Office) -> None:
    """Between planning and sending: seen right before the mail is sent."""
    planner = office.decider.planner
    mail_id = office.receive(write(REFUND))
    original = type(planner).plan

    def plan_and_pause(*arguments: object) -> object:
        pause(office)
        return original(*arguments)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(planner), "plan", plan_and_pause)
        handle(mail_id, once(), office.stages)
    assert (office.sent(mail_id)[ANSWER].status, office.transport.given) == (OutboxStatus.READY, [])
    resume(office)
    office.stages.send(mail_id)
    assert [recipient for recipient, _ in office.transport.given] == [ANNA]


def test_mail_for_a_person_reaches_the_desk_while_paused(office: Office) -> None:
    """A rule gave it to a person, no machine decided; the customer hears nothing that a machine wrote."""
    pause(office)
    mail_id, outcome = office.handle(write(HUMAN))
    assert (outcome, set(office.sent(mail_id))) == ("escalated", {PACKET})
    assert [recipient for recipient, _ in office.transport.given] == [DESK]


def test_persons_reply_is_passed_on_while_paused(office: Office) -> None:
    """Nothing automatic goes out; a person's words are not."""
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET].message_id
    pause(office)
    reply, _ = office.handle(write("We look at it.", sender=DESK, in_reply_to=packet))
    assert office.sent(reply)[PERSON_REPLY].status is OutboxStatus.SENT


def test_automatic_mail_is_filed_while_paused(office: Office) -> None:
    pause(office)
    assert office.handle(b"Auto-Submitted: auto-replied\r\n" + write(REFUND))[1] == "filed"


# The running agent


def test_running_agent_takes_up_what_waited_and_nothing_twice(office: Office) -> None:
    """Paused, killed, started again while paused, resumed: each mail is answered once."""
    mails = [write(REFUND), write(CANCEL, sender=JAMES)]
    pause(office)
    shift = Shift(office, FakeMailbox(mails))
    shift.work()
    shift.work()
    assert (recipients(office), shift.mailbox.handled) == ([], [1, 2])
    second = Shift(office, shift.mailbox)
    second.engine.adopt(shift.engine)
    second.work()
    assert recipients(office) == []
    resume(office)
    for _ in range(2):
        second.work()
    assert sorted(recipients(office)) == [ANNA, JAMES]
    assert {mail.status for mail in office.store.mails.find()} == {MailStatus.ANSWERED}


def journeys(shift: Shift) -> list[MailId]:
    """Each mail that the shift's engine takes up from now on."""
    begun: list[MailId] = []
    real = shift.engine.journey

    def journey(mail_id: MailId) -> object:
        begun.append(mail_id)
        return real(mail_id)

    shift.engine.journey = journey
    return begun


def test_mail_does_not_overtake_an_older_one_of_its_case_that_waits(office: Office) -> None:
    """Failure: the pause ends between the look at what waits and the fetch, and the younger mail is answered first."""
    first = write(REFUND)
    second = write(CANCEL, number=2, in_reply_to=parse(first).message_id)
    other = write(CANCEL, sender=JAMES)
    shift = Shift(office, FakeMailbox([first]))
    pause(office)
    shift.work()
    shift.mailbox.mails += [second, other]
    shift.mailbox.on_open = lambda: resume(office)
    shift.work()
    assert recipients(office) == [JAMES]
    shift.mailbox.on_open = lambda: None
    shift.work()
    answers = office.store.outbox.find(status=OutboxStatus.SENT)
    assert [row.mail_id for row in answers] == [mail_id_of(raw) for raw in (other, first, second)]


def test_s12_only_as_many_waiting_mails_are_begun_anew_as_there_is_room_for(office: Office) -> None:
    """Failure: one place in the hour, and each of 400 waiting mails is parsed, begun and held again, in every round."""
    office = with_agent(office, max_mails_per_hour=2)
    mails = [write(REFUND, sender=sender) for sender in CUSTOMERS]
    shift = Shift(office, FakeMailbox(mails))
    shift.work()
    ids = [mail_id_of(raw) for raw in mails]
    waiting = [mail.id for mail in office.store.mails.find(status=MailStatus.NEW)]
    assert len(recipients(office)) == 3, "two answers, and the desk's notice by the first that waited"
    assert waiting == ids[3:]
    begun = journeys(shift)
    shift.work()
    assert begun == [], "no room at all"
    office.clock = Clock(NOON + timedelta(hours=2))
    shift.work()
    assert begun == waiting[:2]
    assert {office.store.mails.get(mail_id).status for mail_id in begun} == {MailStatus.ANSWERED}  # type: ignore[union-attr]


def test_waiting_mails_are_not_looked_at_again_while_paused_but_new_ones_are(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mail that was recorded but never handed to the engine is always begun: a rule may give it to a person."""
    pause(office)
    shift = Shift(office, FakeMailbox([write(REFUND)]))
    shift.work()
    left = office.receive(write(HUMAN, sender=JAMES))
    begun, parsed = journeys(shift), []
    monkeypatch.setattr("support_agent.workflow.starts.parsed", lambda raw: parsed.append(raw))
    for _ in range(2):
        shift.work()
    assert (begun, len(parsed)) == ([left], 1)
    assert recipients(office) == [DESK]


def test_running_agent_says_that_it_is_paused_and_that_it_goes_on(office: Office) -> None:
    """Once each, with the reason."""
    imap = office.settings.imap.model_copy(update={"poll_interval_s": 0.0})
    office.settings = office.settings.model_copy(update={"imap": imap})
    shift = Shift(office, FakeMailbox([write(REFUND)]))
    pause(office)
    polls = iter(range(4))

    def on_open() -> None:
        match next(polls):
            case 2:
                resume(office)
            case 3:
                shift.stop.set()

    shift.mailbox.on_fetch = on_open
    with capture_logs() as logs:
        shift.agent.run(shift.stop)
    said = [entry["event"] for entry in logs if entry["event"].startswith("automatic_mail")]
    assert said == ["automatic_mail_stopped", "automatic_mail_resumed"]
    assert re.search("wrong refund policy", next(entry["why"] for entry in logs if "why" in entry))


def test_mail_in_the_outbox_waits_and_goes_out_after_the_pause(office: Office) -> None:
    shift = Shift(office, FakeMailbox([]))
    mail_id = office.receive(write(CANCEL, sender=JAMES))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(office.stages), "send", lambda *_: [])
        handle(mail_id, once(), office.stages)
    pause(office)
    shift.work()
    assert recipients(office) == []
    resume(office)
    shift.work()
    assert recipients(office) == [JAMES]


def test_pause_is_seen_while_the_database_is_away(office: Office) -> None:
    """The file is looked at first."""
    office = replace(office, store=replace(office.store, traffic=cast(Traffic, None)))
    with pytest.raises(AttributeError):
        office.stages.breaker.any()
    pause(office)
    assert "wrong refund policy" in office.stages.breaker.any()
    assert "wrong refund policy" in office.stages.breaker.sending()


# What `doctor` says


def traffic_of(settings: Settings, at: datetime = NOON + timedelta(minutes=1)) -> list[tuple[str, str]]:
    check = dict(CHECKS)["automatic mail"]
    found = list(check(settings, cast(Probes, SimpleNamespace(now=at))))
    assert all(bool(entry.todo) == (entry.severity is not Health.OK) for entry in found)
    return [(entry.severity.value, entry.what) for entry in found]


@pytest.fixture
def stored(office: Office, tmp_path: Path) -> Office:
    """The office with its database in its settings, as `doctor` needs it."""
    store = StoreSettings(url=f"sqlite:///{tmp_path / 'store.sqlite3'}")
    return replace(office, settings=office.settings.model_copy(update={"store": store}))


def test_s12_doctor_says_how_much_of_each_limit_is_used(stored: Office) -> None:
    """Used and allowed, with who uses most."""
    first, _ = stored.handle(write(REFUND))
    stored.handle(write(REFUND, number=2))
    assert traffic_of(stored.settings) == [
        (
            "ok",
            f"this hour 3/200; one sender a day ({ANNA}) 2/10; one case ({one(stored, first).case_id}) 1/5; "
            "identical answers refused in 7 days 1; 0 mails to handle",
        )
    ]


def test_s12_doctor_warns_of_the_hourly_limit(stored: Office) -> None:
    office = with_agent(stored, max_mails_per_hour=1)
    office.handle(write(REFUND))
    office.handle(write(REFUND, sender=JAMES))
    (severity, what), (_, used) = traffic_of(office.settings)
    assert severity == "warning"
    assert what == "everything automatic waits: 1 automatic mails within an hour, the limit (S12)"
    assert used.endswith("1 mail to handle")


def test_s12_doctor_warns_of_the_hourly_limit_of_what_is_sent(stored: Office) -> None:
    """What piled up while the server was away; the larger of the two numbers is the one to look at."""
    stored.transport.deliveries = [Delivery(status="retry", detail="421 later")]
    mail_id, _ = stored.handle(write(REFUND))
    office = with_agent(stored, max_mails_per_hour=1)
    office.clock = Clock(NOON + timedelta(hours=2))
    office.stages.outbox_sender.deliver(office.sent(mail_id)[ANSWER])
    (severity, what), (_, used) = traffic_of(office.settings, NOON + timedelta(hours=2, minutes=1))
    assert (severity, what) == (
        "warning",
        "nothing automatic is sent: 1 automatic mails within an hour, the limit (S12)",
    )
    assert used.startswith("this hour 1/1;")


def test_s12_doctor_warns_of_mails_that_were_only_filed(stored: Office) -> None:
    """Within a day; else a sender that was muted would be known to nobody."""
    office = with_agent(stored, max_packets_per_sender_a_day=1)
    for number in range(4):
        office.handle(write(HUMAN, number=number))
    (severity, what), _ = traffic_of(office.settings)
    assert severity == "warning"
    assert what == "2 mails within a day from senders over the packet limit: only filed (S12)"
    assert [severity for severity, _ in traffic_of(office.settings, NOON + timedelta(days=2))] == ["ok"]


def test_doctor_says_that_the_agent_is_paused_and_why(stored: Office) -> None:
    pause(stored)
    (severity, what), _ = traffic_of(stored.settings)
    assert (severity, what.partition(" (")[0]) == ("warning", "paused: wrong refund policy")


def test_doctor_says_that_the_agent_is_paused_while_the_database_is_away(stored: Office) -> None:
    pause(stored)
    store = StoreSettings(url="postgresql://nobody@127.0.0.1:1/away", timeout_s=1.0)
    settings = stored.settings.model_copy(update={"store": store})
    check = dict(CHECKS)["automatic mail"](settings, cast(Probes, SimpleNamespace(now=NOON)))
    assert "wrong refund policy" in next(iter(check)).what
