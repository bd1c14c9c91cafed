"""Fixtures shared by all tests; the real servers live in `tests/servers`, one file each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog

pytest_plugins: list[str] = [
    "tests.servers.postgres",
    "tests.servers.databases",
    "tests.servers.certificates",
    "tests.servers.dovecot",
    "tests.servers.postfix",
    "tests.servers.llama",
    "tests.servers.openai",
]


@pytest.fixture(autouse=True)
def log_stays_as_it_was() -> Iterator[None]:
    """A command that is run in this process sets the log's level for all of it, and later tests would read no log."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)
