"""The files of deploy/, read for the tests."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from support_agent.config.settings import Settings
from support_agent.config.sources import ENV_PREFIX, read_environment

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
USER = 10001


def documents(path: Path) -> list[dict[str, Any]]:
    """The documents of a YAML file."""
    return list(yaml.safe_load_all(path.read_text("utf-8")))


def assert_settings(variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each variable with the program's prefix names a setting, and its value is one that the setting takes."""
    for name, value in variables.items():
        if name.startswith(ENV_PREFIX):
            monkeypatch.setenv(name, value)
    Settings(**read_environment(Settings))


def images_in(node: object) -> Iterator[str]:
    """Every `image:` of a parsed file."""
    if isinstance(node, dict):
        if isinstance(node.get("image"), str):
            yield node["image"]
        for value in node.values():
            yield from images_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from images_in(value)


def assert_pinned(image: str) -> None:
    """An image has a tag that says which one it is, and the program's is that of this version."""
    name, _, tag = image.rpartition("/")[2].partition(":")
    assert tag not in ("", "latest"), image
    assert tag == VERSION or name != "support-agent", image
