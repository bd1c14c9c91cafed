"""The pinned language model, embedded and behind llama-cpp-python's own server.

The file is the one that `support-agent model pull` puts into the user's cache. Without it the tests are
skipped, and fail where `CI` is set. llama.cpp is loaded for the tests that need it only.
"""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from support_agent.config.settings import ModelSettings
from support_agent.models.pinned import LANGUAGE_MODEL
from support_agent.models.pulling import cache_dir, locate
from tests.servers.postgres import skip_or_fail

if TYPE_CHECKING:
    from support_agent.models.llama import LlamaModel

CONTEXT_TOKENS = 1280
SERVER_CONTEXT_TOKENS = 512
"""The server keeps 0.6 MB of scores for each."""
START_S = 120.0


@dataclass
class Clock:
    """Monotonic seconds that move by `step_s` each time they are read."""

    now_s: float = 0.0
    step_s: float = 0.0

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


@dataclass(frozen=True)
class LlamaServer:
    """Where llama-cpp-python's server listens."""

    base_url: str
    api_key: SecretStr
    model: str = "local"


@pytest.fixture(scope="session")
def model_file() -> Path:
    """The pinned GGUF file."""
    path = locate(LANGUAGE_MODEL, cache_dir(ModelSettings()))
    if path is None:
        skip_or_fail("the language model is not in the cache: run 'support-agent model pull'")
        raise AssertionError
    return path


@pytest.fixture(scope="session")
def model_clock() -> Clock:
    """The clock of `llama_model`; leave it standing still."""
    return Clock()


@pytest.fixture(scope="session")
def llama_model(model_file: Path, model_clock: Clock) -> Iterator[LlamaModel]:
    """The embedded model with two instances, loaded once."""
    from support_agent.models.llama import LlamaModel

    model = LlamaModel(model_file, context_tokens=CONTEXT_TOKENS, instances=2, clock=model_clock)
    yield model
    model.close()


@pytest.fixture(scope="session")
def llama_server(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """The same model behind llama-cpp-python's server, started once."""
    with serve(model_file, tmp_path_factory.mktemp("llama-server") / "log.txt") as server:
        yield server


@contextmanager
def serve(model_file: Path, log: Path, context_tokens: int = SERVER_CONTEXT_TOKENS) -> Iterator[LlamaServer]:
    """Run llama-cpp-python's own server on the model, on a free port; its output goes to `log`."""
    port, key = _free_port(), secrets.token_hex(16)
    options = {
        "model": model_file,
        "model_alias": LlamaServer.model,
        "host": "127.0.0.1",
        "port": port,
        "api_key": key,
        "n_ctx": context_tokens,
        "logits_all": True,
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-m", "llama_cpp.server", *arguments], stdout=out, stderr=out)
    try:
        _wait_until_up(process, f"http://127.0.0.1:{port}/v1/models", key, log)
        yield LlamaServer(f"http://127.0.0.1:{port}/v1", SecretStr(key))
    finally:
        process.terminate()
        process.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_up(process: subprocess.Popen[bytes], url: str, key: str, log: Path) -> None:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(request, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    pytest.fail(f"llama_cpp.server did not start:\n{log.read_text('utf-8', 'replace')[-2000:]}")
