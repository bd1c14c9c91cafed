"""Finds the packaged files: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

from support_agent.errors import ConfigError

_PACKAGE = Path(__file__).parents[1]


def packaged(name: str) -> Path:
    """The folder `templates`, `policies` or `migrations` of this installation.

    Raises:
        ConfigError: the installation is incomplete.
    """
    for folder in (_PACKAGE / "_files" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise ConfigError(f"this installation lacks its {name} folder: install support-agent again", code="installation")
