"""Finds in the Sent folder whether a store that was lost has answered a mail, which the restored store does not know.

Invariant: only our own answer to this very mail counts; a missing one proves nothing, and a person gets the mail.
Checked by tests/unit/workflow/test_restored.py.
"""

from __future__ import annotations

import structlog

from support_agent.cases.route import case_id_of
from support_agent.config.mail_servers import SentCopies
from support_agent.config.settings import Settings
from support_agent.errors import SupportAgentError
from support_agent.mail.keys import message_id
from support_agent.outbound.sent_folder import SentLookup, sent_folder_of
from support_agent.store.records import MailId, OutgoingKind

log = structlog.get_logger(__name__)

ANSWERED_BEFORE = "the store was restored from a backup, and the Sent folder has the answer to this mail"


def is_answered_in(mailbox: SentLookup, settings: Settings, mail_id: MailId) -> bool:
    """Whether the Sent folder has the answer to a mail that opened a case: its Message-ID follows from the mail."""
    if settings.imap.sent_copies is SentCopies.NONE:
        return False
    agent = settings.agent
    domain = agent.address.rpartition("@")[2]
    opened = case_id_of(mail_id), mail_id, OutgoingKind.ANSWER.value
    answers = [message_id(secret, domain, *opened) for secret in agent.secrets]
    try:
        folder = sent_folder_of(mailbox, settings.imap)
        return folder is not None and any(mailbox.has_message_id(folder, answer) for answer in answers)
    except SupportAgentError as error:
        log.warning("sent_folder_failed", code=error.code, error=str(error))
        return False
