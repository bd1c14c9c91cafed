"""A question that asks for two things in one sentence becomes a question for each.

"What's my open balance and the card you have on file?" Commas and joining words propose where to cut. It is cut only
where the part before asks, where each part alone is about a topic of its own, where nothing narrows the question (that
might be meant for both), and where the whole is about these two. Each part then goes its own way, with its own calls,
checks and thresholds, and what cannot be answered goes to a person, which the answer says.

Invariant: the parts hold the question's own words in order, all but the joining one; in doubt it stays whole.
Checked by tests/unit/planner/test_splitting.py; measured by `python -m tests.benchmarks.several`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from itertools import islice
from math import prod
from typing import NamedTuple

from support_agent.company.periods.periods import mentioned_periods
from support_agent.company.text import split_sentences
from support_agent.planner.choice import LEAST_SURE, MARGIN, NONE_KEY
from support_agent.planner.qualifiers import has_qualifier
from support_agent.planner.segments import Read, asks

Chances = Callable[[str], Mapping[str, float]]
"""Gives the probability of each topic and of `none` for a text, before the language model is asked."""
SURE = LEAST_SURE + MARGIN
"""A part that is so surely about its topic is asked by itself."""
LIKELY = 0.5
"""The other part is at least so likely; below `SURE` it is cut off all the same, and open until the model is sure."""
SHARE = 0.02
"""What the whole question leaves for each of the two topics: a thing that is only mentioned has less."""
MOST_CUTS = 8
"""Places that are looked at; each takes two searches."""
MOST_CHARACTERS = 600
"""A longer question is a story, and stays whole."""
MIN_WORDS = 2
"""Fewer words are part of what stands before ("by bank transfer or card")."""
DATA = ("field:", "series:", "record:")
_JOIN = re.compile(
    r"(?:\s*[,;]\s*|\s+)(?:and|plus|as well as|und|sowie|et|y|e|en|oraz|[&+])(?:\s+(?:also|auch|aussi|también|ook))?\s+"
    r"|\s*[,;]\s+",
    re.IGNORECASE,
)
"""Proposes and no more: what it does not know stays whole."""


class Part(NamedTuple):
    """One thing that is asked for, in the customer's words; `is_sure`: the search alone says what it is about."""

    text: str
    is_sure: bool = True


class _Half(NamedTuple):
    """One part of a cut, the topic nearest to it, and how likely it is about that."""

    text: str
    topic: str
    chance: float


def split_question(question: str, chances: Chances, read: Read, least: float, today: date) -> tuple[Part, ...]:
    """The two things that a question asks for; the question itself, where it asks for one or nobody can tell.

    Args:
        question: Of a mail, in the customer's words.
        chances: See `Chances`.
        read: Tells what a piece of a mail does.
        least: The probability that an answer needs: so likely is the whole question about the two topics together.
        today: For the periods that it names.
    """
    places = list(islice(_cut_points(question, read), MOST_CUTS)) if len(question) <= MOST_CHARACTERS else []
    is_open = bool(places) and not has_qualifier(question, partial(asks, read=read))
    whole = chances(question) if is_open else {}
    told = {topic: chance for topic, chance in whole.items() if topic != NONE_KEY and chance >= SHARE}
    if len(told) < 2:
        return (Part(question),)
    found = [cut for left, right in places if (cut := _cut(left, right, chances, told))]
    fitting = [cut for cut in found if sum(told[half.topic] for half in cut) >= least and not _loses_period(cut, today)]
    best = max(fitting, key=lambda cut: prod(half.chance for half in cut), default=())
    return tuple(Part(half.text, half.chance >= SURE) for half in best) or (Part(question),)


def _cut_points(question: str, read: Read) -> Iterator[tuple[str, str]]:
    """The question before and after each join inside a sentence whose first half asks."""
    for join in _JOIN.finditer(question):
        left, right = question[: join.start()], question[join.end() :]
        if left and right:
            before, after = split_sentences(left)[-1], split_sentences(right)[0]
            if min(len(before.split()), len(after.split())) >= MIN_WORDS and asks(before, read):
                yield left, right


def _cut(left: str, right: str, chances: Chances, told: Mapping[str, float]) -> tuple[_Half, ...]:
    """Both parts, where each is nearest to another one of the topics that the whole question is about; else none."""
    halves: list[_Half] = []
    for text in (left, right):
        topic, chance = max(chances(text).items(), key=lambda entry: entry[1])
        if topic not in told or chance < LIKELY or any(half.topic == topic for half in halves):
            return ()
        halves.append(_Half(text, topic, chance))
    return tuple(halves) if max(half.chance for half in halves) >= SURE else ()


def _loses_period(cut: Sequence[_Half], today: date) -> bool:
    """Whether a value might be sent for another time than is asked: "my payments and my storage use in March"."""
    named = [set(mentioned_periods(half.text, today)) for half in cut]
    whole = set.union(*named)
    return any(half.topic.startswith(DATA) and own < whole for half, own in zip(cut, named, strict=True))
