"""A case: its thread, the answer that waits with the source of every word, and what a person may do.

Invariant: what is previewed is made as it will be sent: by the same tools, templates and gate. Text of a mail is shown
as text; its HTML and files are downloaded, never shown. Checked by tests/journey/test_page_acts.py and
tests/journey/test_page_attacks.py.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from pydantic import ValidationError

from support_agent.answer.sources import RenderedAnswer
from support_agent.cases.commands import Command
from support_agent.cases.handling import Handling, Order
from support_agent.cases.route import staff_addresses
from support_agent.desk_page import acts
from support_agent.desk_page.acts import Act
from support_agent.desk_page.choices import Recipient, considered, groups, parts
from support_agent.desk_page.people import Role
from support_agent.desk_page.preview import AnswerPreview, shown_answer
from support_agent.desk_page.visit import (
    Desk,
    Download,
    Framed,
    NotFound,
    Page,
    Result,
    SeeOther,
    Shown,
    Visit,
    whole_number,
)
from support_agent.errors import SupportAgentError
from support_agent.mail.message import attached_bytes, parse
from support_agent.mail.text.body import Attachment
from support_agent.ops.explain import CaseStory, MailStory, queries_of, timeline, why
from support_agent.ops.provenance_report import lines_of
from support_agent.ops.replay import chosen, replay
from support_agent.ops.retrieval_report import RetrievalReport
from support_agent.outbound.rendered_mail import RenderedMail
from support_agent.outbound.staff_files import clean_name
from support_agent.store.desk_records import LabelSource
from support_agent.store.records import (
    PAGE_FOLDER,
    CaseId,
    CaseRecord,
    CaseState,
    DeliverySource,
    MailId,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
)
from support_agent.tools.person_choice import PersonChoice
from support_agent.workflow.approval import Approver
from support_agent.workflow.desk_commands import Offer
from support_agent.workflow.stages import Stages

ORDERS = {
    "claim": Order.CLAIM,
    "close": Order.CLOSE,
    "reopen": Order.REOPEN,
    "assign": Order.ASSIGN,
    "give back": Order.GIVE_BACK,
}
"""What a person may order about a case; where a packet offers it, closing and giving back are commands."""
KEY = re.compile(r"[A-Z2-7]{26}")
"""A command's key."""
DONE_WITH = (Command.APPROVE, Command.DOCUMENT, Command.OWN_WORDS, Command.CLOSE, Command.SPAM, Command.GIVE_BACK)
"""After these the person goes on to the queue."""
SENDING = (Command.APPROVE, Command.DOCUMENT, Command.OWN_WORDS)
PREVIEW = "preview words"


class Retrieval(NamedTuple):
    """What the fact room found for a question of a mail."""

    mail_id: MailId
    report: RetrievalReport


class Entry(NamedTuple):
    """A mail of the case: its story, its files, and whether a person did it on the page."""

    mail: MailStory
    files: tuple[Attachment, ...]
    is_act: bool


def show(desk: Desk, visit: Visit, problem: str = "") -> Result:
    """The page of a case; `choose` in the address previews another choice in its place.

    Args:
        problem: Why the words of the form were not sent.
    """
    case_id = CaseId(visit.path["case"])
    story, stages = timeline(desk.store, case_id), desk.stages()
    offer, choice = stages.desk.offer(case_id), _choice(visit.query.get("choose"))
    preview, refused = _preview(desk, stages, case_id, offer, choice)
    record = story.case
    to, passed_on = _recipient(stages, offer), _passed_on(desk, visit, offer)
    values = {
        "story": story,
        "entries": tuple(_entry(desk, mail) for mail in story.mails),
        "offer": offer,
        "keys": {command.code: key for command, key in (offer.keys.items() if offer else ())},
        "waiting": _waiting(desk, case_id, offer),
        "held": desk.store.outbox.find(case_id=case_id, kind=OutgoingKind.ANSWER, status=OutboxStatus.READY),
        "preview": preview,
        "refused": refused,
        "seen": acts.state_of(desk, record),
        "of_another": _of_another(record, visit),
        "words": visit.form.get("words", ""),
        "problem": problem,
        "passed_on": passed_on,
        "previewed": _digest(passed_on) if passed_on else "",
        "goes_to": to.sender.address if to is not None else "",
        "chosen": choice.text if choice is not None else "",
        "considered": considered(stages.company, _asked(story, offer), to) if to else (),
        "groups": groups(stages.company, to) if to else (),
        "parts": parts(stages.company, choice, to) if to and choice else None,
        "staff": sorted(staff_addresses(desk.settings)),
        "may_answer": visit.may(Role.ANSWER),
        "is_closed": record.state is CaseState.CLOSED,
        "retrievals": tuple(
            Retrieval(mail.record.id, report)
            for mail in story.mails
            if mail.plan is not None
            for report in mail.plan.retrievals
        ),
    }
    return Shown("case.html", values)


def act(desk: Desk, visit: Visit) -> Result:
    """Carry out what a form of the case's page orders."""
    what = visit.form.get("do", "")
    if what == PREVIEW:
        return show(desk, visit)
    with desk.acting:
        return _carried_out(desk, visit, what)


def _carried_out(desk: Desk, visit: Visit, what: str) -> Result:
    case_id, here = CaseId(visit.path["case"]), f"/cases/{visit.path['case']}"
    try:
        record = desk.store.cases.get_one(case_id)
        seen = visit.form.get("seen", "")
        if seen != acts.state_of(desk, record):
            return SeeOther(here, visit.wording("said.changed"), is_error=True)
        if what == "undo":
            _undo(desk, visit, case_id)
            return SeeOther(here, visit.wording("said.undone"))
        command = next((one for one in Command if one.value == what), None)
        offer = desk.stages().desk.offer(case_id)
        if command is None or offer is None or not (visit.form.get("key") or command is Command.OWN_WORDS):
            if (ordered := ORDERS.get(what)) is None:
                raise NotFound
            to = visit.person.address if ordered is Order.CLAIM else visit.form.get("to")
            handling = Handling(desk.store, desk.settings)
            handling.order(case_id, ordered, visit.person.address, desk.now(), "on the desk's page", to)
            return SeeOther(here, visit.wording(f"said.{ordered.value.replace('-', '_')}"))
        if command in SENDING and _of_another(record, visit):
            return SeeOther(here, visit.wording("said.of_another", who=record.assignee), is_error=True)
        if command is Command.OWN_WORDS and _is_unseen(desk, visit, offer):
            return show(desk, visit, visit.wording("case.left_out"))
        acts.carry_out(desk, visit.person, offer, _act_in(visit, command), seen)
    except SupportAgentError as error:
        if error.code == acts.CHANGED:
            return SeeOther(here, visit.wording("said.changed"), is_error=True)
        if error.code == acts.KEPT:
            return SeeOther(here, visit.wording("said.kept", why=str(error)), is_error=True)
        said = visit.wording("said.refused", why=str(error))
        if what == Command.OWN_WORDS.value:  # the page with the words still in its form
            return show(desk, visit, said)
        return SeeOther(here, said, is_error=True)
    return SeeOther("/" if command in DONE_WITH else here, visit.wording(f"said.{command.code}"))


def frame(desk: Desk, visit: Visit) -> Result:
    """The HTML of an answer: one of the outbox, or, with `choose` in the address, the preview of that choice."""
    case_id = CaseId(visit.path["case"])
    if (choice := _choice(visit.query.get("choose"))) is not None:
        stages = desk.stages()
        offer = stages.desk.offer(case_id)
        if offer is None:
            raise NotFound
        return Framed(_made(stages, offer, choice).html)
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
    at = whole_number(place)
    if at is None or at >= min(len(contents), len(attachments)):
        raise NotFound
    return Download(contents[at], clean_name(attachments[at].name) or f"file-{at + 1}")


def replayed(desk: Desk, visit: Visit) -> Result:
    """What was sent in a case, rendered again: whether the bytes are the same, and the source of each line."""
    case_id = visit.path["case"]
    found = replay(desk.store, chosen(desk.store, case=case_id))
    mails = tuple(mail for mail in why(desk.store, case_id) if not mail.kind.is_for_desk)
    return Shown("replay.html", {"case_id": case_id, "replayed": found, "mails": mails})


def _act_in(visit: Visit, command: Command) -> Act:
    choice = _choice(visit.form.get("choice")) if command is Command.DOCUMENT else None
    if command is not Command.OWN_WORDS and not KEY.fullmatch(visit.form.get("key", "")):
        raise NotFound
    if command is Command.DOCUMENT and choice is None:
        raise NotFound
    return Act(
        command=command,
        key=visit.form.get("key", ""),
        choice=choice,
        words=visit.form.get("words", "") if command is Command.OWN_WORDS else "",
        files=visit.files if command is Command.OWN_WORDS else (),
    )


def _of_another(record: CaseRecord, visit: Visit) -> bool:
    """Whether somebody else has the case: that person answers it, or whoever takes it over."""
    return record.assignee is not None and record.assignee != visit.person.address


def _passed_on(desk: Desk, visit: Visit, offer: Offer | None) -> str:
    """The words of the form as the customer would get them, "" if there are none."""
    words = visit.form.get("words", "")
    if offer is None or not words.strip():
        return ""
    return acts.as_passed_on(desk, visit.person, offer, Act(Command.OWN_WORDS, words=words))


def _is_unseen(desk: Desk, visit: Visit, offer: Offer) -> bool:
    """Whether a part of the form's words would be left out, and the person has not seen what remains."""
    passed_on = _passed_on(desk, visit, offer)
    is_seen = not passed_on or visit.form.get("previewed") == _digest(passed_on)
    return not is_seen and acts.leaves_out(visit.form.get("words", ""), passed_on)


def _digest(words: str) -> str:
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()


def _undo(desk: Desk, visit: Visit, case_id: CaseId) -> None:
    """Keep an answer from leaving, as the command `undo` by mail does."""
    row, who = _of_case(desk, case_id, visit.form.get("id", "")), visit.person.address
    if row.status is OutboxStatus.PROPOSED:  # it does not leave by itself
        raise NotFound
    by = Approver(DeliverySource.UNDONE, who, f"undone by {who}, on the desk's page", LabelSource.COMMAND)
    desk.stages().desk.approval.undo(row.id, by)()


def _of_case(desk: Desk, case_id: CaseId, outbox_id: str) -> OutboxRecord:
    row = desk.store.outbox.get(OutboxId(outbox_id))
    if row is None or row.case_id != case_id:
        raise NotFound
    return row


def _entry(desk: Desk, mail: MailStory) -> Entry:
    is_act = mail.record.folder == PAGE_FOLDER
    return Entry(mail, parse(desk.store.mails.raw(mail.record.id)).attachments, is_act)


def _waiting(desk: Desk, case_id: CaseId, offer: Offer | None) -> AnswerPreview | None:
    """The answer that waits for a person."""
    row = offer.proposed if offer is not None else None
    if row is None or row.status is not OutboxStatus.PROPOSED:
        return None
    record = desk.store.outbox.rendered_mail(row.mail_id, row.kind, row.number)
    if record is None:
        return None
    subject, lines = lines_of(record, queries_of(desk.store, desk.store.plans.get(row.mail_id)))
    return AnswerPreview(subject, lines, f"/cases/{case_id}/frame?id={row.id}")


def _asked(story: CaseStory, offer: Offer | None) -> MailStory | None:
    """The mail that the packet is about."""
    return next((one for one in story.mails if offer and one.record.id == offer.customer_mail.id), None)


def _choice(text: str | None) -> PersonChoice | None:
    if not text:
        return None
    if (choice := PersonChoice.read(text)) is None:
        raise NotFound
    return choice


def _recipient(stages: Stages, offer: Offer | None) -> Recipient | None:
    """Whom an answer in this case goes to."""
    if offer is None:
        return None
    sender = stages.routing.senders.of(offer.customer_mail)
    customer = stages.company.known_customer(sender.address, sender.level)
    locale = stages.queue.templates.locale_of(customer, stages.settings.company.locale)
    return Recipient(sender, customer, locale, stages.settings.company.day_of(stages.now()))


def _preview(
    desk: Desk, stages: Stages, case_id: CaseId, offer: Offer | None, choice: PersonChoice | None
) -> tuple[AnswerPreview | None, str]:
    """A choice as the customer would get it, or why it cannot be sent."""
    if choice is None or offer is None:
        return None, ""
    try:
        made = _made(stages, offer, choice)
    except SupportAgentError as error:
        return None, str(error)
    frame = f"/cases/{case_id}/frame?choose={choice.text}"
    return shown_answer(made, frame, desk.now(), stages.company.accounts.queries), ""


def _made(stages: Stages, offer: Offer, choice: PersonChoice) -> RenderedMail:
    _, final = stages.desk.chosen_answer(offer.customer_mail, choice)
    return stages.queue.rendered(final)


PAGES = (
    Page("/cases/{case}", show),
    Page("/cases/{case}", act, Role.ANSWER, "POST"),
    Page("/cases/{case}/frame", frame),
    Page("/cases/{case}/mails/{mail}/{file}", download),
    Page("/cases/{case}/replay", replayed),
)
