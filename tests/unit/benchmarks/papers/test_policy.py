"""What is recorded to train on and what to report on: sets that share no mail, each question with what answers it."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path

import pytest

from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.facts.inquiry.workflow import Workflow
from support_agent.facts.learning.recorded import apart, read_cases
from support_agent.planner.segments import Read
from tests.benchmarks.papers import policy
from tests.benchmarks.papers.command import run
from tests.benchmarks.papers.policy import COMPANIES, Part, asked_of
from tests.fakes_journey import WordSearch
from tests.unit.facts.learning.test_recording import Model, workflow


def test_nothing_is_reported_that_may_be_developed_on() -> None:
    """Rule: other mails to the demo company, and other companies."""
    assert set(COMPANIES[Part.TRAINING]) & set(COMPANIES[Part.REPORTED]) == {"demo"}
    training, reported = ({one.question for one in asked_of(part, "demo", WordSearch().read)} for part in Part)
    assert training
    assert reported
    assert not training & reported


def test_a_question_knows_the_sections_that_answer_it() -> None:
    asked = {one.key: one for one in asked_of(Part.TRAINING, "shop", WordSearch().read)}
    assert asked["shop-001"].answers == {2: frozenset(["Agreeing on a day"])}
    assert "shop-003" not in asked, "a value is no question to a document"
    assert any(not one.answers for one in asked.values()), "some that nobody answers"


def test_cases_of_each_company_are_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short form, without a model: the two files may be compared."""

    @contextmanager
    def opened(
        _settings: Settings, company: Company, _allowed: AbstractSet[str], *, drafts: bool
    ) -> Iterator[tuple[Workflow, Read]]:
        flow = workflow(Model(), drafts=drafts)
        yield flow, WordSearch().read

    monkeypatch.setattr(policy, "open_recording", opened)
    found = []
    for part in Part:
        out = tmp_path / f"{part}.jsonl"
        with pytest.raises(SystemExit) as exit_:
            run(policy.main, "policy", [part, "--out", str(out), "--cases", "2"])
        assert exit_.value.code == 0
        found.append(read_cases(out))
        assert len(found[-1]) == 2 * len(COMPANIES[part])
    apart(*found)
