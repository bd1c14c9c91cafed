"""Mails whose key is gone: what can still be told of them is told, and they hide nothing else of their case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import pytest

from support_agent.cases.case_words import thread_before
from support_agent.cli import case_printing
from support_agent.config.settings import CompanySettings
from support_agent.core.modes import Mode
from support_agent.errors import PermanentError
from support_agent.mail.keys import envelope_id
from support_agent.ops.autonomy_report import label_by_hand, titles_of
from support_agent.ops.explain import timeline, why
from support_agent.ops.person import person_of
from support_agent.ops.person_export import export, opened
from support_agent.ops.replay import chosen, replay
from support_agent.outbound.outbox_choices import OutboxChoice, entries
from support_agent.outbound.story import story_before
from support_agent.store.audit import AuditEvent
from support_agent.store.records import CaseId, CaseState, MailId, OutboxId, OutboxStatus
from support_agent.store.store import Store
from support_agent.store.watch_records import AlarmKind
from support_agent.watch.causes import causes
from support_agent.workflow.approval import choose
from tests.contract.store.examples import CASE, fill, record
from tests.fakes_desk import lines_of, proposed_in, remind, told
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Office, with_autonomy, write
from tests.fakes_page import Browser
from tests.fakes_sealed import SEALS, lose_keys, sealed_office
from tests.unit.reporting import NAMES, answered, naming, proposed, report
from tests.unit.seen import ANSWER, CANCEL, FAILURE, HUMAN, PACKET, PERSON_REPLY, REFUND, one, state, text_of

GONE = pytest.mark.parametrize("is_destroyed", [True, False])


@pytest.fixture
def office(company_settings: CompanySettings, empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    """An office whose store encrypts."""
    with sealed_office(tmp_path, company_settings, empty_store) as opened_:
        yield opened_


class Half(NamedTuple):
    """A case of two mails of Anna; the first, with all that was made of it, cannot be read any more."""

    case_id: CaseId
    gone: MailId
    left: MailId


def half_readable(office: Office, *, is_destroyed: bool) -> Half:
    gone, _ = office.handle(write(REFUND))
    answered = office.sent(gone)[ANSWER].message_id
    left, _ = office.handle(write(CANCEL, in_reply_to=answered, number=2))
    case_id = one(office, left).case_id
    assert case_id is not None
    assert case_id == one(office, gone).case_id
    lose_keys(office.store, [gone], is_destroyed=is_destroyed)
    return Half(case_id, gone, left)


@GONE
def test_the_story_of_a_case_tells_what_can_be_read_and_says_what_cannot(office: Office, *, is_destroyed: bool) -> None:
    """Failure: nothing of the case was shown, as the first row without its key ended the reading."""
    case_id, gone, left = half_readable(office, is_destroyed=is_destroyed)
    story = timeline(office.store, case_id)
    assert case_printing.timeline(story).count("cannot be read any more, nor the text: its key is gone") == 2
    first, second = story.mails
    assert (first.record.id, first.is_readable, first.is_kept, first.from_address) == (gone, False, False, ANNA)
    (sent,) = first.sent
    assert (sent.record.kind, sent.record.recipient, sent.is_readable, sent.text) == (ANSWER, ANNA, False, "")
    assert (second.record.id, second.is_readable) == (left, True)
    assert CANCEL in second.text
    assert second.sent[0].text
    assert [mail.mail_id for mail in why(office.store, case_id)] == [left]


@GONE
@pytest.mark.parametrize(
    ("choice", "after"), [(OutboxChoice.GIVE_UP, OutboxStatus.FAILED), (OutboxChoice.SENT, OutboxStatus.SENT)]
)
def test_a_person_takes_a_mail_that_cannot_be_read_off_the_list(
    office: Office, choice: OutboxChoice, after: OutboxStatus, *, is_destroyed: bool
) -> None:
    """Failure: every choice read its bytes first, so it was listed, and the desk alarmed, for ever."""
    outbox_id = uncertain_and_unreadable(office, is_destroyed=is_destroyed)
    assert choose(office.store, office.settings, outbox_id, choice, office.clock).status is after
    assert entries(office.store, office.clock()) == []


@GONE
def test_a_mail_that_cannot_be_read_is_not_sent_again_and_a_person_is_told_what_to_do(
    office: Office, *, is_destroyed: bool
) -> None:
    outbox_id = uncertain_and_unreadable(office, is_destroyed=is_destroyed)
    with pytest.raises(PermanentError, match=r"its key is gone.*give-up"):
        choose(office.store, office.settings, outbox_id, OutboxChoice.RETRY, office.clock)
    assert [entry.status for entry in entries(office.store, office.clock())] == [OutboxStatus.UNCERTAIN]


@GONE
def test_an_answer_that_cannot_be_read_is_not_approved_but_undone_and_nothing_is_learnt_of_it(
    office: Office, *, is_destroyed: bool
) -> None:
    """Failure: what it said was read to be judged, so it waited for a person for ever."""
    record = proposed(office)
    lose_keys(office.store, [record.mail_id], is_destroyed=is_destroyed)
    for choice in (OutboxChoice.APPROVE, OutboxChoice.GIVE_UP):
        with pytest.raises(PermanentError, match="`support-agent outbox undo` takes it off the list"):
            choose(office.store, office.settings, record.id, choice, office.clock)
    done = choose(office.store, office.settings, record.id, OutboxChoice.UNDO, office.clock)
    assert (done.status, done.is_new) == (OutboxStatus.CANCELLED, True)
    assert office.store.labels.of(record.mail_id) == ()


@GONE
@pytest.mark.parametrize("is_reply", [True, False])
def test_the_desk_hears_what_it_can_do_about_an_answer_that_cannot_be_read(
    office: Office, *, is_reply: bool, is_destroyed: bool
) -> None:
    """Failure: its packet cannot be read either, so the command was said to be of another case, or was a question."""
    waiting = proposed_in(office)
    packet = waiting.office.sent(waiting.mail_id)[PACKET]
    lose_keys(office.store, [waiting.mail_id], is_destroyed=is_destroyed)
    parent = packet.message_id if is_reply else None
    raw = write("", subject=waiting.lines["approve"], sender=DESK, in_reply_to=parent, number=2)
    mail_id, outcome = waiting.office.handle(raw)
    assert outcome == "filed"
    assert f"{waiting.answer.id}: its key is gone" in told(waiting.office, mail_id)
    assert "`support-agent outbox undo`" in told(waiting.office, mail_id)


@GONE
def test_a_person_keeps_an_answer_that_cannot_be_read_from_leaving_on_the_page(
    office: Office, *, is_destroyed: bool
) -> None:
    """Failure: the button was there, and did nothing; a key that was put back in time sent the answer after all."""
    office = with_autonomy(office, start=Mode.AUTO, hold_s=600)
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    record = office.sent(mail_id)[ANSWER]
    lose_keys(office.store, [mail_id], is_destroyed=is_destroyed)
    assert "The answer does not leave." in Browser(office).act(f"/cases/{record.case_id}", "undo")
    (entry,) = office.store.deliveries.named(record.message_id)
    assert entry.status is OutboxStatus.CANCELLED


def uncertain_and_unreadable(office: Office, *, is_destroyed: bool) -> OutboxId:
    """An answer of which nobody knows whether it was sent, and whose key is gone then."""
    record = answered(office, "uncertain")
    lose_keys(office.store, [record.mail_id], is_destroyed=is_destroyed)
    return record.id


@GONE
def test_the_desks_page_of_such_a_case_opens(office: Office, *, is_destroyed: bool) -> None:
    case_id, gone, left = half_readable(office, is_destroyed=is_destroyed)
    browser = Browser(office)
    page = browser.get(f"/cases/{case_id}")
    assert page.count("It cannot be read any more: its key is gone.") == 2
    assert CANCEL in page
    assert f"/mails/{gone}/mail" not in page
    assert f"/mails/{left}/mail" in page
    assert browser.get("/")
    assert browser.get(f"/cases/{case_id}/replay")


@GONE
def test_a_person_answers_on_the_page_of_such_a_case(office: Office, *, is_destroyed: bool) -> None:
    """Failure: to see what had changed in the case, all replies of people were read."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(first)[PACKET]
    reply, _ = office.handle(write("We see.", sender=DESK, in_reply_to=packet.message_id, number=2))
    assert set(office.sent(reply)) == {PERSON_REPLY}
    office.handle(write(HUMAN, sender=JAMES, in_reply_to=office.sent(reply)[PERSON_REPLY].message_id, number=3))
    lose_keys(office.store, [reply], is_destroyed=is_destroyed)
    page = Browser(office).act(f"/cases/{packet.case_id}", "own words", words="It is fixed.")
    assert "Your words leave now." in page


@GONE
def test_the_last_answer_that_can_be_read_is_judged_by_hand(office: Office, *, is_destroyed: bool) -> None:
    case_id, _, left = half_readable(office, is_destroyed=is_destroyed)
    titles = titles_of(office.decider.company)
    assert label_by_hand(office.store, office.settings, titles, case_id, "same", NOON).mail_id == left


@GONE
def test_what_can_be_read_of_a_person_is_exported(office: Office, tmp_path: Path, *, is_destroyed: bool) -> None:
    case_id, gone, left = half_readable(office, is_destroyed=is_destroyed)
    with opened(tmp_path / "anna.zip") as archive:
        assert export(office.store, person_of([ANNA], office.settings), archive, "", NOON)
    with ZipFile(tmp_path / "anna.zip") as archive:
        received = [name for name in archive.namelist() if f"{case_id}/received/" in name]
        assert sorted((left[:8] in name, name.rpartition(".")[2]) for name in received) == [
            (False, "json"),
            (True, "eml"),
            (True, "json"),
        ]
        assert any(gone[:8] in name for name in received)
        sent = [name for name in archive.namelist() if f"{case_id}/sent/" in name]
        assert sorted(name.rpartition(".")[2] for name in sent) == ["eml", "json", "json"]


@GONE
def test_what_can_be_read_of_a_case_is_replayed(office: Office, *, is_destroyed: bool) -> None:
    case_id, _, left = half_readable(office, is_destroyed=is_destroyed)
    replayed = replay(office.store, chosen(office.store, case=case_id))
    assert [(mail.mail_id, mail.is_identical) for mail in replayed] == [(left, True)]


@GONE
def test_the_rest_of_a_case_is_read_for_a_later_mail_of_it(office: Office, *, is_destroyed: bool) -> None:
    """Failure: what the thread had said before was read to the end, and the later mail was set aside."""
    case_id, _, left = half_readable(office, is_destroyed=is_destroyed)
    new = office.receive(write("That did not help at all.", in_reply_to=office.sent(left)[ANSWER].message_id, number=3))
    office.store.cases.join(new, case_id)
    before = thread_before(new, case_id, office.store, office.settings)
    assert before is not None
    assert before.has(CANCEL)
    story = story_before(office.stages.routing.routed(new), office.store, office.settings)
    assert [entry.who for entry in story.entries] == ["customer", "answer"]


@GONE
def test_a_mail_whose_bytes_retention_has_emptied_before_its_key_went_cannot_be_read(
    office: Office, *, is_destroyed: bool
) -> None:
    """Failure: what was made of it is still encrypted, and counted as readable."""
    mail_id, _ = office.handle(write(HUMAN))
    case_id = one(office, mail_id).case_id
    assert case_id is not None
    with office.store.database.write() as connection:
        connection.exec_driver_sql("UPDATE mails SET raw = x''")
    lose_keys(office.store, [mail_id], is_destroyed=is_destroyed)
    assert office.store.sealing.unreadable([mail_id]) == {mail_id}
    assert not timeline(office.store, case_id).mails[0].is_readable


@GONE
@pytest.mark.parametrize("how", NAMES)
def test_s64_a_bounce_of_a_mail_that_cannot_be_read_is_told_to_the_desk(
    office: Office, how: str, *, is_destroyed: bool
) -> None:
    """Failure: the bounce was set aside, and nobody heard that the customer did not get the answer."""
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    record = office.sent(mail_id)[ANSWER]
    lose_keys(office.store, [mail_id], is_destroyed=is_destroyed)
    bounce, outcome = office.handle(report(**naming(record, how)))
    assert (outcome, one(office, bounce).case_id) == ("filed", record.case_id)
    (entry,) = office.store.deliveries.named(record.message_id)
    assert entry.status is OutboxStatus.FAILED
    (decided,) = office.store.audit.entries(AuditEvent.MAIL_DECIDED)
    assert (decided.about["outbox_id"], decided.about["sha256"]) == (record.id, None)
    assert office.store.suppressions.of(JAMES, office.clock()) is not None
    office.stages.notices.notify_losses()
    notice = office.sent(bounce)[FAILURE]
    assert (notice.recipient, state(office, mail_id)) == (DESK, CaseState.WITH_PERSON)
    assert told(office, bounce).startswith(f"the answer to {JAMES} is failed: bounced (5.1.1), says mail {bounce}")
    assert "HOW TO REPLY\nWrite to the customer from your own mail program." in text_of(notice)
    assert not lines_of(notice)
    assert not office.store.deliveries.unnotified_losses()
    office.stages.notices.notify_losses()
    assert len(office.store.outbox.find(mail_id=bounce)) == 1
    assert Browser(office).get("/")
    assert Browser(office).get(f"/cases/{record.case_id}")


@GONE
def test_a_bounce_of_a_packet_that_cannot_be_read_is_told_to_the_desk(office: Office, *, is_destroyed: bool) -> None:
    """What the desk did not get once may reach it now; it is not sent again, as nobody can read it."""
    mail_id, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(mail_id)[PACKET]
    lose_keys(office.store, [mail_id], is_destroyed=is_destroyed)
    bounce, _ = office.handle(report(envelope=envelope_id(packet.message_id), recipient=DESK))
    for _ in range(2):
        office.stages.notices.send_without_original()
    assert told(office, bounce).startswith(f"the packet to {DESK} is failed: bounced")
    assert len(office.store.deliveries.in_case(CaseId(str(packet.case_id)), FAILURE)) == 1


@GONE
def test_the_case_of_a_lost_mail_that_cannot_be_read_waits_until_a_person_has_dealt_with_it(
    office: Office, *, is_destroyed: bool
) -> None:
    """Failure: its notice is about a bounce, which is filed, so nobody was reminded of a customer without an answer."""
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    record = office.sent(mail_id)[ANSWER]
    lose_keys(office.store, [mail_id], is_destroyed=is_destroyed)
    bounce, _ = office.handle(report(envelope=envelope_id(record.message_id)))
    assert office.store.waits.cases(NOON) == ()
    office.stages.notices.notify_losses()
    (waiting,) = office.store.waits.cases(NOON)
    assert (waiting.case_id, waiting.mail_id) == (record.case_id, bounce)
    assert f"/cases/{record.case_id}" in Browser(office).get("/")
    reminded = remind(office, bounce)
    assert (reminded.recipient, reminded.case_id) == (DESK, record.case_id)
    assert Browser(office).act(f"/cases/{record.case_id}", "close")
    assert office.store.waits.cases(NOON) == ()


def test_a_loss_whose_bounce_cannot_be_read_either_is_left_to_the_alarm(office: Office) -> None:
    """Nothing is left that could carry a notice: the alarm names the loss by its id."""
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    record = office.sent(mail_id)[ANSWER]
    lose_keys(office.store, [mail_id], is_destroyed=True)
    bounce, _ = office.handle(report(envelope=envelope_id(record.message_id)))
    lose_keys(office.store, [bounce], is_destroyed=True)
    office.stages.notices.notify_losses()
    assert [lost.id for lost in office.store.deliveries.unnotified_losses()] == [record.id]
    (cause,) = (one for one in causes(office.store, office.settings, NOON) if one.kind is AlarmKind.UNREADABLE)
    assert record.id in cause.what


@pytest.mark.servers
def test_what_cannot_be_read_is_known_on_postgresql(postgres_store_url: str) -> None:
    with Store.open(postgres_store_url, keys=SEALS) as store:
        gone, left = fill(store), record(store, 9)
        store.mails.save_sender(gone, ANNA, 2, "dmarc=pass")
        with store.database.write() as connection:
            connection.exec_driver_sql("UPDATE mails SET raw = ''")
        lose_keys(store, [gone], is_destroyed=False)
        assert store.sealing.unreadable([gone, left]) == {gone}
        found = store.cases.timeline(CASE)
        assert found is not None
        assert [entry.is_readable for entry in found.mails] == [False]
