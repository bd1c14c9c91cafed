"""Our agent and machines that answer mail: one answer to one mail, then silence; people are heard all the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from support_agent.mail.message import parse
from support_agent.store.records import MailStatus, OutboxStatus, OutgoingKind
from tests.fakes_journey import DESK, write
from tests.integration.zoo.conftest import Opener
from tests.integration.zoo.post_office import OurHouse, Posted, PostOffice, Reader
from tests.integration.zoo.responders import (
    MARKED,
    MARKLESS,
    UNLUCKY,
    Bouncer,
    Counter,
    Exchange,
    Gmail,
    OldBouncer,
    Parrot,
    Quoter,
    Responder,
    Salesman,
    Shifter,
    ThreadlessShifter,
)

Worlds = Callable[..., PostOffice]
ADDRESS = "office@partner.example"
REFUND = "Hello,\r\n\r\ncan I get a refund?"
PASSWORD = "Thank you. And how do I reset my password?"


def question(text: str = REFUND, sender: str = ADDRESS, in_reply_to: str | None = None, number: int = 1) -> Posted:
    """A person's mail from the address that a machine looks after."""
    raw = write(text, sender=sender, proof=None, in_reply_to=in_reply_to, number=number)
    return Posted(sender, "support@harborfile.example", raw.partition(b"\r\n")[2])


def sent_to_customer(world: PostOffice, house: OurHouse) -> list[bytes]:
    """What our machine wrote by itself, to anybody but the desk."""
    ours = [posted for posted in world.carried if posted.envelope_from.endswith(house.address.partition("@")[2])]
    return [
        posted.raw
        for posted in ours
        if posted.recipient not in (DESK, house.address) and parse(posted.raw).header("Auto-Submitted") is not None
    ]


@pytest.mark.parametrize("honours_marks", [True, False], ids=["polite", "obtuse"])
@pytest.mark.parametrize("kind", MARKED)
def test_machine_with_marks_gets_the_one_answer(
    kind: type[Responder], honours_marks: bool, open_house: Opener, world: Worlds
) -> None:
    """S1 to S9: a person's mail is answered once; what a machine says to that is filed, and the desk hears nothing."""
    house, peer = open_house(), kind(ADDRESS, honours_marks)
    post = world(house, peer)

    post.drain(question(), most_rounds=4)

    assert len(sent_to_customer(post, house)) == 1
    assert post.packets == 0
    assert house.deliveries == len(house.handled) == 1 + peer.answered
    assert house.unended() == []


@pytest.mark.parametrize("kind", [*MARKED, *MARKLESS])
def test_s12_machine_at_a_desk_with_a_machines_name_gets_three_notices_at_most_and_none_if_it_has_marks(
    kind: type[Responder], open_house: Opener, world: Worlds
) -> None:
    """S8: a person who shares that address is notified that a reply was not passed on; a machine may answer that."""
    house, machine = open_house(), kind("postmaster@harborfile.example")
    desk = house.office.settings.desk.model_copy(update={"address": machine.address})
    house.office = replace(house.office, settings=house.office.settings.model_copy(update={"desk": desk}))
    post = world(house, machine, Reader(ADDRESS))

    post.drain(question("Let me talk to a human."), most_rounds=12)

    assert 1 <= len(post.to(machine.address)) <= (1 if kind in MARKED else 4)
    assert len(post.to(ADDRESS)) == 1
    assert house.unended() == []


@pytest.mark.parametrize("body", UNLUCKY)
@pytest.mark.parametrize("kind", [kind for kind in MARKED if kind not in (Bouncer, OldBouncer)])
def test_machine_that_speaks_of_failures_is_no_bounce(
    kind: type[Responder], body: str, open_house: Opener, world: Worlds
) -> None:
    """S64: what arrived stays sent, and the customer is written to again, whatever the machine's notice says."""
    house, peer = open_house(), type(kind.__name__, (kind,), {"body": body})(ADDRESS)
    post = world(house, peer)

    post.drain(question(), most_rounds=4)

    store = house.office.store
    assert [row.status for row in store.outbox.find(kind=OutgoingKind.ANSWER)] == [OutboxStatus.SENT]
    assert store.suppressions.all(post.clock.instant) == ()


@pytest.mark.parametrize("kind", [kind for kind in MARKED if kind not in (Bouncer, OldBouncer)])
def test_person_behind_a_machine_is_answered_again(kind: type[Responder], open_house: Opener, world: Worlds) -> None:
    """What the machine wrote in between does not close the thread for the person: the follow-up gets its answer."""
    house, peer = open_house(), kind(ADDRESS)
    post = world(house, peer)
    post.drain(question())
    first = parse(sent_to_customer(post, house)[0]).message_id

    post.drain(question(PASSWORD, in_reply_to=first, number=2), most_rounds=4)

    assert len(sent_to_customer(post, house)) == 2
    assert post.packets == 0
    cases = {mail.case_id for mail in house.office.store.mails.find(status=MailStatus.ANSWERED)}
    assert len(cases) == 1, "both mails are in one case"


@pytest.mark.parametrize(
    ("kind", "proof"), [*((kind, "dmarc") for kind in MARKLESS), (Counter, "spf"), (Parrot, "spf"), (Counter, "none")]
)
def test_machine_without_marks_meets_the_limits(
    kind: type[Responder], proof: str, open_house: Opener, world: Worlds
) -> None:
    """S12: nobody can tell it from a person at first, so mails and packets are counted, and then there is silence."""
    house, peer = open_house(proof=proof), kind(ADDRESS)
    post, limits = world(house, peer), house.office.settings.agent

    post.drain(question(), most_rounds=2 * (limits.max_packets_per_sender_a_day + 1))

    is_threaded = proof == "dmarc" and peer.thread(parse(b"Message-ID: <a@b>\r\n\r\n")) != []
    most = limits.max_mails_per_case if is_threaded else limits.max_mails_per_sender_a_day
    assert len(sent_to_customer(post, house)) <= (most if proof != "none" else 0)
    assert post.packets <= limits.max_packets_per_sender_a_day
    answers = [parse(row.raw).text for row in house.office.store.outbox.find(kind=OutgoingKind.ANSWER)]
    assert len(answers) == len(set(answers)), "the same answer twice"
    assert house.deliveries == len(house.handled)
    assert house.unended() == []


@pytest.mark.parametrize("kind", [Parrot, Quoter, Salesman])
def test_person_behind_a_machine_without_marks_is_not_lost(
    kind: type[Responder], open_house: Opener, world: Worlds
) -> None:
    """S12: after a day the limits have room again, and a person's mail is answered or on the desk."""
    house, peer = open_house(), kind(ADDRESS)
    post = world(house, peer)
    post.drain(question())
    before = len(sent_to_customer(post, house)) + post.packets
    post.clock.instant += timedelta(days=1)

    post.drain(question(PASSWORD, number=2), most_rounds=24)

    assert len(sent_to_customer(post, house)) + post.packets > before


def test_machine_with_many_addresses_that_answers_our_letter_gets_no_other(open_house: Opener, world: Worlds) -> None:
    """S12: what it writes to is a letter to somebody else, so a person gets it, and it gets nothing to answer."""
    house = open_house()
    post = world(house, Shifter(ADDRESS))

    post.drain(question(), most_rounds=8)

    assert (len(sent_to_customer(post, house)), post.packets, house.unended()) == (1, 1, [])


def test_machine_with_many_addresses_and_no_thread_meets_the_breaker(open_house: Opener, world: Worlds) -> None:
    """S12: who is somebody else in each mail meets the half of the hour that all strangers share; the desk is told."""
    house = open_house(max_mails_per_hour=8)
    post = world(house, ThreadlessShifter(ADDRESS))

    post.drain(question(), most_rounds=40)

    assert len(sent_to_customer(post, house)) + post.packets == 8 // 2 + 1
    assert house.deliveries == len(house.handled)
    waiting = house.office.store.outbox.find(status=OutboxStatus.READY)
    assert waiting or house.unended(), "what is too much waits until the hour has room"


def test_slow_machine_is_no_way_around_the_limits(open_house: Opener, world: Worlds) -> None:
    """S12: a machine that answers after a day each is told the same things no more often than a person would be."""
    house = open_house()
    post = world(house, Parrot(ADDRESS))
    post.round_length = timedelta(hours=13)

    post.drain(question(), most_rounds=20)

    assert len(sent_to_customer(post, house)) <= house.office.settings.agent.max_mails_per_case
    assert house.unended() == []


def test_vacation_notices_of_a_month_are_all_filed(open_house: Opener, world: Worlds) -> None:
    """S2, S5: a person on holiday writes each fifth day; each mail is answered, each notice filed."""
    house, peer = open_house(), Gmail(ADDRESS)
    post = world(house, peer)
    texts = (REFUND, PASSWORD, "How do I cancel?")

    for number, text in enumerate(texts):
        post.drain(question(text, number=number))
        post.clock.instant += timedelta(days=5)

    assert (len(sent_to_customer(post, house)), peer.answered, post.packets) == (3, 3, 0)
    assert len(house.office.store.mails.find(status=MailStatus.FILED)) == 3


def test_customer_who_is_away_is_not_given_to_a_person(open_house: Opener, world: Worlds) -> None:
    """S2: a known customer's out of office after our answer is no reason for a packet."""
    house, peer = open_house(), Exchange("anna.keller@example.net")
    post = world(house, peer)

    post.drain(question(sender=peer.address))

    assert (len(sent_to_customer(post, house)), peer.answered, post.packets) == (1, 1, 0)
    assert len(house.office.store.mails.find(status=MailStatus.FILED)) == 1
