"""What people order about a case: close, reopen, claim, assign, give back to the machine.

Invariant: a case is assigned to staff only, and each order is kept with who gave it. A case that the staff closed sends
nothing that waits but what a person approved; one that a participant closed keeps back only the answers to that
participant. Checked by tests/unit/cases/test_handling.py and tests/journey/test_intentions.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import structlog

from support_agent.cases.route import staff_addresses
from support_agent.config.settings import Settings
from support_agent.core.levels import lower_address
from support_agent.errors import ConfigError, PermanentError
from support_agent.store.desk_records import CaseChange
from support_agent.store.records import CaseId, CaseState, DeliverySource, MailId, OutboxStatus, OutgoingKind
from support_agent.store.store import Store

log = structlog.get_logger(__name__)


class Order(StrEnum):
    """What a person orders about a case."""

    CLOSE = "close"
    REOPEN = "reopen"
    GIVE_BACK = "give-back"
    CLAIM = "claim"
    ASSIGN = "assign"


STATES = {
    Order.CLOSE: CaseState.CLOSED,
    Order.REOPEN: CaseState.WITH_PERSON,
    Order.GIVE_BACK: CaseState.OPEN,
    Order.CLAIM: CaseState.WITH_PERSON,
    Order.ASSIGN: CaseState.WITH_PERSON,
}
KEEPS_ASSIGNEE = (Order.CLOSE, Order.REOPEN)
WAITING = (OutboxStatus.PROPOSED, OutboxStatus.READY)
"""Statuses of answers that wait: for a person, for the end of the hold window, or for another try."""
MAY_STILL_LEAVE = (*WAITING, OutboxStatus.SENDING)
"""Statuses of answers that have not left, and still may."""


@dataclass(frozen=True)
class Handling:
    """Carries out orders about cases."""

    store: Store
    settings: Settings

    def order(
        self, case_id: str, order: Order, who: str, at: datetime, why: str = "", to: str | None = None
    ) -> CaseChange | None:
        """Change who has a case; None: it is so already.

        Args:
            to: The staff member who gets the case, for `claim` and `assign`.
        Raises:
            ConfigError: there is no such case, or `to` is nobody of the staff.
        """
        case = self.store.cases.get(CaseId(case_id))
        if case is None:
            raise ConfigError(f"no case {case_id}: `support-agent cases` lists them", code="no_case")
        assignee = self._staff(to) if order in (Order.CLAIM, Order.ASSIGN) else None
        if order in KEEPS_ASSIGNEE:
            assignee = case.assignee
        if order is Order.CLOSE:
            self._withdraw(case.id, DeliverySource.STAFF, who, at)
        return self.store.cases.change(case.id, STATES[order], assignee, who, why or order.value, at)

    def close_for_customer(self, case_id: CaseId, customer: str, why: str, at: datetime) -> None:
        """Close a case because its customer needs nothing more, and cancel the answers that wait for this one.

        Args:
            customer: The participant who says so; answers to the others still leave.
        """
        case, source = self.store.cases.get_one(case_id), DeliverySource.CUSTOMER
        self._withdraw(case_id, source, source.value, at, only_to=customer)
        self.store.cases.change(case_id, CaseState.CLOSED, case.assignee, source.value, why, at)

    def withdraw_for_customer(self, case_id: CaseId, mail_id: MailId, customer: str, at: datetime) -> None:
        """Cancel the answer that waits to one mail of a customer who needs none; the case stays as it is."""
        source = DeliverySource.CUSTOMER
        self._withdraw(case_id, source, source.value, at, only_to=customer, only_for=mail_id)

    def mails_with_answers_to_leave(self, case_id: CaseId, address: str) -> frozenset[MailId]:
        """The mails whose answers to this address have not left yet, and still may: a proposal while it waits."""
        waiting = self.store.waits.mails(case_id)
        rows = self.store.deliveries.in_case(case_id, OutgoingKind.ANSWER)
        unsent = (row for row in rows if row.recipient == address and row.status in MAY_STILL_LEAVE)
        return frozenset(
            row.mail_id for row in unsent if row.status is not OutboxStatus.PROPOSED or row.mail_id in waiting
        )

    def _staff(self, address: str | None) -> str:
        plain = lower_address(address or "")
        if plain not in staff_addresses(self.settings):
            todo = "add it to desk.staff, or name one of " + ", ".join(sorted(staff_addresses(self.settings)))
            raise ConfigError(f"{address!r} is no address of the staff: {todo}", code="no_staff")
        return plain

    def _withdraw(
        self,
        case_id: CaseId,
        source: DeliverySource,
        who: str,
        at: datetime,
        only_to: str = "",
        only_for: MailId | None = None,
    ) -> None:
        """Cancel the answers of the case that wait; what a person approved or chose still leaves.

        Args:
            only_to: Cancel only the answers to this address; "": all.
            only_for: Cancel only those to this mail; None: all.
        """
        detail = f"the case is closed, by {who}" if only_for is None else f"withdrawn, by {who}"
        for row in self.store.deliveries.in_case(case_id, OutgoingKind.ANSWER):
            is_others = only_to not in ("", row.recipient) or only_for not in (None, row.mail_id)
            if row.status not in WAITING or is_others or self.store.waits.is_of_person(row.id):
                continue
            try:
                self.store.deliveries.update(row.id, OutboxStatus.CANCELLED, source, detail, at, WAITING)
            except PermanentError as error:  # it has just left
                log.warning("answer_not_withdrawn", case_id=case_id, outbox_id=row.id, code=error.code)
