"""Where a document refers to another of its sections: "except as in Limits".

A reference is the words of another heading, in quotation marks or, as they are written there, amid a sentence. A single
word without marks is one only after a small letter, so not at the start of a sentence or in a menu ("Settings > Plan"),
and not in German, where every noun is a capital. Checked by tests/unit/company/test_references.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from support_agent.company.documents import Document, Sentence

_OPEN = "[\"'\u00ab\u00bb\u2018-\u201f\u2039\u203a\u300c\u300e]"
_CLOSE = "[\"'\u00ab\u00bb\u2018-\u201f\u2039\u203a\u300d\u300f]"
_AMID = r"(?<=[^\W\d_] )(?<!> )"
CAPITAL_NOUNS = ("de",)
"""Languages in which a capital amid a sentence is no name."""


def referred_to(document: Document, sentences: Iterable[Sentence]) -> tuple[Sentence, ...]:
    """What stands under the headings that these sentences name, in the document's order; their own are left out."""
    sentences = tuple(sentences)
    own = {sentence.heading for sentence in sentences}
    named = {
        heading
        for heading in set(document.headings) - own - {""}
        if any(_names(sentence.text, heading, document.language) for sentence in sentences)
    }
    return tuple(sentence for sentence in document.sentences if sentence.heading in named)


def _names(text: str, heading: str, language: str | None) -> bool:
    """Whether a sentence refers to the section under a heading."""
    words = re.escape(heading)
    if re.search(rf"{_OPEN}\s?{words}\s?{_CLOSE}", text, re.IGNORECASE):
        return True
    if len(heading.split()) > 1:
        return re.search(rf"{_AMID}{words}(?!\w)", text) is not None
    is_name = heading[0].isupper() and (language or "").split("-")[0] not in CAPITAL_NOUNS
    return is_name and re.search(rf"(?<=[a-zß-ÿ] ){words}(?![\w>]| >)", text) is not None
