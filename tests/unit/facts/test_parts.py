"""A question is compared whole and sentence by sentence, so that a story around it does not drown it."""

from __future__ import annotations

import numpy as np
import pytest

from support_agent.facts.parts import MAX_SENTENCES, nearness, whole_and_sentences


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Where is my parcel?", []),
        ("We moved last week. Where is my parcel? Thanks.", ["We moved last week.", "Where is my parcel?"]),
        ("", []),
    ],
)
def test_a_text_of_several_sentences_is_compared_by_each_that_says_something(text: str, parts: list[str]) -> None:
    """The whole always comes first; one sentence is the whole already."""
    assert whole_and_sentences(text) == [text, *parts]


def test_a_long_story_is_compared_by_its_first_sentences() -> None:
    """What a mail costs is bounded."""
    assert len(whole_and_sentences("And so it went on. " * 200)) == 1 + MAX_SENTENCES


def test_what_counts_is_the_mean_of_the_whole_and_of_its_nearest_sentence() -> None:
    """For each text that is compared with; the whole alone where it has no sentences."""
    assert nearness(np.array([[0.2, 0.4], [0.8, 0.0], [0.1, 0.6]])).tolist() == pytest.approx([0.5, 0.5])
    assert nearness(np.array([[0.2, 0.4]])).tolist() == [0.2, 0.4]
