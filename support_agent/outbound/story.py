"""The story of a case for a person: what the customer wrote and was sent before the mail that a packet is about.

Invariant: only what the participants have written or were sent is in it, nothing that staff wrote to each other or to
us, and no answer that did not leave; an entry says whether the author of the packet's mail knows it. Checked by
tests/journey/test_intentions.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from support_agent.answer.packet import StoryEntry
from support_agent.answer.sources import RenderedAnswer
from support_agent.cases.route import RoutedMail, staff_addresses
from support_agent.config.settings import Settings
from support_agent.mail.machines.screening import Verdict
from support_agent.mail.message import parse
from support_agent.store.cases import MailTimeline
from support_agent.store.records import MailRecord, OutboxStatus, OutgoingKind, RenderedMailRecord
from support_agent.store.store import Store

MAX_ENTRIES = 40
MAX_CHARACTERS = 4_000
"""Of one mail; a longer one is cut, with a mark."""
CUT = "[...]"
NOT_READ = frozenset({Verdict.FILE, Verdict.DROP})
FAILED = OutboxStatus.FAILED


class Story(NamedTuple):
    """The newest mails of the case, the oldest of them first, and how many older ones are left out."""

    entries: tuple[StoryEntry, ...]
    left_out: int


NO_STORY = Story((), 0)


def story_before(mail: RoutedMail, store: Store, settings: Settings) -> Story:
    """The case before a mail, without mails of machines and of staff and those that cannot be read any more; of fixed
    mails there is only the instant.
    """
    timeline = store.cases.timeline(mail.route.case_id)
    entries: list[StoryEntry] = []
    for entry in timeline.mails if timeline is not None else ():
        if entry.mail.id == mail.id:
            break
        if entry.is_readable:
            entries += _written(entry.mail, mail.sender.address, store, settings)
            entries += _sent(entry, mail.sender.address)
    kept = sorted(entries, key=lambda entry: entry.at)[-MAX_ENTRIES:]
    return Story(tuple(kept), len(entries) - len(kept))


def _written(mail: MailRecord, reader: str, store: Store, settings: Settings) -> Iterator[StoryEntry]:
    if mail.sender_address not in staff_addresses(settings) and mail.screening_verdict not in NOT_READ:
        message = parse(store.mails.raw(mail.id))
        people = {mail.sender_address, *(address.addr for address in (*message.to, *message.cc))}
        text, is_known = _cut(message.visible_text), reader in people
        yield StoryEntry(who="customer", at=mail.received_at, text=text, is_known=is_known)


def _sent(entry: MailTimeline, reader: str) -> Iterator[StoryEntry]:
    unsent = {(row.kind, row.number) for row in entry.outbox if row.status.is_unsent or row.status is FAILED}
    got = {(row.kind, row.number) for row in entry.outbox if row.recipient == reader}
    for mail in entry.rendered_mails:
        if (mail.kind, mail.number) not in unsent and (found := _of_mail(mail)) is not None:
            is_known = (mail.kind, mail.number) in got
            yield StoryEntry(who=found[0], at=mail.created_at, text=_cut(found[1]), is_known=is_known)


def _of_mail(
    mail: RenderedMailRecord,
) -> tuple[Literal["answer", "acknowledgement", "person_reply"], str] | None:
    match mail.kind:
        case OutgoingKind.ANSWER:
            return "answer", RenderedAnswer.model_validate(mail.spans).text.text
        case OutgoingKind.ACKNOWLEDGEMENT:
            return "acknowledgement", ""
        case OutgoingKind.PERSON_REPLY:
            return "person_reply", str(mail.payload["words"])
        case OutgoingKind.PACKET | OutgoingKind.FAILURE | OutgoingKind.REMINDER | OutgoingKind.HELD:
            return None
        case OutgoingKind.DIGEST | OutgoingKind.ALARM:
            return None


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}\n{CUT}"
