"""Labels of people as labelled mails: what is exact is written, in the format that `calibrate` reads."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from support_agent.errors import ConfigError
from support_agent.ops.autonomy_report import label_by_hand, titles_of
from support_agent.ops.evals.mail_labels import read_labels
from support_agent.ops.people_labels import export
from tests.fakes_desk import order, proposed_in
from tests.fakes_journey import CUSTOMERS, Office, write
from tests.unit.seen import REFUND, SEATS, one


def test_what_people_did_is_read_as_labelled_mails(office: Office, tmp_path: Path) -> None:
    """Approved: the calls that were made. Another document: that one. Own words and nothing: a person."""
    commands = ("approve", "document 2", "own words", "close")
    for number, (command, sender) in enumerate(zip(commands, CUSTOMERS, strict=False)):
        given = proposed_in(office, sender=sender, number=number)
        line = given.lines["document 1" if command == "document 2" else command].replace("document 1", command)
        order(given.office, line, "We will call you." if "own words" in line else "", number=number + 100)
    made = export(office.store, tmp_path)
    assert (made.mails, made.left_out, made.folder.name) == (4, 0, made.version)
    read = {label.customer: label.expected for label in read_labels(made.folder)}
    assert list(read.values()) == [
        (("send_document(1)",),), (("send_document(2)",),), (("escalate",),), (("escalate",),),
    ]  # fmt: skip


def test_only_the_owner_may_read_the_mails(office: Office, tmp_path: Path) -> None:
    """Failure: customers' mails in a folder that every user of the machine could open."""
    given = proposed_in(office)
    order(given.office, given.lines["approve"])
    assert stat.S_IMODE(export(office.store, tmp_path).folder.stat().st_mode) == 0o700


def test_a_correction_of_several_questions_is_left_out(office: Office, tmp_path: Path) -> None:
    """Nobody knows which of them was wrong."""
    right, wrong = (proposed_in(office, text=f"1. {SEATS}\r\n2. {REFUND}", sender=sender) for sender in CUSTOMERS[:2])
    order(right.office, right.lines["approve"])
    order(wrong.office, wrong.lines["close"], number=51)
    made = export(office.store, tmp_path)
    assert (made.mails, made.left_out) == (1, 1)
    (label,) = read_labels(made.folder)
    assert label.expected == (("send_account_field(seats_paid)",), ("send_document(1)",))


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("document:2", "send_document(2)"),
        ("field:plan", "send_account_field(plan)"),
        ("question:1", "ask_clarification"),
        ("own-words", "escalate"),
        ("series:payments", None),
        ("record:invoices", None),
    ],
)
def test_what_was_right_by_hand_is_written_as_what_it_is(
    office: Office, tmp_path: Path, choice: str, expected: str | None
) -> None:
    """Failure: a field that was right taught that a person must answer. A series alone is not a whole call."""
    titles = titles_of(office.decider.company)
    mails = [office.handle(write(REFUND, sender=sender, number=n))[0] for n, sender in enumerate(CUSTOMERS[:2])]
    for mail_id, done in zip(mails, ("nothing", choice), strict=True):
        case_id = str(one(office, mail_id).case_id)
        label_by_hand(office.store, office.settings, titles, case_id, done, office.clock())
    made = export(office.store, tmp_path)
    read = [label.expected for label in read_labels(made.folder)]
    assert read == [(("escalate",),), *([((expected,),)] if expected else [])]
    assert made.left_out == (expected is None)


def test_the_folder_is_named_by_the_labels(office: Office, tmp_path: Path) -> None:
    """The same labels make the same folder; an undone one makes another."""
    first, second = (proposed_in(office, sender=sender) for sender in CUSTOMERS[:2])
    order(first.office, first.lines["approve"])
    before = export(office.store, tmp_path)
    assert export(office.store, tmp_path) == before
    order(second.office, second.lines["close"], number=51)
    assert export(office.store, tmp_path).version != before.version
    office.store.labels.undo(second.mail_id, office.clock())
    assert export(office.store, tmp_path) == before


def test_nothing_to_write_is_said(office: Office, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="people must approve or correct"):
        export(office.store, tmp_path)
