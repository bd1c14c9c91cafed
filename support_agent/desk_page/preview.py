"""Answers as the page shows them, and those that nobody is sent: documents and templates, for a made-up customer.

Invariant: they are made by the tools, templates and gate of every answer. Checked by
tests/unit/desk_page/test_documents.py and test_templates_view.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime, time
from email.message import EmailMessage
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.mail_parts import MadeFrom
from support_agent.answer.templates import Templates
from support_agent.answer.verification import Verifier
from support_agent.company.accounts import Queries
from support_agent.company.company import Company
from support_agent.company.documents import Document
from support_agent.company.values import Customer
from support_agent.config.settings import CompanySettings
from support_agent.core.levels import CUSTOMER
from support_agent.core.modes import document_key
from support_agent.errors import PermanentError
from support_agent.mail.message import parse
from support_agent.mail.senders.identity import Sender
from support_agent.ops.provenance_report import WhyLine, lines_of
from support_agent.ops.template_samples import (
    sample_acknowledgements,
    sample_alarms,
    sample_answers,
    sample_digests,
    sample_items,
    sample_later_acknowledgements,
    sample_packets,
)
from support_agent.ops.template_tests import around
from support_agent.outbound.rendered_mail import RenderedMail, answer_mail, gated_mail
from support_agent.store.records import MailId, OutgoingKind, RenderedMailRecord
from support_agent.tools.person_choice import PersonChoice
from support_agent.workflow.decide import Decider

SOMEBODY, ADDRESS = "Anna Example", "anna@customer.invalid"
"""The made-up customer; the domain cannot exist (RFC 6761)."""
MAX_QUESTION = 500
"""Most characters of the question that a preview answers."""
MOST_SAMPLES = 6
CUSTOMER_KINDS: Mapping[type, OutgoingKind] = {
    FinalAnswer: OutgoingKind.ANSWER,
    Acknowledgement: OutgoingKind.ACKNOWLEDGEMENT,
}
"""Of what a customer gets; what staff get is shown as a packet is."""


class AnswerPreview(NamedTuple):
    """An answer as the customer will see it, each line with its sources."""

    subject: WhyLine
    lines: tuple[WhyLine, ...]
    frame: str
    """The address of its HTML, "" where it has none."""


def document_mail(
    decider: Decider, company: Company, templates: Templates, number: int, language: str, question: str, now: datetime
) -> RenderedMail:
    """A document as a known customer who writes in this language gets it in answer to a question.

    A document that is not valid today is shown as on the nearest day on which it is.

    Raises:
        PermanentError: there is no such document. ToolCallRejected, GateRefused: it cannot be sent.
    """
    document = _document(company, number, language)
    asking = question or next(iter(document.head.questions), document.head.title)
    message = EmailMessage()
    message["From"], message["Subject"] = ADDRESS, asking.replace("\r", " ").replace("\n", " ")
    message.set_content(asking)
    sender = Sender(address=ADDRESS, level=CUSTOMER, why="made up for a preview")
    customer = Customer(id="", name=SOMEBODY, address=ADDRESS, locale=language)
    there = replace(decider, company=company, templates=templates)
    choice = PersonChoice(document_key(number))
    final = there.chosen(
        parse(message.as_bytes()), sender, customer, _valid_at(document, now, decider.settings.company), choice
    )
    return answer_mail(final, templates, Verifier.of(company))


def draft_mail(
    decider: Decider, settings: CompanySettings, number: int, language: str, question: str, now: datetime
) -> RenderedMail:
    """As `document_mail`, with the files of these settings, such as those with a draft among them.

    Raises:
        ConfigError: the files cannot be used.
    """
    company = Company.load(settings)
    with closing(company.accounts):
        return document_mail(decider, company, Templates.load(settings.templates), number, language, question, now)


def _document(company: Company, number: int, language: str) -> Document:
    found = {one.language: one for one in company.texts if one.number == number}
    document = found.get(language, company.by_number.get(number))
    if document is None:
        raise PermanentError(f"document {number} is not reviewed yet, or has an error", code="no_document")
    return document


def _valid_at(document: Document, now: datetime, company: CompanySettings) -> datetime:
    head, today = document.head, company.day_of(now)
    day = max(today, head.valid_from)
    day = day if head.valid_until is None else min(day, head.valid_until)
    return now if day == today else datetime.combine(day, time(12), ZoneInfo(company.time_zone))


def sample_mails(name: str, templates: Templates) -> Iterator[RenderedMail]:
    """Mails that a template ("en/document.txt.j2") has a part in, made of the samples with which `check` tries it.

    Raises:
        GateRefused: a sample cannot be rendered, or does not pass the gate.
    """
    for made_from in islice(_samples(name), MOST_SAMPLES):
        yield gated_mail(CUSTOMER_KINDS.get(type(made_from), OutgoingKind.PACKET), made_from, templates)


def _samples(name: str) -> Iterator[MadeFrom]:
    locale, _, file = name.partition("/")
    stem = file.partition(".")[0]
    items = tuple(item for item in sample_items() if item.kind == stem or (stem == "operand" and "agg" in item.kind))
    match stem:
        case "acknowledgement":
            yield from (*sample_acknowledgements(locale), *sample_later_acknowledgements(locale))
        case "escalation" | "escalation_subject":
            yield from sample_packets(locale)
        case "digest" | "digest_subject":
            yield from sample_digests(locale)
        case "alarm" | "alarm_subject":
            yield from sample_alarms(locale)
        case _ if items:
            yield from (around(item, locale=locale) for item in items)
        case _:
            yield from sample_answers(locale)


def shown_answer(mail: RenderedMail, frame: str, now: datetime, queries: Queries | None = None) -> AnswerPreview:
    """A mail as the page shows it, each part of a line with its source.

    Args:
        frame: The address of its HTML.
        queries: Those that read the values of the customer's account; None: the customer is made up.
    """
    record = RenderedMailRecord(
        mail_id=MailId(""),
        kind=mail.kind,
        payload=mail.payload,
        templates_version="",
        spans=mail.spans,
        header_inputs={},
        created_at=now,
    )
    subject, lines = lines_of(record, queries)
    return AnswerPreview(subject, lines, frame)
