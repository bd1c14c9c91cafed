"""The page of the backtest: past mails are uploaded and decided by a process of its own; its report is shown.

Invariant: only an admin uploads, starts, stops and deletes; the report is shown in a frame that runs and fetches
nothing. Checked by tests/unit/desk_page/test_backtest_process.py and tests/journey/test_page_backtest.py.
"""

from __future__ import annotations

from support_agent.desk_page.backtest_process import BacktestRequest, Backtests, own_addresses
from support_agent.desk_page.people import Role
from support_agent.desk_page.visit import Desk, Download, Framed, NotFound, Page, Result, SeeOther, Shown, Visit
from support_agent.errors import SupportAgentError

HERE = "/quality/backtest"


def show(desk: Desk, visit: Visit) -> Result:
    """How the run is, and its report."""
    backtests = _backtests(desk)
    values = {
        "progress": backtests.progress(),
        "report": backtests.report(),
        "may_run": visit.may(Role.ADMIN),
        "most_mb": desk.settings.desk_page.max_upload_bytes // 1_000_000,
    }
    return Shown("quality_backtest.html", values)


def act(desk: Desk, visit: Visit) -> Result:
    """Start, go on, stop or forget a run."""
    backtests, what = _backtests(desk), visit.form.get("do", "")
    try:
        match what:
            case "start":
                own = own_addresses(visit.form.get("own", ""))
                is_fast = "with_model" not in visit.form
                asked = BacktestRequest(who=visit.person.address, at=desk.now(), own=own, without_model=is_fast)
                backtests.start(asked, [(file.name, file.data) for file in visit.files])
            case "go_on":
                backtests.go_on()
            case "stop":
                backtests.stop()
            case "forget":
                backtests.forget()
            case _:
                raise NotFound
    except SupportAgentError as error:
        return SeeOther(HERE, visit.wording("said.refused", why=str(error)), is_error=True)
    return SeeOther(HERE, visit.wording(f"backtest.said_{what}"))


def report(desk: Desk, visit: Visit) -> Result:
    """The report, for the frame."""
    return Framed(_html(desk).decode("utf-8"))


def download(desk: Desk, visit: Visit) -> Result:
    """The report as a file."""
    return Download(_html(desk), "backtest.html", "text/html")


def _backtests(desk: Desk) -> Backtests:
    if desk.backtests is None:
        raise NotFound
    return desk.backtests


def _html(desk: Desk) -> bytes:
    try:
        return _backtests(desk).html.read_bytes()
    except OSError:
        raise NotFound from None


PAGES = (
    Page(HERE, show),
    Page(HERE, act, Role.ADMIN, "POST"),
    Page(f"{HERE}/report", report),
    Page(f"{HERE}/file", download),
)
