"""Offices in one world: the demo company's files once, a store of its own for each, one clock for all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from support_agent.config.agent import AgentSettings
from support_agent.config.settings import CompanySettings
from support_agent.demo import SUPPORT_ADDRESS
from support_agent.store.store import Store
from tests.fakes_journey import DESK, Clock, company_store, open_office
from tests.integration.zoo.post_office import OurHouse, PostOffice, Reader
from tests.integration.zoo.responders import Responder

Opener = Callable[..., OurHouse]


@pytest.fixture
def clock() -> Clock:
    """The clock of everybody in a world."""
    return Clock()


@pytest.fixture
def open_house(company_settings: CompanySettings, empty_store: Path, tmp_path: Path, clock: Clock) -> Iterator[Opener]:
    """Opens an installation with an address and a key of its own; keywords are settings of its agent."""
    with ExitStack() as stack:

        def opened(address: str = SUPPORT_ADDRESS, *, proof: str = "dmarc", **changes: object) -> OurHouse:
            domain = address.rpartition("@")[2]
            path = shutil.copy(company_store(company_settings, empty_store), tmp_path / f"{address}.sqlite3")
            store = stack.enter_context(Store.open(f"sqlite:///{path}"))
            office = open_office(company_settings, store)
            agent = AgentSettings.model_validate(
                {
                    "address": address,
                    "name": f"Support of {domain}",
                    "authserv_ids": (f"mx.{domain}",),
                    "secret": SecretStr(f"{address:-<32}"),
                }
                | changes
            )
            settings = office.settings.model_copy(update={"agent": agent})
            decider = replace(office.decider, settings=settings)
            stack.callback(decider.company.accounts.close)
            return OurHouse(replace(office, settings=settings, decider=decider, clock=clock), proof)

        yield opened


@pytest.fixture
def world(clock: Clock) -> Callable[..., PostOffice]:
    """A post office for these houses and the desk."""

    def made(*houses: OurHouse | Responder) -> PostOffice:
        return PostOffice(clock, (*houses, Reader(DESK)))

    return made
