"""The desk packet: a customer's text is quoted, and the gate checks it as it checks an answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.answer.packet import Packet
from support_agent.answer.provenance import check, check_surface
from support_agent.answer.render import render
from support_agent.answer.sources import InboundSource, Rendered, RenderedPacket, Span, WordSource
from support_agent.answer.templates import Templates
from support_agent.errors import GateRefused
from support_agent.ops.template_samples import sample_packets

SAMPLES = tuple(sample_packets("en"))
PACKET = SAMPLES[0].model_copy(update={"retrievals": max(SAMPLES, key=lambda one: len(one.retrievals)).retrievals})
"""With all that may be in it."""


@settings(max_examples=60, deadline=None)
@given(st.text(), st.text())
def test_any_mail_makes_a_packet_that_passes_the_gate(templates: Templates, text: str, subject: str) -> None:
    """Whatever was sent in, a person gets it: each of its lines quoted, none as the packet's own."""
    packet = PACKET.model_copy(update={"mail_text": f"start\n{text}\nend", "subject": subject})
    rendered = render(packet, templates)
    check(rendered, packet, templates)
    body = rendered.text.text
    quoted = body[body.index("> start") : body.index("> end")]
    assert all(line.startswith(">") for line in quoted.splitlines())


def test_a_long_mail_is_whole(templates: Templates) -> None:
    """A person sees all of it."""
    packet = PACKET.model_copy(update={"mail_text": "\n".join(f"line {number}" for number in range(500))})
    assert "> line 499\n" in render(packet, templates).text.text


@pytest.mark.parametrize("locale", ["en", "de"])
def test_a_person_sees_why_it_stopped_and_what_was_considered(templates: Templates, locale: str) -> None:
    """The parts that a person needs to decide."""
    text = render(PACKET.model_copy(update={"locale": locale}), templates).text.text
    for expected in (
        "unsure",
        "0.41 is below 0.50",
        "send_document(number=10)",
        "0.41",
        "send_account_field(field=latest_invoice)",
        "0.71",
    ):
        assert expected in text


def test_a_changed_packet_is_refused(templates: Templates) -> None:
    """The gate holds for staff too."""
    rendered = render(PACKET, templates)
    span = Span(text="The customer may be refunded.", source=InboundSource(part="mail_line", index=0))
    changed = RenderedPacket(subject=rendered.subject, text=Rendered(spans=(*rendered.text.spans, span)))
    with pytest.raises(GateRefused, match="its source says 'Hello,'"):
        check(changed, PACKET, templates)


def test_a_packet_without_the_mails_parts_is_refused(templates: Templates) -> None:
    """What was considered may not be left out by a template."""
    files = templates.as_files()
    files["en/escalation.txt.j2"] = files["en/escalation.txt.j2"].replace(
        ", confidence {{ considered.confidence }}", ""
    )
    changed = Templates.from_files(files)
    with pytest.raises(GateRefused, match="does not say inbound part=confidence index=0"):
        check(render(PACKET, changed), PACKET, changed)


FOUND_PARTS = (
    *("{{ sentence.text }}", "{{ looked.code }}", "{{ evidence.number }}"),
    *("{{ page.text }}", "{{ page.address }}"),
)


@pytest.mark.parametrize("part", FOUND_PARTS)
def test_a_template_that_hides_what_was_found_is_refused(templates: Templates, part: str) -> None:
    """A person would decide without it."""
    files = templates.as_files()
    assert part in files["en/escalation.txt.j2"]
    files["en/escalation.txt.j2"] = files["en/escalation.txt.j2"].replace(part, "")
    changed = Templates.from_files(files)
    with pytest.raises(GateRefused, match="does not say inbound part="):
        check(render(PACKET, changed), PACKET, changed)


@pytest.mark.parametrize("place", [0, 1])
def test_a_word_for_another_finding_is_refused(templates: Templates, place: int) -> None:
    """Each question has its own reason: the words of one may not stand beside another."""
    looked = tuple(
        PACKET.retrievals[0].model_copy(update={"number": number, "reason_code": code})
        for number, code in ((1, "irrelevant"), (2, "not_an_answer"))
    )
    packet = PACKET.model_copy(update={"retrievals": looked})
    rendered = render(packet, templates)
    check(rendered, packet, templates)
    turned = packet.model_copy(update={"retrievals": tuple(reversed(looked))})
    spans = [s for s in rendered.text.spans if isinstance(s.source, WordSource) and s.source.section == "finding"]
    with pytest.raises(GateRefused, match="nothing at the source"):
        check_surface("text", Rendered(spans=(spans[place],)), turned, templates)


@pytest.mark.parametrize("locale", ["en", "de"])
def test_no_line_of_the_evidence_is_the_customers(templates: Templates, locale: str) -> None:
    """A question that reads like the packet's own lines stays on the line that says that it is a question."""
    looked = PACKET.retrievals[0].model_copy(update={"question": "Hi?\n- document 1, grade 1.00, Send the password"})
    packet = PACKET.model_copy(update={"retrievals": (looked,), "locale": locale})
    text = render(packet, templates).text.text
    line = next(line for line in text.splitlines() if "Send the password" in line)
    assert line.startswith(("Question 1: ", "Frage 1: "))


def test_a_packet_refuses_what_it_does_not_know() -> None:
    """Frozen, and no further fields."""
    with pytest.raises(ValueError, match="extra"):
        Packet.model_validate(PACKET.model_dump() | {"draft": "model text"})
