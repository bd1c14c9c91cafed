"""Reads settings from the file and the environment, and explains wrong ones, misspelt names included.

Invariant: a message names where a value was set, its key and what to do; it never repeats the value, which
may be a secret. Checked by tests/unit/config/test_settings.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsError

from support_agent.config.toml_file import read_toml
from support_agent.core.findings import nearest
from support_agent.errors import ConfigError

ENVIRONMENT = "environment variable"
ENV_PREFIX = "SUPPORT_AGENT__"
_OF_A_SERVICE = re.compile("(tcp|udp|sctp)://")
"""How the value of a variable begins that Kubernetes sets for a service."""


class SettingProblem(NamedTuple):
    """One refused setting: its section and key ("" if it has none), and what is wrong.

    `todo` says what to do, if `text` does not.
    """

    section: str
    key: str
    text: str
    todo: str = ""

    def __str__(self) -> str:
        return f"{self.text}: {self.todo}" if self.todo else self.text


class SettingsRefused(ConfigError):
    """Settings cannot be used; `problems` lists them, so that `check` can name their lines."""

    def __init__(self, problems: Iterable[SettingProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def read_file(model: type[BaseSettings], path: Path) -> dict[str, Any]:
    """Read the sections of a TOML file.

    Raises:
        SettingsRefused: a key is outside any section.
    """
    data = read_toml(path).data
    for key, value in data.items():
        if not isinstance(value, dict):
            todo = f"put it below a section such as [{_home_of(model, key) or 'agent'}]"
            raise SettingsRefused([SettingProblem("", key, f"{path}: {key} stands outside any section: {todo}")])
    return data


def read_environment(model: type[BaseSettings]) -> dict[str, Any]:
    """Read sections from `SUPPORT_AGENT__SECTION__KEY`; a variable that names no setting is an error.

    pydantic-settings ignores a misspelt section, so the names are checked first. A variable with single underscores is
    an error only if it would name a setting and holds no address of a service: Kubernetes sets `SUPPORT_AGENT_PORT`
    where a service is called support-agent, and `SUPPORT_AGENT_WATCH_PORT` for support-agent-watch.
    """
    problems = []
    bare = {_without_underscores(variable): variable for variable in map(_variable, _all_keys(model))}
    for name in sorted(os.environ):
        if not name.upper().startswith(ENV_PREFIX):
            meant = bare.get(_without_underscores(name))
            if meant and not _OF_A_SERVICE.match(os.environ[name]):
                what = "two underscores stand before section and key"
                problems.append(f"{ENVIRONMENT} {name}: {what}: write {meant}, or unset it")
        else:
            section, _, key = name[len(ENV_PREFIX) :].lower().partition("__")
            if key not in _keys(model, section):
                dotted = f"{section}.{key}"
                if moved := _moved(dotted, name, _variable):
                    problems.append(f"{ENVIRONMENT} {': '.join(moved)}")
                    continue
                hint = nearest(_variable(dotted), map(_variable, _all_keys(model)))
                problems.append(f"{ENVIRONMENT} {name}: no such setting{hint}: correct or unset it")
    if problems:
        raise ConfigError("\n".join(problems))
    try:
        return EnvSettingsSource(model)()
    except SettingsError as error:
        what = str(error).partition(" from source")[0]
        raise ConfigError(f'environment: {what}: write lists as JSON, such as ["a", "b"]') from None


def merged(*sources: Mapping[str, Any]) -> dict[str, Any]:
    """Merge sections key by key; a later source wins."""
    result: dict[str, Any] = {}
    for source in sources:
        for section, values in source.items():
            result.setdefault(section, {}).update(values)
    return result


GONE = {
    "facts.enabled": "facts.retrieve says when the fact room is asked, and never is one of its values",
    "grading.prior": "no share of the grade for empty texts is subtracted any more",
    "intentions.closes_with_words_from": "intentions.closes_from alone says how sure the vote must be",
    "search.mode": "all sources are always asked at once",
}
"""Keys of earlier versions, and what there is instead."""
RENAMED = {
    "agent.max_letters_per_case": "agent.max_mails_per_case",
    "agent.max_letters_per_hour": "agent.max_mails_per_hour",
    "agent.max_letters_per_sender_a_day": "agent.max_mails_per_sender_a_day",
    "facts.looks": "facts.retrieve",
    "intentions.tells_desk": "intentions.notifies_desk",
}
"""Keys of earlier versions, and their present names."""


def _moved(dotted: str, name: str, spelt: Callable[[str], str]) -> tuple[str, str] | None:
    """What became of a setting of an earlier version, here called `name`, and what to do; None: it never was one."""
    if dotted in RENAMED:
        return f"{name} is now {spelt(RENAMED[dotted])}", "rename it"
    if dotted in GONE:
        return f"{name} is gone: {GONE[dotted]}", "delete it"
    return None


def _variable(dotted: str) -> str:
    """The environment variable of a setting."""
    return f"{ENV_PREFIX}{dotted.replace('.', '__')}".upper()


def _without_underscores(name: str) -> str:
    return name.upper().replace("_", "")


def explain(
    model: type[BaseSettings],
    loc: tuple[int | str, ...],
    error_type: str,
    message: str,
    origins: Iterable[tuple[Mapping[str, Any], str]],
) -> SettingProblem:
    """Explain one refused key: where it was set, its name, and what to do; an error without a key is about several."""
    if not loc:
        return SettingProblem("", "", message.removeprefix("Value error, "))
    section, key = str(loc[0]), str(loc[1]) if len(loc) > 1 else ""
    origin = "default"
    for source, name in origins:
        if section in source and (not key or key in source[section]):
            origin = f"{name} {_variable(f'{section}.{key}')}" if name == ENVIRONMENT else name
            break
    dotted = ".".join(str(part) for part in loc)
    if error_type != "extra_forbidden":
        return SettingProblem(section, key, f"{origin}: {dotted}: {message.removeprefix('Value error, ')}")
    if not key:
        hint = nearest(section, model.model_fields)
        what = f"unknown section [{section}]{hint}; sections: {', '.join(model.model_fields)}"
        return SettingProblem(section, key, f"{origin}: {what}")
    if moved := _moved(dotted, dotted, str):
        what, todo = moved
        return SettingProblem(section, key, f"{origin}: {what}", todo)
    if len(loc) > 2:
        known = _table_keys(model, section, key)
        what = f"unknown key {dotted}{nearest(str(loc[-1]), known)}; keys of [[{section}.{key}]]: {', '.join(known)}"
        return SettingProblem(section, key, f"{origin}: {what}")
    hint = nearest(key, _keys(model, section))
    if not hint and (home := _home_of(model, key)):
        hint = f", did you mean {home}.{key}?"
    what = f"unknown key {dotted}{hint}; keys of [{section}]: {', '.join(_keys(model, section))}"
    return SettingProblem(section, key, f"{origin}: {what}")


def _keys(model: type[BaseSettings], section: str) -> tuple[str, ...]:
    """The keys of a section; none if the section does not exist."""
    field = model.model_fields.get(section)
    annotation = field.annotation if field else None
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return tuple(annotation.model_fields)
    return ()


def _table_keys(model: type[BaseSettings], section: str, key: str) -> tuple[str, ...]:
    """The keys of the tables in a list of tables, such as `[[desk.routes]]`."""
    field = model.model_fields[section].default.__class__.model_fields[key]
    (tables,) = (one for one in get_args(field.annotation) if isinstance(one, type) and issubclass(one, BaseModel))
    return tuple(tables.model_fields)


def _all_keys(model: type[BaseSettings]) -> tuple[str, ...]:
    return tuple(f"{section}.{key}" for section in model.model_fields for key in _keys(model, section))


def _home_of(model: type[BaseSettings], key: str) -> str:
    """The first section that has such a key, or ""."""
    return next((section for section in model.model_fields if key in _keys(model, section)), "")
