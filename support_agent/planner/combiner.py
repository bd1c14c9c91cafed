"""Joins the votes on the topics of a question into one probability each, and one for `none`.

A conditional logit: every topic has a score, a weighted sum of what speaks for it beside the others of the list, and
`none` has one of its own, made of the whole list. Where the language model was asked, its votes are added. The weights
were fitted on many companies (`combiner.json`, written by `python -m tests.benchmarks.fit`), the shift for the company
at hand comes from `support-agent calibrate`.

Invariant: the probabilities add up to one; a topic or `none` that nothing is known of takes part with zeros. Checked
by tests/unit/planner/test_combiner.py.
Source: conditional logit as in McFadden 1974.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from statistics import fmean, pstdev

from pydantic import Field, TypeAdapter

from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.tools.base import Match
from support_agent.tools.signals import Signals, TextKind

EMBEDDERS = ("minilm", "use", "e5")
"""The embedders that the weights know; one that is not there has no say."""
KINDS: tuple[TextKind, ...] = ("head", "question", "section")
ACCOUNT = ("field:", "series:", "record:")
WEIGHTS_FILE = "combiner.json"
FEW = 1e-6
"""Added to a standard deviation, which is zero where all topics are alike."""
TENTHS = 10.0
"""Cosines differ by tenths and less; what is not standardised is multiplied, so that weights are of one size."""
Features = dict[str, float]


class Votes(Frozen):
    """What the language model said of one option, None where nobody asked: of its title on the list, and yes or no."""

    picked: float | None = None
    judged: float | None = None


class Calibration(Frozen):
    """How a company differs from those that the weights were fitted on; the default changes nothing."""

    sharpness: float = 1.0
    """All scores are multiplied by it."""
    none_shift: float = 0.0
    """Added to the score of `none` after that."""
    thresholds: dict[str, float] = Field(default_factory=dict)
    """What an answer needs, by kind of its topic ("document"); of other kinds `planner.threshold_answer`."""
    version: str = ""
    """Kept with each plan; "" for the default."""


class Weights(Frozen):
    """One weight a feature, of topics and of `none`."""

    topic: dict[str, float]
    none: dict[str, float]


class ModelWeights(Frozen):
    """What is added where the language model was asked: how much the score before counts, and its votes.

    Those on a topic without examples have a weight on top: it has little else to show.
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
    """The weights of the votes without the language model, and of its own; `version` changes with any of them."""

    version: str
    silent: Weights
    asked: ModelWeights

    def chances(
        self, topics: Sequence[Features], none: Features, votes: Sequence[Votes] | None, calibration: Calibration
    ) -> list[float]:
        """Probabilities of the topics and, last, of `none`.

        Args:
            topics: Of each topic, as `features_of` gives them.
            none: Of the whole list.
            votes: Of each topic and, last, of `none`; None: the language model was not asked.
        """
        scores = [_dot(self.silent.topic, features) for features in topics]
        none_score = _dot(self.silent.none, none)
        if votes is not None:
            asked = zip(scores, votes, topics, strict=False)
            scores = [self.asked.score(score, vote, features) for score, vote, features in asked]
            none_score = self.asked.before * none_score + self.asked.none_picked * (votes[-1].picked or 0.0)
        scaled = [calibration.sharpness * score for score in (*scores, none_score)]
        return softmax([*scaled[:-1], scaled[-1] + calibration.none_shift])


@cache
def committed(models: tuple[str, ...] = ("minilm", "use")) -> Combiner:
    """The weights that the program comes with for these embedders.

    Raises:
        ConfigError: none were fitted to them.
    """
    text = files(__package__).joinpath(WEIGHTS_FILE).read_text(encoding="utf-8")
    fitted = TypeAdapter(dict[str, Combiner]).validate_json(text)
    found = fitted.get(set_name(models))
    if found is None:
        known = "; ".join(name.replace("+", ", ") for name in fitted)
        raise ConfigError(
            f"embedding.models {', '.join(models)}: no weights were fitted to these: write one of: {known}"
        )
    return found


def set_name(models: Sequence[str]) -> str:
    """The name of a set of embedders in the file of the weights."""
    return "+".join(sorted(models))


def features_of(matches: Sequence[Match]) -> tuple[list[Features], Features]:
    """The features of each topic, in the order given, and those of the whole list for `none`.

    Args:
        matches: Every topic that may answer, 1..n.
    """
    signals = [match.signals or _of_score(match.score) for match in matches]
    topics: list[Features] = [
        {"no_examples": float(not own.examples), "account": float(match.topic.startswith(ACCOUNT))}
        for own, match in zip(signals, matches, strict=True)
    ]
    for embedder in EMBEDDERS:
        _add_likeness(topics, signals, embedder)
    _add_words(topics, signals)
    _add_classifier(topics, signals)
    return topics, _of_list(topics, signals)


def _of_score(score: float) -> Signals:
    """Of a topic of which nothing but a similarity is known."""
    return Signals(likeness={EMBEDDERS[0]: {"head": score}})


def _add_likeness(topics: list[Features], signals: Sequence[Signals], embedder: str) -> None:
    """How near each topic is, standardised over the list, as far as the embedder reads the question's language."""
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
    """What speaks for `none`: how near the nearest is, how alone it stands, how far the voters agree."""
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
    none["fluency"] = signals[0].fluency.get(EMBEDDERS[0], 1.0)
    return none


def nearest_of(signals: Signals, embedder: str) -> float | None:
    """The cosine of the nearest text of any kind; None where the embedder has not compared any."""
    return max(signals.likeness.get(embedder, {}).values(), default=None)


def standardised(values: Sequence[float | None]) -> list[float]:
    """Distances from the mean in standard deviations; 0 for what is unknown."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return [0.0] * len(values)
    mean, deviation = fmean(known), pstdev(known)
    return [0.0 if value is None else (value - mean) / (deviation + FEW) for value in values]


def _lead(values: Sequence[float | None], place: int) -> float:
    """How far the first of all is before the second; 0 for the others."""
    own = values[place]
    others = [value for index, value in enumerate(values) if value is not None and index != place]
    return max(0.0, own - max(others)) if own is not None and others else 0.0


def _above(values: Sequence[float | None], place: int) -> float:
    own = values[place]
    return 0.0 if own is None else own - fmean(value for value in values if value is not None)


def _dot(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    return sum(weight * features.get(name, 0.0) for name, weight in weights.items())


def softmax(scores: Sequence[float]) -> list[float]:
    """Probabilities that add up to one."""
    peak = max(scores)
    raised = [math.exp(score - peak) for score in scores]
    total = sum(raised)
    return [value / total for value in raised]
