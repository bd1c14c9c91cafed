"""The words and numbers that an answer contains, for checking the qualifiers of a question against them.

A document counts as a whole, in all its languages, because the answer is part of it. An account value counts with its
label, summary, example questions and value. Checked by tests/unit/planner/test_answer_content.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, assert_never

from support_agent.answer.final_answer import (
    AggregateItem,
    CalculationItem,
    ClarificationItem,
    DocumentItem,
    FieldItem,
    Item,
    Operand,
    RecordItem,
    TableItem,
)
from support_agent.answer.formatting import format_value
from support_agent.company.account_specs import FieldSpec, RecordSpec, SeriesSpec
from support_agent.company.languages import READ_CHARACTERS, likely_languages
from support_agent.company.values import Period, Value
from support_agent.company.vocabulary import Vocabulary
from support_agent.company.words import (
    SPACELESS,
    WORDS,
    countries,
    countries_in,
    currencies_in,
    digits_in,
    is_one_thing,
    months_of,
    places_and_currencies,
    plain_number,
    visible,
)
from support_agent.tools.base import Context

STEM = 5
"""Words that share this many first letters may be forms of one word: "invoice" and "invoices"."""
ENDING = 3
"""Largest difference in length between two forms of a word."""


class Said(NamedTuple):
    """A text without invisible characters and capitals, its words and its numbers."""

    text: str
    words: frozenset[str]
    numbers: frozenset[str]


def _read(text: str) -> Said:
    text = visible(text)
    words = frozenset(map(str.casefold, WORDS.findall(text)))
    return Said(text.casefold(), words, frozenset(map(plain_number, digits_in(text))))


_read_own = lru_cache(maxsize=512)(_read)
"""For the company's own texts alone: what a customer wrote or has is not kept."""
_countries_in_own = lru_cache(maxsize=2048)(countries_in)
_currencies_in_own = lru_cache(maxsize=2048)(currencies_in)
_languages_of_own = lru_cache(maxsize=512)(likely_languages)


class AnswerContent:
    """The words and numbers of an answer."""

    def __init__(
        self,
        text: str,
        vocabulary: Vocabulary,
        *,
        is_value: bool,
        countries: frozenset[str] = frozenset(),
        own: Said | None = None,
    ) -> None:
        """Args:
        countries: The codes of the countries that the answer names.
        own: What the company's own text says, read before.
        """
        self.is_value = is_value
        self.countries = countries
        self.vocabulary = vocabulary
        read = _read(text)
        self._text = read.text if own is None else f"{own.text} {read.text}"
        self._words = read.words.union(vocabulary.common, own.words if own is not None else ())
        self._numbers = read.numbers.union(own.numbers if own is not None else ())

    def contains(self, text: str) -> bool:
        """Whether the answer contains all words and numbers of a text."""
        lower = text.casefold()
        return self.has_phrase(text) or all(map(self._has_word, lower.split()))

    def has_phrase(self, text: str) -> bool:
        """Whether the answer contains the exact text, but not inside a word or number: "5" is not in "15 seats"."""
        text = text.casefold()
        if SPACELESS.search(text):
            return text in self._text
        return re.search(rf"(?<!\w){re.escape(text)}(?![\w-]*\d|\w)", self._text) is not None

    def _has_word(self, word: str) -> bool:
        if any(character.isdigit() for character in word):
            return plain_number(word) in self._numbers or word in self._words
        return all(part in self._words or self._is_inflected(part) for part in WORDS.findall(word))

    def _is_inflected(self, part: str) -> bool:
        if part in places_and_currencies("en"):  # Austria is no form of Australia
            return False
        stem = part[: max(STEM, len(part) - 2)]
        return len(part) >= STEM and any(
            word.startswith(stem) and abs(len(word) - len(part)) <= ENDING for word in self._words
        )


def content_of(item: Item, context: Context, others: Sequence[str] = ()) -> AnswerContent | None:
    """The content of an item; None for a clarification, which answers nothing.

    Args:
        others: Content of further items of the same answer.
    """
    said = _words_of_item(item, context)
    if said is None:
        return None
    words, is_value = said
    languages = likely_languages(context.current_question)[:2]
    own = "" if is_value else " ".join(words)
    rest = " ".join([*(words if is_value else ()), *others, *_customer_words(context)])
    is_long = len(own) >= READ_CHARACTERS
    spoken = ("en", *(_languages_of_own(own) if is_long else likely_languages(f"{own} {rest}"))[:1])
    named = frozenset().union(*(countries_in(rest, language) | _countries_in_own(own, language) for language in spoken))
    known = {name for language in languages for name, code in countries(language).items() if code in named}
    money = {
        name
        for language in ("en", *languages)
        for name in currencies_in(rest, language) | _currencies_in_own(own, language)
    }
    text, read = " ".join([rest, *money, *known]), _read_own(own) if own else None
    return AnswerContent(text, context.vocabulary, is_value=is_value, countries=named, own=read)


def _customer_words(context: Context) -> list[str]:
    """The customer's name and address, which may sign a mail and qualify nothing."""
    return [context.customer.address, context.customer.name] if context.customer else []


def _words_of_item(item: Item, context: Context) -> tuple[list[str], bool] | None:
    """The words of one item, and whether it is an account value."""
    accounts = context.accounts
    match item:
        case DocumentItem(number=number):
            return _words_of_document(number, context), False
        case FieldItem(field=name, value=value):
            return _words_of_values(accounts.fields[name], [], [value], context), True
        case RecordItem(record=name, identifier=identifier, columns=columns):
            parts = re.findall(r"[^\W_]+", identifier)
            words = [identifier, *parts, "".join(parts), *(column.label for column in columns)]
            return _words_of_values(accounts.records[name], words, [column.value for column in columns], context), True
        case TableItem(series=name, period=period, steps=steps):
            return _words_of_values(
                accounts.series[name], [*steps, *words_of_period(period, context)], [], context
            ), True
        case AggregateItem(operand=operand):
            return _words_of_operands([operand], context), True
        case CalculationItem(left=left, right=right, operation=operation):
            return [operation, *_words_of_operands([left, right], context)], True
        case ClarificationItem():
            return None
        case never:
            assert_never(never)


def _words_of_document(number: int, context: Context) -> list[str]:
    versions = [context.documents[number], *filter(None, [context.translations.get(number)])]
    return [
        part
        for version in versions
        for part in (
            version.head.title,
            version.head.summary,
            *version.head.questions,
            *(f"{sentence.heading} {sentence.text}" for sentence in version.sentences),
        )
    ]


def _words_of_operands(operands: Sequence[Operand], context: Context) -> list[str]:
    words = []
    for operand in operands:
        words += [operand.aggregation, *operand.steps, *words_of_period(operand.period, context)]
    values: list[Value | None] = [operand.value for operand in operands]
    return _words_of_values(context.accounts.series[operands[0].series], words, values, context)


def _words_of_values(
    spec: FieldSpec | SeriesSpec | RecordSpec,
    words: Iterable[str],
    values: Iterable[Value | None],
    context: Context,
) -> list[str]:
    locales = {"en", context.locale}
    said = [format_value(value, locale) for value in values if value for locale in locales]
    questions = (_without_examples(question) for question in spec.questions)
    return [*map(spec.label_for, locales), spec.summary, *questions, *words, *said]


def _without_examples(question: str) -> str:
    """An example question without its days, years, sums and codes, which are not those of the value."""
    one_thing = [token for token in digits_in(question) if is_one_thing(token)]
    return " ".join(word for word in question.split() if not any(token in word for token in one_thing))


def words_of_period(period: Period, context: Context) -> list[str]:
    """The years and months of a period as a customer writes them; [] for `all_time`."""
    if period.name == "all_time":
        return []
    ends = (period.first, period.last)
    months = [f"{end.year} {end.year}-{end.month:02d}" for end in ends]
    languages = likely_languages(context.current_question)[:2]
    ends_in = {end.month for end in ends}
    months += [name for language in languages for name, number in months_of(language).items() if number in ends_in]
    return months
