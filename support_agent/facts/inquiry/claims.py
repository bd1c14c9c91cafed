"""Finds claims of a draft that can be checked word by word: numbers, dates, addresses and names.

Claims are compared by meaning if it is certain ("1,000" and "1000", "5 November 2026" and "2026-11-05"), else by their
letters; of an ambiguous claim either reading counts. The result is the claims of the draft that are in no evidence. A
claim in other words ("half") is not found here; the model's own criticism covers it.

Invariant: a returned number or date contains only digits, separators and the names of numbers and months.
Checked by tests/unit/facts/inquiry/test_claims.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from support_agent.company.periods.words import ANY_MONTH, MONTH_NUMBERS, SHORT_MONTH_NUMBERS
from support_agent.company.text import collapse, split_sentences

MAX_TOKEN = 40
"""Most characters of a returned claim."""

_NUMBER_NAMES = """
    two zwei dos / three drei tres / four vier cuatro / five fünf cinco / six sechs seis / seven sieben siete
    eight acht ocho / nine neun nueve / ten zehn diez / eleven elf once / twelve zwölf doce / fourteen vierzehn catorce
    twenty zwanzig veinte / thirty dreißig treinta / sixty sechzig sesenta / ninety neunzig noventa
"""
_NAMED = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 20, 30, 60, 90)
NUMBER_NAMES = {
    name: str(value)
    for value, names in zip(_NAMED, re.split(r"[/\n]", _NUMBER_NAMES.strip()), strict=True)
    for name in names.split()
}
"""Not "one": it is also an article and a pronoun."""
AMBIGUOUS_NAMES = frozenset(["once"])
"""Number names that are also other words: they support a number of the draft, but are no claim."""

_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th|\.)?"
_MONTH_NAME = rf"(?P<month>{ANY_MONTH})"
_YEAR = r"(?P<year>(?:19|20)[0-9]{2})(?![0-9])"
_DATES = (
    re.compile(r"(?<![0-9])(?P<year>[0-9]{4})-(?P<number>[0-9]{2})-(?P<day>[0-9]{2})(?![0-9])"),
    re.compile(r"(?<![0-9])(?P<day>[0-9]{1,2})\.\s?(?P<number>[0-9]{1,2})\.\s?(?P<year>[0-9]{4}|[0-9]{2})(?![0-9])"),
    re.compile(r"(?<![0-9])(?P<day>[0-9]{1,2})/(?P<number>[0-9]{1,2})/(?P<year>[0-9]{4}|[0-9]{2})(?![0-9])"),
    re.compile(rf"(?<![0-9]){_DAY}\s+(?:(?:of|de)\s+)?\b{_MONTH_NAME}(?:,?\s+(?:(?:de|del)\s+)?{_YEAR})?"),
    re.compile(rf"\b{_MONTH_NAME}\s+{_DAY}(?![0-9])(?:,?\s+{_YEAR})?"),
    re.compile(rf"\b{_MONTH_NAME},?\s+(?:(?:of|de|del)\s+)?{_YEAR}"),
)
_EITHER_ORDER = _DATES[2]
"""03/04/2026 is in March to some and in April to others."""
_LIST_MARK = re.compile(r"^\s*[0-9][.)]\s", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w@])[0-9]+(?:[.,][0-9]+)*")
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,3}(?:\.[0-9]{3})+")
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?://|www\.)[^\s<>\"')\]]+")
_WORD = re.compile(r"(?<!\w)[^\W\d_][\w'\u2019&-]*")
_NOT_NAMES = frozenset(["I", "I'm", "I'll", "I've", "I'd", "OK"])

_GERMAN = "der das dem den ein eine einen und ist sind wird nicht mit für von auf zu bei wir sie"
GERMAN_WORDS = frozenset(_GERMAN.split())
"""A text with two of these words is German; English and Spanish have none of them."""

Day = tuple[int, int, int]
"""Year (0: not said), month, day (0: not said)."""


def unknown_dates(draft: str, evidence: str) -> tuple[str, ...]:
    """Dates of the draft that are not in the evidence; the draft may be less exact than the evidence, never more."""
    known = {day for _, _, days in _dates(evidence) for day in days}
    return _tokens(
        draft[start:end]
        for start, end, days in _dates(draft)
        if not any(_is_within(said, day) for said in days for day in known)
    )


def unknown_numbers(draft: str, evidence: str) -> tuple[str, ...]:
    """Numbers of the draft, in digits or by name, that are not in the evidence; numbers within dates do not count."""
    known = set().union(*(_readings(token) for token in _number_tokens(evidence, is_draft=False)))
    return _tokens(
        token for token in _number_tokens(_without_dates(draft), is_draft=True) if not _readings(token) & known
    )


def unknown_addresses(draft: str, evidence: str) -> tuple[str, ...]:
    """Mail and web addresses of the draft that are not, as a whole, in the evidence."""
    known = set(_addresses(evidence))
    return _tokens(address for address in _addresses(draft) if address not in known)


def unknown_names(draft: str, known: str) -> tuple[str, ...]:
    """Names of the draft with a part that is not in `known`.

    A name is a capitalised word that does not begin a sentence, or a word with a capital inside; in German drafts only
    the latter, as nouns are capitalised.
    """
    words = set(re.findall(r"\w+", known.casefold()))
    text = _ADDRESS.sub(" ", _without_dates(draft))
    return _tokens(name for name in _names(text) if not set(re.findall(r"\w+", name.casefold())) <= words)


def _tokens(found: Iterator[str]) -> tuple[str, ...]:
    """Distinct claims, in the order of the draft, white space collapsed."""
    return tuple(dict.fromkeys(collapse(token)[:MAX_TOKEN] for token in found))


def _dates(text: str) -> list[tuple[int, int, frozenset[Day]]]:
    """(start, end, readings) of the dates in a text, none within another."""
    lowered = text.lower()
    if len(lowered) != len(text):  # some capitals become longer in lower case, which would shift the offsets
        lowered = text
    found: list[tuple[int, int, frozenset[Day]]] = []

    def taken(match: re.Match[str]) -> str:
        days = _days(match)
        if not days:
            return match.group()
        found.append((match.start(), match.end(), days))
        return " " * len(match.group())  # so that no later pattern reads a part of it

    for pattern in _DATES:
        lowered = pattern.sub(taken, lowered)
    return sorted(found, key=lambda date: date[0])


def _days(match: re.Match[str]) -> frozenset[Day]:
    groups = match.groupdict()
    name = (groups.get("month") or "").rstrip(".")
    month = int(groups["number"]) if groups.get("number") else {**SHORT_MONTH_NUMBERS, **MONTH_NUMBERS}[name]
    year, day = int(groups.get("year") or 0), int(groups.get("day") or 0)
    if 0 < year < 100:
        year += 2000
    readings = [(year, month, day), *([(year, day, month)] if match.re is _EITHER_ORDER else [])]
    return frozenset(reading for reading in readings if 1 <= reading[1] <= 12 and 0 <= reading[2] <= 31)


def _is_within(said: Day, known: Day) -> bool:
    return said[1] == known[1] and said[0] in {0, known[0]} and said[2] in {0, known[2]}


def _without_dates(text: str) -> str:
    """The text with each date and address as a space, so that their parts are not read again."""
    parts, last = [], 0
    for start, end, _ in _dates(text):
        parts.append(text[last:start])
        last = end
    text = " ".join([*parts, text[last:]])
    return _ADDRESS.sub(" ", text)


def _number_tokens(text: str, *, is_draft: bool) -> Iterator[str]:
    """The numbers of a text; of a draft, without list numbers and ambiguous number names."""
    if is_draft:
        text = _LIST_MARK.sub("", text)
    for match in _NUMBER.finditer(text):
        yield match.group()
    for word in re.findall(r"\w+", text.lower()):
        if word in NUMBER_NAMES and not (is_draft and word in AMBIGUOUS_NAMES):
            yield word


def _readings(token: str) -> frozenset[str]:
    """The possible values of a token, normalised: "1.000" is a thousand or one."""
    if token in NUMBER_NAMES:
        return frozenset([NUMBER_NAMES[token]])
    readings = set()
    if _GROUPED.fullmatch(token):
        readings.add(_plain(re.sub(r"[.,]", "", token)))
    whole, separator, rest = _parted(token)
    if not re.search(r"[.,]", whole) or _GROUPED.fullmatch(whole):
        readings.add(_plain(re.sub(r"[.,]", "", whole) + ("." + rest if separator else "")))
    return frozenset(readings or {token})  # 1.2.3 is a version: it means itself


def _parted(token: str) -> tuple[str, str, str]:
    """The part before the last separator, the separator, and the part after it."""
    separator = max(token.rfind("."), token.rfind(","))
    return (token, "", "") if separator < 0 else (token[:separator], token[separator], token[separator + 1 :])


def _plain(number: str) -> str:
    """The normal form of a number with any number of digits."""
    whole, _, fraction = number.partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _addresses(text: str) -> list[str]:
    return [match.rstrip(".,;:!?").casefold() for match in _ADDRESS.findall(text)]


def _names(text: str) -> Iterator[str]:
    has_noun_capitals = len(GERMAN_WORDS & set(_WORD.findall(text))) >= 2
    for line in text.splitlines():
        for sentence in split_sentences(line):
            for number, match in enumerate(_WORD.finditer(sentence)):
                word = re.sub(r"['\u2019]s$", "", match.group())
                is_after_mark = number == 0 or sentence[: match.start()].rstrip().endswith((":", "-", "*", "\u2022"))
                is_marked = any(letter.isupper() for letter in word[1:])
                is_capital = word[0].isupper() and not is_after_mark and not has_noun_capitals
                if (is_marked or is_capital) and word not in _NOT_NAMES:
                    yield word
