"""The quality page: each number leads to the mails that it counts; a CSV file runs nothing."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from io import StringIO

import pytest

from support_agent.core.modes import Mode
from support_agent.desk_page import quality
from support_agent.desk_page.export import csv_file
from support_agent.desk_page.figures import span_of
from support_agent.desk_page.people import Role
from support_agent.desk_page.quality import PAGES
from tests.fakes_desk import proposed_in
from tests.fakes_journey import ANNA, JAMES, STRANGER, Office, with_autonomy, write
from tests.fakes_page import Browser

EVIL = "=HYPERLINK(1) <script>alert(1)</script>"
CASE = re.compile(r'<th scope="row">.*?</th>')
LINK = re.compile(r'<td class="number"><a href="([^"]+)">([\d,]+)</a>')


@pytest.fixture
def browser(office: Office) -> Browser:
    """An office with an answered mail, one that is judged right, and one that nothing answers."""
    office.handle(write("How do I get my password back?", sender=ANNA, number=1))
    approve = proposed_in(office, Mode.APPROVE, number=2)
    page = Browser(approve.office)
    page.act(f"/cases/{approve.answer.case_id}", "approve")
    off = with_autonomy(office, start=Mode.APPROVE)
    off.handle(write("Who won the race?", sender=STRANGER, subject=EVIL, number=3))
    return page


def test_each_number_leads_to_as_many_mails(browser: Browser) -> None:
    """Rule: what a link shows is what its number counts."""
    links = [(unescape(href), int(number)) for href, number in LINK.findall(browser.get("/quality"))]
    assert len({href.partition("&")[0] for href, _ in links}) == 5
    for href, number in links:
        assert browser.get(href).count('<th scope="row">') == number, href


def test_the_mails_of_a_list_lead_to_their_cases(browser: Browser) -> None:
    page = browser.get("/quality/mails?of=mails&group=people")
    (case_id, *_) = re.findall(r'href="/cases/([^"]+)"', page)
    assert browser.get(f"/cases/{case_id}")
    assert "<script>alert" not in page
    assert "=HYPERLINK(1) &lt;script&gt;" in page


@pytest.mark.parametrize("query", ["of=nothing", "of=", "of=outbox"])
def test_a_list_that_there_is_not_is_not_found(browser: Browser, query: str) -> None:
    assert browser.client.get(f"/quality/mails?{query}").status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        "low=nan&high=inf",
        "after=x",
        "after=9999999",
        "after=1e308 x",
        "after=-62135596800 x",
        "day=x",
        "low=-1",
        "days=-5",
    ],
)
def test_a_crooked_address_is_read_as_far_as_it_goes(browser: Browser, query: str) -> None:
    for of in ("mails", "judged", "planning", "machine_wait", "person_wait"):
        assert browser.client.get(f"/quality/mails?of={of}&{query}").status_code == 200


@pytest.mark.parametrize("of", ["mails", "planning", "machine_wait"])
def test_a_list_goes_on_where_a_part_ended(browser: Browser, monkeypatch: pytest.MonkeyPatch, of: str) -> None:
    whole = CASE.findall(browser.get(f"/quality/mails?of={of}"))
    monkeypatch.setattr(quality, "SHOWN", 1)
    link, found = f"?of={of}", list[str]()
    while link:
        page = browser.get(f"/quality/mails{link}")
        found += CASE.findall(page)
        link = unescape(page.partition('rel="next"')[0].rpartition('href="')[2]) if 'rel="next"' in page else ""
        link = link.partition('"')[0]
    assert found == whole


def test_without_labels_the_page_says_so(office: Office) -> None:
    page = Browser(office).get("/quality")
    assert page.count("Nobody has judged an answer in this time.") == 3
    assert "0 mails came in" in page


def test_few_labels_are_called_few(browser: Browser) -> None:
    assert "Only 1 judged answers: read the intervals, not the dots." in browser.get("/quality")


def test_a_csv_file_has_the_figures_as_numbers(browser: Browser) -> None:
    answer = browser.client.get("/quality/figures.csv")
    assert answer.headers["content-disposition"].startswith("attachment")
    table = list(csv.reader(StringIO(answer.content.decode("utf-8-sig"))))
    assert table[0] == ["Figure", "Row", "Column", "Value"]
    assert ["Mails over time", "Altogether", "Mails", "4"] in table


def test_no_cell_of_a_csv_file_is_a_formula(browser: Browser) -> None:
    """Attack: a subject that a spreadsheet would run."""
    table = list(
        csv.reader(StringIO(browser.client.get("/quality/mails.csv?group=people").content.decode("utf-8-sig")))
    )
    assert f"'{EVIL}" in {cell for row in table for cell in row}
    for start in ("=1", "+1", "-1", "@x", "\t=1", "\r=1", "  =1", "\uff1d1"):
        (_, (cell,)) = csv.reader(StringIO(csv_file("x.csv", ["a"], [[start]]).data.decode("utf-8-sig"), newline=""))
        assert cell == f"'{start}"
    assert b"\n-1.5\r\n" in csv_file("x.csv", ["a"], [[-1.5]]).data


def test_a_span_has_whole_days_of_the_companys_zone() -> None:
    """Rule: a day on which the clocks change has 23 or 25 hours; the days follow each other without a gap."""
    span = span_of(28, datetime(2026, 4, 10, 22, 30, tzinfo=UTC), "Europe/Berlin")
    assert span.dates[-1].isoformat() == "2026-04-11"
    assert {one.until - one.since for one in span.each} == {timedelta(hours=23), timedelta(hours=24)}
    assert all(one.until == other.since for one, other in zip(span.each, span.each[1:], strict=False))


def test_a_long_span_is_shown_by_weeks() -> None:
    span = span_of(90, datetime(2026, 11, 20, tzinfo=UTC), "UTC")
    assert (len(span.each), span.unit) == (13, "week")
    assert span.whole.until - span.whole.since == timedelta(days=90)


def test_readers_may_look_at_all_of_it(browser: Browser) -> None:
    assert {page.role for page in PAGES} == {Role.READ}
    assert {page.method for page in PAGES} == {"GET"}


def test_the_page_is_in_the_readers_language(office: Office) -> None:
    browser = Browser(office, JAMES, Browser(office).page.model_copy(update={"readers": (JAMES,)}))
    browser.client.headers["accept-language"] = "de-DE"
    assert "In dieser Zeit hat niemand eine Antwort beurteilt." in browser.get("/quality?days=90")
