"""A backtest on the page, from the upload to the report, by the program in a process of its own."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from support_agent.config.settings import Settings
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.desk_page.backtest_process import Backtests
from tests.fakes_journey import ANNA, DESK, Office
from tests.fakes_page import BY_PROXY, Browser, Form
from tests.journey.backtest_program import COMMAND
from tests.made_mailbox import write_mbox
from tests.unit.ops.backtest.made import OWN, raw

ADMIN = BY_PROXY.model_copy(update={"admins": (DESK,), "readers": (ANNA,)})
SAID = "Hello Anna,\n\nA yearly plan can be refunded in full within 30 days of the first payment.\n\nRegards"


@pytest.fixture
def browser(office: Office, tmp_path: Path) -> Browser:
    """An admin at the page of a workspace."""
    init(tmp_path / "here", date(2026, 3, 14))

    def backtests(settings: Settings) -> Backtests:
        here = tmp_path / "here"
        return Backtests(settings, here / CONFIG_FILE, here / "backtest-work", COMMAND)

    return Browser(office, page=ADMIN, backtests=backtests)


def archive(folder: Path) -> bytes:
    """A question with a person's answer, and one that nobody answered."""
    answer = raw(3, SAID, sender=OWN, to=ANNA, subject="Re: A question", hours=4, parent=1)
    other = raw(2, "Do you have a table <script>alert(1)</script>?", sender="x@example.net", hours=1)
    mails = [raw(1, "Can I get a refund?"), other, answer]
    return write_mbox(folder / "archive.mbox", mails).read_bytes()


def test_an_upload_becomes_a_report(browser: Browser, tmp_path: Path) -> None:
    files = [("archive.mbox", archive(tmp_path), "application/mbox")]
    page = browser.act("/quality/backtest", "start", files, own=OWN)
    assert "The backtest has begun." in page
    assert browser.desk.backtests is not None
    browser.desk.backtests.wait(120)
    page = browser.get("/quality/backtest")
    progress = browser.desk.backtests.progress()
    assert progress is not None
    assert "Of 2 questions" in page, progress
    assert f"{DESK}, " in page
    frame = browser.client.get("/quality/backtest/report")
    assert "sandbox" in frame.headers["content-security-policy"]
    assert "<script>alert" not in frame.text
    assert browser.client.get("/quality/backtest/file").content == frame.content
    assert "Questions without an answer" in browser.get("/quality")
    assert "are deleted" in browser.act("/quality/backtest", "forget")
    assert browser.client.get("/quality/backtest/report").status_code == 404


def test_only_an_admin_may_start_or_delete(browser: Browser, office: Office) -> None:
    """Attack: a reader sends the form of an admin."""
    reader = Browser(office, ANNA, ADMIN, backtests=lambda _: browser.desk.backtests)
    assert reader.forms("/quality/backtest") == {}
    key = next(part for part in reader.get("/quality/backtest").split('"') if len(part) == 43)
    for what in ("start", "go_on", "stop", "forget"):
        form = Form("/quality/backtest", "post", {"do": what, "form_key": key})
        assert reader.send(form, files=[("a.mbox", b"From a", "x/y")]).status_code == 403
    assert browser.desk.backtests is not None
    assert browser.desk.backtests.progress() is None


def test_what_is_refused_is_said(browser: Browser) -> None:
    files = [("a.exe", b"MZ", "application/octet-stream")]
    assert "no mbox, no zip and no .eml file" in browser.act("/quality/backtest", "start", files)
    assert "write addresses" in browser.act("/quality/backtest", "start", files, own="--html")
    form = browser.forms("/quality/backtest")["start"]
    assert "no backtest to go on with" in browser.send(form, {"do": "go_on"}).text
    assert browser.send(form, {"do": "burn"}).status_code == 404
