"""The configuration decides what a model is asked of the evidence; by rules alone none is."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.config.facts import EntailmentBy, EvidenceSettings, ExtractionBy, StepsBy
from support_agent.errors import TransientError
from support_agent.facts.graph.evidence import Chained
from support_agent.facts.graph.graph import graph_of
from support_agent.facts.graph.open_evidence import Chaining, open_extractor
from support_agent.facts.spending import NoRoom
from support_agent.tools.fact_trace import sentence_at
from tests.fakes_facts import ScriptedWriter
from tests.unit.facts.graph.fakes import WordJudge, WordSimilarity, source

REFUND = source("document:1", "Refunds are made within 14 days.", "We love refunds.", title="Refunds")
BY_RULES = EvidenceSettings(entailment=EntailmentBy.SIMILARITY)
BY_MODEL = EvidenceSettings(extraction=ExtractionBy.MODEL, steps=StepsBy.MODEL, entailment=EntailmentBy.MODEL)
DRAFT = "Refunds are made within 14 days."


def found(settings: EvidenceSettings, judge: WordJudge, writer: ScriptedWriter, folder: Path) -> Chained:
    """The evidence for the draft."""
    graph = graph_of([REFUND], open_extractor(settings.model_copy(update={"entities_path": folder}), writer, seed=1))
    chaining = Chaining(settings=settings, graph=graph, sources=[REFUND], similarity=WordSimilarity(), seed=1)
    return chaining.chainer(judge, writer).find("How long?", DRAFT)


def test_by_rules_no_model_is_asked(tmp_path: Path) -> None:
    """Rule: nothing is written, judged or kept."""
    judge, writer = WordJudge("14"), ScriptedWriter([])
    evidence = found(BY_RULES, judge, writer, tmp_path / "kept")
    assert evidence.sentences == (sentence_at("document:1", 0),)
    assert (judge.asked, writer.history, (tmp_path / "kept").exists()) == (0, [], False)


def test_by_the_model_it_is_asked_for_entities_steps_and_entailment(tmp_path: Path) -> None:
    """Rule: each with its own instruction; the entities are kept, and not asked for again."""
    judge = WordJudge("love")
    writer = ScriptedWriter(["1 | Refunds | 14 days", "The love of refunds", "The love of refunds"])
    evidence = found(BY_MODEL, judge, writer, tmp_path)
    assert [step.claim for step in evidence.steps] == ["The love of refunds"]
    assert evidence.sentences == (sentence_at("document:1", 1),)
    assert judge.asked == 2
    assert found(BY_MODEL, judge, writer, tmp_path) == evidence
    assert len(writer.history) == 3


@pytest.mark.parametrize("failure", [TransientError("no answer"), NoRoom("spent")])
def test_a_model_that_fails_everywhere_leaves_what_rules_find(tmp_path: Path, failure: Exception) -> None:
    """Rule: a model that is down, or too dear, costs nothing but its choices."""
    writer = ScriptedWriter([failure, failure])
    evidence = found(BY_MODEL, WordJudge("love", failure), writer, tmp_path)
    assert evidence == found(BY_RULES, WordJudge("love"), ScriptedWriter([]), tmp_path)


@pytest.mark.parametrize("settings", [{"alpha": 1.1}, {"beta": -0.1}, {"hops": 5}, {"shortlist": 0}, {"floor": 0.5}])
def test_what_no_evidence_can_be_found_with_is_refused(settings: dict[str, float]) -> None:
    """Rule: bounds hold where the configuration is read."""
    with pytest.raises(ValueError, match=next(iter(settings))):
        EvidenceSettings.model_validate(settings)
