"""What a file of a reply holds: programs that stop it, and the text that is searched for the packet."""

from __future__ import annotations

import zlib

import pytest

from support_agent.outbound.file_contents import MAX_ENTRIES, MAX_PAGES, PDF_LIMITS, look_into
from tests.unit.extraction.files import archive, docx, locked_pdf, paragraph, pdf

TYPES = b'<Types><Override PartName="/word/a.bin" ContentType="application/vnd.ms-office.%s"/></Types>'
PAGE = zlib.compress(b"99 0 << /Type /Page >>")
PAGE_STREAM = b"/Type /ObjStm /N 1 /First 5 /Filter /FlateDecode /Length %d"
OBJECTS = b"1 0 obj << /S /JavaScript /JS (app.alert(1)) >>"


def packed(content: bytes, dictionary: bytes = b"/Type /ObjStm /Filter /FlateDecode") -> bytes:
    """A PDF with objects in a stream, as PDF 1.5 and later writes them."""
    return b"%PDF-1.5\n7 0 obj << " + dictionary + b" >>\nstream\n" + content + b"\nendstream\nendobj\n"


@pytest.mark.parametrize(
    "content",
    [
        b"%PDF-1 /S /JavaScript /JS (app.alert(1)) /OpenAction 4 0 R", b"%PDF-1 /S /J#61vaScript /JS 3 0 R",
        b"%PDF-1 /S/#4a#61#76#61#53#63#72#69#70#74", b"%PDF-1 /AA << /O << /S /SubmitForm >> >>",
        b"%PDF-1 /S /Launch /F (a.exe)", b"%PDF-1 /Names << /EmbeddedFiles 4 0 R >>", b"%PDF-1 /Type /EmbeddedFile",
        packed(zlib.compress(OBJECTS)), packed(zlib.compress(OBJECTS.replace(b"Java", b"#4aav#61"))),
        packed(zlib.compress(OBJECTS), b"/Type /Obj#53tm /Filter /FlateDecode"),
    ],
)  # fmt: skip
def test_pdf_with_an_action_is_found_however_its_name_is_written(content: bytes) -> None:
    """Names may be written with #xx, and objects packed."""
    assert "holds a program" in look_into(content).why_not


@pytest.mark.parametrize(
    "content",
    [
        packed(OBJECTS.hex().encode(), b"/Type /ObjStm /Filter [/ASCIIHexDecode /FlateDecode]"), packed(b"xyz"),
        packed(zlib.compress(OBJECTS)[:9]), packed(zlib.compress(b"a")) + b"trailer << /Encrypt 8 0 R >>",
        archive({"a.txt": b"a"})[:-9], b"PK\x03\x04", locked_pdf("secret"), b"%PDF-1.4\ngarbage", b"%PDF-",
        pdf("a").replace(b"trailer", b""), pdf("a")[:200], archive({"a.pdf": locked_pdf("secret")}),
        pdf(*["a"] * (MAX_PAGES + 1)), pdf("a" * (PDF_LIMITS.max_characters + 1)),
    ],
)  # fmt: skip
def test_what_cannot_be_looked_into_is_refused(content: bytes) -> None:
    """Rule: fails closed.

    Failure: a PDF with a password, without a trailer or of nothing but garbage went out as a file without text.
    """
    assert "cannot be checked" in look_into(content).why_not


@pytest.mark.parametrize(
    "content",
    [
        pdf("a").replace(b"/Catalog", b"/Catalog /OpenAction [10 0 R /Fit] /S /URI /JavaScriptless 1"),
        pdf("a").replace(b"trailer", packed(PAGE, PAGE_STREAM % len(PAGE))[9:] + b"trailer"),
        locked_pdf(""), pdf(*["a"] * MAX_PAGES), pdf("About JavaScript"), docx(paragraph("About vbaProject")),
        b"<script> in a log",
        archive({"xl/printerSettings/printerSettings1.bin": b"H\x00P\x00", "[Content_Types].xml": TYPES % b"printer"}),
        b"GIF89a\x00", b"",
    ],
)  # fmt: skip
def test_files_without_programs_go_out(content: bytes) -> None:
    """Most PDFs open at a page, and most workbooks have settings of a printer."""
    assert look_into(content).why_not == ""


@pytest.mark.parametrize(
    "files",
    [
        {"word/vbaProject.bin": b"x"}, {"word/a.bin": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"},
        {"word/other.bin": b"x", "[Content_Types].xml": TYPES % b"vbaProject"},
        {"word/other.bin": b"x", "[Content_Types].xml": TYPES % b"&#118;baProject"},
        {"word/_rels/document.xml.rels": b"<Relationship Type='http://schemas/oleObject'/>"},
        {"word/embeddings/oleObject1.bin": b"MZ"}, {"word/media/image1.png": b"MZ"}, {"setup.exe": b"x"},
        {"mimetype": b"opendocument", "Basic/Standard/Module1.xml": b"Sub x"},
        {"mimetype": b"opendocument", "Scripts/python/evil": b"x"},
        {"word/embeddings/sheet.xlsx": archive({"xl/vbaProject.bin": b"MZ"})}, {"a.pdf": b"%PDF-1 /JavaScript"},
    ],
)  # fmt: skip
def test_archive_with_a_program_is_found_whatever_it_is_called(files: dict[str, bytes]) -> None:
    assert "holds a program" in look_into(archive(files)).why_not


def test_script_in_a_picture_is_found() -> None:
    """A picture that is also a page runs where a server calls it one."""
    assert "holds a program" in look_into(b"GIF89a/*<script>alert(1)</script>*/").why_not


def test_archives_are_opened_within_bounds() -> None:
    """A few kilobytes can expand to any size."""
    assert "expands to far more" in look_into(archive({"word/document.xml": b"0" * 20_000_000})).why_not
    assert "more than" in look_into(archive(dict.fromkeys(map(str, range(MAX_ENTRIES + 1)), b""))).why_not
    nested = archive({"a.zip": archive({"b.zip": archive({"c.txt": b"c"})})})
    assert "not looked into" in look_into(nested).why_not


@pytest.mark.parametrize(
    "content",
    [
        b"Why it stopped", "Why it stopped".encode("utf-16"), pdf("Why it stopped"),
        docx(paragraph("Why ", "it stop", "ped")), archive({"xl/sharedStrings.xml": b"<t>Why it &#115;topped</t>"}),
        archive({"content.xml": b"<text:p>Why it <b>stop</b>ped</text:p>"}), archive({"a.txt": b"Why it stopped"}),
    ],
)  # fmt: skip
def test_the_text_of_a_file_is_read(content: bytes) -> None:
    """So that it can be searched for what is for staff only."""
    found = look_into(content)
    assert (found.why_not, "Why it stopped" in found.text) == ("", True)
