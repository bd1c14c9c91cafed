"""Forgetting a person: a journey with words that nobody else uses, then every file and table is searched for them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from sqlalchemy import MetaData, select

from support_agent.errors import ConfigError, PermanentError
from support_agent.ops.forgetting import Forgotten, forget, pseudonym
from support_agent.ops.people_labels import export as export_labels
from support_agent.ops.person import PersonData, person_of, traces_of
from support_agent.store.audit import AuditEvent
from support_agent.store.desk_records import Label, LabelOutcome, LabelSource
from support_agent.transport.submission import Delivery
from tests.fakes_journey import DESK, JAMES, NOON, Office, write

NEEDLES = ("zanzibarneedle", "Quixoteneedle", "xylophoneneedle", "mistralneedle", "vortexneedle")
"""In the subject, the body, the name, the address, the attachment."""
VERA = "Mistralneedle@Example.NET"
RECEIPT = bytes(range(32))


def of_vera(text: str, address: str = VERA, number: int = 1) -> bytes:
    """A mail with all the needles."""
    plain = write(f"Quixoteneedle. {text}", sender=address, subject="zanzibarneedle", number=number)
    head, _, body = plain.partition(b"\r\n\r\n")
    head = head.replace(f"From: <{address}>".encode(), f"From: Xylophoneneedle <{address}>".encode())
    head = head.replace(b"Content-Type: text/plain; charset=utf-8", b'Content-Type: multipart/mixed; boundary="b"')
    parts = [
        b"--b\r\nContent-Type: text/plain\r\n\r\n" + body,
        b'--b\r\nContent-Type: text/plain; name="vortexneedle.txt"\r\n'
        b"Content-Disposition: attachment\r\n\r\nvortexneedle",
        b"--b--\r\n",
    ]
    return head + b"\r\n\r\n" + b"\r\n".join(parts)


def find(office: Office, folder: Path) -> PersonData:
    return traces_of(office.store, person_of([VERA], office.settings), folder, folder / "backtest-work")


def forgotten(office: Office, folder: Path, deleted: list[str] | None = None) -> Forgotten:
    def delete_records(mail_ids: object) -> int:
        assert isinstance(mail_ids, tuple)
        (deleted if deleted is not None else []).extend(mail_ids)
        return len(mail_ids)

    person, results = person_of([VERA], office.settings), folder / "backtest-work"
    return forget(office.store, person, find(office, folder), results, delete_records, RECEIPT, NOON)


def cells(office: Office) -> str:
    """Every value of every table."""
    with office.store.database.read() as connection:
        metadata = MetaData()
        metadata.reflect(connection)
        return repr([connection.execute(select(table)).all() for table in metadata.sorted_tables]).lower()


def files_with(folder: Path, needle: str) -> list[str]:
    """The files whose bytes have a word, in whatever case."""
    pattern = re.compile(needle.encode(), re.IGNORECASE)
    return [path.name for path in folder.rglob("*") if path.is_file() and pattern.search(path.read_bytes())]


def test_no_word_and_no_address_of_a_forgotten_person_is_left(office: Office, tmp_path: Path) -> None:
    """Rule: subject, body, name, address and attachment are in no table and in no byte of a file; others stay."""
    other, _ = office.handle(write("Can I get a refund?", sender=JAMES))
    first, outcome = office.handle(of_vera("Can I get a refund?"))
    assert outcome == "answered"
    office.handle(of_vera("I want to speak to a person about my seats.", "mistralneedle+shop@example.net", 2))
    bounce = (
        b"From: MAILER-DAEMON@mx.example\r\nTo: x\r\nSubject: failed\r\n\r\nno such user: <mistralNEEDLE@example.net>"
    )
    office.handle(bounce)
    label = Label(
        mail_id=first, outcome=LabelOutcome.SAME, keys=("document:1",), who=DESK, how=LabelSource.COMMAND, made_at=NOON
    )
    office.store.labels.add(label)
    office.store.labels.add(label.model_copy(update={"mail_id": other}))
    labelled = export_labels(office.store, tmp_path / "labelled").folder
    work = tmp_path / "backtest-work" / "desk-page"
    work.mkdir(parents=True)
    (work / "mails.mbox").write_text("zanzibarneedle")
    (tmp_path / "note.md").write_text(f"call {VERA}")
    for needle in NEEDLES:
        assert files_with(tmp_path, needle), needle

    deleted: list[str] = []
    done = forgotten(office, tmp_path, deleted)
    assert set(deleted) == set(done.traces.kept.mails)
    assert len(deleted) == 3
    assert first in deleted
    assert other not in deleted
    assert done.traces.named_in == (tmp_path / "note.md",)
    (tmp_path / "note.md").unlink()
    for needle in NEEDLES:
        assert files_with(tmp_path, needle) == [], needle
        assert needle.lower() not in cells(office)
    assert [path.name for path in sorted(labelled.iterdir())] == [f"{other}.eml", "labels.jsonl"]
    assert [json.loads(line)["file"] for line in (labelled / "labels.jsonl").read_text().splitlines()] == [
        f"{other}.eml"
    ]
    assert [mail.id for mail in office.store.mails.find()] == [other]


def test_the_same_mail_is_never_answered_again(office: Office, tmp_path: Path) -> None:
    """Failure: the mailbox is read again, and a forgotten person gets the answer a second time."""
    raw = of_vera("Can I get a refund?")
    office.handle(raw)
    forgotten(office, tmp_path)
    sent = len(office.transport.given)
    office.receive(raw)
    assert office.store.mails.find() == ()
    assert len(office.transport.given) == sent


def test_the_log_proves_it_to_whoever_has_the_receipt(office: Office, tmp_path: Path) -> None:
    """Rule: the entry names nobody; with the receipt anybody computes the pseudonym of the address."""
    office.handle(of_vera("Can I get a refund?"))
    done = forgotten(office, tmp_path)
    (entry,) = office.store.audit.entries(AuditEvent.FORGOTTEN)
    assert entry.about["persons"] == [pseudonym("mistralneedle@example.net", bytes.fromhex(done.receipt))]
    assert entry.about["counts"] == done.traces.kept.counts
    assert office.store.audit.verify(entry.hash).problem == ""


def test_unfinished_work_is_refused_and_nothing_is_deleted(office: Office, tmp_path: Path) -> None:
    """Rule: nothing is lost: what is being handled or may still leave is ended first; the error says how."""
    office.transport.deliveries = [Delivery(status="uncertain", detail="cut")]
    mail_id, _ = office.handle(of_vera("Can I get a refund?"))
    with pytest.raises(PermanentError, match="outbox sent") as refused:
        forgotten(office, tmp_path)
    assert refused.value.code == "unfinished"
    office.receive(of_vera("And seats?", number=3))
    assert any("let the worker end it" in what for what in find(office, tmp_path).kept.unfinished)
    assert office.store.mails.get(mail_id) is not None


def test_a_case_of_others_that_names_the_person_is_listed_and_stays(office: Office, tmp_path: Path) -> None:
    """Rule: what belongs to somebody else is not deleted; a person decides about it."""
    mail_id, _ = office.handle(write(f"Can I get a refund? My friend is {VERA}", sender=JAMES))
    mail = office.store.mails.get(mail_id)
    assert mail is not None
    traces = find(office, tmp_path)
    assert traces.elsewhere == (mail.case_id,)
    assert not any((traces.kept.cases, traces.kept.mails, traces.kept.suppressions))


@pytest.mark.parametrize(
    "spelt", ["mistralneedle@example.net", "MISTRALNEEDLE+a@EXAMPLE.NET", "mistralneedle+b@example.net"]
)
def test_every_spelling_of_an_address_is_the_same_person(office: Office, tmp_path: Path, spelt: str) -> None:
    """Rule: case and tags do not hide anybody."""
    office.handle(of_vera("Can I get a refund?", "mistralneedle+c@example.net"))
    person = person_of([spelt], office.settings)
    assert len(traces_of(office.store, person, tmp_path, tmp_path / "work").kept.mails) == 1


def test_addresses_alike_are_other_people(office: Office, tmp_path: Path) -> None:
    """Rule: nobody else is forgotten: a longer name, another domain, a name with a dot before it."""
    for number, address in enumerate(("amistralneedle@example.net", "x.mistralneedle@example.net"), 1):
        office.handle(of_vera("Can I get a refund?", address, number))
    office.handle(of_vera("Can I get a refund?", "mistralneedle@example.net.example.org", 3))
    traces = find(office, tmp_path)
    assert not any((traces.kept.cases, traces.kept.mails, traces.kept.suppressions))
    assert traces.elsewhere == ()


@pytest.mark.parametrize("address", [DESK, "nonsense", "a@b@"])
def test_whoever_has_everybodys_cases_is_refused(office: Office, address: str) -> None:
    """Failure: to forget the desk would delete every case."""
    with pytest.raises(ConfigError):
        person_of([address], office.settings)


def test_a_running_backtest_is_refused(office: Office, tmp_path: Path) -> None:
    """Rule: it would write results again that were deleted."""
    import fcntl

    lock = tmp_path / "backtest-work" / "desk-page" / "lock"
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(PermanentError, match="backtest is under way"):
            forgotten(office, tmp_path)
