"""A store that encrypts: a whole journey with words that nobody else uses, old rows, and backups that forget.

The journey's other rules hold on a store that does not encrypt; here is what a key for each mail adds.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from support_agent.cli.printing import person_traces
from support_agent.config.mail_servers import ImapSettings
from support_agent.config.settings import CompanySettings, StoreSettings
from support_agent.engine.steps import Steps
from support_agent.errors import ConfigError, PermanentError
from support_agent.ops.backup.targets import target_of
from support_agent.ops.person import person_of, traces_of
from support_agent.ops.person_export import export, opened
from support_agent.ops.replay import chosen, replay
from support_agent.outbound.sent_folder import SentFolder
from support_agent.store.keys import Lost
from support_agent.store.records import (
    CaseId,
    MailId,
    MailStatus,
    OutgoingKind,
    RecordedMail,
    mail_id_of,
)
from support_agent.store.retention import Deleted
from support_agent.store.store import Store
from tests.contract.store.examples import NOON, case, cursor, fill, outgoing, put, record
from tests.fakes_desk import lines_of, order, proposed_in, told
from tests.fakes_journey import ANNA, DESK, JAMES, Office, open_office, write
from tests.fakes_sealed import SEALS, lose_keys, sealed_office
from tests.fakes_watch import with_watch
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.outbound.test_sent_folder import FakeFolders
from tests.unit.seen import HUMAN, PACKET, one, text_of

BOB = "bob@partner.example"
NEEDLE = "zanzibarneedle"
HOW = "How do I cancel?"
LATE = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def office(company_settings: CompanySettings, empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    with sealed_office(tmp_path, company_settings, empty_store) as opened_:
        yield opened_


def asks(sender: str = ANNA, number: int = 1) -> bytes:
    return write(f"Can I get a refund? {NEEDLE}", sender=sender, subject=NEEDLE, number=number)


def files_with(folder: Path, word: str) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes())


def test_no_words_of_a_customer_are_in_the_files(office: Office, tmp_path: Path) -> None:
    """Rule: bytes, subject, plan, answer and record are encrypted; the journey, replay and export read them."""
    recorded: list[object] = []
    vault = office.store.database.vault

    def record(_name: str, work: object) -> object:
        recorded.append(result := work())  # type: ignore[operator]
        return result

    steps = Steps(record, office.stages.settings.engine, lambda _s: None)  # type: ignore[arg-type]
    raw = asks()
    mail_id = office.receive(raw)
    from support_agent.pipeline import handle

    sealed = steps.sealed(lambda value: vault.record(mail_id, value), vault.recorded)
    assert handle(mail_id, sealed, office.stages) == "answered"
    office.handle(write("I want a person.", sender=JAMES, subject=NEEDLE))
    assert recorded
    assert not any(NEEDLE in str(one) for one in recorded)
    assert files_with(tmp_path, NEEDLE) == []
    assert office.store.mails.raw(mail_id) == raw
    assert office.store.cases.recent(1)[0].case.subject == NEEDLE
    assert all(one.is_identical for one in replay(office.store, chosen(office.store)))
    (use,) = office.store.uses.documents()
    assert use.number == 1
    with opened(tmp_path / "anna.zip") as archive:
        export(office.store, person_of([ANNA], office.settings), archive, "", NOON)


@pytest.mark.parametrize("command", ["approve", "document 1"])
def test_what_a_person_approved_or_chose_ends_the_wait(office: Office, command: str) -> None:
    """Failure: which mail a chosen document answers was encrypted, and the desk's page showed its case for ever."""
    given = proposed_in(office)
    assert office.store.queue.facets().total == len(office.store.waits.cases(NOON)) == 1
    order(given.office, given.lines[command])
    assert office.store.queue.facets().total == len(office.store.waits.cases(NOON)) == 0
    (answer,) = office.store.waits.answers(NOON)
    assert answer.approved_id == (given.mail_id if command == "approve" else None)


def test_a_backup_made_before_cannot_be_read_after(office: Office, tmp_path: Path) -> None:
    """Rule: beside the keys of today, an old copy of the store has lost the forgotten person, and nobody else."""
    anna, _ = office.handle(asks())
    james, _ = office.handle(asks(JAMES, 2))
    office.store.database.purge()
    backup = tmp_path / "backup.sqlite3"
    shutil.copy(tmp_path / "store.sqlite3", backup)
    kept = office.store.persons.find([ANNA])
    office.store.persons.forget(kept, NOON, {})
    assert office.store.database.vault.keys.lost([anna, james]) == Lost(frozenset({anna}), frozenset())

    keys = SEALS._replace(
        url=f"sqlite:///{tmp_path / 'store-keys.sqlite3'}", master_key_file=tmp_path / "store-master.key"
    )
    with Store.open(f"sqlite:///{backup}", keys=keys) as restored:
        assert NEEDLE.encode() in restored.mails.raw(james)
        with pytest.raises(PermanentError) as refused:
            restored.mails.raw(anna)
        assert refused.value.code == "forgotten"
        assert restored.sealing.delete_unreadable(NOON, dry_run=True) == Deleted(cases=1, mails=1)
        assert restored.sealing.delete_unreadable(NOON) == Deleted(cases=1, mails=1)
        assert [mail.id for mail in restored.mails.find()] == [james]
        assert restored.sealing.delete_unreadable(NOON) == Deleted(cases=0, mails=0)


def test_retention_destroys_the_keys_as_well(office: Office) -> None:
    """Rule: what is too old to be kept is too old to be read in a backup."""
    mail_id, _ = office.handle(asks())
    office.store.retention.run(StoreSettings(retention_days=7), office.clock().replace(year=2027))
    assert office.store.mails.find() == ()
    assert office.store.database.vault.keys.lost([mail_id]) == Lost(frozenset({mail_id}), frozenset())


def test_bytes_that_retention_emptied_stop_nothing(office: Office) -> None:
    """Failure: each look at whose key opens a mail failed at its empty bytes: alarms, restore, `keys unreadable`."""
    mail_id, _ = office.handle(asks())
    office.store.retention.run(StoreSettings(raw_retention_days=7), office.clock().replace(year=2027))
    office.store.sealing.require_keys()
    office.store.sealing.require_any_keys()
    assert office.store.sealing.unreadable([mail_id]) == set()
    assert office.store.sealing.delete_unreadable(NOON) == Deleted(cases=0, mails=0)


def test_no_keys_are_made_though_the_newest_mail_is_plain(office: Office, tmp_path: Path) -> None:
    """Failure: older mails are encrypted, and keys made anew would be replaced by the lost ones, or replace them."""
    office.receive(asks())
    with Store.open(office.store.database.url.render_as_string()) as plain:
        put_new(plain, asks(JAMES, 2))
    office.store.close()
    no_keys(tmp_path)
    with pytest.raises(ConfigError, match="keys"):
        office.store.sealing.require_keys(may_create=True)
    assert not (tmp_path / "store-keys.sqlite3").exists()


def test_a_forgotten_mail_that_is_still_in_the_mailbox_stops_nothing(office: Office) -> None:
    """Failure: after a restore of a backup from before the mail came, sealing it failed at each fetch."""
    office.store.database.vault.record(mail_id := mail_id_of(asks()), "anything")
    office.store.database.vault.destroy([mail_id])
    for _ in range(2):
        assert not put_new(office.store, asks()).is_new
    assert office.store.mails.find() == ()
    assert office.handle(asks(JAMES, 2))[1] == "answered"


def put_new(store: Store, raw: bytes) -> RecordedMail:
    """A mail as it is fetched."""
    return store.mails.record(raw, message_id="<1@example.org>", cursor=cursor(1), received_at=LATE)


def test_rows_of_an_earlier_version_are_read_and_then_encrypted(office: Office, tmp_path: Path) -> None:
    """Rule: plain and sealed rows stand side by side; `keys seal` changes what is in the file, and no answer."""
    plain = Store.open(office.store.database.url.render_as_string())
    with plain:
        old = open_office(office.settings.company, plain)
        mail_id, _ = old.handle(asks())
        old.decider.company.accounts.close()
    assert office.store.mails.raw(mail_id) == asks()
    office.handle(asks(JAMES, 2))
    before = office.store.cases.timeline(office.store.cases.found(ANNA, 1)[0].id)
    assert office.store.sealing.seal_plain() == 1
    assert office.store.sealing.seal_plain() == 0
    office.store.database.purge()
    assert files_with(tmp_path, NEEDLE) == []
    assert office.store.cases.timeline(office.store.cases.found(ANNA, 1)[0].id) == before
    assert all(one.is_identical for one in replay(office.store, chosen(office.store)))


@pytest.mark.parametrize("is_destroyed", [True, False])
def test_a_loss_that_cannot_be_read_hides_no_other_and_the_desk_is_told_its_id(
    office: Office, is_destroyed: bool
) -> None:
    """Failure: after a restore one such row kept every notice of a loss, every copy and the worker's start."""
    office = with_watch(office, alarm_every_h=24)
    sent = [office.handle(write(HOW, sender=who))[0] for who in (ANNA, JAMES)]
    lost = [put_lost(office, sender, number) for number, sender in ((3, ANNA), (4, JAMES))]
    new = office.receive(write("And my seats?", sender=ANNA, number=5))
    office.store.mails.save_sender(new, ANNA, 2, "dmarc=pass")
    office.receive(write("Let me talk to a human.", sender=JAMES, number=6))
    hers = [sent[0], lost[0], new]
    lose_keys(office.store, hers, is_destroyed=is_destroyed)

    folders = FakeFolders()
    SentFolder(office.store, ImapSettings(), lambda: folders, office.clock).look_after()
    assert len(folders.filed) == 1
    Shift(office, FakeMailbox([])).work()
    notices = office.store.deliveries.unnotified_losses()
    assert [notice.mail_id for notice in notices] == [lost[0]]
    (alarm,) = office.store.outbox.find(kind=OutgoingKind.ALARM)
    assert f"2 mails cannot be read, because the keys are gone: {notices[0].id}, {new}" in text_of(alarm)
    assert [one.case.subject for one in office.store.cases.recent(9)].count("") >= 1
    assert office.store.sealing.delete_unreadable(NOON).mails == 3
    assert office.store.deliveries.unnotified_losses() == ()


def test_a_mail_that_was_being_sent_is_recovered_though_its_key_is_gone(office: Office) -> None:
    """Failure: it kept what was being sent beside it from being recovered, round after round."""
    sent = [office.handle(write(HOW, sender=who))[0] for who in (ANNA, JAMES)]
    queued = [put(office.store, outgoing(mail, OutgoingKind.PACKET, number=9)) for mail in sent]
    assert all(office.store.outbox.claim(row.id, LATE) for row in queued)
    lose_keys(office.store, sent[:1], is_destroyed=True)
    assert {row.id for row in office.store.outbox.recover_sending()} == {row.id for row in queued}
    assert office.store.outbox.recover_sending() == ()


@pytest.mark.parametrize("command", ["own words", "document 1", "claim", "give back", "close", "spam"])
@pytest.mark.parametrize(
    ("is_first", "is_answered", "is_destroyed"), [(True, False, True), (False, False, True), (True, True, False)]
)
def test_a_mail_that_cannot_be_read_stops_no_command_about_another_of_its_case(
    office: Office, command: str, is_first: bool, is_answered: bool, is_destroyed: bool
) -> None:
    """Failure: no line of a packet in the case worked, as all packets were read to find the one of the key."""
    first, _ = office.handle(f"Cc: {BOB}\r\n".encode() + write(HUMAN, sender=JAMES))
    root = one(office, first).message_id
    second, _ = office.handle(write(HUMAN, sender=BOB, in_reply_to=root, number=2))
    gone, left = (first, second) if is_first else (second, first)
    lost = [gone]
    if is_answered:
        lost.append(order(office, lines_of(office.sent(gone)[PACKET])["own words"], "We see.", number=60))
    line = lines_of(office.sent(left)[PACKET])[command]
    lose_keys(office.store, lost, is_destroyed=is_destroyed)
    given = order(office, line, "We look at it." if command == "own words" else "", number=61)
    assert one(office, given).status is MailStatus.FILED
    assert told(office, given) == ""
    assert office.store.used_keys.is_used(line.rpartition(" ")[2])


@pytest.mark.parametrize("is_destroyed", [True, False])
def test_a_reply_to_a_packet_that_cannot_be_read_goes_back_to_its_writer(office: Office, is_destroyed: bool) -> None:
    """Failure: the reply was set aside, and nobody heard that the customer did not get it."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(first)[PACKET]
    lose_keys(office.store, [first], is_destroyed=is_destroyed)
    reply, _ = office.handle(write("We see.", sender=DESK, in_reply_to=packet.message_id, number=2))
    assert one(office, reply).case_id == packet.case_id
    assert {row.kind: row.recipient for row in office.sent(reply).values()} == {OutgoingKind.FAILURE: DESK}
    assert told(office, reply).startswith("the packet that it answers is no longer kept: write to the customer")


@pytest.mark.parametrize("is_destroyed", [True, False])
def test_a_person_gets_a_strangers_reply_to_a_mail_of_ours_that_cannot_be_read(
    office: Office, is_destroyed: bool
) -> None:
    """Failure: the mail was set aside without a notice, because the mail that it answers was read to the end."""
    first, _ = office.handle(write(HOW, sender=JAMES))
    answer = office.sent(first)[OutgoingKind.ANSWER]
    lose_keys(office.store, [first], is_destroyed=is_destroyed)
    reply, _ = office.handle(write(HUMAN, sender=BOB, in_reply_to=answer.message_id, number=2))
    assert set(office.sent(reply)) == {PACKET}


def no_master(folder: Path) -> None:
    (folder / "store-master.key").unlink()


def no_keys(folder: Path) -> None:
    for path in folder.glob("store-keys.sqlite3*"):
        path.unlink()


def keys_of_another_store(folder: Path) -> None:
    no_keys(folder)
    with Store.open(f"sqlite:///{folder}/store.sqlite3", keys=SEALS) as store:
        store.database.vault.seal("a" * 32, b"words")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (no_master, "store-master.key is missing"),
        (no_keys, "there are no keys in sqlite:///"),
        (keys_of_another_store, "are not those of this store"),
    ],
)
def test_keys_that_do_not_open_the_store_are_refused_at_the_start(
    office: Office, tmp_path: Path, spoil: Callable[[Path], None], why: str
) -> None:
    """Rule: no new keys are made beside sealed mails: what is sealed with them hides that the others are gone."""
    office.receive(asks())
    office.store.sealing.require_keys(may_create=True)
    office.store.close()
    spoil(tmp_path)
    with pytest.raises(ConfigError, match=why):
        office.store.sealing.require_keys(may_create=True)
    assert (tmp_path / "store-keys.sqlite3").exists() is (spoil is not no_keys)


def put_lost(office: Office, sender: str, number: int) -> MailId:
    """A mail whose answer the server refused, of which the desk was not told yet."""
    mail_id = office.receive(write(HOW, sender=sender, number=number))
    office.store.cases.open(case(CaseId(f"CASE{number:06}")), mail_id)
    office.store.mails.end(mail_id, MailStatus.ANSWERED, None, None, NOON)
    row = put(office.store, outgoing(mail_id, case_id=CaseId(f"CASE{number:06}"), at=NOON))
    assert office.store.outbox.claim(row.id, NOON)
    office.store.outbox.mark_failed(row.id, "550 no", by="")
    return mail_id


def test_a_store_that_a_restore_left_aside_is_named_and_keeps_what_only_it_has(office: Office, tmp_path: Path) -> None:
    """Rule: `forget` destroys the keys of the mails that the store has; a mail that came after the backup has its key.

    So the store aside must be deleted by hand, and the operator is told where it is.
    """
    both, _ = office.handle(asks())
    office.store.database.purge()
    aside = tmp_path / "store.sqlite3.replaced-20261120T120000Z" / "old"
    aside.mkdir(parents=True)
    later = office.receive(asks(number=2))
    office.store.database.purge()
    shutil.copy(tmp_path / "store.sqlite3", aside / "store.sqlite3")
    with office.store.database.write() as connection:  # the store of the backup, which does not have it
        connection.exec_driver_sql("DELETE FROM mails WHERE id = ?", (later,))
    person = person_of([ANNA], office.settings)
    traces = traces_of(office.store, person, tmp_path, tmp_path / "work")
    assert traces.aside == (f"{aside.parent}: rm -r {aside.parent}",)
    assert f"delete {aside.parent}" in person_traces(traces)
    office.store.persons.forget(traces.kept, NOON, {})
    keys = SEALS._replace(url=f"sqlite:///{tmp_path / 'store-keys.sqlite3'}")
    with Store.open(f"sqlite:///{aside / 'store.sqlite3'}", keys=keys) as left:
        with pytest.raises(PermanentError):
            left.mails.raw(both)
        assert left.mails.raw(later) == asks(number=2)


@pytest.mark.servers
def test_schemas_that_restores_left_aside_are_named(postgres_store_url: str) -> None:
    with Store.open(postgres_store_url) as store:
        with store.database.write() as connection:
            connection.exec_driver_sql("CREATE SCHEMA support_agent_replaced_20261120t120000z")
        target = target_of(postgres_store_url, 5.0, has_engine=False)
        (left,) = target.left()
    assert left.endswith("DROP SCHEMA support_agent_replaced_20261120t120000z CASCADE")


@pytest.mark.servers
def test_on_postgresql_the_keys_are_in_a_schema_of_their_own(postgres_store_url: str) -> None:
    """Rule: the same rows come back; a dump without the schema has no key."""
    with Store.open(postgres_store_url, keys=SEALS) as store:
        mail_id = fill(store)
        assert b"mail 1" in store.mails.raw(mail_id)
        with store.database.read() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM support_agent_keys.mail_keys").scalar() == 2
            stored = connection.exec_driver_sql("SELECT raw FROM mails").scalar()
        assert b"mail 1" not in bytes(stored or b"")
        store.database.vault.destroy([mail_id])
        with pytest.raises(PermanentError):
            store.mails.raw(mail_id)


@pytest.mark.servers
def test_every_key_that_was_stored_during_a_rotation_is_opened_by_the_new_master_key(postgres_store_url: str) -> None:
    """Rule: a process that has the old master key stores none after the rotation began, on PostgreSQL, too."""
    old, new = (SEALS._replace(master_key=SecretStr(digits * 32)) for digits in ("11", "22"))
    with Store.open(postgres_store_url, keys=old) as store, ThreadPoolExecutor(4) as threads:
        sealed: list[bytes] = []

        def seal(number: int) -> bool:
            with suppress(ConfigError):
                sealed.append(store.database.vault.seal(f"{number:032x}", b"words"))
                return True
            return False

        assert seal(1)
        sealing = threads.map(seal, range(2, 200))
        with Store.open(postgres_store_url, keys=old) as other:
            other.database.vault.keys.rotate(new.master_key)
        assert not (list(sealing)[-1] and seal(200))
    with Store.open(postgres_store_url, keys=new) as store:
        assert all(store.database.vault.open(one) == b"words" for one in sealed)


@pytest.mark.servers
def test_a_key_that_is_destroyed_during_a_rotation_stays_destroyed(
    postgres_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: the rotation had read it before, and stored it again."""
    old, new = (SEALS._replace(master_key=SecretStr(digits * 32)) for digits in ("11", "22"))
    mail_id = "ab" * 16
    with (
        Store.open(postgres_store_url, keys=old) as store,
        Store.open(postgres_store_url, keys=old) as other,
    ):
        box = store.database.vault.seal(mail_id, b"words")
        rotating = other.database.vault.keys
        unwrapped = rotating._unwrapped

        def destroyed_meanwhile(one: str, wrapped: bytes) -> bytes:
            if one == mail_id:
                store.database.vault.destroy([mail_id])
            return unwrapped(one, wrapped)

        monkeypatch.setattr(rotating, "_unwrapped", destroyed_meanwhile)
        other.database.vault.keys.rotate(new.master_key)
    with Store.open(postgres_store_url, keys=new) as store, pytest.raises(PermanentError) as refused:
        store.database.vault.open(box)
    assert refused.value.code == "forgotten"


@pytest.mark.servers
def test_the_transaction_that_deletes_does_not_wait_for_the_table_of_keys(postgres_store_url: str) -> None:
    """Failure: the table was rewritten in it, and kept what the transaction could still read: the destroyed keys."""
    locked = "LOCK TABLE support_agent_keys.mail_keys IN SHARE UPDATE EXCLUSIVE MODE"  # as another VACUUM does
    with Store.open(postgres_store_url, keys=SEALS) as store, ThreadPoolExecutor(1) as thread:
        store.mails.end(record(store), MailStatus.FILED, None, None, NOON)
        with store.database.write() as connection:
            connection.exec_driver_sql(locked)
            deleting = thread.submit(store.retention.delete_older_than, LATE)
            while store.mails.find() and not deleting.done():
                time.sleep(0.02)
            assert not deleting.done()
        assert deleting.result(timeout=60).mails == 1
