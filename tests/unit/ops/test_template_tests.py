"""The template tests that lie beside the templates, and how they fail."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from support_agent.answer.item_kinds import KINDS
from support_agent.answer.templates import Templates
from support_agent.ops.template_tests import Placed, load_cases, run_case
from tests.unit.answer.conftest import TEMPLATES

CASES, UNREADABLE = load_cases(TEMPLATES)


@pytest.fixture(scope="module")
def templates() -> Templates:
    return Templates.load(TEMPLATES)


@pytest.mark.parametrize("placed", CASES, ids=[f"{placed.path.stem}: {placed.case.name}" for placed in CASES])
def test_the_templates_say_what_their_tests_expect(templates: Templates, placed: Placed) -> None:
    """Text and HTML, in every locale that the case names."""
    assert run_case(placed, templates) == []


def test_every_partial_has_three_cases_in_both_languages() -> None:
    """At least three for each item kind and each whole mail, all of them in English and German."""
    assert UNREADABLE == []
    counted = Counter(placed.path.stem for placed in CASES if {"en-GB", "de-DE"} <= set(placed.case.expect))
    for name in (*KINDS, "answer", "acknowledgement", "escalation", "digest", "alarm"):
        assert counted[name] >= 3, name


def changed(tmp_path: Path, name: str, old: str, new: str) -> Path:
    directory = tmp_path / "templates"
    shutil.copytree(TEMPLATES, directory)
    path = directory / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return directory


def test_a_case_that_differs_shows_the_lines(tmp_path: Path) -> None:
    """With the file and line of the case and a diff."""
    directory = changed(tmp_path, "en/clarification.txt.j2", "one more word", "a word")
    placed = next(placed for placed in load_cases(directory)[0] if placed.path.name == "clarification.yaml")
    findings = run_case(placed, Templates.load(directory))
    assert [(finding.path, finding.line) for finding in findings] == [(directory / "tests/clarification.yaml", 2)]
    assert "-To answer this we need one more word from you:" in findings[0].what
    assert "+To answer this we need a word from you:" in findings[0].what


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("number: 1\n", "number: one\n", "number"),
        ("    kind: clarification\n", "    kind: clarifcation\n", "item"),
        ("- name: a canned question\n", "- nam: a canned question\n", "name"),
        ("- name: a canned question\n", "- name: [\n", "cannot be read"),
    ],
)
def test_a_case_that_cannot_be_read_is_a_finding(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Never skipped in silence."""
    findings = load_cases(changed(tmp_path, "tests/clarification.yaml", old, new))[1]
    assert message in findings[0].what
    assert findings[0].line is not None


def test_a_case_has_exactly_one_input(tmp_path: Path) -> None:
    """Two would leave open what is compared."""
    both = "packet: {case_id: a, customer_address: b, level: 0, level_why: c, subject: d, mail_text: e, "
    both += "reason_code: f, reply_address: g}\n  item:\n"
    directory = changed(tmp_path, "tests/clarification.yaml", "item:\n", both)
    assert "exactly one of" in load_cases(directory)[1][0].what
