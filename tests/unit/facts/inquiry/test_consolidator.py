"""Evidence is what was found and bears on the question: by entity; what is said of others is pruned."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from support_agent.facts.graph.entities import Entity, Linker
from support_agent.facts.inquiry.consolidator import Consolidator, bearing, telling_words
from support_agent.facts.material import Passage
from support_agent.tools.fact_trace import SentenceRange


def found_at(source: str, first: int, text: str, last: int = -1, heading: str = "", score: float = 0.5) -> Passage:
    """A passage as a retriever gives it."""
    last = first if last < 0 else last
    return Passage(source=source, first=first, last=last, heading=heading, text=text, score=score)


@dataclass
class ListedRetriever:
    """Finds the same passages, in order; `asked` keeps what it was asked for."""

    passages: tuple[Passage, ...]
    asked: list[tuple[str, int]] = field(default_factory=list)

    def find(self, question: str, n: int) -> tuple[Passage, ...]:
        self.asked.append((question, n))
        return self.passages[:n]


LINKER = Linker(
    [
        Entity(key="plus", name="Acme Plus"),
        Entity(key="lite", name="Acme Lite"),
        Entity(key="bank", name="Umber Bank"),
    ]
)


def places(evidence: Sequence[SentenceRange]) -> list[tuple[str, int, int]]:
    return [(each.source, each.first, each.last) for each in evidence]


def test_what_both_searches_find_is_found_once() -> None:
    plus = found_at("document:1", 3, "Acme Plus has a refund period of 9 days.")
    retriever = ListedRetriever((plus,))
    linker = Linker([Entity(key="plus", name="Acme Plus", sources=("document:1",))])
    consolidator = Consolidator(retriever, linker, lambda _: retriever)
    assert consolidator.find("What is the refund period of Acme Plus?", 4) == (plus,)
    assert len(retriever.asked) == 2


def test_what_speaks_of_another_product_is_pruned() -> None:
    """The right number of the wrong product is the worst answer there is."""
    found = (
        found_at("document:2", 0, "Acme Lite has a refund period of 5 days.", score=0.9),
        found_at("document:1", 3, "Acme Plus has a refund period of 9 days.", score=0.8),
    )
    assert bearing("What is the refund period of Acme Plus?", found, LINKER) == [found[1]]


def test_what_names_no_product_holds_for_each() -> None:
    """The failure's story: uploads stop on one system, and what helps on all of them names none."""
    found = (
        found_at("document:1", 3, "Acme Plus starts with the computer.", score=0.8),
        found_at("document:3", 1, "Uploads wait for a connection.", score=0.9),
    )
    assert bearing("Mit Acme Plus hakt es", found, LINKER) == [*found]


def test_a_heading_says_whose_passage_it_is() -> None:
    found = (found_at("document:1", 3, "The refund period is 9 days.", heading="Acme Plus"),)
    assert places(bearing("Refund of Acme Plus?", found, LINKER)) == [("document:1", 3, 3)]


def test_a_chain_goes_one_step_on() -> None:
    """Acme Plus is paid through Umber Bank, and the bank's own passage says how long that takes."""
    found = (
        found_at("document:1", 0, "Acme Plus is paid through Umber Bank.", score=0.9),
        found_at("document:7", 4, "Umber Bank books payments within 2 days.", score=0.4),
        found_at("document:8", 4, "Umber Bank has a new logo.", score=0.3),
        found_at("document:9", 0, "Acme Lite takes payments by card.", score=0.2),
    )
    assert bearing("How long do payments for Acme Plus take?", found, LINKER) == [*found[:2]]


def test_without_a_name_the_retriever_is_believed() -> None:
    """The failure's story: "server down?" shares no word with the document on outages, nor does any other language."""
    found = (
        found_at("document:1", 0, "Outages are shown on the status page."),
        found_at("document:2", 0, "Servers stand in two houses."),
    )
    for question in ("server down?", "Kostet eine R\u00fccksendung etwas?"):
        assert bearing(question, found, LINKER) == [*found]


def test_a_name_that_nothing_found_speaks_of_does_not_prune_everything() -> None:
    """General terms hold for a product that they do not name."""
    found = (found_at("document:2", 0, "Returns are free."), found_at("document:3", 0, "Acme Plus is blue."))
    assert places(bearing("Are returns of Acme Lite free?", found, LINKER)) == [("document:2", 0, 0)]


def test_another_product_is_no_evidence_even_where_nothing_else_was_found() -> None:
    """Rule: no evidence sends the case to a person; the wrong product's price goes to the customer."""
    found = (found_at("document:3", 0, "The price of Acme Plus is 9."),)
    assert bearing("The price of Acme Lite?", found, LINKER) == []


def test_earlier_words_of_the_case_name_what_it_is_about() -> None:
    """Rule: "And the price of it?" is about what was named last; a name in the question goes before that."""
    found = (found_at("document:1", 0, "Acme Plus: price 9."), found_at("document:2", 0, "Acme Lite: price 5."))
    before = ("What then?", "How long does Acme Lite last?", "And Acme Plus?")
    assert places(bearing("And the price of it?", found, LINKER, before)) == [("document:2", 0, 0)]
    assert places(bearing("And the price of Acme Plus?", found, LINKER, before)) == [("document:1", 0, 0)]


def test_what_speaks_of_either_of_two_products_is_kept() -> None:
    found = (
        found_at("document:2", 0, "Acme Lite costs 5."),
        found_at("document:1", 0, "Acme Plus costs 9."),
        found_at("document:3", 0, "Acme Plus costs more than Acme Lite."),
    )
    assert bearing("Acme Plus or Acme Lite?", found, LINKER) == [*found]


def test_what_is_about_others_leaves_its_place_to_what_is_about_the_product() -> None:
    """Rule: at most as many as asked for; what was found and bears on the question stays first."""
    found = (
        *(found_at(f"document:{n}", 0, "Acme Lite.") for n in range(2, 5)),
        found_at("document:5", 0, "Any product."),
    )
    linker = Linker(
        [Entity(key="plus", name="Acme Plus", sources=("document:1",)), Entity(key="lite", name="Acme Lite")]
    )
    own = ListedRetriever(tuple(found_at("document:1", n, "Acme Plus.") for n in range(9)))
    consolidator = Consolidator(ListedRetriever(found), linker, lambda sources: own)
    kept = consolidator.find("Acme Plus?", 4)
    assert [(each.source, each.first) for each in kept] == [("document:5", 0), *(("document:1", n) for n in range(3))]


def test_what_is_about_a_product_is_looked_for_by_itself() -> None:
    """A hundred products have the same sentences: those of the right one are not among the nearest of all."""
    own = found_at("document:9", 5, "It costs nine euros.", score=0.02)
    linker = Linker(
        [Entity(key="plus", name="Acme Plus", sources=("document:9",)), Entity(key="lite", name="Acme Lite")]
    )
    everything = ListedRetriever((found_at("document:2", 0, "Acme Lite costs five euros.", score=0.03),))
    asked: list[frozenset[str]] = []

    def among(sources: AbstractSet[str]) -> ListedRetriever:
        asked.append(frozenset(sources))
        return ListedRetriever((own,))

    consolidator = Consolidator(everything, linker, among)
    assert consolidator.find("What does Acme Plus cost?", 4) == (own,)
    assert Consolidator(everything, linker, among, ["Acme Plus?"]).find("What does it cost?", 4) == (own,)
    assert asked == [{"document:9"}] * 2
    assert [each.source for each in consolidator.find("What does Acme Lite cost?", 4)] == ["document:2"]
    assert len(asked) == 2, "nothing is known to be about Acme Lite alone"


def test_nothing_found_is_no_evidence() -> None:
    assert bearing("Acme Plus?", (), LINKER) == []


passages = st.lists(
    st.builds(
        lambda source, first, length, text, score: found_at(source, first, text, first + length, "", score),
        st.sampled_from(["document:1", "document:2"]),
        st.integers(0, 9),
        st.integers(0, 2),
        st.sampled_from(["Acme Plus price", "Acme Lite", "Umber Bank and Acme Plus", "price of Umber Bank", "other"]),
        st.floats(0, 1),
    ),
    max_size=8,
)


@given(passages, st.sampled_from(["Acme Plus price?", "price?", "Acme Lite or Umber Bank?", "Wann?", ""]))
def test_evidence_is_only_what_was_found_in_its_order(found: list[Passage], question: str) -> None:
    """Rule: nothing is pointed at that the retriever did not find; nor is anything lost by its place."""
    kept = bearing(question, found, LINKER)
    assert [each for each in found if each in kept] == kept
    assert bearing(question, kept, LINKER) == kept


def test_telling_words_are_long_and_mean_something() -> None:
    assert telling_words("What would the refund be, within 14 days of refunding?") == {"refund", "14", "days"}
