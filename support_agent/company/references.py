"""Finds references of a document to its own sections: "except as in Limits".

A reference is the text of another heading, in quotation marks or, spelled the same, inside a sentence. A single word
without quotation marks counts only after a lower-case letter, so not at the start of a sentence or in a menu ("Settings
> Plan"), and not in languages that capitalise nouns. In alphabets without capitals, quotation marks are required.
Checked by tests/unit/company/test_references.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from support_agent.company.documents import Document, Sentence
from support_agent.company.words import CAPITAL_NOUNS

_OPEN = "[\"'\u00ab\u00bb\u2018-\u201f\u2039\u203a\u300c\u300e]"
_CLOSE = "[\"'\u00ab\u00bb\u2018-\u201f\u2039\u203a\u300d\u300f]"
_AMID = r"(?<=[^\W\d_])[,:]? [(]?"
"""After a letter, because words after ">" belong to a menu."""
MIN_LETTERS = 3
"""Least letters of a single word: "A" and "I" are not headings."""


def referred_to(document: Document, sentences: Iterable[Sentence]) -> tuple[Sentence, ...]:
    """The sections that these sentences refer to, directly or through other sections, in document order.

    The sentences' own sections are left out.
    """
    new = tuple(sentences)
    left, named = set(document.headings) - {sentence.heading for sentence in new} - {""}, set[str]()
    while new:
        found = {heading for heading in left if any(_names(one.text, heading, document.language) for one in new)}
        left, named = left - found, named | found
        new = tuple(sentence for sentence in document.sentences if sentence.heading in found)
    return tuple(sentence for sentence in document.sentences if sentence.heading in named)


@lru_cache(maxsize=10_000)  # of the company's own texts alone
def _names(text: str, heading: str, language: str | None) -> bool:
    """Whether a sentence refers to the section under a heading."""
    words = re.escape(heading)
    if re.search(rf"(?<!\w){_OPEN}\s?{words}\s?{_CLOSE}(?!\w)", text, re.IGNORECASE):
        return True
    if len(heading.split()) > 1:
        return re.search(rf"{_AMID}{words}(?!\w)", text) is not None
    is_name = heading[0].isupper() and len(heading) >= MIN_LETTERS
    is_told_by_capital = is_name and (language or "").split("-")[0] not in CAPITAL_NOUNS
    return is_told_by_capital and re.search(rf"(?<=[a-zß-ÿ])[,:]? [(]?{words}(?![\w>]| >)", text) is not None
