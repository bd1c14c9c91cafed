"""Our agent and other installations of itself: marks, hop count and limits each end the exchange by themselves."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from support_agent.mail.keys import ORIGIN_HEADER
from support_agent.mail.message import parse
from support_agent.store.records import MailStatus
from tests.fakes_journey import DESK, write
from tests.integration.zoo.conftest import Opener
from tests.integration.zoo.post_office import OurHouse, Posted, PostOffice

Worlds = Callable[..., PostOffice]
ADDRESSES = ("support@harborfile.example", "help@northwind.example", "service@contoso.example")
MARKS = ("Auto-Submitted", "X-Auto-Response-Suppress")
TEXT = "Can I get a refund?"
ENDED = (MailStatus.ANSWERED, MailStatus.ESCALATED, MailStatus.FILED)


def by_hand(sender: str, recipient: str) -> Posted:
    """What a person writes from one company's support mailbox to the other's."""
    raw = write(TEXT, sender=sender, proof=None).replace(f"To: {ADDRESSES[0]}".encode(), f"To: {recipient}".encode())
    return Posted(sender, recipient, raw.partition(b"\r\n")[2])


def without(posted: Posted, *names: str) -> Posted:
    """The same mail after a gateway removed header fields."""
    pattern = rb"(?im)^(?:%s):[^\n]*\n(?:[ \t][^\n]*\n)*" % b"|".join(re.escape(name.encode()) for name in names)
    head, gap, body = posted.raw.partition(b"\r\n\r\n")
    return posted._replace(raw=re.sub(pattern, b"", head + b"\r\n").rstrip(b"\r\n") + gap + body)


def between(post: PostOffice) -> list[Posted]:
    """What went from one installation to another, or back to itself."""
    return [posted for posted in post.carried if posted.recipient in ADDRESSES and posted.envelope_from in ADDRESSES]


def ring(gateway: Callable[[Posted], Posted]) -> Callable[[Posted], Posted]:
    """A gateway after which each installation's answers seem to come from the one before the one they go to."""
    behind = dict(zip(ADDRESSES, (ADDRESSES[2], ADDRESSES[0], ADDRESSES[1]), strict=True))

    def carried(posted: Posted) -> Posted:
        if posted.recipient == DESK:
            return posted
        sender = behind[posted.envelope_from]
        onward = next(one for one in ADDRESSES if behind[one] == posted.envelope_from)
        head, gap, body = posted.raw.partition(b"\r\n\r\n")
        head = re.sub(rb"(?im)^From:[^\n]*", b"From: <%s>\r" % posted.envelope_from.encode(), head)
        head = re.sub(rb"(?im)^To:[^\n]*", b"To: %s\r" % onward.encode(), head)
        assert sender != onward
        return gateway(Posted(posted.envelope_from, onward, head.rstrip(b"\r") + gap + body))

    return carried


def houses(open_house: Opener, count: int) -> list[OurHouse]:
    return [open_house(address) for address in ADDRESSES[:count]]


def assert_all_ended(opened: list[OurHouse]) -> None:
    """Nothing is lost: each mail has its record, and each record an end."""
    for house in opened:
        records = house.office.store.mails.find()
        assert len(records) == len(house.handled)
        assert all(record.status in ENDED for record in records)


@pytest.mark.parametrize("first", [0, 1])
def test_two_of_us_say_one_thing(first: int, open_house: Opener, world: Worlds) -> None:
    """S2, S40: what one installation answers to the other is marked, so the other is silent."""
    opened = houses(open_house, 2)
    post = world(*opened)

    post.drain(by_hand(ADDRESSES[first], ADDRESSES[1 - first]))

    assert len(between(post)) == 2, "the mail and its answer"
    assert post.packets == 0
    assert_all_ended(opened)


def test_three_of_us_in_a_ring_say_one_thing(open_house: Opener, world: Worlds) -> None:
    """S2, S40: also where a gateway lets each answer go on to the next of three."""
    opened = houses(open_house, 3)
    post = world(*opened)
    post.gateway = ring(lambda posted: posted)

    post.drain(by_hand(ADDRESSES[2], ADDRESSES[0]))

    assert len(between(post)) == 2
    assert post.packets == 0
    assert_all_ended(opened)


@pytest.mark.parametrize("count", [2, 3])
def test_hop_count_ends_what_the_marks_do_not(count: int, open_house: Opener, world: Worlds) -> None:
    """S11, S50: a gateway removes every standard mark; our own header counts the answers and stops at three."""
    opened = houses(open_house, count)
    post = world(*opened)
    strip: Callable[[Posted], Posted] = lambda posted: without(posted, *MARKS)  # noqa: E731
    post.gateway = strip if count == 2 else ring(strip)

    post.drain(by_hand(ADDRESSES[1], ADDRESSES[0]), most_rounds=8)

    answers = between(post)[1:]
    assert 1 <= len(answers) <= opened[0].office.settings.agent.max_hops
    assert post.packets <= len(answers)
    assert_all_ended(opened)


@pytest.mark.parametrize("count", [2, 3])
def test_limits_end_what_no_mark_does(count: int, open_house: Opener, world: Worlds) -> None:
    """S12: nothing at all says that machines are talking, and the count of mails ends it."""
    opened = houses(open_house, count)
    post = world(*opened)
    strip: Callable[[Posted], Posted] = lambda posted: without(posted, *MARKS, ORIGIN_HEADER)  # noqa: E731
    post.gateway = strip if count == 2 else ring(strip)
    limits = opened[0].office.settings.agent

    rounds = post.drain(by_hand(ADDRESSES[1], ADDRESSES[0]), most_rounds=count * limits.max_mails_per_sender_a_day + 2)

    most = limits.max_mails_per_case if count == 2 else limits.max_mails_per_sender_a_day
    for house in opened:
        written = [posted for posted in between(post)[1:] if posted.envelope_from == house.address]
        assert len(written) <= most
    assert post.packets <= rounds
    assert_all_ended(opened)


def test_own_answer_that_comes_back_is_dropped_with_a_record(open_house: Opener, world: Worlds) -> None:
    """S9: an installation that is made to write to itself knows its own mail, whatever is removed from it."""
    house = open_house()
    post = world(house)
    stranger = "someone@elsewhere.example"
    first = Posted(stranger, house.address, by_hand(stranger, house.address).raw)
    post.gateway = lambda posted: without(posted._replace(recipient=house.address), *MARKS, ORIGIN_HEADER)

    post.drain(first, most_rounds=3)

    assert [record.screening_rule for record in house.office.store.mails.find()] == [None, "S9"]
    assert_all_ended([house])


def test_mail_that_seems_to_come_from_ourselves_is_dropped(open_house: Opener, world: Worlds) -> None:
    """S9: our own address as the sender is a loop or a forgery; neither gets an answer."""
    house = open_house()
    post = world(house)

    post.drain(by_hand(house.address, house.address), most_rounds=1)

    assert [record.screening_rule for record in house.office.store.mails.find()] == ["S9"]
    assert parse(post.carried[0].raw).from_ is not None
    assert_all_ended([house])
