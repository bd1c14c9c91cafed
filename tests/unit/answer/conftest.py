"""The company's real templates, and an answer that has an item of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.render import render
from support_agent.answer.sources import RenderedAnswer
from support_agent.answer.templates import Templates
from support_agent.ops.template_samples import sample_items
from support_agent.ops.template_tests import around

TEMPLATES = Path(__file__).parents[3] / "templates"


@pytest.fixture(scope="session")
def templates() -> Templates:
    return Templates.load(TEMPLATES)


@pytest.fixture(scope="session")
def final() -> FinalAnswer:
    """Every sample item, with one question left to a person."""
    items = tuple(sample_items(("highest_3", "newest_first")))
    return around(*items, locale="en-GB", asked=len(items) + 1)


@pytest.fixture(scope="session")
def rendered(final: FinalAnswer, templates: Templates) -> RenderedAnswer:
    """The answer as it is rendered, to be changed in copies."""
    return render(final, templates)
