"""The findings about a question as a web page for staff: documents, steps, entities, and the grades of each node.

Invariant: the page depends on the findings and the documents only, has no script and fetches nothing; no text becomes
markup, and text of the model is in an element that says so. Checked by tests/unit/ops/test_facts_page.py.
Source: the demonstration of GE-Chat (2025): the document with its evidence by score, the steps, the sub-graph.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from support_agent.answer.formatting import clean_line, clean_lines
from support_agent.company.documents import Document, Sentence
from support_agent.desk.retrieved import numbered
from support_agent.errors import ConfigError
from support_agent.facts.graph.layout import HEIGHT, WIDTH, picture_of, shortened
from support_agent.facts.graph.shown import EntityGraph, GraphRelation
from support_agent.ops.page_templates import page_template
from support_agent.tools.fact_room import RetrievalResult
from support_agent.tools.fact_trace import DOCUMENT_SOURCE, NodeVisit, SentenceRange, WorkflowNode, sentence_at

TEMPLATE = "facts_page.html.j2"
STRONG, FAIR = 0.9, 0.7
"""Probabilities from which a highlight is strong, and fair; below, it is weak."""
QUOTE_CHARACTERS = 300
"""Longest quotation of a passage or an address in the trace."""


class Mark(NamedTuple):
    """Why a sentence is highlighted: how strongly ("strong", "fair", "weak"; "near" beside evidence), and in words."""

    strength: str
    notes: tuple[str, ...] = ()


class MarkedSentence(NamedTuple):
    """A sentence with the id that links to it."""

    id: str
    text: str
    number: int | None
    mark: Mark | None


class Block(NamedTuple):
    """A paragraph, or a run of list items ("item") or table rows ("row")."""

    kind: str
    sentences: tuple[MarkedSentence, ...]


class Section(NamedTuple):
    """A heading and its text; a section with evidence is shown open."""

    heading: str
    blocks: tuple[Block, ...]
    has_evidence: bool


class ShownDocument(NamedTuple):
    """A document with evidence, whole."""

    number: int
    title: str
    url: str
    language: str | None
    sections: tuple[Section, ...]


class Quote(NamedTuple):
    """A passage: its place, the link to it on this page if there is one, and its first words."""

    where: str
    anchor: str | None
    text: str


class Considered(NamedTuple):
    """A passage that a node received; without a grade it has no verdict."""

    quote: Quote
    grade: float | None
    is_used: bool


def facts_page(question: str, found: RetrievalResult, documents: Mapping[str, Document], graph: EntityGraph) -> str:
    """The page as HTML.

    Args:
        question: The customer's.
        found: What the fact room found out about it.
        documents: The documents that were searched, by source ("document:6").
        graph: The entities of the draft's steps, and their neighbours.
    """
    return _Page(question, found, documents, graph).render()


def check_page(file: Path | None) -> None:
    """Refuse a file name that cannot be written, before the search starts.

    Raises:
        ConfigError: it exists, its name does not end in .html, or its folder is not there.
    """
    if file is None:
        return
    if file.suffix.lower() != ".html":
        raise ConfigError(f"--html {file}: the page is HTML: name a file that ends in .html")
    if os.path.lexists(file):
        raise ConfigError(f"--html {file}: exists: delete it, or name another file")
    if not file.parent.is_dir():
        raise ConfigError(f"--html {file}: there is no folder {file.parent}: make it, or name another file")


def write_page(file: Path, html: str) -> None:
    """Write a new file in one step; only its owner may read it (0600), because it has a customer's question.

    Raises:
        ConfigError: as `check_page`, or it cannot be written.
    """
    check_page(file)
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="\n", dir=file.parent, prefix=".facts-") as new:
            new.write(html)
            new.flush()
            file.hardlink_to(new.name)  # unlike rename, it refuses a file that appeared meanwhile
    except OSError as error:
        raise ConfigError(f"--html {file}: {error.strerror}: name a file that can be written") from error


class _Page:
    """The parts of one page, as the template needs them."""

    def __init__(
        self, question: str, found: RetrievalResult, documents: Mapping[str, Document], graph: EntityGraph
    ) -> None:
        self._question = question
        self._found = found
        self._documents = documents
        self._entities = graph
        self._chained = next((visit for visit in reversed(found.trace) if visit.steps), None)
        self._marks = self._marked()
        self._whole = [key for key in documents if any(place.source == key for place in self._marks)]

    def render(self) -> str:
        draft = next((visit for visit in reversed(self._found.trace) if visit.node is WorkflowNode.GENERATOR), None)
        return page_template(TEMPLATE).render(
            question=self._question,
            found=self._found,
            draft=_lines(draft),
            steps=self._chained.steps if self._chained else (),
            documents=[self._document(key) for key in self._whole],
            pages=numbered(self._found.pages, self._documents.values()),
            strong=STRONG,
            fair=FAIR,
            graph=self._entities,
            picture=picture_of(self._entities),
            quote=self._quote,
            is_evidence=self._is_evidence,
            considered=self._considered,
            written=_lines,
            box=(WIDTH, HEIGHT),
        )

    # What is highlighted

    def _marked(self) -> dict[SentenceRange, Mark]:
        """The sentences that are evidence, then the other sentences of their passages."""
        borne: dict[SentenceRange, dict[int, float]] = {}
        for number, step in enumerate(self._chained.steps if self._chained else (), start=1):
            if step.pointer is not None:
                borne.setdefault(step.pointer, {})[number] = step.probability
        marks: dict[SentenceRange, Mark] = {}
        for cited in self._found.cited:
            for position in cited.sentences:
                place = sentence_at(f"{DOCUMENT_SOURCE}{cited.document}", position)
                marks.setdefault(place, _mark(borne.get(place, {}), cited.grade))
        for evidence in self._found.evidence:
            for position in range(evidence.first, evidence.last + 1):
                marks.setdefault(sentence_at(evidence.source, position), Mark("near"))
        return {place: mark for place, mark in marks.items() if self._is_there(place)}

    def _is_there(self, place: SentenceRange) -> bool:
        return place.source in self._documents and place.first < len(self._documents[place.source].sentences)

    def _sentences(self, pointer: SentenceRange) -> tuple[Sentence, ...]:
        document = self._documents.get(pointer.source)
        return document.sentences[pointer.first : pointer.last + 1] if document else ()

    def _document(self, key: str) -> ShownDocument:
        document = self._documents[key]
        sections = []
        for heading, group in groupby(document.sentences, key=lambda sentence: sentence.heading):
            own = list(group)
            blocks = tuple(self._blocks(key, own))
            has_evidence = any(sentence_at(key, sentence.index) in self._marks for sentence in own)
            sections.append(Section(heading, blocks, has_evidence))
        head = document.head
        return ShownDocument(head.number, head.title, head.url, document.language, tuple(sections))

    def _blocks(self, key: str, sentences: Iterable[Sentence]) -> Iterator[Block]:
        for (_, kind), group in groupby(
            sentences, key=lambda one: (one.kind == "sentence" and one.paragraph, one.kind)
        ):
            marked = (
                MarkedSentence(_id(key, one.index), one.text, one.number, self._marks.get(sentence_at(key, one.index)))
                for one in group
            )
            yield Block(kind, tuple(marked))

    # What the template asks for

    def _is_evidence(self, relation: GraphRelation) -> bool:
        mark = self._marks.get(relation.pointer)
        return bool(mark and mark.notes)

    def _considered(self, visit: NodeVisit) -> Iterator[Considered]:
        grades: Sequence[float | None] = visit.passage_grades or (None,) * len(visit.passages)
        threshold = visit.threshold or 0.0
        for pointer, grade in zip(visit.passages, grades, strict=False):
            yield Considered(self._quote(pointer), grade, grade is not None and grade >= threshold)

    def _quote(self, pointer: SentenceRange) -> Quote:
        places = f"sentence {pointer.first + 1}"
        if pointer.last > pointer.first:
            places = f"sentences {pointer.first + 1} to {pointer.last + 1}"
        if not pointer.is_document:
            return Quote(f"web page {shortened(clean_line(pointer.source), QUOTE_CHARACTERS)}, {places}", None, "")
        document = self._documents.get(pointer.source)
        title = f", {document.head.title}" if document else ""
        where = f"document {pointer.source.removeprefix(DOCUMENT_SOURCE)}{title}, {places}"
        text = " ".join(sentence.text for sentence in self._sentences(pointer))
        is_shown = pointer.source in self._whole and self._is_there(pointer)
        return Quote(where, _id(pointer.source, pointer.first) if is_shown else None, shortened(text, QUOTE_CHARACTERS))


def _mark(borne: Mapping[int, float], grade: float | None) -> Mark:
    """By the likeliest step that a sentence supports, else by the grade of its passage."""
    if borne:
        return Mark(_strength(max(borne.values())), tuple(f"step {n}: {p:.2f}" for n, p in borne.items()))
    return Mark(_strength(grade or 0.0), ("not graded" if grade is None else f"passage: {grade:.2f}",))


def _strength(value: float) -> str:
    return "strong" if value >= STRONG else "fair" if value >= FAIR else "weak"


def _lines(visit: NodeVisit | None) -> tuple[str, ...]:
    """What the model wrote in a step, line by line."""
    return clean_lines(visit.model_text.text) if visit and visit.model_text else ()


def _id(source: str, position: int) -> str:
    return f"d{source.removeprefix(DOCUMENT_SOURCE)}-s{position + 1}"
