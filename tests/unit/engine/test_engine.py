"""Where the engine keeps its tables, its name, and the form of what it records."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support_agent.engine.database import engine_url
from support_agent.engine.engine import executor_id
from support_agent.engine.records import JsonSerializer
from support_agent.errors import ConfigError, GateRefused, PermanentError


@pytest.mark.parametrize(
    ("store", "engine"),
    [
        ("sqlite:////var/lib/agent/store.sqlite3", "sqlite:////var/lib/agent/store-engine.sqlite3"),
        ("sqlite:///support-agent.sqlite3", "sqlite:///{cwd}/support-agent-engine.sqlite3"),
        ("postgres://agent:p%40ss@db/agent", "postgresql+psycopg://agent:p%40ss@db/agent"),
        ("postgresql+psycopg://agent:p%40ss@db/agent", "postgresql+psycopg://agent:p%40ss@db/agent"),
    ],
)
def test_the_engine_has_its_own_file_beside_sqlite_and_shares_postgresql(
    store: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert engine_url(store) == engine.format(cwd=tmp_path)


@pytest.mark.parametrize("url", ["nonsense", "mysql://db/agent", "sqlite://", "sqlite:///:memory:"])
def test_a_database_that_cannot_keep_anything_is_refused_with_what_to_write(url: str) -> None:
    with pytest.raises(ConfigError, match=r"^store\.url .*: (write|name) "):
        engine_url(url)


def test_an_executor_id_names_the_process_and_differs_by_its_nonce() -> None:
    """The process id alone returns after a restart, in a container each time."""
    assert f"-{os.getpid()}-" in executor_id("a")
    assert executor_id("a") != executor_id("b")


@pytest.mark.parametrize("value", [None, [1, "Ü\udc80\x00"], {"error": "a field of that name"}], ids=ascii)
def test_recorded_values_come_back(value: Any) -> None:
    text = JsonSerializer().serialize(value)
    assert text.isascii()
    assert json.loads(text) == {"value": value}
    assert JsonSerializer().deserialize(text) == value


def test_recorded_errors_come_back_with_class_code_and_text() -> None:
    error = JsonSerializer().deserialize(JsonSerializer().serialize(GateRefused("a byte", code="gate_byte")))
    assert (type(error), error.code, str(error)) == (GateRefused, "gate_byte", "a byte")


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), b"bytes", ConfigError])
def test_what_json_cannot_hold_is_never_recorded(value: Any) -> None:
    with pytest.raises(PermanentError, match="only JSON can be recorded"):
        JsonSerializer().serialize(value)
