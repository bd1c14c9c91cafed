"""Format=flowed: paragraphs are whole again, quotations keep their depth (RFC 3676)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.mail.message import parse
from support_agent.mail.text.flowed import unflow


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("one \ntwo\nthree", "one two\nthree"),
        (" >no quote\n From here", ">no quote\nFrom here"),
        ("> one \n> two\n>> three", "> one two\n>> three"),
        (">>one \n>> two", ">> one two"),
        ("> cut \nmine", "> cut \nmine"),
        ("text \n-- \nAnna", "text \n-- \nAnna"),
        ("> -- \n> Anna", "> -- \n> Anna"),
        ("ends \n", "ends "),
        ("", ""),
    ],
)
def test_soft_line_ends_are_joined_within_one_depth(text: str, whole: str) -> None:
    assert unflow(text, is_delsp=False) == whole


def test_delsp_takes_the_space_away() -> None:
    """For writing without spaces between words (section 4.3)."""
    assert unflow("日本 \n語", is_delsp=True) == "日本語"


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        (b"format=flowed", "How do I cancel?"),
        (b'charset=utf-8; Format="Flowed"', "How do I cancel?"),
        (b"format=flowed; delsp=yes", "How doI cancel?"),
        (b"format=fixed", "How do \nI cancel?"),
        (b'name="format.txt"', "How do \nI cancel?"),
    ],
)
def test_only_a_part_that_says_so_is_joined(parameters: bytes, text: str) -> None:
    assert parse(b"Content-Type: text/plain; " + parameters + b"\n\nHow do \nI cancel?").text == text


@given(st.text(st.sampled_from("a >-\n"), max_size=60))
def test_no_word_is_lost_or_added(text: str) -> None:
    assert [c for c in unflow(text, is_delsp=False) if c in "a-"] == [c for c in text if c in "a-"]
