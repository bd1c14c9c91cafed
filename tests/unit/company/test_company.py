"""The bundle of everything the company says."""

from __future__ import annotations

import hashlib
from datetime import date
from pathlib import Path

import pytest

from support_agent.company.company import Company, check_company
from support_agent.config.settings import CompanySettings
from support_agent.errors import ConfigError

HEAD = """---
number: {number}
title: Title {number}
summary: Summary.
url: https://harborfile.example/{number}
valid_from: {valid_from}
---
Text {number}.
"""


@pytest.fixture
def settings(shop: Path) -> CompanySettings:
    policies = shop / "policies"
    policies.mkdir()
    for number, valid_from in ((1, "2025-01-01"), (2, "2026-01-01")):
        (policies / f"{number:03d}-a.md").write_text(HEAD.format(number=number, valid_from=valid_from), "utf-8")
    (policies / "questions.toml").write_text(
        '[[question]]\nnumber = 1\nabout = "x"\ntext = { en = "Which?" }\n', "utf-8"
    )
    return CompanySettings(policies=policies, accounts=shop / "accounts.toml")


def test_a_company_is_loaded_whole(settings: CompanySettings) -> None:
    """Documents, questions and accounts at once."""
    company = Company.load(settings)
    assert [document.number for document in company.documents] == [1, 2]
    assert [question.number for question in company.questions] == [1]
    assert "payments" in company.accounts.series


@pytest.mark.parametrize("name", ["policies/002-a.md", "policies/questions.toml", "accounts.toml"])
def test_the_version_changes_with_any_of_the_files(settings: CompanySettings, name: str) -> None:
    """It is stored with each plan: the same version means the same words, questions and queries."""
    before = Company.load(settings).version
    assert Company.load(settings).version == before
    path = settings.accounts.parent / name
    text = path.read_text("utf-8")
    path.write_text(text.replace("Which?", "Which one?") if name.endswith("questions.toml") else f"{text}\n", "utf-8")
    assert Company.load(settings).version != before


def test_a_document_keeps_the_bytes_it_was_read_from(settings: CompanySettings) -> None:
    """They are what is stored with the version: the file may be another one by then."""
    document = Company.load(settings).documents[0]
    (settings.policies / "001-a.md").write_text("x", "utf-8")
    assert hashlib.sha256(document.raw).hexdigest() == document.version
    assert b"Text 1." in document.raw


def test_errors_of_all_files_are_told_at_once(settings: CompanySettings) -> None:
    """One run of the program names every file to mend."""
    (settings.policies / "001-a.md").write_text("x", "utf-8")
    (settings.policies / "questions.toml").write_text("x", "utf-8")
    settings.accounts.write_text("x", "utf-8")
    with pytest.raises(ConfigError) as error:
        Company.load(settings)
    for name in ("001-a.md", "questions.toml", "accounts.toml"):
        assert name in str(error.value)
    assert len(check_company(settings, date(2026, 6, 1))) == 3
