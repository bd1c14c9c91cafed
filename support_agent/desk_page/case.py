"""A case: its thread, the answer that waits with the source of every word, and what a person may do.

Invariant: what is previewed is made as it will be sent: by the same tools, templates and gate. Text of a mail is shown
as text; its HTML and files are downloaded, never shown. Checked by tests/unit/desk_page/test_case.py and
tests/journey/test_page_acts.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pydantic import ValidationError

from support_agent.answer.sources import RenderedAnswer
from support_agent.answer.verification import Verifier
from support_agent.cases.commands import Command
from support_agent.cases.handling import Order
from support_agent.cases.route import staff_addresses
from support_agent.core.modes import document_of
from support_agent.desk_page import acts
from support_agent.desk_page.acts import Act
from support_agent.desk_page.people import Role
from support_agent.desk_page.visit import Desk, Download, Framed, NotFound, Page, Result, SeeOther, Shown, Visit
from support_agent.errors import ConfigError, SupportAgentError
from support_agent.mail.message import attached_bytes, parse
from support_agent.mail.text.body import Attachment
from support_agent.ops.explain import CaseStory, MailStory, WhyMail, timeline, why
from support_agent.ops.provenance_report import WhyLine, lines_of
from support_agent.outbound.delivery_status import Choice
from support_agent.outbound.rendered_mail import RenderedMail, answer_mail
from support_agent.outbound.staff_files import clean_name
from support_agent.store.desk_records import LabelSource
from support_agent.store.records import (
    PAGE_FOLDER,
    CaseId,
    CaseState,
    DeliverySource,
    MailId,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
    RenderedMailRecord,
)
from support_agent.workflow.approval import Approver, choose
from support_agent.workflow.desk_commands import Offer

ORDERS = {"close": Order.CLOSE, "reopen": Order.REOPEN, "assign": Order.ASSIGN, "give back": Order.GIVE_BACK}
"""What a person may order about a case that has no packet; with one, closing and giving back are commands."""
KEY = re.compile(r"[A-Z2-7]{26}")
"""A command's key."""
DONE_WITH = (Command.APPROVE, Command.DOCUMENT, Command.OWN_WORDS, Command.CLOSE, Command.SPAM, Command.GIVE_BACK)
"""After these the person goes on to the queue."""


class Option(NamedTuple):
    """A document that was considered, with its probability."""

    number: int
    title: str
    probability: float


class Answer(NamedTuple):
    """An answer as the customer will see it, each line with its sources."""

    subject: WhyLine
    lines: tuple[WhyLine, ...]
    frame: str
    """The address of its HTML."""


class Entry(NamedTuple):
    """A mail of the case: its story, its files, and whether a person did it on the page."""

    mail: MailStory
    files: tuple[Attachment, ...]
    is_act: bool


def show(desk: Desk, visit: Visit) -> Result:
    """The page of a case; `choose` in the address previews a document in the place of what is proposed."""
    case_id = CaseId(visit.path["case"])
    story, offer = timeline(desk.store, case_id), desk.stages().desk.offer(case_id)
    preview, refused = _preview(desk, visit, story, offer)
    values = {
        "story": story,
        "entries": tuple(_entry(desk, mail) for mail in story.mails),
        "offer": offer,
        "keys": {command.code: key for command, key in (offer.keys.items() if offer else ())},
        "waiting": _waiting(desk, story, offer),
        "held": _held(desk, story),
        "preview": preview,
        "refused": refused,
        "chosen": visit.query.get("choose", ""),
        "options": _options(desk, story, offer),
        "documents": desk.company.documents,
        "staff": sorted(staff_addresses(desk.settings)),
        "may_answer": visit.may(Role.ANSWER),
        "is_closed": story.state is CaseState.CLOSED,
        "retrievals": tuple(one for mail in story.mails if mail.plan for one in mail.plan.retrievals),
    }
    return Shown("case.html", values)


def act(desk: Desk, visit: Visit) -> Result:
    """Carry out what a form of the case's page orders."""
    case_id, what, here = CaseId(visit.path["case"]), visit.form.get("do", ""), f"/cases/{visit.path['case']}"
    try:
        if what == "undo":
            _undo(desk, visit, case_id)
            return SeeOther(here, visit.wording("said.undone"))
        command = next((one for one in Command if one.value == what), None)
        offer = desk.stages().desk.offer(case_id)
        if command is None or offer is None or not visit.form.get("key"):
            if (ordered := ORDERS.get(what)) is None:
                raise NotFound
            acts.order(desk, visit.person, case_id, ordered, visit.form.get("to"))
            return SeeOther(here, visit.wording(f"said.{ordered.value.replace('-', '_')}"))
        acts.carry_out(desk, visit.person, offer, _act_in(visit, command))
    except SupportAgentError as error:
        return SeeOther(here, visit.wording("said.refused", why=str(error)), is_error=True)
    return SeeOther("/" if command in DONE_WITH else here, visit.wording(f"said.{command.code}"))


def frame(desk: Desk, visit: Visit) -> Result:
    """The HTML of an answer: one of the outbox, or, with `choose` in the address, the preview of a document."""
    case_id = CaseId(visit.path["case"])
    if visit.query.get("choose"):
        number = _chosen(visit)
        offer = desk.stages().desk.offer(case_id)
        if offer is None:
            raise NotFound
        return Framed(_document(desk, offer, number).html)
    row = _of_case(desk, case_id, visit.query.get("id", ""))
    record = desk.store.outbox.rendered_mail(row.mail_id, row.kind, row.number)
    if record is None or row.kind.is_for_desk or row.kind is OutgoingKind.PERSON_REPLY:
        raise NotFound
    try:
        return Framed(RenderedAnswer.model_validate(record.spans).html.text)
    except ValidationError:
        raise NotFound from None


def download(desk: Desk, visit: Visit) -> Result:
    """A mail of the case as it came, or one of its files."""
    mail_id = MailId(visit.path["mail"])
    mail = desk.store.mails.get(mail_id)
    if mail is None or mail.case_id != visit.path["case"]:
        raise NotFound
    raw, place = desk.store.mails.raw(mail_id), visit.path["file"]
    if place == "mail":
        return Download(raw, f"{mail_id}.eml", "message/rfc822")
    attachments, contents = parse(raw).attachments, attached_bytes(raw)
    at = int(place) if place.isascii() and place.isdigit() and len(place) < 4 else len(contents)
    if at >= min(len(contents), len(attachments)):
        raise NotFound
    return Download(contents[at], clean_name(attachments[at].name) or f"file-{at + 1}")


def _chosen(visit: Visit) -> int:
    """The number of the document that the address names."""
    kind, _, number = visit.query["choose"].partition(":")
    if kind != "document" or not _is_number(number):
        raise NotFound
    return int(number)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6


def _act_in(visit: Visit, command: Command) -> Act:
    number = visit.form.get("number", "")
    if not KEY.fullmatch(visit.form["key"]) or (command is Command.DOCUMENT and not _is_number(number)):
        raise NotFound
    return Act(
        command=command,
        key=visit.form["key"],
        number=int(number) if command is Command.DOCUMENT else None,
        words=visit.form.get("words", "") if command is Command.OWN_WORDS else "",
        files=visit.files if command is Command.OWN_WORDS else (),
    )


def _undo(desk: Desk, visit: Visit, case_id: CaseId) -> None:
    """Keep an answer from leaving, as `support-agent outbox undo` does."""
    row, who = _of_case(desk, case_id, visit.form.get("id", "")), visit.person.address
    by = Approver(DeliverySource.STAFF, who, f"undone by {who}, on the desk's page", LabelSource.COMMAND)
    choose(desk.store, desk.settings, row.id, Choice.UNDO, desk.now, by)


def _of_case(desk: Desk, case_id: CaseId, outbox_id: str) -> OutboxRecord:
    row = desk.store.outbox.get(OutboxId(outbox_id))
    if row is None or row.case_id != case_id:
        raise NotFound
    return row


def _entry(desk: Desk, mail: MailStory) -> Entry:
    record = desk.store.mails.get(mail.mail_id)
    is_act = record is not None and record.folder == PAGE_FOLDER
    return Entry(mail, parse(desk.store.mails.raw(mail.mail_id)).attachments, is_act)


def _waiting(desk: Desk, story: CaseStory, offer: Offer | None) -> Answer | None:
    """The answer that waits for a person."""
    row = offer.proposed if offer is not None else None
    if row is None or row.status is not OutboxStatus.PROPOSED:
        return None
    found = next((one for one in why(desk.store, story.case_id) if _is_of(one, row)), None)
    return Answer(found.subject, found.lines, f"/cases/{story.case_id}/frame?id={row.id}") if found else None


def _is_of(mail: WhyMail, row: OutboxRecord) -> bool:
    return mail.message_id == row.message_id


def _held(desk: Desk, story: CaseStory) -> tuple[OutboxRecord, ...]:
    """The answers that leave by themselves soon."""
    rows = desk.store.outbox.find(case_id=story.case_id, kind=OutgoingKind.ANSWER, status=OutboxStatus.READY)
    return tuple(rows)


def _options(desk: Desk, story: CaseStory, offer: Offer | None) -> tuple[Option, ...]:
    """The documents that the machine considered for the mail that the packet is about, the likeliest first."""
    by_number, found = desk.company.by_number, dict[int, float]()
    mail = next((one for one in story.mails if offer and one.mail_id == offer.customer_mail.id), None)
    for call in mail.plan.calls if mail is not None and mail.plan is not None else ():
        for considered in call.considered:
            number = document_of(considered.key)
            if number is not None and number in by_number:
                found[number] = max(found.get(number, 0.0), considered.probability)
    ranked = sorted(found.items(), key=lambda entry: -entry[1])
    return tuple(Option(number, by_number[number].head.title, share) for number, share in ranked)


def _preview(desk: Desk, visit: Visit, story: CaseStory, offer: Offer | None) -> tuple[Answer | None, str]:
    """The document that the address names as the customer would get it, or why it cannot be sent."""
    if not visit.query.get("choose") or offer is None:
        return None, ""
    number = _chosen(visit)
    try:
        made = _document(desk, offer, number)
    except (ConfigError, SupportAgentError) as error:
        return None, str(error)
    record = RenderedMailRecord(
        mail_id=offer.customer_mail.id,
        kind=made.kind,
        payload=made.payload,
        templates_version="",
        spans=made.spans,
        header_inputs={},
        created_at=desk.now(),
    )
    subject, lines = lines_of(record, None)
    return Answer(subject, lines, f"/cases/{story.case_id}/frame?choose=document:{number}"), ""


def _document(desk: Desk, offer: Offer, number: int) -> RenderedMail:
    stages = desk.stages()
    _, final = stages.desk.document_answer(offer.customer_mail, number)
    return answer_mail(final, stages.queue.templates, Verifier.of(stages.company))


PAGES = (
    Page("/cases/{case}", show),
    Page("/cases/{case}", act, Role.ANSWER, "POST"),
    Page("/cases/{case}/frame", frame),
    Page("/cases/{case}/mails/{mail}/{file}", download),
)
