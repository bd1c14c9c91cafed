"""The page of a case: its thread, the answer that waits with the source of every word, and what a person may do.

Invariant: text of a mail is shown as text; its HTML and files are downloaded, never shown. Checked by
tests/journey/test_page_acts.py and tests/journey/test_page_attacks.py.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from support_agent.cases.commands import Command
from support_agent.cases.route import staff_addresses
from support_agent.desk_page import acts
from support_agent.desk_page.acts import Act
from support_agent.desk_page.case_preview import choice_in, previewed, recipient, waiting
from support_agent.desk_page.choices import considered, groups, parts
from support_agent.desk_page.people import Role
from support_agent.desk_page.visit import Desk, Download, NotFound, Page, Result, Shown, Visit, whole_number
from support_agent.mail.message import attached_bytes, parse
from support_agent.mail.text.body import Attachment
from support_agent.ops.explain import CaseStory, MailStory, timeline, why
from support_agent.ops.replay import chosen, replay
from support_agent.ops.retrieval_report import RetrievalReport
from support_agent.outbound.packing import reply_to_of
from support_agent.outbound.staff_files import clean_name
from support_agent.store.records import (
    PAGE_FOLDER,
    CaseId,
    CaseRecord,
    CaseState,
    MailId,
    OutboxStatus,
    OutgoingKind,
)
from support_agent.workflow.desk_commands import Offer


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
    story, wired = timeline(desk.store, case_id), desk.wired()
    offer, choice = wired.desk.offer(case_id), choice_in(visit.query.get("choose"))
    preview, refused = previewed(desk, wired, case_id, offer, choice)
    record, answers = story.case, desk.store.deliveries.in_case(case_id, OutgoingKind.ANSWER)
    to, passed_on = recipient(desk, wired, offer), _passed_on(desk, visit, offer)
    values = {
        "story": story,
        "entries": tuple(_entry(desk, mail) for mail in story.mails),
        "offer": offer,
        "keys": {command.code: key for command, key in (offer.keys.items() if offer else ())},
        "waiting": waiting(desk, case_id, offer),
        "held": [answer for answer in answers if answer.status is OutboxStatus.READY],
        "preview": preview,
        "refused": refused,
        "seen": acts.state_of(desk, record),
        "of_another": is_of_another(record, visit),
        "words": visit.form.get("words", ""),
        "problem": problem,
        "passed_on": passed_on,
        "previewed": _digest(passed_on) if passed_on else "",
        "goes_to": to.sender.address if to is not None else "",
        "reply_to": reply_to_of(offer.customer_mail.message) if offer is not None else None,
        "chosen": choice.text if choice is not None else "",
        "considered": considered(wired.company, _asked(story, offer), to) if to else (),
        "groups": groups(wired.company, to) if to else (),
        "parts": parts(wired.company, choice, to) if to and choice else None,
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


def is_of_another(record: CaseRecord, visit: Visit) -> bool:
    """Whether somebody else has the case: that person answers it, or whoever takes it over."""
    return record.assignee is not None and record.assignee != visit.person.address


def _passed_on(desk: Desk, visit: Visit, offer: Offer | None) -> str:
    """The words of the form as the customer would get them, "" if there are none."""
    words = visit.form.get("words", "")
    if offer is None or not words.strip():
        return ""
    return acts.as_passed_on(desk, visit.person, offer, Act(Command.OWN_WORDS, words=words))


def is_unseen(desk: Desk, visit: Visit, offer: Offer) -> bool:
    """Whether a part of the form's words would be left out, and the person has not seen what remains."""
    passed_on = _passed_on(desk, visit, offer)
    is_seen = not passed_on or visit.form.get("previewed") == _digest(passed_on)
    return not is_seen and acts.leaves_out(visit.form.get("words", ""), passed_on)


def _digest(words: str) -> str:
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()


def _entry(desk: Desk, mail: MailStory) -> Entry:
    is_act = mail.record.folder == PAGE_FOLDER
    raw = desk.store.mails.raw(mail.record.id) if mail.is_kept else b""
    return Entry(mail, parse(raw).attachments, is_act)


def _asked(story: CaseStory, offer: Offer | None) -> MailStory | None:
    """The mail that the packet is about."""
    return next((one for one in story.mails if offer and one.record.id == offer.customer_mail.id), None)


PAGES = (
    Page("/cases/{case}", show),
    Page("/cases/{case}/mails/{mail}/{file}", download),
    Page("/cases/{case}/replay", replayed),
)
