"""The notes that the hallucination grader is measured on, and what is told of it."""

from __future__ import annotations

import pytest

from support_agent.models.judge import Grade
from support_agent.models.language_model import Usage
from support_agent.models.writer import Material
from tests.benchmarks.companies import WITH_PAPERS
from tests.benchmarks.papers import notes as notes_benchmark
from tests.benchmarks.papers.notes import FORMS, evaluate, load_notes, passages_of, table


class Knowing:
    """A judge that knows the true notes; a note without a passage is as likely as not."""

    def __init__(self, known: set[str]) -> None:
        self._known = known

    def yes(self, question: str, material: Material) -> Grade:
        texts = dict(material)
        is_open = not texts["Passage"]
        return Grade(probability=0.5 if is_open else 0.9 if texts["Note"] in self._known else 0.1, usage=Usage())


def test_the_notes_are_about_sections_of_companies_that_may_be_fitted_to() -> None:
    """Rule: nothing is chosen on a company that is only reported; the section itself comes first."""
    notes = load_notes()
    assert {one.company for one in notes} == set(WITH_PAPERS)
    assert len({text for one in notes for text in (one.true, one.false)}) == 2 * len(notes)
    assert all(passages_of(one)[0].startswith(f"{one.heading}. ") for one in notes)


@pytest.mark.parametrize("form", FORMS)
def test_a_judge_that_knows_parts_all_notes_in_every_form(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: true notes are those above every false one."""
    monkeypatch.setattr(notes_benchmark, "SAMPLES", 20)
    notes = load_notes()[:4]
    (row,) = evaluate(notes, Knowing({one.true for one in notes}), {form: FORMS[form]})
    assert (row.auroc, row.low, row.passed, row.notes) == (1.0, 1.0, 4, 4)
    (row,) = evaluate(notes, Knowing({one.false for one in notes}), {form: FORMS[form]})
    assert (row.auroc, row.passed) == (0.0, 0)
    assert "0 of 4" in table([row])
