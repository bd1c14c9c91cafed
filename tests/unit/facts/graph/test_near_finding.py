"""The picture beside a finding: entities of the question and the evidence, from the documents with evidence alone."""

from __future__ import annotations

from support_agent.facts.graph.near_finding import near_finding
from support_agent.facts.graph.shown import EntityGraph
from support_agent.ops.retrieval_report import searchable
from support_agent.tools.fact_room import RetrievalResult
from support_agent.tools.fact_trace import Evidence
from tests.fakes_journey import TODAY, Office
from tests.fakes_room import found, says

QUESTION = "Can I get a refund for my yearly plan?"


def drawn(office: Office, finding: RetrievalResult, question: str = QUESTION) -> EntityGraph:
    documents = searchable(office.decider.company.documents, TODAY, 3)
    return near_finding(question, finding, documents, hops=2)


def test_the_entities_of_the_evidence_are_drawn_with_the_sentences_that_join_them(office: Office) -> None:
    graph = drawn(office, found(says(1, 0, 1, 2)))
    assert any("plan" in entity.name.lower() for entity in graph.entities)
    assert graph.relations
    assert {relation.pointer.source for relation in graph.relations} == {"document:1"}


def test_the_same_finding_gives_the_same_picture(office: Office) -> None:
    finding = found(says(1, 0, 1, 2))
    assert drawn(office, finding) == drawn(office, finding)


def test_without_evidence_there_is_no_picture(office: Office) -> None:
    assert drawn(office, found()) == EntityGraph()


def test_evidence_of_a_document_that_is_gone_or_shorter_now_is_left_out(office: Office) -> None:
    """The documents may be younger than the finding."""
    gone = Evidence(source="document:777", first=0, last=0, grade=0.9)
    beyond = Evidence(source="document:1", first=9_000, last=9_001, grade=0.9)
    finding = found(says(1, 0)).model_copy(update={"evidence": (gone, beyond)})
    graph = drawn(office, finding, "zzz")
    assert graph.entities == ()
