"""Documents in several languages: what belongs together, who is sent which, and what keeps one from being used."""

from __future__ import annotations

import errno
from datetime import date
from pathlib import Path

import pytest

from support_agent.company.document_languages import (
    Library,
    check_translations,
    in_language,
    languages_of,
    load_library,
)
from support_agent.core.findings import Finding, Severity
from support_agent.errors import ConfigError

TODAY = date(2026, 6, 1)
BODY = "## Time\n\nWithin {days} days.\n\n## Exceptions\n\nNone.\n"


def put(policies: Path, name: str, body: str = BODY.format(days=14), **head: str) -> Path:
    """Writes a document, in the folder that its name says."""
    number = int(Path(name).name.partition("-")[0])
    keys = {
        "number": str(number),
        "title": f"Title of {name}",
        "summary": "What it is about.",
        "url": f"https://harborfile.example/{name}",
        "valid_from": "2026-01-01",
        **head,
    }
    path = policies / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("---\n" + "".join(f"{key}: {value}\n" for key, value in keys.items()) + f"---\n{body}", "utf-8")
    return path


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """Documents 1 and 2 in English, and the first in German and in Brazilian Portuguese."""
    for name in ("001-refunds.md", "002-gifts.md", "de/001-erstattung.md", "pt-BR/001-reembolso.md"):
        put(tmp_path, name)
    return tmp_path


def check(policies: Path, locale: str = "en") -> list[Finding]:
    return list(check_translations(policies, locale, TODAY))


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


def refused(policies: Path, locale: str = "en") -> str:
    with pytest.raises(ConfigError) as caught:
        load_library(policies, locale)
    return str(caught.value)


def sent(library: Library, locale: str, today: date = TODAY) -> dict[int, str | None]:
    """The language of what goes out in the place of each document."""
    return {number: document.language for number, document in in_language(library, locale, today).items()}


def test_a_document_has_one_number_and_a_version_for_each_language(policies: Path) -> None:
    """The folder says the language; outside such folders it is the company's. All is in order."""
    documents, translations = load_library(policies, "en")
    assert [(document.number, document.language) for document in documents] == [(1, "en"), (2, "en")]
    assert [(document.number, document.language) for document in translations] == [(1, "de"), (1, "pt-BR")]
    assert len({document.version for document in (*documents, *translations)}) == 4
    assert translations[0].head.title == "Title of de/001-erstattung.md"
    assert check(policies) == []
    assert languages_of(policies) == ["de", "pt-BR"]


@pytest.mark.parametrize(
    ("locale", "expected"),
    [
        ("de", {1: "de"}),
        ("de-AT", {1: "de"}),
        ("pt-BR", {1: "pt-BR"}),
        ("pt-PT", {1: "pt-BR"}),
        ("pt", {1: "pt-BR"}),
        ("en-GB", {}),
        ("en", {}),
        ("fr", {}),
    ],
)
def test_a_reader_gets_their_own_language_else_the_documents(
    policies: Path, locale: str, expected: dict[int, str]
) -> None:
    """Of the same language as written elsewhere rather than of another; document 2 is in English alone."""
    assert sent(load_library(policies, "en"), locale) == expected


def test_a_country_of_the_companys_own_language_may_have_its_own(policies: Path) -> None:
    put(policies, "en-US/002-gifts.md", BODY.format(days=30))
    library = load_library(policies, "en")
    assert sent(library, "en-US") == {2: "en-US"}
    assert sent(library, "en-GB") == {}


def test_a_company_that_writes_german_falls_back_to_german(tmp_path: Path) -> None:
    """English is no language of its own kind here."""
    put(tmp_path, "001-erstattung.md")
    put(tmp_path, "en/001-refunds.md")
    library = load_library(tmp_path, "de-DE")
    assert [sent(library, locale) for locale in ("de", "fr", "en-GB")] == [{}, {}, {1: "en"}]


def test_a_translation_that_is_not_valid_gives_way_to_its_document(policies: Path) -> None:
    """It is named by `check`; the document still holds."""
    put(policies, "de/001-erstattung.md", valid_until="2026-05-31")
    assert sent(load_library(policies, "en"), "de", date(2026, 5, 31)) == {1: "de"}
    assert sent(load_library(policies, "en"), "de") == {}
    expired, different = check(policies)
    assert (expired.severity, expired.what) == (Severity.ERROR, "expired on 2026-05-31")
    assert different.what == "valid_until is 2026-05-31, and that of 001-refunds.md is not set"


def test_a_translation_without_its_document_is_refused(policies: Path) -> None:
    path = put(policies, "de/003-neu.md")
    finding = only(check(policies))
    assert (finding.path, finding.line, finding.severity) == (path, 2, Severity.ERROR)
    assert finding.what == "there is no document 3 in the company's own language, 'en'"
    assert finding.what in refused(policies)


def test_a_translation_of_what_is_not_reviewed_waits_with_it(policies: Path) -> None:
    """Nobody is sent either, and nothing stops the others."""
    put(policies, "002-gifts.md", reviewed="false")
    put(policies, "de/002-gutscheine.md")
    library = load_library(policies, "en")
    assert [(document.number, document.language) for document in library.translations] == [(1, "de"), (1, "pt-BR")]
    assert check(policies) == []


def test_a_translation_that_is_not_reviewed_is_sent_to_nobody(policies: Path) -> None:
    """Even where it is all that its language has."""
    put(policies, "de/001-erstattung.md", reviewed="false")
    assert sent(load_library(policies, "en"), "de") == {}
    assert "not reviewed" in only(check(policies)).what


@pytest.mark.parametrize(
    ("name", "locale", "said"),
    [
        ("en/001-refunds.md", "en", "document 1 in 'en' is also 001-refunds.md"),
        ("de/001-rueckzahlung.md", "en", "number 1 is also the number of 001-erstattung.md"),
        ("de/001-zweite.md", "de", "document 1 in 'de' is also 001-refunds.md"),
    ],
)
def test_two_of_one_number_and_language_are_refused(policies: Path, name: str, locale: str, said: str) -> None:
    """In one folder, or in that of the company's own language."""
    put(policies, name, BODY.format(days=15))
    assert said in refused(policies, locale)
    assert said in " ".join(finding.what for finding in check(policies, locale))


def test_one_language_in_two_folders_is_refused(policies: Path) -> None:
    """However it is written."""
    put(policies, "DE/001-rueckzahlung.md", BODY.format(days=15))
    assert "is also" in refused(policies)


@pytest.mark.parametrize(("key", "value"), [("audience", "customers"), ("delivery", "full")])
def test_who_gets_how_much_is_the_same_in_every_language(policies: Path, key: str, value: str) -> None:
    """Else a stranger could be sent in German what is for customers."""
    path = put(policies, "de/001-erstattung.md", **{key: value})
    finding = only(check(policies))
    assert (finding.path, finding.line) == (path, 7)
    assert finding.what.startswith(f"{key} is {value}, and that of 001-refunds.md is ")
    assert finding.what in refused(policies)


def test_a_copy_is_no_translation(policies: Path) -> None:
    """Versions are told apart by their hash, so that of two languages must differ."""
    (policies / "de" / "001-erstattung.md").write_bytes((policies / "001-refunds.md").read_bytes())
    assert "it is 001-refunds.md, byte for byte" in only(check(policies)).what
    assert "byte for byte" in refused(policies)


def test_a_folder_that_is_no_language_is_an_error_of_check_alone(policies: Path) -> None:
    """Nobody is sent what is in it, so the program runs; folders without documents and hidden ones are nothing."""
    put(policies, "german/001-erstattung.md")
    put(policies, ".old/001-erstattung.md")
    (policies / "pictures").mkdir()
    finding = only(check(policies))
    assert (finding.severity, finding.path) == (Severity.ERROR, policies / "german")
    assert finding.what == "'german' is not a language, so nobody is sent the documents in it"
    assert len(load_library(policies, "en").translations) == 2


def test_sections_and_days_that_differ_are_warnings(policies: Path) -> None:
    """They may be meant."""
    put(policies, "de/001-erstattung.md", "## Frist\n\nInnerhalb von 14 Tagen.\n", valid_from="2026-02-01")
    days, sections = check(policies)
    assert {days.severity, sections.severity} == {Severity.WARNING}
    assert days.what == "valid_from is 2026-02-01, and that of 001-refunds.md is 2026-01-01"
    assert sections.what == "1 sections, and 001-refunds.md has 2"
    assert len(load_library(policies, "en").translations) == 2


def test_what_is_wrong_with_a_translation_is_told_with_its_line(policies: Path) -> None:
    path = put(policies, "de/001-erstattung.md", url="http://harborfile.example")
    finding = only(check(policies))
    assert (finding.path, finding.line) == (path, 5)
    assert str(finding) in refused(policies)


def test_a_folder_that_cannot_be_read_is_a_config_error(policies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failure: `check` ended as "unexpected PermissionError"; a running worker goes on with the files it has."""

    def refuse(_: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)  # root, who may run the tests, may read every folder
    with pytest.raises(ConfigError, match="cannot be read: Permission denied: allow reading it"):
        languages_of(policies)
