"""The joined choice: similarity, the model's yes/no, and its pick from a short list, made into one probability.

No vote is good enough alone. Similarity proposes a short list; the model says yes or no to each option that is
plausible; where no option has both votes behind it, or that leaves it open whether the answer is sure enough, the
model picks from the list by title, with what it says to no mail at all taken off. A conditional logit over the short
list and `None: a person must handle it` joins the votes, so the probabilities add up to one and are calibrated on the
tuning mails (see `WEIGHTS`). The votes and the combiner's version are kept with every call.

Checked by tests/unit/planner/test_choice.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from support_agent.frozen import Frozen
from support_agent.model import Model, Prompt, Usage, ask_model

NONE_KEY = "none"
NONE_TITLE = "None: a person must handle it"
SYSTEM = "You sort the mail of a company's support desk. You read a customer's question and choose what answers it."
MOST_JUDGED = 4
"""At most so many options, the most similar first, are asked about one by one."""
TOPIC_ASK = "Which of these answers it?"


class Option(Frozen):
    """One member of a closed set: its key in the program, the words the model reads, and how similar it is (-1..1).

    `mentioned` is 1 where the customer's words name it outright (a period, "in total"), else 0.
    """

    key: str
    title: str
    summary: str = ""
    similarity: float = 0.0
    mentioned: float = 0.0


class Vote(Frozen):
    """What each voter said of one option; `picked` and `judged` are log-odds-like, None where nobody asked."""

    key: str
    similarity: float
    mentioned: float
    picked: float | None
    judged: float | None
    probability: float


class Choice(Frozen):
    """The outcome: votes sorted by probability, the first one is chosen."""

    votes: tuple[Vote, ...]
    combiner: str
    usage: Usage

    @property
    def key(self) -> str:
        return self.votes[0].key

    @property
    def probability(self) -> float:
        return self.votes[0].probability


class Weights(Frozen):
    """The combiner's weights; `version` changes with any of them.

    An option scores similarity * s + picked * p + judged * j + mentioned * m, the most similar one its lead on top, one
    that was asked about its bias; `None` scores its own bias and pick.
    """

    version: str
    similarity: float = 0.0
    nearest: float = 0.0
    """Added to the most similar option, times its lead over the second."""
    picked: float = 0.0
    prior: float = 0.0
    """How much of the pick for an empty mail is taken off."""
    judged: float = 0.0
    judged_bias: float = 0.0
    mentioned: float = 0.0
    none_bias: float = 0.0
    none_picked: float = 0.0


TOPIC_VERSION = "topic-3"
"""Changes with any of the three sets below, and with any of the constants of a topic's choice."""
SIMILAR_WEIGHTS = Weights(
    version=TOPIC_VERSION,
    similarity=13.931,
    nearest=9.367,
    none_bias=7.833,
)
"""Similarity alone; says which options are plausible, never which one is chosen."""
JUDGED_WEIGHTS = Weights(
    version=TOPIC_VERSION,
    similarity=10.905,
    nearest=6.926,
    judged=1.5,
    judged_bias=0.518,
    none_bias=6.848,
)
"""Similarity and the yes/no of the plausible options."""
WEIGHTS = Weights(
    version=TOPIC_VERSION,
    similarity=10.64,
    nearest=7.212,
    picked=0.536,
    prior=0.5,
    judged=1.241,
    judged_bias=0.469,
    none_bias=6.092,
    none_picked=-0.021,
)
"""All votes. Fitted, like the two above, on 213 questions: those of the tuning mails, and 86 more with a known topic
that were written without sight of the mails (conditional logit, ridge 0.02, a question without a topic counts 1.3
times). Ten-fold, as the choice is made: 177 of 213 right at the top, and of those above 0.6 131 of 139; the list was
asked for 81. `python -m tests.benchmarks.fit` fits them to the recorded votes."""
ARGUMENT_WEIGHTS = Weights(version="argument-1", picked=0.6, prior=0.5, mentioned=4.0)
"""For periods and forms: what the customer names outright outweighs the model's pick."""
LOWEST_PICK = -20.0
"""A pick counts no less, so that it can be outvoted."""
BARE_PICK = 3.0
"""What a pick without a probability counts: log-odds of the picked option against each other one. No yes
counts more, with however much certainty it is said: those that the weights were fitted to stay below it."""
PRIORS = 1000
"""Lists of options whose prior is kept."""
PLAUSIBLE = 0.03
"""What similarity alone gives less is not asked about; where that is all, a person gets the question."""
BACKED = 0.2
"""What similarity alone gives less, no yes alone makes an answer of: the list is asked."""
MARGIN = 0.1
"""An answer that is so much above its threshold, and above `LEAST_SURE`, is given without the list. On the recorded
votes the list would have taken 4 of 152 such outcomes below it, all of them right."""
LEAST_SURE = 0.6
"""With a lower threshold two options can be above it, and the list says which."""
HOPELESS = 0.5
"""Where all options together have less than this part of the threshold, the list is not asked either."""


class _Picks(NamedTuple):
    """The model's pick from a list, an option each; `is_bare`: it told what it picks and not how surely."""

    scores: list[float]
    is_bare: bool
    usage: Usage


class _Judgements(NamedTuple):
    """The model's yes (above 0) or no to the options, None where it was not asked; `is_bare` as above."""

    said: list[float | None]
    is_bare: bool
    usage: Usage


class Chooser:
    """Asks the model and joins the votes; keeps the model's answers to no mail at all, which never change."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._priors: dict[tuple[str, tuple[str, ...]], tuple[float, ...]] = {}

    def topic(self, question: str, options: Sequence[Option], least: float) -> Choice:
        """Which option answers the question, or none of them.

        Where the model tells no probabilities, its pick must be the most similar option, else it is none of them.

        Args:
            question: The customer's own words.
            options: 1..n, the most similar first.
            least: The probability an answer needs, 0..1; see `is_settled`.
        """
        listed = [*options, Option(key=NONE_KEY, title=NONE_TITLE)]
        similar = _chances(listed, None, [None] * len(listed), SIMILAR_WEIGHTS)
        judged, is_bare, usage = self._judgements(question, listed, similar)
        if not is_bare and is_settled(_chances(listed, None, judged, JUDGED_WEIGHTS), similar, judged, least):
            return _joined(listed, None, judged, JUDGED_WEIGHTS, usage)
        picks = self._pick(question, TOPIC_ASK, listed, WEIGHTS)
        choice = _joined(listed, picks.scores, judged, WEIGHTS, usage + picks.usage)
        is_other = picks.scores.index(max(picks.scores)) != 0
        return _disagreement(choice) if is_other and (is_bare or picks.is_bare) else choice

    def argument(self, question: str, ask: str, options: Sequence[Option]) -> Choice:
        """Which member of a closed set an argument takes; there is always one. One option is no choice."""
        if len(options) == 1:
            return _joined(list(options), None, [None], ARGUMENT_WEIGHTS, Usage())
        picks, _, usage = self._pick(question, ask, options, ARGUMENT_WEIGHTS)
        return _joined(list(options), picks, [None] * len(options), ARGUMENT_WEIGHTS, usage)

    def _pick(self, question: str, ask: str, options: Sequence[Option], weights: Weights) -> _Picks:
        titles = tuple(option.title for option in options)
        prior, before = self._prior(ask, titles)
        scores = ask_model(self.model, _list_prompt(question, ask, titles), titles)
        usage = before + scores.usage
        if scores.log_probabilities is None:
            return _Picks(_bare(scores.picked, len(titles)), True, usage)
        said = zip(scores.log_probabilities, prior, strict=True)
        return _Picks([now - weights.prior * was for now, was in said], False, usage)

    def _prior(self, ask: str, titles: tuple[str, ...]) -> tuple[tuple[float, ...], Usage]:
        """What the model says to no mail at all."""
        if (ask, titles) in self._priors:
            return self._priors[ask, titles], Usage()
        if len(self._priors) >= PRIORS:
            self._priors.clear()
        scores = ask_model(self.model, _list_prompt("", ask, titles), titles)
        prior = scores.log_probabilities or (0.0,) * len(titles)
        self._priors[ask, titles] = prior
        return prior, scores.usage

    def _judgements(self, question: str, listed: list[Option], similar: list[float]) -> _Judgements:
        """Yes or no to the plausible options."""
        judged: list[float | None] = [None] * len(listed)
        is_bare, usage = False, Usage()
        for index in are_asked_about(similar):
            scores = ask_model(self.model, _judge_prompt(question, listed[index]), ("yes", "no"))
            yes, no = scores.log_probabilities or _bare(scores.picked, 2)
            judged[index] = min(yes - no, BARE_PICK)
            is_bare = is_bare or scores.log_probabilities is None
            usage = usage + scores.usage
        return _Judgements(judged, is_bare, usage)


def are_asked_about(similar: Sequence[float]) -> list[int]:
    """Which options the model says yes or no to.

    Args:
        similar: Probabilities by similarity alone; the options with the most similar first, then `None`.
    """
    return [index for index, chance in enumerate(similar[:-1][:MOST_JUDGED]) if chance >= PLAUSIBLE]


def is_settled(
    chances: Sequence[float], similar: Sequence[float], judged: Sequence[float | None], least: float
) -> bool:
    """Whether the list need not be asked: an answer is sure, with similarity and a yes behind it, or none will be.

    Args:
        chances: Probabilities with the yes/no votes; the options, then `None`.
        similar: By similarity alone.
        judged: Log-odds of yes, None where nobody asked.
        least: The probability an answer needs.
    """
    if 1 - chances[-1] < least * HOPELESS:
        return True
    best = max(range(len(chances) - 1), key=chances.__getitem__)
    is_backed = (judged[best] or 0.0) > 0 and similar[best] >= BACKED
    return is_backed and chances[best] >= max(least, LEAST_SURE) + MARGIN


def _bare(picked: int | None, count: int) -> list[float]:
    """A pick of which nothing is known but itself, as scores; all alike where there is none."""
    return [0.0 if picked is None or index == picked else -BARE_PICK for index in range(count)]


def _disagreement(choice: Choice) -> Choice:
    """The same votes with `None` first: they contradict each other and no probability weighs them."""
    votes = [vote.model_copy(update={"probability": float(vote.key == NONE_KEY)}) for vote in choice.votes]
    return choice.model_copy(update={"votes": tuple(sorted(votes, key=lambda vote: -vote.probability))})


def _joined(
    options: list[Option],
    picks: list[float] | None,
    judged: list[float | None],
    weights: Weights,
    usage: Usage,
) -> Choice:
    chances = _chances(options, picks, judged, weights)
    votes = [
        Vote(
            key=option.key,
            similarity=option.similarity,
            mentioned=option.mentioned,
            picked=None if picks is None else max(picks[index], -99.0),
            judged=judged[index],
            probability=chances[index],
        )
        for index, option in enumerate(options)
    ]
    return Choice(votes=tuple(sorted(votes, key=lambda vote: -vote.probability)), combiner=weights.version, usage=usage)


def _chances(
    options: list[Option], picks: list[float] | None, judged: list[float | None], weights: Weights
) -> list[float]:
    scores = [_score(index, options, picks, judged, weights) for index in range(len(options))]
    peak = max(scores)
    norm = peak + math.log(sum(math.exp(score - peak) for score in scores))
    return [math.exp(score - norm) for score in scores]


def _score(
    index: int, options: list[Option], picks: list[float] | None, judged: list[float | None], weights: Weights
) -> float:
    option = options[index]
    pick = 0.0 if picks is None else max(picks[index], LOWEST_PICK)
    if option.key == NONE_KEY:
        return weights.none_bias + weights.none_picked * pick
    similar = sorted((other.similarity for other in options if other.key != NONE_KEY), reverse=True)
    lead = similar[0] - similar[1] if len(similar) > 1 and option.similarity == similar[0] else 0.0
    said = judged[index]
    return (
        weights.similarity * option.similarity
        + weights.nearest * lead
        + weights.picked * pick
        + weights.mentioned * option.mentioned
        + (0.0 if said is None else weights.judged * said + weights.judged_bias)
    )


def _list_prompt(question: str, ask: str, titles: Sequence[str]) -> Prompt:
    listing = "\n".join(f"- {title}" for title in titles)
    return Prompt(
        system=SYSTEM,
        task="Customer's question:\n",
        parts=((question, False), (f"\n\n{ask}\n", True), (listing, False)),
    )


def _judge_prompt(question: str, option: Option) -> Prompt:
    about = f'"{option.title}" ({option.summary})'
    return Prompt(
        system=SYSTEM,
        task="Customer's question:\n",
        parts=(
            (question, False),
            ("\n\nIs this question answered by ", True),
            (about, False),
            ("? Answer yes or no.", True),
        ),
    )
