"""Sentence splitting and refused characters."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.company.text import collapse, refused_character, sentence_spans, split_sentences


@given(st.text(alphabet="ab AB1.!?…\n\t\"')(é¿", max_size=80))
def test_sentences_joined_are_the_text(text: str) -> None:
    """Nothing is lost or added: the sentences joined by one space are the text, white space collapsed."""
    assert " ".join(split_sentences(text)) == collapse(text)
    assert all(text[start:end].strip() == text[start:end] for start, end in sentence_spans(text))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("Is it possible? No. You cannot.", ["Is it possible?", "No.", "You cannot."]),
        ('He said "stop." Then he left!', ['He said "stop."', "Then he left!"]),
        ("See https://x.example/a.b?c=1. Then sign in.", ["See https://x.example/a.b?c=1.", "Then sign in."]),
        ("Version 2.5 is out. 30 days later it ends.", ["Version 2.5 is out.", "30 days later it ends."]),
        ("¿Puedo pagar? ¡Sí! Ahora.", ["¿Puedo pagar?", "¡Sí!", "Ahora."]),
        ("Wait until the end", ["Wait until the end"]),
    ],
)
def test_a_sentence_ends_at_its_mark(text: str, sentences: list[str]) -> None:
    """A full stop, question mark or exclamation mark before a capital, a digit or an opening mark ends it."""
    assert list(split_sentences(text)) == sentences


@pytest.mark.parametrize(
    "text",
    [
        "Use a card, e.g. Visa, or a transfer.",
        "See No. 5 of the list.",
        "It costs EUR 19.50 a month.",
        "Ask Dr. Weber at Harborfile Ltd. Berlin about it.",
        "Der Vertrag endet am 3. Mai um Mitternacht.",
        "Große Dateien, z. B. Videos, zählen mit.",
        "Open harborfile.example and sign in.",
        "Wait ... Then try again.",
        "J. Okafor signs the form.",
    ],
)
def test_a_full_stop_that_may_be_an_abbreviation_does_not_cut(text: str) -> None:
    """Half a sentence may say something false, so in doubt the text is left whole."""
    assert split_sentences(text) == (text,)


@pytest.mark.parametrize("text", ["x" * 5_000 + " " + "Aa. " * 1_250, "A. " * 60_000, "." * 200_000, "a. \n" * 50_000])
def test_a_hostile_text_costs_time_by_its_length(text: str) -> None:
    """Failure: a model's draft of 4,000 characters, or a page of the web, kept a mail for minutes."""
    started = time.process_time()
    sentence_spans(text)
    assert time.process_time() - started < 2


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200f", "\0", "\x1b", "\u200b", "\x85", "\r"])
def test_bidi_and_control_characters_are_refused(character: str) -> None:
    """They can make a text read differently from what is stored."""
    assert refused_character(f"ab{character}c") == (2, f"U+{ord(character):04X}")


def test_newlines_are_refused_in_one_line_texts_only() -> None:
    """A title with a line break could become a header; a body may have lines."""
    assert refused_character("a\nb\tc") is None
    assert refused_character("a\nb", is_one_line=True) == (1, "U+000A")
