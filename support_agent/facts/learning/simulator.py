"""Simulated users: people with questions, a company whose documents answer most of them, and what it was worth to ask.

Each user belongs to one company, made up of products and topics. The documents, the retriever that finds the wrong
thing first, the model that writes a wrong number now and then and misjudges itself, and what the user wants are drawn
from a seed; what is done with them (consolidator, checks, memory, policy) is the program's own code.

Invariant: a user is the same for the same split, seed and number, and no user of one split is in the other. Checked by
tests/unit/facts/learning/test_simulator.py.
Source: LLM-Augmenter (Peng et al. 2023): training of the policy with a user simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.random import Generator

from support_agent.facts.grading_words import HALLUCINATION_ASK, NOTE, PASSAGE
from support_agent.facts.graph.entities import Entity, Linker
from support_agent.facts.inquiry.consolidator import chained
from support_agent.facts.inquiry.loop import Look, Pick, advance
from support_agent.facts.inquiry.memory import Ending, Evidence, Memory, Utility, begin, with_question
from support_agent.facts.inquiry.policy import NEEDS_ASK, Action, Policy, choice
from support_agent.facts.inquiry.utility import assess
from support_agent.facts.judge import Grade, Judge
from support_agent.facts.writer import Material
from support_agent.frozen import Frozen
from support_agent.model import Usage

TOPICS = (
    ("cancellation fee", "The cancellation fee of {name} is {number} euros.", "How much is the cancellation fee{of}?"),
    ("monthly price", "The monthly price of {name} is {number} euros.", "What is the monthly price{of}?"),
    ("trial period", "The trial period of {name} lasts {number} days.", "How long is the trial period{of}?"),
    ("storage space", "The storage space of {name} is {number} gigabytes.", "What storage space is there{of}?"),
    ("delivery time", "The delivery time of {name} is {number} days.", "What is the delivery time{of}?"),
    ("warranty", "The warranty of {name} covers {number} months.", "How many months of warranty are there{of}?"),
    ("notice period", "The notice period of {name} is {number} days.", "What notice period applies{of}?"),
    ("guest accounts", "The number of guest accounts of {name} is {number}.", "How many guest accounts are there{of}?"),
)
PRODUCTS = 12
RANK_CONSTANT = 60
"""Of reciprocal rank fusion, as published."""
PASSAGES = 4
"""Of a first look; each further look takes as many more."""
FOUND = 10 * PASSAGES
"""Sentences that the retriever ranks: as many as the widest look of all takes."""
SYLLABLES = ("bel", "cor", "dan", "fil", "gor", "lum", "mir", "nov", "pol", "rus", "tev", "zan")


class Split(StrEnum):
    """Which users: those a policy learns from, or those it is measured on."""

    TRAINING = "training"
    HELD_OUT = "held_out"


class Outcome(StrEnum):
    """What came of a question."""

    HELPED = "helped"
    MISLED = "misled"
    HANDED_OVER = "handed_over"
    """To a person, and no document answered it."""
    MADE_TO_WAIT = "made_to_wait"
    """To a person, though a document answered it."""


class Rewards(Frozen):
    """What each outcome and each step is worth: a wrong answer is worse than none, and a draft takes the model seconds
    where a look takes milliseconds.
    """

    helped: float = 1.0
    misled: float = -2.0
    handed_over: float = 0.3
    made_to_wait: float = -0.3
    look: float = -0.01
    draft: float = -0.08


class World(Frozen):
    """How simulated companies, users and models are; all shares are 0..1."""

    documented: float = 0.75
    """Share of topics that a product's document speaks of."""
    names_product: float = 0.8
    """Share of users who name the product in their question."""
    blur: float = 0.9
    """Standard deviation of what the retriever adds to nearness (2 for the right passage, 1 for a near one)."""
    slip: float = 0.35
    """Share of first drafts with a wrong number; a third of it after feedback."""
    certainty: float = 1.7
    """Log-odds of the model's yes where yes is right; of its no where no is."""
    doubt: float = 1.3
    """Standard deviation of these log-odds."""
    asks_again: float = 0.3
    """Share of users with one more question, about the same product."""
    rewards: Rewards = Rewards()


@dataclass(frozen=True)
class Sentence:
    """One sentence of a simulated company's documents, and how near the retriever thinks it; a `Found`."""

    source: str
    first: int
    last: int
    heading: str
    text: str
    score: float = 0.0


@dataclass(frozen=True)
class Step:
    """One action: the memory it was chosen on, and its reward, that of the question's outcome included."""

    memory: Memory
    action: Action
    reward: float


@dataclass(frozen=True)
class Episode:
    """One question from its beginning to its end; the rewards of its steps add up to `total`."""

    steps: tuple[Step, ...]
    outcome: Outcome
    memory: Memory

    @property
    def total(self) -> float:
        return sum(step.reward for step in self.steps)


class Measured(Frozen):
    """How a policy did on some users: mean reward a question with its standard error, and shares of outcomes."""

    policy: str
    questions: int
    reward: float
    standard_error: float
    outcomes: dict[Outcome, float]
    looks: float
    """Mean number a question; `drafts` too."""
    drafts: float


@dataclass
class User:
    """Someone with a question at a company, and the model and sources that look into it; made by `user_of`.

    Not a value: what is drawn moves on with each use. Make a new one for each run. What the user asks, what the writer
    does and what the judge thinks are drawn apart, so that two policies that do the same meet the same.
    """

    asking: Generator
    writing: Generator
    judging: Generator
    world: World
    names: tuple[str, ...]
    sentences: dict[tuple[int, int], Sentence]
    linker: Linker
    product: int
    topic: int = 0
    question: str = ""
    found: list[Sentence] = field(default_factory=list)
    """What the retriever finds for the question in hand, the nearest first."""

    @property
    def gold(self) -> Sentence | None:
        """The sentence that answers the question in hand; None: there is none."""
        return self.sentences.get((self.product, self.topic))

    def ask(self, *, is_first: bool) -> str:
        """Draw the next question; a later one speaks of the product as "it"."""
        self.topic = int(self.asking.integers(len(TOPICS)))
        is_named = is_first and self.asking.random() < self.world.names_product
        of = f" of {self.names[self.product]}" if is_named else ""
        self.question = TOPICS[self.topic][2].format(of=of)
        self.found = self._ranked(is_named=is_named)
        return self.question

    def look(self, memory: Memory) -> Look:
        """`Means.look`: the program's own linker and chainer on what the simulated retriever finds."""
        passages = self.found[: PASSAGES * (len(memory.looks) + 1)]
        return Look(chained(memory.question, passages, self.linker, memory.earlier_questions).evidence)

    def write(self, memory: Memory) -> str:
        """`Means.write`: the answering sentence if it was found, else another; at times with a wrong number."""
        text = self.gold.text if self.gold and self._has_gold(memory) else self._text(memory.evidence[0])
        slip = self.world.slip / (3 if memory.feedback else 1)
        is_slip, more = self.writing.random() < slip, int(self.writing.integers(1, 100))
        if not is_slip:
            return text
        return " ".join(str(int(word) + more) if word.isdigit() else word for word in text.split())

    def worth(self, memory: Memory) -> Utility:
        """`Means.worth`: the program's own checks, with the simulated model's opinion of itself."""
        return assess(self, memory.question, memory.drafts[-1], [self._text(each) for each in memory.evidence])

    def yes(self, question: str, material: Material) -> Grade:
        """`Judge.yes`: right more often than not."""
        texts = dict(material)
        if question == NEEDS_ASK:
            is_yes = texts["Found so far"].startswith("0 ")
        elif question == HALLUCINATION_ASK:
            is_yes = any(texts[NOTE] in text for name, text in material if name == PASSAGE)
        else:
            is_yes = self.gold is not None and texts[NOTE] == self.gold.text
        log_odds = self.judging.normal(self.world.certainty, self.world.doubt) * (1 if is_yes else -1)
        return Grade(probability=float(1 / (1 + np.exp(-log_odds))), usage=Usage())

    def outcome(self, memory: Memory) -> Outcome:
        """What the ended question came to."""
        if memory.ending is Ending.ANSWERED:
            return Outcome.HELPED if self._has_gold(memory) else Outcome.MISLED
        return Outcome.MADE_TO_WAIT if self.gold else Outcome.HANDED_OVER

    def _has_gold(self, memory: Memory) -> bool:
        gold = self.gold
        return gold is not None and any(
            each.source == gold.source and each.first <= gold.first <= each.last for each in memory.evidence
        )

    def _text(self, evidence: Evidence) -> str:
        product = int(evidence.source.removeprefix("document:"))
        topics = range(evidence.first, evidence.last + 1)
        return " ".join(self.sentences[product, topic].text for topic in topics if (product, topic) in self.sentences)

    def _ranked(self, *, is_named: bool) -> list[Sentence]:
        """The nearest sentences: topic and product count one each; two unsure ways to rank, fused by rank."""
        near = [(topic == self.topic) + (product == self.product) * is_named for product, topic in self.sentences]
        blur = self.asking.normal(0.0, self.world.blur, size=(2, len(near)))
        ranks = np.argsort(np.argsort(-(np.array(near) + blur), axis=1), axis=1)
        scores = (1 / (RANK_CONSTANT + 1 + ranks)).sum(axis=0)
        sentences = list(self.sentences.values())
        best = np.argsort(-scores, kind="stable")[:FOUND]
        return [replace(sentences[index], score=float(scores[index])) for index in best]


def user_of(split: Split, seed: int, number: int, world: World) -> User:
    """The user of this number, at a company of its own."""
    place = [list(Split).index(split), seed, number]
    random, writing, judging = (np.random.default_rng([*place, part]) for part in range(3))
    names = tuple(dict.fromkeys(_name(random) for _ in range(PRODUCTS)))
    sentences = {
        (product, topic): Sentence(
            source=f"document:{product}",
            first=topic,
            last=topic,
            heading=name,
            text=TOPICS[topic][1].format(name=name, number=random.integers(2, 400)),
        )
        for product, name in enumerate(names)
        for topic in range(len(TOPICS))
        if random.random() < world.documented
    }
    linker = Linker(Entity(key=f"product:{index}", name=name) for index, name in enumerate(names))
    return User(random, writing, judging, world, names, sentences, linker, product=int(random.integers(len(names))))


def case_of(user: User, policy: Policy, pick: Pick = choice) -> Iterator[Episode]:
    """The user's questions, one after another, in one case: one, or two."""
    memory = begin("simulated", user.ask(is_first=True))
    episode = play(user, memory, policy, pick)
    yield episode
    if user.asking.random() < user.world.asks_again:
        carried = [each for each in episode.memory.evidence if each.source == f"document:{user.product}"]
        memory = with_question(episode.memory, user.ask(is_first=False), carried)
        yield play(user, memory, policy, pick)


def play(user: User, memory: Memory, policy: Policy, pick: Pick = choice) -> Episode:
    """One question from here to its end. Every action costs a try, so it ends."""
    steps: list[Step] = []
    rewards = user.world.rewards
    costs = {Action.ACQUIRE: rewards.look, Action.DRAFT: rewards.draft}
    while memory.ending is None:
        action = pick(policy, memory)
        after = advance(memory, action, user, policy.limits)
        last = getattr(rewards, user.outcome(after)) if after.ending is not None else 0.0
        cost = costs.get(action, 0.0) if after.ending is None else 0.0
        steps.append(Step(memory, action, cost + last))
        memory = after
    return Episode(tuple(steps), user.outcome(memory), memory)


def measure(
    policy_for: Callable[[Judge], Policy], *, seed: int, users: int, world: World | None = None, pick: Pick = choice
) -> Measured:
    """How a policy does on held-out users.

    Args:
        policy_for: Makes the policy that decides, with the user's model to ask.
        seed: Of the users; with the same one, two policies meet the same people.
        users: How many, 2 or more.
        world: How they are.
        pick: As in `inquire`.
    """
    world = world or World()
    people = [user_of(Split.HELD_OUT, seed, number, world) for number in range(users)]
    episodes = [episode for user in people for episode in case_of(user, policy_for(user), pick)]
    return summed(policy_for(people[0]).name, episodes)


def summed(name: str, episodes: Sequence[Episode]) -> Measured:
    """The measure of these episodes, 2 or more."""
    totals = np.array([episode.total for episode in episodes])
    actions = [step.action for episode in episodes for step in episode.steps]
    return Measured(
        policy=name,
        questions=len(episodes),
        reward=float(totals.mean()),
        standard_error=float(totals.std(ddof=1) / np.sqrt(len(totals))),
        outcomes={each: sum(e.outcome is each for e in episodes) / len(episodes) for each in Outcome},
        looks=actions.count(Action.ACQUIRE) / len(episodes),
        drafts=actions.count(Action.DRAFT) / len(episodes),
    )


def _name(random: Generator) -> str:
    return "".join(SYLLABLES[index] for index in random.integers(len(SYLLABLES), size=3)).capitalize()
