"""What the benchmarks claim: weights come out of a fit that can be repeated, and an invented number is seen."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support_agent.company.company import Company
from support_agent.facts.topics import Topic, topics_of
from support_agent.ops.evals.mail_labels import topic_of
from support_agent.planner.choice import NONE_KEY
from support_agent.planner.combiner import Calibration, Combiner, CombinerWeights, ModelWeights, Votes, committed
from support_agent.tools.base import Match
from tests.benchmarks import sections
from tests.benchmarks.__main__ import invented_numbers
from tests.benchmarks.companies import COMPANIES, FITTED, QUESTIONS, is_refused, mails_of
from tests.benchmarks.documents import in_other_words, topics
from tests.benchmarks.fit import Group, Question, fit, fit_asked, read_votes, title_questions, told
from tests.benchmarks.logit import Layer, Shown, fitted, fitted_layer
from tests.benchmarks.sizes import asked, made
from tests.fakes_journey import make_company
from tests.labelled import labels
from tests.unit.benchmarks.test_logit import scores
from tests.unit.tools.fakes import FakeSearch, document

REPORTED = ("rail", "insurer")


def group(name: str, helpful: str, votes: float | None = None) -> Group:
    """Questions of which one feature says what is right; the first half has an answer."""
    questions = []
    for number in range(20):
        is_answerable = number < 10
        right = [is_answerable, False]
        topics = [{helpful: float(one) + number / 100, "noise": (number % 3) / 3} for one in right]
        said = (
            {
                f"document:{place}": Votes(picked=0.0, judged=(votes if one else -votes))
                for place, one in enumerate(right)
            }
            if votes
            else {}
        )
        questions.append(
            Question(
                f"q{number}", ("document:0", "document:1"), topics, {"bias": 1.0}, (*right, not is_answerable), said
            )
        )
    return Group(name, questions)


def test_a_fit_finds_what_tells_right_from_wrong() -> None:
    weights = fit([group("one", "near"), group("two", "near")])
    assert weights.topic["near"] > 3 * abs(weights.topic["noise"])


def test_the_program_scores_a_question_as_the_fit_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: what is written for the program is the fit, of topics and of `none`, up to what is rounded."""
    made_of: list[tuple[Sequence[Sequence[Shown]], Layer]] = []

    def kept(lists: Sequence[Sequence[Shown]], *rest: Any) -> Layer:
        made_of.append((lists, fitted_layer(lists, *rest)))
        return made_of[-1][1]

    monkeypatch.setattr("tests.benchmarks.fit.fitted_layer", kept)
    asked = group("one", "near").questions
    asked = [one._replace(none={"bias": 1.0, "most": place % 7, "lead": place % 3}) for place, one in enumerate(asked)]
    weights = fit([Group("one", asked, 30.0)])
    ((((lists,), layer)),) = made_of
    for one, shown in zip(asked, lists, strict=True):
        assert weights.scores(one.topics, one.none) == pytest.approx(scores(layer, shown), abs=0.02)


def test_of_each_title_one_question_is_answered_and_one_that_only_names_it_is_not() -> None:
    made = title_questions([Topic(key="document:1", title="Refunds"), Topic(key="field:plan", title="Your plan")])
    assert [one.topics for one in made] == [("document:1",), (NONE_KEY,), ("field:plan",), (NONE_KEY,)]
    assert all(title in one.question for title, one in zip(("Refunds",) * 2 + ("Your plan",) * 2, made, strict=True))
    assert len({one.question for one in made}) == 4


def test_a_fit_to_other_companies_gives_other_weights() -> None:
    assert fit([group("one", "near")]) != fit([group("one", "far")])


def test_the_language_models_votes_weigh_as_much_as_they_help() -> None:
    silent = CombinerWeights(topic={}, none={})
    helpful, none = (fit_asked([group("one", "near", votes=said)], [silent]) for said in (3.0, None))
    assert helpful.judged > 0.3
    assert none == ModelWeights()


def test_what_a_fit_is_told_to_be_worth_is_counted() -> None:
    combiner = Combiner(version="x", silent=fit([group("one", "near")]), asked=ModelWeights())
    assert told(group("one", "near"), combiner, is_asked=False).startswith("10 of 10 right at the top")
    assert told(group("one", "near"), combiner, is_asked=True) == ""


def test_the_committed_weights_exist_for_each_set_of_embedders_that_may_be_chosen() -> None:
    for models in (("minilm", "use"), ("minilm", "use", "e5")):
        combiner = committed(models)
        assert combiner.silent.topic
        assert combiner.chances([], {"bias": 1.0}, None, Calibration()) == [1.0]


def test_the_recorded_votes_are_of_questions_that_may_be_fitted() -> None:
    """What is only reported is never fitted on."""
    assert read_votes("demo")
    for name in REPORTED:
        assert name not in FITTED
        assert read_votes(name) == []


def test_no_labelled_mail_is_among_what_is_fitted() -> None:
    reported = {label.path.read_bytes() for label in labels("labelled")}
    assert not reported & {label.path.read_bytes() for label in labels("tuning")}


@pytest.mark.parametrize("name", [*FITTED, *REPORTED])
def test_a_made_up_company_has_eighty_mails_or_more_in_eight_languages(name: str) -> None:
    mails = mails_of(name)
    assert len({mail.id for mail in mails}) == len(mails) >= 80
    languages = Counter(mail.language for mail in mails)
    assert set(languages) == {"en", "de", "es", "fr", "it", "nl", "pt", "pl"}
    assert min(languages.values()) >= 8
    documents = {int(path.name[:3]) for path in (COMPANIES / name / "policies").glob("*.md")}
    for mail in mails:
        asked = {topic_of(outcome) or NONE_KEY for outcomes in mail.expected for outcome in outcomes}
        assert {int(key.partition(":")[2]) for key in asked if key.startswith("document:")} <= documents


def test_a_mail_about_a_record_that_does_not_exist_teaches_the_choice_nothing() -> None:
    shop = {mail.id: mail for mail in mails_of("shop")}
    assert is_refused(shop["019"])  # asks for an order that is not there
    assert is_refused(next(mail for mail in mails_of("office") if mail.id == "064"))  # mistypes a number of their own
    assert not is_refused(shop["005"])  # asks for one that is
    assert not is_refused(shop["014"])  # no document covers it: a person is the right choice


def test_the_other_questions_are_at_least_two_on_each_topic_of_the_demo_company(tmp_path: Path) -> None:
    company = Company.load(make_company(tmp_path))
    try:
        topics = {topic.key for topic in topics_of(company) if not topic.key.startswith("record:")}
    finally:
        company.accounts.close()
    rows = map(json.loads, QUESTIONS.read_text(encoding="utf-8").splitlines())
    counts = Counter(row["topic"] for row in rows)
    assert set(counts) == topics
    assert min(counts.values()) >= 2


@pytest.mark.parametrize(
    ("reply", "invented"),
    [
        ("You have 14 days.", set()),
        ("You have 30 days.", {"30"}),
        ("1. Open the settings.\n2. Wait 14 days.", set()),
        ("Up to 1500 files, 38 EUR.", set()),
        ("Up to 1,500 files, 38.00 EUR.", set()),
        ("Up to 15 files, 38.50 EUR.", {"15", "38.50"}),
        ("By 12:30.", {"12:30"}),
        ("No number at all.", set()),
    ],
)
def test_a_number_that_the_source_does_not_state_is_invented(reply: str, invented: set[str]) -> None:
    assert invented_numbers(reply, "Within 14 days. Up to 1,500 files for 38.00 EUR.") == invented


def test_the_weights_of_sections_are_those_that_make_the_right_ones_likeliest() -> None:
    """Every company counts the same, however many questions it has."""
    helpful = [(np.array([[1.0, 0.3], [0.0, 0.3], [0.0, 0.3]]), np.array([True, False, False]))] * 3
    contrary = [(np.array([[0.6, 1.0], [0.0, 0.0], [0.0, 0.5]]), np.array([False, True, False]))]
    weights = fitted([helpful, contrary], 0.1)
    assert weights[0] > 0 > weights[1]
    assert fitted([helpful * 9, contrary], 0.1) == pytest.approx(weights, abs=1e-3)
    assert fitted([helpful + contrary], 0.1) != pytest.approx(weights, abs=1e-2)
    questions = [sections.Asked("?", document(1), features, tuple(map(bool, right))) for features, right in helpful]
    assert "3 of 3 right at the top, 3 among" in sections.told("shop", questions, weights)
    assert "0 of 3 right at the top" in sections.told("shop", questions, [-weight for weight in weights])


def test_documents_of_any_number_are_topics_that_can_be_found() -> None:
    """Rule: what choosing among many costs is measured on questions that have an answer."""
    search = FakeSearch([Match(topic=topic.key, score=0.1) for topic in made(3)])
    milliseconds, top, _ = asked(search, in_other_words(topics(3, 4), 6, 4))
    assert (len(milliseconds), sum(top)) == (6, 2)
