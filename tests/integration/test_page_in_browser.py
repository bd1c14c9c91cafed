"""The desk's page in a real Chromium, by keyboard and by mouse; axe-core finds nothing on any page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from support_agent.store.desk_records import LabelOutcome
from support_agent.store.records import OutboxStatus, OutgoingKind
from tests.journey.test_page_backtest import archive
from tests.made_desk import Served, made_desk, served
from tests.servers.browser import open_browser
from tests.unit.ops.backtest.made import OWN

pytestmark = pytest.mark.servers
WAITS_MS = 20_000
expect.set_options(timeout=WAITS_MS)
SECTIONS = (
    "/cases",
    "/documents",
    "/documents/1",
    "/documents/1/edit",
    "/documents/new",
    "/documents/templates",
    "/documents/templates/en/answer.txt.j2",
    "/documents/templates/en/answer.txt.j2/edit",
    "/quality",
    "/quality/mails",
    "/quality/backtest",
    "/operations",
    "/nowhere",
)
OLD, NEW = "within 30 days of the first payment", "within 44 days of the first payment"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Served]:
    with made_desk(tmp_path) as office, served(office, tmp_path) as page:
        yield page


@pytest.fixture
def page(browser: Browser, desk: Served) -> Iterator[Page]:
    """A page that is signed in; a script error or a request to another host fails the test."""
    context = browser.new_context(locale="en-GB")
    opened, wrong = context.new_page(), list[str]()
    opened.set_default_timeout(WAITS_MS)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    opened.on("request", lambda asked: None if asked.url.startswith(desk.address) else wrong.append(asked.url))
    opened.goto(desk.link)
    yield opened
    context.close()
    assert not wrong


def _status_of_first_answer(desk: Served, status: OutboxStatus) -> int:
    return len(desk.office.store.outbox.find(kind=OutgoingKind.ANSWER, status=status))


def _see_case(page: Page) -> None:
    """Wait for an opened case and its script: a key that is pressed before it is there does nothing."""
    expect(page.locator("button.main")).to_be_visible()
    page.wait_for_load_state()


def test_from_the_queue_to_approved_in_two_keys(page: Page, desk: Served) -> None:
    """The first case has the focus: one key opens it, one approves it; the queue comes back without it."""
    before = _status_of_first_answer(desk, OutboxStatus.PROPOSED)
    expect(page.locator("[data-row]").first).to_be_focused()
    page.keyboard.press("Enter")
    _see_case(page)
    page.keyboard.press("a")
    expect(page.locator(".notice")).to_contain_text("Approved")
    assert _status_of_first_answer(desk, OutboxStatus.PROPOSED) == before - 1


def test_a_correction_with_the_mouse_is_previewed_sent_and_becomes_a_label(page: Page, desk: Served) -> None:
    page.locator("[data-row]").first.click()
    _see_case(page)
    page.select_option("#choose", "document:2")
    expect(page.locator("[data-preview]")).to_contain_text("What the customer would get instead")
    expect(page.locator("[data-preview]")).to_contain_text("Cancellation")
    page.get_by_role("button", name="Send this instead").click()
    expect(page.locator(".notice")).to_contain_text("What you chose leaves now")
    (label,) = desk.office.store.labels.valid()
    assert (label.outcome, label.choice) == (LabelOutcome.OTHER_CHOICE, "document:2")


def test_hover_and_focus_show_where_a_word_comes_from(page: Page) -> None:
    page.locator("[data-row]").first.click()
    sentence = page.locator(".answer .src.document").first
    sentence.hover()
    expect(sentence.locator(".tip")).to_be_visible()
    page.locator("h1").hover()
    expect(sentence.locator(".tip")).to_be_hidden()
    sentence.focus()
    expect(sentence.locator(".tip")).to_contain_text("document 1")


def test_the_queue_shows_a_new_case_without_a_reload(browser: Browser, tmp_path: Path) -> None:
    from support_agent.config.desk_page import DeskPageSettings
    from tests.fakes_journey import CUSTOMERS, write

    with made_desk(tmp_path) as office, served(office, tmp_path, DeskPageSettings(live_s=1.0)) as desk:
        page = browser.new_page()
        page.set_default_timeout(WAITS_MS)
        page.goto(desk.link)
        expect(page.locator("[data-row]").first).to_be_focused()
        office.handle(write("Can I get a refund?", sender=CUSTOMERS[4], subject="Brand new", number=99))
        expect(page.get_by_text("Brand new")).to_be_visible()
        expect(page.locator("[data-row]").first).to_be_focused()
        page.close()


def test_single_letter_keys_can_be_turned_off(page: Page) -> None:
    """WCAG 2.1.4: nobody approves by a slip."""
    page.locator("#keys-on").uncheck()
    page.locator("[data-row]").first.click()
    _see_case(page)
    page.keyboard.press("a")
    page.wait_for_timeout(200)
    expect(page.locator("button.main")).to_be_enabled()


@pytest.mark.parametrize("is_dark", [False, True])
def test_axe_finds_nothing_on_any_page(browser: Browser, desk: Served, is_dark: bool) -> None:
    """The dark scheme has other colours, and nothing else."""
    context = browser.new_context(color_scheme="dark" if is_dark else "light")
    options = {"runOnly": ["color-contrast"]} if is_dark else {}
    page = context.new_page()
    page.set_default_timeout(WAITS_MS)
    page.goto(desk.link)
    case = page.locator("[data-row]").first.get_attribute("href")
    paths = ("/", case, f"{case}?choose=document:2", f"{case}?choose=series:payments", f"{case}/replay", *SECTIONS)
    for path in paths:
        page.goto(f"{desk.address}{path}")
        found = Axe().run(page, options=options)
        assert not found.response["violations"], (path, found.generate_report())
    context.close()


def test_a_document_is_edited_tried_on_past_mails_published_and_rolled_back(page: Page, desk: Served) -> None:
    page.goto(f"{desk.address}/documents/1/edit")
    text = page.locator("#text").input_value()
    assert OLD in text
    page.fill("#text", text.replace(OLD, NEW))
    page.get_by_role("button", name="Look at it").click()
    expect(page.locator("#looked")).to_contain_text(NEW)
    expect(page.locator("#looked")).to_contain_text("would change", timeout=60_000)  # without a reload
    page.get_by_role("button", name="Publish").click()
    expect(page.locator(".notice").first).to_contain_text("Published")
    expect(page.locator(".answer")).to_contain_text(NEW)

    page.locator("a[href*='edit?version=']").first.click()
    assert OLD in page.locator("#text").input_value()
    page.get_by_role("button", name="Look at it").click()
    page.get_by_role("button", name="Publish").click()
    expect(page.locator(".answer")).to_contain_text(OLD)


def test_a_backtest_goes_from_the_upload_to_the_report(page: Page, desk: Served, tmp_path: Path) -> None:
    (tmp_path / "archive.mbox").write_bytes(archive(tmp_path))
    page.goto(f"{desk.address}/quality/backtest")
    page.set_input_files("input[type=file]", tmp_path / "archive.mbox")
    page.locator("input[name=own]").fill(OWN)
    page.get_by_role("button", name="Start").click()
    expect(page.locator("main")).to_contain_text("Of 2 questions", timeout=120_000)  # its progress is live
    report = page.frame_locator("iframe.report")
    expect(report.locator("body")).to_contain_text("questions")
