"""The report as a page: pictures, no script, nothing fetched, and no customer's text becomes markup."""

from __future__ import annotations

import re

from support_agent.ops.backtest.page import backtest_page
from support_agent.ops.backtest.report import BacktestReport
from tests.fakes_journey import Office
from tests.unit.ops.backtest.made import choice, result
from tests.unit.ops.backtest.test_report import report

HOSTILE = "<script>alert(1)</script> \u202e {{ 7 * 7 }} <img src=x onerror=alert(1)>"


def full(office: Office, text: str = "Do you offer training?") -> BacktestReport:
    uncovered = [result(number, question=text, said=text) for number in range(3)]
    sent = [result(number, choice(confidence=0.6 + number / 100), answered_with=(1,)) for number in range(5)]
    return report(office, [*uncovered, *sent, result(9, question=text, answered_with=(1,))])


def test_the_page_has_the_figures_and_pictures_and_says_whose_words_it_holds(office: Office) -> None:
    page = backtest_page(full(office))
    assert "holds your customers' words" in page.replace("&#39;", "'")
    assert "Of 9 questions 5 (56 %)" in page
    assert page.count("<svg") == 4
    assert re.search(r'<polyline class="least" points="[\d.]+,', page)
    assert 'class="whisker"' in page
    assert "Do you offer training?" in page


def test_the_page_has_no_script_and_fetches_nothing(office: Office) -> None:
    page = backtest_page(full(office))
    assert "default-src 'none'" in page
    assert not re.search(r"<script|<link|<img|<iframe|src=|url\(|@import|https?://(?!www\.w3)", page)


def test_no_text_of_a_mail_becomes_markup(office: Office) -> None:
    page = backtest_page(full(office, HOSTILE))
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_same_report_gives_the_same_page_and_an_empty_one_gives_a_page(office: Office) -> None:
    found = full(office)
    assert backtest_page(found) == backtest_page(found)
    assert "Of 0 questions" in backtest_page(report(office, []))
