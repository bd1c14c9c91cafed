"""What led to a mail, copied from each database into an empty store of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_agent.store.history import copy_history
from support_agent.store.records import MailId, MailStatus, OutboxStatus, OutgoingKind
from support_agent.store.store import Store
from tests.contract.store.examples import ANNA, CASE, DAY, MINUTE, NOON, case, outgoing, plan, put, record


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'then.sqlite3'}") as opened:
        opened.upgrade()
        yield opened


def of_anna(store: Store, number: int, days: int) -> MailId:
    """A mail of Anna's in her case, received after so many days."""
    mail_id = record(store, number, NOON + days * DAY)
    store.mails.save_sender(mail_id, ANNA, 2, "dmarc=pass")
    if store.cases.get(CASE) is None:
        store.cases.open(case(participants=("second@example.net",)), mail_id)
    else:
        store.cases.join(mail_id, CASE)
    return mail_id


def ended(store: Store, mail_id: MailId, status: MailStatus) -> None:
    assert store.mails.end(mail_id, status, None, None, NOON)


def test_the_mail_is_new_in_its_case_with_its_sender_and_its_bytes(store: Store, empty: Store) -> None:
    """Rule: it was decided, and a person has its case now; there it is as it was before."""
    mail_id = of_anna(store, 1, 0)
    store.mails.save_screening(mail_id, "answer", None)
    ended(store, mail_id, MailStatus.ESCALATED)
    store.cases.escalate(CASE)
    copy_history(store.database, empty.database, mail_id, NOON + MINUTE, NOON - DAY)
    copied, copied_case = empty.mails.get(mail_id), empty.cases.get(CASE)
    assert copied is not None
    assert copied_case is not None
    assert (copied.status, copied.screening_verdict, copied.handled_at) == (MailStatus.NEW, None, None)
    assert (copied.case_id, copied.sender_address, copied.level) == (CASE, ANNA, 2)
    assert (copied_case.state, copied_case.participants) == ("open", (ANNA, "second@example.net"))
    assert empty.mails.raw(mail_id) == store.mails.raw(mail_id)


def test_older_mails_go_along_with_what_was_queued_and_known_by_then(store: Store, empty: Store) -> None:
    first, mail_id = of_anna(store, 1, 0), of_anna(store, 2, 2)
    store.plans.save(plan(first), "known of the case")
    put(store, outgoing(first, case_id=CASE, at=NOON + DAY))
    put(store, outgoing(first, OutgoingKind.PACKET, case_id=CASE, at=NOON + 3 * DAY))
    ended(store, first, MailStatus.ANSWERED)
    copy_history(store.database, empty.database, mail_id, NOON + 2 * DAY, NOON - DAY)
    assert [row.kind for row in empty.outbox.find(mail_id=first)] == [OutgoingKind.ANSWER]
    assert empty.outbox.rendered_mail(first, OutgoingKind.ANSWER) == store.outbox.rendered_mail(
        first, OutgoingKind.ANSWER
    )
    assert empty.plans.memory_before(mail_id) == "known of the case"
    assert not empty.mails.follows_open(mail_id)


def test_what_became_known_later_is_not_in_the_copy(store: Store, empty: Store) -> None:
    """Failure: an answer that bounced later did not count as given, so the mail was decided otherwise than it was."""
    first, mail_id = of_anna(store, 1, 0), of_anna(store, 2, 2)
    row = put(store, outgoing(first, case_id=CASE, at=NOON + DAY))
    assert store.outbox.claim(row.id, NOON + 3 * DAY)
    store.outbox.mark_failed(row.id, "550 no such user", by="")
    copy_history(store.database, empty.database, mail_id, NOON + 2 * DAY, NOON - DAY)
    assert [copied.status for copied in empty.outbox.find()] == [OutboxStatus.SENT]
    assert not empty.mails.follows_open(mail_id), "the older mail was never ended, and holds nothing up"


def test_nothing_of_younger_mails_of_other_senders_or_of_the_mail_itself_goes_along(store: Store, empty: Store) -> None:
    mail_id, younger, stranger = of_anna(store, 1, 1), of_anna(store, 2, 2), record(store, 3, NOON)
    store.mails.save_sender(stranger, "other@example.net", 2, "dmarc=pass")
    put(store, outgoing(mail_id, case_id=CASE, at=NOON))
    copy_history(store.database, empty.database, mail_id, NOON + 9 * DAY, NOON - DAY)
    assert [mail.id for mail in empty.mails.find()] == [mail_id]
    assert empty.mails.get(younger) is None
    assert empty.outbox.find() == ()
