"""The office whose desk the page shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_agent.config.settings import CompanySettings
from tests.fakes_journey import Office, office_in


@pytest.fixture
def office(company_settings: CompanySettings, empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    """An agent with a real store on SQLite and a fake transport."""
    with office_in(tmp_path, company_settings, empty_store) as opened:
        yield opened
