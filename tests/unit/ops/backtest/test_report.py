"""The figures of the report, and what they say of answers that nobody can judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from support_agent.cli.backtest_printing import backtest
from support_agent.config.backtest import PROVEN_BY_MAIL
from support_agent.ops.backtest.page import backtest_page
from support_agent.ops.backtest.pairing import Pair
from support_agent.ops.backtest.report import BacktestReport, Precision, report_of
from support_agent.ops.backtest.results import PastResult
from support_agent.ops.backtest.running import Past, model_free
from support_agent.ops.backtest.sources import PastMails
from tests.fakes_journey import Office
from tests.unit.ops.backtest.made import START, choice, past_mail, raw, result
from tests.unit.ops.backtest.test_running import bench_of

MADE_AT = START + timedelta(days=30)


def report(office: Office, results: Sequence[PastResult], level: int | None = None) -> BacktestReport:
    mail = past_mail(raw(1))
    pairs = [Pair(mail, follow_ups=1) for _ in results]
    return report_of(Past(PastMails((mail,) * len(results), 2, 3), pairs, results), bench_of(office, level), MADE_AT)


def test_answers_in_own_words_count_as_wrong_in_the_lower_value_and_not_at_all_in_the_upper() -> None:
    precision = Precision(sent=20, same=8, other=2, own_words=6)
    assert (precision.least, precision.most) == (0.5, 0.8)
    assert precision.low < 0.5 < 0.8 < precision.high
    surer = Precision(sent=200, same=80, other=20, own_words=60)
    assert surer.low > precision.low
    assert surer.high < precision.high


def test_where_nothing_can_be_judged_nothing_is_claimed() -> None:
    nothing = Precision(sent=5, same=0, other=0, own_words=0)
    assert (nothing.least, nothing.most, nothing.low, nothing.high) == (None, None, 0.0, 1.0)


def test_without_a_judged_answer_no_minutes_are_claimed(office: Office) -> None:
    """Failure: with no address of the people named, the report said that the agent costs 2,280 minutes a month."""
    found = report(office, [result(0, choice(), is_answered=False)])
    for shown in (backtest(found), backtest_page(found)):
        assert "of these answers could be judged" in shown
        assert "minutes of people" not in shown


def test_shares_are_of_the_questions_of_people_and_automatic_mail_is_apart(office: Office) -> None:
    results = [
        result(0, choice(), answered_with=(1,)),
        result(1, choice(), answered_with=(2,)),
        result(2, choice()),
        result(3, choice("field:plan")),
        result(4, choice(status="unsure", confidence=0.5), reason="unsure", language="de", answered_with=(1,)),
        result(5, outcome="filed", rule="S2"),
    ]
    found = report(office, results)
    assert (found.mails, found.unreadable, found.too_many, found.follow_ups) == (6, 2, 3, 6)
    assert (found.questions, found.answered, found.answered_share) == (5, 4, 0.8)
    assert found.precision == Precision(sent=4, same=1, other=1, own_words=1)
    assert [(one.name, one.mails) for one in found.automatic] == [("S2", 1)]
    assert [(one.name, one.mails, one.answered) for one in found.languages] == [("en", 4, 4), ("de", 1, 0)]
    assert [(one.name, one.mails) for one in found.reasons] == [("unsure", 1)]
    assert [(one.document, one.mails) for one in found.missed] == [(1, 1)]
    assert found.median_wait_s == 3600.0


def test_a_lower_threshold_also_counts_what_was_only_not_sure_enough(office: Office) -> None:
    results = [
        result(0, choice(confidence=0.95), answered_with=(1,)),
        result(1, choice(confidence=0.65), answered_with=(2,)),
        result(2, choice(status="unsure", confidence=0.45), answered_with=(1,)),
        result(3, choice(status="stopped", confidence=0.99)),
    ]
    found = report(office, results)
    rows = {row.threshold: (row.share, row.precision.same, row.precision.other) for row in found.thresholds}
    assert (rows[0.4], rows[0.6], rows[0.9]) == ((0.75, 2, 1), (0.5, 1, 1), (0.25, 1, 0))
    (topic,) = found.topics
    assert (topic.key, topic.title, topic.precision.sent) == ("document:1", "Refund policy", 2)
    assert [row.share for row in topic.thresholds] == [row.share for row in found.thresholds]


def test_only_questions_that_another_document_could_answer_are_grouped(office: Office) -> None:
    """Rule: not those that people answered from a document, nor those that a rule or the sender's level stops."""
    uncovered = [result(number, question="Do you offer training?") for number in range(3)]
    stopped = [result(number, question="Do you offer training?", reason="level") for number in range(3, 9)]
    known = [result(9, question="Do you offer training?", answered_with=(1,))]
    found = report(office, [*uncovered, *stopped, *known])
    assert [(one.size, one.share) for one in found.clusters] == [(3, 0.3)]


def test_minutes_saved_follow_the_stated_assumptions(office: Office) -> None:
    """10 answers in 30.4 days, 9 right and 1 wrong: 9 times 5 minutes, less 15."""
    results = [result(0, choice(), answered_with=(1,)) for _ in range(9)]
    results.append(result(0, choice(), answered_with=(2,), at=START + timedelta(days=30.4)))
    saved = report(office, results).savings
    assert saved.answers_a_month == pytest.approx(10)
    assert saved.minutes_a_month_least == pytest.approx(9 * 5 - 15)
    assert "5 minutes for an answer and 15" in report(office, results).assumptions[-1]


@pytest.mark.parametrize(
    ("level", "said"), [(None, "taken for proven"), (PROVEN_BY_MAIL, "that the mail proves"), (1, "level 1")]
)
def test_the_assumed_level_is_told(office: Office, level: int | None, said: str) -> None:
    assert said in report(office, [result(0)], level).assumptions[0]


def test_a_report_without_any_answer_of_people_says_what_to_name(office: Office) -> None:
    assert "--own" in report(office, [result(0, is_answered=False)]).assumptions[0]


def test_a_report_says_for_how_many_questions_the_model_failed(office: Office) -> None:
    """Else a slow machine looks like an agent that knows little."""
    found = report(office, [result(0), result(1, reason="model_failed")])
    assert "In 1 of 2 questions the language model failed" in found.assumptions[0]
    assert "failed" not in report(office, [result(0)]).assumptions[0]


def test_a_model_that_was_not_asked_did_not_fail(office: Office) -> None:
    """To run the same command again would change nothing."""
    planner = office.settings.planner.model_copy(update={"model_votes": "never"})
    quiet = replace(office, settings=office.settings.model_copy(update={"planner": planner}))
    found = report(quiet, [result(0), result(1, reason="model_failed")])
    assert found.assumptions[0].startswith("1 of 2 questions cannot be decided without the language model")


def test_a_report_without_the_model_says_so(office: Office) -> None:
    bench = bench_of(office)
    free = bench_of(Office(model_free(office.settings), office.store, office.decider))
    past = Past(PastMails(()), [], [])
    with_model, without = (report_of(past, one, MADE_AT).assumptions for one in (bench, free))
    assert set(without) - set(with_model) == {"The language model was not asked; with it other mails are answered."}
