"""What is handed out of a person: all of it, readable without the program, and nothing of others."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from zipfile import ZipFile

import pytest

from support_agent.config.settings import StoreSettings
from support_agent.errors import ConfigError
from support_agent.ops.person import person_of
from support_agent.ops.person_export import export, opened
from support_agent.store.audit import AuditEvent
from support_agent.store.desk_records import Label, LabelOutcome, LabelSource
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Office, write


def exported(office: Office, out: Path, address: str = ANNA) -> dict[str, bytes]:
    with opened(out) as archive:
        export(office.store, person_of([address], office.settings), archive, "", NOON)
    with ZipFile(out) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_it_has_the_mails_the_answers_and_how_they_were_chosen(office: Office, tmp_path: Path) -> None:
    """Rule: Article 15 (the data and the logic of the decision) and Article 20 (in a format that others read)."""
    raw = write("Can I get a refund?")
    mail_id, _ = office.handle(raw)
    same, by = LabelOutcome.SAME, LabelSource.COMMAND
    label = Label(mail_id=mail_id, outcome=same, keys=("document:1",), who=DESK, how=by, made_at=NOON)
    office.store.labels.add(label)
    found = exported(office, tmp_path / "anna.zip")
    case_id = office.store.cases.recent(1)[0].case.id
    received = {name: data for name, data in found.items() if "/received/" in name}
    assert raw in received.values()
    (said,) = [json.loads(data) for name, data in received.items() if name.endswith(".json")]
    assert said["mail"]["status"] == "answered"
    assert "send_document" in [call["tool"] for call in said["plan"]["calls"]]
    assert said["labels"][0]["outcome"] == "same"
    (sent,) = [data for name, data in found.items() if "/sent/" in name and name.endswith(".eml")]
    assert sent == office.transport.given[0][1]
    assert json.loads(found[f"cases/{case_id}/case.json"])["subject"] == "A question"
    assert ANNA in found["README.txt"].decode()
    assert json.loads(found["person.json"])["addresses"] == [ANNA]
    assert [entry.about for entry in office.store.audit.entries(AuditEvent.EXPORTED)] == [{"cases": 1, "mails": 2}]


def test_a_mail_whose_text_is_deleted_has_no_empty_file(office: Office, tmp_path: Path) -> None:
    """Failure: the README says that any mail program opens each file, and some were empty."""
    office.handle(write("Can I get a refund?"))
    old = StoreSettings(raw_retention_days=7, outbox_retention_days=7)
    office.store.retention.run(old, office.clock() + timedelta(days=8))
    found = exported(office, tmp_path / "anna.zip")
    assert not [name for name in found if name.endswith(".eml")]
    assert sum("/received/" in name or "/sent/" in name for name in found) == 2


def test_it_has_nothing_of_other_people(office: Office, tmp_path: Path) -> None:
    """Rule: another customer's mail, packets and the names of staff are left out, in a shared case as well."""
    office.handle(write("Can I get a refund? Secretofjames", sender=JAMES))
    mail_id, _ = office.handle(write("May I speak to a person?"))
    case_id = office.store.cases.recent(50)[0].case.id
    other = office.receive(write("Secretofjames, too", sender=JAMES, number=2))
    office.store.mails.save_sender(other, JAMES, 2, "dmarc=pass")
    for case in office.store.cases.recent(50):
        if mail_id in office.store.cases.mails_of(case.case.id):
            case_id = case.case.id
    office.store.cases.join(other, case_id, (JAMES,))
    everything = b"".join(exported(office, tmp_path / "anna.zip").values())
    assert b"May I speak to a person?" in everything
    assert b"Secretofjames" not in everything
    assert JAMES.encode() not in everything


def test_a_file_that_exists_is_not_overwritten(office: Office, tmp_path: Path) -> None:
    """Rule: the zip is new and private; a failed export leaves none."""
    out = tmp_path / "anna.zip"
    exported(office, out)
    assert out.stat().st_mode & 0o077 == 0
    with pytest.raises(ConfigError, match="name a new file"):
        exported(office, out)
    with pytest.raises(ConfigError, match="no address"):
        exported(office, tmp_path / "other.zip", "nobody")
    assert not (tmp_path / "other.zip").exists()
