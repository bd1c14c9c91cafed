"""The files of a staff member's reply: those that may go to a customer, and why others do not."""

from __future__ import annotations

import pytest

from support_agent.config.desk import DeskSettings
from support_agent.errors import PermanentError
from support_agent.mail.message import Attachment, attached_bytes, parse
from support_agent.outbound.staff_files import TYPES, StaffFile, clean_name, enclosed, files_of, why_refused
from tests.unit.extraction.files import archive, pdf

PDF = pdf("a")
ALLOWED = tuple(TYPES)


def is_secret(text: str) -> bool:
    """Stands for the search for what a packet says."""
    return "case abc" in text


def reply(*parts: tuple[str, bytes]) -> bytes:
    """A reply with one line of text, and parts given by their fields and their 7-bit bytes."""
    body = b"".join(
        b"--b\r\n" + head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + raw + b"\r\n" for head, raw in parts
    )
    return b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nIt is attached.\r\n" + body + b"--b--\r\n"


def attached(name: str, declared: str) -> str:
    return f'Content-Type: {declared}; name="{name}"\nContent-Disposition: attachment; filename="{name}"'


def chosen(raw: bytes, **values: object) -> tuple[list[str], str]:
    """The names that go out, and why none does."""
    desk = DeskSettings.model_validate({"address": "desk@example.com", **values})
    found = files_of(parse(raw), raw, (), desk, is_secret)
    return [file.name for file in found.files], found.why_not


def test_files_go_out_under_a_clean_name_with_their_own_bytes() -> None:
    raw = reply((attached("..\\x/Rechnung: Mai.PDF", "application/octet-stream"), PDF))
    (file,) = files_of(parse(raw), raw, (), DeskSettings(), is_secret).files
    assert (file.name, file.content_type, file.size_bytes) == ("Rechnung Mai.PDF", "application/pdf", len(PDF))
    assert enclosed((file,), raw)[0].content == PDF == attached_bytes(raw)[file.position]


@pytest.mark.parametrize(
    ("head", "is_dropped"),
    [
        ("Content-Type: image/png\nContent-Disposition: inline\nContent-ID: <a@b>", True),
        ("Content-Type: application/pkcs7-signature; name=smime.p7s\nContent-Disposition: attachment", True),
        (attached("original.eml", "message/rfc822"), True),
        ("Content-Type: image/png\nContent-Disposition: attachment\nContent-ID: <a@b>", False),
        ("Content-Type: image/png\nContent-Disposition: inline", False),
        (attached("packet.eml", "message/rfc822"), False),
    ],
)
def test_logos_signatures_and_what_the_packet_enclosed_are_no_files(head: str, is_dropped: bool) -> None:
    """They are no loss; anything else that may not go out stops the reply, as its words may speak of it."""
    names, why = chosen(reply((head, b"ABC")))
    assert (names, not why) == ([], is_dropped)


def test_what_the_packet_enclosed_is_known_by_its_bytes() -> None:
    raw = reply((attached("mail.pdf", "application/pdf"), PDF))
    quoted = parse(raw).attachments[0].sha256
    assert files_of(parse(raw), raw, (quoted,), DeskSettings(), is_secret).files == ()


@pytest.mark.parametrize(
    ("name", "declared", "content", "why"),
    [
        ("a.exe", "application/octet-stream", b"MZ", "desk.reply_file_types"),
        ("a.html", "text/html", b"<p>", "desk.reply_file_types"),
        ("pdf", "application/pdf", PDF, "desk.reply_file_types"),
        ("a.docm", "application/octet-stream", b"PK\x03\x04", "desk.reply_file_types"),
        ("a.pdf.exe", "application/pdf", PDF, "desk.reply_file_types"),
        ("a.pdf", "application/x-msdownload", PDF, "declared as"),
        ("a.pdf", "application/pdf", b"MZ", "inside"),
        ("a.txt", "text/plain", b"MZ\x00\x01", "inside"),
        ("a.pdf", "application/pdf", b"%PDF-1 /JavaScript", "program"),
        ("a.docx", "application/octet-stream", archive({"[Content_Types].xml": b"vbaProject"}), "program"),
        ("a.docx", "application/octet-stream", b"PK\x03\x04 no archive", "broken"),
        ("a.txt", "text/plain", b"It is\ncase abc.", "repeats the packet"),
        ("a.csv", "text/csv", b"a;case abc;b", "repeats the packet"),
    ],
)
def test_dangerous_files_stop_the_reply(name: str, declared: str, content: bytes, why: str) -> None:
    part = Attachment(name=name, content_type=declared, size_bytes=len(content), sha256="")
    assert why in why_refused(part, content, ALLOWED, is_secret)


@pytest.mark.parametrize("name", TYPES)
def test_each_type_that_the_settings_may_name_can_go_out(name: str) -> None:
    kind = TYPES[name]
    whole: dict[tuple[bytes, ...], bytes] = {(b"PK\x03\x04",): archive({"a": b"a"}), (b"%PDF-",): PDF}
    content = whole.get(kind.begins, (kind.begins or (b"a",))[0])
    for ending in kind.endings:
        part = Attachment(name=f"a.{ending.upper()}", content_type=name, size_bytes=1, sha256="")
        assert why_refused(part, content, (name,), is_secret) == ""
        assert why_refused(part, content, (), is_secret)


def test_number_and_bytes_are_limited_and_the_notice_says_what_to_do() -> None:
    two = reply(*[(attached(f"{number}.pdf", "application/pdf"), PDF) for number in range(2)])
    assert chosen(two) == (["0.pdf", "1.pdf"], "")
    assert "desk.max_reply_files is 1: send fewer" in chosen(two, max_reply_files=1)[1]
    assert f"desk.max_reply_files_bytes is {len(PDF)}: send smaller" in chosen(two, max_reply_files_bytes=len(PDF))[1]
    assert "write to the customer directly" in chosen(reply((attached("a.exe", "text/plain"), b"")))[1]


def test_files_of_another_stored_reply_are_noticed() -> None:
    file = StaffFile(position=0, name="a.pdf", content_type="application/pdf", size_bytes=1, sha256="0" * 64)
    with pytest.raises(PermanentError, match="no longer has the file"):
        enclosed((file,), reply((attached("a.pdf", "application/pdf"), PDF)))


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("", "file"),
        ("/etc/passwd", "passwd"),
        ("C:\\tmp\\a.pdf", "a.pdf"),
        ('a"b\r\n.pdf', "a b.pdf"),
        ("invoice\u202efdp.exe", "invoice fdp.exe"),
        ("Überweisung März.pdf", "Überweisung März.pdf"),
        ("..", "file"),
        ("x" * 300 + ".pdf", "x" * 96 + ".pdf"),
    ],
)
def test_names_hold_no_path_mark_or_invisible_character(name: str, clean: str) -> None:
    assert clean_name(name) == clean
