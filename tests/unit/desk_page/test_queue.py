"""The queue's page: what waits, in parts, with filters that are links."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.cases.pause import write_pause
from support_agent.desk_page import queue
from tests.fakes_desk import proposed_in
from tests.fakes_journey import ANNA, CUSTOMERS, Office, with_agent, write
from tests.fakes_page import Browser


def desk(office: Office) -> Browser:
    """Two cases that wait: an answer that is proposed, and one for a person."""
    proposed = proposed_in(office)
    proposed.office.handle(write("I want to speak to a person.", sender=CUSTOMERS[0], subject="Call me", number=2))
    return Browser(proposed.office)


def test_the_queue_says_how_many_wait_and_why(office: Office) -> None:
    page = desk(office).get("/")
    assert "2 cases wait for a person" in page
    assert "waits for approval" in page
    assert "asks for a person" in page
    assert page.count("answer ready") == 1


def test_a_filter_is_a_link_that_keeps_the_others(office: Office) -> None:
    browser = desk(office)
    page = browser.get("/?reason=person_asked_for&language=en")
    assert "Call me" in page
    assert "Refund" not in page
    assert "?language=en" in page
    assert "Nobody waits" in browser.get("/?reason=unsure")


def test_the_page_goes_on_where_a_part_ended(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "SHOWN", 1)
    browser = desk(office)
    first = browser.get("/")
    assert first.count("data-row") == 1
    link = first.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")
    second = browser.get(f"/{link}")
    assert "Call me" in second
    assert 'rel="next"' not in second


@pytest.mark.parametrize("query", ["after=x", "after=1e400+abc", "level=9", "after=nan+x", "assignee=-"])
def test_an_address_that_was_changed_by_hand_does_no_harm(office: Office, query: str) -> None:
    assert "wait for a person" in desk(office).get(f"/?{query}")


def test_a_pause_is_said_where_the_cases_are(office: Office, tmp_path: Path) -> None:
    office = with_agent(office, pause_file=tmp_path / "paused")
    write_pause(office.settings.agent, "the mail server is moved")
    assert "the mail server is moved" in Browser(office).get("/")


def test_a_case_is_found_by_its_id_and_a_customer_by_the_address(office: Office) -> None:
    browser = desk(office)
    browser.office.handle(write("I want to speak to a person.", sender=CUSTOMERS[0], subject="Again", number=3))
    found = browser.get(f"/cases?q={CUSTOMERS[0]}")
    assert "Call me" in found
    assert "Again" in found
    (case, *_) = browser.office.store.cases.recent(1)
    assert case.case.id in browser.get(f"/cases?q={case.case.id}")
    assert "No case has" in browser.get(f"/cases?q={ANNA}x")
    assert "Write the whole address" in browser.get("/cases")
