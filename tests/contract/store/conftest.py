"""A store with its schema, once on each database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support_agent.store.store import Store


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with Store.open(store_url) as opened:
        yield opened
