"""Patterns of many wordings, compiled so that searching for all of them is one pass."""

from __future__ import annotations

import re


def words(*alternatives: str) -> re.Pattern[str]:
    """Any of the alternatives, in upper or lower case."""
    return re.compile("|".join(alternatives), re.IGNORECASE)


def words_at_start(*alternatives: str, anywhere: tuple[str, ...]) -> re.Pattern[str]:
    """Alternatives that begin where a word does, then others.

    With one `\\b` before all of them the search passes over the inside of words at once, in a third of the time.
    """
    return re.compile("|".join((rf"\b(?:{'|'.join(alternatives)})", *anywhere)), re.IGNORECASE)


def listed(text: str) -> tuple[str, ...]:
    """The entries of a list of words, parted by commas and written over several lines."""
    return tuple(dict.fromkeys(" ".join(text.split()).split(", ")))
