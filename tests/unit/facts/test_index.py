"""The index without a server: what it refuses, and what it says then."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from support_agent.config.settings import ChromaSettings
from support_agent.errors import ConfigError
from support_agent.facts.index import IndexEntry, open_client


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://host",
        "http://",
        "http://host:8000/api",
        "http://host:port",
        "http://[::1",
        "http://me:secret@host",
    ],
)
def test_a_url_that_is_none_is_a_configuration_error(url: str) -> None:
    """Rule: said at once, with the form that is right, before anything is connected."""
    with pytest.raises(ConfigError, match=r"chroma\.url .*http://host:port"):
        open_client(ChromaSettings(url=url))


def test_a_folder_that_cannot_be_made_is_a_configuration_error(tmp_path: Path) -> None:
    """Rule: the setting is named, and what to do."""
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ConfigError, match=r"chroma\.path .*another folder"):
        open_client(ChromaSettings(path=tmp_path / "file" / "chroma"))


def test_a_folder_that_holds_something_else_is_a_configuration_error(tmp_path: Path) -> None:
    """Rule: a database file that is none is said with the setting's name, not as a crash."""
    (tmp_path / "chroma.sqlite3").write_bytes(b"this is not a database" * 100)
    with pytest.raises(ConfigError, match=r"chroma\.path"):
        open_client(ChromaSettings(path=tmp_path))


def test_an_entry_has_a_key() -> None:
    """Rule: an option without a name could not be chosen."""
    with pytest.raises(ValidationError):
        IndexEntry(key="", text="Refunds")
