"""Fixtures shared by all tests: the demo company's office, and a log that no test leaves changed.

The real servers live in `tests/servers`, one file each.
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

from support_agent.config.settings import CompanySettings
from support_agent.models.memory import usable_bytes
from support_agent.ops import check
from tests import compiled_once, shared_folder
from tests.checked_once import CheckedOnce
from tests.fakes_journey import Office, make_company, office_in

pytest_plugins: list[str] = [
    "tests.servers.postgres",
    "tests.servers.databases",
    "tests.servers.certificates",
    "tests.servers.dovecot",
    "tests.servers.postfix",
    "tests.servers.llama",
    "tests.servers.openai",
    "tests.servers.program",
    "tests.servers.mariadb",
]

settings.register_profile("suite", deadline=None)
settings.load_profile("suite")
"""No test fails by the clock of a machine that does other work, too."""
MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 * 1024**3
PROCESS_BYTES = 4 * 1024**3
"""What a process takes that has all models open, and some servers."""


def pytest_configure() -> None:
    """Put temporary files, the servers' too, into memory where there is room: each commit waits for the disk."""
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK):
        memory = os.statvfs(MEMORY)
        if memory.f_bavail * memory.f_frsize >= ENOUGH_BYTES and not memory.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("TMPDIR", str(MEMORY))
            tempfile.tempdir = None  # pytest's own capture of output has asked for it before


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A process for each core, and one more for the tests that wait for servers, where the models fit into memory."""
    cores = os.cpu_count() or 1
    waits = "not servers" not in config.option.markexpr
    has_room = (usable_bytes() or 0) >= (cores + 1) * PROCESS_BYTES
    return cores + 1 if waits and has_room else cores


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The model's tests come first: they are the longest, and no core waits for them at the end."""
    items.sort(key=lambda item: item.get_closest_marker("model") is None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests live to the end: the garbage collector looks at none of them, then or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def log_stays_as_it_was() -> Iterator[None]:
    """A command that is run in this process sets the log's level for all of it, and later tests would read no log."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture(scope="session", autouse=True)
def folder_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """See `tests/shared_folder.py`."""
    with pytest.MonkeyPatch.context() as patch:
        folder = shared_folder.make(tmp_path_factory)
        patch.setenv(shared_folder.VARIABLE, str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def sound_templates_are_checked_once(folder_of_this_run: Path) -> Iterator[None]:
    """`check` of a workspace whose templates were sound before, byte by byte, does not render all of them again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "check_templates", CheckedOnce())
        yield


@pytest.fixture(scope="session", autouse=True)
def statements_are_compiled_once() -> Iterator[None]:
    """See `tests/compiled_once.py`."""
    with pytest.MonkeyPatch.context() as patch:
        compiled_once.share(patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def documents_are_embedded_once(folder_of_this_run: Path) -> Iterator[None]:
    """The models' tests and the program that they fork read the vectors that one of them has computed."""
    with pytest.MonkeyPatch.context() as patch:
        shared_folder.keep_vectors(patch)
        yield


@pytest.fixture(scope="session")
def company_settings(tmp_path_factory: pytest.TempPathFactory) -> CompanySettings:
    """The demo company's files; no test changes them."""
    return make_company(tmp_path_factory.mktemp("company"))


@pytest.fixture
def office(company_settings: CompanySettings, empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    """An agent with a real store on SQLite and a fake transport."""
    with office_in(tmp_path, company_settings, empty_store) as opened:
        yield opened
