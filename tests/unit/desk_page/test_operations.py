"""The operations page: what it shows at once, who may act, and the checks beside it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from threading import Event

import pytest

from support_agent.config.settings import Settings
from support_agent.core.diagnosis import Health
from support_agent.desk_page.checkup import Checkup
from support_agent.desk_page.operations import PAGES
from support_agent.desk_page.people import Role
from support_agent.ops.doctor import Probes
from support_agent.store.records import OutboxRecord, OutgoingKind
from tests.contract.store.examples import NOON
from tests.fakes_doctor import Outside, settings_in
from tests.fakes_journey import ANNA, DESK, Office, with_agent, write
from tests.fakes_page import BY_PROXY, Browser, Form

ADMIN = BY_PROXY.model_copy(update={"admins": (DESK,), "readers": (ANNA,)})


def uncertain_in(office: Office) -> OutboxRecord:
    """An answer of which nobody knows whether it left."""
    mail_id, _ = office.handle(write("How do I get my password back?"))
    row = office.sent(mail_id)[OutgoingKind.ANSWER]
    with office.store.database.write() as connection:
        connection.exec_driver_sql("UPDATE outbox SET status = 'uncertain', last_detail = '<b>lost</b>'")
    return row


def test_what_the_store_knows_is_shown_at_once(office: Office) -> None:
    uncertain_in(office)
    page, head = Browser(office, page=ADMIN).get("/operations"), office.store.database.head()
    for said in (
        "Not paused.",
        "The mailbox has not been read yet.",
        "uncertain",
        "&lt;b&gt;lost&lt;/b&gt;",
        f"{head} / {head}",
    ):
        assert said in page
    assert "<b>lost" not in page


@pytest.mark.parametrize("address", [ANNA, DESK])
def test_only_an_admin_sees_buttons_and_acts(office: Office, address: str) -> None:
    """Attack: a reader and a person who may answer send the forms of an admin."""
    row = uncertain_in(office)
    browser = Browser(office, address, ADMIN.model_copy(update={"admins": ()}))
    assert browser.forms("/operations") == {}
    key = next(part for part in browser.get("/operations").split('"') if len(part) == 43)
    for what in ("pause", "resume", "check", "retry", "sent", "give-up", "undo"):
        form = Form("/operations", "post", {"do": what, "id": row.id, "form_key": key})
        assert browser.send(form).status_code == 403
    assert not office.settings.agent.pause_file.exists()
    assert {page.role for page in PAGES if page.method == "POST"} == {Role.ADMIN}


def test_an_unknown_act_and_an_unknown_mail_change_nothing(office: Office) -> None:
    row = uncertain_in(office)
    browser = Browser(office, page=ADMIN)
    form = browser.forms("/operations")["sent"]
    assert browser.send(form, {"do": "approve"}).status_code == 404
    assert "no mail x in the outbox" in browser.send(form, {"id": "x"}).text
    found = office.store.outbox.get(row.id)
    assert found is not None
    assert found.status.value == "uncertain"


def test_limits_that_are_reached_are_shown_with_what_to_do(office: Office, tmp_path: Path) -> None:
    limited = with_agent(office, max_mails_per_hour=1)
    limited.handle(write("How do I get my password back?"))
    page = Browser(limited, page=ADMIN).get("/operations")
    assert "1 automatic mails within an hour, the limit (S12)" in page
    assert "a higher agent.max_mails_per_hour allows more" in page


def test_the_checks_run_beside_the_page_and_one_at_a_time(tmp_path: Path) -> None:
    """Rule: while they run, the page says so; what they find stays with its instant and who asked."""
    may_go_on = Event()

    def probes(now: datetime) -> Probes:
        assert may_go_on.wait(30)
        return Outside().probes(now)

    checkup = Checkup(settings_in(tmp_path), probes)
    assert checkup.last is None
    assert checkup.begin(DESK, NOON)
    assert not checkup.begin(ANNA, NOON)
    assert checkup.last is not None
    assert checkup.last.found is None
    may_go_on.set()
    checkup.wait(30)
    assert checkup.last.found
    assert (checkup.last.who, checkup.last.at) == (DESK, NOON)
    assert checkup.begin(ANNA, NOON)
    checkup.wait(30)


def test_checks_that_fail_are_a_result(tmp_path: Path) -> None:
    def probes(_: datetime) -> Probes:
        raise OSError("no network")

    checkup = Checkup(settings_in(tmp_path), probes)
    checkup.begin(DESK, NOON)
    checkup.wait(30)
    assert checkup.last is not None
    assert checkup.last.found is not None
    (found,) = checkup.last.found
    assert (found.severity, found.what) == (Health.ERROR, "OSError: no network")


def test_the_page_shows_what_the_checks_found(office: Office) -> None:
    def checkup(settings: Settings) -> Checkup:
        return Checkup(settings, Outside().probes)

    browser = Browser(office, page=ADMIN, checkup=checkup)
    assert "The checks have begun." in browser.act("/operations", "check")
    assert browser.desk.checkup is not None
    browser.desk.checkup.wait(30)
    page = browser.get("/operations")
    assert "imap.host is not set" in page
    assert "fill it in in support-agent.toml" in page
