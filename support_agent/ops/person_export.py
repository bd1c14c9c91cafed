"""Hands out what is kept about a person, as a zip that is read without this program (GDPR Articles 15 and 20).

Invariant: it has the person's own mails, what the agent decided about them, and the mails that went to the person;
nothing that others wrote, and no name of staff. Checked by tests/unit/ops/test_person_export.py.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from pydantic import BaseModel

from support_agent.errors import ConfigError
from support_agent.mail.message import parse
from support_agent.ops.person import PersonAddresses
from support_agent.store.audit import AuditEvent
from support_agent.store.keys import unless_key_is_gone
from support_agent.store.records import CaseId, MailRecord, OutboxEntry, OutboxRecord
from support_agent.store.store import Store

PRIVATE = 0o600
README = """What is kept about {addresses}, on {at:%Y-%m-%d}.

Each .eml file is a mail as it was received or sent; any mail program opens it. The .json file beside it says what is
stored about the mail; one without an .eml file is of a mail whose text is no longer kept, or cannot be read any more:

  person.json                  your addresses, and addresses that bounced and get no automatic mail for a while
  cases/ID/case.json           one conversation: its state and when it began
  cases/ID/received/*.eml      your mails
  cases/ID/received/*.json     when it came, how your address was checked, how the mail ended and why ("mail");
                               how the answer was chosen: each choice with its probability ("plan");
                               what a person at the desk judged of the answer ("labels")
  cases/ID/sent/*.eml, *.json  the mails to you: status, and news of their delivery
  no-case/                     mails of yours that belong to no conversation, such as automatic replies

Packets for the people at the desk repeat your mail and the plan; they, and mails of other people, are left out.
"""


@contextmanager
def opened(path: Path) -> Iterator[ZipFile]:
    """A new zip that only its owner may read; it is removed if anything fails.

    Raises:
        ConfigError: the file exists, or cannot be written.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: name a new file in a folder that can be written") from error
    try:
        with os.fdopen(handle, "w+b") as file, ZipFile(file, "w", ZIP_DEFLATED) as archive:
            yield archive
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def export(store: Store, person: PersonAddresses, archive: ZipFile, brand: str, now: datetime) -> bool:
    """Write what one store keeps about a person; return whether there was anything.

    Args:
        brand: Begins the names of the files; "" for the first mailbox, which also writes the README.
    """
    if not brand:
        archive.writestr("README.txt", README.format(addresses=", ".join(person.addresses), at=now))
    top = f"{brand}/" if brand else ""
    named = [one.mail_id for one in store.persons.raws() if one.case_id is None and person.is_named_in(one.raw)]
    kept = store.persons.find(person.addresses, named)
    about = {
        "addresses": person.addresses,
        "no_automatic_mail": [_data(one, {"outbox_id"}) for one in kept.suppressions],
    }
    _write(archive, f"{top}person.json", about)
    mails = 0
    for case_id in kept.cases:
        mails += _case(store, person, archive, f"{top}cases/{case_id}", case_id)
    for mail_id in kept.mails:
        mail = store.mails.get(mail_id)
        if mail is not None and mail.case_id is None:
            mails += _received(store, person, archive, f"{top}no-case", mail)
    store.audit.add(AuditEvent.EXPORTED, "the operator", now, {"cases": len(kept.cases), "mails": mails})
    return not kept.is_nothing


def _case(store: Store, person: PersonAddresses, archive: ZipFile, folder: str, case_id: CaseId) -> int:
    """Write one case; return how many mails of it."""
    case = store.cases.get_one(case_id)
    left_out = {"customer_address", "participants", "assignee", "desk", "desk_why"}
    is_own = person.is_named_in(case.customer_address.encode())
    _write(archive, f"{folder}/case.json", _data(case, left_out if is_own else {*left_out, "subject"}))
    records = (store.mails.get(mail_id) for mail_id in store.cases.mails_of(case_id))
    count = sum(_received(store, person, archive, f"{folder}/received", mail) for mail in records if mail is not None)
    for row in store.deliveries.in_case(case_id):
        if not row.kind.is_for_desk and person.is_named_in(row.recipient.encode()):
            _sent(store, archive, f"{folder}/sent", row)
            count += 1
    return count


def _received(store: Store, person: PersonAddresses, archive: ZipFile, folder: str, mail: MailRecord) -> bool:
    """Write a mail if the person wrote it; return whether."""
    raw = unless_key_is_gone(lambda: store.mails.raw(mail.id)) or b""
    if not _is_from(person, mail, raw):
        return False
    name = f"{folder}/{mail.received_at:%Y%m%d-%H%M%S}-{mail.id[:8]}"
    if raw:
        archive.writestr(f"{name}.eml", raw)
    plan = unless_key_is_gone(lambda: store.plans.get(mail.id))
    labels = [_data(label, {"who"}) for label in store.labels.of(mail.id)]
    stored = _data(mail, {"folder", "uid", "uid_validity"})
    _write(archive, f"{name}.json", {"mail": stored, "plan": plan and _data(plan), "labels": labels})
    return True


def _is_from(person: PersonAddresses, mail: MailRecord, raw: bytes) -> bool:
    """Whether the person wrote a mail; one that was filed before its sender was identified says so itself."""
    written_by = parse(raw).from_
    sender = mail.sender_address or (written_by.addr if written_by is not None else "")
    return person.is_named_in(sender.encode())


def _sent(store: Store, archive: ZipFile, folder: str, entry: OutboxEntry) -> None:
    row = unless_key_is_gone(lambda: store.outbox.get(entry.id)) or entry
    name = f"{folder}/{row.created_at:%Y%m%d-%H%M%S}-{row.kind.named(row.number)}"
    if isinstance(row, OutboxRecord) and row.raw:
        archive.writestr(f"{name}.eml", row.raw)
    updates = [_data(update, {"detail"}) for update in store.deliveries.of(row.id)]
    _write(archive, f"{name}.json", {"mail": _data(row, {"raw", "last_detail"}), "deliveries": updates})


def _data(record: BaseModel, left_out: set[str] | None = None) -> dict[str, object]:
    return record.model_dump(mode="json", exclude=left_out)


def _write(archive: ZipFile, name: str, data: object) -> None:
    archive.writestr(name, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
