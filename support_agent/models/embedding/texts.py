"""What an embedder reads of a text: its start, without what is no character.

Invariant: what `readable` returns can be encoded as UTF-8 and holds no NUL, at which a library written in C stops;
tests/unit/models/embedding/test_texts.py checks it.
"""

from __future__ import annotations

import re

NO_CHARACTER = re.compile("[\0\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def readable(text: str, most_characters: int) -> str:
    """The first `most_characters` of the text; NUL and halves of surrogate pairs become U+FFFD."""
    return NO_CHARACTER.sub(REPLACEMENT, text[:most_characters])
