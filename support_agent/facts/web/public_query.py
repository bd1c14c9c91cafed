"""Makes the query for the web from a question: without anything that shows who asks.

A query has no mail addresses, no web addresses (a link may hold a token after its "?", a host may be the customer's),
no names of the mail's people, and no numbers that could identify a person. Only short numbers stay ("14 days",
"Windows 11", "2FA"): at most three characters, even across separators; and none if the question has a longer one, as a
house number stands near a postal code. Years are removed, too: 2000 is a postal code from Antwerp to Sydney, and
"Office 2019" is found well enough without it.

Invariant: one limited, printable line; model text is treated like the customer's. Not recognised are streets without a
number, and names that are not in the mail's header. Checked by tests/unit/facts/web/test_public_query.py and, with the
requests as sent, by tests/integration/facts/test_what_leaves.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from support_agent.company.text import collapse
from support_agent.company.words import SPACELESS
from support_agent.facts.material import Passage, Retriever

MAX_QUERY_CHARACTERS = 300
"""Most characters of a query; search engines do not understand more."""
SHORT_NUMBER = 3
NAME_LETTERS = 4
"""Names with this many letters are also recognised with an ending."""
ENDING_LETTERS = 2
_MAIL_ADDRESS = re.compile(r"(?<![^\s<>])[^\s<>]*@[^\s<>]*")
_LINK = re.compile(r"\S*(?://|[?&][^\s=]*=)\S*")
"""A word with "//" or a query in it, with any host."""
_HOST = re.compile(r"(?<![\w.-])(?:[\w-]+\.)+(?:[a-z]{2,24}|[A-Z]{2,24})(?![^\W_])(?::\d+)?(?:[/?#]\S*)?")
_NUMBER = r"(?:[A-Za-z]+[_-])*[A-Za-z]*\d[A-Za-z\d]*"
_NUMBERS = re.compile(rf"(?<![A-Za-z\d]){_NUMBER}(?:[\W_]+{_NUMBER})*")
"""Adjacent numbers and codes, without a word between them."""
_TWO_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})
_ONE_LETTER = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "\u0131": "i"})
"""Letters as in addresses; other letters lose their accent."""


@dataclass(frozen=True)
class NamelessSearch:
    """`Retriever` that removes the names of a mail's people from the question.

    Args:
        web: The search.
        names: Names and mail addresses of the people.
    """

    web: Retriever
    names: Collection[str]

    def find(self, question: str, n: int) -> Sequence[Passage]:
        """See `Retriever.find`."""
        return self.web.find(public_query(question, self.names), n)


def public_query(question: str, names: Collection[str] = ()) -> str:
    """The query for a question; "" if nothing is left.

    Args:
        question: The customer's words, or a model's.
        names: Names and mail addresses of the people of the mail.
    """
    most = MAX_QUERY_CHARACTERS * 10
    text = unicodedata.normalize("NFKC", question[:most])[:most]
    line = collapse("".join(c for c in text if c.isprintable() or c.isspace()))
    for pattern in (_MAIL_ADDRESS, _LINK, _HOST):
        line = collapse(pattern.sub(" ", line))
    line = collapse(_without_names(line, names))
    return collapse(_without_numbers(line))[:MAX_QUERY_CHARACTERS].strip()


def _without_numbers(line: str) -> str:
    lengths = (sum(map(str.isalnum, found)) for found in _NUMBERS.findall(line))
    return _NUMBERS.sub(" ", line) if max(lengths, default=0) > SHORT_NUMBER else line


def _without_names(line: str, names: Collection[str]) -> str:
    """The line without the words of the names, in any case and with an ending; in scripts without spaces, anywhere.

    Initials stay, as they identify nobody and may be words ("a", "I").
    """
    words = [word for name in names for word in _name_words(name) if len(word) > 1 or SPACELESS.search(word)]
    for word in filter(SPACELESS.search, words):
        line = line.replace(word, " ")
    forms = {form for word in words for form in _forms(word)}
    return "".join(" " if is_word and _is_named(run, forms) else run for is_word, run in _runs(line))


def _name_words(name: str) -> Iterator[str]:
    """The words of a name, or of a mail address before its "@", alone and joined up to a space or "+"."""
    for part in unicodedata.normalize("NFKC", name.partition("@")[0]).replace("+", " ").split():
        words = [run for is_word, run in _runs(part) if is_word]
        yield from (*words, "".join(words)) if words else ()


def _runs(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces: words (letters with their marks), and the text between them."""
    return ((is_word, "".join(run)) for is_word, run in groupby(text, _is_letter))


def _is_letter(character: str) -> bool:
    return character.isalpha() or unicodedata.category(character).startswith("M")


def _is_named(word: str, forms: Collection[str]) -> bool:
    for form in _forms(word):
        stems = (form[:end] for end in range(max(len(form) - ENDING_LETTERS, NAME_LETTERS), len(form)))
        if form in forms or any(stem in forms for stem in stems):
            return True
    return False


def _forms(word: str) -> set[str]:
    """The spellings of a word: without case and accents, special letters as one or as two letters."""
    lower = word.casefold()
    return {_bare(lower), _bare(lower.translate(_TWO_LETTERS))}


def _bare(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", word).translate(_ONE_LETTER)
    return "".join(c for c in decomposed if not unicodedata.category(c).startswith("M"))
