"""Calibrating: what few and many questions change, and when a threshold moves."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from support_agent.cli.progress import with_progress
from support_agent.models.language_model import Usage
from support_agent.ops.evals.calibrating import answers_needed, fit, fitted, table, threshold_for, thresholds
from support_agent.ops.evals.intents import CascadeStep, DecidedQuestion, Way
from support_agent.ops.evals.leaving_out import LabelledQuestion
from support_agent.planner.calibration import CompanyCalibration, MadeFor, MadeFrom
from support_agent.planner.choice import NONE_KEY, Choice, Chooser, Option, Vote
from support_agent.planner.combiner import Calibration
from support_agent.tools.base import Match
from tests.fakes import PLAIN, ScriptedModel
from tests.unit.ops.evals.test_measures import Said

RISK, DEFAULT, FLOOR = 0.02, 0.6, 0.5
NONE = frozenset({NONE_KEY})


def chosen(**chances: float) -> Choice:
    votes = [Vote(key=key, probability=chance) for key, chance in chances.items()]
    return Choice(votes=tuple(sorted(votes, key=lambda vote: -vote.probability)), usage=Usage())


def right(count: int, confidence: float) -> list[Said]:
    return [Said(confidence)] * count


def wrong(count: int, confidence: float) -> list[Said]:
    return [Said(confidence, False)] * count


def test_no_questions_change_nothing() -> None:
    assert fitted([]) == Calibration()


def test_few_questions_change_little_and_many_as_much_as_they_say() -> None:
    """What is 0.6 sure and always right deserves to be surer; the prior gives way as questions come in."""
    unsure = (chosen(a=0.6, b=0.2, none=0.2), frozenset({"a"}))
    one, many = fitted([unsure]), fitted([unsure] * 500)
    assert 1.0 < one.sharpness < 1.1
    assert many.sharpness > 1.5


def test_questions_that_nothing_answers_make_none_likelier() -> None:
    asked = [(chosen(a=0.7, none=0.3), NONE)] * 50
    assert fitted(asked).none_shift > 0.5
    assert fitted([(chosen(a=0.3, none=0.7), frozenset({"a"}))] * 50).none_shift < -0.5


def test_a_right_topic_that_is_not_on_the_list_leaves_a_person_right() -> None:
    assert fitted([(chosen(a=0.7, none=0.3), frozenset({"z"}))] * 50).none_shift > 0.5


def test_questions_are_decided_before_the_calibration_and_with_it() -> None:
    """And the way that is given stays as it is."""
    options = {"document:1": Option(key="document:1", title="a")}
    way = Way(Chooser(ScriptedModel([]), PLAIN, model_votes="never"), options, DEFAULT, 6)
    asked = [LabelledQuestion("?", (Match(topic="document:1", score=0.6),), NONE)] * 60
    found = fit(asked, way, with_progress)
    assert found.calibration.none_shift > 0
    assert found.after[0].confidence < found.before[0].confidence
    assert not found.before[0].right
    assert way.chooser.calibration == Calibration()


def test_a_threshold_is_lowered_as_far_as_the_bound_proves_without_a_gap() -> None:
    """149 answers without a wrong one prove 2 %; a failed step ends the way down, whatever lies below it."""
    assert threshold_for(right(149, 0.7), RISK, DEFAULT, FLOOR) == (FLOOR, "proven")
    stopped = [*right(149, 0.7), *wrong(2, 0.553), *right(500, 0.52)]
    assert threshold_for(stopped, RISK, DEFAULT, FLOOR) == (0.56, "proven")


def test_no_threshold_is_below_the_floor() -> None:
    assert threshold_for(right(1000, 0.3), RISK, DEFAULT, FLOOR) == (DEFAULT, "kept")
    assert threshold_for(right(1000, 0.9), RISK, DEFAULT, 0.58) == (0.58, "proven")


def test_too_few_answers_keep_the_strict_default() -> None:
    """Also where one of them is wrong: that says nothing yet."""
    assert answers_needed(RISK) == 149
    assert threshold_for(right(148, 0.9), RISK, DEFAULT, FLOOR) == (DEFAULT, "kept")
    assert threshold_for([*right(29, 0.9), *wrong(1, 0.7)], RISK, DEFAULT, FLOOR) == (DEFAULT, "kept")
    assert threshold_for([], RISK, DEFAULT, FLOOR) == (DEFAULT, "kept")


def test_a_higher_threshold_that_is_proven_is_taken() -> None:
    answers = [*right(200, 0.9), *wrong(10, 0.7)]
    assert threshold_for(answers, RISK, DEFAULT, FLOOR) == (0.71, "proven")


def test_where_too_many_are_wrong_the_threshold_goes_up_without_a_proof() -> None:
    answers = [*right(60, 0.9), *wrong(10, 0.7)]
    assert threshold_for(answers, RISK, DEFAULT, FLOOR) == (0.71, "raised")
    one_left = [*right(40, 0.9), *wrong(1, 0.9), *wrong(10, 0.7)]
    assert threshold_for(one_left, RISK, DEFAULT, FLOOR) == (0.71, "raised")
    hopeless = [*right(60, 0.9), *wrong(10, 0.995)]
    assert threshold_for(hopeless, RISK, DEFAULT, FLOOR) == (1.0, "raised")


def decided(topic: str, right: str, confidence: float) -> DecidedQuestion:
    return DecidedQuestion(
        topic=topic, right=(right,) if right else (), confidence=confidence, step=CascadeStep.DECIDED
    )


MANY = [
    *[decided("document:1", "document:1", 0.55)] * 20,
    *[decided("document:1", "document:1", 0.8)] * 160,
    decided("field:plan", "document:1", 0.9),
    decided("field:plan", "field:plan", 0.7),
    decided("document:1", "", 0.3),
]


def test_each_kind_has_its_own_threshold_and_says_what_it_was_computed_from() -> None:
    documents, fields = thresholds(MANY, RISK, DEFAULT, FLOOR)
    assert (documents.kind, documents.verdict, documents.threshold) == ("document", "proven", FLOOR)
    assert (documents.answers, documents.wrong, documents.questions) == (180, 0, 181)
    assert (documents.right, documents.right_before) == (180, 160)
    assert documents.high == pytest.approx(0.0165, abs=1e-4)
    assert (fields.verdict, fields.threshold, fields.answers, fields.wrong) == ("kept", DEFAULT, 2, 1)


def test_the_table_says_where_there_are_too_few_answers() -> None:
    made = CompanyCalibration(
        made_at=datetime(2026, 11, 23, tzinfo=UTC),
        risk=RISK,
        made_for=MadeFor(combiner="x", embedders=("minilm",), model_votes="never", model=""),
        made_from=MadeFrom(examples=3, without_topic=1, mails=0, topics="t", threshold_answer=DEFAULT),
        sharpness=1.0,
        none_shift=0.0,
        thresholds=thresholds([*MANY, *[decided("series:a", "", 0.999)] * 60], RISK, DEFAULT, FLOOR),
    )
    text = table(made, fit([], Way(Chooser(ScriptedModel([]), PLAIN), {}, DEFAULT, 6), with_progress))
    assert "document: 0.50 proven; 0 of 180 answers wrong (share 0.000 to 0.017); 180 of 181 questions right" in text
    assert "180 of 181 questions right, 160 before" in text
    assert "field: 0.60 kept; 1 of 2 answers wrong" in text
    assert "series: 1.00 raised; no threshold keeps the risk, so a person answers" in text
    assert "149 without a wrong one would prove 0.02" in text
