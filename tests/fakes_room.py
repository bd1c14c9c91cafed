"""A working stand-in for the fact room: its findings are scripted by question, and what it was asked can be read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from support_agent.tools.fact_room import FactRoom, RetrievalResult
from support_agent.tools.fact_trace import Evidence, ModelText, NodeVisit, WorkflowNode

DRAFT = "You surely get 900 EUR back, says the draft."
QUESTION = "the rewritten question of the model"
BY: Any = {"writer": "scripted", "seed": 1}
VISITS = (
    NodeVisit(
        node=WorkflowNode.GENERATOR, cycle=0, decided="written", model_text=ModelText(kind="draft", text=DRAFT, **BY)
    ),
    NodeVisit(
        node=WorkflowNode.REWRITER, cycle=0, decided="new", model_text=ModelText(kind="question", text=QUESTION, **BY)
    ),
)
"""A record with texts of a model in it."""


def found(*evidence: Evidence, reason: str = "answered", **changes: object) -> RetrievalResult:
    """A finding with a cost and a record; `changes` replace parts."""
    given: dict[str, object] = {
        "reason": reason,
        "evidence": evidence,
        "index_version": "passages-1",
        "tokens": 700,
        "forward_passes": 9,
        "seconds": 1.5,
        "trace": VISITS,
    }
    return RetrievalResult.model_validate({**given, **changes})


def says(document: int, *sentences: int, grade: float | None = 0.9) -> Evidence:
    """Evidence: these neighbouring sentences of that document."""
    return Evidence(source=f"document:{document}", first=sentences[0], last=sentences[-1], grade=grade)


@dataclass
class ScriptedRoom:
    """`tools.fact_room.FactRoom`: the finding of the first key that the question holds; an error is raised."""

    findings: Mapping[str, RetrievalResult | Exception]
    memory: str | None = None
    asked: list[tuple[str, frozenset[int]]] = field(default_factory=list)
    likely: list[int | None] = field(default_factory=list)

    def retrieve(self, question: str, documents: AbstractSet[int], likely: int | None = None) -> RetrievalResult:
        self.asked.append((question, frozenset(documents)))
        self.likely.append(likely)
        finding = next((value for key, value in self.findings.items() if key in question), None)
        assert finding is not None, f"question {len(self.asked)} was not expected: {question}"
        if isinstance(finding, Exception):
            raise finding
        self.memory = f"{self.memory or ''}|{question}"
        return finding


@dataclass
class ScriptedRooms:
    """`tools.fact_room.FactRooms`: one room with these findings for each mail."""

    findings: Mapping[str, RetrievalResult | Exception]
    opened: list[tuple[str, ScriptedRoom]] = field(default_factory=list)
    memories: list[str | None] = field(default_factory=list)
    """What each was opened with."""
    names: list[frozenset[str]] = field(default_factory=list)
    """What each was told to keep to itself."""

    def open(self, case_id: str, memory: str | None, names: Collection[str]) -> FactRoom:
        room = ScriptedRoom(self.findings, memory)
        self.opened.append((case_id, room))
        self.memories.append(memory)
        self.names.append(frozenset(names))
        return room

    @property
    def asked(self) -> list[str]:
        """The questions of all mails, in order."""
        return [question for _, room in self.opened for question, _ in room.asked]


@dataclass
class LikelyRoom:
    """`tools.fact_room.FactRoom` that finds what it is asked at the beginning of the likeliest document, or nowhere."""

    memory: str | None = None

    def retrieve(self, question: str, documents: AbstractSet[int], likely: int | None = None) -> RetrievalResult:
        if likely is None:
            return found(reason="irrelevant")
        return found(says(likely, 0))


class LikelyRooms:
    """`tools.fact_room.FactRooms`: such a room for each mail; no case is remembered."""

    def open(self, case_id: str, memory: str | None, names: Collection[str]) -> FactRoom:
        return LikelyRoom()
