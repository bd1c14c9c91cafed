"""Find where the signature begins in a run of the sender's own lines.

Invariant: no line that asks, wants or announces something counts as a signature, unless it is below "-- ", which starts
one by definition (RFC 3676, section 4.3). In doubt the lines stay visible. Checked by
tests/unit/mail/text/test_quotation.py.
"""

from __future__ import annotations

import re

from support_agent.mail.addresses import Address
from support_agent.mail.text.quotation_words import CLOSINGS, DEVICES, PERSONAL, WISHING
from support_agent.mail.text.wording import COLONS, has_question_mark

MAX_PATTERN_CHARACTERS = 500
"""No pattern is tried on a longer line: it is no attribution, header or signature line."""
SIGNATURE_LINES = 12
"""Most lines with text in a signature that does not begin with "-- "."""
MAX_TAIL_LINES = 4 * SIGNATURE_LINES
MAX_TAIL_CHARACTERS = 10_000
MAX_LINE_CHARACTERS = 90
"""Contact data comes in short lines; a longer line is a sentence."""
MAX_EXTRA_WORDS = 3
"""Words besides the name in the first line of a signature ("Dr.", "Ph.D.", "Me")."""

FIRST_CHARACTERS = " \t-_\u2014\u2013=*~"
"""The characters that the first line of a marked signature begins with."""
MAX_NAME_CHARACTERS = 200
MAX_NAME_WORDS = 8
"""In the line below loose dashes: a name, perhaps with a job title and a company."""
MAX_NAME_ALONE = 5
"""In the line below longer dashes: only a name."""
MAX_CLOSING_WORDS = 8
BLANK_LINES = 6
"""At most so many blank lines between the text and a signature."""
END_OF_TEXT = (".", "!", "?", ",", "\u2026", ")", "\u3002", "\uff01", "\uff1f", "\u061f")
"""How the last line of the text ends, above the contact data."""
EXACT_DASHES = re.compile(r"-- $")
LOOSE_DASHES = re.compile(r"\s*(?:--|__|\u2014|\u2013|- -)\s*$")
LONGER_DASHES = re.compile(r"\s*(?:-{3,4}|_{3,4}|\*{3,4})\s*$")
"""People put these between two paragraphs more often than above a signature."""
NAME_ALONE = re.compile(
    r"(?:[^\W\d_a-z\u00df-\u00f6][\w.'\u2019-]*|v[ao]n|de[rn]?|d[aiu]|la|al|bin)(?:\s+(?!$)|$|,\s?)"
)
RULER = re.compile(r"\s*[-_=*~]{5,}\s*$")
DASHED_NAME = re.compile(
    r"[-\u2014\u2013~]{1,2}\s?[A-Z\u00c0-\u00de][^\W\d_]*\.?(?: [A-Z\u00c0-\u00de][^\W\d_]*\.?){0,3}\s*$"
)
LIST_FOOTER = re.compile(r"https?://|\S+@\S+\.\w|mailing list", re.IGNORECASE)
DEVICE = re.compile(
    rf"[\s*_>-]*+(?:{'|'.join(DEVICES)})[.!*_]*(?:\s*[<(\[]https?:[^\s>)\]]*[>)\]])?\s*$", re.IGNORECASE
)
PERSON = re.compile(rf"(?<!\w)(?:{'|'.join(PERSONAL)})(?!\w)", re.IGNORECASE)
POSTSCRIPT = re.compile(r"\s*p\.? ?s\b", re.IGNORECASE)
SENTENCE_ENDS = (".", "!", "\u3002", "\uff01")
SENTENCE = re.compile(
    r"(?<![^\W\d_])[a-z\u00df-\u00f6\u00f8-\u00ff\u03ac-\u03ce\u0430-\u045f]{2,}[.!](?!\s*[\d+(])(?:\s|$)|[\u3002\uff01]"
)
"""A lower-case word that ends a sentence, unlike in contact data ("Tel. +49", "tel. 030")."""
MIN_SMALL_WORDS = 2
"""A line that ends like a sentence counts as one if it has so many lower-case words."""
WISHES = frozenset(WISHING)
CLOSING = re.compile(rf"\W*(?:{'|'.join(CLOSINGS)})(?!\w)", re.IGNORECASE)
CONTACT = re.compile(r"[\d@|]|www\.|://|^via \w+$", re.IGNORECASE)
REACHABLE = re.compile(r"[@|]|www\.|://|\d(?:[ ()/.+-]*\d){4}", re.IGNORECASE)
"""An address, a web page, or a number long enough for a telephone or a postcode."""
LINK = re.compile(r"\s*[<(\[]https?:[^\s>)\]]*[>)\]]")
WORDS = re.compile(r"[^\W\d_]+")
SPOKEN = re.compile(r"[^\W\d_]+['\u2019]?")
"""A word, with the apostrophe of a contraction ("I'm", "j'ai")."""


def signature_start(lines: list[str], start: int, end: int, sender: Address | None) -> int:
    """Index of the first signature line among `lines[start:end]`; `end` where there is none."""
    for at in range(start, end):
        line = lines[at]
        if not line or line[0] not in FIRST_CHARACTERS or line.lstrip()[:1] not in FIRST_CHARACTERS:
            continue  # excludes most lines without trying a pattern
        if len(line) <= MAX_PATTERN_CHARACTERS and _starts(lines, start, at, end, sender):
            return at
    last = end
    for at in range(end - 1, start - 1, -1):  # "Sent from my phone" counts only at the end
        if _is_device(lines[at]):
            last = at
        elif lines[at].strip():
            break
    if last < end and _is_announced(lines, start, last):
        return end
    if sender is None or not _may_have_contact_block(lines, start, end, sender):
        return last
    return min(last, _contact_block(lines, start, end, sender, has_contact=last < end))


def _starts(lines: list[str], start: int, at: int, end: int, sender: Address | None) -> bool:
    line = lines[at]
    if EXACT_DASHES.match(line):
        return True
    if LOOSE_DASHES.match(line):
        is_signature = _is_below_loose_dashes(lines, at + 1, end, sender)
    elif LONGER_DASHES.match(line):
        is_signature = _begins_with_a_name(lines, at + 1, end) and _is_below_loose_dashes(lines, at + 1, end, sender)
    elif RULER.match(line):
        is_signature = _is_list_footer(lines, at + 1, end)
    else:
        is_signature = DASHED_NAME.match(line) is not None and _is_dashed_name(lines, at, end, sender)
    return is_signature and not _is_announced(lines, start, at)


def _text_above(lines: list[str], start: int, at: int) -> str:
    """The nearest line with text above, stripped; "" where it is too far away."""
    return next((line for i in range(at - 1, max(start, at - BLANK_LINES) - 1, -1) if (line := lines[i].strip())), "")


def _is_announced(lines: list[str], start: int, at: int) -> bool:
    """Whether the line above ends with a colon: then the lines below belong to the text."""
    return _text_above(lines, start, at).endswith(COLONS)


def _is_below_loose_dashes(lines: list[str], at: int, end: int, sender: Address | None) -> bool:
    """Whether a name and no sentence is below loose dashes, which people also put between two paragraphs."""
    texts = _texts(lines, at, end)
    if texts is None or len(texts) > SIGNATURE_LINES:
        return False
    if any(_speaks(text) or LOOSE_DASHES.match(text) or len(text) > MAX_LINE_CHARACTERS for text in texts):
        return False
    if sender is None:
        return not texts or _may_be_name(texts[0]) or REACHABLE.search(texts[0]) is not None
    names = _names(sender)
    return not texts or any(REACHABLE.search(text) or names & _lower_words(text) for text in texts)


def _begins_with_a_name(lines: list[str], at: int, end: int) -> bool:
    """Whether the next line with text is only a name: one to five capitalised words."""
    line = next((text.strip() for text in lines[at : min(end, at + BLANK_LINES)] if text.strip()), "")
    words = line.replace(",", " ").split()
    return 0 < len(words) <= MAX_NAME_ALONE and all(NAME_ALONE.fullmatch(word) for word in words)


def _may_be_name(line: str) -> bool:
    """Whether a line looks like a name: few words, the first one capitalised."""
    words = WORDS.findall(line)
    return 0 < len(words) <= MAX_NAME_WORDS and not words[0][0].islower() and ":" not in line


def _names(sender: Address) -> set[str]:
    """The words of the sender's name and of the address before the "@"."""
    local_part = sender.addr.rpartition("@")[0]
    return _lower_words(f"{sender.name[:MAX_NAME_CHARACTERS]} {local_part}")


def _lower_words(text: str) -> set[str]:
    return {word.casefold() for word in WORDS.findall(text)}


def _is_name_of(line: str, sender: Address) -> bool:
    """Whether a line has only names and initials of the sender, and at least one whole name."""
    names, words = _names(sender), _lower_words(line)
    return not names.isdisjoint(words) and words <= names | {name[0] for name in names}


def _is_device(line: str) -> bool:
    """Whether the whole line is a device's "Sent from my phone", not a person's sentence that begins like it."""
    head = line[:MAX_PATTERN_CHARACTERS]
    head = LINK.sub("", head) if "http" in head else head
    return DEVICE.match(head) is not None and PERSON.search(head) is None


def _is_list_footer(lines: list[str], at: int, end: int) -> bool:
    """Whether the lines below a ruler are a mailing list's footer: its name, address and web page."""
    texts = _texts(lines, at, end)
    return (
        texts is not None
        and 0 < len(texts) <= SIGNATURE_LINES
        and not any(map(_asks, texts))
        and (sum(LIST_FOOTER.search(text) is not None for text in texts) * 2 > len(texts))
    )


def _asks(line: str) -> bool:
    """Whether a line asks, wants something, or is a postscript."""
    if has_question_mark(line) or POSTSCRIPT.match(line):
        return True
    return not WISHES.isdisjoint(SPOKEN.findall(line.lower()))


def _speaks(line: str) -> bool:
    """Whether a line is a person's text rather than contact data."""
    head = line[:MAX_PATTERN_CHARACTERS]
    return _has_sentence(head) or _is_small_text(head) or _asks(head)


def _has_sentence(line: str) -> bool:
    if not any(mark in line for mark in SENTENCE_ENDS):
        return False
    if SENTENCE.search(line):
        return True
    small = sum(word[0].islower() and len(word) > 2 for word in WORDS.findall(line))
    return small >= MIN_SMALL_WORDS and line.rstrip().endswith(SENTENCE_ENDS)


def _is_small_text(line: str) -> bool:
    """Whether a line continues a sentence: at least three words, the first in lower case, and no contact data."""
    return line.lstrip()[:1].islower() and len(WORDS.findall(line)) > 2 and REACHABLE.search(line) is None


def _is_dashed_name(lines: list[str], at: int, end: int, sender: Address | None) -> bool:
    """Whether "-Anna Keller" is the sender's name below the text, and not the last item of a list."""
    if sender is not None and not _is_name_of(lines[at], sender):
        return False
    above = next((line for line in reversed(lines[max(0, at - 4) : at]) if line.strip()), "-")
    if above.lstrip().startswith(("-", "\u2014", "\u2013", "*", "~", "\u2022")):
        return False
    below = _texts(lines, at + 1, end)
    if below is None:
        return False
    is_last = not below or RULER.match(below[0]) is not None or LOOSE_DASHES.match(below[0]) is not None
    return is_last and not lines[at - 1].strip()


def _may_have_contact_block(lines: list[str], start: int, end: int, sender: Address) -> bool:
    """Whether the last lines contain the sender's whole name or address; a quick test that most mails fail."""
    tail = "\n".join(lines[max(start, end - MAX_TAIL_LINES) : end])[-MAX_TAIL_CHARACTERS:].casefold()
    names = _name_words(sender)
    return sender.addr in tail or (bool(names) and all(name in tail for name in names))


def _name_words(sender: Address) -> set[str]:
    name = sender.name[:MAX_NAME_CHARACTERS].casefold()
    return {word for word in re.split(r"[\s,.]+", name) if len(word) > 1}


def _contact_block(lines: list[str], start: int, end: int, sender: Address, *, has_contact: bool) -> int:
    """Start of the block under the sender's name or address: short lines to the end, one with contact data; or `end`.

    Args:
        has_contact: Whether the last line is a device's, which counts as contact data.
    """
    names = _name_words(sender)
    at, kept, begin = end, 0, end
    while at > max(start, end - MAX_TAIL_LINES) and kept <= SIGNATURE_LINES:
        at -= 1
        line = lines[at].strip()
        if not line:
            continue
        if len(line) > MAX_LINE_CHARACTERS or _speaks(line):
            break
        kept += 1
        if has_contact and _is_name_line(line, names):
            begin = at
        has_contact = has_contact or CONTACT.search(line) is not None
    if begin == end:
        begin = _block_with_address(lines, start, end, sender)
    else:
        above = next((i for i in range(begin - 1, max(start, begin - 6) - 1, -1) if RULER.match(lines[i])), begin)
        begin = begin if any(map(_speaks, lines[above:begin])) else above
    return begin if begin < end and _is_end_of_text(_text_above(lines, start, begin)) else end


def _is_end_of_text(line: str) -> bool:
    """Whether the text is complete: a sentence has ended, or the line is a closing formula."""
    return line.endswith(END_OF_TEXT) or (
        len(line) <= MAX_LINE_CHARACTERS
        and len(WORDS.findall(line)) <= MAX_CLOSING_WORDS
        and CLOSING.match(line) is not None
    )


def _is_name_line(line: str, names: set[str]) -> bool:
    """Whether a line is the sender's whole name, perhaps with a title."""
    words = {word for word in re.split(r"[\s,.]+", line.casefold()) if word}
    return bool(names) and names <= words and len(words - names) <= MAX_EXTRA_WORDS and len(names) >= 2


def _block_with_address(lines: list[str], start: int, end: int, sender: Address) -> int:
    """Start of the last paragraph if it has the sender's address at the end of a short line; else `end`."""
    last = next((i for i in range(end - 1, start - 1, -1) if lines[i].strip()), start)
    first = last
    while first > start and lines[first - 1].strip() and last - first < SIGNATURE_LINES:
        first -= 1
    block = lines[first : last + 1]
    is_contact = any(line.casefold().endswith(sender.addr) and len(line.split()) <= MAX_EXTRA_WORDS for line in block)
    if not is_contact or len(block) < 2 or first == start:
        return end
    return end if any(len(line) > MAX_LINE_CHARACTERS or _speaks(line) for line in block) else first


def _texts(lines: list[str], at: int, end: int) -> list[str] | None:
    """The lines with text from here to the end; None where there are too many for a signature."""
    if end - at > MAX_TAIL_LINES:
        return None
    return [line[:MAX_PATTERN_CHARACTERS] for line in lines[at:end] if line.strip()]
