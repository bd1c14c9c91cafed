"""Rules for plain text: refused characters and ends of sentences.

Invariant: the sentences of a text, joined by one space, are the text with its white space collapsed. After a possible
abbreviation the text is not split, because an overlong sentence is still true and half of one may not be. Checked by
tests/unit/company/test_text.py.
"""

from __future__ import annotations

import re

BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
INVISIBLE = frozenset("\u00ad\u200b\u2028\u2029\u2060\ufeff")

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # Unicode's category Cc without tab and newline
_REFUSED = re.compile(f"[{_CONTROLS}{''.join(sorted(BIDI_CONTROLS | INVISIBLE))}]")
_REFUSED_IN_LINE = re.compile(f"\n|{_REFUSED.pattern}")

_ABBREVIATIONS = """
    e.g i.e etc vs cf approx incl excl max min dept est ext inc ltd co corp mr mrs ms dr
    prof st jr sr a.m p.m u.s u.k z.b d.h u.a o.ä bzw usw ca bspw evtl ggf inkl exkl zzgl
    vgl sog tel str mio mrd hr fr i.d.r u.u s.o s.u p.ej sra dra ud uds vd aprox ee.uu
"""
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
"""Abbreviations in lower case without the last full stop; a capital after one does not begin a sentence."""
NUMBER_ABBREVIATIONS = frozenset(["no", "nos", "nr", "fig", "art", "abs", "núm", "pág", "p"])
"""Abbreviations only before a number ("No. 5"); else ordinary words ("No. You cannot.")."""
_GERMAN_MONTHS = """
    januar jänner februar märz april mai juni juli august september oktober november
    dezember
"""
GERMAN_MONTHS = frozenset(_GERMAN_MONTHS.split())

_END = re.compile(r"""(?<![.!?…])[.!?…]+["'”\u2019»)\]]*(?=\s)""")
_START = re.compile(r"""[\s"'\u201c\u2018«„¿¡(\[]*""")
_SPACE = re.compile(r"\s*")
_LETTERS = re.compile(r"\w*")
_BEFORE_WORD = frozenset("([\"'“„«")


REMOVE = "delete it: no mail may contain it"
"""The advice for a refused character."""


def refused_character(text: str, *, is_one_line: bool = False) -> tuple[int, str] | None:
    """The first character that no mail may contain, as (offset, name such as "U+202E"), or None.

    Refused are control characters except newline and tab, Unicode's bidirectional controls (they can make a sentence
    read differently from what is stored) and invisible characters; with `is_one_line` also newlines.
    """
    found = (_REFUSED_IN_LINE if is_one_line else _REFUSED).search(text)
    return None if found is None else (found.start(), f"U+{ord(found.group()):04X}")


def collapse(text: str) -> str:
    """The text with each run of white space replaced by one space, and none at its ends."""
    return " ".join(text.split())


def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """(start, end) offsets of a paragraph's whole sentences, in order, without the white space between.

    Takes linear time for any text, because text of models and web pages is split too.
    """
    spans: list[tuple[int, int]] = []
    start = _after(_SPACE, text, 0)
    for match in _END.finditer(text):
        if match.start() >= start and _is_sentence_end(text, match):
            spans.append((start, match.end()))
            start = _after(_SPACE, text, match.end())
    end = len(text.rstrip())
    if start < end:
        spans.append((start, end))
    return tuple(spans)


def split_sentences(text: str) -> tuple[str, ...]:
    """The whole sentences of a paragraph, white space collapsed."""
    return tuple(collapse(text[start:end]) for start, end in sentence_spans(text))


def _is_sentence_end(text: str, end: re.Match[str]) -> bool:
    """Whether the punctuation at `end` closes a sentence: another begins after it, and it ends no abbreviation."""
    following = _after(_START, text, end.end())
    if following == len(text):
        return True
    if not (text[following].isupper() or text[following].isdigit()):
        return False
    if end.group().startswith(("..", "…")):
        return False
    return not end.group().startswith(".") or not _is_abbreviation(text, end.start(), following)


def _is_abbreviation(text: str, end: int, following: int) -> bool:
    """Whether the word before `end` is an abbreviation; `following` is the offset of the next word."""
    start = end
    while start > 0 and not (text[start - 1].isspace() or text[start - 1] in _BEFORE_WORD):
        start -= 1
    word = text[start:end].lower()
    if word in ABBREVIATIONS or (len(word) == 1 and word.isalpha()):
        return True
    if word in NUMBER_ABBREVIATIONS and text[following].isdigit():
        return True
    return word.isdigit() and text[following : _after(_LETTERS, text, following)].lower() in GERMAN_MONTHS


def _after(pattern: re.Pattern[str], text: str, start: int) -> int:
    """The end of the pattern's match at `start`."""
    match = pattern.match(text, start)
    return match.end() if match else start
