"""A folder of packages behind an index of their own, and a hub that nobody can reach."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.models.tiny_index import tiny_index


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A loopback port where nothing listens: bound, so that nobody else takes it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


@pytest.fixture
def package_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed_port: int) -> Iterator[Path]:
    """The wheels in this folder are all that there is; the hub does not answer."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed_port}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with tiny_index(folder) as url:
        monkeypatch.setenv("PIP_INDEX_URL", url)
        yield folder
