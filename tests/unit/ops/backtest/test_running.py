"""Today's agent over past mail: the real journey, each mail on its own day, and never twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest

from support_agent.app.dry_runs import dry_run_of
from support_agent.config.agent import AgentSettings
from support_agent.config.backtest import PROVEN_BY_MAIL
from support_agent.config.settings import Settings
from support_agent.errors import ConfigError
from support_agent.ops.backtest.contradictions import Numbered
from support_agent.ops.backtest.journal import Journal
from support_agent.ops.backtest.judging import AnswerMatcher
from support_agent.ops.backtest.pairing import Pair
from support_agent.ops.backtest.running import (
    Bench,
    RunProgress,
    key_of,
    past_of,
    run,
    todays,
    version_of,
    with_own,
)
from support_agent.ops.backtest.sources import PastMails
from support_agent.planner.combiner import Calibration
from support_agent.planner.loop import Planner
from tests.fakes import PLAIN
from tests.fakes_journey import ANNA, TODAY, Office, SureModel
from tests.unit.ops.backtest.made import MEANING, OWN, past_mail, raw

REFUND = "Can I get a refund?"
SEATS = "How many seats have we paid for?"
NOTHING = "Do you have a table for four on Saturday?"


def bench_of(office: Office, level: int | None = None) -> Bench:
    company = todays(office.decider.company, TODAY)
    decider = replace(office.decider, company=company)
    return Bench(
        settings=office.settings,
        company=company,
        dry_run=dry_run_of(office.settings, company, office.decider.templates, lambda: decider),
        matcher=AnswerMatcher(company.texts, MEANING, 0.6),
        numbered=Numbered(company.texts, MEANING),
        version="v" * 64,
        level=level,
    )


def asked(text: str, number: int = 1, answer: str = "", sender: str = ANNA) -> Pair:
    pair = Pair(past_mail(raw(number, text, sender=sender)))
    if answer:
        pair.answer = past_mail(raw(number + 100, answer, sender=OWN, to=ANNA, hours=5, parent=number))
    return pair


@pytest.fixture
def bench(office: Office) -> Bench:
    return bench_of(office)


def test_a_question_is_answered_as_the_worker_would_and_the_persons_answer_judged(bench: Bench) -> None:
    said = "A yearly plan can be refunded in full within 30 days of the first payment."
    result = bench.result("k", asked(REFUND, answer=f"Hello Anna,\n\n{said}\n\nRegards"))
    assert (result.outcome, result.reason, result.language) == ("answer", None, "en")
    assert [(one.topic, one.status) for one in result.choices] == [("document:1", "sent")]
    assert result.answer is not None
    assert "Dokument Nr. 1" in result.answer.text
    assert result.answered_with == (1,)
    assert result.label_at(0.0) == "same"
    assert result.waited_s == 5 * 3600


def test_a_question_that_nothing_answers_goes_to_a_person(bench: Bench) -> None:
    result = bench.result("k", asked(NOTHING))
    assert (result.outcome, result.answer, result.is_answered) == ("escalate", None, False)


def test_a_choice_that_was_only_not_sure_enough_counts_with_a_lower_threshold(office: Office) -> None:
    strict = Calibration(thresholds={"document": 1.0})
    planner = Planner(SureModel(), office.settings.planner, lambda: 0.0, combiner=PLAIN, calibration=strict)
    result = bench_of(replace(office, decider=replace(office.decider, planner=planner))).result("k", asked(REFUND))
    (choice,) = result.choices
    assert (result.outcome, choice.status, choice.threshold) == ("escalate", "unsure", 1.0)
    assert result.sent_at(choice.confidence) == (choice,)
    assert result.sent_at(1.0) == ()


@pytest.mark.parametrize(("level", "outcome"), [(None, "answer"), (PROVEN_BY_MAIL, "escalate"), (2, "escalate")])
def test_senders_are_taken_for_proven_unless_told_otherwise(office: Office, level: int | None, outcome: str) -> None:
    """Rule: a customer's value needs level 3; a mail without Authentication-Results proves nothing."""
    assert bench_of(office, level).result("k", asked(SEATS, sender=ANNA)).outcome == outcome


def test_a_document_that_is_valid_today_is_valid_on_every_past_day(office: Office) -> None:
    """Rule: it is today's agent that is tried, and its documents may be younger than the mail."""
    early = Pair(past_mail(raw(1, REFUND, hours=-24 * 365)))
    assert bench_of(office).result("k", early).outcome == "answer"
    expired = todays(office.decider.company, date(2020, 1, 1))
    assert not any(one.is_valid_on(TODAY) for one in expired.documents)


def test_what_the_journal_has_is_not_decided_again_and_the_time_left_is_told(bench: Bench, tmp_path: Path) -> None:
    pairs = [asked(REFUND, number) for number in range(3)]
    ticks = count(0, 10)
    told: list[RunProgress] = []
    with Journal(tmp_path, bench.version) as journal:
        journal.add(bench.result(key_of(pairs[0]), pairs[0]))
        first = run(pairs, journal, bench, told.append, lambda: float(next(ticks)))
    assert [(step.done, step.total, step.seconds_left) for step in told] == [(1, 3, None), (2, 3, 10.0), (3, 3, 0.0)]
    broken = replace(bench, dry_run=None)  # type: ignore[arg-type]
    with Journal(tmp_path, bench.version) as journal:
        assert run(pairs, journal, broken, told.append, lambda: 0.0) == first


def test_a_mail_for_which_the_model_failed_is_decided_again(bench: Bench, tmp_path: Path) -> None:
    """Failure: on a busy machine the model was too slow for some mails, and a later run did not ask it again."""
    pairs = [asked(REFUND, number) for number in range(2)]
    results = [bench.result(key_of(pair), pair) for pair in pairs]
    reasons = {results[0].key: "model_failed", results[1].key: "unsure"}
    found = {one.key: one.model_copy(update={"reason": reasons[one.key]}) for one in results}
    with Journal(tmp_path, bench.version) as journal, patch.object(Bench, "result", lambda _, key, __: found[key]):
        run(pairs, journal, bench, lambda step: None, lambda: 0.0)
        assert [journal.get(one.key) is not None for one in results] == [False, True]


def test_another_answer_of_a_person_is_another_result() -> None:
    assert len({key_of(asked(REFUND, answer=answer)) for answer in ("", "Yes, of course.", "No, sorry.")}) == 3


def test_mails_without_a_customers_question_are_an_error_with_what_to_check(bench: Bench, tmp_path: Path) -> None:
    ours = past_mail(raw(1, sender=OWN))
    with pytest.raises(ConfigError, match="--own"):
        past_of(PastMails((ours,)), [], bench, tmp_path, lambda step: None)


def test_everything_that_decides_is_in_the_version(office: Office) -> None:
    company, templates, settings = office.decider.company, office.decider.templates, office.settings
    other = settings.model_copy(update={"planner": settings.planner.model_copy(update={"threshold_answer": 0.9})})
    texts = office.with_templates(acknowledgement="Hello\n").decider.templates
    versions = {
        version_of(settings, company, templates),
        version_of(settings, company, templates, "level 3"),
        version_of(other, company, templates),
        version_of(settings, replace(company, documents=company.documents[1:]), templates),
        version_of(settings, company, texts),
    }
    assert len(versions) == 5


@pytest.mark.parametrize(("section", "change"), [("autonomy", {"start": "shadow"}), ("search", {"passages": 3})])
def test_each_section_that_changes_results_is_in_the_version(
    office: Office, section: str, change: dict[str, object]
) -> None:
    """Failure: a backtest after a change of the modes showed the results of before."""
    company, templates, settings = office.decider.company, office.decider.templates, office.settings
    other = settings.model_copy(update={section: getattr(settings, section).model_copy(update=change)})
    assert version_of(other, company, templates) != version_of(settings, company, templates)


def test_own_addresses_become_those_of_the_agent() -> None:
    known = with_own(Settings(agent=AgentSettings(address="a@x.example")), ["b@x.example", "@y.example"])
    assert (known.agent.address, known.agent.aliases) == ("a@x.example", ("b@x.example",))
    assert with_own(Settings(), ["b@x.example"]).agent.address == "b@x.example"
    with pytest.raises(ConfigError, match="--own"):
        with_own(Settings(), ["@y.example"])
