"""Combines the signals and votes on a question's topics into one probability per topic, and one for `none`.

A conditional logit: the score of a topic is a weighted sum of its features relative to the other topics, and `none` has
a score computed from the whole list. Hidden units add what features say only together. If the language model was asked,
its votes are added. The weights were fitted on many companies (`combiner.json`, written by `python -m
tests.benchmarks.fit`); `support-agent calibrate` adjusts them to one company.

Invariant: the probabilities add up to one; unknown features count as zero. Checked by
tests/unit/planner/test_combiner.py. Source: conditional logit as in McFadden 1974, with one hidden layer as in Bridle
1990.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from statistics import fmean, pstdev

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter

from support_agent.config.embedding import EMBEDDERS, set_name
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.tools.base import Match
from support_agent.tools.signals import Signals, TextKind

KINDS: tuple[TextKind, ...] = ("head", "question", "section")
ACCOUNT = ("field:", "series:", "record:")
WEIGHTS_FILE = "combiner.json"
FEW = 1e-6
"""Added to a standard deviation, which is zero if all topics are equal."""
TENTHS = 10.0
"""Factor for features that are not standardised: cosines differ by tenths, so this keeps weights of similar size."""
Features = dict[str, float]


class Votes(Frozen):
    """The language model's pick by title and its yes or no for one option; None if it was not asked."""

    picked: float | None = None
    judged: float | None = None


class Calibration(Frozen):
    """Adjusts the weights to one company; the default changes nothing."""

    sharpness: float = 1.0
    """Factor of all scores."""
    none_shift: float = 0.0
    """Added to the multiplied score of `none`."""
    thresholds: dict[str, float] = Field(default_factory=dict)
    """The probability an answer needs, by kind of topic ("document"); other kinds use `planner.threshold_answer`."""
    version: str = ""
    """Stored with each plan; "" for the default."""


class HiddenUnits(Frozen):
    """1..n hidden units (tanh), each of which sees an option's features beside those of the whole list.

    Each tuple has one weight a unit: of a feature of a topic; of a feature of the list, which counts for every option;
    of being `none`; the constant; and of the unit in the score.
    """

    topic: dict[str, tuple[float, ...]]
    none: dict[str, tuple[float, ...]]
    is_none: tuple[float, ...]
    bias: tuple[float, ...]
    out: tuple[float, ...]

    def scores(self, topics: Sequence[Features], none: Features) -> list[float]:
        """What the units add to the score of each topic and, last, of `none`."""
        every = np.array(self.bias) + _unit_sums([none], self.none)
        of_topics = _unit_sums(topics, self.topic) + every
        values: list[float] = (np.tanh(np.vstack([of_topics, every + np.array(self.is_none)])) @ self.out).tolist()
        return values


class CombinerWeights(Frozen):
    """Weights by feature, for topics and for `none`, and what hidden units add."""

    topic: dict[str, float]
    none: dict[str, float]
    hidden: HiddenUnits | None = None

    def scores(self, topics: Sequence[Features], none: Features) -> list[float]:
        """The scores of the topics and, last, of `none`."""
        scores = [*(_dot(self.topic, features) for features in topics), _dot(self.none, none)]
        if self.hidden is None:
            return scores
        return [score + more for score, more in zip(scores, self.hidden.scores(topics, none), strict=True)]


class ModelWeights(Frozen):
    """Weights of the language model's votes, and of the score before it was asked (`before`).

    The `_bare` weights are added for topics without examples, which have few other signals.
    """

    before: float = 1.0
    picked: float = 0.0
    judged: float = 0.0
    is_judged: float = 0.0
    picked_bare: float = 0.0
    judged_bare: float = 0.0
    none_picked: float = 0.0

    def score(self, before: float, vote: Votes, features: Features) -> float:
        """The score of a topic with the model's votes on it."""
        bare = features.get("no_examples", 0.0)
        picked, judged = vote.picked or 0.0, vote.judged or 0.0
        return (
            self.before * before
            + (self.picked + bare * self.picked_bare) * picked
            + (self.judged + bare * self.judged_bare) * judged
            + self.is_judged * float(vote.judged is not None)
        )


class Combiner(Frozen):
    """Weights without and with the language model; `version` changes with any of them."""

    version: str
    silent: CombinerWeights
    asked: ModelWeights

    def chances(
        self, topics: Sequence[Features], none: Features, votes: Sequence[Votes] | None, calibration: Calibration
    ) -> list[float]:
        """Probabilities of the topics and, last, of `none`.

        Args:
            topics: Features of each topic, from `features_of`.
            none: Features of the whole list.
            votes: On each topic and, last, on `none`; None if the language model was not asked.
        """
        *scores, none_score = self.silent.scores(topics, none)
        if votes is not None:
            asked = zip(scores, votes, topics, strict=False)
            scores = [self.asked.score(score, vote, features) for score, vote, features in asked]
            none_score = self.asked.before * none_score + self.asked.none_picked * (votes[-1].picked or 0.0)
        scaled = [calibration.sharpness * score for score in (*scores, none_score)]
        return softmax([*scaled[:-1], scaled[-1] + calibration.none_shift])


@cache
def committed(models: tuple[str, ...] = EMBEDDERS) -> Combiner:
    """The packaged weights for these embedders.

    Raises:
        ConfigError: no weights were fitted for them.
    """
    text = files(__package__).joinpath(WEIGHTS_FILE).read_text(encoding="utf-8")
    fitted = TypeAdapter(dict[str, Combiner]).validate_json(text)
    found = fitted.get(set_name(models))
    if found is None:
        known = "; ".join(name.replace("+", ", ") for name in fitted)
        raise ConfigError(
            f"embedding.models {', '.join(models)}: no weights were fitted for this combination: write one of: {known}"
        )
    return found


def features_of(matches: Sequence[Match]) -> tuple[list[Features], Features]:
    """The features of each topic, in the order given, and those of the whole list for `none`.

    Args:
        matches: Every topic that may answer, 0..n; of no topics there are no features.
    """
    if not matches:
        return [], {}
    signals = [match.signals or _of_score(match.score) for match in matches]
    is_account = [match.topic.startswith(ACCOUNT) for match in matches]
    topics: list[Features] = [
        {
            "no_examples": float(not own.examples),
            "account": float(is_value),
            "account.asked": is_value * own.account_log_odds,
        }
        for own, is_value in zip(signals, is_account, strict=True)
    ]
    for embedder in EMBEDDERS:
        _add_likeness(topics, signals, embedder)
    _add_words(topics, signals)
    _add_classifier(topics, signals)
    return topics, _of_list(topics, signals)


def _of_score(score: float) -> Signals:
    """Signals of a topic with a similarity only."""
    return Signals(likeness={EMBEDDERS[0]: {"head": score}})


def _add_likeness(topics: list[Features], signals: Sequence[Signals], embedder: str) -> None:
    """Similarities standardised over the list, multiplied by how well the embedder reads the question's language."""
    fluency = signals[0].fluency.get(embedder, 1.0)
    for kind in KINDS:
        near = [own.likeness.get(embedder, {}).get(kind) for own in signals]
        for features, value in zip(topics, standardised(near), strict=True):
            features[f"{embedder}.{kind}"] = fluency * value
    nearest = [nearest_of(own, embedder) for own in signals]
    for place, (features, value) in enumerate(zip(topics, standardised(nearest), strict=True)):
        features[f"{embedder}.any"] = fluency * value
        features[f"{embedder}.raw"] = fluency * TENTHS * (nearest[place] or 0.0)
        features[f"{embedder}.lead"] = fluency * TENTHS * _lead(nearest, place)
        features[f"{embedder}.above"] = fluency * TENTHS * _above(nearest, place)


def _add_words(topics: list[Features], signals: Sequence[Signals]) -> None:
    fluency = signals[0].fluency.get(EMBEDDERS[0], 1.0)
    words = [own.words for own in signals]
    for features, own, value in zip(topics, words, standardised(words), strict=True):
        raw = TENTHS / 2 * (own or 0.0)
        features |= {
            "words": value,
            "words.raw": raw,
            "words.fluent": fluency * value,
            "words.raw.fluent": fluency * raw,
        }


def _add_classifier(topics: list[Features], signals: Sequence[Signals]) -> None:
    scores = [own.classifier for own in signals]
    for place, (features, own, value) in enumerate(zip(topics, scores, standardised(scores), strict=True)):
        known = own is not None
        features["classifier"] = value
        features["classifier.raw"] = TENTHS / 2 * (own or 0.0)
        features["classifier.lead"] = TENTHS / 2 * _lead(scores, place) if known else 0.0


def _of_list(topics: Sequence[Features], signals: Sequence[Signals]) -> Features:
    """Features of `none`: the highest similarity, its lead over the others, how far the voters agree, and the kind."""
    none: Features = {"bias": 1.0, "topics": math.log(len(signals)), "length": math.log(1 + signals[0].characters)}
    tops = []
    for embedder in EMBEDDERS:
        fluency = signals[0].fluency.get(embedder, 1.0)
        nearest = [nearest_of(own, embedder) for own in signals]
        known = [value for value in nearest if value is not None]
        if not known:
            continue
        best = nearest.index(max(known))
        tops.append(best)
        none[f"{embedder}.most"] = fluency * TENTHS * max(known)
        none[f"{embedder}.lead"] = fluency * TENTHS * _lead(nearest, best)
        none[f"{embedder}.above"] = fluency * TENTHS * _above(nearest, best)
    none["words.most"] = max(features["words.raw"] for features in topics)
    classified = [own.classifier for own in signals if own.classifier is not None]
    if classified:
        none["classifier.most"] = TENTHS / 2 * max(classified)
        tops.append(max(range(len(signals)), key=lambda place: signals[place].classifier or 0.0))
    none["disagreement"] = float(len(set(tops)))
    none["person.asked"] = signals[0].person_log_odds
    none["fluency"] = signals[0].fluency.get(EMBEDDERS[0], 1.0)
    return none


def nearest_of(signals: Signals, embedder: str) -> float | None:
    """The highest cosine over all kinds of text; None if the embedder compared none."""
    return max(signals.likeness.get(embedder, {}).values(), default=None)


def standardised(values: Sequence[float | None]) -> list[float]:
    """Z-scores; 0 for unknown values."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return [0.0] * len(values)
    mean, deviation = fmean(known), pstdev(known)
    return [0.0 if value is None else (value - mean) / (deviation + FEW) for value in values]


def _lead(values: Sequence[float | None], place: int) -> float:
    """The lead of the highest value over the second highest; 0 for all other values."""
    own = values[place]
    others = [value for index, value in enumerate(values) if value is not None and index != place]
    return max(0.0, own - max(others)) if own is not None and others else 0.0


def _above(values: Sequence[float | None], place: int) -> float:
    own = values[place]
    return 0.0 if own is None else own - fmean(value for value in values if value is not None)


def _unit_sums(rows: Sequence[Features], weights: Mapping[str, Sequence[float]]) -> NDArray[np.float64]:
    """The weighted sums of features for each unit, shape (rows, units).

    Args:
        rows: Features of each option, 0..n.
        weights: One weight a unit, by feature.
    """
    values = [[features.get(name, 0.0) for name in weights] for features in rows]
    sums: NDArray[np.float64] = np.reshape(values, (len(rows), len(weights))) @ np.array([*weights.values()])
    return sums


def _dot(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    return sum(weight * features.get(name, 0.0) for name, weight in weights.items())


def softmax(scores: Sequence[float]) -> list[float]:
    """Probabilities that add up to one."""
    peak = max(scores)
    raised = [math.exp(score - peak) for score in scores]
    total = sum(raised)
    return [value / total for value in raised]
