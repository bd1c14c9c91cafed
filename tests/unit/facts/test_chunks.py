"""How sources are cut into chunks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.company.documents import load_documents
from support_agent.company.text import collapse
from support_agent.config.facts import ChunkUnit, FactSettings
from support_agent.facts.chunks import Cutting, Source, cut, cutting_of, document_source, in_characters, in_tokens
from support_agent.facts.chunks import page_source as page

POLICIES = Path(__file__).parents[3] / "policies"
WORDS = st.text(alphabet="abcdefgh", min_size=1, max_size=9)
SENTENCES = st.lists(WORDS, min_size=1, max_size=6).map(lambda words: " ".join(words).capitalize() + ".")
PARAGRAPHS = st.lists(SENTENCES, min_size=1, max_size=3).map(" ".join)
PAGES = st.lists(PARAGRAPHS, min_size=1, max_size=4).map("\n\n".join)
SIZES = st.integers(min_value=1, max_value=90)


def syllables(texts: Sequence[str]) -> list[int]:
    """A measure that is not characters: a token for every three characters of a word, begun ones too."""
    return [sum((len(word) + 2) // 3 for word in text.split()) for text in texts]


@st.composite
def cuttings(draw: st.DrawFn) -> Cutting:
    """Any size with any overlap below it, in both units."""
    size = draw(SIZES)
    overlap = draw(st.integers(min_value=0, max_value=size - 1))
    return in_characters(size, overlap) if draw(st.booleans()) else in_tokens(size, overlap, syllables)


def with_headings(source: Source, headings: Sequence[str]) -> Source:
    """The same sentences under headings that follow each other, one a paragraph."""
    sentences = [s.model_copy(update={"heading": headings[s.paragraph % len(headings)]}) for s in source.sentences]
    return source.model_copy(update={"sentences": tuple(sentences)})


def longest_repetition(before: str, after: str) -> str:
    """The longest run of words that ends one text and begins the other."""
    old, new = before.split(), after.split()
    lengths = [length for length in range(min(len(old), len(new)) + 1) if old[len(old) - length :] == new[:length]]
    return " ".join(new[: max(lengths)])


def numbered_page(lengths: Sequence[Sequence[int]]) -> str:
    """A page of paragraphs of sentences with so many words, no two words alike: a repetition can only be overlap."""
    number = iter(range(10_000))
    paragraphs = [
        " ".join("W" + " ".join(f"x{next(number)}" for _ in range(words)) + "." for words in sentences)
        for sentences in lengths
    ]
    return "\n\n".join(paragraphs)


NUMBERED = st.lists(
    st.lists(st.integers(min_value=1, max_value=12), min_size=1, max_size=5), min_size=1, max_size=4
).map(numbered_page)


@given(NUMBERED, cuttings())
def test_every_word_is_covered_in_order_and_repeated_within_the_overlap_only(text: str, cutting: Cutting) -> None:
    """Rule: without what each chunk repeats of the one before, the chunks are the text; the repetition is bounded."""
    chunks = cut(page("https://x.example/", "", text), cutting)
    words = chunks[0].text.split()
    for before, after in pairwise(chunks):
        repeated = longest_repetition(before.text, after.text)
        assert cutting.measure([repeated])[0] <= cutting.overlap
        assert repeated != collapse(after.text)
        assert repeated != collapse(before.text)
        words += after.text.split()[len(repeated.split()) :]
    assert words == text.split()


@given(PAGES, cuttings())
def test_a_chunk_names_the_sentences_that_its_text_is_of(text: str, cutting: Cutting) -> None:
    """Rule: first and last bound the text, every sentence is in a chunk, and positions never go back."""
    source = page("https://x.example/", "", text)
    chunks = cut(source, cutting)
    covered = {position for chunk in chunks for position in range(chunk.first, chunk.last + 1)}
    assert covered == set(range(len(source.sentences)))
    for chunk in chunks:
        whole = " ".join(sentence.text for sentence in source.sentences[chunk.first : chunk.last + 1])
        assert collapse(chunk.text) in whole
    assert all(a.first <= b.first and a.last <= b.last and b.first <= a.last + 1 for a, b in pairwise(chunks))


@given(PAGES, cuttings())
def test_a_chunk_is_no_longer_than_the_size_unless_it_is_one_word(text: str, cutting: Cutting) -> None:
    """Rule: the size is a bound, in whatever it is measured; a word is never cut."""
    for chunk in cut(page("https://x.example/", "", text), cutting):
        assert cutting.measure([chunk.text])[0] <= cutting.size or len(chunk.text.split()) == 1


@given(PAGES, cuttings())
def test_what_fits_is_not_cut(text: str, cutting: Cutting) -> None:
    """Rule: words are parted only of a sentence that is too long, sentences only of a paragraph that is."""
    source = page("https://x.example/", "", text)
    chunks = cut(source, cutting)
    for number in {sentence.paragraph for sentence in source.sentences}:
        sentences = [sentence for sentence in source.sentences if sentence.paragraph == number]
        paragraph = " ".join(sentence.text for sentence in sentences)
        for whole in (paragraph, *(sentence.text for sentence in sentences)):
            if cutting.measure([whole])[0] <= cutting.size:
                assert any(whole in chunk.text for chunk in chunks)


@given(PAGES, cuttings(), st.lists(st.sampled_from(["", "Prices", "Terms"]), min_size=1, max_size=3))
def test_no_chunk_crosses_a_heading(text: str, cutting: Cutting, headings: list[str]) -> None:
    """Rule: a chunk has one heading, that of all its sentences."""
    source = with_headings(page("https://x.example/", "", text), headings)
    for chunk in cut(source, cutting):
        assert {s.heading for s in source.sentences[chunk.first : chunk.last + 1]} == {chunk.heading}


def test_paragraphs_are_kept_together_and_the_end_of_a_chunk_is_repeated() -> None:
    """Rule: as many whole paragraphs as fit; then the last sentences again, as far as the overlap allows."""
    text = "One is here. Two is here.\n\nThree is here. Four is here.\n\nFive is here now."
    chunks = cut(page("https://x.example/", "", text), in_characters(60, 15))
    assert [(chunk.first, chunk.last, chunk.text) for chunk in chunks] == [
        (0, 3, "One is here. Two is here.\nThree is here. Four is here."),
        (3, 4, "Four is here.\nFive is here now."),
    ]


def test_a_long_sentence_is_cut_at_its_words_and_each_part_names_it() -> None:
    """Rule: what is shown of a part is the whole sentence."""
    chunks = cut(page("https://x.example/", "", "Short one. Alpha beta gamma delta end."), in_characters(16, 6))
    assert [(chunk.first, chunk.last) for chunk in chunks] == [(0, 1), (1, 1), (1, 1)]
    assert [chunk.text for chunk in chunks] == ["Short one. Alpha", "Alpha beta gamma", "gamma delta end."]


def test_a_page_ends_its_paragraphs_at_empty_lines() -> None:
    """Rule: a line break alone is white space; sentences count over the page, and know their line."""
    source = page("https://x.example/", "Title", "First\nline. Second.\n \t\n\n  Third one. \n")
    assert [(s.index, s.paragraph, s.line, s.text) for s in source.sentences] == [
        (0, 0, 1, "First line."),
        (1, 0, 2, "Second."),
        (2, 1, 5, "Third one."),
    ]
    assert (source.key, source.title) == ("https://x.example/", "Title")


@pytest.mark.parametrize("text", ["", " \n\n \n"])
def test_a_page_without_text_has_no_chunks(text: str) -> None:
    """Rule: an empty page is no error, and nothing is found in it."""
    source = page("https://x.example/", "Title", text)
    assert source.sentences == ()
    assert cut(source, in_characters(400, 100)) == ()


def test_a_word_longer_than_the_size_is_a_chunk_of_its_own() -> None:
    """Story: a page held an address of 3,000 characters; it is neither cut nor lost, nor is its neighbour."""
    chunks = cut(page("https://x.example/", "", f"See {'a' * 50} for more."), in_characters(20, 5))
    assert [chunk.text for chunk in chunks] == ["See", "a" * 50, "for more."]


def test_the_documents_of_the_example_company_are_covered() -> None:
    """Rule: chunks of a document name the document's own sentences; every one is in a chunk of its heading."""
    for document in load_documents(POLICIES):
        source = document_source(document)
        chunks = cut(source, in_characters(400, 100))
        assert source.key == f"document:{document.number}"
        covered = {position for chunk in chunks for position in range(chunk.first, chunk.last + 1)}
        assert covered == {sentence.index for sentence in document.sentences}
        assert all(len(chunk.text) <= 400 for chunk in chunks)


def test_the_configuration_says_the_unit() -> None:
    """Rule: 400 characters are not 400 tokens."""
    source = page("https://x.example/", "", "A sentence of words here. " * 40)
    by_characters = cut(source, cutting_of(FactSettings(), syllables))
    tokens = FactSettings(chunk_unit=ChunkUnit.TOKENS, chunk_size=50, chunk_overlap=0)
    by_tokens = cut(source, cutting_of(tokens, syllables))
    assert len(by_characters[0].text) == 15 * len("A sentence of words here. ") - 1 <= 400
    assert [syllables([chunk.text])[0] for chunk in by_tokens[:-1]] == [45] * (len(by_tokens) - 1)


def test_a_row_is_read_with_the_names_of_its_columns_and_an_item_has_an_end(tmp_path: Path) -> None:
    """The failure's story: "steel | 5 years wicker | 3 years" was drafted, and graded, as five years for wicker."""
    table = "| Goods | Warranty |\n|---|---|\n| steel | 5 years |\n| wicker | 3 years |\n"
    head = "---\nnumber: 1\ntitle: x\nsummary: x\nurl: https://x.example/\nvalid_from: 2026-01-01\naudience: everyone\n"
    (tmp_path / "001-x.md").write_text(f"{head}---\n# x\n\n{table}\nBring:\n\n- a card\n- a form.\n", "utf-8")
    (source,) = map(document_source, load_documents(tmp_path))
    rows = "Goods | Warranty; Goods: steel, Warranty: 5 years. Goods: wicker, Warranty: 3 years."
    (whole,) = cut(source, in_characters(400, 0))
    assert whole.text == f"{rows}\nBring:\na card; a form."
    assert (whole.first, whole.last) == (0, len(source.sentences) - 1)
    assert cut(source, in_characters(60, 0))[1].text.startswith("Goods: wicker, Warranty: 3 years.")
