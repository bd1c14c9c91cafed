"""Questions, answers and their evidence, constructed from the companies' documents: no model, one seed.

A case is made of one document. It has 1 to 3 claims, each said of one sentence or list item of it; about one case in
four has one more, a false claim about another sentence of the document, that no sentence bears out. A claim is its
sentence in other words, by rules: remarks in brackets go, common words give way to others, numbers up to twenty change
between digits and words, and of a long sentence often only one half is left. A false claim has another number as well,
or denies what its sentence says. The answer is the claims in any order; the question is the document's example question
that shares most words with them, or its title. Rows of tables are never drawn, and can be chosen by mistake.

Answers that are made by rules stay nearer to their sentences than answers of people or models would: what is measured
on them is an upper bound. The same documents and seed give the same cases. Checked by
tests/unit/benchmarks/papers/test_constructed.py.
Source: GE-Chat (2025) measures evidence on 1,000 questions with answers and their evidence in a document.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from support_agent.company.documents import Document, Sentence
from support_agent.company.text import split_sentences
from support_agent.config.settings import Settings
from support_agent.facts.chunks import Source, document_source
from support_agent.facts.inquiry.utility import knowledge_f1
from tests.benchmarks.companies import WITH_PAPERS, open_company

FITTING = ("demo", *WITH_PAPERS)
REPORTED = ("rail", "insurer")
"""Nothing is ever fitted to cases of these."""
MOST_CLAIMS = 3
FALSE_CLAIMS = 0.5
"""How often one is tried; about half of the sentences have nothing that can be falsified."""
MIN_WORDS, MAX_WORDS = 6, 45
"""Of a sentence that is drawn."""
HALVES = 0.5
"""The share of sentences with two halves of which one is left."""
HALF_WORDS = 5
"""Of a half, at least."""
TRIES = 50
"""Draws in a row that come to nothing, as each was there before; then there are no more cases."""

_REMARK = re.compile(r"\s*\([^()]*\)")
_HALVES = re.compile(r"\s*;\s+|,\s+(?=(?:and|but|or|so|then|unless|if|when|which)\b)|:\s+")
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,4}(?![\w-]|[.,]\d)")
_WORD = re.compile(r"[A-Za-z']+")
_NAMES = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty
"""
_NUMBER_NAMES = {str(number): name for number, name in enumerate(_NAMES.split(), start=1)}
_OTHER_WORDS = {
    **{name: number for number, name in _NUMBER_NAMES.items() if number != "1"},
    **{
        "you": "the customer",
        "your": "the customer's",
        "we": "the company",
        "our": "the company's",
        "us": "the company",
    },
    **{
        "must": "have to",
        "need": "require",
        "needs": "requires",
        "can": "may",
        "cannot": "may not",
        "can't": "may not",
    },
    **{"within": "in at most", "until": "up to", "before": "ahead of", "after": "following", "without": "with no"},
    **{"only": "just", "also": "too", "each": "every", "every": "each", "all": "the whole of", "usually": "mostly"},
    **{"get": "receive", "gets": "receives", "send": "mail", "choose": "select", "press": "click", "open": "go to"},
    **{"buy": "purchase", "bought": "purchased", "costs": "is priced at"},
    **{"begin": "start", "begins": "starts", "ends": "finishes", "keep": "retain"},
    **{"show": "present", "shows": "presents", "ask": "request", "tell": "inform", "help": "assist", "use": "employ"},
    **{
        "money": "amount",
        "fee": "charge",
        "free": "at no cost",
        "quickly": "fast",
        "later": "afterwards",
        "if": "when",
    },
}
_DENIED = re.compile(r"\b(is|are|can|may|will)\b(?! not| no\b)")


class Claim(NamedTuple):
    """One sentence of an answer, and the position of the sentence that it was made of; None: it is false."""

    text: str
    position: int | None


class Constructed(NamedTuple):
    """A case: the document it is made of, as a source, and the claims of its answer, in their order there."""

    question: str
    claims: tuple[Claim, ...]
    source: Source

    @property
    def answer(self) -> str:
        return " ".join(claim.text for claim in self.claims)

    @property
    def gold(self) -> frozenset[int]:
        """The positions of the sentences that bear the answer out."""
        return frozenset(claim.position for claim in self.claims if claim.position is not None)


def documents_of(names: Sequence[str], settings: Settings) -> tuple[Document, ...]:
    """The documents of some companies, one company after the other; `settings` are the demo's."""
    found: list[Document] = []
    for name in names:
        with open_company(name, settings) as company:
            found += company.documents
    return tuple(found)


def constructed(documents: Sequence[Document], n: int, seed: int) -> tuple[Constructed, ...]:
    """At most `n` cases, no two of the same sentences of a document; fewer where the documents have no more."""
    return tuple(islice(_cases(documents, random.Random(seed)), n))


def _cases(documents: Sequence[Document], chance: random.Random) -> Iterator[Constructed]:
    readable = [(document, document_source(document), _drawable(document)) for document in documents]
    kept = [one for one in readable if len(one[2]) > MOST_CLAIMS]
    seen: set[tuple[int, frozenset[int]]] = set()
    n_failed = 0
    while kept and n_failed < TRIES:
        at = chance.randrange(len(kept))
        document, source, sentences = kept[at]
        drawn = chance.sample(sentences, chance.randint(1, MOST_CLAIMS) + 1)
        case = _case(document, source, drawn, chance)
        if case is None or (at, case.gold) in seen:
            n_failed += 1
            continue
        seen.add((at, case.gold))
        n_failed = 0
        yield case


def _drawable(document: Document) -> list[Sentence]:
    """Sentences and list items that can be said of themselves."""
    fitting = (one for one in document.sentences if one.kind != "row" and not one.is_header)
    return [one for one in fitting if MIN_WORDS <= len(one.text.split()) <= MAX_WORDS]


def _case(document: Document, source: Source, drawn: Sequence[Sentence], chance: random.Random) -> Constructed | None:
    """True claims of all sentences but the last, which may be the false one's; None where one cannot be said."""
    claims = [Claim(reworded(sentence.text, chance), sentence.index) for sentence in drawn[:-1]]
    if chance.random() < FALSE_CLAIMS and (false := falsified(reworded(drawn[-1].text, chance), chance)):
        claims.append(Claim(false, None))
    chance.shuffle(claims)
    if any(len(split_sentences(claim.text)) != 1 for claim in claims):
        return None
    text = " ".join(claim.text for claim in claims)
    questions = [*document.head.questions, document.head.title]
    question = max(questions, key=lambda one: knowledge_f1(one, text))
    return Constructed(question, tuple(claims), source)


def reworded(text: str, chance: random.Random) -> str:
    """A sentence in other words, as one sentence that ends with a full stop."""
    text = _REMARK.sub("", text).strip(" .;:!?")
    halves = [half for half in _HALVES.split(text) if half]
    long = [half for half in halves if len(half.split()) >= HALF_WORDS]
    if len(halves) > 1 and long and chance.random() < HALVES:
        text = chance.choice(long)
    text = _NUMBER.sub(lambda found: _NUMBER_NAMES.get(found.group(), found.group()), _WORD.sub(_other, text))
    return f"{text[:1].upper()}{text[1:]}."


def _other(found: re.Match[str]) -> str:
    """Another word for it, or itself; names keep theirs."""
    word = found.group()
    is_name = word[0].isupper() and found.start() > 0
    return word if is_name else _OTHER_WORDS.get(word.lower(), word)


def falsified(text: str, chance: random.Random) -> str | None:
    """The claim with another number, or denied; None where it has no number and no verb that is known."""
    if numbers := list(_NUMBER.finditer(text)):
        found = chance.choice(numbers)
        return f"{text[: found.start()]}{int(found.group()) + chance.randint(1, 30)}{text[found.end() :]}"
    denied = _DENIED.sub(r"\1 not", text, count=1)
    return denied if denied != text else None
