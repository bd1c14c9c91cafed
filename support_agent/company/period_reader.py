"""Reads periods in a language whose words have spaces between them and whose table is in `period_tables/`.

A name alone is no period: "since May" is not May. So a month or year counts only behind a word that is known to
mean it whole ("in", "of"), none of the words around it may make it something else, and every other word about
time that is left makes the text doubtful.

Invariant: what is returned was named in words of this language; what is in doubt is reported, never left out.
Checked by tests/unit/company/test_period_reader.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import lru_cache

from support_agent.company import period_digits as digits
from support_agent.company.period_table import Mention, any_of, is_declined, month_names, normalised, table_of, weekday_stems

_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4}
SHORT_WORD = 2
"""Words of so many letters mean much ("do", "da", "a"): they count only right before a period."""
SHORT_STEM = 3
"""With a longer stem a month is seen in any case of its language, at least as something that was not read."""
_ANY_YEAR = re.compile(digits.YEAR)
LOOK_BACK = 80
"""Characters before a period in which words can make it something else."""


@lru_cache(maxsize=64)
def reader_of(language: str) -> Reader:
    """The reader of a language, built once."""
    return Reader(language)


class Reader:
    """The patterns of one language; keeps nothing of a text."""

    def __init__(self, language: str) -> None:
        table = table_of(language)
        months = month_names(language)
        self._numbers = {**months.short, **months.wide}
        self._wide_names = frozenset(months.wide)
        self._has_case = bool(table.suffix)
        inside, self._year_words = any_of(table.inside), any_of(table.year)
        suffix = rf"(?:'?\s?(?:{table.suffix}))?" if table.suffix else ""
        ending = rf"(?:(?:'\s|-)?(?:{table.year_suffix}))?" if table.year_suffix else ""
        year = rf"{digits.YEAR}{ending}(?![\w']|-[^\W\d])"
        month = rf"(?<!\w)(?P<name>{any_of(self._numbers)})\.?(?P<suffix>{suffix})(?!\w)"
        self._month, self._year = re.compile(month), re.compile(year)
        cut = 0 if table.suffix else 2
        stems = [rf"{re.escape(name[: len(name) - cut])}\w{{0,5}}" for name in months.wide if len(name) - cut > SHORT_STEM]
        self._any_wide = re.compile(
            rf"(?<!\w)(?:{'|'.join([any_of(months.wide), *(stems if is_declined(language) else ())])})(?!\w)"
        )
        of = rf"(?:(?:{inside})\s+)*"
        self._month_and_year = re.compile(rf"{month},?\s+{of}{year}")
        self._year_and_month = re.compile(rf"{year}\.?\s+(?:{self._year_words}\s+)?{month}" if table.year_first else "(?!)")
        self._day = re.compile(
            rf"(?<![\d.,])\d{{1,2}}(?:\.|-?[^\W\d]{{1,2}}|[ºª°])?\s+(?:{inside}\s+)?{any_of(self._numbers)}\w{{0,5}}(?!\w)"
            rf"|(?<!\w){any_of(self._numbers)}\.?\s+\d{{1,2}}(?:\.|[^\W\d]{{1,2}})?(?![\w:]|[.,]\d)"
        )
        ordinal = r"(?P<number>[1-4]|i{1,3}|iv)(?:\.|[ºª°]|\.[ºª°]|-?\w{1,3})?"
        quarter = any_of(table.quarter)
        self._quarter = re.compile(
            rf"(?<![\w.])(?:q(?P<q>[1-4])|[tk](?P<t>[1-4])(?=\s+{of}(?:19|20)\d\d)|{ordinal}\s+{quarter})(?!\w)"
            rf"(?:[\s,/-]+{of}{year})?"
        )
        self._quarter_of_year = re.compile(
            rf"{year}\.?\s+(?:{self._year_words}\s+)?{ordinal}\s+{quarter}(?!\w)" if self._has_case else "(?!)"
        )
        self._relative = list(self._relatives(language))
        self._inside = re.compile(rf"(?<![\w']){inside}\s*$")
        unit = any_of([*table.month, *table.year])
        self._unit_before = re.compile(rf"(?<![\w'])(?:{unit})\s+(?:{inside}\s+)*$")
        self._unit_behind = re.compile(rf"\.?\s+{unit}(?!\w)")
        self._month_behind = re.compile(rf"\s+{any_of(table.month)}(?!\w)")
        self._year_behind = re.compile(rf"\.?\s+{any_of(table.year)}(?!\w)")
        self._joint = re.compile(rf"\s*(?:(?:{any_of(table.joint)}(?!\w)|[,&+/;])\s*)+(?:{inside}\s*)*$")
        long = [word for word in table.outside if len(word) > SHORT_WORD]
        short = [word for word in table.outside if len(word) <= SHORT_WORD]
        self._outside = re.compile(
            rf"(?<![\w']){any_of(long)}(?!\w)(?:\s+[^\s.?!;]+){{0,2}}\s*$|(?<![\w']){any_of(short)}\s+(?:{inside}\s+)*$"
        )
        self._behind = re.compile(rf"[\s,-]*{any_of(table.behind)}(?!\w)")
        self._greeting = re.compile(rf"(?<!\w){any_of(table.greeting)}(?!\w)")
        self._other = re.compile(rf"(?<![\w']){any_of(table.other)}(?!\w)")
        self._day_words = re.compile(rf"(?<!\w){any_of(table.day)}(?!\w)")
        self._now = re.compile(rf"(?<!\w){any_of(table.now)}(?!\w)")
        one = any_of([*table.month, *table.quarter, *table.year])
        self._units = re.compile(
            rf"(?<!\w)(?:{any_of(table.units)}|{'|'.join(weekday_stems(language))})(?!\w)"
            rf"|(?<!\w)(?:\d+\s+)?(?<!\w)(?P<one>{one})(?!\w)"
        )
        self._each = re.compile(rf"(?<!\w){any_of(table.each)}\s+(?:{inside}\s+)?$")

    def _relatives(self, language: str) -> Iterator[tuple[str, re.Pattern[str]]]:
        table = table_of(language)
        for unit in ("month", "quarter", "year"):
            units = any_of(getattr(table, unit))
            for which in ("this", "last"):
                name = f"{which}_{unit}"
                before, after = any_of(getattr(table, which)), any_of(getattr(table, f"{which}_behind"))
                whole = any_of(getattr(table.names, name))
                yield name, re.compile(rf"(?<![\w'])(?:{whole}|{before}\s*{units}|{units}\s+{after})(?!\w)")

    def without_now(self, text: str) -> str:
        """The normalised text without the words that ask for the value of now."""
        return self._now.sub(" ", normalised(text))

    def read(self, text: str, today: date) -> tuple[list[Mention], bool]:
        """(periods in order of mention, whether anything else was said about time)."""
        text = self._greeting.sub(lambda match: " " * len(match.group()), normalised(text))
        left, found, has_other = text, [], False
        for pattern in (digits.NEVER_WHOLE, self._other, self._day):
            has_other = has_other or bool(pattern.search(left))
            left = _blanked(left, [match.span() for match in pattern.finditer(left)])
        for pattern, mention_of in (
            (self._month_and_year, lambda match: self._dated(match)),
            (self._year_and_month, lambda match: self._dated(match)),
            (digits.MONTH, _numeric),
            (self._quarter_of_year, lambda match: _quarter(match, today)),
            (self._quarter, lambda match: _quarter(match, today)),
        ):
            matches = list(pattern.finditer(left))
            found += [mention_of(match) for match in matches]
            left = _blanked(left, [match.span() for match in matches])
        for name, pattern in self._relative:
            matches = list(pattern.finditer(left))
            kind = "year" if name.endswith("year") else "other"
            found += [Mention(match.start(), match.end(), name, kind) for match in matches]
            left = _blanked(left, [match.span() for match in matches])
        found += self._bare(text, left, found, today)
        found = [self._widened(text, mention) for mention in sorted(found)]
        left = _blanked(left, [(mention.start, mention.end) for mention in found])
        is_doubtful = has_other or self._is_left(left) or self._is_guarded(text, found) or _is_mixed(found)
        return found, is_doubtful or (not found and self._day_words.search(left) is not None)

    def _dated(self, match: re.Match[str]) -> Mention:
        return Mention(*match.span(), f"{match['year']}-{self._numbers[match['name']]:02d}", "other")

    def _bare(self, text: str, left: str, found: list[Mention], today: date) -> list[Mention]:
        """Months without a year, and years, that are said to be meant whole."""
        taken: list[Mention] = []
        matches = [*self._year.finditer(left), *self._month.finditer(left)]
        for match in sorted(matches, key=lambda match: match.start()):
            is_year = "year" in match.groupdict()
            before = text[max(0, match.start() - LOOK_BACK) : match.start()]
            ends = [mention.end for mention in [*found, *taken] if mention.end <= match.start()]
            is_joined = bool(ends) and self._joint.fullmatch(text[max(ends) : match.start()]) is not None
            behind = self._year_behind if is_year else self._month_behind
            has_unit = behind.match(text, match.end()) is not None
            is_in = self._inside.search(before) is not None or self._unit_before.search(before) is not None or (not is_year and bool(match["suffix"]))
            if not (is_in or is_joined or has_unit):
                continue
            if is_year:
                taken.append(Mention(*match.span(), match["year"], "year"))
            elif match["name"] in self._wide_names:
                number = self._numbers[match["name"]]
                year = today.year if number <= today.month else today.year - 1
                taken.append(Mention(*match.span(), f"{year}-{number:02d}", "month"))
        return taken

    def _widened(self, text: str, mention: Mention) -> Mention:
        """The mention with the word for month or year that stands beside it: "rok 2023", "2024 года"."""
        if mention.name[0].isalpha():
            return mention
        before = self._unit_before.search(text[max(0, mention.start - LOOK_BACK) : mention.start])
        behind = self._unit_behind.match(text, mention.end)
        start = mention.start - len(before.group()) if before else mention.start
        return mention._replace(start=start, end=behind.end() if behind else mention.end)

    def _is_left(self, left: str) -> bool:
        """Whether a word about time was not read: a unit that is no rhythm, a month, what may be a year."""
        for match in self._units.finditer(left):
            before = left[max(0, match.start() - LOOK_BACK) : match.start()]
            if match["one"] is None or match.group() != match["one"] or not self._each.search(before):
                return True
        is_short = any(self._inside.search(left[: match.start()]) for match in self._month.finditer(left))
        return is_short or self._any_wide.search(left) is not None or _ANY_YEAR.search(left) is not None

    def _is_guarded(self, text: str, found: list[Mention]) -> bool:
        """Whether a word beside a period makes it another ("since"), or two periods are the ends of a span."""
        for mention in found:
            before = text[max(0, mention.start - LOOK_BACK) : mention.start]
            if self._outside.search(before) or self._behind.match(text, mention.end):
                return True
        for first, second in zip(found, found[1:], strict=False):
            gap = text[first.end : second.start]
            is_near = len(gap.split()) <= 3 and not re.search(r"[.?!]", gap)
            if is_near and not re.search(rf"[,&+/;]|(?<!\w){self._joint.pattern.removesuffix('$')}", gap):
                return True
        return False


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    for start, end in spans:
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text


def _numeric(match: re.Match[str]) -> Mention:
    month = int(match["iso_month"] or match["month"])
    return Mention(*match.span(), f"{match['iso_year'] or match['year']}-{month:02d}", "other")


def _quarter(match: re.Match[str], today: date) -> Mention:
    """A quarter by its number; without a year the latest that has begun."""
    groups = match.groupdict()
    said = groups.get("q") or groups.get("t") or groups["number"]
    number = _ROMAN.get(said) or int(said)
    year = int(match["year"]) if match["year"] else today.year - (number > (today.month - 1) // 3 + 1)
    return Mention(*match.span(), f"{year}-q{number}", "other")


def _is_mixed(found: list[Mention]) -> bool:
    """Whether a month without a year stands beside another year: of which year it is would be a guess."""
    kinds = [mention.kind for mention in found]
    others = [mention for mention in found if mention.kind != "month"]
    return "month" in kinds and any(not mention.name.endswith("_month") for mention in others)
