"""Finds what narrows a question and is missing from its answer: an identifier, an amount, a day, a name, an exclusion.

The account's seats do not answer "How many seats does Lisbon use?", although the number is true. So after the choice
and before the gate, the content of the answer (`answer_content`) must contain each qualifier of the sentences that ask,
of the short sentences after them, and of the subject. Otherwise a person gets the question with the qualifier.
Other sentences ("my boss needs it on Friday") do not narrow it, with three exceptions: references ("R-8812") and names
that are known by their spelling ("FreeBSD", "TISAX"), and countries if the document distinguishes countries.

Invariant: deterministic, and no model is asked. Measured by `python -m tests.benchmarks.mails qualifiers_development`;
checked by tests/unit/planner/test_qualifiers.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from babel import Locale
from babel.numbers import list_currencies

from support_agent.company.languages import likely_languages
from support_agent.company.limiting_words import LimitingWords, words_for
from support_agent.company.text import collapse
from support_agent.company.vocabulary import Vocabulary
from support_agent.company.words import (
    ADDRESS,
    CAPITAL_NOUNS,
    WORDS,
    codes_in,
    countries_in,
    digits_in,
    family,
    is_code,
    is_one_thing,
    mixed_scripts_in,
    months_of,
    visible,
)
from support_agent.company.words import places_and_currencies as places
from support_agent.planner.answer_content import AnswerContent
from support_agent.planner.segments import ASKS, Read, is_long, sentences_of
from support_agent.tools.base import Qualifier, SegmentReading

QUALIFIERS_VERSION = "qualifiers-4"
SHORT_SENTENCE = 12
"""A sentence of at most this many words after the question qualifies it."""
TOLD_APART = 2
"""An answer that names this many countries distinguishes them, so it may not hold for other countries."""
SHORT_QUESTION = 4
"""A question of at most this many words refers to a wish in another sentence: "What is that figure?"."""
LONG_WORD = 4
"""Least letters of a word that is looked up."""
REFERENCE_DIGITS = 3
"""Least digits of a code that is a reference wherever it stands: "R-8812", not "B2B" or "S23"."""
ABOUT = 0.5
"""Least similarity of a wish to the topic that it is about."""
OTHER_WISH = 0.3
"""Least probability that a part asks which is set against a negated wish."""
QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u037e")
_SENTENCE = re.compile(
    r"(?<=[?!\uff1f\uff01\u3002\u061f…])\s*|(?<=\w\w\w[.;])\s+|(?<=\d\d[.;])\s+|(?<=[»”\")]\.)\s+|(?<=\w\w\.)\s+(?=[^\W\d_a-z])"
    r"|\s+[-\u2013\u2014]\s+(?=\S+\s+\S+\s+\S)|\s*\n\s*|(?=[¿¡])"
)
_ITEM = re.compile(r"(?:^|(?<=[:;.?!]))\s*\d{1,2}[.)]\s+")
"""The number of a list item: "1. When does our plan renew?"."""
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u2018\u201a«»\u2039\u203a\u300c\u300e]\s*([^\"\u201c-\u201e«»\u2039\u203a\u300c-\u300f]{2,60}?)"
    r"\s*[\"\u201d\u201c\u2019\u2018«»\u2039\u203a\u300d\u300f]"
)
_QUOTED_QUESTION = re.compile(
    r"[\"\u201c\u201e\u201d«»\u300c]\s*([^\"\u201c-\u201e«»\u300c\u300d]{2,600}[?\uff1f\u061f])"
    r"\s*[\"\u201c\u201d«»\u300d]"
)
_PAUSE = re.compile(r"[,;:\u2013\u2014\u060c\uff0c\uff1b]\s*")
_BLANKS = re.compile(r"[^\S\n]{2,}")
_FILE = re.compile(r"\b[\w-]{1,100}\.(?:[a-z]{3,4}|7z|js|py)\b")
_ABBREVIATION = re.compile(r"(?<![\w-])(?<!\d )[^\W\d_]{3,10}(?![\w-])(?! \d)")
"""Filtered by capitals. No unit or currency of a number beside it ("EUR 20", "300 MIB"), no "OK", no key."""


_CURRENCIES = list_currencies()


class ParsedQuestion(NamedTuple):
    """A parsed question: its `asking` sentences, those `before` the first of them, and the short ones `behind` it.

    `words` are the limiting words ("only", "without") of its `languages`.
    """

    subject: str
    asking: Sequence[str]
    before: Sequence[str]
    behind: Sequence[str]
    words: Sequence[LimitingWords]
    languages: Sequence[str]


def missing_qualifier(
    question: str, subject: str, content: AnswerContent, asks: Callable[[str], bool]
) -> Qualifier | None:
    """The first qualifier of a question that its answer does not contain; None if it contains all.

    Args:
        question: In the customer's words, with the sentences around it.
        subject: The subject of the mail if the question begins with it; else "".
        content: What the answer contains.
        asks: Whether a sentence without a question mark asks.
    """
    question, subject = _BLANKS.sub(" ", _ITEM.sub(" ", visible(question))), _BLANKS.sub(" ", visible(subject))
    asked = _parse(question, subject, asks)
    mixed = (Qualifier(kind="name", text=word) for word in mixed_scripts_in(question) if not content.has_phrase(word))
    named = (one for one in _named(question, asked, content) if not content.contains(one.text))
    found = next(mixed, None) or _quoted_question(question, asks) or next(named, None)
    return found or (_value_limit(asked, content) if content.is_value else _document_exclusion(asked, content))


def has_qualifier(question: str, asks: Callable[[str], bool]) -> bool:
    """Whether a question has any qualifier, regardless of its answer."""
    return missing_qualifier(question, "", AnswerContent("", Vocabulary(), is_value=True), asks) is not None


def negated_wish(question: str, mail: Sequence[str], topic: str, read: Read) -> Qualifier | None:
    """The negated wish, if only it is about the topic and another wish is not: "I don't want to cancel, I want ...".

    A question mark decides what is asked, so such a question has none. A negated wish alone may ask, too ("I do not
    want to renew").

    Args:
        question: The question that is answered.
        mail: All questions of its mail.
        topic: What the answer is about.
        read: Classifies segments of a mail.
    """
    words = words_for(question)
    if not any(one.negation.search(question) for one in words):
        return None
    parts = [part for text in (question, *mail) for part in _clauses(text, words) if is_long(part)]
    readings = dict(zip(parts, read(parts), strict=True))
    own = {part: reading for part, reading in readings.items() if part in question}
    if any(reading.is_marked for reading in own.values()):
        return None
    negated = {part for part in readings if any(one.negation.search(part) for one in words)}
    about = {part for part, reading in readings.items() if _is_about(reading, topic)}
    wanted = {part for part, reading in readings.items() if reading.acts.asks >= OTHER_WISH} - negated
    unwanted = [part for part, reading in own.items() if reading.acts.asks >= ASKS and part in negated & about]
    return Qualifier(kind="exclusion", text=unwanted[0]) if unwanted and wanted and not wanted & about else None


def _is_about(reading: SegmentReading, topic: str) -> bool:
    near = reading.near
    return near.get(topic, 0.0) >= max([ABOUT, *near.values()])


def _clauses(text: str, words: Sequence[LimitingWords]) -> Iterator[str]:
    """The sentences of a text; one with a negation is cut at the pause behind it."""
    for sentence in sentences_of(text):
        negated = next((match for one in words if (match := one.negation.search(sentence))), None)
        pause = _PAUSE.search(sentence, negated.end()) if negated else None
        yield from filter(None, (sentence[: pause.start()], sentence[pause.end() :].strip()) if pause else (sentence,))


def _parse(question: str, subject: str, asks: Callable[[str], bool]) -> ParsedQuestion:
    is_asked = subject.endswith(QUESTION_MARKS) or asks(subject)
    text = question if is_asked else question.removeprefix(subject).lstrip(" .!?")
    sentences = [part for part in map(collapse, _SENTENCE.split(text)) if part]
    marked = [part for part in sentences if part.endswith(QUESTION_MARKS)]
    wished = [part for part in sentences if part not in marked and asks(part)]
    asking = marked if any(len(part.split()) > SHORT_QUESTION for part in marked) else [*marked, *wished]
    first = sentences.index(asking[0]) if asking else len(sentences)
    behind = [part for part in sentences[first:] if part not in asking and len(part.split()) <= SHORT_SENTENCE]
    whole = f"{subject} {question}"
    words = dict.fromkeys([*words_for(" ".join(asking or sentences)), *words_for(whole)])
    before = sentences[:first] if asking else []
    return ParsedQuestion(subject, asking or sentences, before, behind, tuple(words), likely_languages(whole)[:2])


def _quoted_question(question: str, asks: Callable[[str], bool]) -> Qualifier | None:
    """A question in quotation marks, if nothing outside them asks: somebody else asked it."""
    if not (quoted := _QUOTED_QUESTION.search(question)):
        return None
    own = [part for part in map(collapse, _SENTENCE.split(_QUOTED_QUESTION.sub(". ", question))) if part]
    is_own = any(part.endswith(QUESTION_MARKS) or asks(part) for part in own)
    return None if is_own else Qualifier(kind="quotation", text=quoted[1])


def _named(question: str, asked: ParsedQuestion, content: AnswerContent) -> Iterator[Qualifier]:
    """All qualifiers; addresses, references, the company's kinds of codes and spelled names count in the whole text."""
    for address in ADDRESS.findall(question):
        yield Qualifier(kind="address", text=address)
    for code in codes_in(question):
        if family(code) in content.vocabulary.codes or _is_reference(code):
            yield Qualifier(kind="identifier", text=code)
    yield from _spelled_names(question.removeprefix(asked.subject), content)
    for part in (asked.subject, *asked.asking, *asked.behind):
        bare = ADDRESS.sub(" ", part)
        for quoted in (*_QUOTED.findall(bare), *_FILE.findall(bare)):
            yield Qualifier(kind="quotation", text=quoted)
        yield from _numbers(bare, asked.languages, content)
    for part in (*asked.asking, *asked.behind):
        yield from _names(ADDRESS.sub(" ", part), asked, content)
    for part in asked.before:
        yield from _countries(part, asked, content)
    yield from _names_of_subject(asked, content)


def _numbers(text: str, languages: Sequence[str], content: AnswerContent) -> Iterator[Qualifier]:
    for token in digits_in(text):
        if content.is_value or is_one_thing(token):
            yield Qualifier(kind="identifier" if is_code(token) else "number", text=token)
    months = {name for language in languages for name in months_of(language)}
    words = re.findall(r"\w+", text)
    for before, word, behind in zip(["", *words], words, [*words[1:], ""], strict=False):
        if word.casefold() in months and (before.isdigit() or behind.isdigit()):
            yield Qualifier(kind="number", text=f"{before} {word}" if before.isdigit() else f"{word} {behind}")


def _names(text: str, asked: ParsedQuestion, content: AnswerContent) -> Iterator[Qualifier]:
    """Words with an unexpected capital, countries, currencies, and the company's names."""
    found = [match for match in WORDS.finditer(text) if not any(map(str.isdigit, match[0]))]
    is_no_sign = _ignores_capitals([match[0] for match in found], asked)
    known = {name for language in asked.languages for name in places(language)}
    months = {name for language in asked.languages for name in months_of(language)}
    is_shouted = text.isupper()
    for match in found:
        word, lower = match[0], match[0].casefold()
        is_first = text[: match.start()].rstrip(' "\u201c\u201e«(')[-1:] in ("", *".:!?¿¡")
        is_abbreviation = word.isupper() and (not content.is_value or len(word) < 2 or is_shouted)
        is_capital = word[0].isupper() and not (is_abbreviation or is_first or is_no_sign)
        is_polite = any(words.polite.match(word) for words in asked.words)
        is_place = lower in known and not is_first and (word[0].isupper() or len(word) > LONG_WORD)
        if not (is_polite or lower in months) and (is_capital or lower in content.vocabulary.names or is_place):
            yield Qualifier(kind="name", text=word)


def _is_reference(code: str) -> bool:
    """Whether a code names one thing of the customer's, such as a case or a refund; file names count as quotations."""
    is_file, is_sum = "." in code or code.islower(), code.rstrip("0123456789") in _CURRENCIES
    return is_code(code) and not (is_file or is_sum) and sum(map(str.isdigit, code)) >= REFERENCE_DIGITS


def _spelled_names(text: str, content: AnswerContent) -> Iterator[Qualifier]:
    """Names in any sentence: "SoftTrade", and "TISAX" if a document answers.

    Names that the company's documents use are often told in passing ("I pay by PayPal"): they count in the sentences
    that ask. The same holds for abbreviations if an account value answers.
    """
    for part in _SENTENCE.split(_FILE.sub(" ", ADDRESS.sub(" ", text))):
        for before, word in pairwise(["", *WORDS.findall(part)]):
            is_spelled = _has_inner_capital(word) and not any(map(str.isdigit, word))
            is_of_a_name = before[:1].isupper()  # "Joe McCarthy", "Smith GmbH"
            if is_spelled and not is_of_a_name and word.casefold() not in content.vocabulary.names:
                yield Qualifier(kind="name", text=word)
        for word in () if content.is_value or part.isupper() else _ABBREVIATION.findall(part):
            if word.isupper() and word.casefold() not in content.vocabulary.common:  # "NOT"
                yield Qualifier(kind="name", text=word)


def _countries(text: str, asked: ParsedQuestion, content: AnswerContent) -> Iterator[Qualifier]:
    """Countries, if the answer distinguishes countries: "We are in Norway" then qualifies the question."""
    if len(content.countries) >= TOLD_APART:
        for language in asked.languages:
            for code in sorted(countries_in(text, language) - content.countries):
                yield Qualifier(kind="name", text=Locale.parse(language).territories[code])


def _names_of_subject(asked: ParsedQuestion, content: AnswerContent) -> Iterator[Qualifier]:
    """Only sure names in a subject: "App Store refund", "PayPal"; not "Lisbon" or "Hello"."""
    words = WORDS.findall(asked.subject)
    for word in words:
        if _has_inner_capital(word) or word.casefold() in content.vocabulary.names:
            yield Qualifier(kind="name", text=word)
    if not _ignores_capitals(words, asked):
        for left, right in pairwise(words):
            if all(len(word) > 1 and word[0].isupper() and not word.isupper() for word in (left, right)):
                yield Qualifier(kind="name", text=f"{left} {right}")


def _ignores_capitals(words: Sequence[str], asked: ParsedQuestion) -> bool:
    """Whether a capital does not indicate a name: in German, and in headlines such as "Refund For My Storage"."""
    long = [word for word in words if len(word) >= LONG_WORD]
    is_headline = len(long) > 2 and all(word[0].isupper() for word in long)
    return is_headline or not CAPITAL_NOUNS.isdisjoint(asked.languages[:1])


def _has_inner_capital(word: str) -> bool:
    """Whether a word is spelled like a product: "iPad", "FreeBSD"; "PDFs" is an abbreviation."""
    is_abbreviation = word.rstrip("s").isupper()
    return not is_abbreviation and any(letter.isupper() for part in word.split("-") for letter in part[1:])


def _document_exclusion(asked: ParsedQuestion, content: AnswerContent) -> Qualifier | None:
    """An exclusion ("without ...") that the document does not mention."""
    text = " ".join(asked.asking)
    for words in asked.words:
        for match in words.without.finditer(text):
            rest = _long_words(text[match.end() :], 5)
            if rest and not any(map(content.contains, rest)):
                return Qualifier(kind="exclusion", text=f"{match[0]} {' '.join(rest)}")
    return None


def _value_limit(asked: ParsedQuestion, content: AnswerContent) -> Qualifier | None:
    """An exclusion, restriction or contrast in a question about a value, or another person it is about."""
    text = " ".join(asked.asking)
    for words in asked.words:
        for part in (text, *asked.behind):
            if found := _exclusion(part, words, content):
                return found
        if match := words.others.search(text):
            return Qualifier(kind="other_person", text=match[0])
    return None


def _exclusion(part: str, words: LimitingWords, content: AnswerContent) -> Qualifier | None:
    """A limit that the answer lacks, or a code that it excludes: "apart from HF-2025-0030" is about other invoices."""
    for match in (one for pattern in (words.without, words.only, words.not_) for one in pattern.finditer(part)):
        rest = _long_words(part[match.end() :], 3)
        is_other = match.re is not words.only and any(map(is_code, rest))
        if is_other or not rest or not all(map(content.contains, rest)):
            return Qualifier(kind="exclusion", text=" ".join(part[match.start() :].split()[:6]))
    return None


def _long_words(text: str, among: int) -> list[str]:
    """The long words among the first `among` words."""
    return [word for word in WORDS.findall(text)[:among] if len(word) >= LONG_WORD]
