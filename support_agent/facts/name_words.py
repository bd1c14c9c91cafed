"""The words of names, normalised for comparison, and the words that name nothing.

All modules that link, join or weigh entities use this definition of a name. The word index (`facts.bm25`) and the
preselection of web texts (`facts.web.shared_words`) have their own rules, as they weigh words by rarity.

Nothing is learned, nothing is random. Checked by tests/unit/facts/test_name_words.py.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

MIN_STEMMED = 4
"""Least letters of a word whose final s is removed; shorter words are mostly not plurals ("gas")."""

KEPT_KEYS = 4_096
"""Cached keys: documents repeat names."""

_WORD = re.compile(r"[€$£%]|[0-9]+(?:[.,][0-9]+)+|\w+")
_POSSESSIVE = re.compile(r"(?<=\w)['\u2019]s?\b")
_FUNCTION_WORDS = """
    a about after all also an and any are as at be because been before being between both but by can could do does
    doing done down during each ever every for from further had has have having he her here hers herself him himself his
    how i if in into is it its itself just know like made make many may me more most much must my need no not of on only
    one or other our out over please same shall she should so some such take than that the their them then there these
    they this those through to under until up us very want was we were what when where which while who why will with
    within without would you your yours
    aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bis bitte dann darf das dass
    dein deine dem den denn der deren des die dies diese diesem diesen dieser dieses doch dort durch ein eine einem
    einen einer eines er es etwas euch euer eure für gibt habe haben hat hatte hier ich ihr ihre ihrem ihren ihrer im
    in ist kann kein keine können könnte machen mein meine meinem meinen meiner mich mit möchte muss müssen nach nicht
    noch oder ohne sehr sein seine sich sie sind so soll sollte und uns unser unsere viel von vor wann warum weil welche
    welchen welcher welches wenn werde werden wie wir wird wollen wurde würde zu zum zur zwischen
    como con cuál cuales cuando cuándo cuánto cuanto cómo de del desde donde dónde el ella ellos en entre es esta están
    estas este esto estos está hace hacer hacia hasta la las lo los más mucho no nuestra nuestro o para pero poder
    podría por porque puede puedo que quiero saber se según si sin sobre su sus también tener tengo tiene todo todos
    tras un una unas unos usted ustedes y
"""


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, in order: folded, "Ann's" as Ann; "9.99" is one word, and so is "€"."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return tuple(_WORD.findall(_POSSESSIVE.sub("", folded)))


def stems_of(text: str) -> tuple[str, ...]:
    """`words_of`, each without the s of a plural."""
    return tuple(map(_stem, words_of(text)))


@lru_cache(maxsize=KEPT_KEYS)
def key_of(name: str) -> str:
    """The normal form of a name, equal for its spellings; "" if it has no comparable word."""
    return " ".join(stems_of(name))


def _stem(word: str) -> str:
    is_plural = len(word) >= MIN_STEMMED and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if is_plural else word


_WRITTEN = frozenset(_FUNCTION_WORDS.split())
FUNCTION_WORDS = _WRITTEN | frozenset(map(_stem, _WRITTEN))
"""English, German and Spanish words that name nothing, as they are written and as stems."""
