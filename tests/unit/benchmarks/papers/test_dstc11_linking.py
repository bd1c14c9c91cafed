"""The entities of a dialogue's last question are those named last."""

from __future__ import annotations

import pytest

from tests.benchmarks.papers.dstc11.data import EntityKey
from tests.benchmarks.papers.dstc11.linking import NameLinker

NAMES = {
    EntityKey("hotel", 0): "SILVER FOX GUEST HOUSE",
    EntityKey("hotel", 1): "BRIDGE GUEST HOUSE",
    EntityKey("hotel", 2): "ROSA'S BED AND BREAKFAST",
    EntityKey("restaurant", 0): "THE SAFFRON CUP AND BAR",
    EntityKey("restaurant", 1): "NOODLES",
    EntityKey("restaurant", 2): "NOODLES CITY CENTRE",
    EntityKey("restaurant", 3): "ASK RESTAURANT",
}
FOX, BRIDGE, ROSA, SAFFRON, NOODLES, CENTRE, ASK = NAMES


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Is the silver fox guest house quiet?", (FOX,)),
        ("the Silver Fox!", (FOX,)),
        ("the Sliver Fox", ()),
        ("Rosas B&B or Rosa's?", (ROSA,)),
        ("Saffron Cup & Bar, and the Silver Fox", (SAFFRON, FOX)),
        ("Noodles City Centre", (CENTRE,)),
        ("noodle", (NOODLES,)),
        ("It is at 22 Bridge Street in the city centre.", ()),
        ("I look for a restaurant, a guest house or a bar.", ()),
        ("Ask Restaurant", (ASK,)),
        ("", ()),
    ],
)
def test_a_name_is_found_as_people_write_it(text: str, found: tuple[EntityKey, ...]) -> None:
    """Rule: the longest name, without its common ends; a street, "a restaurant" and a wrong letter are none."""
    assert NameLinker(NAMES).link([text]) == found


def test_what_was_named_last_is_meant() -> None:
    """Rule: the newest utterance that names any."""
    linker = NameLinker(NAMES)
    assert linker.link(["Silver Fox?", "No, the Bridge Guest House.", "Is it quiet?"]) == (BRIDGE,)
    assert linker.link(["Silver Fox?", "No.", "Is Rosa's quiet?"]) == (ROSA,)
    assert linker.link(["Hello.", "Yes?"]) == ()
    assert linker.link([]) == ()
