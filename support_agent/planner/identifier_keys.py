"""Normalises identifiers to comparable keys, and tells whether two keys are one character apart.

Checked by tests/unit/planner/test_identifiers.py.
"""

from __future__ import annotations

import re
import unicodedata

from support_agent.company.words import ADDRESS, visible

MIN_BARE_DIGITS = 4
"""Least digits of a matched number without letters."""
CHUNK = re.compile(r"[^\W_]+")
"""Adjacent letters and digits: one chunk of an identifier."""
_DASHES = "\u2212\u2043\u00b7"
"""Characters used as dashes that are no dashes in Unicode."""


def plain(text: str) -> str:
    """The text with ASCII digits and dashes, without invisible characters and mail addresses."""
    return ADDRESS.sub(" @ ", "".join(map(_plain_character, visible(text))))


def _plain_character(character: str) -> str:
    if character.isascii():
        return character
    match unicodedata.category(character):
        case "Pd":
            return "-"
        case "Nd":
            return str(unicodedata.digit(character))
        case _:
            return "-" if character in _DASHES else character


def key_of(identifier: str) -> str:
    """The letters and digits of an identifier, for comparison."""
    return "".join(CHUNK.findall(plain(identifier))).casefold()


def endings_of(identifier: str) -> set[str]:
    """The numbers that an identifier ends with: 0030 and 20250030 for HF-2025-0030."""
    groups = re.findall(r"\d+|[^\W\d_]+", plain(identifier))
    endings: set[str] = set()
    digits = ""
    for group in reversed(groups):
        if not group.isdigit():
            break
        digits = group + digits
        endings.add(digits)
    return {ending for ending in endings if len(ending) >= MIN_BARE_DIGITS and ending != key_of(identifier)}


def variants_of(key: str) -> set[str]:
    """The key, and the key without each of its characters; keys one character apart share a variant."""
    return {key, *(key[:place] + key[place + 1 :] for place in range(len(key)))}


def is_one_off(one: str, other: str) -> bool:
    """Whether one substitution, insertion, deletion or swap of neighbours turns one key into the other."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    short, long = sorted((one, other), key=len)
    place = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[place:] == long[place + 1 :]
    is_swap = short[place : place + 2] == long[place : place + 2][::-1] and short[place + 2 :] == long[place + 2 :]
    return short[place + 1 :] == long[place + 1 :] or is_swap


def structure_of(key: str) -> str:
    """The order of letters and digits: "LD" for HF20250030."""
    return re.sub(r"\d+", "D", re.sub(r"[^\W\d_]+", "L", key))


def size_of(key: str) -> tuple[int, int]:
    """How many letters and how many digits."""
    digits = sum(map(str.isdigit, key))
    return len(key) - digits, digits


def first_letters(key: str) -> str:
    """The letters before the first digit, or ""."""
    match = re.match(r"[^\W\d_]+", key)
    return match.group() if match else ""
