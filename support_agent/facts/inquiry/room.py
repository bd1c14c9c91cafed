"""The fact room, opened for one mail: its questions one after another, within one budget, on the memory of its case.

Invariant: what leaves it is a `Finding`: positions in documents that may be found, grades and numbers, and pages of the
web for the desk. Nobody outside is told who wrote the mail. A memory that cannot be read is begun anew. Checked by
tests/unit/facts/inquiry/test_room.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

import structlog

from support_agent.company.documents import Document
from support_agent.errors import PermanentError
from support_agent.facts import passages
from support_agent.facts.chunks import read_alone
from support_agent.facts.graph.entities import Linker
from support_agent.facts.inquiry.consolidator import Consolidator
from support_agent.facts.inquiry.memory import Memory, begin, from_json, to_json, with_question
from support_agent.facts.inquiry.workflow import CASE, Workflow
from support_agent.facts.material import Passage, Retriever, distinct
from support_agent.facts.spending import Budget
from support_agent.facts.web.public_query import NamelessSearch
from support_agent.tools.fact_room import Evidence, Finding
from support_agent.tools.fact_trace import DOCUMENT_SOURCE, Findings, Outcome, Pointer

MAX_FACTS = 200
"""What a memory keeps of the history of its case: the last ones."""
MAX_CHARACTERS = 200_000
"""Of a memory as it is kept; what keeps it takes a few more."""

MAX_SENTENCES = 1_000
"""Of one passage: no chunk has as many."""

log = structlog.get_logger(__name__)
Among = Callable[[AbstractSet[str]], Retriever]


@dataclass(frozen=True)
class Rooms:
    """`tools.fact_room.FactRooms` on one workflow.

    Args:
        workflow: What looks into questions; its retriever and what it reads again are those of each look.
        among: The passages of these sources ("document:6") and no others.
        linker: Knows what the documents tell apart.
        documents: The company's, by number.
    """

    workflow: Workflow
    among: Among
    linker: Linker
    documents: Mapping[int, Document]

    @cached_property
    def _by_name(self) -> Mapping[str, Document]:
        """The documents by the names of their sources: a long case points at many."""
        return {f"{DOCUMENT_SOURCE}{number}": document for number, document in self.documents.items()}

    def open(self, case_id: str, memory: str | None, names: Collection[str] = ()) -> Room:
        """See `FactRooms.open`."""
        case_id, web = case_id or CASE, self.workflow.web
        return Room(self, case_id, _read(case_id, memory), None if web is None else NamelessSearch(web, names))

    def retriever(self, allowed: AbstractSet[str], context: Sequence[str] = (), likely: int | None = None) -> Retriever:
        """What finds passages of these sources, those of the likely document first.

        Args:
            allowed: Names of the sources.
            context: Earlier questions of the case, the last one first.
            likely: The document's number.
        """
        first = frozenset({f"{DOCUMENT_SOURCE}{likely}"}) & allowed
        found = self.among(allowed)
        ordered = LikelyFirst(self.among(first), found) if first else found
        return Consolidator(ordered, self.linker, lambda sources: self.among(sources & allowed), context)

    def passage(self, pointer: Pointer, allowed: AbstractSet[int]) -> Passage | None:
        """What stands at a pointer today; None: nothing, or what may not be found."""
        document = self._by_name.get(pointer.source)
        if document is None or document.number not in allowed or pointer.last >= len(document.sentences):
            return None
        text = " ".join(read_alone(document.sentences)[pointer.first : pointer.last + 1])
        heading = document.sentences[pointer.first].heading
        return passages.Passage(
            source=pointer.source, first=pointer.first, last=pointer.last, heading=heading, text=text, score=0.0
        )


@dataclass(frozen=True)
class LikelyFirst:
    """`Retriever` that fills all places but one with what `first` finds, and the rest with what `found` does."""

    first: Retriever
    found: Retriever

    @property
    def version(self) -> str:
        """That of all."""
        return self.found.version

    def find(self, question: str, n: int) -> tuple[Passage, ...]:
        """At most `n` passages, each once."""
        return tuple(distinct((*self.first.find(question, max(n - 1, 1)), *self.found.find(question, n)))[:n])


class Room:
    """`tools.fact_room.FactRoom` for one mail."""

    def __init__(self, rooms: Rooms, case_id: str, memory: Memory | None, web: NamelessSearch | None) -> None:
        self._rooms = rooms
        self._web = web
        self._case_id = case_id
        self._memory = memory
        settings, clock = rooms.workflow.settings, rooms.workflow.clock
        late_s = clock() + settings.max_s
        self._budget = Budget(settings.max_tokens, lambda: clock() > late_s)

    @property
    def memory(self) -> str | None:
        """See `FactRoom.memory`; of a long case the oldest is forgotten."""
        if self._memory is None:
            return None
        memory, text = self._memory, to_json(self._memory)
        while len(text) > MAX_CHARACTERS and len(memory.history) > 1:
            memory = memory.model_copy(update={"history": memory.history[len(memory.history) // 2 :]})
            text = to_json(memory)
        return text

    def look(self, question: str, documents: AbstractSet[int], likely: int | None = None) -> Finding:
        """See `FactRoom.look`."""
        memory = self._begun(question)
        keys = {f"{DOCUMENT_SOURCE}{number}" for number in documents}
        workflow = replace(
            self._rooms.workflow,
            retriever=self._rooms.retriever(keys, memory.earlier_questions, likely),
            web=self._web,
            read=lambda pointer: self._rooms.passage(pointer, documents),
        )
        findings, self._memory = workflow.look_into(memory, self._budget)
        return finding_of(findings)

    def _begun(self, question: str) -> Memory:
        if self._memory is None:
            return begin(self._case_id, question)
        kept = self._memory.model_copy(update={"history": self._memory.history[-MAX_FACTS:]})
        return with_question(kept, question)


def finding_of(findings: Findings) -> Finding:
    """What leaves the room of what was found."""
    outcome = findings.outcome
    return Finding(
        reason=outcome.reason,
        evidence=tuple(evidence_of(outcome)),
        pages=findings.pages,
        index_version=outcome.index_version,
        tokens=outcome.cost.tokens,
        forward_passes=outcome.cost.forward_passes,
        seconds=outcome.cost.seconds,
        trace=findings.model_dump_json(exclude={"pages"}),
    )


def evidence_of(outcome: Outcome) -> Iterator[Evidence]:
    """Of a document with sentences that bear the draft out, these; of another its passages. The surest first."""
    sentences: dict[str, list[int]] = {}
    for one in outcome.sentences:
        sentences.setdefault(one.source, []).append(one.first)
    for pointer, grade in [(graded.pointer, graded.grade) for graded in outcome.evidence if graded.pointer.is_document]:
        last = min(pointer.last, pointer.first + MAX_SENTENCES)
        positions = sentences.get(pointer.source, range(pointer.first, last + 1))
        if positions:
            number = int(pointer.source.removeprefix(DOCUMENT_SOURCE))
            yield Evidence(document=number, sentences=tuple(positions), grade=grade)
        if pointer.source in sentences:  # what is less sure of the same document adds nothing
            sentences[pointer.source] = []


def _read(case_id: str, memory: str | None) -> Memory | None:
    """The stored memory of a case; a question that was cut off in it is over."""
    if memory is None:
        return None
    try:
        kept = from_json(memory)
    except PermanentError as error:
        log.warning("case_memory_unreadable", case_id=case_id, error=error.code)
        return None
    return kept if kept.ending is not None and kept.case_id == case_id else None
