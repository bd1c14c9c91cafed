"""S12: how much the machine writes to a case, to a sender and to everybody, and what becomes of the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import cast

import pytest
from structlog.testing import capture_logs

from support_agent.cases.pause import end_pause, write_pause
from support_agent.cases.rate_limits import COUNT_HOLDS, Rates, is_from_unknown_sender
from support_agent.config.agent import AgentSettings
from support_agent.core.modes import Mode
from support_agent.mail.message import parse
from support_agent.pipeline import handle
from support_agent.store.mails import Mails
from support_agent.store.records import CaseState, MailStatus, OutboxStatus, mail_id_of
from support_agent.store.store import Store
from support_agent.store.traffic import Passed
from support_agent.transport.submission import Delivery
from tests.fakes_desk import order, proposed_in
from tests.fakes_journey import (
    ANNA,
    CUSTOMERS,
    DESK,
    JAMES,
    NOON,
    STRANGER,
    Clock,
    Office,
    once,
    twice,
    with_agent,
    with_autonomy,
    write,
)
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.seen import (
    ACKNOWLEDGEMENT,
    ANSWER,
    CANCEL,
    FAILURE,
    HUMAN,
    OFF_TOPIC,
    PACKET,
    REFUND,
    SEATS,
    one,
    reason_told,
    state,
    text_of,
)


def test_s12_case_that_has_had_its_mails_goes_to_a_person_without_a_word(office: Office) -> None:
    """RFC 3834, section 2: a machine without marks that goes on in the thread."""
    office = with_agent(office, max_mails_per_case=2)
    last, kinds = None, []
    for text in (REFUND, CANCEL, SEATS):
        mail_id, _ = office.handle(write(text, in_reply_to=last))
        sent = office.sent(mail_id)
        kinds.append(set(sent))
        last = next(iter(sent.values())).message_id
    assert kinds == [{ANSWER}, {ANSWER}, {PACKET}]
    assert one(office, mail_id).reason_code == "screening"
    assert "S12: 2 automatic mails went out in this case" in text_of(office.sent(mail_id)[PACKET])
    assert state(office, mail_id) is CaseState.WITH_PERSON


def test_s12_sender_who_has_had_a_days_mails_gets_no_more_until_the_next_day(office: Office) -> None:
    """Answers and acknowledgements count alike, over all its cases; another sender's are its own."""
    office = with_agent(office, max_mails_per_sender_a_day=2)
    mails = [write(REFUND, number=1), write(HUMAN, number=2), write(CANCEL, number=3), write(REFUND, sender=JAMES)]
    kinds = [set(office.sent(office.handle(raw)[0])) for raw in mails]
    assert kinds == [{ANSWER}, {PACKET, ACKNOWLEDGEMENT}, {PACKET}, {ANSWER}]
    office.clock = Clock(NOON + timedelta(days=1, minutes=1))
    mail_id, _ = office.handle(write(CANCEL, number=4))
    assert set(office.sent(mail_id)) == {ANSWER}


@pytest.mark.parametrize("mode", [Mode.SHADOW, Mode.APPROVE])
def test_s12_proposals_use_up_no_limit(office: Office, mode: Mode) -> None:
    """Failure: the desk read that six automatic mails went to a sender who had three."""
    office = with_agent(with_autonomy(office, start=mode), max_mails_per_sender_a_day=3)
    questions = (REFUND, CANCEL, SEATS)
    kinds = [set(office.sent(office.handle(write(text, number=at))[0])) for at, text in enumerate(questions)]
    assert kinds == [{ANSWER, PACKET, ACKNOWLEDGEMENT}] * 3
    mail_id, _ = office.handle(write(REFUND, number=9))
    assert set(office.sent(mail_id)) == {PACKET}
    assert "S12: 3 automatic mails went to this sender" in text_of(office.sent(mail_id)[PACKET])


def test_s12_proposals_use_up_no_limit_of_the_hour(office: Office) -> None:
    """Two mails leave for each: the packet and the acknowledgement."""
    office = with_agent(with_autonomy(office, start=Mode.SHADOW), max_mails_per_hour=6)
    outcomes = [office.handle(write(REFUND, sender=sender))[1] for sender in CUSTOMERS[:4]]
    assert outcomes == ["escalated"] * 3 + ["held"]


def test_s12_an_approved_answer_counts_from_then_on(office: Office) -> None:
    given = proposed_in(with_agent(office, max_mails_per_case=2))
    parent = one(office, given.mail_id).message_id
    order(given.office, given.lines["approve"])
    mail_id, _ = given.office.handle(write(CANCEL, sender=JAMES, in_reply_to=parent, number=5))
    assert "S12: 2 automatic mails went out in this case" in text_of(office.sent(mail_id)[PACKET])


def test_s12_mail_of_a_sender_with_a_days_packets_is_filed(office: Office) -> None:
    """A ticket robot: the desk has had enough of it and was told so, and the operator's log says so."""
    office = with_agent(office, max_packets_per_sender_a_day=2)
    for number in range(3):
        office.handle(write(HUMAN, number=number))
    with capture_logs() as logs:
        mail_id, outcome = office.handle(write(HUMAN, number=3), twice())
    mail = one(office, mail_id)
    assert (outcome, office.sent(mail_id), mail.status) == ("filed", {}, MailStatus.FILED)
    assert (mail.screening_rule, mail.reason_code) == ("S12", "S12")
    assert {entry["event"] for entry in logs if entry["log_level"] == "critical"} == {"sender_over_limit"}
    assert state(office, mail_id) is CaseState.OPEN


def test_s12_desk_is_told_once_a_day_that_further_mails_of_a_sender_are_filed(office: Office) -> None:
    """Nobody is muted in silence: one packet more, with how many there were, and no word to the sender."""
    office = with_agent(office, max_packets_per_sender_a_day=2)
    outcomes = []
    for day in range(3):
        office.clock = Clock(NOON + timedelta(days=day, minutes=day))
        mails = [
            office.handle(write(HUMAN, sender=STRANGER, proof=None, number=day * 9 + n), twice()) for n in range(5)
        ]
        outcomes.append([outcome for _, outcome in mails])
        notice = mails[2][0]
        assert reason_told(office, notice) == (
            "flood",
            "the desk has had 2 packets about this sender within a day, the limit: further mails of this"
            " sender are only filed for a day, `support-agent doctor` counts them",
        )
        assert (set(office.sent(notice)), one(office, notice).status) == ({PACKET}, MailStatus.ESCALATED)
        assert state(office, notice) is CaseState.WITH_PERSON
    assert outcomes == [["escalated"] * 3 + ["filed"] * 2] * 3
    assert office.store.traffic.ended_for("S12", NOON) == 6


@pytest.mark.parametrize(("owner", "level"), [(ANNA, 3), (STRANGER, 2)])
@pytest.mark.parametrize("proof", [None, "spf"])
def test_s12_forged_mail_uses_up_nothing_of_the_address_owner(
    office: Office, proof: str | None, owner: str, level: int
) -> None:
    """Mail without proof fills only the share of mail without proof, and its notice is not the owner's."""
    office = with_agent(office, max_packets_per_sender_a_day=2)
    forged = [office.handle(write(HUMAN, sender=owner, proof=proof, number=n))[1] for n in range(5)]
    assert forged == ["escalated"] * 3 + ["filed"] * 2
    own = [office.handle(write(HUMAN, sender=owner, number=9 + n)) for n in range(4)]
    assert [outcome for _, outcome in own] == ["escalated"] * 3 + ["filed"]
    assert one(office, own[0][0]).level == level
    assert [set(office.sent(mail_id)) for mail_id, _ in own[:2]] == [{PACKET, ACKNOWLEDGEMENT}] * 2
    assert reason_told(office, own[2][0])[0] == "flood"


def test_s12_mails_without_a_sender_are_one_sender(office: Office) -> None:
    """Failure: whoever leaves the address out fills the desk; it is told once that there are more of them."""
    office = with_agent(office, max_packets_per_sender_a_day=1)
    raws = [write(REFUND, number=number).replace(b"From: <", b"From: <a@example.net>, <") for number in range(4)]
    handled = [office.handle(raw) for raw in raws]
    assert [set(office.sent(mail_id)) for mail_id, _ in handled] == [{PACKET}, {PACKET}, set(), set()]
    assert [outcome for _, outcome in handled] == ["escalated", "escalated", "filed", "filed"]
    assert reason_told(office, handled[1][0])[0] == "flood"
    assert office.handle(write(HUMAN, sender=STRANGER, proof=None))[1] == "escalated"


@pytest.mark.parametrize("proof", ["dmarc", "spf", None])
@pytest.mark.parametrize("text", [REFUND, HUMAN])
def test_sender_whose_address_cannot_be_written_to_goes_to_the_desk_alone(
    office: Office, proof: str | None, text: str
) -> None:
    """Failure: the mail was refused, the journey failed on it, and the desk got a notice a mail without end."""
    office = with_agent(office, max_packets_per_sender_a_day=2, acknowledges_from_level=1)
    raws = [write(text, sender="j\u00fcrgen@q.example", proof=proof, number=number) for number in range(4)]
    handled = [office.handle(raw, twice()) for raw in raws]
    assert [outcome for _, outcome in handled] == ["escalated"] * 3 + ["filed"]
    assert [set(office.sent(mail_id)) for mail_id, _ in handled] == [{PACKET}] * 3 + [set()]
    if text is REFUND:
        why = "j\u00fcrgen@q.example has characters before the @ that need SMTPUTF8, which is not supported"
        assert reason_told(office, handled[0][0]) == ("unwritable", why)


def test_staff_reply_to_an_address_that_cannot_be_written_to_is_not_passed_on(office: Office) -> None:
    """Who wrote it hears that, and why; the journey does not fail."""
    first, _ = office.handle(write(REFUND, sender="j\u00fcrgen@q.example"))
    reply, _ = office.handle(write("We do.", sender=DESK, in_reply_to=office.sent(first)[PACKET].message_id))
    assert set(office.sent(reply)) == {FAILURE}
    assert "need SMTPUTF8" in str(reason_told(office, reply, FAILURE)[1])


def test_s12_journey_that_lost_its_record_does_not_count_its_own_mail(office: Office) -> None:
    office = with_agent(office, max_mails_per_case=1, max_mails_per_sender_a_day=1)
    mail_id, _ = office.handle(write(HUMAN), twice())
    assert handle(mail_id, once(), office.stages) == "escalated"
    assert set(office.sent(mail_id)) == {PACKET, ACKNOWLEDGEMENT}


# The limit that counts everybody


def crowd(count: int) -> list[bytes]:
    """As many mails, each of another customer."""
    return [write(REFUND, sender=sender) for sender in CUSTOMERS[:count]]


def test_s12_above_the_hourly_limit_mails_wait_and_nothing_goes_out(office: Office) -> None:
    """Everybody's mails together; a mail that waits is neither planned nor bounced nor lost."""
    office = with_agent(office, max_mails_per_hour=3)
    handled = [office.handle(raw) for raw in crowd(5)]
    assert [outcome for _, outcome in handled] == ["answered"] * 3 + ["held"] * 2
    assert len(office.transport.given) == 3
    for mail_id, _ in handled[3:]:
        assert (one(office, mail_id).status, office.store.plans.get(mail_id)) == (MailStatus.NEW, None)


def test_s12_packets_count_for_the_hourly_limit(office: Office) -> None:
    """A storm of mails that nothing answers, or of forged ones, must not bury the desk either."""
    office = with_agent(office, max_mails_per_hour=8)
    raws = [write(OFF_TOPIC, sender=f"c{number}@c{number}.example", proof=None) for number in range(6)]
    assert [office.handle(raw)[1] for raw in raws] == ["escalated"] * 4 + ["held"] * 2
    assert [recipient for recipient, _ in office.transport.given] == [DESK] * 4


def strangers(count: int, proof: str = "spf") -> list[bytes]:
    """As many mails, each of another sender whom the company does not know; the desk alone hears of them."""
    return [write(OFF_TOPIC, sender=f"s{number}@s{number}.example", proof=proof) for number in range(count)]


@pytest.mark.parametrize("proof", ["spf", "dmarc"])
@pytest.mark.parametrize(("limit", "half"), [(1, 1), (5, 2), (8, 4)])
def test_s12_unknown_have_half_of_the_hour(office: Office, limit: int, half: int, proof: str) -> None:
    """Failure: whoever writes as anybody, or from ever new addresses of one domain, stopped the agent for customers."""
    office = with_agent(office, max_mails_per_hour=limit, acknowledges_from_level=3)
    assert [office.handle(raw)[1] for raw in strangers(half + 1, proof)] == ["escalated"] * half + ["held"]
    rest = crowd(limit - half + 1)
    assert [office.handle(raw)[1] for raw in rest] == ["answered"] * (limit - half) + ["held"]
    assert office.stages.breaker.deciding() == office.stages.rates.breaker(office.clock())
    office.clock = Clock(NOON + timedelta(hours=1, minutes=1))
    assert handle(mail_id_of(strangers(half + 1, proof)[-1]), once(), office.stages) == "escalated"


def test_s12_the_desk_hears_once_an_hour_that_unknown_wait(office: Office) -> None:
    """By a stranger's mail; what customers write goes on, and when that stops too the desk hears of it as well."""
    office = with_agent(office, max_mails_per_hour=5, acknowledges_from_level=3)
    waiting = [office.handle(raw)[0] for raw in strangers(4)][2:]
    assert not office.stages.breaker.deciding()
    assert [office.stages.notices.notify_breaker() for _ in range(2)] == [True, False]
    code, why = reason_told(office, waiting[0], FAILURE)
    assert code == "strangers_breaker"
    told = "2 automatic mails within an hour for senders who are no known customers, the limit (S12); 2 mails wait"
    assert str(why).startswith(told)
    assert [office.handle(raw)[1] for raw in crowd(3)] == ["answered"] * 2 + ["held"]
    assert [office.stages.notices.notify_breaker() for _ in range(2)] == [True, False]


def test_s12_unknown_who_wait_keep_no_customer_waiting(office: Office) -> None:
    """Failure: the room of the next hour went to the oldest that wait, and these to wait again."""
    full = with_agent(office, max_mails_per_hour=1, acknowledges_from_level=2)
    later = with_agent(full, max_mails_per_hour=6)
    customers = crowd(3)
    first = Shift(full, FakeMailbox([write(CANCEL), *strangers(5), *customers]))
    first.work()
    assert {one(office, mail_id_of(raw)).status for raw in customers} == {MailStatus.NEW}
    later = replace(later, clock=Clock(NOON + timedelta(hours=1, minutes=1)))
    second = Shift(later, FakeMailbox([]))
    second.engine.adopt(first.engine)
    second.work()
    assert {one(office, mail_id_of(raw)).status for raw in customers} == {MailStatus.ANSWERED}


def test_s12_follow_ups_that_wait_for_an_older_mail_take_nobodys_room(office: Office) -> None:
    """Failure: they filled the room of the hour, waited again, and a customer behind them waited with them."""
    office = with_agent(office, max_mails_per_hour=6, acknowledges_from_level=3)
    unproven = write(OFF_TOPIC, sender=ANNA, proof="spf")
    root = parse(unproven).message_id
    follow_ups = [write(f"And {number}?", in_reply_to=root, number=number) for number in range(2, 9)]
    last = write(REFUND, sender=JAMES)
    shift = Shift(office, FakeMailbox(strangers(5)))  # of which one tells the desk that the others wait
    shift.work()
    write_pause(office.settings.agent, "for a moment")
    shift.mailbox.mails += [unproven, *follow_ups, last]
    shift.work()
    assert one(office, mail_id_of(last)).status is MailStatus.NEW
    assert {one(office, mail_id_of(raw)).case_id for raw in follow_ups} == {one(office, mail_id_of(unproven)).case_id}
    end_pause(office.settings.agent)
    shift.work()
    assert one(office, mail_id_of(last)).status is MailStatus.ANSWERED
    assert one(office, mail_id_of(unproven)).status is MailStatus.NEW


@pytest.mark.parametrize("proof", [None, "spf", "dmarc"])
def test_s22_a_strangers_mail_that_waits_in_a_thread_holds_back_no_participant(
    office: Office, proof: str | None
) -> None:
    """It is in a case of its own; the mails of one case are of its participants and the staff, and keep their order."""
    office = with_agent(office, max_mails_per_hour=6, acknowledges_from_level=3)
    first, _ = office.handle(write(REFUND))
    thread = office.sent(first)[ANSWER].message_id
    for raw in strangers(3):
        office.handle(raw)
    stranger = write("And I?", sender=STRANGER, proof=proof, in_reply_to=thread, number=2)
    assert office.handle(stranger)[1] == "held"
    both = f"References: {thread} {parse(stranger).message_id}\r\n".encode()
    follow_up, outcome = office.handle(both + write(CANCEL, in_reply_to=thread, number=3))
    assert (outcome, one(office, follow_up).case_id) == ("answered", one(office, first).case_id)


@pytest.mark.parametrize("kinds", ["automatic", "packets"])
def test_s12_what_stands_behind_a_plus_makes_no_other_sender(office: Office, kinds: str) -> None:
    """Failure: a machine that answers from a new address each time met no limit but that of the hour."""
    office = with_agent(office, max_mails_per_sender_a_day=2, max_packets_per_sender_a_day=2)
    text = REFUND if kinds == "automatic" else OFF_TOPIC
    raws = [write(text, sender=f"ticket+{number}@desk.example", number=number) for number in range(4)]
    raws += [write(text, sender="ticketing@desk.example"), write(text, sender="ticket+1@other.example")]
    handled = [office.handle(raw) for raw in raws]
    if kinds == "automatic":
        assert [outcome for _, outcome in handled] == ["answered"] * 2 + ["escalated"] * 2 + ["answered"] * 2
    else:
        assert [outcome for _, outcome in handled] == ["escalated"] * 3 + ["filed"] + ["escalated"] * 2


def test_s12_the_notices_of_what_went_wrong_count_too(office: Office) -> None:
    """Each is a mail to the desk; a storm of bounces must stop the machine like any other."""
    office = with_agent(office, max_mails_per_hour=2)
    office.transport.deliveries = [Delivery(status="failed", detail="550 no")]
    assert set(office.sent(office.handle(write(REFUND))[0])) == {ANSWER, FAILURE}
    assert office.handle(write(CANCEL, sender=JAMES))[1] == "held"


def test_s12_hourly_limit_has_room_again_after_an_hour(office: Office) -> None:
    office = with_agent(office, max_mails_per_hour=1)
    raws = crowd(3)
    assert [office.handle(raw)[1] for raw in raws[:2]] == ["answered", "held"]
    office.clock = Clock(NOON + timedelta(hours=1, minutes=1))
    assert handle(mail_id_of(raws[1]), once(), office.stages) == "answered"
    assert office.handle(raws[2])[1] == "held"


def test_s12_hourly_limit_is_told_to_the_desk_once_an_hour(office: Office) -> None:
    """By the first mail that waits, which is a person's then; the operator's log has an alarm. Not a packet a mail."""
    office = with_agent(office, max_mails_per_hour=2)
    waiting = [office.handle(raw)[0] for raw in crowd(5)][2:]
    with capture_logs() as logs:
        told = [office.stages.notices.notify_breaker() for _ in range(3)]
    assert told == [True, False, False]
    assert [entry["event"] for entry in logs if entry["log_level"] == "critical"] == ["breaker_tripped"]
    assert [recipient for recipient, _ in office.transport.given][2:] == [DESK]
    code, why = reason_told(office, waiting[0], FAILURE)
    assert (code, one(office, waiting[0]).status) == ("breaker", MailStatus.ESCALATED)
    assert str(why).startswith("2 automatic mails within an hour, the limit (S12); 3 mails wait")
    assert [one(office, mail_id).status for mail_id in waiting[1:]] == [MailStatus.NEW] * 2
    office.clock = Clock(NOON + timedelta(hours=1, minutes=1))
    assert not office.stages.notices.notify_breaker(), "there is room again"


def test_s12_hourly_limit_is_told_once_though_the_process_dies(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the desk's mail is in the outbox, and before the mail that waits is settled."""
    office = with_agent(office, max_mails_per_hour=1)
    first, *_ = [office.handle(raw)[0] for raw in crowd(3)][1:]

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Mails, "end", die)
        with pytest.raises(KeyboardInterrupt):
            office.stages.notices.notify_breaker()
    assert office.stages.notices.notify_breaker()
    assert [row.mail_id for row in office.store.outbox.find(kind=FAILURE)] == [first]


def test_s12_hourly_limit_holds_right_before_each_mail_is_sent(office: Office) -> None:
    """What piled up in the outbox while the server was away goes out no faster than the rest."""
    office.transport.deliveries = [Delivery(status="retry", detail="421 later")] * 4
    ids = [office.handle(raw)[0] for raw in crowd(4)]
    office = with_agent(office, max_mails_per_hour=3)
    office.clock = Clock(NOON + timedelta(hours=2))
    with capture_logs() as logs:
        statuses = [office.stages.outbox_sender.deliver(office.sent(mail_id)[ANSWER]).value for mail_id in ids]
    assert statuses == ["sent", "sent", "sent", "held"]
    held = [(entry["outbox_id"], entry["why"]) for entry in logs if entry["event"] == "delivery_held"]
    why = "3 automatic mails within an hour, the limit (S12)"
    assert held == [(office.sent(ids[3])[ANSWER].id, why)]
    breaker = office.stages.breaker
    assert (breaker.any(), breaker.deciding()) == (why, ""), "what may be sent is no matter of deciding"
    assert office.stages.rates.used(office.clock())[0] == ("this hour", 3, 3)
    assert office.sent(ids[3])[ANSWER].status is OutboxStatus.READY
    office.clock = Clock(NOON + timedelta(hours=4))
    assert office.stages.outbox_sender.deliver(office.sent(ids[3])[ANSWER]).value == "sent"


# A clock that was ahead


@dataclass
class Counted:
    """`Store.traffic` with numbers that a test sets; `asked` is how often they were counted."""

    queued: int = 0
    asked: int = 0

    def passed(self, *_: object) -> Passed:
        """Count."""
        self.asked += 1
        return Passed(self.queued, self.queued)


def test_s12_the_hour_is_counted_seldom_far_from_its_limit_and_each_time_near_it() -> None:
    """Failure: each mail counted the whole hour three times, so a hundred mails a second counted a million rows."""
    traffic = Counted()
    rates = Rates(cast("Store", SimpleNamespace(traffic=traffic)), AgentSettings(max_mails_per_hour=6_400))
    assert {rates.breaker(NOON) for _ in range(101)} == {""}  # 6,400 may pass yet: a 64th of them without a count
    assert traffic.asked == 1
    traffic.queued = 6_399
    assert rates.breaker(NOON) == ""
    traffic.queued = 6_400
    assert "6400 automatic mails within an hour" in rates.breaker(NOON)
    assert traffic.asked == 3


def test_s12_a_count_does_not_hold_for_long() -> None:
    """Rule: other workers pass mails as well, so what was counted minutes ago is counted again."""
    traffic = Counted()
    rates = Rates(cast("Store", SimpleNamespace(traffic=traffic)), AgentSettings(max_mails_per_hour=6_400))
    assert not rates.sending_breaker(NOON)
    traffic.queued = 6_400
    assert not rates.sending_breaker(NOON + COUNT_HOLDS / 2)
    assert rates.sending_breaker(NOON + COUNT_HOLDS)


def test_s12_a_count_of_a_clock_that_was_ahead_does_not_hold() -> None:
    """Rule: a clock that was set back by days would otherwise keep an old count for days."""
    traffic = Counted()
    rates = Rates(cast("Store", SimpleNamespace(traffic=traffic)), AgentSettings(max_mails_per_hour=6_400))
    assert not rates.breaker(NOON + timedelta(days=30))
    traffic.queued = 6_400
    assert rates.breaker(NOON)


def test_s12_a_mail_whose_sender_is_not_identified_yet_does_not_count_among_the_unknown(office: Office) -> None:
    """Rule: it may be a customer's; half of the hour is shared only by those who are known to be none."""
    waiting, unknown, customer = write(REFUND), write(REFUND, sender=STRANGER, number=2), write(REFUND, number=3)
    mail_id = office.receive(waiting)
    assert one(office, mail_id).level is None
    assert not is_from_unknown_sender(one(office, mail_id))
    assert is_from_unknown_sender(one(office, office.handle(unknown)[0]))
    assert not is_from_unknown_sender(one(office, office.handle(customer)[0]))


def test_s12_what_was_written_while_the_clock_was_ahead_stops_nobody(office: Office) -> None:
    """Failure: held for the days, or years, by which the clock was ahead; and the desk heard nothing of it."""
    office = with_agent(office, max_mails_per_hour=2, max_mails_per_sender_a_day=2)
    office.clock = Clock(NOON + timedelta(days=30))
    mails = [office.handle(raw)[0] for raw in (write(HUMAN), *crowd(3))]
    assert office.stages.notices.notify_breaker()
    office.clock = Clock(NOON)
    assert office.handle(write(CANCEL, number=7))[1] == "answered"
    assert [handle(mail_id, once(), office.stages) for mail_id in mails[2:]] == ["answered", "held"]
    assert [office.stages.notices.notify_breaker() for _ in range(2)] == [True, False]


def test_s61_a_mail_that_was_put_off_while_the_clock_was_ahead_is_tried_now(office: Office) -> None:
    office.clock = Clock(NOON + timedelta(days=365))
    office.transport.deliveries = [Delivery(status="retry", detail="421 later")]
    mail_id, _ = office.handle(write(REFUND))
    office.clock = Clock(NOON)
    Shift(office, FakeMailbox([])).work()
    assert office.sent(mail_id)[ANSWER].status is OutboxStatus.SENT
