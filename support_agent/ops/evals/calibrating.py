"""Fits the choice to one company: `support-agent calibrate`.

Maximum likelihood fits two numbers: the sharpness of the probabilities, and the shift of "none of the topics". A prior
keeps both near no change, so that few questions change little. Then each kind of topic gets a threshold. A threshold
below `planner.threshold_answer` must be proven, step by step downwards, so that the bound holds however many are tried.
Checked by tests/unit/ops/evals/test_calibrating.py.
Source: temperature and bias as in Guo et al. 2017; fixed sequence of tests as in Angelopoulos et al. 2021.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from math import ceil, exp, log
from typing import NamedTuple, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]

from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.facts.topics import topics_of, version_of_topics
from support_agent.mail.machines import screening
from support_agent.mail.message import Message
from support_agent.ops.evals.intents import DecidedQuestion, Way, decided_of
from support_agent.ops.evals.leaving_out import EVERY, LabelledQuestion, examples_of, left_out, of_mails, without_topic
from support_agent.ops.evals.mail_labels import MailLabel, require_known
from support_agent.ops.evals.measures import CERTAINTY, Ranked, bounds, calibration_error
from support_agent.ops.evals.opening import open_chooser, open_search
from support_agent.planner.calibration import (
    CompanyCalibration,
    KindThreshold,
    MadeFrom,
    TopicKind,
    Verdict,
    made_for,
)
from support_agent.planner.choice import NONE_KEY, Choice, Chooser
from support_agent.planner.combiner import Calibration
from support_agent.planner.topics import topic_option

T = TypeVar("T")
LEAST = 1e-9
"""Smallest probability in a logarithm."""
SHARPNESS_PRIOR, SHIFT_PRIOR = 0.25, 0.5
"""Standard deviations of the prior on the logarithm of the sharpness and on the shift of `none`."""
STEPS = 100
"""Only hundredths are tried as thresholds."""
FEWEST_WRONG = 3
"""While there are too few answers, fewer wrong ones raise no threshold."""


class WithProgress(Protocol):
    """Shows how far a loop is."""

    def __call__(self, items: Iterable[T], what: str, total: int) -> Iterable[T]:
        """The items; `total` is how many there are, or at most may be."""
        ...


class Fit(NamedTuple):
    """The calibration, and how all questions are decided without and with it."""

    calibration: Calibration
    before: list[DecidedQuestion]
    after: list[DecidedQuestion]


def calibrate(
    settings: Settings, risk: float, labels: Sequence[MailLabel], made_at: datetime, with_progress: WithProgress
) -> tuple[CompanyCalibration, Fit]:
    """Adjust the choice to the company of the configuration.

    Args:
        risk: The share of wrong answers that is allowed, 0..1.
        labels: Labelled mails of the company; their questions are added to its example questions.
        with_progress: Shows how far it is: it takes minutes.
    Raises:
        ConfigError: a file of the company or a model cannot be used, or a label names what the company does not have.
    """
    company, planner = Company.load(settings.company), settings.planner
    require_known(labels, company)
    topics, search = topics_of(company), open_search(settings)
    examples = examples_of(company, topics)
    every = sum(len(alike) for own in examples.values() for alike in own)
    sampled = sum(len(alike) for own in examples.values() for alike in own[::EVERY])
    groups = [
        list(with_progress(left_out(topics, examples, search), "questions without their example", every)),
        list(with_progress(without_topic(topics, examples, search), "questions without their topic", sampled)),
    ]
    search.update(topics)
    groups.append(list(of_mails(labels, search, partial(_reaches_choice, settings, company))))
    options = {topic.key: topic_option(topic.key, company.by_number, company.accounts) for topic in topics}
    with open_chooser(settings) as chooser:
        way = Way(chooser, options, planner.threshold_answer, planner.shortlist)
        found = fit([one for group in groups for one in group], way, with_progress)
    made = CompanyCalibration(
        made_at=made_at,
        risk=risk,
        made_for=made_for(settings),
        made_from=MadeFrom(
            examples=len(groups[0]),
            without_topic=len(groups[1]),
            mails=len(groups[2]),
            topics=version_of_topics(topics),
            threshold_answer=planner.threshold_answer,
        ),
        sharpness=found.calibration.sharpness,
        none_shift=found.calibration.none_shift,
        thresholds=thresholds(found.after, risk, planner.threshold_answer, planner.threshold_floor),
    )
    return made, found


def _reaches_choice(settings: Settings, company: Company, message: Message) -> bool:
    accounts = company.accounts
    found = screening.screen(message, settings.agent, settings.desk, lambda a: accounts.customer(a) is not None)
    return found.verdict is screening.Verdict.ANSWER


def fit(asked: Sequence[LabelledQuestion], way: Way, with_progress: WithProgress) -> Fit:
    """Fit the calibration to questions whose right topics are known, then decide them again with it.

    Args:
        way: How to decide, without a calibration.
        with_progress: Shows how far it is.
    """
    first = with_progress(asked, "questions decided", len(asked))
    choices = [way.choose(one.question, one.matches) for one in first]
    calibration = fitted([(choice, one.right) for choice, one in zip(choices, asked, strict=True)])
    chooser = way.chooser
    adjusted = way._replace(
        chooser=Chooser(chooser.model, chooser.combiner, calibration=calibration, model_votes=chooser.model_votes)
    )
    second = with_progress(asked, "decided again", len(asked))
    again = [adjusted.choose(one.question, one.matches) for one in second]
    before, after = (
        [decided_of(choice, one.right - {NONE_KEY}, way.least) for choice, one in zip(of, asked, strict=True)]
        for of in (choices, again)
    )
    return Fit(calibration, before, after)


def fitted(choices: Sequence[tuple[Choice, frozenset[str]]]) -> Calibration:
    """The sharpness and shift that make the right options most likely, with the prior.

    Args:
        choices: Made without a calibration, each with its right topics; if none is on the list, `NONE_KEY` is right.
    """
    longest = max((len(choice.votes) for choice, _ in choices), default=0)
    scores = np.full((len(choices), longest), -np.inf)
    none, right = np.zeros_like(scores), np.zeros_like(scores)
    for row, (choice, keys) in enumerate(choices):
        votes = choice.votes
        scores[row, : len(votes)] = [log(max(LEAST, vote.probability)) for vote in votes]
        none[row, : len(votes)] = [vote.key == NONE_KEY for vote in votes]
        found = [vote.key in keys for vote in votes]
        right[row, : len(votes)] = found if any(found) else none[row, : len(votes)]

    def loss(tried: NDArray[np.float64]) -> float:
        log_sharpness, shift = map(float, tried)
        raised = np.exp(exp(log_sharpness) * scores + shift * none)
        hits = (raised * right).sum(axis=1) / raised.sum(axis=1)
        prior = (log_sharpness / SHARPNESS_PRIOR) ** 2 / 2 + (shift / SHIFT_PRIOR) ** 2 / 2
        return prior - float(np.log(np.maximum(hits, LEAST)).sum())

    log_sharpness, shift = map(float, minimize(loss, np.zeros(2), method="Nelder-Mead").x)
    return Calibration(sharpness=round(exp(log_sharpness), 4), none_shift=round(shift, 4))


def thresholds(
    decided: Sequence[DecidedQuestion], risk: float, default: float, floor: float
) -> tuple[KindThreshold, ...]:
    """The threshold of each kind of topic that a question is about or is answered with.

    Args:
        risk: The share of wrong answers that is allowed, above 0.
        default: `planner.threshold_answer`.
        floor: The lowest threshold allowed.
    """
    found = (_of_kind(kind, decided, risk, default, floor) for kind in get_args(TopicKind))
    return tuple(one for one in found if one.questions or one.answers or one.verdict != "kept")


def _of_kind(
    kind: TopicKind, decided: Sequence[DecidedQuestion], risk: float, default: float, floor: float
) -> KindThreshold:
    answers = [one for one in decided if one.topic.partition(":")[0] == kind]
    threshold, verdict = threshold_for(answers, risk, default, floor)
    count, wrong = counts(answers, threshold)
    low, high = bounds(wrong, count) if count else (0.0, 1.0)
    return KindThreshold(
        kind=kind,
        verdict=verdict,
        threshold=threshold,
        answers=count,
        wrong=wrong,
        low=low,
        high=high,
        questions=sum(any(key.partition(":")[0] == kind for key in one.right) for one in decided),
        right=count - wrong,
        right_before=counts(answers, default)[0] - counts(answers, default)[1],
    )


def threshold_for(answers: Sequence[Ranked], risk: float, default: float, floor: float) -> tuple[float, Verdict]:
    """The threshold that keeps the share of wrong answers below the risk, and how sure that is.

    1. If the upper bound at the default is within the risk: lower it by hundredths while that holds.
    2. Else the lowest threshold above the default whose upper bound is within the risk.
    3. Else, with enough answers for a proof, or with three wrong ones and a lower bound above the risk: the lowest
       threshold at which the share of wrong answers is within the risk; one wrong answer is tolerated.
    4. Else the default: there are too few answers.
    """

    def is_proven(threshold: float) -> bool:
        count, wrong = counts(answers, threshold)
        return count > 0 and bounds(wrong, count)[1] <= risk

    def is_within(threshold: float) -> bool:
        count, wrong = counts(answers, threshold)
        return wrong <= max(1, risk * count) and bounds(wrong, count)[0] <= risk

    if is_proven(default):
        lower = [step / STEPS for step in range(ceil(default * STEPS) - 1, ceil(floor * STEPS) - 1, -1)]
        unproven = next((place for place, step in enumerate(lower) if not is_proven(step)), len(lower))
        return ([default, *lower][unproven], "proven")
    higher = [step / STEPS for step in range(int(default * STEPS) + 1, STEPS + 1)]
    if proven := next(filter(is_proven, higher), None):
        return proven, "proven"
    count, wrong = counts(answers, default)
    is_broken = wrong >= FEWEST_WRONG and bounds(wrong, count)[0] > risk
    raised = next(filter(is_within, [default, *higher]), 1.0)
    if raised > default and (is_broken or count >= answers_needed(risk)):
        return raised, "raised"
    return default, "kept"


def counts(answers: Sequence[Ranked], threshold: float) -> tuple[int, int]:
    """The number of answers that are sure enough, and of wrong ones among them."""
    sure = [one.is_right for one in answers if one.confidence >= threshold]
    return len(sure), len(sure) - sum(sure)


def answers_needed(risk: float) -> int:
    """The number of answers, all right, that proves that no more than this share is wrong."""
    return ceil(log(1 - CERTAINTY) / log(1 - risk))


def table(made: CompanyCalibration, found: Fit) -> str:
    """The calibration as text."""
    origin = made.made_from
    lines = [
        f"computed from {origin.examples} example questions, each left out, {origin.without_topic} of them again "
        f"without their topic and the nearest one, and {origin.mails} questions of mails",
        f"for combiner {made.made_for.combiner}, embedders {', '.join(made.made_for.embedders)}, "
        f"model_votes {made.made_for.model_votes}",
        f"sharpness {made.sharpness:.3f}, none {made.none_shift:+.3f}; expected calibration error "
        f"{calibration_error(found.before):.3f} before, {calibration_error(found.after):.3f} with it",
        *map(_in_words, made.thresholds),
    ]
    if any(one.verdict == "kept" for one in made.thresholds):
        needed = answers_needed(made.risk)
        lines.append(f"kept: too few answers to say; {needed} without a wrong one would prove {made.risk:g}")
    return "\n".join(lines)


def _in_words(one: KindThreshold) -> str:
    wrong = f"{one.wrong} of {one.answers} answers wrong (share {one.low:.3f} to {one.high:.3f})"
    if not one.answers:
        wrong = "no threshold keeps the risk, so a person answers" if one.verdict == "raised" else "no answers"
    before = f", {one.right_before} before" if one.right_before != one.right else ""
    right = f"{one.right} of {one.questions} questions right{before}"
    return f"{one.kind}: {one.threshold:.2f} {one.verdict}; {wrong}; {right}"
