"""The quality page: how well the agent did in the last days, as pictures and tables, and the mails behind each number.

Invariant: nothing is changed here; text of mails is shown as text, and harmless in a CSV file. Checked by
tests/unit/desk_page/test_quality.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from support_agent.desk_page.export import csv_file
from support_agent.desk_page.figures import (
    DAYS,
    GROUPS,
    MOST_LABELS,
    Figures,
    in_bin,
    span_of,
    waits_of,
)
from support_agent.desk_page.visit import NONE, Desk, NotFound, Page, Result, Shown, Visit, end_of, whole_number
from support_agent.ops.autonomy_report import titles_of
from support_agent.planner.plan_run import TOPIC_KINDS
from support_agent.store.quality import ListedMail, MailFilter, Place
from support_agent.store.records import MailId, MailStatus

SHOWN = 50
"""Mails of one page of a list."""
MOST_EXPORTED = 10_000
"""Mails of a list's CSV file, the newest."""
USUAL_DAYS = 28
ALL = tuple(MailStatus)


class ListPart(NamedTuple):
    """A part of a list of mails, and the query's value for the next part, "" at its end."""

    mails: tuple[ListedMail, ...]
    after: str = ""


def show(desk: Desk, visit: Visit) -> Result:
    """The page of the figures of a period."""
    figures = _figures(desk, visit)
    report = desk.backtests.report() if desk.backtests is not None else None
    values = {
        "days": figures.span.days,
        "choices": DAYS,
        "figures": tuple(figures.all()),
        "report": report,
        "has_backtests": desk.backtests is not None,
    }
    return Shown("quality.html", values)


def list_mails(desk: Desk, visit: Visit) -> Result:
    """The mails behind a number."""
    figures = _figures(desk, visit)
    part = _part(desk, visit, figures, SHOWN)
    values = {
        "days": figures.span.days,
        "mails": part.mails,
        "after": part.after,
        "what": _described(visit, figures),
        "reason": lambda mail: _why(figures, mail),
        "file": f"/quality/mails.csv{visit.linked(after=None)}",
        "most": MOST_EXPORTED,
    }
    return Shown("quality_mails.html", values)


def figures_file(desk: Desk, visit: Visit) -> Result:
    """The figures as CSV: a line for each number."""
    figures = _figures(desk, visit)
    rows = [
        (visit.wording(f"quality.{figure.code}"), row[0].text, column, cell.value)
        for figure in figures.all()
        for row in figure.rows
        for column, cell in zip(figure.head[1:], row[1:], strict=True)
        if cell.value is not None
    ]
    head = [visit.wording(f"quality.csv_{name}") for name in ("figure", "row", "column", "value")]
    return csv_file(f"quality-{desk.now().date().isoformat()}-{figures.span.days}-days.csv", head, rows)


def mails_file(desk: Desk, visit: Visit) -> Result:
    """The mails behind a number as CSV."""
    figures = _figures(desk, visit)
    part = _part(desk, visit, figures, MOST_EXPORTED)
    rows = [
        (mail.at.isoformat(), mail.sender_address, mail.subject, mail.case_id, mail.status.value, _why(figures, mail))
        for mail in part.mails
    ]
    head = [visit.wording(f"quality.{name}") for name in ("received", "sender", "subject", "case", "outcome", "reason")]
    return csv_file(f"mails-{desk.now().date().isoformat()}.csv", head, rows)


def _figures(desk: Desk, visit: Visit) -> Figures:
    days = next((one for one in DAYS if str(one) == visit.query.get("days")), USUAL_DAYS)
    span = span_of(days, desk.now(), visit.wording.zone)

    def reason(code: str) -> str:
        return visit.wording.of("reason", "none" if code == NONE else code)

    return Figures(desk.store, span, visit.wording, titles_of(desk.company), reason)


def _why(figures: Figures, mail: ListedMail) -> str:
    code = mail.screening_rule if mail.status is MailStatus.FILED else mail.reason_code
    return figures.reason(code) if code else ""


# Lists


def _part(desk: Desk, visit: Visit, figures: Figures, limit: int) -> ListPart:
    """The part of the list that the address names.

    Raises:
        NotFound: there is no such list.
    """
    of = visit.query.get("of", "mails")
    make = LISTS.get(of)
    if make is None:
        raise NotFound
    return make(desk, visit, figures, limit)


def _by_end(desk: Desk, visit: Visit, figures: Figures, limit: int) -> ListPart:
    query = visit.query
    reason = query.get("reason")
    wanted = MailFilter(
        period=figures.span.part(query.get("day", "")),
        statuses=GROUPS.get(query.get("group", ""), ALL),
        reason="" if reason == NONE else reason,
    )
    return _cut(desk.store.quality.mails(wanted, limit + 1, _after(visit)), limit)


def _by_planning(desk: Desk, visit: Visit, figures: Figures, limit: int) -> ListPart:
    low, high = _number(visit, "low"), _number(visit, "high")
    return _cut(desk.store.quality.planned(figures.span.whole, low, high, limit + 1, _after(visit)), limit)


def _by_label(desk: Desk, visit: Visit, figures: Figures, limit: int) -> ListPart:
    topic, right = visit.query.get("topic"), visit.query.get("right")
    low, high = _number(visit, "low"), _number(visit, "high")
    labels = desk.store.quality.judged(figures.span.whole, tuple(TOPIC_KINDS), MOST_LABELS)
    found = [
        one.mail_id
        for one in labels
        if (topic is None or topic in one.keys)
        and (right is None or one.is_right == (right == "1"))
        and (low is None or (one.confidence is not None and in_bin(one.confidence, low, 1.0 if high is None else high)))
    ]
    return _chosen(desk, visit, found, limit)


def _by_wait(code: str) -> Callable[[Desk, Visit, Figures, int], ListPart]:
    def part(desk: Desk, visit: Visit, figures: Figures, limit: int) -> ListPart:
        low, high, is_open = _number(visit, "low"), _number(visit, "high"), visit.query.get("open") == "1"
        found = [
            one.mail_id
            for one in waits_of(desk.store, code, figures.span.whole)
            if (one.waited is None) == is_open
            and (one.waited is None or (low or 0.0) <= one.waited.total_seconds() < (high or float("inf")))
        ]
        return _chosen(desk, visit, found, limit)

    return part


LISTS: dict[str, Callable[[Desk, Visit, Figures, int], ListPart]] = {
    "mails": _by_end,
    "judged": _by_label,
    "planning": _by_planning,
    "machine_wait": _by_wait("machine_wait"),
    "person_wait": _by_wait("person_wait"),
}
"""What makes the list with each name."""


def _described(visit: Visit, figures: Figures) -> str:
    """What the list has, in words."""
    query, w = visit.query, visit.wording
    named = [w("quality.last_days", n=figures.span.days), w(f"quality.list_{query.get('of', 'mails')}")]
    if query.get("day"):
        named.append(query["day"])
    if query.get("group") in GROUPS:
        named.append(w(f"quality.group_{query['group']}"))
    if query.get("reason"):
        named.append(figures.reason(query["reason"]))
    if query.get("topic"):
        named.append(figures.titles.get(query["topic"], query["topic"]))
    if query.get("right") in ("0", "1"):
        named.append(w("quality.wrong" if query["right"] == "0" else "quality.right"))
    low, high = _number(visit, "low"), _number(visit, "high")
    if low is not None or high is not None:
        named.append(_bounds(visit, low, high))
    if query.get("open") == "1":
        named.append(w("quality.not_yet"))
    return " · ".join(named)


def _bounds(visit: Visit, low: float | None, high: float | None) -> str:
    w, is_share = visit.wording, visit.query.get("of") == "judged"

    def written(value: float | None) -> str:
        if value is None:
            return "…"
        return w.percent(value) if is_share else w("quality.seconds", n=value)

    return w("quality.between", low=written(low), high=written(high))


def _chosen(desk: Desk, visit: Visit, mail_ids: Sequence[MailId], limit: int) -> ListPart:
    """A part of a list that is known by its ids; its place is a number."""
    start = whole_number(visit.query.get("after", "")) or 0
    shown = mail_ids[start : start + limit]
    is_last = start + limit >= len(mail_ids)
    return ListPart(desk.store.quality.named(shown), "" if is_last else str(start + limit))


def _cut(found: Sequence[ListedMail], limit: int) -> ListPart:
    shown = tuple(found[:limit])
    is_last = len(found) <= limit
    return ListPart(shown, "" if is_last else end_of(shown[-1].at, shown[-1].mail_id))


def _after(visit: Visit) -> Place | None:
    return (visit.after[0], MailId(visit.after[1])) if visit.after else None


def _number(visit: Visit, name: str) -> float | None:
    try:
        found = float(visit.query.get(name, ""))
    except ValueError:
        return None
    return found if 0.0 <= found < 1e9 else None


PAGES = (
    Page("/quality", show),
    Page("/quality/figures.csv", figures_file),
    Page("/quality/mails", list_mails),
    Page("/quality/mails.csv", mails_file),
)
