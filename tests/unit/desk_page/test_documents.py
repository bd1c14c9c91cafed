"""Documents on the desk's page: the list, one document as customers see it, and what its forms refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import event

from support_agent.ops.publishing import MAX_BYTES
from support_agent.store.desk_records import Label, LabelOutcome, LabelSource
from tests.fakes_documents import Editor, text_in
from tests.fakes_journey import JAMES, NOON, Office, write
from tests.fakes_page import form_key_in, forms_of
from tests.unit.seen import REFUND

EDIT = "/documents/1/edit"
SCRIPT = "<script>alert(1)</script>"


def policy(editor: Editor, name: str = "001-refund-policy.md") -> Path:
    return editor.office.settings.company.policies / name


def row_of(page: str, number: int) -> str:
    """The row of a document in the list, without markup around it."""
    return page.partition(f'href="/documents/{number}"')[2].partition("</tr>")[0]


# The list


def test_the_list_has_each_document_with_its_use_its_mode_and_what_check_says(editor: Editor) -> None:
    mail_id, _ = editor.office.handle(write(REFUND, sender=JAMES))
    outcome, keys = LabelOutcome.SAME, ("document:1",)
    label = Label(mail_id=mail_id, outcome=outcome, keys=keys, who="ada", how=LabelSource.COMMAND, made_at=NOON)
    editor.office.store.labels.add(label)
    other = policy(editor, "002-cancellation-policy.md")
    other.write_text(other.read_text("utf-8").replace("audience:", "valid_until: 2026-01-31\naudience:"), "utf-8")
    page = editor.get("/documents")
    refund, cancel = row_of(page, 1), row_of(page, 2)
    for expected in ("Refund policy", "language=de", "language=fr", "sections", "auto", "1/1", "sound", ">1<"):
        assert expected in refund, expected
    assert "expired" in cancel
    assert "errors: 1" in cancel
    assert page.index("/documents/1") < page.index("/documents/2")
    sorted_page = editor.get("/documents?sort=title")
    assert sorted_page.index('"/documents/14"') < sorted_page.index('"/documents/1"')  # API keys, Refund policy
    assert editor.get("/documents?sort=nothing")


def test_the_list_asks_the_database_no_more_often_for_more_documents(editor: Editor) -> None:
    asked: list[str] = []
    engine = editor.office.store.database._engine

    def count(*arguments: object) -> None:
        asked.append(str(arguments[2]))

    editor.get("/documents")
    event.listen(engine, "before_cursor_execute", count)
    try:
        editor.get("/documents")
        before = len(asked)
        text = policy(editor).read_text("utf-8")
        for number in range(21, 40):
            made = text.replace("number: 1\n", f"number: {number}\n").replace("Refund policy", f"Policy {number}")
            policy(editor, f"0{number}-made.md").write_text(made, "utf-8")
        editor.desk.wired()  # it stores the new documents
        asked.clear()
        assert "39 documents" in editor.get("/documents")
        assert len(asked) == before
    finally:
        event.remove(engine, "before_cursor_execute", count)


def test_a_broken_file_hides_no_other_and_can_be_mended_on_the_page(editor: Editor) -> None:
    sound = policy(editor).read_text("utf-8")
    policy(editor).write_text(sound.replace("title: Refund policy\n", ""), "utf-8")
    page = editor.get("/documents")
    assert "001-refund-policy.md" in row_of(page, 1)
    assert "Cancellation policy" in page
    assert "title is missing" in editor.get("/documents/1")
    assert "Published." in editor.edited(EDIT, "publish", sound)


# One document


def test_a_document_is_shown_as_customers_get_it_in_each_language(editor: Editor) -> None:
    page = editor.get("/documents/1")
    assert "A yearly plan can be refunded" in page
    assert 'class="src document"' in page
    german = editor.get("/documents/1?language=de")
    assert "Rückerstattung" in german
    assert "Guten Tag" in german
    frame = editor.client.get("/documents/1/frame?language=de")
    assert "sandbox" in frame.headers["content-security-policy"]
    assert "Rückerstattung" in frame.text
    assert editor.client.get("/documents/1?language=es").status_code == 404


def test_a_preview_answers_the_question_that_is_given(editor: Editor) -> None:
    page = editor.get("/documents/1?question=What+about+a+renewal%3F")
    assert "What about a renewal?" in page


def test_a_document_that_is_not_valid_yet_is_shown_as_on_its_first_day(editor: Editor) -> None:
    text = policy(editor).read_text("utf-8").replace("valid_from: 2026-01-01", "valid_from: 2027-05-01")
    policy(editor).write_text(text, "utf-8")
    page = editor.get("/documents/1")
    assert "A yearly plan can be refunded" in page
    assert "2027" in page


def test_markup_in_a_title_and_a_body_stays_text(editor: Editor) -> None:
    text = policy(editor).read_text("utf-8")
    text = text.replace("title: Refund policy", f"title: 'Refund {SCRIPT}\"><b>'").replace(
        "## Yearly plans", "## `<img src=x>`"
    )
    policy(editor).write_text(text, "utf-8")
    page = editor.edited(
        EDIT, "look", text.replace("A yearly plan", f"`{SCRIPT}` a yearly plan").replace("'Refund", "'The refund")
    )
    for shown in (page, editor.get("/documents"), editor.get("/documents/1"), editor.get(EDIT)):
        assert SCRIPT not in shown
        assert "<img src=x>" not in shown
    assert SCRIPT in text_in(page)


def test_the_text_comes_back_from_the_form_as_it_is_in_the_file(editor: Editor) -> None:
    policy(editor).write_text(policy(editor).read_text("utf-8") + "\n    code\twith a tab\n\n\n- x\n", "utf-8")
    assert text_in(editor.get(EDIT)) == policy(editor).read_text("utf-8")
    assert "The text is that of the present file." in editor.edited(EDIT, "look")


# What is refused


@pytest.mark.parametrize("path", [EDIT, "/documents/new", "/documents/templates/en/answer.txt.j2/edit"])
def test_only_who_administers_may_edit(own_office: Office, path: str) -> None:
    desk = own_office.settings.desk.model_copy(update={"staff": ("ada@harborfile.example",)})
    settings = own_office.settings.model_copy(update={"desk": desk})
    own_office.settings = settings
    form = next(form for form in forms_of(Editor(own_office).get(path)) if "base" in form.fields)
    for who in ("ada@harborfile.example", "reader@harborfile.example"):
        other = Editor(own_office, who)
        assert other.client.get(path).status_code == 403
        assert other.client.post(path, data={**form.fields, "do": "publish", "text": "x"}).status_code == 403
        shown = other.get("/documents/1")
        assert "/edit" not in shown
        key = form_key_in(shown)
        answer = other.client.post(path, data={**form.fields, "form_key": key, "do": "publish", "text": "x"})
        assert answer.status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/documents/0/edit",
        "/documents/99/edit",
        "/documents/123456789/edit",
        "/documents/..%2f..%2fetc/edit",
        "/documents/1/edit?version=../../x",
        "/documents/past/nothing",
        "/documents/drafts/nothing",
        "/documents/originals/..%2f..%2fetc%2fpasswd",
        "/documents/templates/en/..%2f..%2fpolicies%2fquestions.toml",
        "/documents/templates/xx/answer.txt.j2",
        "/documents/templates/tests/items.yaml",
        "/documents/templates/en/evil.txt.j2/edit",
    ],
)
def test_there_is_nothing_at_other_addresses(editor: Editor, path: str) -> None:
    assert editor.client.get(path).status_code == 404


@pytest.mark.parametrize("language", ["../../evil", "..", "en", "x y", "de/../.."])
def test_a_language_that_is_none_is_refused(editor: Editor, language: str) -> None:
    form = next(form for form in forms_of(editor.get(EDIT)) if "base" in form.fields)
    data = {**form.fields, "base": "", "do": "publish", "text": "x", "language": language}
    answer = editor.client.post(EDIT, data=data)
    assert answer.status_code == 409
    assert len(list(editor.office.settings.company.policies.parent.rglob("001-*"))) == 3


def test_a_number_of_a_new_document_that_is_none_or_taken_is_refused(editor: Editor) -> None:
    form = next(form for form in forms_of(editor.get("/documents/new")) if "base" in form.fields)
    before = policy(editor).read_bytes()
    for number in ("../1", "0", "-1", "1000000", ""):
        data = {**form.fields, "number": number, "do": "publish", "text": "x"}
        assert editor.client.post("/documents/new", data=data).status_code == 404
    text = before.decode().replace("A yearly plan", "Another plan")
    page = editor.client.post("/documents/new", data={**form.fields, "number": "1", "do": "publish", "text": text}).text
    assert "Somebody else has" in page
    assert policy(editor).read_bytes() == before


def test_a_text_that_is_too_large_is_refused_and_nothing_is_written(editor: Editor) -> None:
    before = policy(editor).read_bytes()
    for what in ("look", "publish"):
        page = editor.edited(EDIT, what, before.decode() + "word " * (MAX_BYTES // 5))
        assert "longer than" in page
    assert policy(editor).read_bytes() == before


def test_a_link_is_not_written_through(editor: Editor, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_bytes(policy(editor).read_bytes())
    policy(editor).unlink()
    policy(editor).symlink_to(outside)
    answer = editor.client.get(EDIT)
    assert answer.status_code == 409
    assert "links are not followed" in answer.text


def test_a_file_that_cannot_be_imported_says_why(editor: Editor) -> None:
    form = editor.forms("/documents/new")["import"]
    for name, data, why in (
        ("x.exe", b"MZ", "cannot be imported"),
        ("x.pdf", b"no pdf", "damaged"),
        ("x.txt", b"\0\0", "not a text"),
        ("../../../etc/x.txt", b"", "no text in it"),
    ):
        page = editor.send(form, files=[(name, data, "application/octet-stream")]).text
        assert why in page, name
        assert "/tmp" not in page
    assert "No file was chosen." in editor.send(form).text
