"""What the company's documents name: told from how their own words are written, in no list.

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
"""A word in more than such a share of the documents, such as the company's own name, goes without saying."""
FEWEST = 3
"""Of fewer documents nothing can be said to go without saying."""
NAMED_SO_OFTEN = 3
"""A word that is written with a capital within so many sentences, and never without, is a name."""


class Vocabulary(Frozen):
    """What the company's documents name: words that every answer carries, names, and kinds of codes (`HF-M00`)."""

    common: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()


def vocabulary_of(documents: Sequence[Document]) -> Vocabulary:
    """What documents of one language name."""
    texts = [" ".join(sentence.text for sentence in document.sentences) for document in documents]
    counted = Counter(word for text in texts for word in {found.casefold() for found in WORDS.findall(text)})
    common = frozenset(word for word, count in counted.items() if count > COMMON * len(texts) and len(texts) >= FEWEST)
    return Vocabulary(
        common=common,
        names=frozenset() if _has_capital_nouns(texts) else frozenset(_names_in(documents)) - common,
        codes=frozenset(family(code) for text in texts for code in codes_in(text)),
    )


def _has_capital_nouns(texts: Sequence[str]) -> bool:
    """Whether most documents are in a language in which a capital tells no name."""
    likely = [likely_languages(text)[:1] for text in texts]
    return sum(not CAPITAL_NOUNS.isdisjoint(languages) for languages in likely) > len(texts) / 2


def _names_in(documents: Iterable[Document]) -> Iterator[str]:
    """Words that have a capital within sentences, and never none."""
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
