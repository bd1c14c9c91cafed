"""Whether the customer asks for a person, recognised without a model.

Invariant: a request in plain words is found in English, German, Spanish and French, and "user agent", "sync agent",
"human-readable" or "a person in my team" alone are none. Checked by tests/unit/mail/test_person_word.py.

A setting of `desk.person_words` with two or more words that does not begin with an article ("real person") is
enough by itself; every other one ("agent", "a person") counts only where it is asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache

BUILT_IN = ("person", "operator", "staff member", "team member", "employee", "persona", "operador", "representante")
FRENCH = ("humain", "personne", "conseiller", "conseillère", "quelqu'un")
ARTICLES = frozenset({"a", "an", "the", "un", "una", "une", "ein", "eine", "el", "la"})
NO_COMPOUND = r"(?![-\w])(?! (?:readable|error|resources|rights|log|logs|version|string|process|service|names?)\b)"


def asks_for_person(text: str, person_words: tuple[str, ...]) -> str | None:
    """The words by which a person is asked for, or None.

    Args:
        text: What the customer wrote (visible text or subject), any length.
        person_words: `desk.person_words`.
    """
    plain = " ".join(text.replace("’", "'").split())
    for pattern in _patterns(person_words):
        match = pattern.search(plain)
        if match is not None:
            return match[0].strip()[:80]
    for line in text.split("\n"):
        if len(line) < 80 and (match := _alone(person_words).fullmatch(line.strip())):
            return match[0]
    return None


@lru_cache(maxsize=16)
def _patterns(person_words: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """One pattern per way of asking; each has a bounded number of words between its ends."""
    who = rf"(?:{_words(person_words)}){NO_COMPOUND}"
    real = r"(?:(?:real|live|actual|human|support|customer|service|proper|single|echten?|richtigen?|menschlichen?) )"
    article = r"(?:a|an|the|your|some|one of your|any|another|un|una|une|el|la|alg[úu]n|alguna|votre) "
    german = r"(?:einem|einer|eurem|eurer|ihrem|ihrer|jemandem|dem|der|einen|eine)"
    german_who = rf"(?:{real}){{0,2}}(?:{_words(person_words)})(?:en|n|s|in)?\b"
    german_verb = r"(?:spreche|sprechen|reden|telefonieren|schreiben|verbinden|verbinde|verbunden|weiterleiten|chatten)"
    ways = [
        rf"\b(?:talk|speak|chat|write|talking|speaking|connected?) (?:to|with) (?:{article})?{real}{{0,2}}{who}",
        rf"\b(?:connect|transfer|forward|pass|hand|put|escalate)(?: \w+){{1,3}} (?:to|with|over to|on to)"
        rf" (?:{article})?{real}{{0,2}}{who}",
        rf"\b(?:need|want|would like|i'd like|prefer|demand|request|give me|get me|is there)"
        rf" (?:a|an|some|any|to (?:reach|contact|see|get) (?:a|an)) {real}{{0,2}}{who}",
        rf"\b(?:{article})?{real}{{0,2}}{who},? (?:please|bitte|por favor|s'il vous plaît)",
        rf"\b(?:please|bitte|por favor)[,:]? (?:{article})?{real}{{0,2}}{who}(?=[.!]|$)",
        rf"\bmit {german} {german_who}(?: \w+){{0,3}} {german_verb}\b",
        rf"\b{german_verb}(?: \w+){{0,4}} (?:mit|an) {german} {german_who}",
        rf"\b(?:will|möchte|brauche|verlange)(?: \w+){{0,2}} (?:einen|eine) (?:echten?|richtigen?|menschlichen?) "
        rf"(?:{_words(person_words)})",
        rf"\b(?:hablar|conversar|comunicarme|contactar|chatear|p[áa]s[ea]me|p[óo]ngame|quiero|necesito)"
        rf"(?: directamente)? (?:con|a) (?:{article})?{who}",
        rf"\b(?:parler|échanger|discuter) (?:à|avec) (?:{article})?(?:vrai[e]? )?{who}",
        *(rf"\b{re.escape(word)}\b" for word in _enough_alone(person_words)),
    ]
    return tuple(re.compile(way, re.IGNORECASE) for way in ways)


@lru_cache(maxsize=16)
def _alone(person_words: tuple[str, ...]) -> re.Pattern[str]:
    """A whole line that is nothing but the word: "Human!"."""
    return re.compile(rf"(?:(?:a|an|un|una|ein|eine|einen) )?(?:{_words(person_words)})\s*[.!?]*", re.IGNORECASE)


def _words(person_words: tuple[str, ...]) -> str:
    """All words as one alternation, longest first, without their articles."""
    bare = {" ".join(_without_article(word.split())) for word in (*person_words, *BUILT_IN, *FRENCH)}
    return "|".join(re.escape(word) for word in sorted(bare - {""}, key=lambda word: (-len(word), word)))


def _without_article(words: list[str]) -> list[str]:
    return words[1:] if words and words[0].lower() in ARTICLES else words


def _enough_alone(person_words: tuple[str, ...]) -> list[str]:
    return [word for word in person_words if len(word.split()) > 1 and _without_article(word.split()) == word.split()]
