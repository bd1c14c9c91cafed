"""A support desk whose outbox has real mails in it, for what is done with them in a mailbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_agent.resources import packaged
from support_agent.settings import CompanySettings
from support_agent.store.store import Store
from tests.fakes_journey import Office, make_company, open_office


@pytest.fixture(scope="module")
def company_settings(tmp_path_factory: pytest.TempPathFactory) -> CompanySettings:
    """The demo company's files; no test changes them."""
    return make_company(tmp_path_factory.mktemp("company"))


@pytest.fixture
def office(company_settings: CompanySettings, tmp_path: Path) -> Iterator[Office]:
    """An agent with a real store on SQLite and a fake transport."""
    with Store.open(f"sqlite:///{tmp_path / 'store.sqlite3'}", packaged("migrations")) as store:
        store.upgrade()
        opened = open_office(company_settings, store)
        yield opened
        opened.decider.company.accounts.close()
