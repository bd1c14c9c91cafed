"""Splits a mail's text into segments (sentences) and drops greeting, sign-off and footer.

Punctuation, layout and script propose the segments. A classifier fitted on vectors says what each one does (greets,
closes, asks, tells), in any language; position decides whether that counts: a greeting opens the mail, thanks and names
close it. Doubtful segments are kept.

Invariant: the segments contain only the customer's own words, in order. Checked by
tests/unit/planner/test_questions.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from support_agent.company.text import collapse, split_sentences
from support_agent.tools.base import SegmentReading

Read = Callable[[Sequence[str]], Sequence[SegmentReading]]
"""Classifies segments: what each one does, and what it is about."""
LIST_ITEM = re.compile(r"^([-*•]|\d+[.)]) ")
SHORT_LINE = 60
"""Lines of this many characters or more are neither greeting nor sign-off."""
SURE = 0.6
"""Least probability of a greeting or sign-off that is dropped at the start or end of a mail."""
ASKS = 0.5
"""Least probability of a question without a question mark."""
MIN_WORDS = 3
"""Fewer words before a question mark are an exclamation ("Right?"), not a question."""
MIN_LETTERS = 6
"""The same for scripts without spaces between words."""
GREETING_WORDS = 6
"""At most this many words before a first comma can be a greeting ("Hi Anna and team, where is ...")."""
NAME_WORDS = 4
"""Lines of at most this many words can be the name at the end of a mail."""
ENDS = (".", "!", "\u2026", "\u3002", "\uff01", "\u0964", "\u06d4", "\u055d", "\u1362")
"""Marks at the end of a sentence that is no question."""
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•]|\d+[.)]) )")
_GREETED = re.compile(r"^([^,.!:\u060c\uff0c]{1,60}[,.!:\u060c\uff0c]+)\s*(?=\S)")
_ENDS = re.compile(r"(?<=[\u3002\uff01\uff1f\u061f\u0964\u06d4\u055e\u1367])\s*(?=\S)|(?<=\?) |(?<=[^\W\d_]{3}[.!]) ")
"""Ends of sentences without a capital after them: scripts without capitals, and hasty mails."""
_MARKER = re.compile(r"^\d+[.)]$")
_POSTSCRIPT = re.compile(r"^p\.? ?s\b", re.IGNORECASE)


class Segment(NamedTuple):
    """Roughly a sentence; `block` counts paragraphs and list items."""

    text: str
    reading: SegmentReading
    block: int

    @property
    def is_item(self) -> bool:
        """Whether it begins a list item."""
        return LIST_ITEM.match(self.text) is not None and is_long(self.text)

    @property
    def asks(self) -> bool:
        """Whether it is a question, a wish or an order."""
        return is_long(self.text) and (self.reading.is_marked or self.reading.acts.asks >= ASKS)

    @property
    def reports(self) -> bool:
        """Whether it reports a problem."""
        return self.reading.acts.reports >= ASKS


def asks(text: str, read: Read) -> bool:
    """Whether one sentence is a question, a wish or an order."""
    return Segment(text, read([text])[0], 0).asks


def is_long(text: str) -> bool:
    """Whether the text has enough words to be a question."""
    words = text.split()
    return len(words) >= MIN_WORDS or (not text.isascii() and any(len(word) >= MIN_LETTERS * 2 for word in words))


def segments_of(text: str, read: Read) -> list[Segment]:
    """The segments of a mail without greeting and sign-off.

    After a sign-off questions, postscripts and sentences that tell something are kept ("I mean in June, not today.").
    """
    kept: list[Segment] = []
    is_signed_off = False
    for number, block in enumerate(_blocks(text, read)):
        if not block:
            is_signed_off = bool(kept)  # "Thanks for your quick answer." can open a mail as well
            continue
        body = collapse(" ".join(block))
        if not kept:
            body = _ungreeted(body, read)
        is_after_all = not is_signed_off or bool(_POSTSCRIPT.match(body))
        segments = [Segment(one, reading, number) for one, reading in _read(sentences_of(body), read)]
        while len(kept) + len(segments) > 1 and segments and _closes(segments[-1]):
            segments.pop()
        kept += [segment for segment in segments if is_after_all or _asks_below(segment) or _tells_below(segment)]
    while len(kept) > 1 and _greets(kept[0]):
        kept = kept[1:]
    return kept


def _read(texts: Sequence[str], read: Read) -> Iterator[tuple[str, SegmentReading]]:
    return zip(texts, read(texts), strict=True)


def sentences_of(body: str) -> list[str]:
    """The sentences of a paragraph; the number of a list item stays with its text."""
    parts: list[str] = []
    for sentence in split_sentences(body):
        first, *others = _ENDS.split(sentence)
        if parts and _MARKER.match(parts[-1]):
            parts[-1] = f"{parts[-1]} {first}"
        else:
            parts.append(first)
        parts += others
    return parts


def _blocks(text: str, read: Read) -> list[list[str]]:
    """The lines of each paragraph and list item, without greetings; an empty block marks a sign-off."""
    blocks: list[list[str]] = []
    is_open = False
    for paragraph in _PARAGRAPH.split(text):
        block: list[str] = []
        lines = [line.strip() for line in paragraph.splitlines() if line.strip()]
        for line, following in zip(lines, [*lines[1:], ""], strict=False):
            is_courtesy = _is_courtesy(line, following, read, is_open=is_open)
            if is_courtesy and is_open:
                blocks += [block, []] if block else [[]]
                block = []
            elif is_courtesy:
                continue
            else:
                block.append(line)
                is_open = True
        if block:
            blocks.append(block)
    return _without_names(blocks, read) or [[line.strip() for line in text.splitlines()]]


def _is_courtesy(line: str, following: str, read: Read, *, is_open: bool) -> bool:
    """Whether a line is only a greeting or, once the mail has begun (`is_open`), a sign-off."""
    if len(line) >= SHORT_LINE or following[:1].islower() or any(one.is_marked for one in read(sentences_of(line))):
        return False
    acts = read([line])[0].acts
    return acts.greets + acts.parts + acts.footer * is_open >= SURE


def _without_names(blocks: list[list[str]], read: Read) -> list[list[str]]:
    """Drop names at the end; at least one line stays."""
    while sum(map(len, blocks)) > 1 and (not blocks[-1] or _is_name(blocks[-1][-1], read)):
        blocks = [*blocks[:-1], *([blocks[-1][:-1]] if blocks[-1][1:] else [])]
    return blocks


def _is_name(line: str, read: Read) -> bool:
    """Whether a last line is the name of a person or company: a few capitalised words without final punctuation."""
    words = line.split()
    is_cased = all(word[0].isupper() or not word[0].isalpha() for word in words)
    is_plain = line[-1] not in "?!:" and not any(map(str.isdigit, line))
    return len(words) <= NAME_WORDS and is_plain and is_cased and read([line])[0].acts.asks < SURE


def _ungreeted(body: str, read: Read) -> str:
    """Drop a greeting at the start of the first sentence."""
    if (match := _GREETED.match(body)) and len(match[1].split()) <= GREETING_WORDS:
        acts = read([match[1]])[0].acts
        if acts.greets + acts.parts >= SURE and acts.greets > acts.parts:
            return body[match.end() :]
    return body


def _greets(segment: Segment) -> bool:
    acts = segment.reading.acts
    return acts.greets + acts.parts >= SURE and not segment.reading.is_marked and len(segment.text) < SHORT_LINE


def _closes(segment: Segment) -> bool:
    return segment.reading.acts.parts >= SURE and not segment.reading.is_marked and len(segment.text) < SHORT_LINE


def _asks_below(segment: Segment) -> bool:
    return segment.asks and segment.reading.acts.footer < ASKS


def _tells_below(segment: Segment) -> bool:
    """Whether a whole sentence gives context; addresses and titles do not end like one."""
    return is_long(segment.text) and segment.text.rstrip(")")[-1:] in ENDS and segment.reading.acts.tells >= SURE
