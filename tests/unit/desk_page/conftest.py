"""The office whose desk the page shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_agent.config.settings import CompanySettings
from tests.fakes_documents import Editor, own_office_in
from tests.fakes_journey import Office, office_in


@pytest.fixture
def office(company_settings: CompanySettings, empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    """An agent with a real store on SQLite and a fake transport."""
    with office_in(tmp_path, company_settings, empty_store) as opened:
        yield opened


@pytest.fixture
def own_office(empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    """An office whose files a test may change."""
    with own_office_in(tmp_path, empty_store) as opened:
        yield opened


@pytest.fixture
def editor(own_office: Office) -> Editor:
    """A person who edits the documents of an office."""
    return Editor(own_office)
