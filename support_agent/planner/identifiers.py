"""Finds the identifiers of records (invoice numbers, order numbers) in a customer's text.

Texts are compared with the customer's own identifiers only, so an identifier of another customer and one that does not
exist give the same result. The shape of identifiers is learned from the customer's own, independent of language. Case,
spaces, dashes and full-width digits do not matter.

Invariant: whatever looks like an identifier is found; a doubtful one is `unknown`.
Checked by tests/unit/planner/test_identifiers.py.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from babel.numbers import list_currencies

from support_agent.core.frozen import Frozen
from support_agent.planner.identifier_keys import (
    CHUNK,
    MIN_BARE_DIGITS,
    endings_of,
    first_letters,
    is_one_off,
    key_of,
    plain,
    size_of,
    structure_of,
    variants_of,
)

Own = tuple[str, str]
"""Kind and identifier of one of the customer's own records, as in the company's database."""
MIN_FREE_DIGITS = 5
"""Least digits of an unmarked number that is matched, unless it is a whole own identifier."""
MIN_NEAR = 5
"""Least characters of an own identifier that is recognised with one wrong character."""
MIN_MIXED = 3
"""Least characters of a short identifier such as "A17" in free text."""
MIN_UNKNOWN_DIGITS = 4
"""Least digits of an identifier, in addition to letters or dashes, if the customer has no records."""
MIN_MARKED_DIGITS = 2
"""Least digits of a marked number, unless an own identifier has fewer: "the #1 reason" names nothing."""
DIGITS_OFF = 2
LETTERS_OFF = 1
"""Largest difference in digits and in letters to an own identifier for something that looks like one."""
MAX_PREFIX = 4
"""Most capitals before a number that may belong to it."""
LABEL_CHUNKS = 4
"""Most chunks from a label to its number: "Invoice number no. 30"."""
MARK_CHARACTERS = 8
"""Characters before a number that are searched for a mark."""
MAX_CHUNKS = 6
"""Most chunks of an identifier ("HF 2025 0030" has three)."""
MIN_LABEL_LETTERS = 3
"""Shorter words of a label are ignored."""
PLURALS = frozenset({"", "s", "es", "e", "n", "en"})
"""Endings that make a label plural."""
MIN_COMPOUND_LETTERS = 5
"""Least letters of the second noun in a compound ("Rechnungsnummer")."""
_JOINT = re.compile(r"[\s\-_/.#:]{1,3}")
_GLUE = re.compile(r"[-_/]+")
_MARK = re.compile(r"(?:#|\b(?:no|nr|n)\s?[.°:])\s?$", re.IGNORECASE)
"""Marks the number after it as an identifier: "#30", "No. 30"."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_CURRENCIES = "|".join(sorted(list_currencies()))
_SIGNS = "$£¥" + "".join(map(chr, range(0x20A0, 0x20C1)))
_NUMBER = r"\d+(?:[.,'\u2019]\d+)*"
_NO_IDENTIFIER = re.compile(
    r"(?<![\w/-])(?:"
    r"(?:19|20)\d\d[-./](?:0?[1-9]|1[0-2])(?:[-./](?:0?[1-9]|[12]\d|3[01]))?"
    r"|(?:0?[1-9]|[12]\d|3[01])[-./](?:0?[1-9]|[12]\d|3[01])[-./](?:(?:19|20)?\d\d)"
    r"|(?:19|20)\d\d\s?[-/]\s?(?:(?:19|20)\d\d|\d\d)"
    r"|\d{1,2}:\d\d(?::\d\d)?"
    rf"|[{_SIGNS}]\s?{_NUMBER}"
    rf"|{_NUMBER}\s?(?:[{_SIGNS}%]|(?:{_CURRENCIES})(?!\w))"
    rf"|(?:{_CURRENCIES})\s?{_NUMBER}"
    r"|\d+(?:[.,'\u2019]\d+)+"
    r")(?![\w/-])"
)
"""Dates, months, year ranges, times and amounts; not identifiers, unless an own identifier is written like that."""


class FoundIdentifier(Frozen):
    """One identifier in a text, as written.

    `own`: exactly the record in `records`. `near`: one character off the records, or a number that several end with.
    `unknown`: no record of the customer.
    """

    written: str
    outcome: Literal["own", "near", "unknown"]
    records: tuple[Own, ...] = ()


@dataclass(frozen=True)
class _Chunk:
    text: str
    key: str
    start: int
    end: int

    @cached_property
    def has_digit(self) -> bool:
        return any(map(str.isdigit, self.key))


@dataclass
class Identifiers:
    """Index of the customer's own identifiers.

    Args:
        own: Identifiers by kind of records; kinds without records are included.
        labels: The nouns for records of any kind in any language; a number after one is an identifier.
        names: The nouns for an identifier ("number"), which may stand between label and number.
    """

    own: Mapping[str, Sequence[str]]
    labels: Iterable[str]
    names: Iterable[str] = ()
    _keys: dict[str, list[Own]] = field(default_factory=lambda: defaultdict(list))
    _endings: dict[str, list[Own]] = field(default_factory=lambda: defaultdict(list))
    _misspelt: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        for kind, identifiers in self.own.items():
            for identifier in identifiers:
                record = (kind, identifier)
                self._keys[key_of(identifier)].append(record)
                for ending in endings_of(identifier):
                    self._endings[ending].append(record)
        for key in [*self._keys, *(ending for ending in self._endings if len(ending) > MIN_NEAR)]:
            if len(key) >= MIN_NEAR:
                for variant in variants_of(key):
                    self._misspelt[variant].add(key)
        self.shapes = _Shapes(self._keys, self._endings)
        words = {word.casefold() for label in self.labels for word in CHUNK.findall(label)}
        self._label_words = {word for word in words if len(word) >= MIN_LABEL_LETTERS}
        between = "|".join(re.escape(word) for name in ("no", "nr", "n", *self.names) for word in CHUNK.findall(name))
        self.between = re.compile(rf"(?:\s*(?:[#:-]|\b(?:{between})\b\s?[.°:]?)\s*|\s+)", re.IGNORECASE)
        """Text allowed between a label and a number: "Invoice no. 30"."""

    def found_in(self, text: str) -> tuple[FoundIdentifier, ...]:
        """The identifiers in a text, in order, each record once."""
        found = sorted(_Scan(self, plain(text)).found(), key=lambda one: one[0])
        return tuple(dict.fromkeys(one for _, one in found))

    def exact(self, key: str) -> list[Own]:
        return self._keys.get(key, [])

    def ending(self, digits: str) -> list[Own]:
        return self._endings.get(digits, [])

    def near(self, key: str) -> list[Own]:
        """The records whose identifier is one substitution, insertion, deletion or swap away."""
        keys = {own for variant in variants_of(key) for own in self._misspelt.get(variant, ()) if is_one_off(key, own)}
        records = [record for own in sorted(keys) for record in (*self.exact(own), *self.ending(own))]
        return list(dict.fromkeys(records))

    def is_label(self, word: str) -> bool:
        """Whether a word is a label, its plural, or a compound that begins with it."""
        rest = [word[len(label) :] for label in self._label_words if word.casefold().startswith(label)]
        return any(end in PLURALS or len(end) >= MIN_COMPOUND_LETTERS for end in rest)


class _Shapes:
    """The shapes of own identifiers: order and number of letters and digits, and prefixes."""

    def __init__(self, keys: Iterable[str], endings: Iterable[str]) -> None:
        self.ends = {len(ending) for ending in endings} | {len(key) for key in keys if key.isdigit()}
        self.fewest = min((size_of(key)[1] for key in keys), default=MIN_MARKED_DIGITS)
        self.sizes: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.prefixes = {prefix for key in keys if (prefix := first_letters(key))}
        for key in keys:
            self.sizes[structure_of(key)].append(size_of(key))

    def has(self, key: str) -> bool:
        """Whether a key looks like an own identifier."""
        letters, digits = size_of(key)
        if not letters:
            own = [own_digits for _, own_digits in self.sizes.get("D", ())]
            return bool(own) and min(own) <= digits <= max(own) + 1
        return any(
            abs(letters - own_letters) <= LETTERS_OFF and abs(digits - own_digits) <= DIGITS_OFF
            for own_letters, own_digits in self.sizes.get(structure_of(key), ())
        )

    def has_digits(self, digits: int) -> bool:
        """Whether a number of this many digits could be an own identifier without its letters."""
        own = [size for sizes in self.sizes.values() for size in sizes]
        return any(letters and abs(digits - own_digits) <= DIGITS_OFF for letters, own_digits in own)


_RecordsOf = Callable[[range], list[Own]]


class _Scan:
    """The search for identifiers in one text; `taken` are the chunks that are already assigned."""

    def __init__(self, known: Identifiers, text: str) -> None:
        self.known = known
        self.text = text
        self.chunks = [_Chunk(m.group(), m.group().casefold(), m.start(), m.end()) for m in CHUNK.finditer(text)]
        self.labels = {place for place, chunk in enumerate(self.chunks) if known.is_label(chunk.text)}
        self.taken: set[int] = set()
        self.others = [(match.start(), match.end()) for match in _NO_IDENTIFIER.finditer(text)]

    def found(self) -> Iterator[tuple[int, FoundIdentifier]]:
        yield from self._matches("own", lambda window: self._whole(window) or self._ended(window))
        self._skip_other_numbers()
        yield from self._matches("near", self._near)
        yield from self._unknown()

    def _matches(
        self, outcome: Literal["own", "near"], records_of: _RecordsOf
    ) -> Iterator[tuple[int, FoundIdentifier]]:
        """Match the longest windows first; an identifier of several records is `near` to each."""
        for window in sorted(self._windows(), key=lambda one: (-len(self._joined(one)), one.start)):
            if self.taken & set(window) or not (records := records_of(window)):
                continue
            self.taken |= set(window)
            matched = outcome if outcome == "near" or len({kind for kind, _ in records}) == len(records) else "near"
            yield window.start, FoundIdentifier(written=self._written(window), outcome=matched, records=tuple(records))

    def _windows(self) -> Iterator[range]:
        """Neighbouring chunks with at least one digit that may form one identifier."""
        for first in range(len(self.chunks)):
            for last in range(first, min(first + MAX_CHUNKS, len(self.chunks))):
                if last > first and not _JOINT.fullmatch(self._gap(last)):
                    break
                if any(self.chunks[place].has_digit for place in range(first, last + 1)):
                    yield range(first, last + 1)

    def _whole(self, window: range) -> list[Own]:
        """The own records with exactly this identifier."""
        key = self._joined(window)
        records = self.known.exact(key)
        if not records or not self._is_apart(window):
            return []
        if key.isdigit():
            is_free = len(key) >= MIN_BARE_DIGITS and not self._is_other_number(window)
            return records if self._is_marked(window) or is_free else []
        is_word_before = self.chunks[window.start].text.islower() and not self.chunks[window.start].has_digit
        if is_word_before and len(self.chunks[window.start].key) == 1 and self._gap(window.start + 1).isspace():
            return []  # "a 1234" is not A1234
        return records if len(key) >= MIN_MIXED or self._is_marked(window) else []

    def _ended(self, window: range) -> list[Own]:
        """The own records whose identifier ends with this number."""
        digits = self._joined(window)
        if not digits.isdigit() or len(digits) < MIN_BARE_DIGITS or not self._is_apart(window) or self._is_end(window):
            return []
        if self._is_marked(window):
            return self.known.ending(digits)
        is_long = len(digits) >= MIN_FREE_DIGITS or digits.startswith("0")
        return self.known.ending(digits) if is_long and not self._is_other_number(window) else []

    def _is_end(self, window: range) -> bool:
        """Whether the letters before a number belong to it: XY-2025-0030, XY 2025-0030."""
        if window.start == 0 or self.known.is_label(before := self.chunks[window.start - 1].text):
            return False
        gap = self._gap(window.start)
        is_short = before.isupper() and before.isalpha() and len(before) <= MAX_PREFIX and bool(_JOINT.fullmatch(gap))
        return self._is_glue(window.start) or (is_short and not self._is_marked(window))

    def _near(self, window: range) -> list[Own]:
        key = self._joined(window)
        if key.isdigit() and len(key) < MIN_FREE_DIGITS:
            return []
        return self.known.near(key)

    def _unknown(self) -> Iterator[tuple[int, FoundIdentifier]]:
        """Find what looks like an identifier but is none of the customer's."""
        for window in sorted(self._windows(), key=lambda one: (-len(one), one.start)):
            if not self.taken & set(window) and self._looks_like_one(window):
                self.taken |= set(window)
                yield window.start, FoundIdentifier(written=self._written(window), outcome="unknown")

    def _looks_like_one(self, window: range) -> bool:
        key, shapes = self._joined(window), self.known.shapes
        digits, is_glued = sum(map(str.isdigit, key)), self._is_glued(window)
        if not is_glued and not (first_letters(key) in shapes.prefixes and self._starts_with_letters(window)):
            return False
        if is_glued and self._is_marked(window) and digits >= min(MIN_MARKED_DIGITS, shapes.fewest):
            return True
        if not shapes.sizes:
            return digits >= MIN_UNKNOWN_DIGITS and (not key.isdigit() or len(window) > 1)
        if not key.isdigit():
            return shapes.has(key)
        if len(window) > 1:
            return shapes.has(key) or shapes.has_digits(digits)
        is_end = key[0] == "0" and len(key) >= MIN_BARE_DIGITS and len(key) in shapes.ends
        return is_end or (len(key) >= MIN_FREE_DIGITS and shapes.has(key))

    def _skip_other_numbers(self) -> None:
        """Exclude dates, amounts and years that match no own identifier."""
        for start, end in self.others:
            inside = (place for place, chunk in enumerate(self.chunks) if start <= chunk.start < end)
            self.taken |= {place for place in inside if not self._has_mark(self.chunks[place].start)}
        for place, chunk in enumerate(self.chunks):
            is_alone = self._is_apart(range(place, place + 1))
            if _YEAR.fullmatch(chunk.key) and is_alone and not self._has_mark(chunk.start):
                follows = place + 1 < len(self.chunks) and self._gap(place + 1).isspace()
                behind_prefix = place > 0 and self.chunks[place - 1].key in self.known.shapes.prefixes
                if not (behind_prefix and follows and self.chunks[place + 1].has_digit):
                    self.taken.add(place)

    def _is_other_number(self, window: range) -> bool:
        """Whether a number is a year, or a part of a date or an amount."""
        start, end = self.chunks[window.start].start, self.chunks[window[-1]].end
        is_inside = any(first < end and start < last for first, last in self.others)
        return is_inside or bool(_YEAR.fullmatch(self._joined(window)))

    def _is_marked(self, window: range) -> bool:
        """Whether "#", "No." or a label stands before it; a year after a label is a year."""
        start = self.chunks[window.start].start
        if self._has_mark(start):
            return True
        near = range(window.start - 1, max(window.start - LABEL_CHUNKS, -1), -1)
        label = next((place for place in near if place in self.labels), None)
        is_year = bool(_YEAR.fullmatch(self._joined(window)))
        between = "" if label is None else self.text[self.chunks[label].end : start]
        return not is_year and bool(self.known.between.fullmatch(between))

    def _has_mark(self, start: int) -> bool:
        return bool(_MARK.search(self.text, max(0, start - MARK_CHARACTERS), start))

    def _is_apart(self, window: range) -> bool:
        """Whether no further digits are attached: HF-2025-0030-1 is not HF-2025-0030."""
        before, after = window.start - 1, window[-1] + 1
        hangs_before = before >= 0 and self._is_glue(window.start) and self.chunks[before].has_digit
        hangs_after = after < len(self.chunks) and self._is_glue(after) and self.chunks[after].has_digit
        return not hangs_before and not hangs_after

    def _is_glued(self, window: range) -> bool:
        return all(map(self._is_glue, window[1:]))

    def _is_glue(self, place: int) -> bool:
        return bool(_GLUE.fullmatch(self._gap(place)))

    def _starts_with_letters(self, window: range) -> bool:
        return not self.chunks[window.start].key[0].isdigit() and all(
            self.chunks[place].has_digit for place in window[1:]
        )

    def _gap(self, place: int) -> str:
        """The text between a chunk and the previous one."""
        return self.text[self.chunks[place - 1].end : self.chunks[place].start] if place < len(self.chunks) else ""

    def _joined(self, window: range) -> str:
        return "".join(self.chunks[place].key for place in window)

    def _written(self, window: range) -> str:
        return self.text[self.chunks[window.start].start : self.chunks[window[-1]].end]
