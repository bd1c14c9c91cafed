"""The model's pick among the headings of a document, weighed with what the search says of its sections."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from support_agent.planner.choice import Chooser
from support_agent.planner.sections import MOST_SECTIONS, TITLE_CHARACTERS, joined, titles_of
from tests.fakes import PLAIN, ScriptedModel
from tests.unit.tools.fakes import document

HEADINGS = ("Time", "Exceptions", "Fees")
BODY = "".join(f"## {heading}\n\nText.\n\n" for heading in HEADINGS)


def chances_by(pick: str, before: Sequence[float]) -> list[float]:
    """How likely each section is where the model is for the one with this title, and for none without a question."""
    said = {title: 0.9 if title == pick else 0.05 for title in HEADINGS}
    model = ScriptedModel([dict.fromkeys(HEADINGS, 1 / 3), said])
    return Chooser(model, PLAIN).section_chances("Can I send a gift back?", document(1, BODY), before)[0]


def test_the_models_pick_by_heading_decides_between_sections_that_are_close_and_not_against_one_that_is_sure() -> None:
    close, sure = chances_by("Exceptions", [0.4, 0.35, 0.25]), chances_by("Exceptions", [0.98, 0.01, 0.01])
    assert max(close) == close[1]
    assert max(sure) == sure[0]
    assert sum(close) == pytest.approx(1)


def test_however_sure_the_model_is_it_sends_nothing_that_the_search_takes_to_be_out_of_the_question() -> None:
    """A broken model's certainty has a bound."""
    scores = joined([0.7, 0.2999, 0.0001], [-20.0, -20.0, 5.0])
    assert max(scores) == scores[0]


def test_sections_with_one_heading_are_told_apart_by_how_they_begin() -> None:
    """Options must differ, or nothing can be picked; what begins alike has its number, too."""
    body = "## Fees\n\nNone.\n\n## Time\n\nSoon.\n\n## Fees\n\nFive.\n\n## Time\n\nSoon.\n"
    assert titles_of(document(1, body)) == ["1. Fees: None.", "2. Time: Soon.", "3. Fees: Five.", "4. Time: Soon."]
    assert titles_of(document(1, "Before.\n\n## Fees\n\nNone.")) == ["Document 1", "Fees"]


def test_what_the_model_reads_of_a_section_is_short() -> None:
    """Each option is scored token by token."""
    titles = titles_of(document(1, f"## A\n\n{'long ' * 300}.\n\n## B\n\nNo.\n\n## A\n\n{'long ' * 300}.\n"))
    assert max(map(len, titles)) <= TITLE_CHARACTERS + 4
    assert len(set(titles)) == 3


def test_of_many_sections_the_likeliest_are_on_the_list_and_the_others_count_as_the_least_picked() -> None:
    """What is not on the list keeps its chance beside the least one that is."""
    policy = document(1, "".join(f"## Part {number}\n\nText.\n\n" for number in range(20)))
    listed = [f"Part {number}" for number in range(MOST_SECTIONS)]
    said = {title: 0.5 if title == "Part 3" else 0.5 / (MOST_SECTIONS - 1) for title in listed}
    model = ScriptedModel([dict.fromkeys(listed, 1 / MOST_SECTIONS), said])
    found, _ = Chooser(model, PLAIN).section_chances("?", policy, [0.06] * MOST_SECTIONS + [0.035] * 8)
    assert set(model.history[1].options) == set(listed)
    assert max(found) == found[3]
    assert found[-1] / found[0] == pytest.approx((0.035 / 0.06) ** 0.97)


def test_the_prior_of_a_list_is_that_of_its_document() -> None:
    """Two documents may have the same headings."""
    model = ScriptedModel([dict.fromkeys(HEADINGS, 1 / 3)] * 4)
    chooser = Chooser(model, PLAIN)
    for number in (1, 2):
        chooser.section_chances("?", document(number, BODY), [0.4, 0.3, 0.3])
    assert len(model.history) == 4
