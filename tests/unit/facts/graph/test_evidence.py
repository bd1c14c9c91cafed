"""The sentences behind a draft: whole, by position, and the company's own whatever anyone says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support_agent.company.documents import load_documents
from support_agent.config.facts import EvidenceSettings
from support_agent.facts.chunks import Source, document_source
from support_agent.facts.graph.entailment import Entailment, JudgedEntailment, SimilarEntailment
from support_agent.facts.graph.evidence import EvidenceChainer, choose_sentence
from support_agent.facts.graph.extraction import Extractor, RuleExtractor
from support_agent.facts.graph.graph import graph_of
from support_agent.facts.graph.steps import DraftSteps, StepSplitter, WrittenSteps
from support_agent.tools.fact_trace import sentence_at
from tests.fakes_facts import ScriptedWriter
from tests.unit.facts.graph.fakes import FixedExtractor, WordJudge, WordSimilarity, source

POLICIES = Path(__file__).parents[4] / "policies"
REFUND = source(
    "document:10",
    "Refunds are made within 14 days.",
    "The office has a cat.",
    "A refund goes back to the card it was paid with.",
    heading="Refunds",
)
SEATS = source("document:2", "Each seat costs 9 euros.", "Seats can be added at any time.", heading="Team seats")


def chainer(
    *sources: Source,
    entailment: Entailment | None = None,
    steps: StepSplitter | None = None,
    extractor: Extractor | None = None,
    settings: EvidenceSettings | None = None,
) -> EvidenceChainer:
    """A chainer that needs no model, where nothing else is said."""
    similarity = WordSimilarity()
    return EvidenceChainer(
        graph_of(sources, extractor or RuleExtractor()),
        sources,
        settings=settings or EvidenceSettings(),
        steps=steps or DraftSteps(),
        similarity=similarity,
        entailment=entailment or SimilarEntailment(similarity),
    )


def best(
    sentences: Sequence[str], probabilities: Sequence[float], *, floor: float = 0.5, beta: float = 0.5
) -> tuple[int, float] | None:
    """What is chosen, its score to nine digits."""
    chosen = choose_sentence(sentences, probabilities, floor=floor, alpha=0.5, beta=beta)
    return chosen and (chosen[0], round(chosen[1], 9))


def test_the_score_is_likelihood_less_length() -> None:
    """Rule (equation 2): alpha * P - beta * words / longest, alpha = beta = 0.5."""
    assert best(["one two three four", "one two"], [0.9, 0.8]) == (1, round(0.5 * 0.8 - 0.5 * 2 / 4, 9))
    assert best(["one two three four", "one two"], [0.9, 0.8], beta=0.0) == (0, 0.45)
    assert best(["same", "same"], [0.7, 0.7]) == (0, -0.15)


def test_a_short_sentence_that_says_nothing_is_no_evidence() -> None:
    """The failure's story: by the equation alone "Ok." wins over the long sentence that says it all."""
    sentences, probabilities = ["Ok.", "Refunds are made within 14 days of the purchase."], [0.1, 0.95]
    assert best(sentences, probabilities, floor=0.0) == (0, round(0.05 - 0.5 / 9, 9))
    assert best(sentences, probabilities) == (1, -0.025)
    assert best(sentences, [0.1, 0.2]) is None
    assert best([], []) is None


@given(st.lists(st.tuples(st.text(max_size=40), st.floats(0, 1)), max_size=8), st.floats(0, 1))
def test_no_sentence_at_the_floor_has_a_higher_score(pairs: list[tuple[str, float]], floor: float) -> None:
    """Rule: the argument of the maximum, among those at the floor."""
    sentences, probabilities = [text for text, _ in pairs], [probability for _, probability in pairs]
    chosen = choose_sentence(sentences, probabilities, floor=floor, alpha=0.5, beta=0.5)
    longest = max((len(text.split()) for text in sentences), default=0) or 1
    scores = [0.5 * p - 0.5 * len(t.split()) / longest for t, p in pairs if p >= floor]
    assert (chosen is None) == (not scores)
    if chosen is not None:
        assert chosen[1] == max(scores)
        assert probabilities[chosen[0]] >= floor


def test_each_step_has_its_sentence_in_the_sources_order() -> None:
    """Rule: positions, each once, in the order of the sources and in it of the documents; not of the draft."""
    draft = "A refund goes back to the card. Each seat costs 9 euros. Refunds are made within 14 days."
    found = chainer(REFUND, SEATS).find("?", draft)
    assert found.sentences == (
        sentence_at("document:10", 0),
        sentence_at("document:10", 2),
        sentence_at("document:2", 0),
    )
    assert [step.pointer and step.pointer.first for step in found.steps] == [2, 0, 0]


def test_a_step_that_no_sentence_says_has_no_evidence() -> None:
    """Rule: the wrong number stands on nothing, and its step says so."""
    found = chainer(REFUND, SEATS).find("?", "Refunds are made within 90 days. Each seat costs 9 euros.")
    assert found.sentences == (sentence_at("document:2", 0),)
    assert (found.steps[0].pointer, found.steps[0].probability) == (None, 0.0)
    assert found.steps[1].pointer is not None


def test_a_draft_without_steps_has_no_evidence() -> None:
    """Rule: where nothing is said nothing is sent."""
    found = chainer(REFUND).find("?", "Ok.")
    assert (found.sentences, found.steps) == ((), ())


def test_where_the_graph_knows_nothing_the_sources_found_are_read() -> None:
    """Rule: only those that were given; without them there is no evidence."""
    cat = "the office has a cat"
    alone = chainer(REFUND, SEATS, extractor=FixedExtractor())
    assert alone.find("?", cat).sentences == ()
    assert alone.find("?", cat, sources={"document:2", "document:404"}).sentences == ()
    assert alone.find("?", cat, sources={"document:10"}).sentences == (sentence_at("document:10", 1),)


def test_sources_that_were_not_found_give_no_evidence() -> None:
    """Rule: a document that may not be sent to this customer is never pointed at."""
    draft = "Refunds are made within 14 days. Each seat costs 9 euros."
    assert chainer(REFUND, SEATS).find("?", draft, sources={"document:2"}).sentences == (sentence_at("document:2", 0),)


def test_the_model_judges_a_short_list_only() -> None:
    """Rule: the cost of a step is bounded, and told."""
    many = source(
        "document:1", *(f"Refunds of Plan{n} are made within {n} days." for n in range(60)), heading="Refunds"
    )
    judge = WordJudge("Plan7 ")
    judged = JudgedEntailment(judge, SimilarEntailment(WordSimilarity()))
    found = chainer(many, entailment=judged, settings=EvidenceSettings(shortlist=5)).find(
        "?", "Refunds of Plan7 are made within 7 days."
    )
    assert found.sentences == (sentence_at("document:1", 7),)
    assert judge.asked == 5


def test_the_settings_weigh_length_against_likelihood() -> None:
    """Rule: with beta 0 the sentence that says it best is chosen, however long; with the default the short one is."""
    long = "Refunds are made within 14 days, as our terms of sale in their second part say of all orders."
    short = "Refunds take 14 days."
    both = source("document:1", long, short, heading="Refunds")
    entailment = Sure({long: 0.95, short: 0.7})
    weighed = chainer(both, entailment=entailment).find("?", "Refunds take 14 days.")
    assert weighed.sentences == (sentence_at("document:1", 1),)
    best_said = chainer(both, entailment=entailment, settings=EvidenceSettings(beta=0.0))
    assert best_said.find("?", "Refunds take 14 days.").sentences == (sentence_at("document:1", 0),)


def test_the_settings_say_how_far_to_look() -> None:
    """Rule: with no hop only what names the step's entities; with two what those lead to."""
    towns = source("document:1", "We ask Anna about Bergen.", "x", "x", "We like Bergen and Chur.", "x", "x", "We see.")
    step = "Anna is asked"
    ways = [chainer(towns, settings=EvidenceSettings(hops=hops)) for hops in (0, 2)]
    near, far = (way._candidates(way._graph.match(step), None) for way in ways)
    assert (len(near), len(far)) == (3, 6)


class Sure:
    """An entailment that knows its sentences."""

    def __init__(self, probabilities: dict[str, float]) -> None:
        self._probabilities = probabilities

    def entailed(self, sentences: Sequence[str], claim: str) -> tuple[float, ...]:
        """What was given."""
        return tuple(self._probabilities[sentence] for sentence in sentences)


class Liar:
    """An entailment that is sure of everything."""

    def entailed(self, sentences: Sequence[str], claim: str) -> tuple[float, ...]:
        """1 each."""
        return (1.0,) * len(sentences)


@given(st.text(max_size=200), st.text(max_size=200))
def test_hostile_models_choose_among_the_company_s_sentences(draft: str, steps: str) -> None:
    """Rule: whatever is written and however sure the judge: known positions, each once, in order."""
    sources = (REFUND, SEATS)
    writer = ScriptedWriter([f"{steps}\nrefunds within 14 days"])
    found = chainer(*sources, entailment=Liar(), steps=WrittenSteps(writer, seed=1)).find(
        draft, draft, sources={"document:2", "document:10"}
    )
    order = [(source.key, index) for source in sources for index in range(len(source.sentences))]
    positions = [order.index((place.source, place.first)) for place in found.sentences]
    assert positions == sorted(set(positions))


def test_a_sentence_that_cannot_be_read_whole_is_no_evidence() -> None:
    """Rule: a megabyte in one sentence is not judged by its beginning."""
    hostile = source("document:3", "Refunds are made within 14 days" + " and more" * 120_000 + ".", heading="Refunds")
    found = chainer(hostile, entailment=Liar()).find("?", "Refunds are made within 14 days.", sources={"document:3"})
    assert found.sentences == ()


def test_an_older_graph_leads_to_nothing_that_is_gone() -> None:
    """Rule: a document that became shorter since the graph was built is read as it is now."""
    graph = graph_of([REFUND, SEATS], RuleExtractor())
    shorter = REFUND.model_copy(update={"sentences": REFUND.sentences[:1]})
    similarity = WordSimilarity()
    found = EvidenceChainer(
        graph,
        [shorter],
        settings=EvidenceSettings(),
        steps=DraftSteps(),
        similarity=similarity,
        entailment=SimilarEntailment(similarity),
    ).find("?", "A refund goes back to the card it was paid with. Each seat costs 9 euros.")
    assert found.sentences == ()


def test_the_company_documents_support_what_they_say() -> None:
    """Rule: each of their own sentences, taken as a draft, is found at its own words; the same every time."""
    documents = load_documents(POLICIES)
    sources = [document_source(document) for document in documents]
    finder = chainer(*sources)
    texts = [sentence.text for each in sources for sentence in each.sentences[2:4]]
    by_source = {each.key: each for each in sources}
    said = 0
    for text in texts:
        found = finder.find("?", text)
        assert found == finder.find("?", text)
        said += any(by_source[place.source].sentences[place.first].text == text for place in found.sentences)
    assert said / len(texts) > 0.8
