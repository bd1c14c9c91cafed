"""The operations page: whether the agent runs, what may not have been sent, what `doctor` finds, and the versions.

Invariant: only an admin changes anything, by the same rules and with the same messages as the command line, and the
case's timeline says who it was. The page itself opens no connection but the database's. Checked by
tests/unit/desk_page/test_operations.py and tests/journey/test_page_operations.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from importlib.metadata import version
from itertools import starmap
from math import ceil
from typing import NamedTuple

from support_agent.cases.pause import end_pause, read_pause, write_pause
from support_agent.config.settings import Settings
from support_agent.desk_page.people import Role
from support_agent.desk_page.visit import Desk, NotFound, Page, Result, SeeOther, Shown, Visit
from support_agent.errors import ConfigError, SupportAgentError
from support_agent.models.embedders import needed_models
from support_agent.models.pinned import LANGUAGE_MODEL
from support_agent.ops.store_health import ended
from support_agent.outbound.outbox_choices import OutboxChoice, UnconfirmedMail, choices_for, entries
from support_agent.planner.calibration import read_calibration
from support_agent.store.desk_records import LabelSource
from support_agent.store.records import DeliverySource, OutboxId, OutboxStatus
from support_agent.store.watch_records import AlarmKind
from support_agent.watch.causes import causes
from support_agent.workflow.approval import Approver, choose

HERE = "/operations"
SHOWN = 50
"""Mails of one page of the outbox."""
MOST_COUNTED = 100_000
"""No status is counted further: to count millions takes longer than a page may."""
GROUPS: Mapping[str, tuple[OutboxStatus, ...]] = {
    "undelivered": (OutboxStatus.UNCERTAIN, OutboxStatus.FAILED),
    "leaving": (OutboxStatus.READY, OutboxStatus.SENDING),
    "proposed": (OutboxStatus.PROPOSED,),
}
"""Which mails of the outbox are listed together."""
VERSION_CHARACTERS = 12
AGE_STEP_S = 300
"""Ages are rounded up to this: a page that changed every second would take the keyboard's focus from its buttons."""


class Listed(NamedTuple):
    """A mail of the outbox with what may be decided about it."""

    entry: UnconfirmedMail
    choices: tuple[OutboxChoice, ...]


class Limit(NamedTuple):
    """Something that is wrong, or that a rule holds back, and what to do about it, "" for nothing."""

    what: str
    todo: str


def show(desk: Desk, visit: Visit) -> Result:
    """The page."""
    group = visit.query.get("outbox", "")
    group = group if group in GROUPS else "undelivered"
    after = OutboxId(visit.query["after"]) if visit.query.get("after") else None
    now = desk.now()
    found = entries(desk.store, now, GROUPS[group], SHOWN + 1, after)
    pause = read_pause(desk.settings.agent)
    values = {
        "pause": str(pause) if pause is not None else "",
        "limits": _limits(desk),
        "fetched_at": desk.store.cursors.fetched_at(desk.settings.imap.folder),
        "late": timedelta(seconds=desk.settings.imap.alarm_after_s),
        "counts": desk.store.traffic.totals(MOST_COUNTED),
        "most_counted": MOST_COUNTED,
        "groups": tuple(GROUPS),
        "group": group,
        "outbox": tuple(Listed(entry, choices_for(entry)) for entry in found[:SHOWN]),
        "span": lambda seconds: visit.wording.span(timedelta(seconds=AGE_STEP_S * ceil(seconds / AGE_STEP_S))),
        "after": found[SHOWN - 1].outbox_id if len(found) > SHOWN else "",
        "versions": _versions(desk),
        "checkup": desk.checkup.last if desk.checkup is not None else None,
        "has_checkup": desk.checkup is not None,
        "may_run": visit.may(Role.ADMIN),
    }
    return Shown("operations.html", values)


def act(desk: Desk, visit: Visit) -> Result:
    """Pause, resume, check, or decide about a mail of the outbox."""
    what, w = visit.form.get("do", ""), visit.wording
    try:
        match what:
            case "pause":
                reason, who = visit.form.get("reason", "").strip(), visit.person.address
                write_pause(desk.settings.agent, f"{reason}, by {who}" if reason else f"by {who}")
                return SeeOther(HERE, str(read_pause(desk.settings.agent)))
            case "resume":
                return _resumed(desk, visit)
            case "check":
                return _checked(desk, visit)
            case OutboxChoice.RETRY | OutboxChoice.SENT | OutboxChoice.GIVE_UP | OutboxChoice.UNDO:
                return _chosen(desk, visit, OutboxChoice(what))
            case _:
                raise NotFound
    except SupportAgentError as error:
        return SeeOther(HERE, w("said.refused", why=str(error)), is_error=True)


def _resumed(desk: Desk, visit: Visit) -> Result:
    was_there = end_pause(desk.settings.agent)
    if (still := read_pause(desk.settings.agent)) is not None:
        return SeeOther(HERE, visit.wording("operations.said_still", why=str(still)), is_error=True)
    return SeeOther(HERE, visit.wording("operations.said_resume" if was_there else "operations.said_not_paused"))


def _checked(desk: Desk, visit: Visit) -> Result:
    if desk.checkup is None:
        raise NotFound
    has_begun = desk.checkup.begin(visit.person.address, desk.now())
    return SeeOther(
        f"{HERE}#checkup", visit.wording("operations.said_check" if has_begun else "operations.said_checking")
    )


def _chosen(desk: Desk, visit: Visit, choice: OutboxChoice) -> Result:
    """An admin decides as the operator does on the command line, so the desk is not notified of it as news."""
    who = visit.person.address
    by = Approver(DeliverySource.OPERATOR, who, f"{choice.value}, by {who}, on the desk's page", LabelSource.BY_HAND)
    made = choose(desk.store, desk.settings, visit.form.get("id", ""), choice, desk.now, by)
    status = visit.wording(f"status.{made.status.value}")
    code = "operations.said_choice" if made.is_new else "operations.said_as_before"
    return SeeOther(HERE, visit.wording(code, id=made.outbox_id, status=status))


def _limits(desk: Desk) -> tuple[Limit, ...]:
    """What is wrong now, but for a pause, and mails of the last day that ended by a limit or a rule."""
    now = desk.now()
    wrong = (cause for cause in causes(desk.store, desk.settings, now) if cause.kind is not AlarmKind.PAUSED)
    return (*(Limit(cause.what, cause.todo) for cause in wrong), *starmap(Limit, ended(desk.store, now)))


def _versions(desk: Desk) -> dict[str, str]:
    """What decides now, by the code of its words."""
    wired, settings = desk.wired(), desk.settings
    return {
        "program": version("support-agent"),
        "company_files": wired.company.version[:VERSION_CHARACTERS],
        "templates": wired.templates.version[:VERSION_CHARACTERS],
        "language_model": _language_model(settings),
        "embedding": ", ".join(model.title for model in needed_models(settings)),
        "calibration": _calibration(settings),
        "schema": f"{desk.store.database.revision()} / {desk.store.database.head() or '-'}",
    }


def _language_model(settings: Settings) -> str:
    model = settings.model
    if model.planner == "openai":
        return f"{model.name}, {model.base_url}"
    return str(model.path) if model.path is not None else LANGUAGE_MODEL.title


def _calibration(settings: Settings) -> str:
    try:
        found = read_calibration(settings.planner.calibration)
    except ConfigError as error:
        return str(error)
    return "-" if found is None else f"{found.version}, {found.made_at:%Y-%m-%d}"


PAGES = (
    Page(HERE, show),
    Page(HERE, act, Role.ADMIN, "POST"),
)
"""Everybody of the desk may look."""
