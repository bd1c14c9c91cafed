"""The demo company as `init` would write it: its documents, and a workspace with accounts and database."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import date
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from support_agent.company.accounts import Accounts
from support_agent.company.documents import Document, load_documents
from support_agent.demo.seed import seed

POLICIES = Path(__file__).parents[3] / "policies"
TODAY = date(2026, 11, 21)


@pytest.fixture(scope="package")
def documents() -> dict[int, Document]:
    return {document.head.number: document for document in load_documents(POLICIES)}


@pytest.fixture(scope="package")
def accounts_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """accounts.toml beside a database seeded on `TODAY`."""
    folder = tmp_path_factory.mktemp("demo")
    with as_file(files("support_agent.demo") / "accounts.toml") as source:
        path = Path(shutil.copy(source, folder))
    seed(folder / "harborfile.sqlite3", TODAY)
    return path


@pytest.fixture(scope="package")
def accounts(accounts_path: Path) -> Iterator[Accounts]:
    loaded = Accounts.load(accounts_path)
    yield loaded
    loaded.close()
