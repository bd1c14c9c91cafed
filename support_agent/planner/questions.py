"""Splits a mail into the customer's questions, in any language, so that none is forgotten.

Punctuation and layout propose where a question ends. Whether two sentences that ask are two questions is a logistic
regression on how surely both ask, how far apart their nearest topics are, and how long they are (`questions.json`,
written by `python -m tests.benchmarks.cutting --fit`). A wish, order or complaint about another topic is a question of
its own. A sentence that asks nothing joins the question it is nearer to; a doubtful sentence stays in the current
question. A mail in which nothing asks is one question.

Invariant: the questions contain only the customer's own words, in order. Checked by
tests/unit/planner/test_questions.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate
from math import exp, log

from pydantic import TypeAdapter

from support_agent.company.text import collapse
from support_agent.planner.segments import Read, Segment, segments_of, sentences_of
from support_agent.tools.base import SegmentReading

WEIGHTS_FILE = "questions.json"
SPLIT = 0.4
"""Least probability that two sentences are two questions."""
NAMED_AT_PAUSE = 0.6
"""Least similarity to the name of an account value that counts as naming it, if a comma separates two. Chosen, like
the other bounds here, on the development mails."""
NAMED = 0.7
"""The same if only a short word separates them."""
APART = 0.4
"""Two parts must be this much nearer to their own value than to the other's."""
SURE_ORDER = 0.6
"""Least probability of a wish, order or complaint that becomes a question of its own. This wrongly splits seven of 441
mails with one question, but an unanswered request would cost more."""
ORDER_APART = 0.5
"""Least topic change from the previous question for such a request; see `_change`."""
ABOUT_ACCOUNT = 0.5
"""Least similarity of a sentence that may name account values."""
WHOLE = 0.05
"""Parts may be this much farther from a value than the whole: "how many seats do I pay for" is one value."""
MOST_WORDS = 30
"""A longer sentence is not split into values."""
MOST_PLACES = 12
"""At most this many split points of a sentence are tried."""
JOINING_LETTERS = 3
"""Most words that join two values ("and", "und", "et", "y", "i") have no more letters."""
PAUSES = ",;:\u060c\uff1b\uff0c\u3001"
ACCOUNT_TOPICS = ("field:", "series:")
WIDE, WIDE_LETTERS = 0x2E80, 3
"""From code point `WIDE` on, scripts write a word in one or two characters; each counts as `WIDE_LETTERS`."""
_REPLY = re.compile(r"^((re|aw|fw|fwd|wg|rv)\s*:\s*)+", re.IGNORECASE)


def questions_of(subject: str, text: str, read: Read) -> tuple[str, ...]:
    """The customer's questions in the order of the mail, one at least.

    Args:
        subject: The mail's subject. It is the question if the text asks nothing, and context of a single question. The
            subject of a reply was written for another mail and is ignored if the text asks nothing.
        text: What the customer wrote now, without quotation and signature.
        read: Classifies segments of the mail.
    """
    segments = segments_of(text, read)
    groups = _groups(segments)
    if len(groups) > 1:
        return tuple(value for group in groups for value in _values(group, read))
    asks_nothing = not any(segment.asks or segment.reports for segment in segments)
    is_inherited = asks_nothing and segments and _REPLY.match(subject.strip())
    topic = "" if is_inherited else _clean_subject(subject)
    whole = _values(segments, read, topic) if segments else (collapse(f"{topic} {text}"),)
    return whole if any(whole) else (collapse(subject),)


def asked_in(question: str, read: Read) -> list[str]:
    """The sentences of a question that ask; all sentences if none does."""
    sentences = sentences_of(question)
    segments = [Segment(text, reading, 0) for text, reading in zip(sentences, read(sentences), strict=True)]
    return [segment.text for segment in segments if segment.asks] or sentences


class _Group:
    """The segments of one question, with its first item and the segment that asks most surely."""

    def __init__(self, segments: Iterable[Segment] = (), *, is_first: bool = False) -> None:
        self.segments: list[Segment] = []
        self.item: Segment | None = None
        self.asked: Segment | None = None
        self._is_first = is_first
        for segment in segments:
            self.add(segment)

    def add(self, segment: Segment) -> None:
        self.segments.append(segment)
        if segment.is_item and self.item is None:
            self.item = segment
        if segment.asks or (segment.reports and not self._is_first):
            self.asked = _surer(self.asked or segment, segment)


def _groups(segments: Sequence[Segment]) -> list[list[Segment]]:
    """The segments of each question; at most one group if nothing asks."""
    group = _Group(is_first=True)
    groups = [group]
    has_items = any(segment.is_item and segment.asks for segment in segments)
    for segment in segments:
        item = group.item if has_items else None
        context: list[Segment] = []
        if has_items and segment.is_item:
            is_new = bool(group.asked or item)
        elif item is not None and item.block == segment.block:
            is_new = False
        else:
            is_new = group.asked is not None and _begins_question(group.asked, segment)
            context = _context(group.segments, segment) if is_new else []
        if is_new:
            group = _Group(context)
            groups.append(group)
        group.add(segment)
    return [group.segments for group in groups if group.segments]


def _context(before: list[Segment], segment: Segment) -> list[Segment]:
    """Remove from the previous question its last segments that ask nothing and are nearer to the new question."""
    surest = list(accumulate(before, _surer))
    first = len(before)
    while not before[first - 1].asks and _is_nearer(before[first - 1], segment, surest[first - 1]):
        first -= 1
    taken = before[first:]
    del before[first:]
    return taken


def _surer(one: Segment, other: Segment) -> Segment:
    """Which of two segments asks more surely; the first where they are equal."""
    return other if asking_score(other) > asking_score(one) else one


def _is_nearer(context: Segment, new: Segment, old: Segment) -> bool:
    if (context.block == new.block) != (context.block == old.block):
        return context.block == new.block
    return _distance(context.reading, new.reading) < _distance(context.reading, old.reading)


def _distance(one: SegmentReading, other: SegmentReading) -> float:
    """How much two segments differ in their similarity to the topics."""
    return sum(abs(near - other.near.get(topic, 0.0)) for topic, near in one.near.items())


def asking_score(segment: Segment) -> float:
    """How surely a segment asks; a question mark counts more than the words."""
    return segment.reading.is_marked + segment.reading.acts.asks


def _begins_question(before: Segment, segment: Segment) -> bool:
    return (segment.asks or segment.reports) and (_are_two(before, segment) or _is_order(before, segment))


def _are_two(first: Segment, second: Segment) -> bool:
    weights = committed()
    score = weights["bias"] + sum(weights[name] * value for name, value in features_of(first, second).items())
    return 1 / (1 + exp(-score)) >= SPLIT


def _is_order(first: Segment, second: Segment) -> bool:
    """Whether the second segment is a wish, order or complaint about another topic."""
    acts = second.reading.acts
    is_sure = acts.asks + acts.reports >= SURE_ORDER and not second.reading.is_marked
    return (
        is_sure
        and _top(first.reading)[0] != _top(second.reading)[0]
        and _change(first.reading, second.reading) >= ORDER_APART
    )


def features_of(first: Segment, second: Segment) -> dict[str, float]:
    """The features that decide whether two sentences that ask are two questions.

    `marked`: both have a question mark; `sure`: the lower probability of asking; `change`: how much nearer each is to
    its own nearest topic than to the other's; `near`: the lower of both similarities to their nearest topic; `length`
    of the second and `shorter` of both, as logarithms of the number of letters.
    """
    readings = (first.reading, second.reading)
    tops = [_top(reading) for reading in readings]
    return {
        "marked": float(all(reading.is_marked for reading in readings)),
        "sure": min(max(float(reading.is_marked), reading.acts.asks) for reading in readings),
        "change": _change(*readings),
        "near": min(near for _, near in tops),
        "length": log(_letters(second.text)),
        "shorter": log(min(_letters(first.text), _letters(second.text))),
    }


def _top(reading: SegmentReading) -> tuple[str, float]:
    return max(reading.near.items(), key=lambda pair: pair[1], default=("", 0.0))


def _change(first: SegmentReading, second: SegmentReading) -> float:
    (own, near), (other, far) = _top(first), _top(second)
    return near - first.near.get(other, 0.0) + far - second.near.get(own, 0.0)


def _letters(text: str) -> int:
    return sum(WIDE_LETTERS if ord(letter) >= WIDE else 1 for letter in text)


def _values(group: Sequence[Segment], read: Read, before: str = "") -> tuple[str, ...]:
    """One question, or several if a sentence names several account values: "my plan and the renewal date"."""
    kept: list[str] = []
    texts = [before]
    for segment in group:
        first, *others = _parts(segment, read)
        texts.append(first)
        for part in others:
            kept.append(collapse(" ".join(texts)))
            texts = [part]
    return (*kept, collapse(" ".join(texts)))


def _parts(segment: Segment, read: Read) -> list[str]:
    """Split a sentence where it names another value: at a pause, else at the best short word."""
    words = segment.text.split()
    if len(words) > MOST_WORDS or not _names_value(segment.reading, ABOUT_ACCOUNT):
        return [segment.text]
    whole = _top(segment.reading)[1] - WHOLE
    for is_at_pause, least in ((True, max(NAMED_AT_PAUSE, whole)), (False, max(NAMED, whole))):
        found = []
        for place in list(_places(words, is_at_pause=is_at_pause))[:MOST_PLACES]:
            left, right = " ".join(words[:place]), " ".join(words[place:])
            one, other = read([left, right])
            if _names_value(one, least) and _names_value(other, least) and _change(one, other) >= APART:
                found.append((min(_top(one)[1], _top(other)[1]), left, Segment(right, other, segment.block)))
        if found:
            _, left, rest = max(found, key=lambda one: one[0])
            return [left, *_parts(rest, read)]
    return [segment.text]


def _places(words: Sequence[str], *, is_at_pause: bool) -> Iterator[int]:
    for place in range(1, len(words)):
        is_short = len(words[place]) <= JOINING_LETTERS and words[place].isalpha()
        if words[place - 1][-1] in PAUSES if is_at_pause else is_short:
            yield place


def _names_value(reading: SegmentReading, least: float) -> bool:
    topic, near = _top(reading)
    return topic.startswith(ACCOUNT_TOPICS) and near >= least


def _clean_subject(subject: str) -> str:
    cleaned = _REPLY.sub("", subject.strip())
    return cleaned if not cleaned or cleaned[-1] in ".?!" else f"{cleaned}."


@cache
def committed() -> Mapping[str, float]:
    """The weights of `features_of`, and `bias`."""
    text = files(__package__).joinpath(WEIGHTS_FILE).read_text(encoding="utf-8")
    return TypeAdapter(dict[str, float]).validate_json(text)
