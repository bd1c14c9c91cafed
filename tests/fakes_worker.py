"""A running worker in memory: its mailbox, an engine that works at once, and one life of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Event
from typing import TypeVar
from unittest.mock import patch

import pytest
from imapclient.exceptions import IMAPClientError  # type: ignore[import-untyped]

from support_agent.core.cursor import Cursor
from support_agent.engine.journeys import FailedJourney, InHand
from support_agent.errors import SupportAgentError, TransientError
from support_agent.mail.message import parse
from support_agent.pipeline import handle
from support_agent.store.outbox import Outbox
from support_agent.store.records import MailId, MailStatus, OutboxStatus, OutgoingKind, OutgoingMail, mail_id_of
from support_agent.transport.mailbox import Fetched, Mailbox
from support_agent.transport.submission import Delivery
from support_agent.workflow.worker import Worker
from tests.fakes_journey import NOON, Clock, Office, once

ANSWER, ACKNOWLEDGEMENT = OutgoingKind.ANSWER, OutgoingKind.ACKNOWLEDGEMENT
PACKET, FAILURE = OutgoingKind.PACKET, OutgoingKind.FAILURE
REFUND, CANCEL, HUMAN = "Can I get a refund?", "How do I cancel?", "Let me talk to a human."
T = TypeVar("T")


@dataclass
class FakeMailbox:
    """`support_agent.workflow.intake.Inbox` in memory, read by the rules of the real mailbox.

    `on_open` and its like are called when they happen.
    """

    mails: list[bytes]
    uid_validity: int = 1
    is_away: bool = False
    on_open: Callable[[], None] = lambda: None
    on_fetch: Callable[[], None] = lambda: None
    after_mail: Callable[[], None] = lambda: None
    handled: list[int] = field(default_factory=list)
    arrivals: dict[int, datetime] = field(default_factory=dict)
    """When a mail arrived, by UID; unknown where it is not here."""
    sent: set[str] = field(default_factory=set)
    """The Message-IDs of the Sent folder."""
    is_sent_away: bool = False

    def __enter__(self) -> FakeMailbox:
        self.on_open()
        if self.is_away:
            raise TransientError("imap.example.com:993 cannot be used now: refused")
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def resume(self, cursor: Cursor | None) -> Cursor:
        if cursor is None:
            return Cursor(folder="INBOX", uid_validity=self.uid_validity, last_uid=0)
        if cursor.uid_validity == self.uid_validity:
            return cursor
        newest = len(self.mails)
        in_doubt_until = newest if cursor.in_doubt_until > cursor.last_uid else 0
        changes = {"last_uid": 0, "rescan_until": newest, "in_doubt_until": in_doubt_until}
        return cursor.model_copy(update={"uid_validity": self.uid_validity, **changes})

    def fetch_after(self, cursor: Cursor) -> Iterator[Fetched]:
        self.on_fetch()
        for uid, raw in enumerate(self.mails, start=1):
            if uid > cursor.last_uid:
                here = cursor.model_copy(update={"last_uid": uid})
                is_rescan = uid <= cursor.rescan_until
                yield Fetched(uid=uid, raw=raw, cursor=here, is_rescan=is_rescan, arrived_at=self.arrivals.get(uid))

    def end(self) -> Cursor:
        return self.resume(None).model_copy(update={"last_uid": len(self.mails)})

    def count_after(self, cursor: Cursor | None) -> int:
        return len(self.mails) - self.resume(cursor).last_uid

    @property
    def can_idle(self) -> bool:
        return False

    def wait(self, timeout_s: float, is_stopping: Callable[[], bool]) -> bool:
        """Tells of no mail."""
        return False

    def mark_handled(self, uid: int, message_id: str | None = None) -> None:
        if uid not in self.handled:
            self.handled.append(uid)
            self.after_mail()

    def special_folder(self, use: str) -> str | None:
        return "Sent"

    def has_message_id(self, folder: str, message_id: str) -> bool:
        if self.is_sent_away:
            raise TransientError("imap.example.com:993 refused a command")
        return message_id in self.sent

    def append(self, folder: str, raw: bytes, sent_at: datetime) -> None:
        self.sent.add(parse(raw).message_id)

    def numbered_anew(self) -> FakeMailbox:
        """The same folder on another server, which has changed each mail's bytes on the way."""
        moved = [b"X-Moved: yes\r\n" + raw for raw in self.mails]
        return FakeMailbox(moved, uid_validity=self.uid_validity + 1)


class FakeClient:
    """An IMAP folder that gives what it is asked for, but not the bodies of the UIDs in `broken`."""

    def __init__(self, mails: list[bytes], broken: frozenset[int] = frozenset()) -> None:
        self.mails, self.broken = dict(enumerate(mails, start=1)), broken

    def __exit__(self, *_: object) -> None:
        """The next connection finds the same."""

    def login(self, user: str, password: str) -> None:
        """Anybody."""

    def socket(self) -> None:
        """Without TLS there is no certificate."""

    def has_capability(self, name: str) -> bool:
        """Nothing but the plain protocol."""
        return False

    def select_folder(self, folder: str) -> dict[bytes, object]:
        """No keywords may be set."""
        return {b"UIDVALIDITY": 1, b"UIDNEXT": len(self.mails) + 1, b"EXISTS": len(self.mails)}

    def noop(self) -> None:
        """Nothing is new."""

    def search(self, criteria: list[str]) -> list[int]:
        """Those from the first UID on."""
        first, _, last = criteria[1].partition(":")
        return [uid for uid in self.mails if uid >= int(first) and (last or uid == int(first))]

    def fetch(self, uids: list[int], items: list[str]) -> dict[int, dict[bytes, object]]:
        """Sizes, or bodies or headers; none where one of them is broken."""
        if items == ["RFC822.SIZE", "INTERNALDATE"]:
            return {uid: {b"RFC822.SIZE": len(self.mails[uid])} for uid in uids}
        (item,) = items
        if self.broken & set(uids):
            raise IMAPClientError("[SERVERBUG] cannot read the file")
        is_whole, key = item == "BODY.PEEK[]", item.replace(".PEEK", "").encode()
        raws = ((uid, self.mails[uid]) for uid in uids)
        return {uid: {key: raw if is_whole else raw[: raw.index(b"\r\n\r\n") + 4]} for uid, raw in raws}


class InlineEngine:
    """`support_agent.workflow.starts.Journeys`: handles a mail where it is started, once.

    `dies_at_start` ends the process instead.
    """

    def __init__(self, journey: Callable[[MailId], object]) -> None:
        self.journey = journey
        self.keys: dict[str, str] = {}
        self.failures: list[FailedJourney] = []
        self.deleted_before: list[datetime] = []
        self.is_busy = False
        self.dies_at_start = False

    def start(self, mail_id: str, thread: str) -> None:
        if self.dies_at_start:
            raise KeyboardInterrupt
        if mail_id in self.keys:
            return
        self.keys[mail_id] = thread
        try:
            self.journey(MailId(mail_id))
        except SupportAgentError as error:
            self.failures.append(FailedJourney(mail_id, error))

    def follow_queued(self) -> None:
        """Nothing is ever queued."""

    def in_hand(self) -> InHand:
        return InHand(0, 0)

    def wait_until_idle(self, timeout_s: float) -> bool:
        return not self.is_busy

    @contextmanager
    def still(self, timeout_s: float) -> Iterator[bool]:
        yield not self.is_busy

    def requeue_lost(self) -> None:
        """Each mail is handled where it is started."""

    def take_over_dead(self) -> None:
        """Nobody else works here."""

    def failed(self) -> list[FailedJourney]:
        return self.failures

    def adopt(self, other: InlineEngine) -> None:
        """Go on with what another process has recorded."""
        self.keys = other.keys

    def ended(self, mail_ids: Sequence[str]) -> dict[str, bool]:
        failed = {failure.mail_id for failure in self.failures}
        return {mail_id: mail_id not in failed for mail_id in mail_ids if mail_id in self.keys}

    def delete_records(self, mail_ids: Sequence[str]) -> None:
        for mail_id in mail_ids:
            del self.keys[mail_id]

    def delete_finished(self, before: datetime) -> int:
        self.deleted_before.append(before)
        return 0


@dataclass
class Shift:
    """An agent on an office's store with a mailbox; a new `Shift` on the same office is the next process."""

    office: Office
    mailbox: FakeMailbox
    stop: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self.engine = InlineEngine(lambda mail_id: handle(mail_id, once(), self.office.stages))

    @property
    def agent(self) -> Worker:
        return Worker(
            settings=self.office.settings,
            store=self.office.store,
            wired=self.office.wired,
            engine=self.engine,
            open_mailbox=lambda: self.mailbox,
            now=self.office.clock,
        )

    def work(self) -> None:
        """One life of the program with `run --once`."""
        agent = self.agent
        agent.recover()
        agent.run_once(self.stop)


def with_imap(office: Office, **values: object) -> Office:
    imap = office.settings.imap.model_copy(update=values)
    return replace(office, settings=office.settings.model_copy(update={"imap": imap}))


def recipients(office: Office) -> list[str]:
    return [recipient for recipient, _ in office.transport.given]


def status(office: Office, raw: bytes) -> MailStatus | None:
    mail = office.store.mails.get(mail_id_of(raw))
    return mail.status if mail else None


def rows(office: Office, raw: bytes) -> list[tuple[OutgoingKind, OutboxStatus]]:
    return sorted((row.kind, row.status) for row in office.store.outbox.find(mail_id=mail_id_of(raw)))


def read_all(office: Office, client: FakeClient) -> list[MailId]:
    """Two lives of an agent whose real mailbox reads from this client; the mails it has recorded."""

    def open_mailbox() -> Mailbox:
        return Mailbox(office.settings.imap)

    with patch("support_agent.transport.mailbox.connect", lambda _settings: client):
        for _ in range(2):
            engine = InlineEngine(lambda mail_id: handle(mail_id, once(), office.stages))
            Worker(office.settings, office.store, office.wired, engine, open_mailbox, office.clock).run_once(Event())
    return [mail.id for mail in office.store.mails.find()]


def fails_once(real: Callable[..., T], error: SupportAgentError) -> Callable[..., T]:
    """A method that raises this the first time and then does what it did."""
    errors = [error]

    def failing(*arguments: object, **options: object) -> T:
        if errors:
            raise errors.pop()
        return real(*arguments, **options)

    return failing


def left_in_sending(office: Office, *raws: bytes) -> None:
    """The answers to these mails, as a process leaves them that died while it sent them."""
    office.transport.deliveries = [Delivery(status="retry", detail="421 later") for _ in raws]
    Shift(office, FakeMailbox(list(raws))).work()
    office.clock = Clock(NOON + timedelta(days=1))
    for row in office.store.outbox.find(status=OutboxStatus.READY):
        assert office.store.outbox.claim(row.id, office.clock())


@dataclass
class At:
    """A clock that stands until it is set."""

    instant: datetime = NOON

    def __call__(self) -> datetime:
        return self.instant


def work(office: Office) -> None:
    """One life of the program with an empty mailbox."""
    Shift(office, FakeMailbox([])).work()


@contextmanager
def dying_at_the_outbox(*, after: bool) -> Iterator[None]:
    """The process dies before, or right after, a mail comes into the outbox."""
    queue = Outbox.queue

    def dying(outbox: Outbox, mail: OutgoingMail) -> None:
        if after:
            queue(outbox, mail)
        raise KeyboardInterrupt

    with patch.object(Outbox, "queue", dying), pytest.raises(KeyboardInterrupt):
        yield
