"""Documents are edited on the desk's page: looked at, published, used by the next mail, and taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from support_agent.store.records import OutgoingKind
from tests.fakes_documents import Editor, own_office_in, text_in, with_files
from tests.fakes_journey import ANNA, DESK, JAMES, Office, write
from tests.unit.seen import REFUND, text_of

OLD, NEW = "A yearly plan can be refunded", "A yearly subscription can be refunded"
EDIT = "/documents/1/edit"


@pytest.fixture
def own_office(empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    with own_office_in(tmp_path, empty_store) as opened:
        yield opened


def answer_to(office: Office, sender: str, number: int) -> str:
    """What the next mail is answered with by a worker that has taken over the files."""
    mail_id, _ = with_files(office).handle(write(REFUND, sender=sender, number=number))
    return text_of(office.sent(mail_id)[OutgoingKind.ANSWER])


def test_a_document_is_edited_tried_published_used_and_rolled_back(own_office: Office) -> None:
    editor = Editor(own_office)
    assert NEW not in answer_to(own_office, JAMES, 1)
    text = text_in(editor.get(EDIT)).replace(OLD, NEW)

    page = editor.edited(EDIT, "look", text)
    assert "Nothing is wrong." in page
    assert NEW in page
    (digest,) = editor.desk.trials._found
    trial = editor.desk.trials.wait(digest, 60)
    assert trial is not None
    assert trial.found is not None, trial.problem
    (changed,) = trial.found.changed
    assert OLD in changed.before.text
    assert NEW in changed.after.text
    assert "1 of 1 mails would change." in editor.get(f"/documents/past/{digest}")
    assert NEW not in answer_to(own_office, ANNA, 2)  # nothing is published yet

    with capture_logs() as logs:
        page = editor.edited(EDIT, "publish", text)
    assert "Published. The agent uses it from its next mail on." in page
    (told,) = [entry for entry in logs if entry["event"] == "desk_page_published"]
    assert (told["who"], told["file"]) == (DESK, "001-refund-policy.md")
    assert NEW in answer_to(own_office, "priya.nair@example.net", 3)

    link = editor.get("/documents/1").partition("/documents/1/edit?version=")[2].partition('"')[0]
    old = editor.get(f"{EDIT}?version={link}")
    assert OLD in text_in(old)
    assert "Published." in editor.again(editor.again(old, "look"), "publish")
    assert OLD in answer_to(own_office, "noah.williams@example.net", 4)


def test_a_draft_with_an_error_is_kept_in_the_form_and_not_published(own_office: Office) -> None:
    editor = Editor(own_office)
    text = text_in(editor.get(EDIT)).replace("delivery: excerpt", "delivery: everything")
    for what in ("look", "publish"):
        page = editor.edited(EDIT, what, text)
        assert "It cannot be published" in page
        assert "delivery cannot be used" in page
        assert "delivery: everything" in text_in(page)
    path = own_office.settings.company.policies / "001-refund-policy.md"
    assert "delivery: everything" not in path.read_text("utf-8")


def test_a_broken_front_matter_is_said_with_its_line(own_office: Office) -> None:
    page = Editor(own_office).edited(EDIT, "publish", "---\nnumber: [\n---\n# x\n")
    assert "It cannot be published" in page
    assert "001-refund-policy.md" in page


def test_a_file_that_was_changed_meanwhile_is_not_overwritten_and_the_text_is_kept(own_office: Office) -> None:
    editor = Editor(own_office)
    looked = editor.edited(EDIT, "look", text_in(editor.get(EDIT)).replace(OLD, NEW))
    path = own_office.settings.company.policies / "001-refund-policy.md"
    theirs = path.read_text("utf-8").replace("not refunded", "never refunded")
    path.write_text(theirs, "utf-8")
    page = editor.again(looked, "publish")
    assert "Somebody else has changed the file meanwhile" in page
    assert "never refunded" in page  # in the difference
    assert NEW in text_in(page)
    assert path.read_text("utf-8") == theirs
    assert "Published." in editor.again(page, "publish")  # now knowingly


def test_a_new_document_and_a_translation_are_added(own_office: Office) -> None:
    editor = Editor(own_office)
    text = text_in(editor.get("/documents/new"))
    assert "number: 21" in text
    text = text.replace("title:", "title: Gift cards").replace("summary:", "summary: Buying gift cards.")
    text = text.replace("url: https://", "url: https://harborfile.example/help/gifts") + "\nEnter the code.\n"
    assert "Published." in editor.edited("/documents/new", "publish", text)
    assert (own_office.settings.company.policies / "021-gift-cards.md").is_file()
    german = text.replace("title: Gift cards", "title: Geschenkkarten").replace("Enter the code", "Code eingeben")
    assert "Gift cards" in text_in(editor.get("/documents/21/edit?language=de"))
    page = editor.edited("/documents/21/edit?language=de", "publish", german)
    assert "Geschenkkarten" in page
    assert (own_office.settings.company.policies / "de/021-geschenkkarten.md").is_file()
    assert 'href="/documents/21?language=de"' in editor.get("/documents")


def test_a_file_is_imported_beside_its_original_and_published_after_review(own_office: Office) -> None:
    editor = Editor(own_office)
    html = b"<html><body><h1>Gift <script>alert(1)</script>cards</h1><p>Enter the code of 16 letters.</p></body></html>"
    form = editor.forms("/documents/new")["import"]
    page = editor.send(form, files=[("../../gifts.html", html, "text/html")]).text
    text = text_in(page)
    assert "reviewed: false" in text
    assert "Enter the code of 16 letters." in text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page  # the original, as text
    link = page.partition('href="/documents/originals/')[2].partition('"')[0]
    kept = editor.client.get(f"/documents/originals/{link}")
    assert kept.content == html
    assert kept.headers["content-disposition"].startswith("attachment; filename*=UTF-8''gifts.html")
    assert "sandbox" in kept.headers["content-security-policy"]
    assert not list(own_office.settings.company.policies.glob("021*"))
    filled = text.replace("summary:   #", "summary: Gift cards. #").replace("url:   #", "url: https://h.example/g #")
    filled = filled.replace("valid_from:   #", "valid_from: 2026-01-01 #").replace(
        "audience:   #", "audience: everyone #"
    )
    page = editor.again(page, "look", text=filled.replace("reviewed: false", "reviewed: true"))
    assert "Enter the code of 16 letters." in page
    assert kept.content.decode().partition("<p>")[2][:14] in page  # the original stays beside it
    assert "Published." in editor.again(page, "publish")


def test_a_template_is_edited_published_and_rolled_back(own_office: Office) -> None:
    editor = Editor(own_office)
    path = "/documents/templates/en/subject.txt.j2"
    assert "Sample 1" in editor.get(path)
    old = text_in(editor.get(f"{path}/edit"))
    broken = editor.edited(f"{path}/edit", "publish", "{{ 1 + 1 }}")
    assert "It cannot be published" in broken
    file = own_office.settings.company.templates / "en/subject.txt.j2"
    assert file.read_text("utf-8") == old
    changed = editor.edited(f"{path}/edit", "look", old + "{# a note #}")
    page = editor.again(changed, "publish")
    if "Published." in page:
        link = editor.get(path).partition("/edit?version=")[2].partition('"')[0]
        assert text_in(editor.get(f"{path}/edit?version={link}")) == old


def test_an_error_elsewhere_is_said_because_the_agent_goes_on_with_its_old_files(own_office: Office) -> None:
    editor = Editor(own_office)
    other = own_office.settings.company.policies / "002-cancellation-policy.md"
    sound = other.read_text("utf-8")
    other.write_text(sound.replace("title: Cancellation policy", "title: Data export"), "utf-8")
    page = editor.edited(EDIT, "publish", text_in(editor.get(EDIT)).replace(OLD, NEW))
    assert "The running agent goes on with its old files until this is mended, too" in page
    assert "the title is also that of" in page
    assert "Published. The agent uses it" in editor.edited("/documents/2/edit", "publish", sound)
