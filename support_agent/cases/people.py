"""What people did about a customer's mail: wrote, approved or chose an answer, or answered from their own program; and
which mails still wait for them.

Invariant: whether a person has answered is decided here; `store.queue` says the same as a query over many cases. A
packet waits if no person closed the case or gave it back after it, and nothing of these followed it: own words, or a
whole answer to its mail that a person approved or chose. What the customer may not have received is no answer. Checked
by tests/unit/cases/test_people.py, which asks all who want to know, tests/unit/desk/test_coverage.py and
tests/journey/test_intentions.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import zip_longest
from typing import NamedTuple

from support_agent.answer.final_answer import FinalAnswer
from support_agent.store.outbox import LOST
from support_agent.store.records import (
    CaseId,
    CaseState,
    DeliverySource,
    DeliveryUpdate,
    MailId,
    OutboxId,
    OutboxStatus,
    OutgoingKind,
)
from support_agent.store.store import Store
from support_agent.store.waiting import APPROVERS, History, PastAnswer, PastPacket, WaitingCase


class PersonAnswer(NamedTuple):
    """A person's answer to a customer.

    `mail_id` is the customer's mail that it answers; None: the person wrote, so whatever the case was about.
    `is_whole`: no question of that mail is known to be left open. `is_lost`: the customer may not have it.
    """

    at: datetime
    mail_id: MailId | None
    is_approved: bool = False
    is_whole: bool = True
    is_lost: bool = False


def is_of_person(store: Store, outbox_id: OutboxId) -> bool:
    """Whether a person wrote, approved or chose a mail of ours."""
    row = store.waits.answer(outbox_id)
    return row is not None and any(_answers(store, row))


def answers_of_people(store: Store, history: History) -> tuple[PersonAnswer, ...]:
    """The answers of people in a case that customers have got, the oldest first."""
    found = (answer for row in history.answers for answer in _answers(store, row) if not answer.is_lost)
    return tuple(sorted(found, key=lambda answer: answer.at))


def open_packets(store: Store, history: History) -> tuple[PastPacket, ...]:
    """The packets of a case that wait, the oldest first; whoever has the case, as it may just have been given back."""
    begin = _last_end(history)
    packets = [packet for packet in history.packets if begin is None or packet.at >= begin]
    answers = [answer for answer in answers_of_people(store, history) if answer.is_whole] if packets else []
    return tuple(packet for packet in packets if not any(_answers_packet(answer, packet) for answer in answers))


def waiting_mails(store: Store, case_id: CaseId) -> frozenset[MailId]:
    """The customer's mails of a case whose packets wait."""
    return frozenset(
        packet.mail_id for history in store.waits.histories(case_id=case_id) for packet in open_packets(store, history)
    )


def waiting_cases(store: Store, since: datetime) -> tuple[WaitingCase, ...]:
    """The cases that a person has and in which a packet waits, the longest waiting first.

    Args:
        since: Packets that were made before do not count.
    """
    found = []
    for history in store.waits.histories(since, CaseState.WITH_PERSON):
        if packets := open_packets(store, history):
            reminded = [at for at in history.reminded_at if at >= packets[0].at]
            found.append(
                WaitingCase(
                    case_id=history.case_id,
                    mail_id=packets[-1].mail_id,
                    since=packets[0].at,
                    reminders=len(reminded),
                    reminded_at=max(reminded, default=None),
                )
            )
    return tuple(sorted(found, key=lambda case: case.since))


def _last_end(history: History) -> datetime | None:
    """When people last closed the case or gave it back: what came before needs no answer of theirs. In whole seconds,
    as packets are dated.

    A case that a person opened again is as if it had not been closed; one that its customer opened again is not.
    """
    ends = [change.changed_at for change in history.changes if change.after is CaseState.OPEN]
    for change, later in zip_longest(history.changes, history.changes[1:]):
        is_undone = later is not None and later.before is CaseState.CLOSED
        if change.after is CaseState.CLOSED and not is_undone:
            ends.append(change.changed_at)
    return max(ends).replace(microsecond=0) if ends else None


def _answers_packet(answer: PersonAnswer, packet: PastPacket) -> bool:
    return answer.at >= packet.at and answer.mail_id in (None, packet.mail_id)


def _answers(store: Store, row: PastAnswer) -> Iterator[PersonAnswer]:
    is_lost = row.status in LOST
    if row.kind is OutgoingKind.PERSON_REPLY:
        yield PersonAnswer(row.at, None, is_lost=is_lost)
    elif row.answered_id not in (None, row.mail_id):  # a command of the desk caused it, not the customer's mail
        yield PersonAnswer(row.at, row.answered_id, is_lost=is_lost)
    for update in row.updates:
        if update.before is OutboxStatus.PROPOSED and update.after is OutboxStatus.READY and update.by in APPROVERS:
            is_whole = _is_whole(store, row)
            yield PersonAnswer(update.updated_at, row.mail_id, is_approved=True, is_whole=is_whole, is_lost=is_lost)
        elif _is_from_own_program(update):
            yield PersonAnswer(update.updated_at, None)


def _is_whole(store: Store, row: PastAnswer) -> bool:
    rendered = store.outbox.rendered_mail(row.mail_id, row.kind, row.number)
    return rendered is None or FinalAnswer.model_validate(rendered.payload).n_remaining == 0


def _is_from_own_program(update: DeliveryUpdate) -> bool:
    """Whether the proposal was withdrawn because the Sent folder has a person's answer."""
    return update.after is OutboxStatus.CANCELLED and update.by is DeliverySource.SENT_FOLDER
