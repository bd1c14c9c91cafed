"""Split a mail's plain text into what the sender wrote now, what is quoted, and the signature.

Invariant: each line of the text lands in exactly one of the three parts, in order, and the work is linear in
the length of the text (every pattern is tried on one bounded line, look-ahead is a fixed number of lines).
Checked by tests/unit/mail/test_quotation.py.

Where a rule is in doubt the line stays visible: a quotation taken for the customer's words costs a hand-over
to a person, a customer's words taken for a quotation would be silently unanswered.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

MAX_PATTERN_CHARACTERS = 500
"""Longer lines are no attribution, header or signature line: no pattern is tried on them."""
ATTRIBUTION_LINES = 4
"""Mail clients wrap "On <date>, <name> <address> wrote:" over at most this many lines."""
HEADER_BLOCK_LINES = 6
"""Outlook's copied header block (From, Sent, To, Cc, Subject) with room for one wrapped line."""
SIGNATURE_LINES = 12
"""A bare "--" without its space starts a signature only when no more lines than this follow it."""

SEPARATOR = re.compile(
    r"^[\s*_>-]*-{2,}\s*(original message|original appointment|forwarded message|urspr[üu]ngliche nachricht"
    r"|originalnachricht|weitergeleitete nachricht|mensaje original|mensaje reenviado"
    r"|message d['\u2019]origine"
    r"|message original|message transf[ée]r[ée])\s*-{2,}\s*$",
    re.IGNORECASE,
)
APPLE_FORWARD = re.compile(
    r"^(begin forwarded message|anfang der weitergeleiteten nachricht|inicio del mensaje reenviado"
    r"|début du message réexpédié|reply above this line.*)\s*:?\s*$",
    re.IGNORECASE,
)
RULER = re.compile(r"^\s*[_-]{8,}\s*$")
FROM_LINE = re.compile(r"^\s*\*?(from|von|de|da|van)\s?:\*?\s*\S", re.IGNORECASE)
SUBJECT_LINE = re.compile(r"^\s*\*?(subject|betreff|asunto|objet|oggetto|onderwerp)\s?:", re.IGNORECASE)
HEADER_LINE = re.compile(
    r"^\s*\*?(sent|date|to|cc|reply-to|gesendet|datum|an|enviado|enviado el|fecha|para|envoyé|à)\s?:",
    re.IGNORECASE,
)
WROTE = re.compile(
    r"(\bwrote|\bschrieb\b.{0,200}|\bescribió|\ba écrit|\bhat geschrieben|\bha scritto|написал[аи]?)\s?:\s*$",
    re.IGNORECASE,
)
ATTRIBUTION_START = re.compile(
    r"^\s*(on|am|el|le|il|op|den)\s.*?(\d|@)|^\s*[\d\"'<\w].{0,200}?(\d{4}|\d\d[:.]\d\d|@)", re.IGNORECASE
)
SENTENCE_END = re.compile(r"[.!?:]\s*$")
ANY_ATTRIBUTION = re.compile(r"(@|\d{1,2}:\d\d\b).*:\s*$")
"""A line in any language with an address or a time and a final colon; believed only above a "> " line."""
STAMP = re.compile(r"@|\d[:.]\d\d\b")
"""What clients put into an attribution and people who retell hardly ever: an address or a time of day."""
QUOTE = re.compile(r"^\s{0,3}>")
EXACT_DASHES = re.compile(r"^-- $")
LOOSE_DASHES = re.compile(r"^\s*(--|__|—)\s*$")
DEVICE = re.compile(
    r"^\s*("
    r"sent (from|with|via) (?:my |a |an )?(?:[\w.-]+ ){0,4}[\w.()-]+"
    r"|get outlook for \w+|sent from \w+ mail for \w+.*"
    r"|(?:von meinem|von meiner) (?:[\w.-]+ ){1,4}gesendet|gesendet (?:von|mit) (?:[\w.-]+ ){0,5}[\w.-]+"
    r"|diese nachricht wurde von meinem .{2,60} gesendet"
    r"|enviado (?:desde|con) (?:mi |el )?(?:[\w.-]+ ){0,4}[\w.-]+"
    r"|envoyé (?:de|depuis|à partir de) (?:mon |ma )?(?:[\w.-]+ ){0,4}[\w.-]+"
    r")(?:\s*[<(]http\S*[>)])?\s*$",
    re.IGNORECASE,
)


class Split(NamedTuple):
    """The three parts, each without blank lines at its ends."""

    visible: str
    quoted: str
    signature: str


class _Kind(Enum):
    VISIBLE = auto()
    QUOTED = auto()
    SIGNATURE = auto()


def split_quotation(text: str) -> Split:
    """Split plain text whose lines end in LF.

    Understands "> " quotation (also answered inline or below), attribution lines in English, German, Spanish,
    French and some others, Outlook's copied header block, "Original Message" rulers, "-- " signatures (RFC
    3676, section 4.3) and the "Sent from my ..." line of phones.
    """
    lines = text.split("\n")
    kinds = _mark_quotations(lines)
    _mark_signatures(lines, kinds)
    return Split(*(_join(lines, kinds, kind) for kind in (_Kind.VISIBLE, _Kind.QUOTED, _Kind.SIGNATURE)))


def _mark_quotations(lines: list[str]) -> list[_Kind]:
    kinds = [_Kind.VISIBLE] * len(lines)
    at = 0
    while at < len(lines):
        length = _quoted_length(lines, at)
        kinds[at : at + length] = [_Kind.QUOTED] * length
        at += max(length, 1)
    return kinds


def _quoted_length(lines: list[str], at: int) -> int:
    """How many lines from here are quoted for sure; 0 when this one is the sender's own."""
    if QUOTE.match(lines[at]):
        return 1
    rest = len(lines) - at
    if _starts_copied_mail(lines, at):
        return rest
    length = _attribution_length(lines, at)
    if length == 0 or _is_quote_next(lines, at + length):
        return length
    # A client that quotes without marks: everything below is the old mail.
    return rest if STAMP.search(" ".join(lines[at : at + length])) else 0


def _starts_copied_mail(lines: list[str], at: int) -> bool:
    """Whether a client's ruler or copied header block begins here."""
    line = lines[at]
    if len(line) > MAX_PATTERN_CHARACTERS:
        return False
    if SEPARATOR.match(line) or APPLE_FORWARD.match(line):
        return True
    if RULER.match(line):
        following = _next_text(lines, at + 1, 3)
        return following is not None and _is_header_block(lines, following)
    return _is_header_block(lines, at)


def _is_header_block(lines: list[str], at: int) -> bool:
    """Whether copied mail header lines begin here: From, a Subject or an address, and one more.

    "From: Berlin / To: Paris / Date: 3 May" is a customer's own words and has neither of the two.
    """
    if not _is_header_line(lines[at]):
        return False
    window = [line[:MAX_PATTERN_CHARACTERS] for line in lines[at : at + HEADER_BLOCK_LINES]]
    senders = [line for line in window if FROM_LINE.match(line)]
    has_mark = any(SUBJECT_LINE.match(line) for line in window) or any("@" in line for line in senders)
    return bool(senders) and has_mark and sum(_is_header_line(line) for line in window) >= 3


def _is_header_line(line: str) -> bool:
    head = line[:MAX_PATTERN_CHARACTERS]
    return any(pattern.match(head) for pattern in (FROM_LINE, SUBJECT_LINE, HEADER_LINE))


def _attribution_length(lines: list[str], at: int) -> int:
    """How many lines from here are an attribution ("On ... wrote:"); 0 if none."""
    first = lines[at]
    if not first.strip() or len(first) > MAX_PATTERN_CHARACTERS:
        return 0
    if _ends_like_attribution(first) and _is_quote_next(lines, at + 1):
        return 1
    if not ATTRIBUTION_START.match(first):
        return 0
    joined = ""
    for length, line in enumerate(lines[at : at + ATTRIBUTION_LINES], start=1):
        if not line.strip() or len(line) > MAX_PATTERN_CHARACTERS or QUOTE.match(line):
            return 0
        joined = f"{joined} {line.strip()}".strip()[-MAX_PATTERN_CHARACTERS:]
        if WROTE.search(joined) or (_ends_like_attribution(joined) and _is_quote_next(lines, at + length)):
            return length
        if SENTENCE_END.search(line):  # the sender's own sentence ended: what follows is another one
            return 0
    return 0


def _ends_like_attribution(line: str) -> bool:
    return line.rstrip().endswith(":") and ANY_ATTRIBUTION.search(line) is not None


def _is_quote_next(lines: list[str], at: int) -> bool:
    following = _next_text(lines, at, 6)
    return following is not None and QUOTE.match(lines[following]) is not None


def _next_text(lines: list[str], at: int, within: int) -> int | None:
    """Index of the next line that is not blank, looking at no more than `within` lines."""
    return next((i for i in range(at, min(at + within, len(lines))) if lines[i].strip()), None)


def _mark_signatures(lines: list[str], kinds: list[_Kind]) -> None:
    """Mark signatures inside the visible stretches; a signature reaches to the next quotation."""
    for at, end in _visible_stretches(kinds):
        in_signature = False
        for index in range(at, end):
            if not in_signature and _starts_signature(lines, index, end):
                in_signature = True
            if in_signature:
                kinds[index] = _Kind.SIGNATURE


def _visible_stretches(kinds: list[_Kind]) -> list[tuple[int, int]]:
    stretches: list[tuple[int, int]] = []
    start: int | None = None
    for index, kind in enumerate([*kinds, _Kind.QUOTED]):
        if kind is _Kind.VISIBLE:
            start = index if start is None else start
        elif start is not None:
            stretches.append((start, index))
            start = None
    return stretches


def _starts_signature(lines: list[str], at: int, end: int) -> bool:
    line = lines[at]
    if len(line) > MAX_PATTERN_CHARACTERS:
        return False
    if EXACT_DASHES.match(line):
        return True
    if LOOSE_DASHES.match(line):
        return end - at - 1 <= SIGNATURE_LINES
    if DEVICE.match(line):  # only as the last words: nothing but a few blank lines may follow
        return all(not rest.strip() or DEVICE.match(rest[:200]) for rest in lines[at + 1 : end][:SIGNATURE_LINES])
    return False


def _join(lines: list[str], kinds: list[_Kind], wanted: _Kind) -> str:
    return "\n".join(line.rstrip() for line, kind in zip(lines, kinds, strict=True) if kind is wanted).strip("\n")
