"""The crash matrix: every fault before and after the work of every step, on each database, and what must come out.

The places are read from pipeline.py, so a step that is added later is in the matrix. One run of a fleet tries many
schedules beside each other: each mail has one of its own, and a further mail of its thread that must come after it.
"""

from __future__ import annotations

import ast
import inspect
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

from support_agent import pipeline
from support_agent.store.records import MailId, MailStatus, OutboxStatus, OutgoingKind, mail_id_of
from support_agent.store.store import Store
from tests.crash.crashing import DELIVER, CrashFleet, Place, Schedule
from tests.crash.faults import Fault
from tests.fakes_journey import DESK, write
from tests.fakes_worker import CANCEL, HUMAN, REFUND
from tests.fleet import DONE_S, findings
from tests.servers.postgres import Cluster

ANSWER, PACKET, FAILURE = OutgoingKind.ANSWER, OutgoingKind.PACKET, OutgoingKind.FAILURE
ACKNOWLEDGEMENT, PERSON_REPLY = OutgoingKind.ACKNOWLEDGEMENT, OutgoingKind.PERSON_REPLY
BY_THE_CLOCK = (OutgoingKind.REMINDER, OutgoingKind.DIGEST)
"""What a clock that jumps ahead may cause besides."""
WHEN = ("before", "after")


class Combination(NamedTuple):
    """On what the schedules are tried."""

    database: str
    workers: int

    def __str__(self) -> str:
        name = "PostgreSQL" if self.database == "postgresql" else "SQLite"
        return f"{name} with {self.workers} worker{'s' if self.workers > 1 else ''}"

    @property
    def faults(self) -> list[Fault]:
        """A SQLite database has no server that could be restarted."""
        return [fault for fault in Fault if fault is not Fault.RESTART or self.database == "postgresql"]


COMBINATIONS = (Combination("sqlite", 1), Combination("postgresql", 1), Combination("postgresql", 4))


class End(NamedTuple):
    """What must have become of a mail: its status, and the kinds of mail that went out, each once."""

    status: MailStatus
    out: frozenset[OutgoingKind]


ESCALATED = End(MailStatus.ESCALATED, frozenset({PACKET, ACKNOWLEDGEMENT}))
ENDS = {
    "answered": End(MailStatus.ANSWERED, frozenset({ANSWER})),
    "refused": ESCALATED,
    "filed": End(MailStatus.FILED, frozenset()),
    "passed_on": End(MailStatus.FILED, frozenset({PERSON_REPLY})),
}
WAY_THROUGH = {"file": "filed", "escalate": "refused", "pass_on": "passed_on"}
"""Which way goes through a step; all others are on that of an answered mail."""


def steps_of_pipeline() -> list[str]:
    """The names of all steps of pipeline.py, in their order."""
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(pipeline))) if isinstance(node, ast.Call)]
    calls.sort(key=lambda call: (call.lineno, call.col_offset))
    return [
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in ("run", "step")
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
    ]


def schedules(combination: Combination, every: int = 1) -> list[Schedule]:
    """All faults at all places, in an order that mixes them.

    Args:
        every: Only one of so many places for each fault; each fault begins with another one.
    """
    places = [Place(step, when) for step, when in product((*steps_of_pipeline(), DELIVER), WHEN)]
    made = [
        Schedule(fault, place)
        for number, fault in enumerate(combination.faults)
        for place in places[number % every :: every]
    ]
    random.Random(0).shuffle(made)
    return made


@dataclass(frozen=True)
class Result:
    """What went wrong, of `schedules` that were tried; every list is empty if nothing did."""

    schedules: int
    lost: list[str]
    twice: int
    stuck: list[str]
    disordered: int
    deaths: int
    exits: int
    uncertain: int
    """Mails to customers of which nobody can know whether they arrived; the desk was told of each."""

    @property
    def is_good(self) -> bool:
        """Whether the promise held."""
        return not (self.lost or self.twice or self.stuck or self.disordered)

    def __str__(self) -> str:
        return (
            f"{self.schedules} schedules: {len(self.lost)} lost, {self.twice} answered twice, {len(self.stuck)} stuck, "
            f"{self.disordered} out of order"
        )


def summed(results: Sequence[Result]) -> Result:
    """All results as one."""
    return Result(
        schedules=sum(result.schedules for result in results),
        lost=[line for result in results for line in result.lost],
        twice=sum(result.twice for result in results),
        stuck=[line for result in results for line in result.stuck],
        disordered=sum(result.disordered for result in results),
        deaths=sum(result.deaths for result in results),
        exits=sum(result.exits for result in results),
        uncertain=sum(result.uncertain for result in results),
    )


def run(
    combination: Combination, url: str, folder: Path, cluster: Cluster | None, every: int = 1, timeout_s: float = DONE_S
) -> Result:
    """Try the schedules of a combination.

    Args:
        url: A store with its schema and without a mail.
        cluster: The server of a PostgreSQL store.
    """
    tried = schedules(combination, every)
    with CrashFleet(url, folder, (), cluster=cluster, concurrency=2) as fleet:
        packets = _packets(fleet, sum(_way(schedule) == "passed_on" for schedule in tried))
        firsts = [_mail(_way(schedule), number, packets) for number, schedule in enumerate(tried)]
        threads = [
            _thread(first, _way(schedule), number) for number, (first, schedule) in enumerate(_pairs(firsts, tried))
        ]
        fleet.schedules = {mail_id_of(first): schedule for first, schedule in _pairs(firsts, tried)}
        ways = {mail_id_of(first): _way(schedule) for first, schedule in _pairs(firsts, tried)}
        fleet.refused = frozenset(mail_id for mail_id, way in ways.items() if way == "refused")
        fleet.deliver(*firsts, *(raw for thread in threads for raw in thread[1:]))
        fleet.start(combination.workers)
        stuck = fleet.finish(timeout_s)
        found = findings(fleet, threads)
        lost, uncertain = lost_of(fleet, ways)
    return Result(
        schedules=len(fleet.fired),
        lost=lost,
        twice=found.twice,
        stuck=stuck,
        disordered=found.disordered,
        deaths=fleet.deaths,
        exits=fleet.exits,
        uncertain=uncertain,
    )


def _pairs(firsts: Sequence[bytes], tried: Sequence[Schedule]) -> Iterator[tuple[bytes, Schedule]]:
    return zip(firsts, tried, strict=True)


def _way(schedule: Schedule) -> str:
    return WAY_THROUGH.get(schedule.place.step, "answered")


def _sender(number: int) -> str:
    return f"customer{number}@example.org"


def _packets(fleet: CrashFleet, count: int) -> list[str]:
    """Message-IDs of packets that staff can reply to, of mails that were handled before anything went wrong."""
    raws = [write(HUMAN, sender=_sender(1_000_000 + number)) for number in range(count)]
    fleet.deliver(*raws)
    with Store.open(fleet.url) as store:
        office = fleet.undisturbed_office(store)
        ids = [office.handle(raw)[0] for raw in raws]
        return [office.sent(mail_id)[PACKET].message_id for mail_id in ids]


def _mail(way: str, number: int, packets: list[str]) -> bytes:
    """The mail of a schedule; each is the first of its sender."""
    if way == "passed_on":
        return write("All is well again.", sender=DESK, number=number, in_reply_to=packets.pop())
    raw = write(REFUND, sender=_sender(number), number=number)
    return b"Auto-Submitted: auto-replied\r\n" + raw if way == "filed" else raw


def _thread(first: bytes, way: str, number: int) -> list[bytes]:
    """A mail and what its sender writes next; staff writes once."""
    if way == "passed_on":
        return [first]
    message_id = first.partition(b"Message-ID: ")[2].partition(b"\r\n")[0].decode()
    return [first, write(CANCEL, sender=_sender(number), number=number, in_reply_to=message_id)]


def lost_of(fleet: CrashFleet, ways: dict[MailId, str]) -> tuple[list[str], int]:
    """The mails that did not end as they had to, each with how; and how many mails to customers are uncertain."""
    lines = fleet.trace.lines()
    sent = Counter(line.name for line in lines if line.what == "sent")
    lost, uncertain, diverted = [], 0, fleet.diverted
    with Store.open(fleet.url) as store:
        for mail_id in map(mail_id_of, fleet.mails):
            out = [row for row in store.outbox.find(mail_id=mail_id) if row.kind not in BY_THE_CLOCK]
            unknown = {row.kind for row in out if row.status is OutboxStatus.UNCERTAIN}
            uncertain += len(unknown)
            record = store.mails.get(mail_id)
            end = End(record.status, frozenset(row.kind for row in out)) if record is not None else None
            ends = _ends(ways.get(mail_id), unknown, is_diverted=mail_id in diverted)
            is_sent = all(sent[row.message_id] for row in out if row.status is OutboxStatus.SENT)
            is_known = all(row.status is OutboxStatus.SENT or row.notified_at for row in out)
            if (ends is not None and end not in ends) or end is None or not (is_sent and is_known):
                shown = [f"{row.kind.value} {row.status.value}: {row.last_detail}" for row in out]
                lost.append(f"{mail_id} {fleet.schedules.get(mail_id)} {record and record.status.value} {shown}")
    return lost, uncertain


def _ends(way: str | None, unknown: set[OutgoingKind], *, is_diverted: bool) -> list[End] | None:
    """How a mail may have ended; None: anyhow."""
    if way is None:
        return None
    ends = [ENDS[way], *([ESCALATED] if is_diverted and way == "answered" else [])]
    if not unknown:
        return ends
    return [End(MailStatus.ESCALATED if ANSWER in unknown else end.status, end.out | {FAILURE}) for end in ends]


@dataclass(frozen=True)
class Stores:
    """Makes stores without a mail.

    Args:
        cluster: The server for PostgreSQL; None: SQLite.
        empty: A store to copy: a file, or the URL of a database; None: the schema is made each time.
    """

    cluster: Cluster | None
    folder: Path
    empty: Path | str | None = None

    @contextmanager
    def new(self) -> Iterator[tuple[str, Path]]:
        """The URL of a store, and a folder for its fleet; both are gone at the end."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder, ExitStack() as opened:
            if self.cluster is None:
                path = Path(folder) / "store.sqlite3"
                url = f"sqlite:///{shutil.copy(self.empty, path) if self.empty else path}"
            else:
                url = self.cluster.create_database(*([str(self.empty)] if self.empty else []))
                opened.callback(self.cluster.drop_database, url)
            if self.empty is None:
                with Store.open(url) as store:
                    store.upgrade()
            yield url, Path(folder) / "fleet"
