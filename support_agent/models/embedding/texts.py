"""Prepares a text for an embedder: its start, without invalid characters.

Invariant: the result can be encoded as UTF-8 and has no NUL, at which C libraries stop;
tests/unit/models/embedding/test_texts.py checks it.
"""

from __future__ import annotations

import re

NO_CHARACTER = re.compile("[\0\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def readable(text: str, most_characters: int) -> str:
    """The first `most_characters` of the text; NUL and halves of surrogate pairs become U+FFFD."""
    return NO_CHARACTER.sub(REPLACEMENT, text[:most_characters])
