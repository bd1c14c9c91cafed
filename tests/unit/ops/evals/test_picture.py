"""The pictures: an SVG that a browser shows, the same for the same answers, with the points where they belong."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from support_agent.errors import ConfigError
from support_agent.ops.evals.picture import check_picture, write_learning_curve, write_picture
from support_agent.ops.pictures import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from tests.unit.ops.evals.test_measures import CASES, Said

SVG = "{http://www.w3.org/2000/svg}"


def drawn(path: Path) -> ElementTree.Element:
    return ElementTree.fromstring(path.read_text("utf-8"))


def test_a_picture_has_both_diagrams_and_the_risk(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    write_picture(path, CASES, 5, 0.02)
    words = {text.text for text in drawn(path).iter(f"{SVG}text")}
    assert {"Risk and coverage", "Reliability", "share answered", "confidence"} <= words
    dashed = [line for line in drawn(path).iter(f"{SVG}polyline") if line.get("class") == "guide"]
    assert len(dashed) == 2
    before = path.read_bytes()
    write_picture(path, CASES, 5, 0.02)
    assert path.read_bytes() == before


def test_a_point_stands_at_its_coverage_and_risk(tmp_path: Path) -> None:
    """One right answer of two questions: half of the way across, at the bottom."""
    write_picture(tmp_path / "a.svg", [Said(0.9)], 2)
    curve = next(drawn(tmp_path / "a.svg").iter(f"{SVG}polyline"))
    assert curve.attrib["points"] == f"{(LEFT + WIDTH - RIGHT) / 2:.1f},{HEIGHT - BOTTOM:.1f}"


def test_a_learning_curve_has_a_margin_below_its_lowest_reward(tmp_path: Path) -> None:
    """Rewards may be negative; the rule's is dashed over the whole width."""
    write_learning_curve(tmp_path / "a.svg", [(0.0, -0.5), (10.0, 0.5)], 0.5)
    guide, curve = drawn(tmp_path / "a.svg").iter(f"{SVG}polyline")
    low, high = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * 0.05 / 1.1, TOP + (HEIGHT - BOTTOM - TOP) * 0.05 / 1.1
    assert curve.attrib["points"] == f"{LEFT:.1f},{low:.1f} {WIDTH - RIGHT:.1f},{high:.1f}"
    assert guide.attrib["points"] == f"{LEFT:.1f},{high:.1f} {WIDTH - RIGHT:.1f},{high:.1f}"


def test_no_answers_give_an_empty_picture(tmp_path: Path) -> None:
    write_picture(tmp_path / "a.svg", [], 0)
    assert not list(drawn(tmp_path / "a.svg").iter(f"{SVG}circle"))


def test_another_kind_of_file_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    check_picture(None)
    with pytest.raises(ConfigError, match=r"ends in \.svg"):
        check_picture(tmp_path / "a.png")
    with pytest.raises(ConfigError, match="can be written"):
        write_picture(tmp_path / "missing" / "a.svg", CASES, 5)
