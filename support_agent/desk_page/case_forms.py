"""What the forms of a case's page do: an order about the case, a command of its packet, own words, or an undo.

Invariant: nothing is done about a case that has changed since its person saw it, and no part of own words is left out
unseen. Checked by tests/journey/test_page_acts.py and tests/journey/test_page_attacks.py.
"""

from __future__ import annotations

import re

from support_agent.cases.commands import Command
from support_agent.cases.handling import Handling, Order
from support_agent.desk_page import acts
from support_agent.desk_page.acts import Act
from support_agent.desk_page.case import is_of_another, is_unseen, show
from support_agent.desk_page.case_preview import choice_in, row_of_case
from support_agent.desk_page.people import Role
from support_agent.desk_page.visit import Desk, NotFound, Page, Result, SeeOther, Visit
from support_agent.errors import SupportAgentError
from support_agent.store.desk_records import LabelSource
from support_agent.store.records import CaseId, DeliverySource, OutboxStatus
from support_agent.workflow.approval import Approver, undo

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
        offer = desk.wired().desk.offer(case_id)
        if command is None or offer is None or not (visit.form.get("key") or command is Command.OWN_WORDS):
            return SeeOther(here, _ordered(desk, visit, case_id, what))
        if command in SENDING and is_of_another(record, visit):
            return SeeOther(here, visit.wording("said.of_another", who=record.assignee), is_error=True)
        if command is Command.OWN_WORDS and is_unseen(desk, visit, offer):
            return show(desk, visit, visit.wording("case.left_out"))
        acts.carry_out(desk, visit.person, offer, _act_in(visit, command), seen)
    except SupportAgentError as error:
        said = _why_not(visit, error)
        is_known = error.code in (acts.CHANGED, acts.KEPT)
        if what == Command.OWN_WORDS.value and not is_known:  # the page with the words still in its form
            return show(desk, visit, said)
        return SeeOther(here, said, is_error=True)
    return SeeOther("/" if command in DONE_WITH else here, visit.wording(f"said.{command.code}"))


def _ordered(desk: Desk, visit: Visit, case_id: CaseId, what: str) -> str:
    """Carry out an order about the case; return what is said of it."""
    if (order := ORDERS.get(what)) is None:
        raise NotFound
    to = visit.person.address if order is Order.CLAIM else visit.form.get("to")
    handling = Handling(desk.store, desk.settings)
    handling.order(case_id, order, visit.person.address, desk.now(), "on the desk's page", to)
    return visit.wording(f"said.{order.value.replace('-', '_')}")


def _why_not(visit: Visit, error: SupportAgentError) -> str:
    """What is said of an act that was not carried out."""
    if error.code == acts.CHANGED:
        return visit.wording("said.changed")
    return visit.wording("said.kept" if error.code == acts.KEPT else "said.refused", why=str(error))


def _act_in(visit: Visit, command: Command) -> Act:
    choice = choice_in(visit.form.get("choice")) if command is Command.DOCUMENT else None
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


def _undo(desk: Desk, visit: Visit, case_id: CaseId) -> None:
    """Keep an answer from leaving, as the command `undo` by mail does."""
    row, who = row_of_case(desk, case_id, visit.form.get("id", "")), visit.person.address
    if row.status is OutboxStatus.PROPOSED:  # it does not leave by itself
        raise NotFound
    by = Approver(DeliverySource.UNDONE, who, f"undone by {who}, on the desk's page", LabelSource.COMMAND)
    undo(desk.store, desk.settings, row.id, desk.now, by)()


PAGES = (Page("/cases/{case}", act, Role.ANSWER, "POST"),)
