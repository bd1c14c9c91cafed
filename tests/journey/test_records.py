"""Records from the mail to the mail: what a customer learns by naming a number, and what nobody can learn."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support_agent.answer.final_answer import FinalAnswer
from support_agent.config.settings import CompanySettings
from support_agent.ops.explain import timeline, why
from support_agent.ops.replay import chosen, plan_again, replay
from support_agent.store.records import OutgoingKind
from tests import fakes_journey
from tests.fakes_journey import JAMES, Office, make_company, office_in, write
from tests.fakes_room import LikelyRooms

SOPHIE = "sophie.martin@example.org"
ASKED = "What was the amount of invoice {}?"


@pytest.fixture(autouse=True)
def _known_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model and the search of the office know what a record is, too."""
    monkeypatch.setitem(fakes_journey.TOPICS, "invoice", ("record:invoices", "One invoice of this customer"))


def numbers_of(company: CompanySettings, address: str) -> list[str]:
    query = "SELECT number FROM invoices JOIN customers c ON c.id = customer_id WHERE c.address = ? ORDER BY number"
    with closing(sqlite3.connect(company.accounts.parent / "harborfile.sqlite3")) as connection:
        return [number for (number,) in connection.execute(query, (address,))]


def sent_to(office: Office, words: str, sender: str) -> dict[OutgoingKind, bytes]:
    """What went out for a mail, but for the packet: the desk may know all."""
    mail_id, _ = office.handle(write(words, sender=sender, subject="A question"))
    return {kind: row.raw for kind, row in office.sent(mail_id).items() if not kind.is_for_desk}


def test_the_own_record_is_sent_and_its_sources_are_told(office: Office) -> None:
    mail_id, _ = office.handle(write(ASKED.format("hf 2025 0030"), sender=SOPHIE))
    mail = office.store.mails.get(mail_id)
    assert mail is not None
    assert mail.case_id is not None
    (story,) = timeline(office.store, mail.case_id).mails
    (item,) = story.sent[0].items
    assert (item.says, item.source) == ("Invoice HF-2025-0030, Amount: EUR 19.00", "record invoices, amount")
    assert "\n\nInvoice HF-2025-0030\n- Amount: EUR 19.00\n\n" in story.sent[0].text
    (explained,) = why(office.store, mail.case_id)
    sources = {source.what: source for line in explained.lines for source in line.sources}
    number, value = sources["record invoices, identifier"], sources["record invoices, column value amount"]
    assert (number.text, value.text) == ("HF-2025-0030", "EUR 19.00")
    assert number.query == value.query
    assert (value.query or "").startswith("SELECT number, issued_on")
    assert sources["record invoices, column amount"].query is None


def test_an_answer_with_a_record_is_replayed_to_the_same_bytes_and_planned_to_the_same_answer(office: Office) -> None:
    office.handle(write("Amount and status of invoice HF-2025-0030?", sender=SOPHIE))
    (replayed,) = replay(office.store, chosen(office.store))
    assert (replayed.diff, replayed.problems) == ("", ())
    (planned,) = plan_again(office.store, office.dry_run, chosen(office.store))
    assert (planned.status, planned.diff) == ("same", "")


def test_a_stored_answer_with_a_record_is_read_again_as_it_was(office: Office) -> None:
    mail_id, _ = office.handle(write("Amount and status of invoice HF-2025-0030?", sender=SOPHIE))
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    assert record is not None
    final = FinalAnswer.model_validate(record.payload)
    assert [item.kind for answer in final.answers for item in answer.items] == ["record", "record"]
    assert FinalAnswer.model_validate_json(final.model_dump_json()) == final


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        ("HF-2025-0030", OutgoingKind.ACKNOWLEDGEMENT),
        ("hf20250030", OutgoingKind.ACKNOWLEDGEMENT),
        ("0030", OutgoingKind.ACKNOWLEDGEMENT),
        ("HF-2025-0031", OutgoingKind.ANSWER),  # one character off one of his, so it is asked back
    ],
)
def test_another_customers_record_and_one_that_does_not_exist_have_the_same_mails_byte_by_byte(
    empty_store: Path, tmp_path: Path, number: str, kind: OutgoingKind
) -> None:
    """The same mail of the same customer, where the record is somebody else's and where nobody has it."""
    sent = []
    for place in ("theirs", "nobodys"):
        folder = tmp_path / place
        folder.mkdir()
        company = make_company(folder)
        if place == "nobodys":
            with closing(sqlite3.connect(folder / "harborfile.sqlite3")) as connection:
                for table, column in (("payments", "invoice_number"), ("invoices", "number")):
                    theirs = "customer_id NOT IN (SELECT id FROM customers WHERE address = ?)"
                    connection.execute(f"DELETE FROM {table} WHERE {theirs} AND {column} LIKE 'HF-2025-003_'", (JAMES,))
                connection.commit()
        with office_in(folder, company, empty_store) as office:
            sent.append(sent_to(office.with_rooms(LikelyRooms()), ASKED.format(number), JAMES))
    assert sent[0] == sent[1]
    assert list(sent[0]) == [kind]
    assert b"EUR" not in sent[0][kind]


def test_what_is_one_character_off_an_own_record_is_asked_back_whoever_has_it(
    company_settings: CompanySettings, office: Office
) -> None:
    """The numbers on both sides of an own one: one is somebody's, the other may be nobody's."""
    own = next(number for number in numbers_of(company_settings, JAMES) if number[-1] in "12345678")
    beside = [f"{own[:-1]}{int(own[-1]) + step}" for step in (-1, 1)]
    bodies = []
    for number in (*beside, f"{own[:-1]}X"):
        mail_id, _ = office.handle(write(ASKED.format(number), sender=JAMES))
        record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
        if record is None:  # the same canned question is not asked again
            assert set(office.sent(mail_id)) == {OutgoingKind.PACKET, OutgoingKind.ACKNOWLEDGEMENT}
            continue
        bodies.append(str(record.payload["answers"]))
    assert ["Which invoice do you mean?" in body for body in bodies] == [True]


@pytest.mark.parametrize("proof", ["dmarc", "spf"])
def test_a_stranger_who_names_a_record_gets_what_he_gets_for_any_number(office: Office, proof: str) -> None:
    bodies = set()
    for place, number in enumerate(("HF-2025-0030", "HF-2025-9999")):
        raw = write(ASKED.format(number), sender="someone@elsewhere.example", proof=proof, number=place)
        mail_id, _ = office.handle(raw)
        assert OutgoingKind.ANSWER not in office.sent(mail_id)
        record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ACKNOWLEDGEMENT)
        bodies.add(str(record.spans) if record is not None else "")
    assert len(bodies) == 1


def test_a_person_is_told_which_number_stopped_the_answer(office: Office) -> None:
    mail_id, _ = office.handle(write(ASKED.format("HF-2025-0030"), sender=JAMES))
    plan = office.store.plans.get(mail_id)
    assert plan is not None
    assert plan.reason == "unknown_record"
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.PACKET)
    assert record is not None
    assert record.payload["why"] == "the mail names HF-2025-0030, which is none of the customer's own records"
