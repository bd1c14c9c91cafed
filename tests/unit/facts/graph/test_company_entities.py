"""What documents tell apart is found by their titles, and a doubtful name is none."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support_agent.company.documents import load_documents
from support_agent.facts.chunks import Source, document_source
from support_agent.facts.graph.company_entities import entities_of
from support_agent.facts.graph.entities import Linker
from tests.unit.facts.graph.fakes import source

POLICIES = Path(__file__).parents[4] / "policies"
TERMS = source("document:90", "You may pay for it in advance.", title="General terms")


def keys_of(*sources: Source) -> list[str]:
    """The entities of some documents, by key."""
    return [entity.key for entity in entities_of(sources)]


def test_systems_of_the_demo_are_told_apart_and_nothing_else_is() -> None:
    """Rule: three titles differ by a system; "VAT", "API" and "EU" name no thing that another document is about."""
    found = entities_of(document_source(document) for document in load_documents(POLICIES))
    assert [(entity.key, entity.name, entity.sources) for entity in found] == [
        ("linux", "Linux", ("document:5",)),
        ("macos", "macOS", ("document:4",)),
        ("windows", "Windows", ("document:3",)),
    ]


def test_products_with_documents_of_their_own_are_told_apart() -> None:
    """Rule: a document is about the longest name in its title; a part of a name is another name of it."""
    plus = source("document:1", "You can get Acme Plus today, and it has more of what you like.", title="Acme Plus")
    lite = source("document:2", "You can get Acme Lite today, and it has less of what you like.", title="Acme Lite")
    prices = source("document:3", "It costs nine euros.", title="Prices of Acme Plus")
    linker = Linker(found := entities_of([plus, lite, prices, TERMS]))
    assert [(entity.key, entity.sources) for entity in found] == [
        ("acme lite", ("document:2",)),
        ("acme plus", ("document:1", "document:3")),
    ]
    assert linker.link("Is Plus dearer than the Lite?") == ("acme plus", "acme lite")


def test_titles_that_differ_by_a_topic_tell_nothing_apart() -> None:
    """The failure's story: a question on payments that names returns is answered by the document on payments."""
    returns = source("document:1", "We take returns back within 14 days.", title="Returns of goods")
    payments = source("document:2", "We take payments by card.", title="Payments of goods")
    assert keys_of(returns, payments, TERMS) == []


def test_a_capital_names_nothing_where_all_nouns_have_one() -> None:
    """Rule: in German only what is marked by its letters is a name."""
    texts = ("Die Kündigung des Vertrags ist im Konto möglich.", "Die Rückgabe der Ware ist im Laden möglich.")
    topics = (
        source("document:1", *texts, title="Die Kündigung im Jahr"),
        source("document:2", *texts, title="Die Rückgabe im Jahr"),
    )
    assert keys_of(*topics, TERMS) == []
    systems = (source("document:3", *texts, title="Die App für macOS"), source("document:4", title="Die App für iOS"))
    assert keys_of(*topics, *systems) == ["ios", "macos"]


def test_a_name_that_is_small_in_an_address_is_a_name() -> None:
    """The failure's story: one link to /download/linux made of Linux a word like any other."""
    linux = source(
        "document:1",
        "You may also get it for Linux from https://acme.example/linux or /opt/linux.",
        title="Setup on Linux",
    )
    windows = source("document:2", "You may also get it for Windows.", title="Setup on Windows")
    assert keys_of(linux, windows, TERMS) == ["linux", "windows"]
    words = source("document:3", "The windows of the house open, and a windows is none.")
    assert keys_of(linux, windows, words) == []


def test_the_company_s_own_name_tells_nothing_apart() -> None:
    """Rule: what most titles name."""
    acme = [source(f"document:{n}", f"You pay for it to Acme with {n} euros.", title=f"Acme in {n}") for n in range(3)]
    other = source("document:9", "You pay for it to Zenith with 9 euros.", title="Zenith in 1")
    assert keys_of(*acme, other) == ["zenith"]


titles = st.lists(
    st.lists(st.sampled_from(["Acme", "Plus", "macOS", "on", "Setup", "X2", "?", "the"]), max_size=5).map(" ".join),
    max_size=6,
)


@given(titles)
def test_any_titles_give_entities_that_a_linker_takes(given_titles: list[str]) -> None:
    """Rule: keys are unique, sources are the documents', and their order does not matter."""
    sources = [
        source(f"document:{n}", f"We like {title} a lot in small words.", title=title)
        for n, title in enumerate(given_titles)
    ]
    found = entities_of(sources)
    Linker(found)
    assert {key for entity in found for key in entity.sources} <= {each.key for each in sources}
    assert entities_of(reversed(sources)) == found
