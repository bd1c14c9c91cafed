"""What the mails of a case say, for telling a customer's own words from what she quotes.

Invariant: only what the customer has written or was sent counts, nothing of the desk. Checked by
tests/journey/test_intentions.py.
"""

from __future__ import annotations

from support_agent.answer.sources import RenderedAnswer
from support_agent.cases.route import staff_addresses
from support_agent.config.settings import Settings
from support_agent.extraction.html_text import html_to_text
from support_agent.mail.message import parse
from support_agent.mail.text.left_out import Thread
from support_agent.store.records import CaseId, MailId, OutgoingKind
from support_agent.store.store import Store

WITH_HTML = (OutgoingKind.ANSWER, OutgoingKind.ACKNOWLEDGEMENT)


def thread_before(mail_id: MailId, case_id: CaseId, store: Store, settings: Settings) -> Thread | None:
    """The other mails of a mail's case that can be read; None if there are none."""
    timeline = store.cases.timeline(case_id)
    entries = [one for one in timeline.mails if one.is_readable] if timeline is not None else []
    staff = staff_addresses(settings)
    written = [one.mail.id for one in entries if one.mail.id != mail_id and one.mail.sender_address not in staff]
    sent = [row.raw for one in entries for row in one.outbox if not row.kind.is_for_desk]
    if not written and not sent:
        return None
    rendered = [mail for one in entries for mail in one.rendered_mails if mail.kind in WITH_HTML]
    pages = [html_to_text(RenderedAnswer.model_validate(mail.spans).html.text).text for mail in rendered]
    return Thread.of(map(parse, (*map(store.mails.raw, written), *sent)), pages)
