"""Templates on the desk's page: the list, their samples and tests, and how they are edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes_documents import Editor, text_in

DOCUMENT = "/documents/templates/en/document.txt.j2"


def template(editor: Editor, name: str) -> Path:
    return editor.office.settings.company.templates / name


def test_the_list_has_the_templates_of_each_language_and_those_that_are_missing(editor: Editor) -> None:
    template(editor, "de/digest.txt.j2").unlink()
    page = editor.get("/documents/templates")
    assert "/documents/templates/fr/answer.html.j2" in page
    missing = page.partition("/documents/templates/de/digest.txt.j2")[2].partition("</li>")[0]
    assert "not there, English is used" in missing
    assert "This file is not there" in editor.get("/documents/templates/de/digest.txt.j2")


@pytest.mark.parametrize(
    "name", ["document.html.j2", "answer.txt.j2", "notice.txt.j2", "operand.txt.j2", "acknowledgement.txt.j2",
             "escalation.txt.j2", "digest_subject.txt.j2", "words.yaml", "subject.txt.j2"]
)  # fmt: skip
@pytest.mark.parametrize("locale", ["en", "de"])
def test_each_template_is_shown_with_made_up_mails(editor: Editor, locale: str, name: str) -> None:
    page = editor.get(f"/documents/templates/{locale}/{name}")
    assert "Sample 1" in page
    assert '<p class="mail-subject">' in page


def test_a_template_is_shown_with_its_tests_and_how_they_end(editor: Editor) -> None:
    page = editor.get(DOCUMENT)
    assert "passes" in page
    assert "fails" not in page
    assert editor.client.get(f"{DOCUMENT}/frame?sample=0").text.startswith("<")
    assert editor.client.get(f"{DOCUMENT}/frame?sample=99").status_code == 404
    tests = template(editor, "tests/document.yaml")
    tests.write_text(tests.read_text("utf-8").replace("Refund policy", "Other policy", 1), "utf-8")
    assert "fails" in editor.get(DOCUMENT)


def test_a_template_that_hides_a_part_or_fails_a_test_is_not_published(editor: Editor) -> None:
    before = template(editor, "en/document.txt.j2").read_bytes()
    for text in ("hidden\n", "{{ item.title.__class__ }}\n", "{% if %}"):
        page = editor.edited(f"{DOCUMENT}/edit", "publish", text)
        assert "It cannot be published" in page
        assert text_in(page).strip() == text.strip()
    assert template(editor, "en/document.txt.j2").read_bytes() == before


def test_a_missing_template_is_added(editor: Editor) -> None:
    file = template(editor, "de/subject.txt.j2")
    text = file.read_text("utf-8")
    file.unlink()
    path = "/documents/templates/de/subject.txt.j2/edit"
    assert text_in(editor.get(path)).strip() == ""
    assert "Published." in editor.edited(path, "publish", text)
    assert file.read_text("utf-8") == text


def test_a_template_that_was_changed_meanwhile_is_not_overwritten(editor: Editor) -> None:
    path, file = "/documents/templates/en/subject.txt.j2/edit", template(editor, "en/subject.txt.j2")
    looked = editor.edited(path, "look", file.read_text("utf-8") + "{# mine #}\n")
    file.write_text(file.read_text("utf-8") + "{# theirs #}\n", "utf-8")
    page = editor.again(looked, "publish")
    assert "Somebody else has changed the file meanwhile" in page
    assert "theirs" in file.read_text("utf-8")
