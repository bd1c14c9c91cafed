"""Where entities stand in a picture: the same each time, inside it, and never one on another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_agent.facts.graph.layout import HEIGHT, LABEL_CHARACTERS, WIDTH, picture_of
from support_agent.facts.graph.shown import EntityGraph, GraphEntity, GraphRelation
from support_agent.tools.fact_trace import SentenceRange

HERE = SentenceRange(source="document:1", first=0, last=0)


def graph(hops: list[int], pairs: list[tuple[int, int]]) -> EntityGraph:
    return EntityGraph(
        entities=tuple(
            GraphEntity(name=f"Entity number {n} of many", hops=distance) for n, distance in enumerate(hops)
        ),
        relations=tuple(GraphRelation(one=one, other=other, pointer=HERE) for one, other in pairs),
    )


@given(st.lists(st.integers(0, 4), min_size=1, max_size=24), st.data())
def test_boxes_do_not_overlap_and_stay_inside(hops: list[int], data: st.DataObject) -> None:
    """Rule: a column for each distance, in order, and the same picture for the same graph."""
    end = st.integers(0, len(hops) - 1)
    drawn = graph(hops, data.draw(st.lists(st.tuples(end, end), max_size=30)))
    picture = picture_of(drawn)
    assert picture == picture_of(drawn)
    assert len(picture.curves) == len(drawn.relations)
    for number, one in enumerate(picture.boxes):
        assert 0 <= one.x <= picture.width - WIDTH
        assert 0 <= one.y <= picture.height - HEIGHT
        assert len(one.label) <= LABEL_CHARACTERS
        assert one.hops == hops[number]
        for other in picture.boxes[number + 1 :]:
            assert one.x != other.x or abs(one.y - other.y) >= HEIGHT
            assert (one.x < other.x) == (one.hops < other.hops)


def test_an_entity_stands_near_those_that_it_is_related_to() -> None:
    """Rule: lines that need not cross do not."""
    boxes = picture_of(graph([0, 0, 1, 1], [(0, 3), (1, 2)])).boxes
    assert boxes[3].y < boxes[2].y


def test_nothing_is_an_empty_picture() -> None:
    assert picture_of(EntityGraph()).boxes == ()
