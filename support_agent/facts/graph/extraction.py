"""Extracts the entities of each sentence.

Two extractors: `RuleExtractor`, which needs no model, and `written_extraction.WrittenExtractor`, which asks one.
Invariant: every entity is in its sentence or in the heading above it: `checked` drops inventions of an extractor and
limits the rest. tests/unit/facts/graph/test_extraction.py checks it with lying extractors.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Protocol

from support_agent.company.documents import Sentence
from support_agent.core.frozen import Frozen
from support_agent.facts.chunks import Source
from support_agent.facts.name_words import FUNCTION_WORDS, MIN_STEMMED, key_of, stems_of

LOOKED_AT = 2_000
"""Most characters to read of a sentence."""
ENTITIES_PER_SENTENCE = 8
ENTITY_WORDS = 6
"""Most words of one entity."""
NAME_CHARACTERS = 200
"""Most characters of an extracted name."""

_WORD = re.compile(r"[€$£%]|\w+(?:[.,'\u2019-]\w+)*")
_QUOTED = re.compile(r'"([^"]{2,60})"|“([^”“]{2,60})”|„([^“”„]{2,60})[“”]|«([^»«]{2,60})»|`([^`]{2,60})`')
_DEFINED = re.compile(
    r"^(.{2,60}?),? (?:means|is defined as|refers to|is called|bedeutet|bezeichnet|heißt|significa|se llama)\b"
)
_UNITS = """
    % € $ £ eur usd gbp chf euro euros dollars pounds kb mb gb tb bytes second seconds minute minutes hour hours
    day days week weeks month months year years business working calendar users user seats seat devices device
    files characters requests sekunden minute minuten stunde stunden tag tage tagen werktage woche wochen monat monate
    monaten jahr jahre jahren zeichen segundos minuto minutos hora horas día días semana semanas mes meses año años
"""
UNITS = frozenset(_UNITS.split())
"""Words and signs that belong to a number ("14 days", "9.99 €")."""


class Extraction(Frozen):
    """The entities of each sentence of a source, by position; `by` names the extractor."""

    by: str
    entities: tuple[tuple[str, ...], ...]


class Extractor(Protocol):
    """Finds entities; its results must pass `checked`."""

    @property
    def name(self) -> str:
        """Changes when its results change."""
        ...

    def extract(self, source: Source) -> Extraction:
        """The source's entities, unchecked.

        Raises:
            SupportAgentError: raised by the writer, if it uses one.
        """
        ...


def checksum_of(source: Source) -> str:
    """sha256 of the title, the headings and the sentences, in hex; the source's key is not in it."""
    parts = (part for sentence in source.sentences for part in (sentence.heading, sentence.text))
    return hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in (source.title, *parts)).encode()).hexdigest()


def heading_of(sentence: Sentence, source: Source) -> str:
    """The heading of a sentence; above the first heading, the source's title."""
    return sentence.heading or source.title


def checked(extraction: Extraction, source: Source) -> Extraction:
    """The extracted entities that are in the source: a tuple per sentence, without repetition, limited."""
    entities: list[tuple[str, ...]] = []
    for position, sentence in enumerate(source.sentences):
        found = extraction.entities[position] if position < len(extraction.entities) else ()
        entities.append(_standing(found, sentence.text, heading_of(sentence, source)) if found else ())
    return Extraction(by=extraction.by, entities=tuple(entities))


def _standing(names: Iterable[str], text: str, heading: str) -> tuple[str, ...]:
    """The names that stand in the sentence or its heading, in the order given."""
    where = (f" {_looked_at(text)} ", f" {_looked_at(heading)} ")
    kept: dict[str, str] = {}
    for name in names:
        key = key_of(name[:NAME_CHARACTERS])
        if _is_entity(key) and any(f" {key} " in place for place in where):
            kept.setdefault(key, " ".join(name[:NAME_CHARACTERS].split()))
            if len(kept) == ENTITIES_PER_SENTENCE:
                break
    return tuple(kept.values())


def _looked_at(text: str) -> str:
    return key_of(text[:LOOKED_AT])


def _is_entity(key: str) -> bool:
    words = key.split()
    return 0 < len(words) <= ENTITY_WORDS and any(len(word) > 1 and word not in FUNCTION_WORDS for word in words)


class RuleExtractor:
    """Finds entities by rules: headings and their words, capitals, quotation marks, definitions, numbers with units.

    The same source gives the same entities.
    """

    name = "rules 2"

    def extract(self, source: Source) -> Extraction:
        """As `Extractor.extract`; raises nothing."""
        texts = [sentence.text[:LOOKED_AT] for sentence in source.sentences]
        headings = [heading_of(sentence, source) for sentence in source.sentences]
        terms = _heading_terms(headings)
        capitals = {word for text in texts for word in inner_capitals(text)}
        found = (_named(text, heading, terms, capitals) for text, heading in zip(texts, headings, strict=True))
        return Extraction(by=self.name, entities=tuple(found))


def _named(text: str, heading: str, terms: frozenset[str], capitals: set[str]) -> tuple[str, ...]:
    """The entities of a sentence, by the most certain rule first, as the limit cuts the rest."""
    quoted = ["".join(groups) for groups in _QUOTED.findall(text)]
    defined = [match.group(1)] if (match := _DEFINED.match(text)) else []
    marked = [word for word in key_of(text).split() if word in terms]
    names = [heading, *quoted, *defined, *_quantities(text), *_capitalised(text, capitals), *marked]
    kept: dict[str, str] = {}
    for name in names:
        if _is_entity(key := key_of(name[:NAME_CHARACTERS])):
            kept.setdefault(key, name)
    return tuple(kept.values())[:ENTITIES_PER_SENTENCE]


def _heading_terms(headings: Iterable[str]) -> frozenset[str]:
    """The content words of the headings."""
    words = (word for heading in dict.fromkeys(headings) for word in stems_of(heading[:LOOKED_AT]))
    return frozenset(
        word for word in words if len(word) >= MIN_STEMMED and word not in FUNCTION_WORDS and word.isalpha()
    )


def _quantities(text: str) -> list[str]:
    """Numbers with the sign before or the unit behind them."""
    words = _WORD.findall(text)
    found = []
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        if word[0].isdigit() and after.casefold() in UNITS:
            found.append(f"{word} {after}")
        elif word[0].isdigit() and before in {"€", "$", "£"}:
            found.append(f"{before} {word}")
    return found


def _capitalised(text: str, capitals: set[str]) -> list[str]:
    """Runs of capitalised words; the first word of a sentence does not count."""
    names: list[str] = []
    for number, run in enumerate(capital_runs(text)):
        is_own = number > 0 or not text.startswith(run[0]) or run[0] in capitals or run[0].isupper()
        if is_own or (len(run) > 1 and run[0].casefold() not in FUNCTION_WORDS):
            names.append(" ".join(run[:ENTITY_WORDS]))
        if not is_own and len(run) > 1:
            names.append(" ".join(run[1 : ENTITY_WORDS + 1]))
    return names


def capital_runs(text: str) -> list[list[str]]:
    """The capitalised words; adjacent ones together."""
    runs: list[list[str]] = []
    end = -2
    for match in _WORD.finditer(text):
        if not match.group()[0].isupper():
            continue
        if runs and text[end : match.start()] == " ":
            runs[-1].append(match.group())
        else:
            runs.append([match.group()])
        end = match.end()
    return runs


def inner_capitals(text: str) -> list[str]:
    """Capitalised words other than the first of a sentence."""
    words = _WORD.findall(text)
    return [word for word in words[1:] if word[0].isupper() and word.casefold() not in FUNCTION_WORDS]
