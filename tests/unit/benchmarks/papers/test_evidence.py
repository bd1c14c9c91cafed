"""Evidence against what is right: measures worked out by hand, each way, and the file of what people marked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from support_agent.config.facts import EvidenceSettings
from support_agent.errors import ConfigError
from support_agent.facts.chunks import Source, page_source
from support_agent.facts.graph.entailment import SimilarEntailment
from tests.benchmarks.papers.evidence import Marked, Reports, evaluate, evidence_score, load_cases, measured, table
from tests.benchmarks.papers.evidence_ways import (
    KeptJudge,
    NoEntities,
    by_prompting,
    nearest_by_graph,
    nearest_by_meaning,
    nearest_by_words,
    ways_with_model,
)
from tests.fakes_facts import ScriptedWriter
from tests.unit.facts.graph.fakes import WordJudge, WordSimilarity

TEXT = "A refund takes 14 days. Seats can be removed. The money goes back to the card."
DOCUMENTS = {6: page_source("document:6", "Refunds", TEXT)}


def write(folder: Path, *cases: Mapping[str, object]) -> Path:
    path = folder / "evidence.jsonl"
    path.write_text("\n".join(json.dumps(case) for case in cases), "utf-8")
    return folder


def case(**changes: object) -> dict[str, object]:
    return {"question": "How long?", "answer": "It takes 14 days.", "document": 6, "sentences": [0], **changes}


class Told:
    """A `Similarity` that finds one text most alike."""

    def __init__(self, text: str) -> None:
        self.text = text

    def similarities(self, text: str, others: Sequence[str]) -> Sequence[float]:
        return [1.0 if self.text in other else 0.5 for other in others]


def test_measures_by_hand() -> None:
    """Rule: all sentences together. Chosen 1 + 3, marked 2 + 1, right 1 + 1: 2/4, 2/3, 4/7; one case is exact."""
    gold = [frozenset([0, 4]), frozenset([2])]
    row = measured("x", [frozenset([0]), frozenset([1, 2, 3])], gold, [0.5, 1.0], seed=1)
    assert (row.precision, row.recall, row.f1) == pytest.approx((0.5, 2 / 3, 4 / 7))
    assert (row.exact, row.chosen, row.score) == (0.0, 2.0, 0.75)
    assert row.f1_range == pytest.approx((0.5, 2 / 3))  # only the second case, or only the first
    assert row.score_range == (0.5, 1.0)
    assert measured("x", [frozenset([2])], [frozenset([2])], [1.0], seed=1).exact == 1.0
    assert measured("x", [frozenset()], [frozenset([2])], [0.0], seed=1).precision == 0.0


def test_the_evidence_score_by_hand() -> None:
    """Rule: likeness times shortness; the right sentence with one of as many words more is worth less than alone."""
    case = Marked("?", "It takes 14 days.", DOCUMENTS[6], frozenset([0]))
    assert evidence_score(frozenset([0]), case, WordSimilarity()) == pytest.approx(1.0)
    both = evidence_score(frozenset([0, 1]), case, WordSimilarity())  # 5 of 9 words, and 5 words beside 9
    assert both == pytest.approx(5 / 9 * 5 / 9)
    assert evidence_score(frozenset([1]), case, WordSimilarity()) == 0.0
    assert evidence_score(frozenset(), case, WordSimilarity()) == 0.0


def test_each_way_has_its_row(tmp_path: Path) -> None:
    """Rule: a way is any function from question, answer and source to positions."""
    cases = load_cases(write(tmp_path, case(), case(answer="Cards.", sentences=[2, 0])), DOCUMENTS)

    def everything(_question: str, _answer: str, source: Source) -> range:
        return range(len(source.sentences))

    report = evaluate(cases, {"all": everything, "words": nearest_by_words}, WordSimilarity(), seed=1)
    assert (report.cases, report.marked, [row.name for row in report.rows]) == (2, 3, ["all", "words"])
    assert (report.rows[0].precision, report.rows[0].recall) == (0.5, 1.0)
    assert (report.rows[1].precision, report.rows[1].recall) == pytest.approx((1.0, 1 / 3))
    told = table(Reports(everything=report, sample=report))
    assert told.splitlines()[3].split()[:4] == ["all", "50.0%", "100.0%", "66.7%"]
    assert "Evidence, a sample of them: 2 answers, 3 right sentences" in told


def test_the_nearest_sentence_stands_behind_each_sentence_of_an_answer() -> None:
    """Rule: one each, by meaning or by shared words; by words none where none is shared."""
    source = DOCUMENTS[6]
    assert nearest_by_meaning(Told("money"))("?", "It is sent back.", source) == {2}
    assert nearest_by_meaning(Told("nothing"))("?", "It is sent back.", source) == {0}
    assert nearest_by_words("?", "It takes 14 days. It goes to the card.", source) == {0, 2}
    assert nearest_by_words("?", "Perhaps.", source) == set()


def test_the_fact_rooms_own_way_finds_only_what_bears_an_answer_out() -> None:
    """Rule: a sentence with another number is nearest, and is no evidence."""
    similarity = Told("14 days")
    find = nearest_by_graph(similarity, lambda: SimilarEntailment(similarity), EvidenceSettings())
    assert find("?", "A refund takes 14 days.", DOCUMENTS[6]) == {0}
    assert find("?", "A refund takes 30 days.", DOCUMENTS[6]) == set()
    bare = nearest_by_graph(
        similarity, lambda: SimilarEntailment(similarity), EvidenceSettings(), extractor=NoEntities()
    )
    assert bare("?", "A refund takes 14 days.", DOCUMENTS[6]) == {0}


def test_the_model_cites_sentences_by_number() -> None:
    """Rule: numbers of sentences that were shown, counted from 1 as they are; what else it writes is no evidence."""
    writer = ScriptedWriter(["Numbers: 1, 3 and 12.", "none"])
    find = by_prompting(writer, seed=1)
    assert find("How long?", "It takes 14 days.", DOCUMENTS[6]) == {0, 2}
    assert find("How long?", "It takes 14 days.", DOCUMENTS[6]) == set()
    material = dict(writer.history[0].material)
    assert (material["2"], material["answer"]) == ("Seats can be removed.", "It takes 14 days.")


def test_the_ways_with_the_model_ask_each_pair_once() -> None:
    """Rule: calibrating costs no pass; a calibrated yes below the floor is no evidence."""
    judge, writer = WordJudge("14 days"), ScriptedWriter(["1", "Seats can be removed."])
    settings = EvidenceSettings(slope=1.0, intercept=-5.0)
    ways = ways_with_model(WordSimilarity(), settings, judge, writer, seed=1)
    found = {name: find("How long?", "A refund takes 14 days.", DOCUMENTS[6]) for name, find in ways.items()}
    assert found == {
        "Direct prompting": {0},
        "Graph, yes not calibrated": {0},
        "Graph, yes calibrated": set(),
        "Graph, elicited steps": {1},
    }
    assert judge.asked == 3
    assert KeptJudge(judge).yes("?", [("sentence", "14 days")]).probability == 0.9


def test_a_document_may_be_a_text_and_an_answer_a_draft(tmp_path: Path) -> None:
    """Rule: a text's sentences are counted as the company's are, from 0."""
    line = {"question": "Who?", "draft": "Ann.", "document": "It rained. Ann built it.", "sentences": [1]}
    (found,) = load_cases(write(tmp_path, line), {})
    assert (found.answer, [sentence.text for sentence in found.source.sentences]) == (
        "Ann.",
        ["It rained.", "Ann built it."],
    )


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (case(document=7), "the company has no document 7: name its workspace with --config"),
        (case(sentences=[3]), "sentence 3 of a document that has 3: count them from 0"),
        (case(sentences=[]), r":1: sentences: Tuple should have at least 1 item"),
        (case(sentences=[-1]), r":1: sentences\.0: Input should be greater"),
        (case(answer=""), r":1: answer: String should have at least 1 character"),
        ({"question": "?", "document": 6, "sentences": [0]}, r":1: answer: Field required"),
    ],
)
def test_a_wrong_case_is_refused(tmp_path: Path, wrong: Mapping[str, object], told: str) -> None:
    """Rule: a sentence that does not exist would only lower the recall, silently."""
    with pytest.raises(ConfigError, match=told):
        load_cases(write(tmp_path, wrong), DOCUMENTS)
