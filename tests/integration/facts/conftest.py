"""Chroma in memory, in a folder and as a real server on loopback; each test has a collection of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Literal

import httpx
import pytest
from chromadb.api import ClientAPI

from support_agent.config.facts import Ways
from support_agent.config.settings import ChromaSettings, ModelSettings
from support_agent.facts.chunks import in_characters
from support_agent.facts.index import Collection, Index, TextEmbedder, memory_client, open_client
from support_agent.facts.passages import PassageIndex
from support_agent.models.embedding.minilm import MiniLM
from support_agent.models.pinned import EMBEDDING_MODEL
from support_agent.models.pulling import cache_dir, locate
from tests.servers.postgres import skip_or_fail

START_S = 60.0
NUMBERS = count(1)

Kind = Literal["memory", "folder", "server"]
OpenIndex = Callable[[TextEmbedder], Index]
OpenPassages = Callable[[TextEmbedder, Ways], PassageIndex]


@contextmanager
def chroma_server(folder: Path, port: int = 0) -> Generator[tuple[str, subprocess.Popen[bytes]]]:
    """Run `chroma run` on a loopback port, by default a free one; its home is `folder` too, so that what it writes is
    seen.
    """
    if not port:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
    program = Path(sys.executable).parent / "chroma"
    data = str(folder / "data")
    command = [str(program), "run", "--path", data, "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "chroma.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env={**os.environ, "HOME": str(folder)}, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, process, folder / "chroma.log")
        yield url, process
    finally:
        process.kill()
        process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end_s = time.monotonic() + START_S
    while time.monotonic() < end_s and process.poll() is None:
        try:
            httpx.get(f"{url}/api/v2/heartbeat").raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.05)
    raise AssertionError(f"chroma did not start: {log.read_text()}")


@pytest.fixture(scope="session")
def chroma_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running server."""
    with chroma_server(tmp_path_factory.mktemp("chroma")) as (url, _):
        yield url


@pytest.fixture(params=["memory", "folder", "server"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> ClientAPI:
    """Each kind of client in turn."""
    kind: Kind = request.param
    match kind:
        case "memory":
            return memory_client()
        case "folder":
            return open_client(ChromaSettings(path=tmp_path / "chroma"))
        case "server":
            return open_client(ChromaSettings(url=request.getfixturevalue("chroma_url")))


@pytest.fixture
def open_index(client: ClientAPI) -> OpenIndex:
    """`open_index(embedder)`: an index on this test's own collection, the same one each time."""
    name = f"test-{next(NUMBERS)}"
    return lambda embedder: Index(client, embedder, name=name)


@pytest.fixture
def open_passages(client: ClientAPI) -> OpenPassages:
    """`open_passages(embedder, ways)`: an index of passages on this test's own collection, the same one each time."""
    name = f"test-{next(NUMBERS)}"
    return lambda embedder, ways: PassageIndex(Collection(client, name), embedder, in_characters(80, 20), ways)


@pytest.fixture(scope="session")
def embedding_model_dir() -> Path:
    """The pinned embedding model; without it tests are skipped, and fail in CI."""
    path = locate(EMBEDDING_MODEL, cache_dir(ModelSettings()))
    if path is None:
        skip_or_fail("the embedding model is not in the cache: run 'support-agent model pull'")
        raise AssertionError
    return path


@pytest.fixture(scope="session")
def embedder(embedding_model_dir: Path) -> MiniLM:
    """The real embedding model, loaded once."""
    return MiniLM(embedding_model_dir)
