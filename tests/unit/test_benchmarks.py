"""What the benchmarks claim: the committed weights come from the recorded votes, and an invented number is seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from support_agent.company.company import Company
from support_agent.facts.search import entries_of
from support_agent.model import Prompt, Scores, Usage
from support_agent.planner.choice import (
    NONE_KEY,
    NONE_TITLE,
    TOPIC_VERSION,
    WEIGHTS,
    Chooser,
    Option,
    Weights,
)
from tests.benchmarks.__main__ import invented_numbers
from tests.benchmarks.fit import (
    RECORDED,
    STAGES,
    SURE,
    Fit,
    Voted,
    committed,
    cross_validated,
    fit,
    made,
    other_questions,
    pasted,
    read,
    topic_of,
    tuning_questions,
    weights_of,
)
from tests.fakes_journey import make_company
from tests.labelled import labels

VOTES = read(RECORDED)


class RecordedModel:
    """Says what was recorded of one question: yes or no to each option, its pick from no mail and from the mail."""

    name = "recorded"

    def __init__(self, question: Voted) -> None:
        titles = (*question.options, NONE_TITLE)
        self._lists = {titles: iter([question.prior, question.picked])}
        self._judged = iter([(min(0.0, odds), min(0.0, -odds)) for odds in question.judged])

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        """The options that are asked about are the most similar ones, in their order."""
        said = self._judged if tuple(options) == ("yes", "no") else self._lists[tuple(options)]
        return Scores(log_probabilities=next(said), usage=Usage())


@pytest.fixture(scope="module", name="found")
def _found() -> Fit:
    return fit(VOTES)


def test_the_committed_weights_are_what_the_recorded_votes_give(found: Fit) -> None:
    """Whoever changes a weight by hand changes the votes or the fit as well, or sees this fail."""
    stands = committed()
    for name in Fit.model_fields:
        assert getattr(stands, name) == pytest.approx(getattr(found, name), abs=0.002)
    assert all(weights.mentioned == 0 for weights in STAGES.values())


def test_a_fit_to_other_votes_gives_other_weights() -> None:
    """The comparison above can fail: 86 of the 213 questions make a difference far beyond rounding."""
    found = fit([question for question in VOTES if question.mail])
    assert abs(found.whole[0] - WEIGHTS.similarity) > 0.1


def test_the_fit_makes_the_choices_that_the_product_makes() -> None:
    """Fitted on other features than those the choice is made with, weights would mean nothing."""
    listed: Counter[bool] = Counter()
    for question in VOTES:
        options = [
            Option(key=key, title=key, similarity=similarity)
            for key, similarity in zip(question.options, question.similarity, strict=True)
        ]
        choice = Chooser(RecordedModel(question)).topic(question.question, options, SURE)
        mine = made(question, committed())
        said = {vote.key: vote.probability for vote in choice.votes}
        assert [said[key] for key in (*question.options, NONE_KEY)] == pytest.approx(list(mine.chances), abs=1e-9)
        assert (choice.votes[0].picked is not None) == mine.is_listed
        listed[mine.is_listed] += 1
    assert min(listed[True], listed[False]) > 20


def test_the_recorded_votes_are_of_the_tuning_mails_and_the_other_questions_only() -> None:
    """What is only reported, the labelled mails, is never fitted on."""
    tuning = {label.path.name for label in labels("tuning")}
    assert {question.mail for question in VOTES} - {""} <= tuning
    asked = [(question.question, question.topics) for question in VOTES if not question.mail]
    assert asked == [(question.question, question.topics) for question in other_questions()]


def test_the_recorded_topics_are_those_of_the_labels() -> None:
    """A label that was corrected since needs its topic corrected, too."""
    wanted = {(question.mail, question.topics) for question in tuning_questions()}
    recorded = {(question.mail, question.topics) for question in VOTES if question.mail}
    mails = {mail for mail, _ in wanted} & {mail for mail, _ in recorded}
    assert len(mails) > 90
    assert {pair for pair in recorded if pair[0] in mails} == {pair for pair in wanted if pair[0] in mails}


def test_the_other_questions_are_at_least_two_on_each_topic_of_the_demo_company(tmp_path: Path) -> None:
    company = Company.load(make_company(tmp_path))
    try:
        topics = {entry.key for entry in entries_of(company)}
    finally:
        company.accounts.close()
    counts = Counter(question.topics[0] for question in other_questions())
    assert set(counts) == topics
    assert min(counts.values()) >= 2


@pytest.mark.parametrize(
    ("outcome", "topic"),
    [
        ("send_document(7)", "document:7"),
        ("send_account_field(plan)", "field:plan"),
        ("send_aggregate(payments,2025,total)", "series:payments"),
        ("send_table(storage,last_year)", "series:storage"),
        ("calculate(payments,2025,total,subtract,payments,2024,total)", "series:payments"),
        ("escalate", NONE_KEY),
        ("ask_clarification", NONE_KEY),
    ],
)
def test_the_topic_of_an_outcome(outcome: str, topic: str) -> None:
    assert topic_of(outcome) == topic


def test_none_is_right_where_no_topic_of_the_question_is_on_its_list() -> None:
    listed = VOTES[0].model_copy(update={"topics": (VOTES[0].options[1],)})
    missed = VOTES[0].model_copy(update={"topics": ("document:999",)})
    assert listed.right == [False, True, False, False, False, False, False]
    assert missed.right == [False] * 6 + [True]


def test_fitted_weights_are_printed_as_they_stand_in_the_program(found: Fit) -> None:
    names = {"Weights": Weights, "TOPIC_VERSION": TOPIC_VERSION}
    printed = pasted("X", weights_of(found.whole, "WEIGHTS"))
    assert eval(printed.removeprefix("X = "), names) == WEIGHTS


def test_questions_held_out_are_counted_once_each() -> None:
    told = cross_validated(VOTES).splitlines()
    assert f"of {len(VOTES)} right at the top" in told[0]
    assert "of those the list was asked for" in told[1]


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
