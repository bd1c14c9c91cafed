"""The vote on the sections of a document: one probability each, by what of it is near the question."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.company.documents import Document
from support_agent.facts.sections import EMBEDDERS, FEATURES, SectionVote, committed
from tests.unit.facts.words import WordEmbedder
from tests.unit.tools.fakes import document as numbered

BODY = """
## Time

You have 30 days. Parcels take a week.

## Costs

The label costs 4 euros. Furniture is collected for 40 euros. Nothing else is charged.

## Exceptions

Cut cloth stays with you.
"""
FLUENT = dict.fromkeys(EMBEDDERS, 1.0)


def document(body: str = BODY) -> Document:
    """Three sections."""
    return numbered(4, body)


def vote() -> SectionVote:
    return SectionVote({name: WordEmbedder(name) for name in EMBEDDERS})


@pytest.mark.parametrize(
    ("question", "section"),
    [("what does the label cost, 4 euros?", 1), ("you have 30 or what", 0), ("does cut cloth stay", 2)],
)
def test_the_section_that_says_what_was_asked_is_the_likeliest(question: str, section: int) -> None:
    """By the words that they share."""
    chances = vote().chances(document(), question, FLUENT)
    assert max(range(3), key=lambda place: chances[place]) == section


def test_a_sentence_of_the_question_that_a_section_answers_outweighs_the_story_around_it() -> None:
    """The whole is compared and each sentence, too."""
    story = "My aunt had a long week and her days were full. Parcels came. The label costs 4 euros, does it?"
    chances = vote().chances(document(), story, FLUENT)
    assert max(range(3), key=lambda place: chances[place]) == 1


def test_an_embedder_that_does_not_read_the_question_has_no_say() -> None:
    """Its features are zero; the words and lengths remain."""
    deaf = vote().features(document(), "the label", dict.fromkeys(EMBEDDERS, 0.0))
    assert not deaf[:, [name.split(".")[0] in EMBEDDERS for name in FEATURES]].any()
    assert deaf[:, FEATURES.index("words")].any()


def test_a_document_is_embedded_once_for_its_version() -> None:
    """A second question embeds itself alone; a changed document is read anew."""
    embedders = {name: WordEmbedder(name) for name in EMBEDDERS}
    asked = SectionVote(embedders)
    asked.chances(document(), "the label", FLUENT)
    before = len(embedders["use"].embedded)
    asked.chances(document(), "the cloth", FLUENT)
    assert len(embedders["use"].embedded) == before + 1
    asked.chances(document(BODY.replace("30 days", "20 days")), "the cloth", FLUENT)
    assert len(embedders["use"].embedded) > before + 3


@settings(deadline=None, max_examples=30)
@given(question=st.text(max_size=60), bodies=st.lists(st.sampled_from(["A day.", "Two. Three.", "x"]), min_size=1))
def test_the_probabilities_of_the_sections_are_one_together(question: str, bodies: list[str]) -> None:
    """Whatever is asked, and however alike the sections are."""
    policy = document("".join(f"## H{place}\n\n{body}\n\n" for place, body in enumerate(bodies)))
    chances = vote().chances(policy, question, FLUENT)
    assert len(chances) == len(policy.sections)
    assert sum(chances) == pytest.approx(1)
    assert min(chances) >= 0


def test_the_committed_weights_are_those_of_the_features() -> None:
    """One a feature; what is nearer is never less likely."""
    assert len(committed().weights) == len(FEATURES)
    assert min(committed().weights) >= 0
