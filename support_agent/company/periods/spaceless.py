"""Reads periods in Japanese, Chinese and Korean, which write months and years as a number and a character.

A period counts only before a particle that leaves it whole ("3月の" is "of March", "3月から" is "since March").

Invariant: doubts are reported, never dropped. Checked by tests/unit/company/periods/test_reader.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from functools import lru_cache

from support_agent.company.periods import digits
from support_agent.company.periods.shared_units import NEARBY, with_year_of
from support_agent.company.periods.table import (
    Mention,
    blanked,
    latest_year_of_month,
    latest_year_of_quarter,
    normalised,
    table_of,
)

SPACELESS = frozenset(["ja", "zh", "ko"])
_DIGITS = "一二三四五六七八九"
_MONTHS = {sign: number for number, sign in enumerate(_DIGITS, start=1)} | {"十": 10, "十一": 11, "十二": 12}
_YEAR = r"(?<!\d)(?P<year>(?:19|20)\d\d)\s*[年년]"
_MONTH = r"(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])\s*[月월]份?"
_QUARTER = r"第?\s*(?P<quarter>[1-4一二三四])\s*(?:四半期|季度|분기)"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_YEAR}\s*{_QUARTER}",
        rf"{_YEAR}\s*{_MONTH}",
        digits.SLASHED_MONTH.pattern,
        r"(?<![\d./:-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\d/-])",
        r"(?<![\d./:-])(?P<month>0?[1-9]|1[0-2])/(?P<year>(?:19|20)\d\d)(?![\d/-])",
        rf"(?<![年년])(?<![年년]\s){_QUARTER}",
        rf"{_YEAR}(?!\s*\d|度)",
        rf"(?<![\d一二三四五六七八九十年년前후後后]){_MONTH}(?!\s*\d)",
    )
)
_COUNT = r"(?:\d+|[一二三四五六七八九十几幾数兩两]|ここ|近|最近|过去|過去|直近|지난|최근|몇|한|두|세)\s*(?:个|個)?\s*"
_DAY = re.compile(r"[月월]\s*\d{1,2}\s*[日号號일]|(?<!\d)\d{1,2}\s*[日号號](?!間|间)|(?<!\d)\d{1,2}일")
_LEFT = re.compile(r"\d\s*[月월]|[年년]\s*前|(?<!\d)(?:19|20)\d\d(?![\d,.]\d|\d)")


@lru_cache(maxsize=8)
def spaceless_reader_of(language: str) -> SpacelessReader:
    """The cached reader of a language."""
    return SpacelessReader(language)


class SpacelessReader:
    """The patterns of one language; stateless."""

    def __init__(self, language: str) -> None:
        table = table_of(language)
        self._particle = re.compile(rf"(?:{table.particle})" if language == "ko" else rf"\s*(?:{table.particle})")
        self._other = re.compile(_any_of(table.other))
        self._units = re.compile(f"{_COUNT}{_any_of([*table.units, '年', '년', '月', '달'])}")
        self._outside = re.compile(rf"{_any_of(table.outside)}\s*$")
        self._weekday = re.compile("[月火水木金土日]曜|星期|礼拜|[월화수목금토일]요일")
        self._day_words = re.compile(_any_of(table.day))
        self._now = re.compile(_any_of(table.now))
        modifier = _any_of([*table.this, *table.last, *table.ordinal])
        joint = rf"\s*(?:{_any_of(table.joint)}|[、・,/&])\s*"
        self._joint = re.compile(joint)
        self._shared_before = re.compile(rf"(?:{modifier}|[\d{_DIGITS}十]){joint}$")
        self._shared_behind = re.compile(rf"{joint}{modifier}\s*(?:[。.?!、,]|[のは的]|$)")
        fields = type(table.names).model_fields
        self._names = [(name, re.compile(_any_of(getattr(table.names, name)))) for name in fields]

    def without_now(self, text: str) -> str:
        """The text without the words that ask for the current value."""
        return self._now.sub(" ", text)

    def read(self, text: str, today: date) -> tuple[list[Mention], bool]:
        """(periods in order of mention, whether the text has other times)."""
        text = normalised(text)
        left = text
        is_doubtful = any(pattern.search(text) for pattern in (self._other, self._weekday, _DAY))
        found: list[Mention] = []
        for name, pattern in self._names:
            kind = "year" if name.endswith("year") else "other"
            found += [Mention(*match.span(), name, kind) for match in pattern.finditer(left)]
            left = blanked(left, pattern)
        for pattern in _PATTERNS:
            found += [_mention(match, today) for match in pattern.finditer(left)]
            left = blanked(left, pattern)
        found.sort()
        for index in range(1, len(found)):
            if self._joint.fullmatch(text, found[index - 1].end, found[index].start):
                found[index] = with_year_of(found[index - 1], found[index])
        is_doubtful = is_doubtful or digits.NEVER_WHOLE.search(left) is not None
        is_cut = any(
            self._particle.match(text, mention.end) is None
            or self._outside.search(text[: mention.start])
            or self._shared_before.search(left[max(0, mention.start - NEARBY) : mention.start])
            or self._shared_behind.match(left, mention.end)
            for mention in found
        )
        dated = [mention for mention in found if mention.kind == "year" or mention.name[0].isdigit()]
        is_year_open = len({mention.kind == "yearless" for mention in dated}) > 1
        is_left = self._units.search(left) is not None or _LEFT.search(left) is not None
        is_day = not found and self._day_words.search(left) is not None
        return found, is_doubtful or is_cut or is_year_open or is_left or is_day


def _any_of(words: Iterable[str]) -> str:
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(map(re.escape, ordered)) + ")" if ordered else "(?!)"


def _mention(match: re.Match[str], today: date) -> Mention:
    groups = match.groupdict()
    year = int(groups["year"]) if groups.get("year") else None
    kind = "other" if year else "yearless"
    if said := groups.get("quarter"):
        number = _MONTHS.get(said) or int(said)
        return Mention(*match.span(), f"{year or latest_year_of_quarter(number, today)}-q{number}", kind)
    if said := groups.get("month"):
        number = _MONTHS.get(said) or int(said)
        return Mention(*match.span(), f"{year or latest_year_of_month(number, today)}-{number:02d}", kind)
    return Mention(*match.span(), f"{year}", "year")
