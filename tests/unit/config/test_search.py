"""The section `[search]`: off by default, and a source that cannot be asked is refused at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.config.loading import load
from support_agent.config.search import Service
from support_agent.config.settings import Settings
from support_agent.errors import ConfigError


def test_nothing_is_asked_by_default() -> None:
    """What is asked leaves the house: somebody must have wanted it."""
    assert Settings().search.sources == ()


def test_the_sources_are_read_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "support-agent.toml"
    file.write_text('[search]\nsources = ["site", "wikipedia"]\nsite_url = "https://shop.example"\n')
    assert load(file).search.sources == (Service.SITE, Service.WIKIPEDIA)


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ('sources = ["google"]', r"set search\.serper_url and search\.serper_key"),
        ('sources = ["searxng"]', r"set search\.searxng_url"),
        ('sources = ["site"]', r"set search\.site_url"),
        ('sources = ["wikipedia", "wikipedia"]', "is listed twice"),
        ('sources = ["bing"]', "search.sources"),
        ('mode = "sequential"', r"search\.mode is gone: .*delete it"),
        ('serper_url = "http://google.serper.dev/search"', "https://"),
        ('site_url = "ftp://shop.example"', "http://host"),
        ('site_url = "https://me:secret@shop.example"', "without a user's name"),
        ('searxng_url = "http://host:port"', "not a URL"),
        ('private_origins = ["http://wiki.internal/path"]', "nothing behind it"),
        ('user_agent = "two\\nlines"', "search.user_agent"),
        ("timeout_s = 0", "search.timeout_s"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, lines: str, what: str) -> None:
    """With what to set."""
    file = tmp_path / "support-agent.toml"
    file.write_text(f"[search]\n{lines}\n")
    with pytest.raises(ConfigError, match=what):
        load(file)


def test_the_key_is_never_printed() -> None:
    settings = load(None, {"search.sources": ["google"], "search.serper_key": "hunter2"})
    assert "hunter2" not in repr(settings)


def test_the_key_may_be_in_a_file(tmp_path: Path) -> None:
    """As every other secret; what is given directly wins, and a source whose file is away is refused."""
    file = tmp_path / "support-agent.toml"
    file.write_text('[search]\nsources = ["google"]\nserper_key_file = "serper.key"\n')
    with pytest.raises(ConfigError, match=r"search\.serper_key_file .*cannot be read"):
        load(file)
    (tmp_path / "serper.key").write_text("hunter2\n")
    assert load(file).search.serper_key.get_secret_value() == "hunter2"
    assert load(file, {"search.serper_key": "direct"}).search.serper_key.get_secret_value() == "direct"
