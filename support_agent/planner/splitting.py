"""Splits a question that asks for two things in one sentence: "What's my open balance and the card you have on file?"

Commas and conjunctions propose where to split. The question is split only if the first part asks, each part has a topic
of its own, the whole question is about these two topics, and it has no qualifier (which might apply to both). If an
account value answers the first part alone, a second part that surely asks is split off as well, so that it is not
dropped silently ("How many seats do we use, and who invited them?"). Each part is planned as a question of its own.

Invariant: the parts keep the question's words in order, except the conjunction; a doubtful question stays whole.
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

from support_agent.company.periods.recognition import mentioned_periods
from support_agent.company.text import split_sentences
from support_agent.planner.choice import LEAST_SURE, MARGIN, NONE_KEY
from support_agent.planner.qualifiers import QUESTION_MARKS, has_qualifier
from support_agent.planner.segments import Read, asks

Chances = Callable[[str], Mapping[str, float]]
"""Returns the probabilities of each topic and of `none` for a text, without the language model."""
SURE = LEAST_SURE + MARGIN
"""Least probability of the topic of at least one part."""
LIKELY = 0.5
"""Least probability for the other part. Below `SURE` it is doubtful: the model must raise it to `SURE`."""
SHARE = 0.02
"""Least probability of each topic for the whole question; a topic that is only mentioned has less."""
MOST_CUTS = 8
"""At most this many split points are tried; each takes two searches."""
MOST_CHARACTERS = 600
"""Longer questions are not split."""
MIN_WORDS = 2
"""Least number of words of a part ("card" in "by bank transfer or card" is none)."""
ASKS_APART = 0.6
"""Least probability, without its question mark, that a part asks which no topic of the whole question answers."""
SAME = 0.1
"""From this probability of the first part's topic on, the second part may be about it as well."""
DATA = ("field:", "series:", "record:")
_JOIN = re.compile(
    r"(?:\s*[,;]\s*|\s+)(?:and|plus|as well as|und|sowie|et|y|e|en|oraz|[&+])(?:\s+(?:also|auch|aussi|también|ook))?\s+"
    r"|\s*[,;]\s+",
    re.IGNORECASE,
)
"""Only proposes; questions with unknown conjunctions stay whole."""


class MailPart(NamedTuple):
    """One thing that is asked for, in the customer's words; `is_sure`: the search alone is sure of its topic."""

    text: str
    is_sure: bool = True


class _Half(NamedTuple):
    """One part, its likeliest topic, and the probability of that topic."""

    text: str
    topic: str
    chance: float


def split_question(question: str, chances: Chances, read: Read, least: float, today: date) -> tuple[MailPart, ...]:
    """The two parts of a question, or the question itself if it asks for one thing or is doubtful.

    Args:
        question: Of a mail, in the customer's words.
        read: Classifies segments of a mail.
        least: The probability that an answer needs, and that both topics must have together for the whole question.
        today: Resolves the periods that the question names.
    """
    places = list(islice(_cut_points(question, read), MOST_CUTS)) if len(question) <= MOST_CHARACTERS else []
    if not places or has_qualifier(question, partial(asks, read=read)):
        return (MailPart(question),)
    asked = {topic: chance for topic, chance in chances(question).items() if topic != NONE_KEY and chance >= SHARE}
    found = [cut for left, right in places if (cut := _cut(left, right, chances, asked))] if len(asked) > 1 else []
    fitting = [
        cut for cut in found if sum(asked[half.topic] for half in cut) >= least and not _loses_period(cut, today)
    ]
    if fitting:
        best = max(fitting, key=lambda cut: prod(half.chance for half in cut))
        return tuple(MailPart(half.text, half.chance >= SURE) for half in best)
    joined = [(left, right) for left, right in places if re.search(r"[^\s,;]", question[len(left) : -len(right)])]
    apart = (two for left, right in joined if (two := _apart(left, right, chances, read, today)))
    return next(apart, (MailPart(question),))


def _apart(left: str, right: str, chances: Chances, read: Read, today: date) -> tuple[MailPart, ...]:
    """A part that an account value answers and one that asks for something else; () if they are no such two."""
    asking = split_sentences(right)[0].rstrip("".join(QUESTION_MARKS))
    if read([asking])[0].acts.asks < ASKS_APART:
        return ()
    value = _half(left, chances(left))
    if not value.topic.startswith(DATA) or value.chance < SURE:
        return ()
    others = chances(right)
    other = _half(right, others)
    is_same = other.topic == value.topic or others.get(value.topic, 0.0) >= SAME
    if is_same or _loses_period((value, other), today):
        return ()
    return MailPart(left), MailPart(right, is_sure=other.topic != NONE_KEY and other.chance >= SURE)


def _half(text: str, found: Mapping[str, float]) -> _Half:
    topic, chance = max(found.items(), key=lambda entry: entry[1])
    return _Half(text, topic, chance)


def _cut_points(question: str, read: Read) -> Iterator[tuple[str, str]]:
    """The text before and after each conjunction in a sentence whose first part asks."""
    for join in _JOIN.finditer(question):
        left, right = question[: join.start()], question[join.end() :]
        if left and right:
            before, after = split_sentences(left)[-1], split_sentences(right)[0]
            if min(len(before.split()), len(after.split())) >= MIN_WORDS and asks(before, read):
                yield left, right


def _cut(left: str, right: str, chances: Chances, asked: Mapping[str, float]) -> tuple[_Half, ...]:
    """Both parts if their likeliest topics differ and are topics of the whole question; else ()."""
    halves: list[_Half] = []
    for text in (left, right):
        new = _half(text, chances(text))
        if new.topic not in asked or new.chance < LIKELY or any(half.topic == new.topic for half in halves):
            return ()
        halves.append(new)
    return tuple(halves) if max(half.chance for half in halves) >= SURE else ()


def _loses_period(cut: Sequence[_Half], today: date) -> bool:
    """Whether splitting would drop a period from a value: "my payments and my storage use in March"."""
    named = [set(mentioned_periods(half.text, today)) for half in cut]
    whole = set.union(*named)
    return any(half.topic.startswith(DATA) and own < whole for half, own in zip(cut, named, strict=True))
