"""Chooses among closed options by combining embedders, words, the classifier and, if needed, the language model.

The choice of a topic is a cascade. The combiner first weighs the signals for each topic and for `None: a person must
handle it`; if one topic is sure enough, or none is likely, the model is not asked. Otherwise the model says yes or no
to each plausible topic and picks one from the shortlist by title, minus its prior (what it picks for an empty mail),
and the combiner weighs these votes too. Each call stores the votes, the probabilities before and after, and the
combiner's version.

Checked by tests/unit/planner/test_choice.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
"""At most this many topics, the likeliest first, are judged one by one."""
TOPIC_ASK = "Which of these answers it?"
PRIOR_SHARE = 0.5
"""The share of the prior, the pick for an empty mail, that is subtracted."""
ARGUMENT_VERSION = "argument-6"
"""Changes when an argument is chosen in another way; stored with each plan."""
PICKED_WEIGHT = 0.6
"""Weight of the model's pick in the choice of an argument."""
MENTIONED_WEIGHT = 4.0
"""What the customer names explicitly (a period, a column, a record) outweighs the model's pick. The vote on a form has
the same weight: no other was better (`python -m tests.benchmarks.forms --weights`)."""
LOWEST_PICK = -20.0
"""Lower bound of a pick, so that other votes can outweigh it."""
BARE_PICK = 3.0
"""Log-odds of a pick without probabilities, of the picked option against each other. It also caps a yes: the weights
were fitted to lower values."""
PRIORS_KEPT = 1000
"""Lists of options whose prior is cached."""
PLAUSIBLE = 0.03
"""The model does not judge options that were less likely than this before it is asked."""
MARGIN = 0.2
"""A topic whose probability exceeds its threshold by this much is chosen without the model."""
LEAST_SURE = 0.6
"""A lower threshold counts as this when the model may be left out: two topics can exceed one below 0.5."""
HOPELESS = 0.25
"""If all topics together have less than this share of the threshold, the model is not asked either."""

ModelVotes = Literal["always", "doubtful", "never"]
"""When the model is asked: always, where the choice is still open, or never."""


class Option(Frozen):
    """One member of a closed set: its key in the program and the words the model reads.

    `mentioned` is how likely the customer's words name it, 0..1: 1 for a named period, the vote for a form.
    """

    key: str
    title: str
    summary: str = ""
    mentioned: float = 0.0


class Vote(Frozen):
    """The votes on one option; `picked` and `judged` are similar to log-odds, None if the model was not asked.

    `unasked` is its probability before the model was asked; `similarity`, the highest cosine, is for people to read.
    """

    key: str
    similarity: float = 0.0
    mentioned: float = 0.0
    picked: float | None = None
    judged: float | None = None
    unasked: float | None = None
    probability: float


class Choice(Frozen):
    """The votes sorted by probability; the first option is chosen."""

    votes: tuple[Vote, ...]
    usage: Usage

    @property
    def key(self) -> str:
        return self.votes[0].key

    @property
    def probability(self) -> float:
        return self.votes[0].probability


def likeliest_topic(votes: Sequence[Vote]) -> str | None:
    """The topic that came first, such as "document:6"; None: a person must handle it, or an argument was chosen.

    Args:
        votes: The likeliest first.
    """
    best = votes[0].key if votes else NONE_KEY
    return best if ":" in best else None


class TopicScores(NamedTuple):
    """Features and probabilities before the model is asked; `chances` ends with that of `none`."""

    topics: list[Features]
    none: Features
    chances: list[float]

    def among(self, keys: Sequence[str], kept: Sequence[str]) -> TopicScores:
        """Keep some of the topics, in the order of `kept`; the others' probability goes to `none`."""
        places = [keys.index(key) for key in kept]
        chances = [self.chances[place] for place in places]
        return TopicScores([self.topics[place] for place in places], self.none, [*chances, 1.0 - sum(chances)])


class Picks(NamedTuple):
    """The model's pick as one score per option; `is_bare`: it reported no probabilities."""

    scores: list[float]
    is_bare: bool
    usage: Usage


class _Judgements(NamedTuple):
    """The model's yes (above 0) or no per option, None if it was not asked; `is_bare` as above."""

    said: list[float | None]
    is_bare: bool
    usage: Usage


class Picker:
    """Lets the model pick from a list, minus its prior; caches the priors, which never change."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._priors: dict[tuple[Prompt, tuple[str, ...]], Sequence[float]] = {}

    def pick(self, prompt: Prompt, empty: Prompt, titles: tuple[str, ...]) -> Picks:
        """The model's pick from these titles.

        Args:
            empty: The prompt without the customer's words; what the model picks for it is the prior.
        """
        scores = ask_model(self._model, prompt, titles)
        if scores.log_probabilities is None:
            return Picks(_bare(scores.picked, len(titles)), True, scores.usage)
        prior, usage = self._prior(empty, titles)
        said = zip(scores.log_probabilities, prior, strict=True)
        return Picks([now - PRIOR_SHARE * was for now, was in said], False, scores.usage + usage)

    def _prior(self, empty: Prompt, titles: tuple[str, ...]) -> tuple[Sequence[float], Usage]:
        if (known := self._priors.get((empty, titles))) is not None:
            return known, Usage()
        if len(self._priors) >= PRIORS_KEPT:
            self._priors.clear()
        scores = ask_model(self._model, empty, titles)
        self._priors[empty, titles] = prior = scores.log_probabilities or (0.0,) * len(titles)
        return prior, scores.usage


class Chooser:
    """Asks the model and combines the votes."""

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
        self._picker = Picker(model)

    def without_model(self, matches: Sequence[Match]) -> TopicScores:
        """Features and probabilities of the topics and of `none` before the model is asked."""
        topics, none = features_of(matches)
        chances = self.combiner.chances(topics, none, None, self.calibration)
        return TopicScores(topics, none, chances)

    def topic(self, question: str, matches: Sequence[Match], options: Sequence[Option], least: float) -> Choice:
        """Choose the option that answers the question, or none.

        A model without probabilities must pick the option that was likeliest before; otherwise the choice is none.

        Args:
            question: The customer's own words.
            matches: The topics with their signals, 1..n.
            options: The topics that may be chosen, 1..n; the likeliest first.
            least: The probability an answer needs, 0..1; see `is_clear`.
        """
        weighed = self.without_model(matches).among(
            [match.topic for match in matches], [option.key for option in options]
        )
        weighed = weighed._replace(chances=_raise_named(weighed.chances, options))
        listed = [*options, Option(key=NONE_KEY, title=NONE_TITLE)]
        near = {match.topic: match.score for match in matches}
        is_sure = self.model_votes == "doubtful" and is_clear(max(weighed.chances[:-1]), least)
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
        return Choice(votes=ranked(joined), usage=usage)

    def argument(self, question: str, ask: str, options: Sequence[Option]) -> Choice:
        """Choose the member of a closed set for an argument; the model is not asked about a single option."""
        if len(options) == 1:
            only = Vote(key=options[0].key, mentioned=options[0].mentioned, probability=1.0)
            return Choice(votes=(only,), usage=Usage())
        picks, _, usage = self._pick(question, ask, options)
        keys, mentioned = [option.key for option in options], [option.mentioned for option in options]
        votes = votes_on_members(keys, mentioned, [max(pick, LOWEST_PICK) for pick in picks])
        return Choice(votes=ranked(votes), usage=usage)

    def _pick(self, question: str, ask: str, options: Sequence[Option]) -> Picks:
        titles = tuple(option.title for option in options)
        return self._picker.pick(_list_prompt(question, ask, titles), _list_prompt("", ask, titles), titles)

    def _judgements(self, question: str, listed: Sequence[Option], chances: Sequence[float]) -> _Judgements:
        """Ask the model yes or no about the plausible options, in one batch."""
        judged: list[float | None] = [None] * len(listed)
        is_bare, usage = False, Usage()
        asked = judged_places(chances)
        said = ask_each(self.model, [_judge_prompt(question, listed[index]) for index in asked], ("yes", "no"))
        for index, scores in zip(asked, said, strict=True):
            yes, no = scores.log_probabilities or _bare(scores.picked, 2)
            judged[index] = min(yes - no, BARE_PICK)
            is_bare = is_bare or scores.log_probabilities is None
            usage = usage + scores.usage
        return _Judgements(judged, is_bare, usage)


def ranked(votes: Iterable[Vote]) -> tuple[Vote, ...]:
    """The votes, the likeliest first."""
    return tuple(sorted(votes, key=lambda vote: -vote.probability))


def votes_on_members(
    keys: Sequence[str], mentioned: Sequence[float], picks: Sequence[float] | None = None
) -> list[Vote]:
    """The votes on the members of a closed set.

    Args:
        mentioned: How likely the customer's words name each member.
        picks: The model's; None: it was not asked.
    """
    picked: Sequence[float | None] = [None] * len(keys) if picks is None else picks
    both = zip(mentioned, picked, strict=True)
    chances = softmax([MENTIONED_WEIGHT * said + PICKED_WEIGHT * (pick or 0.0) for said, pick in both])
    return [
        Vote(key=key, mentioned=said, picked=pick, probability=chance)
        for key, said, pick, chance in zip(keys, mentioned, picked, chances, strict=True)
    ]


def _raise_named(chances: Sequence[float], options: Sequence[Option]) -> list[float]:
    """Raise the probabilities of options that the customer names explicitly; `None` comes last."""
    raised = [
        chance * exp(MENTIONED_WEIGHT * option.mentioned) for chance, option in zip(chances, options, strict=False)
    ]
    total = sum(raised) + chances[-1]
    return [chance / total for chance in (*raised, chances[-1])]


def judged_places(chances: Sequence[float]) -> list[int]:
    """Indexes of the options that the model judges.

    Args:
        chances: Probabilities before; the options, the likeliest first, then `None`.
    """
    return [index for index, chance in enumerate(chances[:-1][:MOST_JUDGED]) if chance >= PLAUSIBLE]


def is_clear(probability: float, least: float) -> bool:
    """Whether an option is so probable that nothing more need be asked.

    Args:
        least: The probability an answer needs.
    """
    return probability >= max(least, LEAST_SURE) + MARGIN


def is_hopeless(chances: Sequence[float], least: float) -> bool:
    """Whether no option is likely enough to ask the model: its yes alone would not be enough.

    Args:
        chances: Probabilities before; the options, then `None`.
        least: The probability an answer needs.
    """
    return 1 - chances[-1] < least * HOPELESS


def _bare(picked: int | None, count: int) -> list[float]:
    """A pick without probabilities as scores; all equal if nothing was picked."""
    return [0.0 if picked is None or index == picked else -BARE_PICK for index in range(count)]


def _disagreement(choice: Choice) -> Choice:
    """The same votes with `None` first: they contradict each other, and without probabilities none can be preferred."""
    votes = [vote.model_copy(update={"probability": float(vote.key == NONE_KEY)}) for vote in choice.votes]
    return choice.model_copy(update={"votes": ranked(votes)})


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
