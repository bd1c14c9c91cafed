"""The office of tests/fakes_journey.py, new for each test; its company is made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_agent.config.settings import CompanySettings
from tests.fakes_journey import Office, make_company, office_in


@pytest.fixture(scope="session")
def company_settings(tmp_path_factory: pytest.TempPathFactory) -> CompanySettings:
    """The demo company's files; no test changes them."""
    return make_company(tmp_path_factory.mktemp("company"))


@pytest.fixture
def office(company_settings: CompanySettings, empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    """An agent with a real store on SQLite."""
    with office_in(tmp_path, company_settings, empty_store) as opened:
        yield opened
