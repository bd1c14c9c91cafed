"""The answer of a case as its customer would get it: the one that waits, or the one that a person chooses.

Invariant: what is previewed is made as it will be sent: by the same tools, templates and gate. Checked by
tests/journey/test_page_acts.py and tests/journey/test_page_attacks.py.
"""

from __future__ import annotations

from pydantic import ValidationError

from support_agent.answer.sources import RenderedAnswer
from support_agent.desk_page.choices import Recipient
from support_agent.desk_page.preview import AnswerPreview, shown_answer
from support_agent.desk_page.visit import Desk, Framed, NotFound, Page, Result, Visit
from support_agent.errors import SupportAgentError
from support_agent.ops.explain import queries_of
from support_agent.ops.provenance_report import lines_of
from support_agent.outbound.rendered_mail import RenderedMail
from support_agent.store.records import CaseId, OutboxEntry, OutboxId, OutboxStatus, OutgoingKind
from support_agent.tools.person_choice import PersonChoice
from support_agent.workflow.desk_commands import Offer
from support_agent.workflow.wired import Wired


def frame(desk: Desk, visit: Visit) -> Result:
    """The HTML of an answer: one of the outbox, or, with `choose` in the address, the preview of that choice."""
    case_id = CaseId(visit.path["case"])
    if (choice := choice_in(visit.query.get("choose"))) is not None:
        wired = desk.wired()
        offer = wired.desk.offer(case_id)
        if offer is None:
            raise NotFound
        return Framed(_made(wired, offer, choice).html)
    row = row_of_case(desk, case_id, visit.query.get("id", ""))
    record = desk.store.outbox.rendered_mail(row.mail_id, row.kind, row.number)
    if record is None or row.kind.is_for_desk or row.kind is OutgoingKind.PERSON_REPLY:
        raise NotFound
    try:
        return Framed(RenderedAnswer.model_validate(record.spans).html.text)
    except ValidationError:
        raise NotFound from None


def waiting(desk: Desk, case_id: CaseId, offer: Offer | None) -> AnswerPreview | None:
    """The answer that waits for a person."""
    row = offer.proposed if offer is not None else None
    if row is None or row.status is not OutboxStatus.PROPOSED:
        return None
    record = desk.store.outbox.rendered_mail(row.mail_id, row.kind, row.number)
    if record is None:
        return None
    subject, lines = lines_of(record, queries_of(desk.store, desk.store.plans.get(row.mail_id)))
    return AnswerPreview(subject, lines, f"/cases/{case_id}/frame?id={row.id}")


def recipient(desk: Desk, wired: Wired, offer: Offer | None) -> Recipient | None:
    """Whom an answer in this case goes to."""
    if offer is None:
        return None
    sender = wired.stages.routing.senders.of(offer.customer_mail)
    customer = wired.company.known_customer(sender.address, sender.level)
    locale = wired.templates.locale_of(customer, desk.settings.company.locale)
    return Recipient(sender, customer, locale, desk.today)


def previewed(
    desk: Desk, wired: Wired, case_id: CaseId, offer: Offer | None, choice: PersonChoice | None
) -> tuple[AnswerPreview | None, str]:
    """A choice as the customer would get it, or why it cannot be sent."""
    if choice is None or offer is None:
        return None, ""
    try:
        made = _made(wired, offer, choice)
    except SupportAgentError as error:
        return None, str(error)
    address = f"/cases/{case_id}/frame?choose={choice.text}"
    return shown_answer(made, address, desk.now(), wired.company.accounts.queries), ""


def choice_in(text: str | None) -> PersonChoice | None:
    """The choice that an address or a form names; None: it names none."""
    if not text:
        return None
    if (choice := PersonChoice.read(text)) is None:
        raise NotFound
    return choice


def row_of_case(desk: Desk, case_id: CaseId, outbox_id: str) -> OutboxEntry:
    """A mail of the outbox that is about this case."""
    row = desk.store.deliveries.entry(OutboxId(outbox_id))
    if row is None or row.case_id != case_id:
        raise NotFound
    return row


def _made(wired: Wired, offer: Offer, choice: PersonChoice) -> RenderedMail:
    _, final = wired.desk.chosen_answer(offer.customer_mail, choice)
    return wired.stages.queue.composer.rendered(final)


PAGES = (Page("/cases/{case}/frame", frame),)
