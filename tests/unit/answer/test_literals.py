"""The gate's own reading of template files."""

from __future__ import annotations

import pytest

from support_agent.answer.literals import pieces, stands_at

TEMPLATE = "Hello {{ name }},\n{# no\nword #}\n  {% if x %}yes{% else %}no{% endif %} end\n\nlast\n"


def test_pieces_are_what_stands_between_the_tags_of_a_line() -> None:
    """Comments and tags are no text, and lines are counted through them."""
    assert pieces(TEMPLATE) == {
        1: ("Hello ", ",\n"),
        3: ("\n",),
        4: ("  ", "yes", "no", " end\n"),
        5: ("\n",),
        6: ("last\n",),
    }


@pytest.mark.parametrize(
    ("span", "line"), [("Hello ", 1), ("Hello", 1), (",\n", 1), (" end", 4), ("\n", 5), ("last", 6)]
)
def test_a_whole_piece_stands_but_for_trimmed_white_space(span: str, line: int) -> None:
    """Jinja may trim the white space of a piece, and nothing else."""
    assert stands_at(span, TEMPLATE, line)


@pytest.mark.parametrize(
    ("span", "line"),
    [
        ("Hell", 1),
        ("name", 1),
        ("word", 3),
        ("yesno", 4),
        ("last", 5),
        ("Hello \n", 1),
        ("e", 4),
        ("last", 99),
        (" Hello", 1),
    ],
)
def test_anything_else_does_not_stand(span: str, line: int) -> None:
    """A part of a piece would let sentences be pasted together from letters; tags are no text."""
    assert not stands_at(span, TEMPLATE, line)
