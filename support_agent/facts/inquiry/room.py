"""The fact room for one mail: works on its questions in order, within one budget, with the memory of its case.

Invariant: it returns only a `RetrievalResult`: positions in allowed documents, grades and numbers, and web pages for
the desk. No query to the web names the people of the mail. An unreadable memory is replaced by an empty one. Checked by
tests/unit/facts/inquiry/test_room.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import structlog

from support_agent.company.documents import Document
from support_agent.errors import PermanentError
from support_agent.facts.chunks import read_alone
from support_agent.facts.graph.entities import Linker
from support_agent.facts.inquiry.consolidator import Consolidator
from support_agent.facts.inquiry.memory import Memory, begin, from_json, with_question
from support_agent.facts.inquiry.workflow import CASE, Workflow
from support_agent.facts.material import Passage, Retriever, distinct
from support_agent.facts.spending import Budget
from support_agent.facts.web.public_query import NamelessSearch
from support_agent.tools.fact_room import RetrievalResult
from support_agent.tools.fact_trace import DOCUMENT_SOURCE, SentenceRange

MAX_FACTS = 200
"""Most entries of a memory's history; the latest are kept."""
MAX_CHARACTERS = 200_000
"""Most characters of a stored memory; the database takes a few more."""

log = structlog.get_logger(__name__)
Among = Callable[[AbstractSet[str]], Retriever]


@dataclass(frozen=True)
class Rooms:
    """`tools.fact_room.FactRooms` on one workflow.

    Args:
        workflow: Answers questions; each question gets its own retriever and reader of passages.
        among: Returns a retriever limited to some sources ("document:6").
        linker: Knows the entities that the documents distinguish.
        documents: The company's, by number.
    """

    workflow: Workflow
    among: Among
    linker: Linker
    documents: Mapping[int, Document]

    def open(self, case_id: str, memory: str | None, names: Collection[str] = ()) -> Room:
        """See `FactRooms.open`."""
        case_id, web = case_id or CASE, self.workflow.web
        return Room(self, case_id, _read(case_id, memory), None if web is None else NamelessSearch(web, names))

    def retriever(self, allowed: AbstractSet[str], context: Sequence[str] = (), likely: int | None = None) -> Retriever:
        """A retriever for these sources, the likely document first.

        Args:
            allowed: Names of the sources.
            context: Earlier questions of the case, the last one first.
            likely: The document's number.
        """
        first = frozenset({f"{DOCUMENT_SOURCE}{likely}"}) & allowed
        found = self.among(allowed)
        ordered = LikelyFirst(self.among(first), found) if first else found
        return Consolidator(ordered, self.linker, lambda sources: self.among(sources & allowed), context)

    def passage(self, place: SentenceRange, allowed: AbstractSet[int]) -> Passage | None:
        """The present text at a place; None: there is none, or the document is not allowed."""
        document = self.documents.get(place.document or 0) if place.document in allowed else None
        if document is None or place.last >= len(document.sentences):
            return None
        sentences, start = document.sentences, place.first
        while start and sentences[start - 1].paragraph == sentences[place.first].paragraph:
            start -= 1  # a table row needs the header of its table
        texts = read_alone(sentences[start : place.last + 1])[place.first - start :]
        return Passage(**dict(place.place), heading=sentences[place.first].heading, text=" ".join(texts))


@dataclass(frozen=True)
class LikelyFirst:
    """`Retriever` that takes all places but one from `first`, and the rest from `found`."""

    first: Retriever
    found: Retriever

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
        """See `FactRoom.memory`; a long case loses its oldest entries."""
        if self._memory is None:
            return None
        memory, text = self._memory, self._memory.model_dump_json()
        while len(text) > MAX_CHARACTERS and len(memory.history) > 1:
            memory = memory.model_copy(update={"history": memory.history[len(memory.history) // 2 :]})
            text = memory.model_dump_json()
        return text

    def retrieve(self, question: str, documents: AbstractSet[int], likely: int | None = None) -> RetrievalResult:
        """See `FactRoom.retrieve`."""
        memory = self._begun(question)
        keys = {f"{DOCUMENT_SOURCE}{number}" for number in documents}
        workflow = replace(
            self._rooms.workflow,
            retriever=self._rooms.retriever(keys, memory.earlier_questions, likely),
            web=self._web,
            read=lambda pointer: self._rooms.passage(pointer, documents),
        )
        finding, self._memory = workflow.retrieve(memory, self._budget)
        return finding

    def _begun(self, question: str) -> Memory:
        if self._memory is None:
            return begin(self._case_id, question)
        kept = self._memory.model_copy(update={"history": self._memory.history[-MAX_FACTS:]})
        return with_question(kept, question)


def _read(case_id: str, memory: str | None) -> Memory | None:
    """The stored memory of a case; a question that was interrupted in it has ended."""
    if memory is None:
        return None
    try:
        kept = from_json(memory)
    except PermanentError as error:
        log.warning("case_memory_unreadable", case_id=case_id, error=error.code)
        return None
    return kept if kept.ending is not None and kept.case_id == case_id else None
