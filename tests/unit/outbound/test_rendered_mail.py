"""Rendered mails: the same arguments give the same bytes, and nothing gets past the gate."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import SecretStr

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.final_answer import FieldItem, FinalAnswer
from support_agent.answer.verification import Verifier
from support_agent.company.values import Count
from support_agent.errors import ConfigError, GateRefused
from support_agent.mail.keys import ORIGIN_HEADER, Origin, origin_header, read_origin
from support_agent.mail.message import parse
from support_agent.ops.template_tests import around
from support_agent.outbound.rendered_mail import (
    Headers,
    RenderedMail,
    answer_mail,
    gated_mail,
    reply_mail,
    rerendered,
)
from support_agent.store.records import MailId, OutgoingKind, RenderedMailRecord
from support_agent.transport.submission import Delivery
from tests.fakes_desk import digest, held_in, remind
from tests.fakes_journey import ANNA, JAMES, NOON, Office, write

RAW = write("How many seats do we have?", subject="Seats")
FINAL = around(FieldItem(field="seats_paid", label="Seats paid for", value=Count(count=12)))


def headers(office: Office, rendered: RenderedMail, mail_id: str = "1") -> Headers:
    return rendered.headers(office.settings.agent, "case", mail_id, ANNA, NOON, parse(RAW), "parent")


def composed(office: Office, rendered: RenderedMail) -> bytes:
    return rendered.compose(headers(office, rendered), parse(RAW), RAW)


def test_same_mail_has_the_same_bytes(office: Office) -> None:
    """On every try and in every replay; the instant has no fraction of a second, as a Date has none."""
    rendered = answer_mail(FINAL, office.decider.templates, Verifier.of(office.decider.company))
    assert composed(office, rendered) == composed(office, rendered)
    assert headers(office, rendered).sent_at == NOON.replace(microsecond=0)


def test_message_id_follows_from_case_mail_and_kind(office: Office) -> None:
    """What goes out for another mail, or of another kind, is another mail; a later try is not."""
    agent = office.settings.agent
    answer = answer_mail(FINAL, office.decider.templates, Verifier.of(office.decider.company))
    reply = reply_mail("Seats", "Twelve.\n")
    later = answer.headers(agent, "case", "1", ANNA, NOON + timedelta(days=1), parse(RAW), "parent")
    assert headers(office, answer).message_id == later.message_id
    made = (headers(office, answer), headers(office, answer, "2"), headers(office, reply))
    assert len({head.message_id for head in made}) == 3


@pytest.mark.parametrize("kind", OutgoingKind)
def test_origin_header_is_signed_and_counts_the_hops_of_the_mail_it_answers(office: Office, kind: OutgoingKind) -> None:
    """So that our own mail is known again and a loop of machines ends, whatever kind of mail keeps it going."""
    agent = office.settings.agent
    parent = parse(f"{ORIGIN_HEADER}: {origin_header(SecretStr('f' * 32), '<a@b>', 2)}\r\n".encode() + RAW)
    rendered = reply_mail("Seats", "Twelve.\n").model_copy(update={"kind": kind})
    made = rendered.compose(rendered.headers(agent, "case", "1", ANNA, NOON, parent, "parent"), parent, RAW)
    origin = read_origin(agent.secrets, parse(made).header(ORIGIN_HEADER) or "")
    assert origin == Origin(hops=3, is_ours=True)


def test_without_a_key_there_are_no_headers(office: Office) -> None:
    """A mail that could not be known again is not made."""
    unkeyed = office.settings.agent.model_copy(update={"secret": SecretStr("")})
    with pytest.raises(ConfigError, match=r"agent\.secret"):
        reply_mail("Seats", "Twelve.\n").headers(unkeyed, "case", "1", ANNA, NOON, parse(RAW), "parent")


def test_answer_that_the_gate_refuses_is_no_mail(office: Office) -> None:
    """There is no way to a `RenderedMail` for a customer around the gate."""
    templates = office.with_templates(answer="All is well.\n", acknowledgement="All is well.\n").decider.templates
    with pytest.raises(GateRefused):
        answer_mail(FINAL, templates, Verifier.of(office.decider.company))
    with pytest.raises(GateRefused):
        gated_mail(
            OutgoingKind.ACKNOWLEDGEMENT,
            Acknowledgement(company="Harborfile", locale="en", subject=None, support_address="s@harborfile.example"),
            templates,
        )


@pytest.mark.parametrize("kind", [kind for kind in OutgoingKind if kind is not OutgoingKind.ALARM])
def test_stored_mail_is_made_again(office: Office, kind: OutgoingKind) -> None:
    """Of every kind (for alarms see test_alarms.py): the payload alone gives the same subject, text and HTML."""
    first, _ = office.handle(write("Let me talk to a human.", sender=JAMES))
    packet = office.sent(first)[OutgoingKind.PACKET].message_id
    remind(office, first)
    digest(office, first)
    office.handle(write("Hello James.", sender=office.settings.desk.address, in_reply_to=packet))
    office.transport.deliveries = [Delivery(status="failed", detail="550")]
    office.handle(write("How many seats have we paid for?", sender=JAMES, number=3))
    held_in(office, number=4)
    records = [
        record
        for mail in office.store.mails.find()
        if (record := office.store.outbox.rendered_mail(mail.id, kind)) is not None
    ]
    assert records
    rendered = rerendered(records[0], office.decider.templates)
    assert (rendered.kind, rendered.payload, rendered.spans) == (kind, records[0].payload, records[0].spans)


def test_payload_that_was_tampered_with_is_made_again_as_it_is(office: Office) -> None:
    """A replay shows a changed value in the text: nothing of the old rendering is reused."""
    rendered = answer_mail(FINAL, office.decider.templates, Verifier.of(office.decider.company))
    changed = FINAL.model_copy(
        update={"answers": around(FieldItem(field="seats_paid", label="Seats paid for", value=Count(count=99))).answers}
    )
    record = RenderedMailRecord(
        mail_id=MailId("m"),
        kind=OutgoingKind.ANSWER,
        payload=FinalAnswer.model_validate(changed).model_dump(mode="json"),
        templates_version=office.decider.templates.version,
        spans=rendered.spans,
        header_inputs={},
        created_at=NOON,
    )
    assert "99" in rerendered(record, office.decider.templates).text


def test_persons_words_are_passed_on_as_they_are(office: Office) -> None:
    """No template, and the customer's subject with one Re:."""
    rendered = reply_mail("Re: AW: Seats", "Zwölf {{ nicht }} 7*7.\n")
    assert (rendered.subject, rendered.text, rendered.html) == ("Re: Seats", "Zwölf {{ nicht }} 7*7.\n", "")
    assert rendered.spans == {}
