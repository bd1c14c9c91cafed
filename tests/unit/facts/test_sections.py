"""The vote on the sections of a document: one probability each, by what of it is near the question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.company.documents import Document
from support_agent.config.embedding import EMBEDDERS
from support_agent.facts.sections import FEATURES, SectionVote, committed
from support_agent.models.embedding.port import Role, Vectors
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


class Level:
    """An embedder to which all texts are at one place, and those about a label a hundredth nearer."""

    name = "level"
    dimensions = 2

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        cosines = [1.0 if role == "query" else 0.51 if "label" in text else 0.5 for text in texts]
        return np.array([[cosine, (1 - cosine**2) ** 0.5] for cosine in cosines], dtype=np.float32)


def test_sections_that_are_nearly_alike_are_nearly_as_likely() -> None:
    """A difference of a hundredth is not made a certainty where there are but two."""
    policy = document("## One\n\nThe label costs 4 euros.\n\n## Two\n\nNothing else costs anything.\n")
    chances = SectionVote({name: Level() for name in EMBEDDERS}).chances(policy, "what is the weather like", FLUENT)
    assert 0.5 < chances[0] < 0.65


def test_an_embedder_that_does_not_read_the_question_has_no_say() -> None:
    """What it says does not count; where none reads it, all sections are as likely."""
    deaf = vote().features(document(), "the label", {"minilm": 0.0, "use": 1.0, "e5": 1.0})
    assert not deaf[:, [name.startswith("minilm") for name in FEATURES]].any()
    assert deaf[:, [name.startswith("use") for name in FEATURES]].any()
    assert vote().chances(document(), "the label", dict.fromkeys(EMBEDDERS, 0.0)) == pytest.approx([1 / 3] * 3)


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
    for names, shipped in committed().items():
        assert tuple(shipped.weights) == FEATURES
        assert all((shipped.weights[name] > 0) == (name.partition(".")[0] in names) for name in FEATURES)


def test_without_an_embedder_the_weights_are_those_that_were_fitted_without_it() -> None:
    without = SectionVote({name: WordEmbedder(name) for name in ("minilm", "use")})
    assert (vote().version, without.version) == ("section-5", "section-3")
