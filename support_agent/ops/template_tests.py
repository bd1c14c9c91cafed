"""Runs the template tests of a company: `templates/tests/*.yaml`, items or whole mails in, expected texts out.

Invariant: a case states the expected text and HTML for each locale it names, and its mail must pass the gate;
a file that cannot be read is a finding and is never skipped, nor is a locale without templates. Checked by
tests/unit/ops/test_template_tests.py and tests/unit/ops/test_template_checks.py.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError, model_validator

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.alarm import Alarm
from support_agent.answer.digest import Digest
from support_agent.answer.final_answer import Answer, FinalAnswer, Item
from support_agent.answer.packet import Packet
from support_agent.answer.provenance import check
from support_agent.answer.render import render, render_item
from support_agent.answer.sources import RenderedAnswer
from support_agent.answer.templates import Templates
from support_agent.core.findings import Finding
from support_agent.core.frozen import Frozen
from support_agent.core.locales import language_of
from support_agent.core.yaml_text import load_with_nodes
from support_agent.errors import GateRefused
from support_agent.ops.html_as_read import as_read

TODO = "correct the test or the template"
MAILS = ("answer", "acknowledgement", "packet", "digest", "alarm")
"""The whole mails that a case may have."""


class Expected(Frozen):
    """The expected texts; `html` as its reader sees it (`html_as_read`). A missing part is not compared."""

    subject: str | None = None
    text: str | None = None
    html: str | None = None


class TemplateCase(Frozen):
    """One test: exactly one of item, answer, acknowledgement, packet, digest or alarm; and the expected texts by
    locale."""

    name: str
    item: Item | None = None
    answer: FinalAnswer | None = None
    acknowledgement: Acknowledgement | None = None
    packet: Packet | None = None
    digest: Digest | None = None
    alarm: Alarm | None = None
    expect: dict[str, Expected] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _locale_comes_from_expect(cls, data: Any) -> Any:
        """Mails have no locale in the file: each expectation sets it."""
        if not isinstance(data, dict):
            return data
        filled = {
            key: {"locale": "en", **value} if isinstance(value, dict) else value
            for key, value in data.items()
            if key in MAILS
        }
        return {**data, **filled}

    @model_validator(mode="after")
    def _one_input(self) -> TemplateCase:
        if sum(getattr(self, name) is not None for name in ("item", *MAILS)) != 1:
            raise ValueError(f"a case has exactly one of item, {', '.join(MAILS)}")
        return self


class Placed(Frozen):
    """A case and its place."""

    path: Path
    line: int
    case: TemplateCase


def load_cases(directory: Path) -> tuple[list[Placed], list[Finding]]:
    """The cases in `directory`/tests, and what is wrong with the files."""
    cases: list[Placed] = []
    findings: list[Finding] = []
    for path in sorted((directory / "tests").glob("*.yaml")):
        try:
            entries, nodes = load_with_nodes(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            findings.append(Finding.error(path, mark.line + 1 if mark else None, f"cannot be read: {error}", TODO))
            continue
        if not isinstance(entries, list) or not isinstance(nodes, yaml.SequenceNode):
            findings.append(Finding.error(path, 1, "a file of template tests is a list of cases", TODO))
            continue
        for entry, node in zip(entries, nodes.value, strict=True):
            line = node.start_mark.line + 1
            try:
                cases.append(Placed(path=path, line=line, case=TemplateCase.model_validate(entry)))
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(str(part) for part in first["loc"])
                findings.append(Finding.error(path, line, f"{where}: {first['msg']}", TODO))
    return cases, findings


def run_case(placed: Placed, templates: Templates) -> list[Finding]:
    """Render a case in each of its locales that have templates and report where it differs from the expected text."""
    findings = []
    for locale, expected in placed.case.expect.items():
        if not templates.has_language(locale):
            continue
        try:
            actual = _rendered(placed.case, locale, templates)
        except GateRefused as error:
            findings.append(Finding.error(placed.path, placed.line, f"{placed.case.name!r}, {locale}: {error}", TODO))
            continue
        for part, wanted in expected:
            if wanted is None:
                continue
            difference = _difference(wanted, actual.get(part, ""))
            if difference:
                what = f"{placed.case.name!r}, {locale}, {part} differs:\n{difference}"
                findings.append(Finding.error(placed.path, placed.line, what, TODO))
    return findings


def without_templates(cases: list[Placed], templates: Templates) -> list[Finding]:
    """A warning for each locale whose expected texts are not compared, because the company has no such language."""
    expected = {locale for placed in cases for locale in placed.case.expect}
    return [
        Finding.warning(
            next(placed.path.parent for placed in cases if locale in placed.case.expect),
            None,
            f"the expected texts in {locale!r} are not compared, because no templates are in this language",
            f"add templates/{language_of(locale)}, or correct the locale or delete these texts",
        )
        for locale in sorted(expected)
        if not templates.has_language(locale)
    ]


def around(*items: Item, locale: str = "en", asked: int | None = None) -> FinalAnswer:
    """A whole answer with one block for each item; it is partial if `asked` is greater than their number."""
    return FinalAnswer(
        company="Example & Co.",
        locale=locale,
        greeting_name="Ana O'Neil",
        subject="An invoice",
        asked=len(items) if asked is None else asked,
        answers=tuple(Answer(items=(item,)) for item in items),
        support_address="support@example.com",
    )


def _rendered(case: TemplateCase, locale: str, templates: Templates) -> dict[str, str]:
    """The rendered parts of a case; a whole mail must pass the gate first."""
    if case.item is not None:
        final = around(case.item, locale=locale)
        check(render(final, templates), final, templates)
        return {
            "text": render_item(case.item, locale, templates, "text").text,
            "html": as_read(render_item(case.item, locale, templates, "html").text),
        }
    given = case.answer or case.acknowledgement or case.packet or case.digest or case.alarm
    assert given is not None
    made_from = given.model_copy(update={"locale": locale})
    rendered = render(made_from, templates)
    check(rendered, made_from, templates)
    parts = {"subject": rendered.subject.text, "text": rendered.text.text}
    return parts | ({"html": as_read(rendered.html.text)} if isinstance(rendered, RenderedAnswer) else {})


def _difference(wanted: str, actual: str) -> str:
    """The lines that differ; line ends at the end of the text do not count."""
    lines = difflib.unified_diff(
        wanted.rstrip("\n").split("\n"),
        actual.rstrip("\n").split("\n"),
        "expected",
        "rendered",
        lineterm="",
        n=1,
    )
    return "\n".join(f"    {line}" for line in lines)
