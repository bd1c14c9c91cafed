"""Approves or undoes an answer that waits for a person, and carries out the operator's other choices about the outbox.

Invariant: an answer is approved only while it waits, with the bytes that it had, and only if the company's files and
the customer's account still say what it says; it is then judged, and if nothing in the case is left open, the machine
has it again. The desk's command and the command line both go through `Approval` and `undo`. Checked by
tests/journey/test_desk_commands.py, tests/journey/test_hold_window.py, tests/journey/test_stale_answers.py and
tests/unit/cli/test_outbox.py.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import ValidationError

from support_agent.answer.final_answer import DocumentItem, FinalAnswer
from support_agent.answer.templates import Templates
from support_agent.answer.verification import Verifier
from support_agent.cases.autonomy import Autonomy
from support_agent.cases.commands import digest_of
from support_agent.cases.handling import Handling, Order
from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.core.modes import Mode
from support_agent.errors import ConfigError, PermanentError
from support_agent.outbound.outbox_choices import ChoiceResult, OutboxChoice, apply_choice, choosable
from support_agent.store.desk_records import LabelOutcome, LabelSource
from support_agent.store.records import (
    CaseId,
    DeliverySource,
    MailId,
    OutboxEntry,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
)
from support_agent.store.store import Store
from support_agent.tools.current_values import changed_value

PROPOSED, READY, CANCELLED = OutboxStatus.PROPOSED, OutboxStatus.READY, OutboxStatus.CANCELLED


class Approver(NamedTuple):
    """Who approves or undoes, and what the outbox and the label say of it."""

    by: DeliverySource
    who: str
    detail: str
    how: LabelSource


THE_OPERATOR = Approver(
    DeliverySource.OPERATOR,
    DeliverySource.OPERATOR.value,
    f"approved, by {DeliverySource.OPERATOR.value}",
    LabelSource.BY_HAND,
)


@dataclass(frozen=True)
class Approval:
    """Approves answers that wait for a person; `now` is the clock."""

    store: Store
    settings: Settings
    company: Company
    templates: Templates
    autonomy: Autonomy
    now: Callable[[], datetime]

    def of(self, outbox_id: OutboxId, approver: Approver, *, is_repeated: bool = False) -> Callable[[], ChoiceResult]:
        """What approves an answer; what forbids it is found before anything is done.

        Args:
            is_repeated: The same order has changed the status already, before the process died.
        Raises:
            ConfigError: there is no such mail. PermanentError: it does not wait for a person, or the company's files
                or the customer's account have changed. TransientError: the account cannot be read now.
        """
        stored = self.store.outbox.get(outbox_id) if is_repeated else None
        row = stored or self._to_approve(outbox_id)
        final = _final(self.store, row)
        if row.status is PROPOSED:
            if wrong := self._outdated(final):
                raise PermanentError(f"{wrong}: the company's files have changed since", code="outdated")
            if wrong := self._stale(row, final):
                raise PermanentError(f"{wrong}: the account has changed since", code="outdated")

        def approve() -> ChoiceResult:
            is_new = False
            if row.status is PROPOSED:
                self.autonomy.judge(row.mail_id, final, LabelOutcome.SAME, None, approver.who, approver.how, self.now())
                is_new = self.store.deliveries.update(
                    row.id, READY, approver.by, approver.detail, self.now(), (PROPOSED,), digest_of(row.raw)
                )
            if (is_new or is_repeated) and final.n_remaining == 0 and row.case_id is not None:
                self._give_back(row.case_id, row.mail_id, approver.who)
            return ChoiceResult(outbox_id=row.id, status=READY, is_new=is_new)

        return approve

    def withdrawn(self, row: OutboxRecord) -> str:
        """Why an answer must not leave any more, or "": what nobody approved needs `auto` when it leaves, too.

        Raises:
            TransientError: the customer's account cannot be read now.
        """
        try:
            final = _final(self.store, row)
        except PermanentError as error:
            return str(error)
        try:
            if stale := self._stale(row, final):
                return stale
        except (ConfigError, PermanentError) as error:
            return str(error)
        why = self._why_not_alone(final)
        return why if why and not self.store.waits.is_of_person(row.id) else ""

    def _why_not_alone(self, final: FinalAnswer) -> str:
        """Why an answer must not leave without a person's approval, or ""."""
        leaves = self.autonomy.of_answer(final)
        return self._outdated(final) if leaves.mode is Mode.AUTO else leaves.why

    def _to_approve(self, outbox_id: OutboxId) -> OutboxRecord:
        entry = choosable(self.store, outbox_id, OutboxChoice.APPROVE)
        row = self.store.outbox.get(entry.id)
        if row is None:
            raise PermanentError(f"{outbox_id} was deleted just now", code="no_outbox")
        return row

    def _stale(self, row: OutboxEntry, final: FinalAnswer) -> str:
        """What in an answer is not so in the customer's account any more, or ""; a person's approval does not help.

        Raises:
            ConfigError, PermanentError, TransientError: the account cannot be read.
        """
        if final.customer is None or not final.has_values:
            return ""
        customer = self.company.accounts.customer(row.recipient)
        if customer is None or customer.id != final.customer.id:
            return "the address is not this customer's any more"
        read_at = self.store.plans.planned_at(row.mail_id) or row.created_at  # a person's choice has no plan
        age = self.now() - read_at  # below 0 if the clock was ahead then: nobody knows how old the values are
        if timedelta(0) <= age <= timedelta(seconds=self.settings.autonomy.values_s):
            return ""
        changed = changed_value(final, self.company.accounts, customer, self.templates.locale_for(final.locale))
        return f"{changed} has another value now" if changed else ""

    def _outdated(self, final: FinalAnswer) -> str:
        """The first part of an answer that the company's files no longer say, or ""."""
        today, locale = self.settings.company.day_of(self.now()), self.templates.locale_for(final.locale)
        versions = {item.version for answer in final.answers for item in answer.items if isinstance(item, DocumentItem)}
        for document in self.company.texts:
            if document.version in versions and not document.is_valid_on(today):
                return f"document {document.number} is not valid any more"
        return next(Verifier.of(self.company).mismatches(final, locale), "")

    def _give_back(self, case_id: CaseId, mail_id: MailId, who: str) -> None:
        """Give the case back to the machine, unless a person still has something to do in it besides this mail."""
        if not self.store.waits.mails(case_id) - {mail_id}:
            Handling(self.store, self.settings).order(case_id, Order.GIVE_BACK, who, self.now(), "approved")


def undo(
    store: Store,
    settings: Settings,
    outbox_id: OutboxId,
    now: Callable[[], datetime],
    by: Approver,
    *,
    is_repeated: bool = False,
) -> Callable[[], ChoiceResult]:
    """What undoes an answer that leaves by itself, or is proposed: a person gets the case, and it is corrected.

    One that cannot be read is undone unjudged: its key may be back before it leaves.

    Args:
        is_repeated: As in `Approval.of`.
    Raises:
        ConfigError: there is no such mail. PermanentError: it has left, or does not wait.
    """
    stored = store.deliveries.entry(outbox_id) if is_repeated else None
    row = stored or choosable(store, outbox_id, OutboxChoice.UNDO)
    final = None
    if is_repeated or row.status is not CANCELLED:
        with suppress(PermanentError):
            final = _final(store, row)

    def carry_out() -> ChoiceResult:
        if final is not None:
            autonomy = Autonomy(store, settings.autonomy)
            autonomy.judge(row.mail_id, final, LabelOutcome.NOTHING, None, by.who, by.how, now())
        is_new = store.deliveries.update(row.id, CANCELLED, by.by, by.detail, now(), (PROPOSED, READY))
        return ChoiceResult(outbox_id=row.id, status=CANCELLED, is_new=is_new)

    return carry_out


def _final(store: Store, row: OutboxEntry) -> FinalAnswer:
    """What an answer says, as data.

    Raises:
        PermanentError: it cannot be read: another version wrote it, or its data or its key are gone.
    """
    payload = store.outbox.payload(row.mail_id, row.kind, number=row.number)
    if payload is None:
        raise PermanentError(f"the data of {row.id} are not stored any more", code="no_outbox")
    try:
        return FinalAnswer.model_validate(payload)
    except ValidationError:
        raise PermanentError(f"another version of the program wrote the data of {row.id}", code="no_outbox") from None


def choose(
    store: Store,
    settings: Settings,
    outbox_id: str,
    choice: OutboxChoice,
    now: Callable[[], datetime],
    by: Approver = THE_OPERATOR,
) -> ChoiceResult:
    """Carry out a person's choice about a mail of the outbox; one that judges an answer is kept as a label.

    Raises:
        ConfigError: there is no such mail, or the company's files cannot be used. PermanentError: the mail's status,
            or the company's files, do not allow it.
    """
    row = choosable(store, outbox_id, choice)
    if choice is OutboxChoice.APPROVE and row.status is PROPOSED:
        company, templates = Company.load(settings.company), Templates.load(settings.company.templates)
        return Approval(store, settings, company, templates, Autonomy(store, settings.autonomy), now).of(row.id, by)()
    if choice is OutboxChoice.UNDO:
        return undo(store, settings, row.id, now, by._replace(detail=f"undone, by {by.who}"))()
    return apply_choice(store, outbox_id, choice, now(), by.who)
