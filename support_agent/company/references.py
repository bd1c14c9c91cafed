"""Where a document refers to another of its sections: "except as in Limits".

A reference is the words of another heading, in quotation marks or, as they are written there, amid a sentence. A single
word without marks is one only after a small letter, so not at the start of a sentence or in a menu ("Settings > Plan"),
and not in German, where every noun is a capital. Words in an alphabet without capitals need marks. Checked by
tests/unit/company/test_references.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from support_agent.company.documents import Document, Sentence
from support_agent.company.words import CAPITAL_NOUNS

_OPEN = "[\"'\u00ab\u00bb\u2018-\u201f\u2039\u203a\u300c\u300e]"
_CLOSE = "[\"'\u00ab\u00bb\u2018-\u201f\u2039\u203a\u300d\u300f]"
_AMID = r"(?<=[^\W\d_])[,:]? [(]?"
"""Behind a letter: what stands behind ">" is a place in a menu."""
MIN_LETTERS = 3
"""Of a single word: "A" and "I" are no headings."""


def referred_to(document: Document, sentences: Iterable[Sentence]) -> tuple[Sentence, ...]:
    """What stands under the headings that these sentences name, and under those named there, in the document's order.

    Their own headings are left out.
    """
    new = tuple(sentences)
    left, named = set(document.headings) - {sentence.heading for sentence in new} - {""}, set[str]()
    while new:
        found = {heading for heading in left if any(_names(one.text, heading, document.language) for one in new)}
        left, named = left - found, named | found
        new = tuple(sentence for sentence in document.sentences if sentence.heading in found)
    return tuple(sentence for sentence in document.sentences if sentence.heading in named)


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
