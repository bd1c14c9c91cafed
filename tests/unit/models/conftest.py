"""A folder that is the only place where pip looks, and a hub that nobody can reach."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A loopback port where nothing listens: bound, so that nobody else takes it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


@pytest.fixture
def package_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed_port: int) -> Path:
    """pip finds the wheels in this folder and nothing else; the hub does not answer."""
    folder = tmp_path / "packages"
    folder.mkdir()
    for name in [name for name in os.environ if name.upper().startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed_port}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return folder
