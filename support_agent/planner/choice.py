"""The joined choice: what embedders, words and classifier say, and where that leaves it open the language model.

A cascade. The combiner weighs what speaks for each topic and for `None: a person must handle it`; where that is sure
enough, or hopeless, the model is not asked. Else it says yes or no to each plausible topic and picks from the short
list by title, with what it says to no mail at all taken off, and the combiner weighs these votes, too. The votes, the
probabilities before and after, and the combiner's version are kept with every call.

Checked by tests/unit/planner/test_choice.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from typing import Literal, NamedTuple

from support_agent.core.frozen import Frozen
from support_agent.models.language_model import Model, Prompt, Usage, ask_each, ask_model
from support_agent.planner.combiner import Calibration, Combiner, Features, Votes, features_of, softmax
from support_agent.tools.base import Match

NONE_KEY = "none"
NONE_TITLE = "None: a person must handle it"
SYSTEM = "You sort the mail of a company's support desk. You read a customer's question and choose what answers it."
MOST_JUDGED = 4
"""At most so many topics, the likeliest first, are asked about one by one."""
TOPIC_ASK = "Which of these answers it?"
ModelVotes = Literal["always", "doubtful", "never"]


class Option(Frozen):
    """One member of a closed set: its key in the program and the words the model reads.

    `mentioned` is how likely the customer's words name it, 0..1: 1 for a period in them, for a form what the vote says.
    """

    key: str
    title: str
    summary: str = ""
    mentioned: float = 0.0


class Vote(Frozen):
    """What each voter said of one option; `picked` and `judged` are log-odds-like, None where nobody asked.

    `unasked` is its probability before the model was asked; `similarity` the nearest cosine, for people to read.
    """

    key: str
    similarity: float = 0.0
    mentioned: float = 0.0
    picked: float | None = None
    judged: float | None = None
    unasked: float | None = None
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


PRIOR = 0.5
"""How much of the pick for an empty mail is taken off."""
ARGUMENT_VERSION = "argument-6"
PICKED_WEIGHT = 0.6
MENTIONED_WEIGHT = 4.0
"""What the customer names outright (a period, a column, a record) outweighs the model's pick. The vote on a form is
multiplied by the same: no other weight was better there (`python -m tests.benchmarks.forms --weights`)."""
LOWEST_PICK = -20.0
"""A pick counts no less, so that it can be outvoted."""
BARE_PICK = 3.0
"""What a pick without a probability counts: log-odds of the picked option against each other one. No yes
counts more, with however much certainty it is said: those that the weights were fitted to stay below it."""
PRIORS = 1000
"""Lists of options whose prior is kept."""
PLAUSIBLE = 0.03
"""What has less before the model is asked is not asked about."""
MARGIN = 0.2
"""A topic that is so much above its threshold before the model is asked is chosen without it."""
LEAST_SURE = 0.6
"""With a lower threshold two topics can be above it, and the model says which."""
HOPELESS = 0.25
"""Where all topics together have less than this part of the threshold, the model is not asked either."""


class TopicScores(NamedTuple):
    """What is known of a list before the model is asked; `chances` has one more than `topics`, for `none`."""

    topics: list[Features]
    none: Features
    chances: list[float]

    def among(self, keys: Sequence[str], kept: Sequence[str]) -> TopicScores:
        """For some of the topics alone, in the order of `kept`; what the others had goes to `none`."""
        places = [keys.index(key) for key in kept]
        chances = [self.chances[place] for place in places]
        return TopicScores([self.topics[place] for place in places], self.none, [*chances, 1.0 - sum(chances)])


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

    def __init__(
        self,
        model: Model,
        combiner: Combiner,
        *,
        calibration: Calibration | None = None,
        model_votes: ModelVotes = "doubtful",
    ) -> None:
        self.model = model
        self.combiner = combiner
        self.calibration = calibration or Calibration()
        self.model_votes = model_votes
        self._priors: dict[tuple[str, tuple[str, ...]], tuple[float, ...]] = {}

    def without_model(self, matches: Sequence[Match]) -> TopicScores:
        """What is known before the model is asked: each topic's features and probability, and those of `none`."""
        topics, none = features_of(matches)
        chances = self.combiner.chances(topics, none, None, self.calibration)
        return TopicScores(topics, none, chances)

    def topic(self, question: str, matches: Sequence[Match], options: Sequence[Option], least: float) -> Choice:
        """Which option answers the question, or none of them.

        Where the model tells no probabilities, its pick must be the likeliest option before, else it is none of them.

        Args:
            question: The customer's own words.
            matches: What speaks for each topic of the list, 1..n.
            options: Those of them that may be chosen, 1..n; the likeliest first.
            least: The probability an answer needs, 0..1; see `is_settled`.
        """
        weighed = self.without_model(matches).among(
            [match.topic for match in matches], [option.key for option in options]
        )
        weighed = weighed._replace(chances=_raise_named(weighed.chances, options))
        listed = [*options, Option(key=NONE_KEY, title=NONE_TITLE)]
        near = {match.topic: match.score for match in matches}
        is_sure = self.model_votes == "doubtful" and is_settled(weighed.chances, least)
        if self.model_votes == "never" or is_sure or is_hopeless(weighed.chances, least):
            return self._choice(listed, near, weighed, None, Usage())
        judged, is_bare, usage = self._judgements(question, listed, weighed.chances)
        picks = self._pick(question, TOPIC_ASK, listed)
        votes = [
            Votes(picked=max(pick, LOWEST_PICK), judged=said) for pick, said in zip(picks.scores, judged, strict=True)
        ]
        choice = self._choice(listed, near, weighed, votes, usage + picks.usage)
        is_other = picks.scores.index(max(picks.scores)) != 0
        return _disagreement(choice) if is_other and (is_bare or picks.is_bare) else choice

    def _choice(
        self,
        listed: Sequence[Option],
        near: Mapping[str, float],
        weighed: TopicScores,
        votes: Sequence[Votes] | None,
        usage: Usage,
    ) -> Choice:
        chances = weighed.chances
        if votes is not None:
            asked = self.combiner.chances(weighed.topics, weighed.none, votes, self.calibration)
            chances = _raise_named(asked, listed[:-1])
        said = votes or [Votes()] * len(listed)
        joined = [
            Vote(
                key=option.key,
                similarity=near.get(option.key, 0.0),
                mentioned=option.mentioned,
                picked=vote.picked,
                judged=vote.judged,
                unasked=before,
                probability=after,
            )
            for option, vote, before, after in zip(listed, said, weighed.chances, chances, strict=True)
        ]
        ranked = tuple(sorted(joined, key=lambda vote: -vote.probability))
        return Choice(votes=ranked, combiner=self.combiner.version, usage=usage)

    def argument(self, question: str, ask: str, options: Sequence[Option]) -> Choice:
        """Which member of a closed set an argument takes; there is always one. One option is no choice."""
        if len(options) == 1:
            only = Vote(key=options[0].key, mentioned=options[0].mentioned, probability=1.0)
            return Choice(votes=(only,), combiner=ARGUMENT_VERSION, usage=Usage())
        picks, _, usage = self._pick(question, ask, options)
        said = [max(pick, LOWEST_PICK) for pick in picks]
        weighed = zip(options, said, strict=True)
        chances = softmax([MENTIONED_WEIGHT * option.mentioned + PICKED_WEIGHT * pick for option, pick in weighed])
        votes = [
            Vote(key=option.key, mentioned=option.mentioned, picked=pick, probability=chance)
            for option, pick, chance in zip(options, said, chances, strict=True)
        ]
        ranked = tuple(sorted(votes, key=lambda vote: -vote.probability))
        return Choice(votes=ranked, combiner=ARGUMENT_VERSION, usage=usage)

    def _pick(self, question: str, ask: str, options: Sequence[Option]) -> _Picks:
        titles = tuple(option.title for option in options)
        prior, before = self._prior(ask, titles)
        scores = ask_model(self.model, _list_prompt(question, ask, titles), titles)
        usage = before + scores.usage
        if scores.log_probabilities is None:
            return _Picks(_bare(scores.picked, len(titles)), True, usage)
        said = zip(scores.log_probabilities, prior, strict=True)
        return _Picks([now - PRIOR * was for now, was in said], False, usage)

    def _prior(self, ask: str, titles: tuple[str, ...]) -> tuple[tuple[float, ...], Usage]:
        """What the model says to no mail at all."""
        if (known := self._priors.get(key := (ask, titles))) is not None:
            return known, Usage()
        if len(self._priors) >= PRIORS:
            self._priors.clear()
        scores = ask_model(self.model, _list_prompt("", ask, titles), titles)
        prior = scores.log_probabilities or (0.0,) * len(titles)
        self._priors[key] = prior
        return prior, scores.usage

    def _judgements(self, question: str, listed: Sequence[Option], chances: Sequence[float]) -> _Judgements:
        """Yes or no to the plausible options, all at once."""
        judged: list[float | None] = [None] * len(listed)
        is_bare, usage = False, Usage()
        asked = are_asked_about(chances)
        said = ask_each(self.model, [_judge_prompt(question, listed[index]) for index in asked], ("yes", "no"))
        for index, scores in zip(asked, said, strict=True):
            yes, no = scores.log_probabilities or _bare(scores.picked, 2)
            judged[index] = min(yes - no, BARE_PICK)
            is_bare = is_bare or scores.log_probabilities is None
            usage = usage + scores.usage
        return _Judgements(judged, is_bare, usage)


def _raise_named(chances: Sequence[float], options: Sequence[Option]) -> list[float]:
    """The probabilities where the customer names some of the options outright; `None` comes last."""
    raised = [
        chance * exp(MENTIONED_WEIGHT * option.mentioned) for chance, option in zip(chances, options, strict=False)
    ]
    total = sum(raised) + chances[-1]
    return [chance / total for chance in (*raised, chances[-1])]


def are_asked_about(chances: Sequence[float]) -> list[int]:
    """Which options the model says yes or no to.

    Args:
        chances: Probabilities before; the options with the likeliest first, then `None`.
    """
    return [index for index, chance in enumerate(chances[:-1][:MOST_JUDGED]) if chance >= PLAUSIBLE]


def is_settled(chances: Sequence[float], least: float) -> bool:
    """Whether an answer is sure without the model.

    Args:
        chances: Probabilities before; the options, then `None`.
        least: The probability an answer needs.
    """
    return max(chances[:-1]) >= max(least, LEAST_SURE) + MARGIN


def is_hopeless(chances: Sequence[float], least: float) -> bool:
    """Whether no answer is likely enough for the model to be asked: no yes of its makes one of what nothing else says.

    Args:
        chances: Probabilities before; the options, then `None`.
        least: The probability an answer needs.
    """
    return 1 - chances[-1] < least * HOPELESS


def _bare(picked: int | None, count: int) -> list[float]:
    """A pick of which nothing is known but itself, as scores; all alike where there is none."""
    return [0.0 if picked is None or index == picked else -BARE_PICK for index in range(count)]


def _disagreement(choice: Choice) -> Choice:
    """The same votes with `None` first: they contradict each other and no probability weighs them."""
    votes = [vote.model_copy(update={"probability": float(vote.key == NONE_KEY)}) for vote in choice.votes]
    return choice.model_copy(update={"votes": tuple(sorted(votes, key=lambda vote: -vote.probability))})


def _list_prompt(question: str, ask: str, titles: Sequence[str]) -> Prompt:
    listing = "\n".join(f"- {title}" for title in titles)
    parts = ((question, False), (f"\n\n{ask}\n", True), (listing, False))
    return Prompt(system=SYSTEM, task="Customer's question:\n", parts=parts)


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
