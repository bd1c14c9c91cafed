"""The names, codes and common words of the company's documents, found by spelling and frequency without a list.

Checked by tests/unit/company/test_vocabulary.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from support_agent.company.documents import Document
from support_agent.company.languages import likely_languages
from support_agent.company.words import CAPITAL_NOUNS, WORDS, codes_in, family
from support_agent.core.frozen import Frozen

COMMON = 0.5
"""Words in more than this share of the documents are common, such as the company's own name."""
FEWEST = 3
"""With fewer documents no word is common."""
NAMED_SO_OFTEN = 3
"""A word with a capital inside at least this many sentences, and never without, is a name."""


class Vocabulary(Frozen):
    """Words that count as part of every answer (`common`), names, and patterns of codes (`hf-m00`)."""

    common: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()


def vocabulary_of(documents: Sequence[Document]) -> Vocabulary:
    """The vocabulary of documents in one language."""
    texts = [" ".join(sentence.text for sentence in document.sentences) for document in documents]
    counted = Counter(word for text in texts for word in {found.casefold() for found in WORDS.findall(text)})
    common = frozenset(word for word, count in counted.items() if count > COMMON * len(texts) and len(texts) >= FEWEST)
    return Vocabulary(
        common=common,
        names=frozenset() if _has_capital_nouns(texts) else frozenset(_names_in(documents)) - common,
        codes=frozenset(family(code) for text in texts for code in codes_in(text)),
    )


def _has_capital_nouns(texts: Sequence[str]) -> bool:
    """Whether most documents are in a language with capitalised nouns."""
    likely = [likely_languages(text)[:1] for text in texts]
    return sum(not CAPITAL_NOUNS.isdisjoint(languages) for languages in likely) > len(texts) / 2


def _names_in(documents: Iterable[Document]) -> Iterator[str]:
    """Words that have a capital inside sentences, and are never in lower case."""
    capital: Counter[str] = Counter()
    small: set[str] = set()
    for document in documents:
        for sentence in document.sentences:
            for place, word in enumerate(WORDS.findall(sentence.text)):
                if not word[0].isupper():
                    small.add(word.casefold())
                elif place and len(word) > 2:
                    capital[word.casefold()] += 1
    return (word for word, count in capital.items() if count >= NAMED_SO_OFTEN and word not in small)
