"""Words inside attachments: read where the mail has none of its own, in bounded time, and never lost in silence."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from support_agent.mail.message import Message, parse
from support_agent.mail.text.attachment_text import asked_text, speaks_through_attachments, with_attached_text
from tests.unit.extraction.files import STRICT, docx, paragraph, pdf


def mail(text: str, *files: tuple[str, str, bytes]) -> bytes:
    message = EmailMessage()
    message["From"] = "Anna Keller <anna@example.net>"
    message.set_content(text)
    for name, content_type, raw in files:
        main, _, sub = content_type.partition("/")
        message.add_attachment(raw, maintype=main, subtype=sub, filename=name)
    return message.as_bytes()


def read(text: str, *files: tuple[str, str, bytes], limit: int = 4_000) -> Message:
    raw = mail(text, *files)
    return with_attached_text(parse(raw), lambda: raw, limit)


def limits(message: Message) -> list[str]:
    return [defect for defect in message.defects if defect.startswith("limit: ")]


ANY = "application/octet-stream"


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(("q.txt", "text/plain", b"How do I cancel?\n"), id="txt"),
        pytest.param(("q.txt", ANY, "\ufeffHow do I cancel?".encode("utf-16")), id="txt of Windows"),
        pytest.param(("Q.MD", ANY, b"How do I cancel?"), id="md"),
        pytest.param(("q.pdf", ANY, pdf("How do I cancel?")), id="pdf"),
        pytest.param(("", "application/pdf", pdf("How do I cancel?")), id="pdf by type"),
        pytest.param(("q.docx", ANY, docx(paragraph("How do ", "I cancel?"))), id="docx"),
        pytest.param(("q.docx", ANY, docx(paragraph("How do ", "I cancel?"), STRICT)), id="docx, strict"),
    ],
)
def test_a_mail_without_words_asks_what_its_attachment_asks(file: tuple[str, str, bytes]) -> None:
    message = read("", file)
    assert asked_text(message) == "How do I cancel?"
    assert limits(message) == []


def test_words_that_only_point_are_kept_before_the_attachment() -> None:
    """Nothing of what the customer wrote is dropped, whatever the rule takes it for."""
    message = read("Hello,\n\nI cancel. Please see the attached letter.\n", ("l.txt", "text/plain", b"Cancel Pro."))
    assert asked_text(message) == "Hello,\n\nI cancel. Please see the attached letter.\n\nCancel Pro."


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ("", True),
        ("Please find attached my letter.", True),
        ("Siehe Anhang.", True),
        ("Anbei mein Schreiben, danke.", True),
        ("Ver documento adjunto", True),
        ("Voir pièce jointe.", True),
        ("添付をご覧ください。", True),
        ("How do I open the attached file?", False),
        ("I want to cancel my plan.", False),
        ("Please cancel. " * 20 + "Letter attached.", False),
    ],
)
def test_words_of_its_own_come_first(text: str, speaks: bool) -> None:
    assert speaks_through_attachments(parse(mail(text, ("l.txt", "text/plain", b"x")))) is speaks
    assert not speaks_through_attachments(parse(mail(text, ("l.png", "image/png", b"x"))))


def test_an_attachment_is_not_opened_where_the_mail_speaks_for_itself() -> None:
    message = parse(mail("How do I cancel?", ("l.txt", "text/plain", b"x")))

    def raw() -> bytes:
        raise AssertionError("opened")

    assert with_attached_text(message, raw, 4_000) is message
    assert with_attached_text(parse(mail("", ("l.txt", "text/plain", b"x"))), raw, 0).attachments[0].text == ""


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(("q.txt", "text/plain", b"word " * 2_000), id="txt"),
        pytest.param(("q.pdf", ANY, pdf(*["word " * 100] * 12)), id="pdf"),
        pytest.param(("q.pdf", ANY, pdf(*["a"] * 40)), id="pdf of many pages"),
        pytest.param(("q.docx", ANY, docx(paragraph(*["word "] * 2_000))), id="docx"),
    ],
)
def test_text_over_the_bound_is_cut_and_told(file: tuple[str, str, bytes]) -> None:
    message = read("", file)
    assert len(asked_text(message)) <= 4_000
    assert "not read whole" in limits(message)[0]


ENTITIES = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>"


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(("q.pdf", ANY, b""), id="empty"),
        pytest.param(("q.pdf", ANY, b"%PDF-1.4\n" + b"1 0 obj<<" * 20_000), id="pdf of nothing but openings"),
        pytest.param(("q.pdf", ANY, pdf("How do I cancel?")[:200]), id="pdf that is cut"),
        pytest.param(("q.docx", ANY, b"PK\x03\x04 no zip"), id="no zip"),
        pytest.param(("q.docx", ANY, docx(paragraph("&b;"), prologue=ENTITIES)), id="entities"),
        pytest.param(("q.docx", ANY, docx("<w:p>" + " " * 30_000_000)), id="zip bomb"),
        pytest.param(("q.docx", ANY, docx(paragraph("How do I cancel?"))[:-40]), id="docx that is cut"),
    ],
)
def test_hostile_documents_give_no_text_and_are_told(file: tuple[str, str, bytes]) -> None:
    message = read("", file)
    assert asked_text(message) == ""
    assert limits(message)


def test_a_reader_that_hangs_or_dies_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support_agent.mail.text.attachment_text.TIMEOUT_S", 0.001)
    assert limits(read("", ("q.pdf", ANY, pdf("How do I cancel?"))))
    monkeypatch.setattr("support_agent.mail.text.attachment_text.TIMEOUT_S", 20)
    monkeypatch.setattr("support_agent.mail.text.attachment_text.MEMORY_BYTES", 1_000)
    assert limits(read("", ("q.pdf", ANY, pdf("How do I cancel?"))))


def test_all_attachments_of_a_mail_have_one_time_together() -> None:
    """Five that take long must not keep every other mail waiting five times as long."""
    raw = mail("", *[(f"{n}.txt", "text/plain", b"%d" % n) for n in range(4)])
    instants = iter([100.0, 100.0, 119.9, 120.0, 500.0])
    message = with_attached_text(parse(raw), lambda: raw, 4_000, lambda: next(instants))
    assert [one.text for one in message.attachments] == ["0", "1", "", ""]
    assert limits(message) == [f"limit: an attachment whose text is not read whole: {n}.txt" for n in (2, 3)]


def test_what_word_does_not_show_is_not_read() -> None:
    """Instructions for a model are hidden like this."""
    hidden = "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>x</w:t></w:r><w:del><w:r><w:t>y</w:t></w:r></w:del></w:p>"
    shown = "<w:p><w:r><w:rPr><w:vanish w:val='0'/></w:rPr><w:t>z</w:t></w:r></w:p>"
    assert asked_text(read("", ("q.docx", ANY, docx(hidden + shown)))) == "z"


def test_more_attachments_than_a_person_sends_are_told() -> None:
    message = read("", *[(f"{n}.txt", "text/plain", b"x") for n in range(7)])
    assert asked_text(message) == "\n\n".join("x" * 5)
    assert limits(message) == ["limit: more than 5 attachments with text"]
