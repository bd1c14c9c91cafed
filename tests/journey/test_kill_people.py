"""`kill -9` while the program does what people order by mail, and in the duties of its round that write to them.

As in `test_kill.py` the places to die are found: each order and each duty is carried out once undisturbed, and then
once for each of its writes. However often the program died: one answer, one reminder, one digest, one label, and
nothing that still waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

import pytest

from support_agent.demo.servers import DemoServers
from support_agent.store.records import MailId, OutboxRecord, OutboxStatus, OutgoingKind, mail_id_of
from support_agent.store.store import Store
from tests.fakes_desk import lines_of
from tests.journey.killing import Lives, arrived_at
from tests.journey.lives import DIGEST, DUE, DUTY, REMINDERS, Kill
from tests.journey.mails import DESK, EMMA, WAYS
from tests.journey.test_kill import WRITES_PER_SENDING
from tests.journey.test_staff_files import PDF, with_file

pytestmark = pytest.mark.timeout(900)  # forty processes one after the other

APPROVE, DOCUMENT, OWN_WORDS = "approve", "document 2", "own words"
COMMANDS = (APPROVE, DOCUMENT, OWN_WORDS)
PASS_ON = "pass_on"
UNSETTLED = (OutboxStatus.READY, OutboxStatus.SENDING, OutboxStatus.PROPOSED)
LEAD = "lead@harborfile.example"
WEEK = timedelta(days=7)
LATER = timedelta(days=8)
"""From the first mails on: their reminder is due, and a week has ended."""
WAITING_CASES = 8
"""One for each place to die in a reminder, and more."""


class Left(NamedTuple):
    """What an order leaves of the customer's mail that it is about."""

    out: Counter[tuple[OutgoingKind, str, OutboxStatus]]
    labels: tuple[str, ...]
    state: str


class Order(NamedTuple):
    """A command of the desk, the customer's mail that it is about, and where the program died, if it did."""

    command: str
    mail_id: MailId
    raw: bytes
    kill: Kill | None = None

    @property
    def order_id(self) -> MailId:
        return mail_id_of(self.raw)


class Desk(NamedTuple):
    """What is left when all orders are carried out."""

    orders: Sequence[Order]
    left: dict[MailId, Left]
    deaths: int
    arrived: Counter[str]
    """How often each Message-ID came out at the SMTP server."""
    rows: Sequence[OutboxRecord]

    def undisturbed(self, command: str) -> Left:
        return next(self.left[order.mail_id] for order in self.orders if order.command == command)


def ask(lives: Lives, servers: DemoServers, url: str, commands: Sequence[str], first: int) -> list[Order]:
    """A customer's question for each command, whose answer waits for a person, and the mail that gives the command."""
    raws = [WAYS["answered"].mail(first + number) for number in range(len(commands))]
    for raw in raws:
        servers.deliver(raw)
    assert lives.go({}) == 0
    with Store.open(url) as store:
        asked = [mail_id_of(raw) for raw in raws]
        packets = [store.outbox.find(mail_id=mail_id, kind=OutgoingKind.PACKET)[0] for mail_id in asked]
    return [
        Order(command, mail_id, order_mail(command, lines_of(packet), number))
        for number, (command, mail_id, packet) in enumerate(zip(commands, asked, packets, strict=True), start=first)
    ]


def order_mail(command: str, lines: dict[str, str], number: int) -> bytes:
    """The desk's mail with the line of a packet; own words have a file."""
    line = lines[command.replace("document 2", "document 1")].replace("document 1", command)
    words = "Dear Emma,\n\nhere is your contract." if command == OWN_WORDS else ""
    raw = WAYS["passed_on"]._replace(subject=line, body=words, more="").mail(number)
    return with_file(raw, "contract.pdf", PDF) if command == OWN_WORDS else raw


def left_by(store: Store, mail_id: MailId) -> Left:
    mail = store.mails.get(mail_id)
    assert mail is not None
    assert mail.case_id is not None
    rows = store.outbox.find(case_id=mail.case_id)
    return Left(
        Counter((row.kind, row.recipient, row.status) for row in rows),
        tuple(label.outcome.value for label in store.labels.of(mail_id)),
        store.cases.get_one(mail.case_id).state.value,
    )


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Each command undisturbed, then with a death before and after each write, and in sending what was approved."""
    folder = tmp_path_factory.mktemp("desk")
    url = f"sqlite:///{folder / 'store.sqlite3'}"
    with DemoServers() as servers, Lives(url, servers, folder, AUTONOMY__START="shadow") as lives:
        undisturbed = ask(lives, servers, url, COMMANDS, 0)
        for order in undisturbed:
            servers.deliver(order.raw)
        assert lives.go({}) == 0
        done = {(mail_id, step): writes for mail_id, (step, writes) in lives.trace.lines("done")}
        places = [
            (order.command, Kill(PASS_ON, n)) for order in undisturbed for n in range(done[order.order_id, PASS_ON] + 1)
        ]
        places += [(APPROVE, Kill(DUE, n)) for n in range(done[undisturbed[0].mail_id, DUE] + 1)]
        asked = ask(lives, servers, url, [command for command, _ in places], len(COMMANDS))
        killed = [order._replace(kill=kill) for order, (_, kill) in zip(asked, places, strict=True)]
        for order in killed:
            servers.deliver(order.raw)
        # What is due is sent for the customer's mail, and a command is a mail of its own.
        deaths = lives.go(
            {
                order.mail_id if order.kill.step == DUE else order.order_id: order.kill
                for order in killed
                if order.kill is not None
            }
        )
        arrived = arrived_at(servers)
    orders = [*undisturbed, *killed]
    with Store.open(url) as store:
        left = {order.mail_id: left_by(store, order.mail_id) for order in orders}
        return Desk(orders, left, deaths, arrived, store.outbox.find())


def is_sending(kill: Kill | None) -> bool:
    """Whether the program died between the claim of a mail and the record that it went out."""
    return kill is not None and kill.step == DUE and kill.writes in range(1, WRITES_PER_SENDING)


def test_each_order_was_killed_at_each_write(desk: Desk) -> None:
    killed = Counter(order.command for order in desk.orders if order.kill is not None)
    assert min(killed[command] for command in COMMANDS) > WRITES_PER_SENDING
    assert desk.deaths == killed.total()


@pytest.mark.parametrize("command", COMMANDS)
def test_an_order_ends_as_if_nobody_had_been_killed(desk: Desk, command: str) -> None:
    """The same mails in the same states, one label, the case with the same people; and no notice that it failed.

    Where nobody can know whether an approved answer went out, the desk is told, and has the case.
    """
    whole = desk.undisturbed(command)
    answers = [kind for kind, to, status in whole.out if to == EMMA and status is OutboxStatus.SENT]
    assert Counter(answers) - Counter({OutgoingKind.ACKNOWLEDGEMENT: 1}) == Counter(
        [OutgoingKind.PERSON_REPLY if command == OWN_WORDS else OutgoingKind.ANSWER]
    )
    assert len(whole.labels) == 1
    for order in desk.orders:
        if order.command != command:
            continue
        expected = whole
        if is_sending(order.kill):
            out = whole.out - Counter({(OutgoingKind.ANSWER, EMMA, OutboxStatus.SENT): 1})
            out[OutgoingKind.ANSWER, EMMA, OutboxStatus.UNCERTAIN] += 1
            out[OutgoingKind.FAILURE, DESK, OutboxStatus.SENT] += 1
            expected = Left(out, whole.labels, "with_person")
        assert desk.left[order.mail_id] == expected, order.kill


def test_nothing_of_an_order_waits_and_nothing_goes_to_a_customer_twice(desk: Desk) -> None:
    assert not [row for row in desk.rows if row.status in UNSETTLED]
    for row in desk.rows:
        sent = int(row.status is OutboxStatus.SENT)
        assert sent <= desk.arrived[row.message_id] <= (2 if row.kind.is_for_desk else 1), row.id


class Duties(NamedTuple):
    """What the duties have written when the last process has ended."""

    kills: dict[str, int]
    """How often the program was killed in each duty."""
    deaths: int
    reminders: Sequence[OutboxRecord]
    digests: Sequence[OutboxRecord]
    weeks: int
    arrived: Counter[str]


@pytest.fixture(scope="module")
def duties(tmp_path_factory: pytest.TempPathFactory) -> Duties:
    """A reminder and a digest undisturbed; then a death before and after each of their writes."""
    folder = tmp_path_factory.mktemp("duties")
    url = f"sqlite:///{folder / 'store.sqlite3'}"
    changed = {"REMINDERS__AFTER_H": "4", "REMINDERS__MOST": "1", "DIGEST__ADDRESS": LEAD}
    with DemoServers() as servers, Lives(url, servers, folder, **changed) as lives:
        servers.deliver(WAYS["escalated"].mail(0))
        assert lives.go({}) == 0
        assert lives.go({}, LATER) == 0
        writes = {name: place.writes for name, place in lives.trace.lines("done") if place.writes}
        for number in range(WAITING_CASES):
            servers.deliver(WAYS["escalated"].mail(1 + number))
        assert lives.go({}, LATER) == 0
        # A reminder is for its case, so one process after the other dies; a digest that is in the outbox is the week's.
        in_outbox = writes[DIGEST] - WRITES_PER_SENDING
        first = {f"{REMINDERS}-{n}": Kill(DUTY, n) for n in range(writes[REMINDERS] + 1)}
        first |= {f"{DIGEST}-{n}": Kill(DUTY, n) for n in range(in_outbox + 1)}
        weeks = [first, *({f"{DIGEST}-{n}": Kill(DUTY, n)} for n in range(in_outbox + 1, writes[DIGEST] + 1))]
        deaths = 0
        for week, kills in enumerate(weeks, start=1):
            deaths += lives.go({MailId(name): kill for name, kill in kills.items()}, LATER + week * WEEK)
        arrived = arrived_at(servers)
    with Store.open(url) as store:
        assert not [row for row in store.outbox.find() if row.status in UNSETTLED]
        reminders, digests = (store.outbox.find(kind=kind) for kind in (OutgoingKind.REMINDER, OutgoingKind.DIGEST))
    counted = Counter(name.partition("-")[0] for kills in weeks for name in kills)
    return Duties(dict(counted), deaths, reminders, digests, 1 + len(weeks), arrived)


def test_each_duty_was_killed_at_each_write(duties: Duties) -> None:
    assert min(duties.kills[duty] for duty in (REMINDERS, DIGEST)) > WRITES_PER_SENDING
    assert duties.deaths == sum(duties.kills.values())
    assert duties.kills[REMINDERS] <= WAITING_CASES


def test_each_case_has_one_reminder_though_the_process_dies(duties: Duties) -> None:
    assert Counter(row.case_id for row in duties.reminders).most_common(1)[0][1] == 1
    assert Counter((row.recipient, row.status) for row in duties.reminders) == {
        (DESK, OutboxStatus.SENT): 1 + WAITING_CASES
    }


def test_each_week_has_one_digest_though_the_process_dies(duties: Duties) -> None:
    assert Counter((row.recipient, row.status) for row in duties.digests) == {(LEAD, OutboxStatus.SENT): duties.weeks}


def test_only_a_death_before_the_record_sends_one_to_people_twice(duties: Duties) -> None:
    """Once for each duty: between the server's answer and its record."""
    for rows in (duties.reminders, duties.digests):
        assert sorted(duties.arrived[row.message_id] for row in rows) == [1] * (len(rows) - 1) + [2]
