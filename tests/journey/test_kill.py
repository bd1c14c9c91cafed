"""`kill -9` in every step of a mail's journey, on SQLite and PostgreSQL: nothing lost, nothing twice.

Where to die is found, not listed: each way through the journey is gone once undisturbed, and then once for each of
its steps and each write of that step, with a process that dies exactly there and others that take over. On PostgreSQL
the process dies after the last write of each step; what else can happen there is in `tests/crash`.
"""

from __future__ import annotations

import ast
import email
import inspect
from collections import Counter
from collections.abc import Iterator
from email import policy
from pathlib import Path
from typing import NamedTuple

import pytest

from support_agent import pipeline
from support_agent.demo.servers import DemoServers
from support_agent.store.records import MailId, MailStatus, OutboxRecord, OutboxStatus, OutgoingKind, mail_id_of
from support_agent.store.store import Store
from tests.journey.killing import Lives, arrived_at
from tests.journey.lives import START, Kill
from tests.journey.mails import DESK, EMMA, STRANGER, WAYS, Way

pytestmark = pytest.mark.timeout(900)  # fifty processes one after the other

WRITES_PER_SENDING = 3


class Ending(NamedTuple):
    """A mail of the run: its way, where the process died in it, and what stands in the store."""

    way: Way
    kill: Kill
    status: MailStatus | None
    out: tuple[OutboxRecord, ...]


class Run(NamedTuple):
    """What is left when the last process has ended."""

    steps: dict[str, dict[str, int]]
    """Of each way: its steps, with how often each writes."""
    deaths: int
    endings: tuple[Ending, ...]
    arrived: Counter[str]
    """How often each Message-ID came out at the SMTP server."""


def _count_writes(lives: Lives, servers: DemoServers) -> tuple[dict[str, dict[str, int]], str]:
    """Go each way once, undisturbed: the writes of its steps, and a packet that staff can reply to."""
    first = {name: way.mail(0) for name, way in WAYS.items() if way.sender != DESK}
    for raw in first.values():
        servers.deliver(raw)
    assert lives.go({}) == 0
    packet_id = str(email.message_from_bytes(servers.received_by(DESK)[0].raw, policy=policy.default)["Message-ID"])
    first["passed_on"] = WAYS["passed_on"].mail(0, packet_id)
    servers.deliver(first["passed_on"])
    assert lives.go({}) == 0
    names = {mail_id_of(raw): name for name, raw in first.items()}
    steps: dict[str, dict[str, int]] = {name: {} for name in WAYS}
    for name, (step, writes) in lives.trace.lines("done"):
        if name in names:  # no duty of the round
            steps[names[MailId(name)]][step] = writes
    return steps, packet_id


def _run(url: str, folder: Path, *, is_short: bool = False) -> Run:
    with DemoServers() as servers, Lives(url, servers, folder) as lives:
        steps, packet_id = _count_writes(lives, servers)
        killed: dict[MailId, tuple[Way, Kill]] = {}
        for way in WAYS.values():
            written = {step: steps[way.name].get(step, 0) for step in way.steps}
            kills = [Kill(step, n) for step, last in written.items() for n in range(last * is_short, last + 1)]
            for number, kill in enumerate(kills, start=1):
                raw = way.mail(number, packet_id)
                servers.deliver(raw)
                killed[mail_id_of(raw)] = (way, kill)
        deaths = lives.go({mail_id: kill for mail_id, (_, kill) in killed.items()})
        # By itself: no other mail may be in hand where the agent's loop dies.
        raw = WAYS["answered"].mail(len(killed) + 1)
        servers.deliver(raw)
        killed[mail_id_of(raw)] = (WAYS["answered"], START)
        deaths += lives.go({mail_id_of(raw): START})
        arrived = arrived_at(servers)
    endings = []
    with Store.open(url) as store:
        for mail_id, (way, kill) in killed.items():
            record = store.mails.get(mail_id)
            out = store.outbox.find(mail_id=mail_id)
            endings.append(Ending(way, kill, record.status if record else None, tuple(out)))
    return Run(steps, deaths, tuple(endings), arrived)


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.servers)])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """All the lives and deaths, once a database."""
    folder = tmp_path_factory.mktemp("journey")
    if request.param == "sqlite":
        yield _run(f"sqlite:///{folder / 'store.sqlite3'}", folder)
        return
    cluster = request.getfixturevalue("postgres_cluster")
    url = cluster.create_database()
    yield _run(url, folder, is_short=True)
    cluster.drop_database(url)


def test_every_step_of_the_journey_is_a_place_to_die(run: Run) -> None:
    """No step of pipeline.py is left out, not even one that is added later; and each kill did happen."""
    tree = ast.parse(inspect.getsource(pipeline))
    in_pipeline = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "run"
        and isinstance(node.args[0], ast.Constant)
    }
    assert {ending.kill.step for ending in run.endings} == in_pipeline | {START.step}
    assert run.deaths == len(run.endings)


@pytest.mark.parametrize("name", WAYS)
def test_a_mail_ends_as_if_nobody_had_been_killed(run: Run, name: str) -> None:
    """Answered, escalated or filed, with the same mails in the outbox, each once, and none still to be sent.

    Where it cannot be known whether a customer's mail went out, the desk has a failure that says so.
    """
    endings = [ending for ending in run.endings if ending.way.name == name]
    assert {ending.kill.step for ending in endings} >= set(WAYS[name].steps)
    for ending in endings:
        uncertain = {mail.kind for mail in ending.out if mail.status is OutboxStatus.UNCERTAIN}
        unknown = {kind for kind in uncertain if not kind.is_for_desk}
        status = MailStatus.ESCALATED if OutgoingKind.ANSWER in unknown else ending.way.status
        assert ending.status is status, ending
        expected = set(ending.way.out) | ({OutgoingKind.FAILURE} if unknown else set())
        assert Counter(mail.kind for mail in ending.out) == Counter(expected), ending
        assert {mail.status for mail in ending.out} <= {OutboxStatus.SENT, OutboxStatus.UNCERTAIN}, ending


def test_no_mail_goes_to_a_customer_twice(run: Run) -> None:
    """What counts is what arrived: once where the outbox says `sent`; the same mail twice is for the desk only."""
    assert set(run.arrived.values()) <= {1, 2}
    for ending in run.endings:
        for mail in ending.out:
            most = 2 if mail.kind.is_for_desk else 1
            assert int(mail.status is OutboxStatus.SENT) <= run.arrived[mail.message_id] <= most, ending
    answers = [mail for ending in run.endings for mail in ending.out if mail.kind is OutgoingKind.ANSWER]
    assert {mail.recipient for mail in answers} == {EMMA, STRANGER}


def test_only_a_death_between_the_claim_and_the_record_leaves_a_mail_uncertain(run: Run) -> None:
    """There nobody can know whether it went out: it stands as uncertain for a person, and the desk's is sent again."""
    for ending in run.endings:
        sendings = ending.kill.writes % WRITES_PER_SENDING
        is_open = ending.kill.step == "send" and sendings in (1, 2)
        uncertain = [mail for mail in ending.out if mail.status is OutboxStatus.UNCERTAIN]
        twice = [mail for mail in ending.out if run.arrived[mail.message_id] == 2]
        assert all(not mail.kind.is_for_desk for mail in uncertain), ending
        went_out = is_open and sendings == 2
        if uncertain:
            assert is_open, ending
            assert [run.arrived[mail.message_id] for mail in uncertain] == [int(went_out)], ending
        else:
            assert len(twice) == int(went_out), ending
