"""The office of a mail's journeys: the configuration that ships, with the fact room on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_agent.config.settings import CompanySettings
from tests.fakes_journey import Office, office_in
from tests.fakes_room import LikelyRooms


@pytest.fixture
def office(company_settings: CompanySettings, empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    """An agent with a real store on SQLite, a fake transport, and a room that finds the likeliest document."""
    with office_in(tmp_path, company_settings, empty_store) as opened:
        yield opened.with_rooms(LikelyRooms())
