"""The agent's loop: what it reads, in which order it records and acts, and what it makes up for after a death."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Event

import pytest
from imapclient.exceptions import IMAPClientError  # type: ignore[import-untyped]
from structlog.testing import capture_logs

from support_agent.agent import IDLE_MARGIN_S, Agent
from support_agent.engine import Engine, Failure
from support_agent.errors import PermanentError, SupportAgentError, TransientError
from support_agent.mail.mailbox import Cursor, Fetched, Mailbox
from support_agent.mail.message import parse
from support_agent.mail.outbox import Delivery
from support_agent.pipeline import handle
from support_agent.settings import ImapSettings
from support_agent.store.records import LetterKind, MailId, MailStatus, OutboxStatus, mail_id_of
from support_agent.store.store import Store
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Clock, Office, once, write

ANSWER, ACKNOWLEDGEMENT = LetterKind.ANSWER, LetterKind.ACKNOWLEDGEMENT
PACKET, FAILURE = LetterKind.PACKET, LetterKind.FAILURE
REFUND, CANCEL, HUMAN = "Can I get a refund?", "How do I cancel?", "Let me talk to a human."


@dataclass
class FakeMailbox(Mailbox):
    """A folder in memory, read by the rules of the real one; `on_open` and `after_mail` are called when they happen."""

    mails: list[bytes]
    uid_validity: int = 1
    is_away: bool = False
    on_open: Callable[[], None] = lambda: None
    after_mail: Callable[[], None] = lambda: None
    handled: list[int] = field(default_factory=list)
    arrivals: dict[int, datetime] = field(default_factory=dict)
    """When a mail arrived, by UID; unknown where it is not here."""

    def __enter__(self) -> FakeMailbox:
        self.on_open()
        if self.is_away:
            raise TransientError("imap.example.com:993 cannot be used now: refused")
        return self

    def close(self) -> None:
        """Nothing is open."""

    def fetch_after(self, cursor: Cursor | None) -> Iterator[Fetched]:
        is_rescan = cursor is not None and cursor.uid_validity != self.uid_validity
        last = 0 if cursor is None or is_rescan else cursor.last_uid
        for uid, raw in enumerate(self.mails, start=1):
            if uid > last:
                here = Cursor(folder="INBOX", uid_validity=self.uid_validity, last_uid=uid)
                yield Fetched(uid=uid, raw=raw, cursor=here, is_rescan=is_rescan, arrived_at=self.arrivals.get(uid))

    def end(self) -> Cursor:
        return Cursor(folder="INBOX", uid_validity=self.uid_validity, last_uid=len(self.mails))

    def mark_handled(self, uid: int) -> None:
        self.handled.append(uid)
        self.after_mail()

    def numbered_anew(self) -> FakeMailbox:
        """The same folder on another server, which has changed each mail's bytes on the way."""
        moved = [b"X-Moved: yes\r\n" + raw for raw in self.mails]
        return FakeMailbox(moved, uid_validity=self.uid_validity + 1)


class FakeClient:
    """An IMAP folder that gives what it is asked for, but not the bodies of the UIDs in `broken`."""

    def __init__(self, mails: list[bytes], broken: frozenset[int] = frozenset()) -> None:
        self.mails, self.broken = dict(enumerate(mails, start=1)), broken

    def select_folder(self, folder: str) -> dict[bytes, object]:
        """No keywords may be set."""
        return {b"UIDVALIDITY": 1, b"UIDNEXT": len(self.mails) + 1}

    def search(self, criteria: list[str]) -> list[int]:
        """Those from the first UID on."""
        return [uid for uid in self.mails if uid >= int(criteria[1].partition(":")[0])]

    def fetch(self, uids: list[int], items: list[str]) -> dict[int, dict[bytes, object]]:
        """Sizes, or a body or header of one mail."""
        if items == ["RFC822.SIZE", "INTERNALDATE"]:
            return {uid: {b"RFC822.SIZE": len(self.mails[uid])} for uid in uids}
        (uid,), (item,) = uids, items
        if uid in self.broken:
            raise IMAPClientError("[SERVERBUG] cannot read the file")
        raw = self.mails[uid]
        header = raw[: raw.index(b"\r\n\r\n") + 4]
        return {uid: {item.replace(".PEEK", "").encode(): raw if item == "BODY.PEEK[]" else header}}


class ReadingMailbox(Mailbox):
    """The real one, on a client that is open already."""

    def __init__(self, settings: ImapSettings, client: FakeClient) -> None:
        super().__init__(settings)
        self._client = client

    def __enter__(self) -> ReadingMailbox:
        return self

    def close(self) -> None:
        """The client stays open."""


class InlineEngine(Engine):
    """Handles a mail where it is started, once; `dies_at_start` ends the process instead."""

    def __init__(self, journey: Callable[[MailId], object]) -> None:
        self.journey = journey
        self.keys: dict[str, str] = {}
        self.failures: list[Failure] = []
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
            self.failures.append(Failure(mail_id, error))

    def wait_until_idle(self, timeout_s: float) -> bool:
        return not self.is_busy

    def failed(self) -> list[Failure]:
        return self.failures

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
    def agent(self) -> Agent:
        return Agent(
            settings=self.office.settings,
            store=self.office.store,
            stages=self.office.stages,
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
    mail = office.store.mail(mail_id_of(raw))
    return mail.status if mail else None


def rows(office: Office, raw: bytes) -> list[tuple[LetterKind, OutboxStatus]]:
    return sorted((row.kind, row.status) for row in office.store.outgoing(mail_id=mail_id_of(raw)))


# Reading


def test_new_mail_is_handled_marked_and_not_read_again(office: Office) -> None:
    shift = Shift(office, FakeMailbox([write(REFUND, sender=JAMES)]))
    shift.work()
    shift.mailbox.mails.append(write(CANCEL))
    shift.work()
    shift.work()
    assert recipients(office) == [JAMES, ANNA]
    assert shift.mailbox.handled == [1, 2]


def test_mail_that_was_recorded_before_a_death_is_taken_up_by_the_next_process(office: Office) -> None:
    """The cursor has passed it already, and the engine has not heard of it."""
    raw = write(REFUND)
    first = Shift(office, FakeMailbox([raw]))
    first.engine.dies_at_start = True
    with pytest.raises(KeyboardInterrupt):
        first.work()
    assert (first.mailbox.handled, status(office, raw)) == ([], MailStatus.NEW)
    Shift(office, first.mailbox).work()
    assert (recipients(office), status(office, raw)) == ([ANNA], MailStatus.ANSWERED)


def test_mails_of_one_thread_have_one_key_which_is_no_header(office: Office) -> None:
    """They are handled one after the other; the key stands in the log, a Message-ID is a stranger's text."""
    first = write(REFUND)
    reply = write(CANCEL, in_reply_to=parse(first).message_id, number=2)
    shift = Shift(office, FakeMailbox([first, reply, write(REFUND, sender=JAMES)]))
    shift.work()
    one, two, other = shift.engine.keys.values()
    assert one == two != other
    assert "@" not in one


def test_first_start_may_leave_old_mail_alone(office: Office) -> None:
    office = with_imap(office, skip_existing=True)
    shift = Shift(office, FakeMailbox([write(REFUND), write(CANCEL)]))
    shift.work()
    assert (office.store.mails(), shift.mailbox.handled) == ((), [])
    shift.mailbox.mails.append(write(REFUND, sender=JAMES))
    shift.work()
    assert recipients(office) == [JAMES]


def test_mail_left_alone_at_the_first_start_stays_so_when_the_folder_is_numbered_anew(office: Office) -> None:
    """It was never recorded, so only its age tells; what arrived while nobody looked is answered."""
    office = with_imap(office, skip_existing=True)
    shift = Shift(office, FakeMailbox([write(REFUND)]))
    shift.work()
    shift.mailbox.mails.append(write(REFUND, sender=JAMES))
    shift.work()
    anew = shift.mailbox.numbered_anew()
    anew.mails.append(write(CANCEL, sender=ANNA))
    anew.arrivals = {1: office.clock() - timedelta(days=300), 2: office.clock(), 3: office.clock()}
    Shift(office, anew).work()
    assert recipients(office) == [JAMES, ANNA]


def test_mail_that_came_while_the_agent_was_away_is_answered_however_old(office: Office) -> None:
    """Only what arrived before the first start is left alone."""
    office = with_imap(office, skip_existing=True)
    shift = Shift(office, FakeMailbox([]))
    shift.work()
    started_at = office.clock()
    office.clock = Clock(NOON + timedelta(days=3))
    mailbox = FakeMailbox([write(REFUND), write(CANCEL, sender=JAMES)])
    mailbox.arrivals = {1: started_at + timedelta(hours=1), 2: started_at + timedelta(days=2)}
    Shift(office, mailbox).work()
    assert recipients(office) == [ANNA, JAMES]


def test_stop_ends_after_the_mail_in_hand(office: Office) -> None:
    """SIGTERM: what is recorded is handled, the rest waits in the mailbox for the next start."""
    shift = Shift(office, FakeMailbox([write(REFUND), write(CANCEL, sender=JAMES)]))
    shift.mailbox.after_mail = shift.stop.set
    shift.agent.run(shift.stop)
    assert (recipients(office), shift.mailbox.handled) == ([ANNA], [1])
    shift.mailbox.after_mail = lambda: None
    Shift(office, shift.mailbox).work()
    assert recipients(office) == [ANNA, JAMES]


def test_stop_does_not_wait_for_a_mail_that_takes_long(office: Office) -> None:
    """The engine's own stop has the patience; the loop ends, and nothing is sent meanwhile."""
    shift = Shift(office, FakeMailbox([]))
    shift.engine.is_busy = True
    shift.stop.set()
    shift.agent.run_once(shift.stop)
    assert shift.engine.deleted_before == []


def test_mail_that_does_not_come_to_its_end_does_not_make_the_agent_deaf(office: Office) -> None:
    """The loop waits a bounded time, says so, and polls again; what is in hand may still be in sending."""
    office = with_imap(office, poll_interval_s=0.0)
    raw = write(REFUND)
    left_in_sending(office, raw)
    shift = Shift(office, FakeMailbox([]))
    shift.engine.is_busy = True
    opened: list[None] = []

    def stop_at_the_third() -> None:
        opened.append(None)
        if len(opened) == 3:
            shift.stop.set()

    shift.mailbox.on_open = stop_at_the_third
    with capture_logs() as logs:
        shift.agent.run(shift.stop)
    waited = [entry["waited_s"] for entry in logs if entry["event"] == "mails_still_in_hand"]
    assert waited == [office.settings.planner.max_s + IDLE_MARGIN_S] * 2
    assert rows(office, raw) == [(ANSWER, OutboxStatus.SENDING)]


# Mails that cannot be read whole


def read_all(office: Office, client: FakeClient) -> list[MailId]:
    """Two lives of an agent whose real mailbox reads from this client; the mails it has recorded."""

    def open_mailbox() -> Mailbox:
        return ReadingMailbox(office.settings.imap, client)

    for _ in range(2):
        engine = InlineEngine(lambda mail_id: handle(mail_id, once(), office.stages))
        Agent(office.settings, office.store, office.stages, engine, open_mailbox, office.clock).run_once(Event())
    return [mail.id for mail in office.store.mails()]


def test_s37_mail_that_the_server_cannot_give_reaches_a_person(office: Office) -> None:
    """Nothing of it is known, so nobody can be told but the desk; the mail after it is answered."""
    bad, good = read_all(office, FakeClient([write(REFUND, sender=JAMES), write(REFUND)], broken=frozenset({1})))
    assert recipients(office) == [DESK, ANNA]
    packet = office.store.letter_for(bad, PACKET)
    assert packet is not None
    assert "S37: limit: the server cannot give UID 1 of INBOX" in str(packet.payload["why"])
    mails = (office.store.mail(mail_id) for mail_id in (bad, good))
    assert [mail.status for mail in mails if mail] == [MailStatus.ESCALATED, MailStatus.ANSWERED]


def test_s15_mail_over_the_size_limit_reaches_a_person_and_is_not_answered_by_its_subject(office: Office) -> None:
    """Only its header was read; the sender is known from it, and is told that a person has the mail."""
    office = with_imap(office, max_message_bytes=10_000)
    big = write("See the list. " + "x" * 20_000, subject=REFUND)
    (mail_id,) = read_all(office, FakeClient([big]))
    assert recipients(office) == [DESK, ANNA]
    assert {row.kind for row in office.store.outgoing(mail_id=mail_id)} == {PACKET, ACKNOWLEDGEMENT}
    packet = office.store.letter_for(mail_id, PACKET)
    assert packet is not None
    assert "S15: limit: " in str(packet.payload["why"])


# A folder that is numbered anew (RFC 3501, section 2.3.1.1)


def test_s31_mail_of_a_folder_numbered_anew_is_not_answered_again(office: Office) -> None:
    """Not even with other bytes; what is really new is."""
    shift = Shift(office, FakeMailbox([write(REFUND), write(HUMAN, sender=JAMES)]))
    shift.work()
    before = recipients(office)
    moved = shift.mailbox.numbered_anew()
    moved.mails.append(write(CANCEL, number=9))
    with capture_logs() as logs:
        Shift(office, moved).work()
    assert recipients(office) == [*before, ANNA]
    assert [entry["log_level"] for entry in logs if entry["event"] == "folder_numbered_anew"] == ["critical"]


def test_s31_not_even_after_a_death_in_the_middle(office: Office) -> None:
    """The first mail read moves the cursor to the new numbers: the next process sees no change any more."""
    shift = Shift(office, FakeMailbox([write(REFUND), write(CANCEL, sender=JAMES), write(REFUND, number=3)]))
    shift.work()
    before = recipients(office)
    moved = shift.mailbox.numbered_anew()

    def die() -> None:
        raise KeyboardInterrupt

    moved.after_mail = die
    with pytest.raises(KeyboardInterrupt):
        Shift(office, moved).work()
    moved.after_mail = lambda: None
    with capture_logs() as logs:
        Shift(office, moved).work()
    assert [entry for entry in logs if entry["event"] == "folder_numbered_anew"] == []
    assert recipients(office) == before
    assert moved.handled == [1, 2, 3]


def test_s31_unchanged_bytes_are_not_even_recorded(office: Office) -> None:
    shift = Shift(office, FakeMailbox([write(REFUND)]))
    shift.work()
    Shift(office, replace(shift.mailbox, uid_validity=2)).work()
    assert (len(office.store.mails()), recipients(office)) == (1, [ANNA])


# Sending


def test_mail_that_could_not_go_out_goes_out_when_it_is_due(office: Office) -> None:
    """Also while the mailbox is away: an IMAP server that is down keeps no answer back."""
    office.transport.deliveries = [Delivery(status="retry", detail="421 later")]
    raw = write(REFUND)
    Shift(office, FakeMailbox([raw])).work()
    assert rows(office, raw) == [(ANSWER, OutboxStatus.READY)]
    office.clock = Clock(NOON + timedelta(days=1))
    with pytest.raises(TransientError):
        Shift(office, FakeMailbox([], is_away=True)).work()
    assert rows(office, raw) == [(ANSWER, OutboxStatus.SENT)]


def test_mailbox_that_is_away_does_not_end_the_loop(office: Office) -> None:
    office = with_imap(office, poll_interval_s=0.0)
    shift = Shift(office, FakeMailbox([write(REFUND)], is_away=True))

    def come_back() -> None:
        shift.mailbox.is_away = opened.pop()

    opened = [False, True, True]
    shift.mailbox.on_open = come_back
    shift.mailbox.after_mail = shift.stop.set
    with capture_logs() as logs:
        shift.agent.run(shift.stop)
    assert [entry["code"] for entry in logs if entry["event"] == "poll_failed"] == ["transient", "transient"]
    assert recipients(office) == [ANNA]


def test_mail_that_must_wait_stands_in_nobodys_way(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The desk's server refuses every packet: acknowledgements wait for ever, other people's answers do not."""
    monkeypatch.setattr("support_agent.agent.OUTBOX_BATCH", 1)
    office.transport.deliveries = [
        Delivery(status="failed", detail="550 no such desk"),
        Delivery(status="failed", detail="550 no such desk"),
        Delivery(status="retry", detail="421 later"),
    ]
    mails = [write(HUMAN), write(HUMAN, sender=JAMES), write(REFUND)]
    Shift(office, FakeMailbox(mails)).work()
    office.clock = Clock(NOON + timedelta(days=1))
    Shift(office, FakeMailbox([])).work()
    assert rows(office, mails[2]) == [(ANSWER, OutboxStatus.SENT)]
    assert rows(office, mails[0]) == [(ACKNOWLEDGEMENT, OutboxStatus.READY), (PACKET, OutboxStatus.FAILED)]


def test_one_mail_that_cannot_be_sent_at_all_stops_no_other(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect in the record of one try is logged; the next mail is due all the same."""
    office.transport.deliveries = [Delivery(status="retry", detail="421 later")] * 2
    mails = [write(REFUND), write(REFUND, sender=JAMES)]
    Shift(office, FakeMailbox(mails)).work()
    office.clock = Clock(NOON + timedelta(days=1))
    defect = PermanentError("it is not `sending` any more", code="outbox_status")
    monkeypatch.setattr(Store, "mark_sent", _fails_once(Store.mark_sent, defect))
    with capture_logs() as logs:
        Shift(office, FakeMailbox([])).work()
    assert [entry["code"] for entry in logs if entry["event"] == "delivery_failed"] == ["outbox_status"]
    assert rows(office, mails[1]) == [(ANSWER, OutboxStatus.SENT)]


def _fails_once(real: Callable[..., None], error: SupportAgentError) -> Callable[..., None]:
    errors = [error]

    def mark(*arguments: object) -> None:
        if errors:
            raise errors.pop()
        real(*arguments)

    return mark


# What is left behind


def left_in_sending(office: Office, *raws: bytes) -> None:
    """The answers to these mails, as a process leaves them that died while it sent them."""
    office.transport.deliveries = [Delivery(status="retry", detail="421 later") for _ in raws]
    Shift(office, FakeMailbox(list(raws))).work()
    office.clock = Clock(NOON + timedelta(days=1))
    for row in office.store.outgoing(status=OutboxStatus.READY):
        assert office.store.claim(row.id, office.clock())


def test_s62_answer_that_may_have_gone_out_is_not_sent_again_and_told_to_the_desk(office: Office) -> None:
    raw = write(REFUND)
    left_in_sending(office, raw)
    Shift(office, FakeMailbox([])).work()
    assert recipients(office) == [ANNA, DESK]
    assert rows(office, raw) == [(ANSWER, OutboxStatus.UNCERTAIN), (FAILURE, OutboxStatus.SENT)]
    assert status(office, raw) is MailStatus.ESCALATED


def test_desk_is_told_even_if_the_process_died_before_it_could_be(office: Office) -> None:
    """Between the record that a mail is lost and the packet that says so; and it is told once."""
    lost, unknown = write(REFUND), write(REFUND, sender=JAMES)
    left_in_sending(office, lost, unknown)
    office.store.mark_failed(office.store.outgoing(mail_id=mail_id_of(lost))[0].id, "550 no such user")
    office.store.recover_sending()
    for _ in range(2):
        Shift(office, FakeMailbox([])).work()
    assert recipients(office)[2:] == [DESK, DESK]
    packet = office.store.letter_for(mail_id_of(lost), FAILURE)
    assert packet is not None
    assert packet.payload["why"] == f"the answer to {ANNA} is failed: 550 no such user"


def test_answer_whose_end_could_not_be_recorded_does_not_stay_in_sending(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database was away after the server's word: found when nothing is in hand, without a restart."""
    raw = write(REFUND)
    away = TransientError("the database did not answer", code="database")
    monkeypatch.setattr(Store, "mark_sent", _fails_once(Store.mark_sent, away))
    Shift(office, FakeMailbox([raw])).work()
    assert recipients(office) == [ANNA, DESK]
    assert rows(office, raw) == [(ANSWER, OutboxStatus.UNCERTAIN), (FAILURE, OutboxStatus.SENT)]


def test_answer_that_is_refused_at_a_later_try_makes_the_mail_escalated(office: Office) -> None:
    """It counted as answered while it was waiting; it never was."""
    raw = write(REFUND)
    office.transport.deliveries = [
        Delivery(status="retry", detail="421 later"),
        Delivery(status="failed", detail="550 no such user"),
    ]
    shift = Shift(office, FakeMailbox([raw]))
    shift.work()
    assert status(office, raw) is MailStatus.ANSWERED
    office.clock = Clock(NOON + timedelta(days=1))
    shift.work()
    assert status(office, raw) is MailStatus.ESCALATED


def test_mail_whose_journey_failed_is_set_aside_and_told_once(office: Office) -> None:
    """S37: the next mail is handled all the same."""
    bad, good = write(REFUND), write(REFUND, sender=JAMES)

    def journey(mail_id: MailId) -> object:
        if mail_id == mail_id_of(bad):
            raise PermanentError("the record does not fit", code="journey_changed")
        return handle(mail_id, once(), office.stages)

    shift = Shift(office, FakeMailbox([bad, good]))
    shift.engine.journey = journey
    for _ in range(2):
        shift.work()
    assert (status(office, bad), status(office, good)) == (MailStatus.SET_ASIDE, MailStatus.ANSWERED)
    assert sorted(recipients(office)) == [DESK, JAMES]


def test_mail_is_set_aside_only_when_the_desk_has_been_told(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is away for a moment loses nobody's mail: it is told at the next look."""
    raw = write(REFUND)
    shift = Shift(office, FakeMailbox([raw]))

    def failing(_: MailId) -> object:
        raise PermanentError("the record does not fit", code="journey_changed")

    def away(*_: object) -> None:
        raise TransientError("the database did not answer", code="database")

    shift.engine.journey = failing
    with monkeypatch.context() as patched:
        patched.setattr(Store, "queue", away)
        with pytest.raises(TransientError):
            shift.work()
    assert status(office, raw) is MailStatus.NEW
    shift.work()
    assert (status(office, raw), recipients(office)) == (MailStatus.SET_ASIDE, [DESK])


def test_old_records_are_forgotten_after_their_own_times(office: Office) -> None:
    """The engine's after `engine.retention_days`, a case after `store.retention_days`; never answered again."""
    raw = write(REFUND)
    shift = Shift(office, FakeMailbox([raw]))
    shift.work()
    settings = office.settings
    office.clock = Clock(NOON + timedelta(days=settings.store.retention_days - 1))
    shift.work()
    assert status(office, raw) is MailStatus.ANSWERED
    office.clock = Clock(NOON + timedelta(days=settings.store.retention_days + 1))
    shift.work()
    assert office.store.mails() == ()
    age = office.clock() - shift.engine.deleted_before[-1]
    assert timedelta() < age - timedelta(days=settings.engine.retention_days) < timedelta(minutes=1)
    Shift(office, replace(shift.mailbox, uid_validity=2)).work()
    assert recipients(office) == [ANNA]
