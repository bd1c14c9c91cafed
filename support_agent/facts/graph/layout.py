"""Lays out a picture of entities: one column per distance from the draft's steps, with lines between them.

Invariant: the same graph gives the same picture, nothing overlaps in a column, and everything is within bounds.
Checked by tests/unit/facts/graph/test_layout.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from support_agent.facts.graph.shown import EntityGraph, GraphRelation

WIDTH, HEIGHT = 190, 28
"""Size of a box, in pixels."""
ACROSS, DOWN = 80, 12
"""Gap between two boxes, in pixels."""
MARGIN = 12
LABEL_CHARACTERS = 24
"""Most characters in a box."""


class Box(NamedTuple):
    """One entity: the upper left corner of its box, and its name, cut to fit."""

    x: int
    y: int
    label: str
    hops: int

    @property
    def middle(self) -> int:
        return self.y + HEIGHT // 2


class Picture(NamedTuple):
    """`boxes` are in the order of the entities, `curves` in that of the relations, as SVG's path data."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    curves: tuple[str, ...]


def picture_of(graph: EntityGraph) -> Picture:
    """Draw a graph in columns, each entity near its relations in the column before."""
    columns = _columns(graph)
    tallest = max(map(len, columns), default=0)
    boxes: dict[int, Box] = {}
    for number, column in enumerate(columns):
        top = MARGIN + (tallest - len(column)) * (HEIGHT + DOWN) // 2
        for row, index in enumerate(column):
            entity = graph.entities[index]
            x, y = MARGIN + number * (WIDTH + ACROSS), top + row * (HEIGHT + DOWN)
            boxes[index] = Box(x, y, shortened(entity.name, LABEL_CHARACTERS), entity.hops)
    return Picture(
        width=2 * MARGIN + len(columns) * (WIDTH + ACROSS),
        height=2 * MARGIN + tallest * (HEIGHT + DOWN),
        boxes=tuple(boxes[index] for index in range(len(boxes))),
        curves=tuple(_curve(boxes[relation.one], boxes[relation.other]) for relation in graph.relations),
    )


def _columns(graph: EntityGraph) -> list[list[int]]:
    """The entities by distance; within a column by the mean position of their relations in earlier columns."""
    columns: list[list[int]] = []
    places: dict[int, float] = {}
    for hops in sorted({entity.hops for entity in graph.entities}):
        column = [index for index, entity in enumerate(graph.entities) if entity.hops == hops]
        means = {index: _mean_place(index, graph.relations, places) for index in column}
        column.sort(key=lambda index: (means[index], index))
        places |= {index: row / len(column) for row, index in enumerate(column)}
        columns.append(column)
    return columns


def _mean_place(index: int, relations: Sequence[GraphRelation], places: Mapping[int, float]) -> float:
    pairs = [(relation.one, relation.other) for relation in relations if index in (relation.one, relation.other)]
    known = [places[end] for pair in pairs for end in pair if end in places]
    return sum(known) / len(known) if known else 0.0


def _curve(one: Box, other: Box) -> str:
    """A curve from side to side; within one column around its right."""
    left, right = sorted((one, other), key=lambda box: (box.x, box.y))
    start = left.x + WIDTH
    end, bend = (start, start + ACROSS * 3 // 4) if left.x == right.x else (right.x, (start + right.x) // 2)
    return f"M{start},{left.middle} C{bend},{left.middle} {bend},{right.middle} {end},{right.middle}"


def shortened(text: str, most: int) -> str:
    """The text, cut with an ellipsis if it is too long."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
