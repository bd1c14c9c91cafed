"""The function words that narrow a question, in 28 languages: "only", "without", "not the last one", "her".

The data is in `limiting_words.toml`; `planner.qualifiers` interprets the matches. Only closed classes of words are
listed, never words for topics. Checked by tests/unit/company/test_limiting_words.py.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support_agent.company.languages import likely_languages
from support_agent.company.periods.table import Phrases
from support_agent.core.frozen import Frozen

FILE = Path(__file__).with_suffix(".toml")
SPACELESS = frozenset(["ja", "ko", "zh"])
"""Languages without spaces between words."""
MOST_LANGUAGES = 3
"""At most this many likely languages are used."""
NOTHING = re.compile(r"(?!)")


class _Table(Frozen):
    only: Phrases
    without: Phrases
    not_: Phrases
    others: Phrases
    polite: Phrases = ()


class LimitingWords(NamedTuple):
    """One language's words as patterns; `not_` matches at the start of a text or after a comma, `negation` anywhere."""

    only: re.Pattern[str]
    without: re.Pattern[str]
    not_: re.Pattern[str]
    negation: re.Pattern[str]
    others: re.Pattern[str]
    polite: re.Pattern[str]


def words_for(text: str) -> tuple[LimitingWords, ...]:
    """The words of the likely languages of a text, the likeliest first; English if none is recognised."""
    tables = _tables()
    likely = [language for language in likely_languages(text) or ("en",) if language in tables]
    return tuple(tables[language] for language in likely[:MOST_LANGUAGES])


@cache
def _tables() -> dict[str, LimitingWords]:
    read = tomllib.loads(FILE.read_text(encoding="utf-8"))
    tables = {}
    for language, lists in read.items():
        table = _Table.model_validate({f"{name}_" if name == "not" else name: words for name, words in lists.items()})
        is_spaced = language not in SPACELESS
        tables[language] = LimitingWords(
            only=_pattern(table.only, is_spaced=is_spaced),
            without=_pattern(table.without, is_spaced=is_spaced),
            not_=_pattern(table.not_, is_spaced=is_spaced, before=r"(?:^|[,;:(] ?(?:\w+ )?)" if is_spaced else ""),
            negation=_pattern(
                table.not_, is_spaced=is_spaced, contracted=r"|n['\u2019]t\b" if language == "en" else ""
            ),
            others=_pattern(table.others, is_spaced=is_spaced),
            polite=_pattern(table.polite, is_spaced=True, before="^", after="$"),
        )
    return tables


def _pattern(
    phrases: Iterable[str], *, is_spaced: bool, before: str = "", after: str = "", contracted: str = ""
) -> re.Pattern[str]:
    spelled = "|".join(re.escape(phrase).replace(r"\*", r"\w*").replace(r"\ ", r"\s+") for phrase in phrases)
    if not spelled:
        return NOTHING
    bound = r"\b" if is_spaced else ""
    return re.compile(f"{before}{bound}(?:{spelled}){bound}{after}{contracted}", re.IGNORECASE)
