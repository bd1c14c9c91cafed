"""Loads the settings: flags override the environment, which overrides the file, which overrides the defaults.

Invariant: settings come from the environment only here, each path is absolute afterwards, and an error names where a
value was set but never repeats the value. Checked by tests/unit/config/test_settings.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from sqlalchemy.engine import make_url

from support_agent.config.agent import AgentSettings
from support_agent.config.database_url import (
    database_identity,
    default_keys_url,
    default_master_key_file,
    resolved_url,
    sqlite_url_in,
)
from support_agent.config.settings import Settings
from support_agent.config.sources import (
    ENVIRONMENT,
    SettingProblem,
    SettingsRefused,
    explain,
    merged,
    read_environment,
    read_file,
)
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError

BRANDS = "brands.files"
MIN_SECRET_CHARACTERS = 32
SECRETS = (
    ("imap", "password"),
    ("smtp", "password"),
    ("desk_page", "oidc_client_secret"),
    ("model", "api_key"),
    ("probe", "password"),
    ("store", "password"),
    ("search", "serper_key"),
)
"""Section and key of each secret that may be in a file, which the key with `_file` behind it names."""


class BrandsRefused(ConfigError):
    """Brands whose files are valid, but that cannot run side by side: what is wrong between them, and what to do."""

    def __init__(self, what: str, todo: str) -> None:
        super().__init__(f"{BRANDS}: {what}: {todo}")
        self.what, self.todo = what, todo


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
    # The environment is that of the configuration that names the brands.
    from_environment = {} if from_file.get("brands", {}).get("is_brand") is True else read_environment(Settings)
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
    settings = _with_secret(_with_absolute_paths(_with_one_time_zone(settings), base, from_flags))
    return _with_password_in_url(_with_secrets_of_files(settings))


def load_brands(settings: Settings) -> dict[str, Settings]:
    """The settings of each brand, by its name.

    Raises:
        ConfigError: as for `load`.
        BrandsRefused: a brand has brands itself, or shares with another what each needs for itself.
    """
    brands = {name: load(path) for name, path in settings.brands.files.items()}
    for name, brand in brands.items():
        if brand.brands.files:
            raise BrandsRefused(f"{name} has brands itself", "name all of them in one configuration")
        if not brand.brands.is_brand:
            raise BrandsRefused(f"{name} does not say that it is a brand", "write is_brand = true in its [brands]")
    owners: dict[tuple[str, str], str] = {}
    for name, brand in {"this mailbox": settings, **brands}.items():
        for what, value in _for_one_alone(brand):
            other = owners.setdefault((what, value), name)
            if other != name:
                raise BrandsRefused(f"{name} and {other} have the same {what}", "each needs its own")
    return brands


def require_mail_settings(settings: Settings) -> None:
    """Refuse settings with which mail can be neither read nor sent; `init` leaves them empty.

    Raises:
        ConfigError: it names each setting that is missing.
    """
    needed = {
        "imap.host": settings.imap.host,
        "smtp.host": settings.smtp.host,
        "agent.address": settings.agent.address,
        "desk.address": settings.desk.address,
        "agent.secret_file": settings.agent.secret.get_secret_value(),
    }
    missing = [key for key, value in needed.items() if not value]
    if missing:
        raise ConfigError(
            f"not set: {', '.join(missing)}: fill them in in support-agent.toml, then run 'support-agent doctor'"
        )


def _with_one_time_zone(settings: Settings) -> Settings:
    """The settings; the time zone of `company` or of `hours` is both, where only one of them is set."""
    company, hours = settings.company, settings.hours
    if "time_zone" not in company.model_fields_set:
        company = company.model_copy(update={"time_zone": hours.time_zone})
    elif "time_zone" not in hours.model_fields_set:
        hours = hours.model_copy(update={"time_zone": company.time_zone})
    return settings.model_copy(update={"company": company, "hours": hours})


def _for_one_alone(settings: Settings) -> Iterator[tuple[str, str]]:
    """What no two brands may share: each setting, and its value."""
    imap, chroma = settings.imap, settings.chroma
    for address in {address.casefold() for address in (settings.agent.address, *settings.agent.aliases) if address}:
        yield "agent.address or agent.aliases", address
    folder = imap.folder.upper() if imap.folder.upper() == "INBOX" else imap.folder
    yield "imap.host, user and folder", f"{imap.host.casefold().rstrip('.')} {imap.user.casefold()} {folder}"
    yield "store.url", resolved_url(settings.store.url)
    # The same mail to two brands has one id: one would delete the other's key.
    keys_url = make_url(settings.store.keys_url or default_keys_url(make_url(settings.store.url)))
    yield "store.keys_url, or its default", database_identity(keys_url)
    if keys_url.get_backend_name() == "sqlite" and not _names_master_key(settings):
        beside = default_master_key_file(Path(keys_url.database or ""))
        yield "master key beside store.keys_url", str(beside.resolve())
    yield "agent.pause_file", str(settings.agent.pause_file.resolve())
    if chroma.url:
        yield "chroma.url and collection_prefix", f"{chroma.url} {chroma.collection_prefix}"
    else:
        yield "chroma.path", str(chroma.path.resolve())


def _names_master_key(settings: Settings) -> bool:
    return bool(settings.store.master_key.get_secret_value()) or settings.store.master_key_file is not None


def _with_absolute_paths(settings: Settings, base: Path, from_flags: Mapping[str, Any]) -> Settings:
    """Make each path of each section absolute, and that of a SQLite `store.url`."""

    def folder(section: str, key: str) -> Path:
        return Path.cwd() if key in from_flags.get(section, {}) else base

    changed: dict[str, Frozen] = {}
    for section in Settings.model_fields:
        values: Frozen = getattr(settings, section)
        update: dict[str, Any] = {key: _absolute(value, folder(section, key)) for key, value in values}
        if section == "store":
            update["url"] = sqlite_url_in(folder(section, "url"), settings.store.url, name="store.url")
            if keys := settings.store.keys_url:
                update["keys_url"] = sqlite_url_in(folder(section, "keys_url"), keys, name="store.keys_url")
        changed[section] = values.model_copy(update=update)
    return settings.model_copy(update=changed)


def _absolute(value: object, folder: Path) -> object:
    """A setting with its paths absolute."""
    if isinstance(value, Path):
        try:
            return folder / value.expanduser()
        except RuntimeError:  # `~name` of nobody, or a user without a home
            raise ConfigError(f"{value}: there is no such home folder: write the whole path") from None
    if isinstance(value, tuple):
        return tuple(_absolute(one, folder) for one in value)
    return {key: _absolute(one, folder) for key, one in value.items()} if isinstance(value, Mapping) else value


def _with_secrets_of_files(settings: Settings) -> Settings:
    """Read each secret from its file, `<key>_file`; what is given directly wins."""
    changed: dict[str, Frozen] = {}
    for section, key in SECRETS:
        values, file_key = getattr(settings, section), f"{key}_file"
        file, given = getattr(values, file_key), getattr(values, key)
        if file is not None and not given.get_secret_value():
            secret = SecretStr(_secret_in(file, section, file_key, f"{section}.{file_key} ({file})"))
            changed[section] = values.model_copy(update={key: secret})
    return settings.model_copy(update=changed)


def _with_password_in_url(settings: Settings) -> Settings:
    """`store.url` with `store.password`, so that everything else needs to know the URL alone."""
    store = settings.store
    if not (password := store.password.get_secret_value()):
        return settings
    url = make_url(store.url)
    if url.get_backend_name() == "sqlite":
        text = "store.password: SQLite has no passwords: leave it out, or write a PostgreSQL URL into store.url"
        raise SettingsRefused([SettingProblem("store", "password", text)])
    update = {"url": url.set(password=password).render_as_string(hide_password=False)}
    return settings.model_copy(update={"store": store.model_copy(update=update)})


def _secret_in(file: Path, section: str, key: str, origin: str, todo: str = "write only the secret into it") -> str:
    """The text of a file with one secret.

    Raises:
        SettingsRefused: it cannot be read, or is empty.
    """
    try:
        secret = file.read_text("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise SettingsRefused([SettingProblem(section, key, f"{origin} cannot be read: {reason}", todo)]) from None
    if not secret:
        raise SettingsRefused([SettingProblem(section, key, f"{origin} is empty", todo)])
    return secret


def _with_secret(settings: Settings) -> Settings:
    """Read `agent.secret` from `agent.secret_file`, a secret that is given directly wins; and the previous secrets."""
    agent = settings.agent
    secret, key, origin = agent.secret.get_secret_value(), "secret", "agent.secret"
    if not secret and agent.secret_file is not None:
        key, origin = "secret_file", f"agent.secret_file ({agent.secret_file})"
        secret = _secret_in(agent.secret_file, "agent", key, origin, "`support-agent init` writes one")
    if secret:
        _refuse_short(secret, key, origin)
    changes = {"secret": SecretStr(secret), "previous_secrets": tuple(_previous_secrets(agent))}
    return settings.model_copy(update={"agent": agent.model_copy(update=changes)})


def _previous_secrets(agent: AgentSettings) -> Iterator[SecretStr]:
    """Those that are given directly, and those of the files."""
    for secret in agent.previous_secrets:
        _refuse_short(secret.get_secret_value(), "previous_secrets", "agent.previous_secrets")
        yield secret
    for file in agent.previous_secret_files:
        origin = f"agent.previous_secret_files ({file})"
        text = _secret_in(file, "agent", "previous_secret_files", origin, "take it out of the list if it is not needed")
        _refuse_short(text, "previous_secret_files", origin)
        yield SecretStr(text)


def _refuse_short(secret: str, key: str, origin: str) -> None:
    if len(secret) < MIN_SECRET_CHARACTERS:
        todo = f"use at least {MIN_SECRET_CHARACTERS} random characters"
        text = f"{origin}: shorter than {MIN_SECRET_CHARACTERS} characters: {todo}"
        raise SettingsRefused([SettingProblem("agent", key, text)])
