"""Cuts a mail into the customer's questions, in any language alike, so that none is forgotten.

Punctuation and layout propose where one ends; whether two sentences that ask are two questions is a fitted vote on how
surely both ask, how far their nearest topics are apart, and how much each says (`questions.json`, written by `python -m
tests.benchmarks.cutting --fit`). A wish, order or complaint about something else is a question of its own. What asks
nothing goes to the question that it is nearer to. In doubt a sentence stays in its neighbour's question, and a mail in
which nothing asks is one question, whole.

Invariant: the questions hold only the customer's own words, in order. Checked by
tests/unit/planner/test_questions.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import exp, log

from pydantic import TypeAdapter

from support_agent.company.text import collapse
from support_agent.planner.segments import Read, Segment, segments_of, sentences_of
from support_agent.tools.base import Reading

WEIGHTS_FILE = "questions.json"
SPLIT = 0.4
"""Two sentences that are two questions so likely are two."""
NAMED_AT_PAUSE = 0.6
"""What is so near to the name of an account value names it, where a comma parts it from another. Chosen, like the
other bounds here, on the mails that may be developed on."""
NAMED = 0.7
"""The same where no more than a short word does."""
APART = 0.4
"""Two values are so much nearer to their own names than to each other's."""
SURE_ORDER = 0.6
"""A wish, order or complaint behind a question, so sure to be one and about something else, is a question of its own:
that cuts seven of 441 mails with one question in two, and what is lost in the answer to its neighbour costs more."""
ORDER_APART = 0.5
"""What is so far from the question before is about something else; see `_change`."""
ABOUT_ACCOUNT = 0.5
"""A sentence farther from every account value names none."""
WHOLE = 0.05
"""Two parts must be named as well as the whole, but for this: "how many seats do I pay for" is one value."""
MOST_WORDS = 30
"""A longer sentence is a story, and no list of values."""
MOST_PLACES = 12
"""So many places of a sentence are looked at."""
JOINING_LETTERS = 3
"""Most words that join two values ("and", "und", "et", "y", "i") have no more letters."""
PAUSES = ",;:\u060c\uff1b\uff0c\u3001"
ACCOUNT_TOPICS = ("field:", "series:")
WIDE, WIDE_LETTERS = 0x2E80, 3
"""From this character on scripts write words with a character or two, which count as so many letters."""
_REPLY = re.compile(r"^((re|aw|fw|fwd|wg|rv)\s*:\s*)+", re.IGNORECASE)


def questions_of(subject: str, text: str, read: Read) -> tuple[str, ...]:
    """The customer's questions in the order of the mail, one at least.

    Args:
        subject: The mail's subject; it is the question where the text asks nothing, and context of a single
            one. That of a reply was written for another mail: beside a text that asks nothing it does not count.
        text: What the customer wrote now, without quotation and signature.
        read: Tells what a piece of the mail does, and what it is about.
    """
    pieces = segments_of(text, read)
    groups = _groups(pieces)
    if len(groups) > 1:
        return tuple(value for group in groups for value in _values(group, read))
    asks_nothing = not any(piece.asks or piece.reports for piece in pieces)
    is_inherited = asks_nothing and pieces and _REPLY.match(subject.strip())
    topic = "" if is_inherited else _clean_subject(subject)
    whole = _values(pieces, read, topic) if pieces else (collapse(f"{topic} {text}"),)
    return whole if any(whole) else (collapse(subject),)


def asked_in(question: str, read: Read) -> list[str]:
    """The sentences of a question that ask; all, where none does."""
    sentences = sentences_of(question)
    pieces = [Segment(text, reading, 0) for text, reading in zip(sentences, read(sentences), strict=True)]
    return [piece.text for piece in pieces if piece.asks] or sentences


def _groups(pieces: Sequence[Segment]) -> list[list[Segment]]:
    """The pieces of each question; one group, or none, where nothing asks."""
    groups: list[list[Segment]] = [[]]
    has_items = any(piece.is_item and piece.asks for piece in pieces)
    for piece in pieces:
        asked = [one for one in groups[-1] if one.asks or (one.reports and len(groups) > 1)]
        item = next((one for one in groups[-1] if has_items and one.is_item), None)
        if has_items and piece.is_item:
            if asked or item:
                groups.append([piece])
            else:
                groups[-1].append(piece)
        elif item is not None and item.block == piece.block:
            groups[-1].append(piece)
        elif asked and _begins_question(max(asked, key=asking_score), piece):
            groups.append([*_context(groups[-1], piece), piece])
        else:
            groups[-1].append(piece)
    return [group for group in groups if group]


def _context(before: list[Segment], piece: Segment) -> list[Segment]:
    """What asks nothing at the end of the question before, and is nearer to the new one; it is taken off there."""
    taken: list[Segment] = []
    while not before[-1].asks and _is_nearer(before[-1], piece, max(before, key=asking_score)):
        taken.insert(0, before.pop())
    return taken


def _is_nearer(context: Segment, new: Segment, old: Segment) -> bool:
    if (context.block == new.block) != (context.block == old.block):
        return context.block == new.block
    return _distance(context.reading, new.reading) < _distance(context.reading, old.reading)


def _distance(one: Reading, other: Reading) -> float:
    """How differently two pieces resemble the topics."""
    return sum(abs(near - other.near.get(topic, 0.0)) for topic, near in one.near.items())


def asking_score(piece: Segment) -> float:
    """How surely a piece asks; a question mark counts more than the words."""
    return piece.reading.is_marked + piece.reading.acts.asks


def _begins_question(before: Segment, piece: Segment) -> bool:
    return (piece.asks or piece.reports) and (_are_two(before, piece) or _is_order(before, piece))


def _are_two(first: Segment, second: Segment) -> bool:
    weights = committed()
    score = weights["bias"] + sum(weights[name] * value for name, value in features_of(first, second).items())
    return 1 / (1 + exp(-score)) >= SPLIT


def _is_order(first: Segment, second: Segment) -> bool:
    """Whether the second wishes, orders or complains about something else: that is not lost in a neighbour's answer."""
    acts = second.reading.acts
    is_sure = acts.asks + acts.reports >= SURE_ORDER and not second.reading.is_marked
    return (
        is_sure
        and _top(first.reading)[0] != _top(second.reading)[0]
        and _change(first.reading, second.reading) >= ORDER_APART
    )


def features_of(first: Segment, second: Segment) -> dict[str, float]:
    """What says whether two sentences that ask are two questions.

    `marked`: both have a question mark; `sure`: how surely the less sure one asks; `change`: how much nearer each is to
    its own nearest topic than to the other's; `near`: how near the farther one is to a topic at all; `length` of the
    second, and of the `shorter`, as logarithms of their letters.
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


def _top(reading: Reading) -> tuple[str, float]:
    return max(reading.near.items(), key=lambda pair: pair[1], default=("", 0.0))


def _change(first: Reading, second: Reading) -> float:
    (own, near), (other, far) = _top(first), _top(second)
    return near - first.near.get(other, 0.0) + far - second.near.get(own, 0.0)


def _letters(text: str) -> int:
    return sum(WIDE_LETTERS if ord(letter) >= WIDE else 1 for letter in text)


def _values(group: Sequence[Segment], read: Read, before: str = "") -> tuple[str, ...]:
    """A question; several, where a sentence names several values of an account: "my plan and the renewal date"."""
    kept: list[str] = []
    texts = [before]
    for piece in group:
        first, *others = _parts(piece, read)
        texts.append(first)
        for part in others:
            kept.append(collapse(" ".join(texts)))
            texts = [part]
    return (*kept, collapse(" ".join(texts)))


def _parts(piece: Segment, read: Read) -> list[str]:
    """A sentence cut where it names another value: at a pause, or else at the short word where both are named best."""
    words = piece.text.split()
    if len(words) > MOST_WORDS or not _names_value(piece.reading, ABOUT_ACCOUNT):
        return [piece.text]
    whole = _top(piece.reading)[1] - WHOLE
    for is_at_pause, least in ((True, max(NAMED_AT_PAUSE, whole)), (False, max(NAMED, whole))):
        found = []
        for place in list(_places(words, is_at_pause=is_at_pause))[:MOST_PLACES]:
            left, right = " ".join(words[:place]), " ".join(words[place:])
            one, other = read([left, right])
            if _names_value(one, least) and _names_value(other, least) and _change(one, other) >= APART:
                found.append((min(_top(one)[1], _top(other)[1]), left, Segment(right, other, piece.block)))
        if found:
            _, left, rest = max(found, key=lambda one: one[0])
            return [left, *_parts(rest, read)]
    return [piece.text]


def _places(words: Sequence[str], *, is_at_pause: bool) -> Iterator[int]:
    for place in range(1, len(words)):
        is_short = len(words[place]) <= JOINING_LETTERS and words[place].isalpha()
        if words[place - 1][-1] in PAUSES if is_at_pause else is_short:
            yield place


def _names_value(reading: Reading, least: float) -> bool:
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
