"""Split a mail's plain text into the sender's new text, the quotation, and the signature.

Invariant: each line of the text goes to exactly one of the three parts, in order, and the work is linear in the length
of the text (every pattern is tried on one bounded line, look-ahead is a fixed number of lines). Checked by
tests/unit/mail/text/test_quotation.py.

In doubt a line stays visible: a quotation read as the customer's words costs one escalation, while a customer's words
read as a quotation would silently stay unanswered.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from support_agent.mail.addresses import Address
from support_agent.mail.text.quotation_words import (
    ATTRIBUTION_STARTS,
    DATE_LABELS,
    FOLLOWING,
    FORWARD_LINES,
    FROM_LABELS,
    OTHER_LABELS,
    REPLY_ABOVE,
    RULER_WORDS,
    SENT_LABELS,
    SUBJECT_LABELS,
    TO_LABELS,
    WROTE,
    WROTE_BEFORE_NAME,
    WROTE_SUFFIXES,
)
from support_agent.mail.text.signatures import MAX_PATTERN_CHARACTERS, signature_start
from support_agent.mail.text.wording import COLONS, longest_first

ATTRIBUTION_LINES = 4
"""Clients wrap "On <date>, <name> <address> wrote:" over at most this many lines."""
HEADER_BLOCK_LINES = 8
"""Outlook's copied header block (From, Sent, To, Cc, Subject), with room for wrapped lines."""
MIN_HEADER_LINES = 3
QUOTE_WITHIN_LINES = 6
"""At most so many blank lines between an attribution and its quotation."""
BARE_LABEL_LINES = 16
"""The header block of old Lotus Notes: each label and each value on its own line, with blank lines between."""

VISIBLE, QUOTED, SIGNATURE = "v", "q", "s"


SEPARATOR = re.compile(rf"(?:{longest_first(RULER_WORDS)})\s*:?", re.IGNORECASE)
DASHES = ("--", "==")
FORWARD = frozenset(FORWARD_LINES)
ABOVE = re.compile(rf"[\W_]*+(?:please |bitte |por favor )?(?:{longest_first(REPLY_ABOVE)})[\W_]*$", re.IGNORECASE)
ABOVE_HINTS = ("above this", "dieser linie", "dieser zeile", "esta l", "cette ligne", "questa ", "deze ")
RULER = re.compile(r"\s*[_=*-]{8,}\s*$")
FROM = frozenset(FROM_LABELS)
SENT, DATED, TO, SUBJECT = map(frozenset, (SENT_LABELS, DATE_LABELS, TO_LABELS, SUBJECT_LABELS))
HEADER = FROM | SENT | DATED | TO | SUBJECT | frozenset(OTHER_LABELS)
MAX_LABEL_CHARACTERS = 60
LABEL_EDGE = " \t\xa0*\u200e\u200f"
BARE_SUBJECT = frozenset((*SUBJECT_LABELS, "thema"))
WROTE_END = re.compile(
    rf"(?:(?<![^\W\d_])(?:{longest_first(WROTE)})(?: (?:{longest_first(FOLLOWING)}))?(?: ?\([^()]{{0,80}}\))?"
    rf"|(?<![^\W\d_])(?:{longest_first(WROTE_BEFORE_NAME)})(?![^\W\d_]).{{0,200}}|(?:{longest_first(WROTE_SUFFIXES)}))\s?[:\uff1a]$",
    re.IGNORECASE,
)
ATTRIBUTION_START = re.compile(
    rf"[\s*_-]*+(?:(?:{longest_first(ATTRIBUTION_STARTS)})\b.*?(?:\d|@)|[\d\"'<\w\u200f\u202b].{{0,200}}?(?:\d{{4}}|\d\d[:.]\d\d|@))",
    re.IGNORECASE,
)
DIGIT_OR_AT = re.compile(r"[\d@]")
"""Every start of an attribution has one, and few lines of a text do: a quick test before the pattern."""
ADDRESS_END = re.compile(r"\d.*<[^\s<>@]{1,90}@[^\s<>@]{1,250}>\W{0,3}[:\uff1a]$")
"""A date and "<address>:": an attribution in any language, even without a verb."""
SENTENCE_END = re.compile(r"(?:[.!?:\u3002\uff1f]|[^\s\d][.!?])\s*$")
STAMP = re.compile(r"@|\d[:.]\d\d\b|\d{4}[-/\u5e74.]\d|\d[-/.]\d{1,2}[-/.]\d\d")
"""An address, a time of day or a date in digits: clients put these into attributions, people rarely do."""
DATE = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)|(?<!\d)\d{1,2}[-/.]\s?\d{1,2}[-/.]\s?\d\d")
TIME = re.compile(r"(?<![\d.:])\d{1,2}(?:[:.]\d\d(?!\d|\.\d)|\s?[hH]\s?\d\d(?!\d))")
MAILBOX = re.compile(r"<\s?[^\s<>@]{1,90}@[^\s<>@]{1,250}>|\[mailto:", re.IGNORECASE)
"""An address as clients write it, and people do not."""
QUOTE = re.compile(r"\s{0,3}>")
MARKS = re.compile(r"^(?:\s{0,3}[>|])+\s?")
"""The marks before a quoted line."""
BARE_WORDS = 6
"""Words of an attribution without a date: a name and the verb."""
INNER_END = re.compile(r"[.?!]\s+\S|\?")
"""A sentence that ends inside a line, or a question: no name contains these."""
BAR = "|"


class Split(NamedTuple):
    """The three parts, each without blank lines at its ends."""

    visible: str
    quoted: str
    signature: str


def split_quotation(text: str, sender: Address | None = None) -> Split:
    """Split plain text whose lines end in LF.

    Understands "> " quotation (also answered inline or below), attribution lines, Outlook's copied header block and
    rulers in the languages of `quotation_words`, "-- " signatures (RFC 3676, section 4.3), the "Sent from my ..." line
    of phones, and a block of contact data under the sender's name.

    Args:
        sender: The name and address that tell an unmarked signature from text.
    """
    lines = text.split("\n")
    kinds = _mark_quotations(lines)
    for start, end in _visible_stretches(kinds):
        begin = signature_start(lines, start, end, sender)
        kinds[begin:end] = [SIGNATURE] * (end - begin)
    parts: dict[str, list[str]] = {VISIBLE: [], QUOTED: [], SIGNATURE: []}
    for line, kind in zip(lines, kinds, strict=True):
        parts[kind].append(line.rstrip())
    return Split(*("\n".join(part).strip("\n") for part in parts.values()))


def quoted_content(quoted: str) -> list[str]:
    """The quoted lines without their marks, and without what a client adds: attributions, rulers, copied headers.

    Args:
        quoted: `Split.quoted`.
    """
    lines = quoted.split("\n")
    content: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        length = 0 if _is_quoted(line) else _added_length(lines, at)
        if not length:
            content.append(_copied_subject(line) or MARKS.sub("", line))
        at += max(length, 1)
    return content


def _added_length(lines: list[str], at: int) -> int:
    """How many lines from here the client has added: an attribution, a ruler, a header line without the subject."""
    line = lines[at]
    if len(line) > MAX_PATTERN_CHARACTERS:
        return 0
    is_label = _label(line) in HEADER - SUBJECT and (STAMP.search(line) or len(line.split()) <= BARE_WORDS + 1)
    bare = line.strip(" \t*:\uff1a").lower()
    if _is_separator(line) or RULER.match(line) or bare in FORWARD or ABOVE.match(line) or is_label:
        return 1
    if length := _attribution_length(lines, at):
        return length
    return int(_is_bare_attribution(line) and bool(_quoted_with_bars(lines, at + 1)))


def _copied_subject(line: str) -> str:
    """The value of a copied subject line, or ""."""
    return line.replace("\uff1a", ":", 1).partition(":")[2] if not _is_quoted(line) and _label(line) in SUBJECT else ""


def _mark_quotations(lines: list[str]) -> list[str]:
    kinds = [VISIBLE] * len(lines)
    has_final_colon = [line.rstrip().endswith(COLONS) for line in lines]
    lower = "\n".join(line for line in lines if len(line) <= MAX_PATTERN_CHARACTERS).lower()
    may_be_above = any(hint in lower for hint in ABOVE_HINTS)
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line:
            at += 1
            continue
        if _is_quoted(line):
            length = 1
        else:
            may_attribute = True in has_final_colon[at : at + ATTRIBUTION_LINES]
            length = _quoted_length(lines, at, may_attribute, may_be_above)
        if length:
            kinds[at : at + length] = [QUOTED] * length
        at += max(length, 1)
    return kinds


def _is_quoted(line: str) -> bool:
    return line[:1] == ">" or (line[:1].isspace() and QUOTE.match(line) is not None)


def _quoted_length(lines: list[str], at: int, may_attribute: bool, may_be_above: bool) -> int:
    """How many lines from here are certainly quoted; 0 if this line is the sender's own.

    Args:
        lines: All lines of the text.
        at: Index of a line without a quotation mark.
        may_attribute: Whether one of the next lines ends like an attribution.
        may_be_above: Whether the text contains any of `ABOVE_HINTS`.
    """
    if len(lines[at]) > MAX_PATTERN_CHARACTERS:
        return 0
    rest = len(lines) - at
    if _starts_copied_mail(lines, at, may_be_above):
        return rest
    if may_attribute and _is_bare_attribution(lines[at]) and (barred := _quoted_with_bars(lines, at + 1)):
        return 1 + barred
    length = _attribution_length(lines, at) if may_attribute else 0
    length = length or _labels_above_quote(lines, at)
    if length == 0 or _is_quote_next(lines, at + length):
        return length
    # A client that quotes without ">": everything below is the old mail. A person who reports what somebody wrote
    # ("Yesterday at 10:30 your colleague wrote:") uses no angle brackets, and seldom both date and time.
    attribution = " ".join(lines[at : at + length])
    is_of_client = MAILBOX.search(attribution) or (DATE.search(attribution) and TIME.search(attribution))
    return rest if is_of_client else 0


def _starts_copied_mail(lines: list[str], at: int, may_be_above: bool) -> bool:
    """Whether a client's separator or copied header block begins here."""
    line = lines[at]
    if ("--" in line or "==" in line) and _is_separator(line):
        return True
    bare = line.strip(" \t*:\uff1a").lower()
    if bare in FORWARD or (may_be_above and any(hint in bare for hint in ABOVE_HINTS) and ABOVE.match(line)):
        return True
    if bare[:1] in ("_", "=", "-", "") and RULER.match(line):
        following = _next_text(lines, at + 1, 3)
        return following is not None and _is_header_block(lines, following, has_ruler=True)
    if (":" in line or "\uff1a" in line) and _is_header_block(lines, at, has_ruler=False):
        return True
    return "@" in line and _is_bare_header_block(lines, at)


def _is_separator(line: str) -> bool:
    """Whether the line is a known phrase between two runs of dashes."""
    ruler = line.strip(" \t*_>")
    words = ruler.strip("-= \t")
    return bool(words) and ruler.startswith(DASHES) and ruler.endswith(DASHES) and bool(SEPARATOR.fullmatch(words))


def _is_header_block(lines: list[str], at: int, *, has_ruler: bool) -> bool:
    """Whether a copied mail header begins here: sender, date and recipient.

    Customers type such labels too: "From: Berlin / To: Paris / Date: 3 May", or the sender, subject and day of a lost
    mail. So without a client's ruler above, the block needs a date with year or a time. With the label "Date" it needs
    all four lines; with "Sent", which only programs write, a mailbox can take the place of the date.
    """
    if _label(lines[at]) not in HEADER:
        return False
    window = lines[at : at + HEADER_BLOCK_LINES]
    found = [(_label(line), line[:MAX_PATTERN_CHARACTERS]) for line in window if _has_value(line)]
    labels = {label for label, _ in found}
    senders = " ".join(line for label, line in found if label in FROM)
    is_sent = bool(labels & SENT)
    if not senders:
        return False
    if has_ruler:
        return len([label for label, _ in found if label in HEADER]) >= MIN_HEADER_LINES and (is_sent or "@" in senders)
    if not labels & TO:
        return False
    stamps = [line for label, line in found if label in SENT | DATED and (DATE.search(line) or TIME.search(line))]
    if is_sent:
        return bool(stamps or MAILBOX.search(senders))
    return bool(stamps and labels & SUBJECT)


def _label(line: str) -> str:
    """The text before the first colon near the start of a line, in lower case and without asterisks; or ""."""
    head = line[:MAX_LABEL_CHARACTERS]
    label, colon, _ = head.replace("\uff1a", ":").partition(":")
    return label.strip(LABEL_EDGE).lower() if colon else ""


def _has_value(line: str) -> bool:
    return bool(line.replace("\uff1a", ":", 1).partition(":")[2].strip(LABEL_EDGE))


def _is_bare_header_block(lines: list[str], at: int) -> bool:
    """Whether an address, a date, and then "To" and "Subject" on their own lines begin here (Lotus Notes)."""
    window = [line for line in lines[at : at + BARE_LABEL_LINES] if len(line) <= MAX_PATTERN_CHARACTERS]
    bare = [index for index, line in enumerate(window) if line.strip().lower() in TO]
    return (
        bool(bare)
        and any(line.strip().lower() in BARE_SUBJECT for line in window[bare[0] :])
        and any(STAMP.search(line) for line in window[1 : bare[0]])
    )


def _attribution_length(lines: list[str], at: int) -> int:
    """How many lines the attribution ("On ... wrote:") from here has; 0 if there is none."""
    first = lines[at]
    if (_ends_like_attribution(first) or _is_bare_attribution(first)) and _is_quote_next(lines, at + 1):
        return 1
    if not DIGIT_OR_AT.search(first) or not ATTRIBUTION_START.match(first):
        return 0
    joined = ""
    for length, line in enumerate(lines[at : at + ATTRIBUTION_LINES], start=1):
        if not line.strip() or len(line) > MAX_PATTERN_CHARACTERS or _is_quoted(line):
            return 0
        joined = f"{joined} {line.strip()}".strip()[-MAX_PATTERN_CHARACTERS:]
        if joined.endswith(COLONS):
            is_attribution = WROTE_END.search(joined) is not None or ADDRESS_END.search(joined) is not None
            if is_attribution or (STAMP.search(joined) and _is_quote_next(lines, at + length)):
                return length
        if SENTENCE_END.search(line) and not _may_be_cut_date(line):
            return 0  # the sender's own sentence has ended
    return 0


def _is_bare_attribution(line: str) -> bool:
    """Whether a line is only a name and "wrote:", in the languages of `WROTE`."""
    line = line.strip()
    match = WROTE_END.search(line)
    return match is not None and len(line.split()) <= BARE_WORDS and not INNER_END.search(line)


def _quoted_with_bars(lines: list[str], at: int) -> int:
    """How many lines from here are quoted with "|", as some clients do below an attribution; 0 for a table."""
    start = _next_text(lines, at, QUOTE_WITHIN_LINES)
    if start is None or lines[start][:1] != BAR:
        return 0
    end = start
    while end < len(lines) and (lines[end][:1] == BAR or not lines[end].strip()):
        if BAR in lines[end][1:]:
            return 0
        end += 1
    return end - at


def _labels_above_quote(lines: list[str], at: int) -> int:
    """How many copied header lines ("Subject: Refund") stand from here to a quotation right below; 0 if none."""
    if any(map(_is_quoted, lines[max(0, at - QUOTE_WITHIN_LINES) : at])):
        return 0  # between quoted lines, these are the sender's inline reply
    end = at
    while end < min(len(lines), at + HEADER_BLOCK_LINES) and _label(lines[end]) in HEADER and _has_value(lines[end]):
        end += 1
    is_copied = end - at > 1 or any(label in SUBJECT for label in map(_label, lines[at:end]))
    return end - at if is_copied and _is_quote_next(lines, end) else 0


def _may_be_cut_date(line: str) -> bool:
    """Whether a line that ends in a full stop may end inside a date ("Am Mo., 9." / "ma 9. maalisk.")."""
    words = line.split()
    return line.rstrip().endswith(".") and len(words[-1]) <= 9 and STAMP.search(line) is None and len(words) <= 6


def _ends_like_attribution(line: str) -> bool:
    """Whether a line has an address or a time, and a final colon; in any language. Counts only above a "> " line."""
    return line.rstrip().endswith(COLONS) and STAMP.search(line) is not None


def _is_quote_next(lines: list[str], at: int) -> bool:
    following = _next_text(lines, at, QUOTE_WITHIN_LINES)
    return following is not None and _is_quoted(lines[following])


def _next_text(lines: list[str], at: int, within: int) -> int | None:
    """Index of the next line that is not blank, among the next `within` lines."""
    return next((i for i in range(at, min(at + within, len(lines))) if lines[i].strip()), None)


def _visible_stretches(kinds: list[str]) -> list[tuple[int, int]]:
    """Start and end of each run of visible lines."""
    return [match.span() for match in re.finditer(f"{VISIBLE}+", "".join(kinds))]
