"""Drafts: checked with the whole company, and written in the place of exactly the file that was edited."""

from __future__ import annotations

import stat
from datetime import date
from pathlib import Path

import pytest

from support_agent.config.settings import CompanySettings, Settings
from support_agent.core.findings import Severity
from support_agent.errors import PermanentError
from support_agent.ops.publishing import (
    MAX_BYTES,
    NEW,
    FileDraft,
    FileKind,
    FilePlace,
    check_draft,
    document_place,
    errors_of,
    present,
    publish,
    template_files,
    template_place,
    tried,
)
from tests.fakes_journey import TODAY, make_company


@pytest.fixture
def company(tmp_path: Path) -> CompanySettings:
    """Files that a test may change."""
    return make_company(tmp_path)


def draft_of(company: CompanySettings, changes: dict[str, str], number: int = 1) -> FileDraft:
    """The present file with these words changed."""
    place = document_place(company, number, None)
    now = present(company, place)
    text = now.text
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return FileDraft(place=place, text=text, base=now.digest)


def test_a_draft_is_written_whole_and_keeps_the_mode_of_the_file(company: CompanySettings) -> None:
    draft = draft_of(company, {"Yearly": "Annual"})
    path = company.policies / draft.place.name
    path.chmod(0o640)
    publish(company, draft)
    assert path.read_bytes() == draft.raw
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert not list(company.policies.glob(".*"))


def test_a_file_that_was_changed_meanwhile_is_not_overwritten(company: CompanySettings) -> None:
    draft = draft_of(company, {"Yearly": "Annual"})
    path = company.policies / draft.place.name
    path.write_text("somebody else's", encoding="utf-8")
    with pytest.raises(PermanentError) as refused:
        publish(company, draft)
    assert refused.value.code == "edited"
    assert path.read_text("utf-8") == "somebody else's"
    path.unlink()
    with pytest.raises(PermanentError, match="deleted"):
        publish(company, draft)
    assert not list(company.policies.glob(".*"))


def test_a_new_document_is_named_by_its_title_and_replaces_nothing(company: CompanySettings) -> None:
    place = document_place(company, 21, None, "Gift cards & möre")
    assert place.name == "021-gift-cards-more.md"
    publish(company, FileDraft(place=place, text="first"))
    with pytest.raises(PermanentError, match="added by somebody else"):
        publish(company, FileDraft(place=place, text="second"))
    assert (company.policies / place.name).read_text("utf-8") == "first\n"


def test_a_translation_makes_the_folder_of_its_language(company: CompanySettings) -> None:
    place = document_place(company, 2, "es", "Cancelar")
    publish(company, FileDraft(place=place, text="texto"))
    assert (company.policies / "es/002-cancelar.md").read_text("utf-8") == "texto\n"
    for language in ("..", "../x", "en", "e/s", "xx yy", "/etc"):
        with pytest.raises(PermanentError, match="no other language"):
            document_place(company, 2, language)


@pytest.mark.parametrize(
    "name", ["../x.md", "/etc/passwd", "a/b/c.md", ".hidden.md", "de/../x.md", "de/.x", "", "a\\b"]
)
def test_a_name_that_leads_out_of_the_folder_is_refused(company: CompanySettings, name: str) -> None:
    with pytest.raises(PermanentError):
        publish(company, FileDraft(place=FilePlace(kind=FileKind.DOCUMENT, name=name), text="x"))
    with pytest.raises(PermanentError):
        present(company, FilePlace(kind=FileKind.DOCUMENT, name=name))


def test_no_link_is_followed_or_replaced(company: CompanySettings, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "022-secret.md"
    secret.write_text("secret", encoding="utf-8")
    (company.policies / "022-secret.md").symlink_to(secret)
    place = document_place(company, 22, None)
    with pytest.raises(PermanentError, match="links are not followed"):
        present(company, place)
    with pytest.raises(PermanentError):
        publish(company, FileDraft(place=place, text="mine"))
    (company.policies / "it").symlink_to(outside, target_is_directory=True)
    with pytest.raises(PermanentError, match="links are not followed"):
        publish(company, FileDraft(place=FilePlace(kind=FileKind.DOCUMENT, name="it/023-mine.md"), text="mine"))
    assert list(outside.iterdir()) == [secret]
    assert secret.read_text("utf-8") == "secret"


def test_a_file_that_is_too_large_is_neither_read_nor_written(company: CompanySettings) -> None:
    place = document_place(company, 1, None)
    with pytest.raises(PermanentError, match="more than"):
        publish(company, FileDraft(place=place, text="x" * MAX_BYTES, base=present(company, place).digest))
    (company.policies / place.name).write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(PermanentError, match="more than"):
        present(company, place)


def test_templates_are_those_that_are_there_and_those_that_the_program_knows(company: CompanySettings) -> None:
    (company.templates / "de/digest.txt.j2").unlink()
    files = template_files(company)
    assert files["en/answer.txt.j2"]
    assert not files["de/digest.txt.j2"]
    assert template_place(company, "de/digest.txt.j2") is not None
    for name in ("en/evil.txt.j2", "xx/answer.txt.j2", "../policies/questions.toml", "tests/items.yaml", "en/../en/x"):
        assert template_place(company, name) is None


def test_the_whole_company_is_checked_with_the_draft_and_the_files_stay(company: CompanySettings) -> None:
    settings = Settings(company=company)
    draft = draft_of(company, {"title: Refund policy": "title: Cancellation policy"})
    findings = check_draft(settings, draft, TODAY)
    (error,) = [one for one in findings if one.severity is Severity.ERROR]
    assert "the title is also that of" in error.what
    assert str(error.path).startswith("policies/00")
    assert errors_of(settings, draft, findings, TODAY) == (error,)
    assert "Refund policy" in (company.policies / draft.place.name).read_text("utf-8")
    with tried(company, draft) as changed:
        assert "Cancellation policy" in (changed.policies / draft.place.name).read_text("utf-8")
        kept = changed.policies
    assert not kept.exists()


def test_an_error_elsewhere_that_was_there_before_does_not_hinder(company: CompanySettings) -> None:
    """Of two documents that have expired, each can be renewed."""
    settings = Settings(company=company)
    for number in (1, 2):
        path = company.policies / document_place(company, number, None).name
        path.write_text(path.read_text("utf-8").replace("audience:", "valid_until: 2026-01-31\naudience:"), "utf-8")
    renewed = draft_of(company, {"valid_until: 2026-01-31\n": ""}, 2)
    findings = check_draft(settings, renewed, TODAY)
    assert any("expired" in one.what for one in findings)
    assert errors_of(settings, renewed, findings, TODAY) == ()
    still = draft_of(company, {"Cancellation": "Cancelling"}, 2)
    assert errors_of(settings, still, check_draft(settings, still, TODAY), TODAY)


def test_a_template_that_fails_its_tests_or_hides_a_part_is_an_error(company: CompanySettings) -> None:
    settings = Settings(company=company)
    place = template_place(company, "en/document.txt.j2")
    assert place is not None
    now = present(company, place)
    draft = FileDraft(place=place, text="hidden", base=now.digest)
    findings = check_draft(settings, draft, date(2026, 11, 20))
    errors = errors_of(settings, draft, findings, TODAY)
    assert errors
    assert all(str(one.path).startswith("templates/") for one in errors)


def test_line_ends_of_browsers_become_those_of_files() -> None:
    place = FilePlace(kind=FileKind.DOCUMENT, name="001-x.md")
    assert FileDraft(place=place, text="a\r\nb\r\n\r\n", base=NEW).raw == b"a\nb\n"


NESTED = "[" * 20_000


@pytest.mark.parametrize(
    "draft",
    [
        FileDraft(place=FilePlace(kind=FileKind.TEMPLATE, name="en/words.yaml"), text=f"reason: {NESTED}"),
        FileDraft(place=FilePlace(kind=FileKind.TEMPLATE, name="tests/answers.yaml"), text=NESTED),
        FileDraft(
            place=FilePlace(kind=FileKind.DOCUMENT, name="001-refund.md"), text=f"---\nnumber: {NESTED}\n---\nText\n"
        ),
    ],
    ids=lambda draft: draft.place.name,
)
def test_a_file_that_no_parser_reads_is_an_error_of_that_file(company: CompanySettings, draft: FileDraft) -> None:
    """Attack: brackets without end. The page fails, and a worker that takes the file over dies, at each start again."""
    findings = check_draft(Settings(company=company), draft, TODAY)
    assert [
        one for one in findings if one.severity is Severity.ERROR and one.path and one.path.name in draft.place.name
    ]
