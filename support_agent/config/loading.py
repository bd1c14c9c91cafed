"""Loads the settings: flags override the environment, which overrides the file, which overrides the defaults.

Invariant: settings come from the environment only here, each path is absolute afterwards, and an error names where a
value was set but never repeats the value. Checked by tests/unit/config/test_settings.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError

from support_agent.config.settings import Section, Settings
from support_agent.config.sources import (
    ENVIRONMENT,
    Problem,
    SettingsRefused,
    explain,
    merged,
    read_environment,
    read_file,
    sqlite_url_in,
)

MIN_SECRET_CHARACTERS = 32


def load(path: Path | None, overrides: Mapping[str, object] | None = None) -> Settings:
    """Load the configuration from overrides, environment, file and defaults, in this order of precedence.

    Relative paths in the file, the environment and the defaults are relative to the file's folder (to the working
    folder if `path` is None); those in `overrides`, which a person typed, to the working folder.

    Args:
        path: `support-agent.toml`, or None for none.
        overrides: Dotted keys ("store.url") and their values; None values count as not given.
    Raises:
        ConfigError: one line for each problem: where the value was set, the key, what to do (`SettingsRefused` if it
            is about a setting). The message never repeats values: they may be secrets.
    """
    base = (path.parent if path else Path()).absolute()
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    from_file = read_file(Settings, path) if path else {}
    from_environment = read_environment(Settings)
    from_flags: dict[str, Any] = {}
    for dotted, value in given.items():
        section, _, key = dotted.partition(".")
        from_flags.setdefault(section, {})[key] = value
    origins = ((from_flags, "flag"), (from_environment, ENVIRONMENT), (from_file, str(path)))
    try:
        settings = Settings(**merged(from_file, from_environment, from_flags))
    except ValidationError as error:
        errors = error.errors(include_input=False)
        problems = [explain(Settings, e["loc"], e["type"], e["msg"], origins) for e in errors]
        raise SettingsRefused(problems) from None
    return _with_secret(_with_absolute_paths(settings, base, from_flags))


def _with_absolute_paths(settings: Settings, base: Path, from_flags: Mapping[str, Any]) -> Settings:
    """Make each `Path` of each section absolute, and the path of a SQLite `store.url`."""

    def folder(section: str, key: str) -> Path:
        return Path.cwd() if key in from_flags.get(section, {}) else base

    changed: dict[str, Section] = {}
    for section in Settings.model_fields:
        values: Section = getattr(settings, section)
        update: dict[str, Any] = {
            key: folder(section, key) / value.expanduser() for key, value in values if isinstance(value, Path)
        }
        if section == "store":
            update["url"] = sqlite_url_in(folder(section, "url"), settings.store.url, name="store.url")
        changed[section] = values.model_copy(update=update)
    return settings.model_copy(update=changed)


def _with_secret(settings: Settings) -> Settings:
    """Read `agent.secret` from `agent.secret_file`; a secret that is given directly wins."""
    agent = settings.agent
    secret, key, origin = agent.secret.get_secret_value(), "secret", "agent.secret"

    def refused(why: str) -> SettingsRefused:
        return SettingsRefused([Problem("agent", key, f"{origin}: {why}")])

    if not secret and agent.secret_file is not None:
        key, origin = "secret_file", f"agent.secret_file ({agent.secret_file})"
        try:
            secret = agent.secret_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not text"
            raise refused(f"cannot be read: {reason}; `init` writes one") from None
        if not secret:
            raise refused("empty; `support-agent init` writes one")
    if secret and len(secret) < MIN_SECRET_CHARACTERS:
        todo = f"use at least {MIN_SECRET_CHARACTERS} random characters"
        raise refused(f"shorter than {MIN_SECRET_CHARACTERS} characters: {todo}")
    return settings.model_copy(update={"agent": agent.model_copy(update={"secret": SecretStr(secret)})})
