"""Reads what two periods share: the unit in "this and last year", the year in "March and April 2024".

A word such as "last" that is joined to a period, but names no period itself, makes the text doubtful: otherwise one of
two periods would be answered.

Invariant: a period is read only right beside the one whose unit or year it shares; further away it is a doubt.
Checked by tests/unit/company/periods/test_shared_units.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from support_agent.company.periods.patterns import joint_pattern
from support_agent.company.periods.table import Mention, Table, any_of, blanked_spans

NEARBY = 80
"""Characters beside a period that are searched."""
_NUMBER_ENDING = r"(?:[ºª°.]{1,2}|-?[^\W\d]{1,3})?"
_END = r"\s*(?:[.,;:?!)]|$)"


class SharedUnits:
    """The patterns of one table; stateless."""

    def __init__(self, table: Table) -> None:
        this, last = [*table.this, *table.this_one], [*table.last, *table.last_one]
        modifier = _modifier([*this, *table.this_behind], [*last, *table.last_behind], table.ordinal)
        between = joint_pattern(table)
        joint = rf"{between}(?:{any_of(table.article)}\s*){{0,2}}"
        self._joint = re.compile(between)
        self._modifier_behind = re.compile(any_of([*table.this_behind, *table.last_behind]))
        # The comments show a match in brackets beside the period.
        # "[this and] last year"
        self._before = re.compile(rf"{modifier}{joint}$")
        # "this year[ and the previous?]", "this month[ (and last)]"
        self._behind = re.compile(rf"(?:-\w{{1,3}}|['\u2019]\s?s)?\s?\(?(?P<joint>{joint}){modifier}(?P<end>{_END})?")
        # "[kolik minulý a kolik] tento měsíc", of which the modifier is "minulý"
        self._further_before = re.compile(
            rf"{_modifier(this, last, table.ordinal)}{joint}\w+\s(?:{any_of(table.inside)}\s)?$"
        )
        # "vorige maand[ en hoeveel deze?]", "dieses Jahr[ mehr als letztes gezahlt?]"
        self._further_behind = re.compile(
            rf"(?:[^.?!]*?\s{joint}(?:\w+\s){{0,2}}|(?:\s\w+){{1,2}}\s){modifier}(?:\s\w+)?{_END}"
        )
        # "this month[, and how much the previous one?]", but not "and what is the previous limit?"
        before = _modifier((), [*last, *table.last_behind], ())
        self._much_further_behind = re.compile(
            rf"[^.?!]*?(?<!\w){any_of(table.joint)}(?!\w)\s*(?:\w+\s){{0,4}}{before}{_END}"
        )
        # "maar[t- en] april"
        self._word_before = re.compile(rf"\w-{joint}$")
        # "[3e en] 4e kwartaal", "[iii i] iv kwartale"
        self._number_before = re.compile(rf"(?<![\w.,/])(?:[qtk]?\d{{1,2}}|i{{1,3}}|iv){_NUMBER_ENDING}{joint}$")
        # "03/2025[ en 04]"
        self._number_behind = re.compile(rf"{joint}\d{{1,2}}(?![\w.,]\w)")

    def read(self, text: str, found: list[Mention]) -> tuple[list[Mention], bool]:
        """(the periods and those that share a unit with them, in order; whether one is stated that cannot be read)."""
        left = _without(text, found)
        shared = self._beside(left, found)
        everything = sorted([*found, *(mention for mention in shared if mention.name)])
        is_third = bool(self._beside(_without(text, everything), everything))
        # "Last month and this, last year": this month or this year
        is_twofold = len({mention.start for mention in shared}) < len(shared) or any(
            _is_twofold(first, second, text, self._joint) for first, second in pairwise(everything)
        )
        is_cut = any(self._is_cut(text, left, mention) for mention in found)
        is_doubtful = is_third or is_twofold or is_cut or not all(mention.name for mention in shared)
        everything = with_shared_years(everything, text, self._joint)
        return everything, is_doubtful or _is_mixed(everything)

    def _beside(self, left: str, found: list[Mention]) -> set[Mention]:
        """Periods without a unit beside the found ones; an empty name: one is stated, but cannot be read."""
        before = [self._said_before(left, mention) for mention in found]
        behind = [self._said_behind(left, mention) for mention in found]
        return {mention for mention in [*before, *behind] if mention}

    def _said_before(self, left: str, mention: Mention) -> Mention | None:
        """ "This" in "this and last year"; an adjective may belong to a noun: "l'adresse actuelle et cette année"."""
        offset = max(0, mention.start - NEARBY)
        match = self._before.search(left[offset : mention.start])
        if match is None:
            match = self._further_before.search(left[offset : mention.start])
            return _mention(match, offset, "") if match else None
        is_behind = self._modifier_behind.fullmatch(match["this"] or match["last"] or "") is not None
        return _mention(match, offset, "" if is_behind else _shared_name(match, mention))

    def _said_behind(self, left: str, mention: Mention) -> Mention | None:
        """ "Previous" in "this year and the previous"; before another word it may belong to that, which is a doubt."""
        nearby = left[mention.end : mention.end + NEARBY]
        match = self._behind.match(nearby)
        if match is None or (match["end"] is None and match["joint"].strip() == ","):
            match = self._further_behind.match(nearby) or self._much_further_behind.match(nearby)
            return _mention(match, mention.end, "") if match else None
        return _mention(match, mention.end, _shared_name(match, mention) if match["end"] is not None else "")

    def _is_cut(self, text: str, left: str, mention: Mention) -> bool:
        """Whether the other period is a part of a word or a number alone: "maart- en april", "3e en 4e kwartaal"."""
        before = left[max(0, mention.start - NEARBY) : mention.start]
        is_numbered = "-q" in mention.name or ("-" in mention.name and text[mention.start].isdigit())
        is_number_left = self._number_before.search(before) or self._number_behind.match(left, mention.end)
        return self._word_before.search(before) is not None or (is_numbered and is_number_left is not None)


def _without(text: str, found: list[Mention]) -> str:
    return blanked_spans(text, [(mention.start, mention.end) for mention in found])


def _modifier(this: Iterable[str], last: Iterable[str], ordinal: Iterable[str]) -> str:
    """A pattern of the words that are said of a unit; the group that matched is its meaning."""
    return rf"(?<![\w'])(?:(?P<this>{any_of(this)})|(?P<last>{any_of(last)})|(?P<ordinal>{any_of(ordinal)}))(?!\w)"


def with_shared_years(found: list[Mention], text: str, joint: re.Pattern[str]) -> list[Mention]:
    """The periods, with the year of the second for the first in "March and April 2024"."""
    found = list(found)
    for index in range(len(found) - 2, -1, -1):
        first, second = found[index], found[index + 1]
        if joint.fullmatch(text, first.end, second.start):
            found[index] = with_year_of(second, first)
    return found


def with_year_of(dated: Mention, mention: Mention) -> Mention:
    """The mention with the year of a dated month or quarter beside it, if it has none itself."""
    is_dated = dated.kind == "other" and dated.name[0].isdigit() and ("-q" in dated.name) == ("-q" in mention.name)
    if mention.kind != "yearless" or not is_dated:
        return mention
    return mention._replace(name=dated.name[:4] + mention.name[4:], kind="other")


def _is_twofold(first: Mention, second: Mention, text: str, joint: re.Pattern[str]) -> bool:
    """Whether the second is a bare year joined to a dated month, which may be that month's: "May 2024 and 2025"."""
    is_bare_year = second.name.isdigit() and text[second.start : second.end].strip().isdigit()
    is_dated = first.name[0].isdigit() and not first.name.isdigit()
    return is_dated and is_bare_year and joint.fullmatch(text, first.end, second.start) is not None


def _is_mixed(found: list[Mention]) -> bool:
    """Whether a month or quarter without a year occurs with another year, so that its year would be a guess."""
    others = [mention for mention in found if mention.kind != "yearless"]
    return len(others) < len(found) and any(not mention.name.endswith(("_month", "_quarter")) for mention in others)


def _shared_name(match: re.Match[str], mention: Mention) -> str:
    """The period that the word names with the unit of the mention; empty if there is none."""
    which, _, unit = mention.name.partition("_")
    said = "this" if match["this"] else "last" if match["last"] else ""
    return f"{said}_{unit}" if said and which in {"this", "last"} and said != which else ""


def _mention(match: re.Match[str], offset: int, name: str) -> Mention:
    word = "this" if match["this"] else "last" if match["last"] else "ordinal"
    kind = "year" if name.endswith("year") else "other"
    return Mention(offset + match.start(word), offset + match.end(word), name, kind)
