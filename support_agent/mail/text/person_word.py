"""Recognise, without a model, that the customer asks for a person.

Invariant: a plain request is found in English, German, Spanish and French, while "user agent", "sync agent",
"human-readable" or "a person in my team" alone are not requests. Checked by tests/unit/mail/text/test_person_word.py.

An entry of `desk.person_words` with two or more words and no leading article ("real person") is enough by itself. Every
other entry ("agent", "a person") counts only in a phrase that asks for it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from support_agent.mail.text.wording import longest_first

MAX_CHARACTERS = 100_000
"""Searched at each end of a longer text."""
BUILT_IN = (
    "person",
    "operator",
    "staff member",
    "team member",
    "employee",
    "persona",
    "operador",
    "representante",
)
SOMEONE = ("someone", "somebody", "jemandem", "alguien", "quelqu'un")
"""These count only after a verb of talking ("talk to someone")."""
FRENCH = ("humain", "personne", "conseiller", "conseillère")
ARTICLES = frozenset({"a", "an", "the", "un", "una", "une", "ein", "eine", "el", "la"})
NO_COMPOUND = r"(?![-\w])(?! (?:readable|error|resources|rights|log|logs|version|string|process|service|names?)\b)"

PHRASE_END = r"(?=[.,!?;:]|$| (?:to|who|that|for|from|please|on|now|right|immediately|asap|and|not|instead|about)\b)"
HELPS = r"(?:look|call|answer|help|read|contact|reply|check|take|handle|get back|respond)"
PLEASE = r"(?:please|bitte|por favor|s'il vous plaît)"
ARTICLE = r"(?:a|an|the|your|some|one of your|any|another|un|una|une|el|la|alg[úu]n|alguna|votre)"
GERMAN_ARTICLE = r"(?:einem|einer|eurem|eurer|ihrem|ihrer|dem|der|einen|eine)"
GERMAN_REAL = r"(?:echte[nrms]?|richtige[nrms]?|menschliche[nrms]?)"
GERMAN_TALK = r"(?:sprech(?:en?)|reden|telefonieren|schreiben|verbinden?|verbunden|weiterleiten|chatten)"


def asks_for_person(text: str, person_words: tuple[str, ...]) -> str | None:
    """The words that ask for a person, or None.

    Args:
        text: The visible text or the subject, of any length; only both ends of a very long text are searched.
        person_words: `desk.person_words`.
    """
    if len(text) > 2 * MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]}\n{text[-MAX_CHARACTERS:]}"
    plain = " ".join(text.replace("\u2019", "'").split())
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
    """One pattern for each way to ask; each allows a bounded number of words between its ends."""
    words = _words(person_words)
    anyone = rf"(?:{words}|{'|'.join(SOMEONE)})s?{NO_COMPOUND}"
    real = rf"(?:(?:real|live|actual|human|support|customer|service|proper|single|{GERMAN_REAL}) )"
    one = rf"(?:{ARTICLE} )?{real}{{0,2}}{anyone}"
    german = rf"{GERMAN_ARTICLE} {real}{{0,2}}(?:{words})(?:en|n|s|in)?\b"
    ways = [
        rf"\b(?:talk|speak|chat|write|talking|speaking|connected?) (?:to|with) {one}",
        rf"\b(?:connect|transfer|forward|pass|hand|put|escalate)(?: \w+){{1,3}} (?:to|with) {one}",
        rf"\b(?:need|want|would like|i'd like|prefer|demand|request|give me|get me|is there)"
        rf" (?:a|an|some|any|to (?:reach|contact|see|get) (?:a|an)) {real}{{0,2}}(?:{words}){PHRASE_END}",
        rf"\b(?:can|could|would|let|have) (?:a|an|some) {real}{{0,2}}(?:{words}) (?:please )?{HELPS}\b",
        rf"(?:^|[.!?,;:] |\b(?:a|an|un|una|ein|eine|einen) ){real}{{0,2}}(?:{words}),? {PLEASE}\b",
        rf"\b{PLEASE}[,:]? (?:a |an |un |una )?{real}{{0,2}}(?:{words})(?=[.!]|$)",
        r"\bsome(?:one|body) real\b",
        rf"\bmit (?:jemandem|{german})(?: \w+){{0,3}} {GERMAN_TALK}\b",
        rf"\b{GERMAN_TALK}(?: \w+){{0,4}} (?:mit|an) (?:jemandem|{german})",
        rf"\b(?:will|möchte|brauche|verlange)(?: \w+){{0,2}} (?:einen|eine) {GERMAN_REAL} (?:{words})",
        rf"\bkann(?: \w+){{0,2}} eine? {real}{{0,2}}(?:{words})(?: \w+)?"
        r" (?:anrufen|antworten|helfen|übernehmen)",
        rf"\b(?:hablar|conversar|comunicarme|contactar|chatear|p[áa]s[ea]me|p[óo]ngame|quiero|necesito)"
        rf"(?: \w+)? (?:con|a) {one}",
        rf"\b(?:parler|échanger|discuter) (?:à|avec) (?:{ARTICLE} )?(?:vrai[e]? )?{anyone}",
        *(rf"\b{re.escape(word)}\b" for word in _enough_alone(person_words)),
    ]
    return tuple(re.compile(way, re.IGNORECASE) for way in ways)


@lru_cache(maxsize=16)
def _alone(person_words: tuple[str, ...]) -> re.Pattern[str]:
    """A line that is only the word: "Human!"."""
    return re.compile(rf"(?:(?:a|an|un|una|ein|eine|einen) )?(?:{_words(person_words)})\s*[.!?]*", re.IGNORECASE)


def _words(person_words: tuple[str, ...]) -> str:
    """All words as one pattern, without their articles."""
    bare = (" ".join(_without_article(word.split())) for word in (*person_words, *BUILT_IN, *FRENCH))
    return longest_first(re.escape(word) for word in bare if word)


def _without_article(words: list[str]) -> list[str]:
    return words[1:] if words and words[0].lower() in ARTICLES else words


def _enough_alone(person_words: tuple[str, ...]) -> list[str]:
    return [word for word in person_words if len(word.split()) > 1 and _without_article(word.split()) == word.split()]
