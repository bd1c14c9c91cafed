"""A world of mail without a network: houses that get mails and send others, a clock that goes on with each round.

Invariant: what is sent in one round arrives in the next, in order, and every mail is counted; `drain` fails where
mails still move after the rounds it was given. Checked by tests/integration/zoo/test_post_office.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import NamedTuple, Protocol

from support_agent.mail.message import parse
from support_agent.store.records import MailId, MailStatus
from tests.fakes_journey import DESK, Clock, Office

MINUTE = timedelta(minutes=1)


class Posted(NamedTuple):
    """One mail on its way; `envelope_from` is empty for a bounce."""

    envelope_from: str
    recipient: str
    raw: bytes


class House(Protocol):
    """Whoever gets mails and may send others because of them."""

    def lives_at(self, address: str) -> bool:
        """Whether mail to an address comes here."""

    def receive(self, posted: Posted, now: datetime) -> Sequence[Posted]:
        """Take a mail; what is sent because of it."""


@dataclass
class Reader:
    """A person's mailbox: takes everything, sends nothing."""

    address: str
    inbox: list[bytes] = field(default_factory=list)

    def lives_at(self, address: str) -> bool:
        return address == self.address

    def receive(self, posted: Posted, now: datetime) -> Sequence[Posted]:
        self.inbox.append(posted.raw)
        return ()


@dataclass
class OurHouse:
    """One installation of ours behind its border server, which writes down what SPF, DKIM and DMARC came to.

    Args:
        proof: What passes for each mail: "dmarc" (level 2 or 3), "spf" (level 1) or "none" (level 0).
        domain_of: The border server's view of a mail's From domain.
    """

    office: Office
    proof: str = "dmarc"
    handled: dict[MailId, str] = field(default_factory=dict)
    deliveries: int = 0

    @property
    def address(self) -> str:
        return self.office.settings.agent.address

    def lives_at(self, address: str) -> bool:
        return address == self.address

    def receive(self, posted: Posted, now: datetime) -> Sequence[Posted]:
        before = len(self.office.transport.given)
        mail_id, outcome = self.office.handle(self._bordered(posted, now))
        self.deliveries += 1
        self.handled[mail_id] = outcome
        sent = self.office.transport.given[before:]
        return [Posted(self.address, recipient, raw) for recipient, raw in sent]

    def unended(self) -> list[MailId]:
        """Mails that have no record, or a record that says that nothing came of them."""
        found = {mail_id: self.office.store.mails.get(mail_id) for mail_id in self.handled}
        return [id_ for id_, mail in found.items() if mail is None or mail.status is MailStatus.NEW]

    def _bordered(self, posted: Posted, now: datetime) -> bytes:
        sender = parse(posted.raw).from_
        domain = sender.domain if sender is not None else "unknown.invalid"
        authserv_id = self.office.settings.agent.authserv_ids[0]
        results = {"dmarc": f"dmarc=pass header.from={domain}", "spf": f"spf=pass smtp.mailfrom={domain}"}
        lines = [
            f"Return-Path: <{posted.envelope_from}>",
            f"Delivered-To: {posted.recipient}",
            f"Received: from mail.{domain} by {authserv_id} with ESMTPS; {format_datetime(now)}",
            f"Authentication-Results: {authserv_id}; {results.get(self.proof, 'none')}",
        ]
        return "".join(f"{line}\r\n" for line in lines).encode() + posted.raw


@dataclass
class PostOffice:
    """Carries mails between houses until none is on its way.

    Args:
        clock: The one clock of all houses.
        round_length: How much later each round is than the one before.
        gateway: What happens to each mail on its way.
    """

    clock: Clock
    houses: Sequence[House]
    round_length: timedelta = MINUTE
    gateway: Callable[[Posted], Posted] = lambda posted: posted
    carried: list[Posted] = field(default_factory=list)

    def drain(self, *posted: Posted, most_rounds: int = 40) -> int:
        """Deliver these and all that follows from them; the number of rounds it took.

        Raises:
            AssertionError: mails still move after `most_rounds`.
        """
        moving, rounds = list(posted), 0
        while moving:
            assert rounds < most_rounds, f"{len(moving)} mails still move after {rounds} rounds"
            rounds += 1
            self.clock.instant += self.round_length
            moving = [new for mail in moving for new in self._deliver(mail)]
        return rounds

    def to(self, address: str) -> list[bytes]:
        """What was carried to an address."""
        return [posted.raw for posted in self.carried if posted.recipient == address]

    @property
    def packets(self) -> int:
        """How many mails the desk got."""
        return len(self.to(DESK))

    def _deliver(self, posted: Posted) -> Sequence[Posted]:
        carried = self.gateway(posted)
        self.carried.append(carried)
        house = next(house for house in self.houses if house.lives_at(carried.recipient))
        return house.receive(carried, self.clock.instant)
