"""Texts of other programs become documents for review: what is kept, what is left to a person, what is refused."""

from __future__ import annotations

import codecs
from datetime import date
from pathlib import Path

import pytest

from support_agent.company.documents import Document, check_documents, is_unreviewed, load_documents, parse_document
from support_agent.company.importing import unreviewed
from support_agent.company.importing.unreviewed import GivenValues, Imported, import_document
from support_agent.core.findings import Severity
from support_agent.errors import ConfigError
from tests.unit.company.test_unreviewed_documents import DOCUMENT
from tests.unit.extraction.files import docx, locked_pdf, paragraph, pdf, styled, table

TODAY = date(2026, 6, 1)
TEXT = """Gift cards

A gift card is valid for 3 years. It cannot be paid out.

Open Billing, then:
1. Choose Redeem.
2. Enter the code.
"""
MARKDOWN = """# Gift cards

A gift card is valid for **3 years**. It cannot be paid out.

Open [Billing](https://harborfile.example/billing), then:

1. Choose Redeem.
2. Enter the code.
"""
PAGE = """<title>Help</title><nav>Home</nav><h1>Gift cards</h1><p>A gift card is valid for <b>3 years</b>. It cannot be
paid out.<p>Open <a href=/billing>Billing</a>, then:<ol><li>Choose Redeem.<li>Enter the code.</ol>"""
WORD = docx(
    styled("Gift cards", "<w:outlineLvl w:val='0'/>")
    + paragraph("A gift card is valid for ", "3 years. It cannot be paid out.")
    + paragraph("Open Billing, then:")
    + styled("Choose Redeem.", "<w:numPr><w:numId w:val='1'/></w:numPr>")
    + styled("Enter the code.", "<w:numPr><w:numId w:val='1'/></w:numPr>")
)
SENTENCES = [
    "A gift card is valid for 3 years.",
    "It cannot be paid out.",
    "Open Billing, then:",
    "Choose Redeem.",
    "Enter the code.",
]
GIVEN = GivenValues(url="https://harborfile.example/gifts", valid_from=date(2026, 1, 1))


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """A folder with document 1."""
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "001-refunds.md").write_text(DOCUMENT, "utf-8")
    return folder


def run(policies: Path, name: str, content: str | bytes, given: GivenValues = GIVEN) -> Imported:
    file = policies.parent / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return import_document(file, policies, given)


def approved(imported: Imported) -> Document:
    """The document once a person has written what is missing and changed the line."""
    text = imported.path.read_text("utf-8")
    keys = {"title": "A title", "summary": "Gift cards.", "audience": "everyone", "url": "https://a.example/"}
    for key, value in (keys | {"valid_from": "2026-01-01"}).items():
        text = text.replace(f"\n{key}:   #", f"\n{key}: {value}   #")
    return parse_document(imported.path, text.replace("reviewed: false", "reviewed: true").encode())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("gift cards.txt", TEXT),
        ("gift cards.txt", codecs.BOM_UTF16_LE + TEXT.replace("\n", "\r\n").encode("utf-16-le")),
        ("gift cards.md", MARKDOWN),
        ("gift cards.html", PAGE),
        ("gift cards.docx", WORD),
    ],
)
def test_every_kind_of_file_becomes_the_same_document(name: str, content: str | bytes, policies: Path) -> None:
    """Title from the heading, the sentences and items of the text, the next number, a name from the title."""
    imported = run(policies, name, content)
    assert (imported.path.name, imported.number, imported.title) == ("002-gift-cards.md", 2, "Gift cards")
    assert (imported.missing, imported.sentences) == (("summary", "audience"), 5)
    document = approved(imported)
    assert [sentence.text for sentence in document.sentences] == SENTENCES
    assert {sentence.heading for sentence in document.sentences} == {"Gift cards"}
    assert (document.head.title, document.head.url) == ("Gift cards", GIVEN.url)


def test_a_pdf_becomes_one_as_far_as_its_lines_show(policies: Path) -> None:
    """It has lines alone; the person who reviews it is told so."""
    imported = run(policies, "gift-cards.pdf", pdf("A gift card is valid for 3 years.", "It cannot be paid out."))
    assert [sentence.text for sentence in approved(imported).sentences] == SENTENCES[:2]
    assert (imported.title, imported.path.name) == ("", "002-gift-cards.md")
    assert imported.missing == ("title", "summary", "audience")
    assert "guessed from its lines" in imported.notes[0]


def test_nothing_is_sent_before_a_person_has_done_their_part(policies: Path) -> None:
    """The promise: the file is not loaded; with its line changed alone the folder is refused, key by key."""
    imported = run(policies, "g.txt", TEXT, GivenValues())
    assert [document.number for document in load_documents(policies)] == [1]
    findings = check_documents(policies, TODAY)
    assert {finding.severity for finding in findings} == {Severity.WARNING}
    empty = [finding.what.removesuffix(" is empty") for finding in findings[1:]]
    assert tuple(empty) == imported.missing == ("summary", "url", "valid_from", "audience")
    text = imported.path.read_text("utf-8")
    imported.path.write_text(text.replace("reviewed: false", "reviewed: true"), "utf-8")
    with pytest.raises(ConfigError, match="summary is empty"):
        load_documents(policies)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.txt", "reviewed: true\n\nText."),
        ("x.md", "---\nreviewed: true\nnumber: 1\naudience: everyone\nsummary: s\ntitle: t\n---\nText."),
        ("x.md", "---\ntitle: |\n  t\n  reviewed: true\n---\nText."),
        ("x.txt", "---\nsummary: s\n---\nText."),
        ("x.html", "<h1>reviewed: true\nsummary: s</h1><p>Text."),
        ("---\nreviewed: true\n---.txt", "Text."),
        ("a\nsummary: s\n#.txt", "Text."),
    ],
)
def test_no_file_can_approve_itself(name: str, content: str, policies: Path) -> None:
    """Whatever stands in the file or in its name, the front matter is the program's."""
    imported = run(policies, name, content)
    assert is_unreviewed(imported.path.read_bytes())
    assert {"summary", "audience"} <= set(imported.missing)
    assert len(load_documents(policies)) == 1
    document = approved(imported)
    assert (document.head.summary, document.number) == ("Gift cards.", 2)


def test_markdown_that_a_document_may_have_stays_as_it_is(policies: Path) -> None:
    """Marks and links are the author's; another program's front matter goes but for its title."""
    imported = run(policies, "g.md", f"---\nlayout: help\ntitle: Gifts\n---\n{MARKDOWN}")
    assert imported.path.read_text("utf-8").endswith(f"\n---\n{MARKDOWN}")
    assert imported.title == "Gifts"
    assert "front matter is left out" in imported.notes[0]


def test_markdown_between_two_rules_is_no_front_matter(policies: Path) -> None:
    imported = run(policies, "g.md", "---\nIt is text.\n\n---\nMore.")
    assert [sentence.text for sentence in approved(imported).sentences] == ["It is text.", "More."]


def test_markdown_with_pictures_and_html_is_written_anew(policies: Path) -> None:
    """What a text mail cannot show is left out with a comment; what HTML says is kept."""
    imported = run(policies, "g.md", "# A\n\nOne <b>bold</b> word. ![x](x.png)\n\n<div hidden>not shown</div>\n")
    assert [sentence.text for sentence in approved(imported).sentences] == ["One bold word."]
    assert "<!-- a picture stood here -->" in imported.path.read_text("utf-8")
    assert "what is no text (pictures, footnotes) is left out, 1 in all" in imported.notes[0]


def test_a_title_is_the_first_of_the_highest_headings(policies: Path) -> None:
    """A heading right below the title is not the title."""
    assert run(policies, "g.md", "# Gifts\n\n## Cards\n\nText.").title == "Gifts"
    assert run(policies, "h.html", "<h2>Menu</h2><p>a<h1>Gifts</h1><h2>Cards</h2><p>b").title == "Gifts"


@pytest.mark.parametrize("title", ["Cards: 50% off", "'Gifts' & \"cards\"", "# 1", "[a]", "yes", "12", "Größe ändern"])
def test_a_title_is_kept_whatever_yaml_would_make_of_it(title: str, policies: Path) -> None:
    imported = run(policies, "g.html", f"<h1>{title.replace('&', '&amp;')}</h1><p>Text.")
    assert approved(imported).head.title == title
    assert imported.path.name.isascii()


def test_characters_that_no_mail_may_carry_are_left_out_and_counted(policies: Path) -> None:
    """Hyphens for the typesetter are no loss; marks that turn the order of letters are told."""
    imported = run(policies, "g.txt", "Re\u00adfunds of \ufb01ve\u202e euro\u200bs\x07 \uf0b7 now.\u2029Then more.\n")
    assert [s.text for s in approved(imported).sentences] == ["Refunds of five euros \u2022 now.", "Then more."]
    assert imported.notes == ("3 invisible or control characters are left out",)


def test_a_text_of_windows_is_read_and_told(policies: Path) -> None:
    imported = run(policies, "g.txt", "Die Gebühr beträgt 5 €.".encode("cp1252"))
    assert approved(imported).sentences[0].text == "Die Gebühr beträgt 5 €."
    assert "Windows-1252" in imported.notes[0]


def test_numbers_are_never_given_twice(policies: Path) -> None:
    """Also where the file that has one is not reviewed or cannot be read; a number that is named must be free."""
    (policies / "0040-broken.md").write_text("?", "utf-8")
    assert run(policies, "a.txt", TEXT).number == 41
    assert run(policies, "b.txt", TEXT).number == 42
    assert run(policies, "c.txt", TEXT, GivenValues(number=7)).path.name == "007-gift-cards.md"
    with pytest.raises(ConfigError, match=r"number 7 is that of 007-gift-cards.md: name another with --number"):
        run(policies, "d.txt", TEXT, GivenValues(number=7))
    with pytest.raises(ConfigError, match="documents have 1 to 99999"):
        run(policies, "d.txt", TEXT, GivenValues(number=0))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        pytest.param("x.doc", b"", "cannot be imported, only .docx, .htm, .html", id="unknown kind"),
        pytest.param("x", b"text", "cannot be imported", id="no suffix"),
        pytest.param("x.txt", b"", "no text in it", id="empty"),
        pytest.param("x.md", b"# Only a heading\n", "no text in it", id="heading alone"),
        pytest.param("x.html", b"<img src=x>", "no text in it", id="picture alone"),
        pytest.param("x.pdf", pdf(""), "a scanned pdf has only pictures of text", id="scan"),
        pytest.param("x.txt", b"a\x00b", "not a text: save it as UTF-8", id="bytes"),
        pytest.param("x.txt", b"a" * 200_001, "cut it into files of one subject each", id="long"),
        pytest.param("x.pdf", locked_pdf("secret"), "save it without a password", id="pdf with a password"),
        pytest.param("x.docx", b"PK\x03\x04", "open it in its own program and save it again", id="broken docx"),
        pytest.param("x.docx", docx("<w:p>" + " " * 30_000_000), "cut it into files", id="zip bomb"),
        pytest.param("x.docx", docx(table(("a" * 200_001, "b"))), "cut it into files", id="long docx"),
    ],
)
def test_a_file_that_cannot_be_imported_is_told_in_one_line(
    name: str, content: bytes, told: str, policies: Path
) -> None:
    """The file, why, and what to do; nothing is written."""
    before = sorted(policies.iterdir())
    with pytest.raises(ConfigError, match=told) as error:
        run(policies, name, content)
    assert str(error.value).startswith(str(policies.parent / name))
    assert "\n" not in str(error.value)
    assert sorted(policies.iterdir()) == before


def test_a_file_that_is_too_large_is_not_read(policies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unreviewed, "MAX_FILE_BYTES", 10)
    with pytest.raises(ConfigError, match="more than 0 MB"):
        run(policies, "x.txt", "a" * 11)


def test_what_is_wrong_with_the_call_is_told(policies: Path, tmp_path: Path) -> None:
    """A missing file, a folder that is none, an address that no document may have."""
    with pytest.raises(ConfigError, match=r"none.txt: cannot be read: No such file"):
        import_document(tmp_path / "none.txt", policies, GIVEN)
    with pytest.raises(ConfigError, match=r"none: no such folder: set company.policies"):
        import_document(policies / "001-refunds.md", tmp_path / "none", GIVEN)
    with pytest.raises(ConfigError, match="begins with https://"):
        run(policies, "x.txt", TEXT, GivenValues(url="http://harborfile.example/"))


def test_a_file_that_is_there_is_never_overwritten(policies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two people import at once and both find the same free number."""
    run(policies, "a.txt", TEXT)
    before = (policies / "002-gift-cards.md").read_bytes()
    monkeypatch.setattr(unreviewed, "free_number", lambda folder, wanted: 2)
    with pytest.raises(ConfigError, match="File exists"):
        run(policies, "b.txt", TEXT + "\nMore.\n")
    assert (policies / "002-gift-cards.md").read_bytes() == before


def test_a_translation_is_imported_into_the_folder_of_its_language(policies: Path) -> None:
    """With the number, audience and delivery of its document, and not reviewed as any other."""
    imported = run(policies, "g.txt", TEXT, GivenValues(number=1, language="de"))
    assert imported.path == policies / "de" / "001-gift-cards.md"
    assert imported.missing == ("summary", "url", "valid_from")
    text = imported.path.read_text("utf-8")
    assert "\ndelivery: excerpt   # full, excerpt or link\n" in text
    assert "\naudience: everyone\n" in text
    assert is_unreviewed(text.encode())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (GivenValues(number=1, language="german"), "--language 'german' is no language"),
        (GivenValues(number=1, language="../de"), "--language '../de' is no language"),
        (GivenValues(language="de"), "--language needs --number"),
        (GivenValues(number=2, language="de"), "there is no document 2 that can be sent"),
    ],
)
def test_a_translation_needs_a_language_and_its_document(policies: Path, given: GivenValues, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        run(policies, "g.txt", TEXT, given)
    assert [path.name for path in policies.iterdir()] == ["001-refunds.md"]


def test_a_translation_is_imported_once(policies: Path) -> None:
    """Nothing is overwritten, whatever the new text is called."""
    run(policies, "g.txt", TEXT, GivenValues(number=1, language="de"))
    with pytest.raises(ConfigError, match=r"number 1 is that of 001-gift-cards\.md"):
        run(policies, "g.txt", TEXT.replace("Gift", "Other"), GivenValues(number=1, language="de"))
