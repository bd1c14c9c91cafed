"""Pictures are sound SVG that runs nothing, whatever texts they show."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from support_agent.ops.pictures import Column, Dot, Part, PictureRow, Scale, Words, columns, dots, file_of, rows

EVIL = '"><script>alert(1)</script>\u202e\x00 & <b onclick="x">'
WORDS = Words(EVIL, EVIL, EVIL, EVIL)
SHARE = Scale(0.0, 1.0, str)
SVG = "{http://www.w3.org/2000/svg}"


def drawn(many: int = 1) -> dict[str, Markup]:
    """A picture of each kind, with texts of an attacker."""
    shown = tuple(Column(EVIL, (Part("answered", 3, EVIL, EVIL), Part("people", 0, EVIL, EVIL))) for _ in range(many))
    return {
        "columns": columns(WORDS, shown, lambda _: EVIL),
        "dots": dots(WORDS, [Dot(0.5, 0.9, 0.7, 1.0, EVIL, EVIL)] * many, SHARE, SHARE, {"guide": ((0, 0), (1, 1))}),
        "bars": rows(WORDS, [PictureRow(EVIL, 7, EVIL, EVIL, part=2)] * many, str),
        "shares": rows(WORDS, [PictureRow(EVIL, 0.5, EVIL, EVIL, 0.2, 0.8)] * many, str, 1.0),
    }


@pytest.mark.parametrize("kind", ["columns", "dots", "bars", "shares"])
def test_no_text_becomes_markup(kind: str) -> None:
    """Attack: a topic's title, a reason or a subject that is markup, in every place of a picture."""
    picture = ElementTree.fromstring(drawn()[kind])
    names = {element.tag.removeprefix(SVG) for element in picture.iter()}
    assert names <= {"svg", "title", "desc", "a", "rect", "line", "polyline", "circle", "text", "g"}
    attributes = {name for element in picture.iter() for name in element.attrib}
    assert not {name for name in attributes if name == "style" or name.startswith("on")}
    assert "\u202e" not in drawn()[kind]
    assert "\x00" not in drawn()[kind]


@pytest.mark.parametrize("kind", ["columns", "dots", "bars", "shares"])
def test_who_does_not_see_a_picture_has_its_title_and_description(kind: str) -> None:
    picture = ElementTree.fromstring(drawn()[kind])
    assert [element.tag.removeprefix(SVG) for element in picture][:2] == ["title", "desc"]
    assert all(link.get("tabindex") == "-1" for link in picture.iter(f"{SVG}a"))


def test_a_picture_without_numbers_has_its_axes() -> None:
    for picture in (columns(WORDS, (), str), rows(WORDS, (), str), dots(WORDS, (), SHARE, SHARE)):
        assert ElementTree.fromstring(picture) is not None


def test_a_file_has_each_picture_below_its_title() -> None:
    file = ElementTree.fromstring(file_of({EVIL: drawn()["dots"], "Other": drawn()["columns"]}))
    assert len(list(file.iter(f"{SVG}svg"))) == 5
    assert [text.text for text in file.iter(f"{SVG}text") if text.get("class") == "title"][1] == "Other"
    assert not list(file.iter(f"{SVG}script"))


def test_what_has_no_address_is_no_link() -> None:
    picture = ElementTree.fromstring(rows(WORDS, [PictureRow("a", 7, "", "said")], str))
    assert not list(picture.iter(f"{SVG}a"))
    assert "said" in {title.text for title in picture.iter(f"{SVG}title")}


def test_of_many_columns_a_few_are_named() -> None:
    picture = ElementTree.fromstring(columns(WORDS, [Column(f"day {n}", ()) for n in range(28)], str))
    named = [text.text for text in picture.iter(f"{SVG}text") if (text.text or "").startswith("day ")]
    assert named == ["day 0", "day 4", "day 8", "day 12", "day 16", "day 20", "day 24"]


@pytest.mark.parametrize(("most", "ticks"), [(0, 4), (3, 4), (5, 8), (90, 100), (130, 160), (1000, 1000), (7001, 8000)])
def test_the_axis_ends_at_a_number_that_the_ticks_divide(most: int, ticks: int) -> None:
    picture = rows(WORDS, [PictureRow("a", most, "/", "a")], lambda value: f"{value:g}")
    texts = [text.text for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]
    assert texts[:5] == [f"{ticks * part / 4:g}" for part in range(5)]
