"""What `show` and `why` know of a case: the whole story, and for each line its true sources."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from support_agent.answer.sources import RenderedAnswer
from support_agent.cli import case_printing
from support_agent.company.company import Company
from support_agent.company.documents import parse_document
from support_agent.config.settings import StoreSettings
from support_agent.errors import ConfigError, PermanentError
from support_agent.ops.explain import MailStory, WhyMail, timeline, why
from support_agent.ops.provenance_report import NOT_STORED, UNKNOWN_HEADER, WhyLine
from support_agent.store.records import (
    CaseState,
    MailId,
    MailStatus,
    OutboxEntry,
    OutboxStatus,
    OutgoingKind,
    PlanSummary,
)
from support_agent.transport.submission import Delivery
from tests.fakes_desk import held_in, remind
from tests.fakes_journey import DESK, JAMES, Office, write

REFUND = "Can I get a refund?"
SEATS = "How many seats have we paid for?"
TOTAL = "What did I pay in total last year?"
OFF_TOPIC = "Do you have a table for four on Saturday?"
HUMAN = "Let me talk to a human."


def case_of(office: Office, mail_id: MailId) -> str:
    mail = office.store.mails.get(mail_id)
    assert mail is not None
    assert mail.case_id is not None
    return mail.case_id


def story(office: Office, words: str, subject: str = "A question") -> MailStory:
    mail_id, _ = office.handle(write(words, sender=JAMES, subject=subject))
    (mail,) = timeline(office.store, case_of(office, mail_id)).mails
    return mail


def explained(office: Office, words: str, kind: OutgoingKind = OutgoingKind.ANSWER) -> WhyMail:
    mail_id, _ = office.handle(write(words, sender=JAMES))
    mails = why(office.store, case_of(office, mail_id))
    return next(mail for mail in mails if mail.kind is kind)


def line(mail: WhyMail, start: str) -> WhyLine:
    return next(found for found in mail.lines if found.text.startswith(start))


def test_story_of_an_answered_mail(office: Office) -> None:
    """Mail, level and why, screening, plan, item with its source, and the send."""
    mail = story(office, SEATS, subject="Seats")
    assert (mail.from_address, mail.subject, mail.text, mail.record.level) == (JAMES, "Seats", SEATS, 3)
    assert mail.record.sender_why == "dmarc=pass for example.org, a known customer"
    assert (mail.record.screening_verdict, mail.record.screening_rule) == ("answer", None)
    assert (mail.record.status, mail.record.reason_code) == (MailStatus.ANSWERED, None)
    (sent,) = mail.sent
    row = sent.record
    assert (row.kind, row.recipient, row.status, row.attempts) == (OutgoingKind.ANSWER, JAMES, OutboxStatus.SENT, 1)
    assert sent.text.startswith("Hello James Okafor,\n")
    (item,) = sent.items
    assert (item.kind, item.source) == ("account_field", "account field seats_paid")
    assert item.says.endswith("1 seat")


def test_story_of_the_calls(office: Office) -> None:
    """Each call with its confidence, threshold and runners-up, the likeliest first."""
    plan = story(office, SEATS).plan
    assert plan is not None
    call = next(call for call in plan.calls if call.tool == "send_account_field")
    assert (call.call, call.args, call.status) == ("send_account_field(seats_paid)", {"field": "seats_paid"}, "done")
    assert call.confidence == pytest.approx(call.considered[0].probability)
    assert call.threshold == office.settings.planner.threshold_answer
    assert call.considered[0].key == "field:seats_paid"
    assert "none" in {option.key for option in call.considered[1:]}
    assert [option.probability for option in call.considered] == sorted(
        (option.probability for option in call.considered), reverse=True
    )
    assert (plan.record.model, plan.record.index_version) == ("sure", "words-1")


@pytest.mark.parametrize(
    ("words", "source"),
    [
        (REFUND, "document 1 (en), version {version} of 2026-01-01, sentences "),
        (SEATS, "account field seats_paid"),
        (TOTAL, "series payments, last_year (2025-01-01 to 2025-12-31), 1 row"),
    ],
)
def test_items_say_what_they_were_made_from(office: Office, words: str, source: str) -> None:
    """A reader of `show` can check each of them."""
    version = office.decider.company.documents[0].version[:12]
    (item,) = story(office, words).sent[0].items
    assert item.source.startswith(source.format(version=version))


def test_story_says_why_a_person_got_the_case(office: Office) -> None:
    """The reason's code, and what more is known of it."""
    mail_id, _ = office.handle(write(HUMAN))
    found = timeline(office.store, case_of(office, mail_id))
    assert found.case.state is CaseState.WITH_PERSON
    (mail,) = found.mails
    assert (mail.record.status, mail.record.reason_code) == (MailStatus.ESCALATED, "person_asked_for")
    assert mail.record.why == "the customer asks for a person: 'talk to a human'"
    assert [sent.record.kind for sent in mail.sent] == [OutgoingKind.PACKET, OutgoingKind.ACKNOWLEDGEMENT]


def test_story_shows_a_call_that_was_not_sure_enough(office: Office) -> None:
    """What would have been sent, and how much was missing."""
    plan = story(office.with_model(0.9, threshold=1.0), REFUND).plan
    assert plan is not None
    call = next(call for call in plan.calls if call.tool == "send_document")
    assert call.status == "below_threshold"
    assert call.confidence < call.threshold == 1.0


def test_story_has_every_mail_of_the_thread(office: Office) -> None:
    """Question, packet, a person's reply: one case, the oldest first."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(first)[OutgoingKind.PACKET].message_id
    office.handle(write("We look at it.", sender=DESK, in_reply_to=packet))
    found = timeline(office.store, case_of(office, first))
    assert [mail.from_address for mail in found.mails] == [JAMES, DESK]
    (reply,) = found.mails[1].sent
    assert (reply.record.kind, reply.record.recipient) == (OutgoingKind.PERSON_REPLY, JAMES)
    assert reply.text == "We look at it.\n"


def test_the_json_of_a_story_has_no_more_of_people_than_its_text(office: Office) -> None:
    """Rule: what a script gets is to be read, so it has no bytes, no quotations, and the decision only once."""
    mail = story(office, f"{REFUND}\n\nOn Monday Eve wrote:\n> my secret\n")
    written = json.loads(mail.model_dump_json())
    assert "my secret" not in mail.model_dump_json()
    assert written["plan"]["record"].keys() == PlanSummary.model_fields.keys()
    assert written["sent"][0]["record"].keys() == OutboxEntry.model_fields.keys()


def test_story_shows_a_delivery_that_failed(office: Office) -> None:
    """With the server's last word; the failure that tells the desk of it is there too."""
    office.transport.deliveries = [Delivery(status="failed", detail="550 no such user")]
    sent = {entry.record.kind: entry.record for entry in story(office, REFUND).sent}
    answer = sent[OutgoingKind.ANSWER]
    assert (answer.status, answer.last_detail, answer.sent_at) == (OutboxStatus.FAILED, "550 no such user", None)
    assert set(sent) == {OutgoingKind.ANSWER, OutgoingKind.FAILURE}


def test_unknown_case_is_an_error_that_says_what_to_do(office: Office) -> None:
    """The same for both commands."""
    for explain in (lambda: timeline(office.store, "nonsense"), lambda: why(office.store, "nonsense")):
        with pytest.raises(ConfigError, match="no case nonsense: `support-agent cases` lists them"):
            explain()


def test_record_of_another_version_is_an_error_that_says_so(office: Office) -> None:
    """And no half story."""
    mail_id, _ = office.handle(write(REFUND))
    with office.store.database.write() as connection:
        connection.execute(text("UPDATE plans SET trace = '{}'"))
    with pytest.raises(PermanentError, match="another version of the program"):
        timeline(office.store, case_of(office, mail_id))


@pytest.mark.parametrize("words", [REFUND, SEATS, TOTAL, f"{SEATS}\n\n{OFF_TOPIC}"])
def test_lines_are_the_text_that_was_sent(office: Office, words: str) -> None:
    """Joined again they are the text, and no character is without a source."""
    mail = explained(office, words)
    record = office.store.outbox.rendered_mail(mail.mail_id, OutgoingKind.ANSWER)
    assert record is not None
    rendered = RenderedAnswer.model_validate(record.spans)
    assert "".join(f"{found.text}\n" for found in mail.lines) == rendered.text.text
    assert mail.subject.text == rendered.subject.text
    for found in (mail.subject, *mail.lines):
        assert found.sources
        assert "".join(source.text for source in found.sources) == found.text


def test_literal_words_name_template_and_line(office: Office) -> None:
    """The line of the file really has the words."""
    mail = explained(office, REFUND)
    literal = [s for found in mail.lines for s in found.sources if s.kind == "template" and s.text.strip()]
    assert literal
    for source in literal:
        assert source.name is not None
        assert source.line is not None
        lines = office.decider.templates.source(source.name).split("\n")
        assert source.text.strip() in lines[source.line - 1]
        assert source.what == f"template {source.name}:{source.line}"


def test_sentences_name_document_version_and_index(office: Office) -> None:
    """The stored version really has the sentence there."""
    mail = explained(office, REFUND)
    sentences = [s for found in mail.lines for s in found.sources if "sentence" in s.what]
    assert sentences
    stored = office.store.versions.document(office.decider.company.documents[0].version)
    assert stored is not None
    document = parse_document(office.decider.company.documents[0].path, stored.raw)
    for source in sentences:
        assert (source.kind, source.number, source.version) == ("document", 1, document.version[:12])
        assert source.sentence is not None
        assert document.sentences[source.sentence].text == source.text


def test_numbers_and_cells_name_their_sentence_and_column(office: Office) -> None:
    """Header and cell are two pieces of one line; the number of a step is one of its own, and the document's."""
    table = explained(office, "what was paid Refund period for asking?")
    header, _, cell = line(table, "Refund: full amount").sources
    stored = office.decider.company.documents[0].sentences
    for source, said in ((header, "Refund"), (cell, "full amount")):
        assert source.sentence is not None
        assert source.what.endswith(f", row {source.sentence}, column 1")
        assert stored[source.sentence].cells[1] == source.text == said
    steps = explained(office, "Refund: to sign in as the account owner and open Billing > Invoices, what then?")
    number, *_, step = line(steps, "1. Sign in").sources
    assert (number.text, number.what.rpartition(", ")[2]) == ("1", f"number of sentence {step.sentence}")


def test_values_name_field_and_query(office: Office) -> None:
    """The value has the query, its label has none: that is from accounts.toml itself."""
    found = line(explained(office, SEATS), "Seats paid")
    label, _, value = found.sources
    assert (label.what, label.query) == ("account field seats_paid, label", None)
    assert (value.text, value.what) == ("1 seat", "account field seats_paid, value")
    assert value.query == "SELECT seats_paid FROM subscriptions WHERE customer_id = :customer_id"


def test_aggregates_name_series_words_and_computed_numbers(office: Office) -> None:
    """Each parameter of the sentence on its own."""
    found = line(explained(office, TOTAL), "Payments")
    said = {source.text: source for source in found.sources}
    assert said["1"].what == "computed: row count"
    assert said["total"].what.startswith("word for aggregation 'total', en/words.yaml:")
    assert said["EUR 190.00"].what == "series payments, value"
    assert "FROM payments" in str(said["EUR 190.00"].query)


def test_query_is_the_one_that_returned_the_value(office: Office) -> None:
    """Failure: after a change of accounts.toml `why` showed a query beside a value that never came from it."""
    first, _ = office.handle(write(SEATS, sender=JAMES))
    company = office.settings.company
    declared = company.accounts.read_text()
    later = company.accounts.with_name("accounts-later.toml")
    later.write_text(declared.replace("SELECT seats_paid FROM", "SELECT 7 AS seats_paid FROM"))
    company = company.model_copy(update={"accounts": later})
    changed = replace(office, decider=replace(office.decider, company=Company.load(company)))
    changed.keep_company()
    second, _ = changed.handle(write(SEATS, sender=JAMES, number=2))
    rest = "FROM subscriptions WHERE customer_id = :customer_id"
    for mail_id, value, column in ((first, "1 seat", "seats_paid"), (second, "7 seats", "7 AS seats_paid")):
        (mail,) = why(office.store, case_of(office, mail_id))
        source = line(mail, "Seats paid").sources[-1]
        assert (source.text, source.query) == (value, f"SELECT {column} {rest}")


def test_query_that_is_not_stored_is_said_to_be_so(office: Office) -> None:
    """No other is shown in its place, and the mail itself is explained all the same."""
    mail_id, _ = office.handle(write(SEATS, sender=JAMES))
    with office.store.database.write() as connection:
        connection.execute(text("DELETE FROM query_sets"))
    (mail,) = why(office.store, case_of(office, mail_id))
    assert line(mail, "Seats paid").sources[-1].query == NOT_STORED


def test_a_source_that_names_no_item_is_an_error_that_says_so(office: Office) -> None:
    """Of a damaged store; with another answer's items below them the sources would name wrong queries."""
    seats, _ = office.handle(write(SEATS, sender=JAMES))
    refund, _ = office.handle(write(REFUND, sender=JAMES, number=2))
    other = office.store.outbox.rendered_mail(refund, OutgoingKind.ANSWER)
    assert other is not None
    for payload in (other.payload, {**other.payload, "answers": []}):
        with office.store.database.write() as connection:
            changed = text("UPDATE rendered_mails SET payload = :payload WHERE mail_id = :id")
            connection.execute(changed, {"payload": json.dumps(payload), "id": seats})
        with pytest.raises(PermanentError, match="seats_paid is named as the source of answer 1, item 1: restore"):
            why(office.store, case_of(office, seats))


WITHOUT_CASE = (OutgoingKind.DIGEST, OutgoingKind.ALARM)
"""Explained with the mail that carries them: tests of their own."""


@pytest.mark.parametrize("kind", [kind for kind in OutgoingKind if kind not in WITHOUT_CASE])
def test_every_header_is_explained(office: Office, kind: OutgoingKind) -> None:
    """Of every kind of mail; a header that is added without a word here fails."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(first)[OutgoingKind.PACKET].message_id
    remind(office, first)
    office.handle(write("We look at it.", sender=DESK, in_reply_to=packet))
    office.transport.deliveries = [Delivery(status="failed", detail="550")]
    second, _ = office.handle(write(REFUND, sender=JAMES))
    held = held_in(office, number=3).mail_id
    mails = [mail for one in (first, second, held) for mail in why(office.store, case_of(office, one))]
    mail = next(mail for mail in mails if mail.kind is kind)
    assert [header.name for header in mail.headers if header.what == UNKNOWN_HEADER] == []
    assert {"From", "To", "Message-ID", "Date"} <= {header.name for header in mail.headers}
    to = next(header for header in mail.headers if header.name == "To")
    assert to.value == mail.recipient
    assert (to.what == "settings: desk.address") == kind.is_for_desk


def test_persons_words_are_a_persons(office: Office) -> None:
    """They have no template; the mail they came in is named."""
    first, _ = office.handle(write(HUMAN, sender=JAMES, subject="My card"))
    packet = office.sent(first)[OutgoingKind.PACKET].message_id
    reply, _ = office.handle(write("Dear James,\r\nwe look at it.", sender=DESK, in_reply_to=packet))
    mail = why(office.store, case_of(office, first))[-1]
    assert mail.subject.text == "Re: My card"
    assert [found.text for found in mail.lines] == ["Dear James,", "we look at it."]
    assert {source.what for found in mail.lines for source in found.sources} == {f"a person, in mail {reply}"}
    assert mail.subject.sources[0].what == f"the subject of mail {first}, with one Re:"


def test_a_case_whose_texts_are_deleted_says_so_and_still_lists_its_mails(office: Office) -> None:
    """Failure: `show` said of such a mail that it had no single address, and nothing of the answer to it."""
    mail_id, _ = office.handle(write(SEATS, sender=JAMES, subject="Seats"))
    old = StoreSettings(raw_retention_days=7, outbox_retention_days=7)
    office.store.retention.run(old, office.clock() + timedelta(days=8))
    told = timeline(office.store, case_of(office, mail_id))
    (mail,) = told.mails
    assert (mail.is_kept, mail.from_address, mail.subject, mail.text) == (False, JAMES, "", "")
    (sent,) = mail.sent
    assert (sent.is_kept, sent.record.recipient, sent.text) == (False, JAMES, "")
    printed = case_printing.timeline(told)
    assert f"mail from {JAMES}" in printed
    assert "no longer kept, nor the text (store.raw_retention_days)" in printed
    assert f"answer to {JAMES}: sent" in printed
    assert "no longer kept, nor the text (store.outbox_retention_days)" in printed
    assert why(office.store, case_of(office, mail_id)) == ()
