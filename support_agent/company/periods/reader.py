"""Reads periods in a language that separates words by spaces, with the words of its table in `tables/`.

A name alone is not a period: "since May" is not May. So a month or year counts only after a word that makes it whole
("in", "of"), and not next to a word that makes it another time; any other word about time makes the text doubtful.

Invariant: only periods named in this language are returned; doubts are reported, never dropped.
Checked by tests/unit/company/periods/test_reader.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from itertools import pairwise

from support_agent.company.periods import digits
from support_agent.company.periods.patterns import name_patterns, place_patterns, time_patterns
from support_agent.company.periods.shared_units import SharedUnits
from support_agent.company.periods.table import (
    Mention,
    blanked_spans,
    latest_year_of_month,
    latest_year_of_quarter,
    normalised,
    numeric_month,
    table_of,
)

LOOK_BACK = 80
"""Characters before a period that are searched for words that change it."""
NEAR_WORDS = 3
"""Two periods with at most this many words between them belong together: "from March to June"."""
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4}
_ANY_YEAR = re.compile(digits.YEAR)
_SENTENCE_END = re.compile(r"[.?!]")
_LIST_MARK = re.compile(r"[,&+/;]")


@lru_cache(maxsize=64)
def reader_of(language: str) -> Reader:
    """The cached reader of a language."""
    return Reader(language)


class Reader:
    """The patterns of one language; stateless."""

    def __init__(self, language: str) -> None:
        self._names = name_patterns(language)
        self._places = place_patterns(language)
        self._times = time_patterns(language)
        self._shared = SharedUnits(table_of(language))

    def without_now(self, text: str) -> str:
        """The text without the words that ask for the current value."""
        return self._times.now.sub(" ", text)

    def read(self, text: str, today: date) -> tuple[list[Mention], bool]:
        """(periods in order of mention, whether the text has other times)."""
        text = self._times.greeting.sub(lambda match: " " * len(match.group()), normalised(text))
        left, has_other = text, False
        for pattern in (digits.NEVER_WHOLE, self._times.other, self._times.date):
            spans = [match.span() for match in pattern.finditer(left)]
            has_other = has_other or bool(spans)
            left = blanked_spans(left, spans)
        found, left = self._named(left, today)
        found += self._bare(text, left, found, today)
        found = [self._widened(text, mention) for mention in sorted(found)]
        left = blanked_spans(left, [(mention.start, mention.end) for mention in found])
        found, is_unread = self._shared.read(text, found)
        is_doubtful = has_other or is_unread or self._is_left(left) or self._is_guarded(text, found)
        return found, is_doubtful or (not found and self._times.day.search(left) is not None)

    def _named(self, left: str, today: date) -> tuple[list[Mention], str]:
        """Periods with a complete name, and the text without them."""
        names = self._names
        readers: list[tuple[re.Pattern[str], Callable[[re.Match[str]], Mention]]] = [
            (names.month_and_year, self._dated),
            (names.year_and_month, self._dated),
            (digits.MONTH, _numeric),
            (names.quarter_of_year, lambda match: _quarter(match, today)),
            (names.quarter, lambda match: _quarter(match, today)),
        ]
        readers += [(pattern, _relative(name)) for name, pattern in names.relative]
        found: list[Mention] = []
        for pattern, mention_of in readers:
            matches = list(pattern.finditer(left))
            found += [mention_of(match) for match in matches]
            left = blanked_spans(left, [match.span() for match in matches])
        return found, left

    def _dated(self, match: re.Match[str]) -> Mention:
        return Mention(*match.span(), f"{match['year']}-{self._names.month_numbers[match['name']]:02d}", "other")

    def _bare(self, text: str, left: str, found: list[Mention], today: date) -> list[Mention]:
        """Months without a year, and years, that their context makes whole."""
        taken: list[Mention] = []
        matches = [*self._names.year.finditer(left), *self._names.month.finditer(left)]
        ends = sorted(mention.end for mention in found)
        for match in sorted(matches, key=lambda match: match.start()):
            last_end = max([end for end in ends if end <= match.start()], default=0)
            if not self._is_whole(text, match, max(last_end, taken[-1].end if taken else 0)):
                continue
            if "year" in match.groupdict():
                taken.append(Mention(*match.span(), match["year"], "year"))
            elif match["name"] in self._times.wide_months:
                number = self._names.month_numbers[match["name"]]
                name = f"{latest_year_of_month(number, today)}-{number:02d}"
                taken.append(Mention(*match.span(), name, "yearless"))
        return taken

    def _is_whole(self, text: str, match: re.Match[str], last_end: int) -> bool:
        """Whether the words next to a month or year make it whole, or join it to the previous period."""
        is_year = "year" in match.groupdict()
        before = _before(text, match.start())
        behind = self._places.year_behind if is_year else self._places.month_behind
        return (
            self._places.inside.search(before) is not None
            or self._places.unit_before.search(before) is not None
            or behind.match(text, match.end()) is not None
            or (not is_year and bool(match["suffix"]))
            or (last_end > 0 and self._places.joint.fullmatch(text, last_end, match.start()) is not None)
        )

    def _widened(self, text: str, mention: Mention) -> Mention:
        """Extend the mention to the word for month or year next to it: "rok 2023", "2024 года"."""
        if mention.name[0].isalpha():
            return mention
        before = self._places.unit_before.search(_before(text, mention.start))
        behind = self._places.unit_behind.match(text, mention.end)
        start = mention.start - len(before.group()) if before else mention.start
        return mention._replace(start=start, end=behind.end() if behind else mention.end)

    def _is_left(self, left: str) -> bool:
        """Whether words about time are left: a unit (except in "each month"), a month, a possible year."""
        for match in self._times.unit.finditer(left):
            is_single = match["one"] is not None and match.group() == match["one"]
            if not (is_single and self._places.each.search(_before(left, match.start()))):
                return True
        is_short = any(self._is_meant(left, match) for match in self._names.month.finditer(left))
        return is_short or self._times.any_month.search(left) is not None or _ANY_YEAR.search(left) is not None

    def _is_meant(self, left: str, match: re.Match[str]) -> bool:
        """Whether a short name, "mar", is a month here: after "in", or joined to a period, which is blanked out."""
        before = _before(left, match.start())
        behind = self._places.joined_behind.match(left, match.end())
        return bool(behind or self._places.inside.search(before) or self._places.joined_before.search(before))

    def _is_guarded(self, text: str, found: list[Mention]) -> bool:
        """Whether a word next to a period changes it ("since"), or two periods are the ends of a range."""
        for mention in found:
            is_outside = self._places.outside.search(_before(text, mention.start)) is not None
            if is_outside or self._places.behind.match(text, mention.end):
                return True
        gaps = (text[first.end : second.start] for first, second in pairwise(found))
        return any(
            len(gap.split()) <= NEAR_WORDS
            and not _SENTENCE_END.search(gap)
            and not _LIST_MARK.search(gap)
            and not self._places.joint.search(gap)
            for gap in gaps
        )


def _before(text: str, offset: int) -> str:
    return text[max(0, offset - LOOK_BACK) : offset]


def _relative(name: str) -> Callable[[re.Match[str]], Mention]:
    kind = "year" if name.endswith("year") else "other"
    return lambda match: Mention(match.start(), match.end(), name, kind)


def _numeric(match: re.Match[str]) -> Mention:
    return Mention(*match.span(), numeric_month(match), "other")


def _quarter(match: re.Match[str], today: date) -> Mention:
    """A quarter by number; without a year the latest that has begun."""
    groups = match.groupdict()
    said = groups.get("q") or groups.get("t") or groups["number"]
    number = _ROMAN.get(said) or int(said)
    year = int(match["year"]) if match["year"] else latest_year_of_quarter(number, today)
    return Mention(*match.span(), f"{year}-q{number}", "other" if match["year"] else "yearless")
