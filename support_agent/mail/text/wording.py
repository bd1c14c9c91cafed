"""Word lists, and patterns of many wordings that are searched in one pass."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

QUESTION_MARKS = ("?", "\uff1f", "\u061f")
COLONS = (":", "\uff1a")


def has_question_mark(text: str) -> bool:
    """Whether a text has a question mark: Latin, full-width or Arabic."""
    return any(mark in text for mark in QUESTION_MARKS)


def longest_first(alternatives: Iterable[str]) -> str:
    """One pattern of all alternatives, ordered so that none hides a longer one."""
    return "|".join(sorted(dict.fromkeys(alternatives), key=len, reverse=True))


def words(*alternatives: str) -> re.Pattern[str]:
    """A pattern of the alternatives that ignores case."""
    return re.compile("|".join(alternatives), re.IGNORECASE)


def words_at_start(*alternatives: str, anywhere: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern of alternatives that match only at the start of a word, and of others that match anywhere.

    One `\\b` before the whole group lets the search skip the inside of words: it takes a third of the time.
    """
    return re.compile("|".join((rf"\b(?:{'|'.join(alternatives)})", *anywhere)), re.IGNORECASE)


def word_lists(module: str) -> Mapping[str, tuple[str, ...]]:
    """The lists in the TOML file beside a module's file, by name; an entry that is too long for a line is in parts."""
    lists = tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: tuple(map("".join, entries)) for name, entries in lists.items()}
