"""`check_templates`: each thing that can be wrong is found, with its file, its line and what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support_agent.core.findings import Severity
from support_agent.ops.template_checks import check_templates
from tests.unit.answer.conftest import TEMPLATES


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A copy of the templates in English and one more language, without their tests."""
    return Path(shutil.copytree(TEMPLATES, tmp_path / "templates", ignore=shutil.ignore_patterns("tests", "fr")))


def edit(directory: Path, name: str, old: str, new: str) -> None:
    path = directory / name
    text = path.read_text(encoding="utf-8")
    assert old in text, name
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_companys_own_templates_have_no_finding() -> None:
    """Nor have their tests."""
    assert check_templates(TEMPLATES) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "line", "message"),
    [
        ("en/answer.txt.j2", "Hello,", "{% if %}", 4, "this is not a template"),
        ("en/answer.txt.j2", "{{ greeting_name }}", "{{ greting_name }}", 2, "did you mean greeting_name"),
        ("de/table.html.j2", "{{ row.value }}", "{{ row.vlaue }}", 9, "did you mean value"),
        ("en/notice.txt.j2", "{{ support_address }}", "{{ 'x@y' }}", 24, "write literals as template text"),
        ("en/table.txt.j2", "{{ row.value }}", "{{ row.value | upper }}", 7, "would lose the source"),
        ("en/table.txt.j2", "{{ row.value }}", "{{ row.number }}", 7, "no attribute 'number'"),
        (
            "en/answer.html.j2",
            '{% include "notice.html.j2" %}',
            "{{ support_address }}",
            None,
            "notice is missing",
        ),
        (
            "de/answer.txt.j2",
            '{% include "notice.txt.j2" %}',
            "{{ support_address }}",
            None,
            "notice is missing",
        ),
        ("en/acknowledgement.txt.j2", '{% include "notice.txt.j2" %}', "", None, "does not say settings"),
        ("en/operand.txt.j2", "{{ operand.row_count }}", "", None, "does not say computed part=row_count"),
        ("en/operand.txt.j2", "{{ operand.aggregation }}", "total", None, "section=aggregation"),
        ("de/operand.html.j2", "{{ operand.period.last }}", "", None, "part=period_last"),
        ("en/document.txt.j2", "{{ item.valid_from }}", "", None, "part=valid_from"),
        ("en/document.html.j2", "{{ item.number }}", "", None, "part=number"),
        ("en/account_field.html.j2", "{{ item.value }}", "", None, "part=value"),
        ("en/calculation.txt.j2", "{{ item.result }}", "", None, "part=result"),
        ("en/document.txt.j2", "{{ sentence.number }}. ", "- ", None, "part=step"),
        ("en/document.txt.j2", "{{ line }}", "", None, "part=row"),
        ("en/document.txt.j2", "{% if cell.header %}{{ cell.header }}", "{% if cell.header %}", None, "part=row"),
        ("de/document.html.j2", "{% elif block.rows %}", "{% elif block.lines %}", None, "part=row"),
        ("en/document.html.j2", "<tr>\n", "", None, "has left its place"),
        ("en/answer.txt.j2", "notice.is_at_top", "notice.is_question", None, "not above the first"),
        ("en/clarification.txt.j2", "{{ item.text }}", "", None, "clarification"),
        ("de/table.txt.j2", "{% for step in item.steps %}, {{ step }}{% endfor %}", "", None, "section=step"),
        (
            "en/answer.html.j2",
            "<!doctype html>",
            '<img src="https://x.example/p.png">',
            1,
            "element is not allowed",
        ),
        ("en/document.html.j2", 'href="{{ item.url }}"', "href={{ item.url }}", 49, "not plain tags"),
        ("en/escalation.txt.j2", "{{ packet.reply_address }}", "", None, "part=reply_address"),
        ("en/words.yaml", "  total: total\n", "", None, "no word for aggregation.total"),
        ("en/words.yaml", "  total: total\n", "  total: average\n", 15, "reads like aggregation"),
        ("en/words.yaml", "aggregation:", "agregation:", 14, "did you mean aggregation"),
        ("en/words.yaml", "  total: total\n", "  total:\n", 14, "has no word"),
        ("en/words.yaml", "period:\n", "period: [\n", None, "not YAML"),
    ],
)
def test_what_is_wrong_is_found_with_its_place(
    directory: Path, name: str, old: str, new: str, line: int | None, message: str
) -> None:
    """Syntax, undefined names, lost sources, the notice, each parameter, remote content, words.

    A language that did not change is not there: each is rendered by itself.
    """
    if not name.startswith("de/"):
        shutil.rmtree(directory / "de")
    edit(directory, name, old, new)
    findings = [finding for finding in check_templates(directory) if finding.severity is Severity.ERROR]
    found = [finding for finding in findings if message in finding.what or message in finding.todo]
    assert found, [str(finding) for finding in findings]
    if message != "not YAML":
        assert found[0].line == line
    place = name.replace("operand", "aggregate") if line is None else name
    assert found[0].path == directory / place
    assert found[0].todo


def test_a_missing_template_is_found(directory: Path) -> None:
    """In English an error; for another language a warning, because the English one stands in."""
    (directory / "de" / "operand.txt.j2").unlink()
    (finding,) = check_templates(directory)
    assert (finding.severity, finding.path) == (Severity.WARNING, directory / "de/operand.txt.j2")
    (directory / "en" / "table.txt.j2").unlink()
    findings = [finding for finding in check_templates(directory) if finding.severity is Severity.ERROR]
    assert [(finding.path, finding.what) for finding in findings] == [
        (directory / "en/table.txt.j2", "the template is missing")
    ]


def test_the_desks_templates_and_words_need_no_translation(directory: Path) -> None:
    """A company with Spanish customers may have a desk that reads English."""
    for name in ("escalation.txt.j2", "escalation_subject.txt.j2"):
        (directory / "de" / name).unlink()
    words = directory / "de" / "words.yaml"
    words.write_text(words.read_text("utf-8").partition("level:")[0], "utf-8")
    assert check_templates(directory, {"reason": ("unsure",)}) == []


def test_what_a_country_has_of_its_own_lacks_nothing(directory: Path) -> None:
    """`de-AT` holds what differs from `de`; nothing of it is English."""
    (directory / "de-AT").mkdir()
    shutil.copy(directory / "de" / "notice.txt.j2", directory / "de-AT")
    assert check_templates(directory) == []


def test_a_folder_that_is_no_locale_is_found(directory: Path) -> None:
    """Nobody would ever get what is in it."""
    (directory / "de").rename(directory / "deutsch")
    findings = [finding for finding in check_templates(directory) if finding.severity is Severity.ERROR]
    assert [(finding.path, finding.what) for finding in findings] == [(directory / "deutsch", "'deutsch' is no locale")]


def test_a_missing_word_of_another_language_is_a_warning(directory: Path) -> None:
    """The English word stands in for it."""
    edit(directory, "de/words.yaml", "  total: Summe\n", "")
    assert [(finding.severity, finding.what) for finding in check_templates(directory)] == [
        (Severity.WARNING, "no word for aggregation.total")
    ]


def test_the_codes_of_the_tools_must_have_words(directory: Path) -> None:
    """A new step without words would stop every answer that uses it."""
    findings = check_templates(directory, {"step": ("highest_3", "every_other")})
    assert {finding.what for finding in findings} == {"no word for step.every_other"}


def test_a_failing_template_test_is_a_finding(directory: Path) -> None:
    """With the file and line of the case."""
    shutil.copytree(TEMPLATES / "fr", directory / "fr")
    (directory / "tests").mkdir()
    shutil.copy(TEMPLATES / "tests" / "acknowledgement.yaml", directory / "tests")
    edit(directory, "tests/acknowledgement.yaml", "Harborfile", "Example")
    assert check_templates(directory) == []
    edit(directory, "en/acknowledgement.html.j2", "thank you", "thanks")
    findings = check_templates(directory)
    assert {finding.path for finding in findings} == {directory / "tests/acknowledgement.yaml"}
    assert len({finding.line for finding in findings}) == len(findings) == 3


def test_tests_in_a_language_without_templates_are_one_warning(directory: Path) -> None:
    """A company that deletes a language of the example need not edit each of the tests first."""
    shutil.copytree(TEMPLATES / "tests", directory / "tests")
    (finding,) = check_templates(directory)
    assert (finding.severity, finding.path) == (Severity.WARNING, directory / "tests")
    assert "'fr-FR' are not compared" in finding.what


def test_no_directory_is_a_finding(tmp_path: Path) -> None:
    """`check` says it and goes on."""
    assert [finding.what for finding in check_templates(tmp_path / "none")] == [
        f"no templates directory at {tmp_path / 'none'}"
    ]


def test_an_acknowledgement_without_the_hours_is_a_warning(directory: Path) -> None:
    """An older template goes on as before, so nothing stops; but who sets hours must hear why nobody reads them."""
    for name in ("txt", "html"):
        path = directory / "en" / f"acknowledgement.{name}.j2"
        text = path.read_text("utf-8")
        begin, end = text.index("{% if open_day %}"), text.index("{% endif %}\nYou need") + len("{% endif %}\n")
        path.write_text(text[:begin] + text[end:], "utf-8")
    findings = check_templates(directory)
    assert {finding.severity for finding in findings} == {Severity.WARNING}
    assert all("acknowledgements do not say when people work and answer (hours)" in one.what for one in findings)
    assert {finding.path for finding in findings} == {directory / "en" / "acknowledgement.txt.j2"}


def test_a_notice_that_does_not_tell_of_an_approval_is_a_warning(directory: Path) -> None:
    """An older template goes on as before: it says that nobody has read a mail whose answer a person approved."""
    shutil.rmtree(directory / "de")
    for name in ("txt", "html"):
        path = directory / "en" / f"notice.{name}.j2"
        text = path.read_text("utf-8")
        begin, end = text.index("{% if notice.is_approved %}"), text.index("{% elif counts.is_partial %}")
        path.write_text(text[:begin] + text[end:].replace("{% elif counts", "{% if counts", 1), "utf-8")
    (directory / "tests" / "answer_approved.yaml").unlink(missing_ok=True)
    findings = [finding for finding in check_templates(directory) if "a person approved" in finding.what]
    assert {(finding.severity, finding.path) for finding in findings} == {
        (Severity.WARNING, directory / "en" / f"notice.{name}.j2") for name in ("txt", "html")
    }
