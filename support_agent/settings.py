"""All configuration: one frozen tree, read once, from `support-agent.toml` and the environment.

Precedence: command-line flag, environment (`SUPPORT_AGENT__SECTION__KEY`), file, default. Every setting lives
in a section, because pydantic-settings ignores a misspelt top-level variable but refuses a misspelt nested
one. Paths in the file are relative to the file. Units are in the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from support_agent.levels import AUTHENTICATED, CUSTOMER
from support_agent.locales import FALLBACK_LOCALE, LocaleTag
from support_agent.settings_sources import (
    ENV_PREFIX,
    ENVIRONMENT,
    Problem,
    SettingsRefused,
    explain,
    merged,
    read_environment,
    read_file,
)

MIN_SECRET_CHARACTERS = 32
DATABASE_URL_HELP = "write sqlite:///file or postgresql://user@host/name"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Security(StrEnum):
    """How a connection is protected. `plain` is accepted for loopback hosts only."""

    TLS = "tls"
    STARTTLS = "starttls"
    PLAIN = "plain"


OptionalPath = Annotated[Path | None, BeforeValidator(lambda value: None if value == "" else value)]
"""A path, or "" for none."""


class Section(BaseModel):
    """One section of the file: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Server(Section):
    """What the IMAP and the SMTP section have in common."""

    host: str = ""
    security: Security = Security.TLS
    user: str = ""
    password: SecretStr = SecretStr("")
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    ca_file: Path | None = None
    """PEM certificates of an own authority, believed besides the system's; verification is never off."""

    @model_validator(mode="after")
    def _plain_only_on_loopback(self) -> Server:
        if self.security is Security.PLAIN and self.host not in LOOPBACK:
            todo = "use 'tls' or 'starttls'"
            raise ValueError(f"security = 'plain' is for loopback hosts only, not {self.host!r}: {todo}")
        return self


class ImapSettings(Server):
    """The mailbox that is read."""

    port: Annotated[int, Field(ge=1, le=65535)] = 993
    folder: str = "INBOX"
    handled_folder: str = ""
    """Handled mail is moved here; empty: it stays where it is, flagged only with a keyword."""
    skip_existing: bool = False
    """At the first start leave alone what is in the folder already, and from then on whatever arrived before."""
    poll_interval_s: Annotated[float, Field(ge=0.1, le=3600)] = 30.0
    max_message_bytes: Annotated[int, Field(ge=10_000, le=200_000_000)] = 25_000_000


class SmtpSettings(Server):
    """The server that sends."""

    port: Annotated[int, Field(ge=1, le=65535)] = 465
    max_attempts: Annotated[int, Field(ge=1, le=20)] = 12
    retry_base_s: Annotated[float, Field(ge=0.01, le=3600)] = 60.0
    """Wait before the second try; doubles with each try, so that 12 tries outlast a server's lost day."""
    final_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 600.0
    """Wait for the reply to a whole mail; giving up early leaves it uncertain (RFC 5321, section 4.5.3.2.6)."""


class AgentSettings(Section):
    """Who the agent is in the mails it sends, and whose word about a sender it believes."""

    address: str = ""
    name: str = "Support"
    aliases: tuple[str, ...] = ()
    """Further addresses that reach this mailbox."""
    authserv_ids: tuple[str, ...] = ()
    """authserv-id of our own border server: its topmost Authentication-Results is believed (RFC 8601)."""
    secret: SecretStr = SecretStr("")
    """Key of the Message-ID and origin headers; 32 characters or more; `init` writes `secret.key`."""
    secret_file: OptionalPath = None
    answers_from_level: Annotated[int, Field(ge=AUTHENTICATED, le=CUSTOMER)] = AUTHENTICATED
    """Lowest sender level that gets answers; below: a person. 1 answers senders whose domain has no DMARC, and with
    them some forged ones: what such a stranger gets holds public documents and nothing of the mail."""
    acknowledges_from_level: Annotated[int, Field(ge=AUTHENTICATED, le=CUSTOMER)] = AUTHENTICATED
    """Lowest sender level that is told that a person has the case; below: nothing is sent but the desk's packet."""
    max_received: Annotated[int, Field(ge=5, le=200)] = 50
    max_hops: Annotated[int, Field(ge=1, le=20)] = 3
    max_letters_per_case: Annotated[int, Field(ge=1, le=1000)] = 5
    """Automatic letters (answers and acknowledgements) in one case; a mail above goes to the desk, and nothing is
    sent to its customer: a machine without marks may be writing (RFC 3834, section 2)."""
    max_letters_per_sender_a_day: Annotated[int, Field(ge=1, le=100_000)] = 10
    """The same for all cases of a sender within 24 hours, and the most packets about them; a mail above both is filed.
    """


class DeskSettings(Section):
    """The people: where escalated cases go, and the words by which a customer asks for one."""

    address: str = ""
    person_words: tuple[str, ...] = (
        "agent",
        "human",
        "real person",
        "a person",
        "representative",
        "someone real",
        "mensch",
        "mitarbeiter",
        "mitarbeiterin",
        "humano",
        "persona real",
        "un agente",
    )
    staff: tuple[str, ...] = ()
    """Addresses whose replies to a packet are passed on to the customer, besides the desk address itself."""


class CompanySettings(Section):
    """Where the company's words are. Paths are relative to the configuration file."""

    name: str = "Your company"
    policies: Path = Path("policies")
    templates: Path = Path("templates")
    accounts: Path = Path("accounts.toml")
    locale: LocaleTag = FALLBACK_LOCALE
    """Locale of the desk, and of customers whose own is not known or has no templates: one that has templates."""


class ModelSettings(Section):
    """The language model and the embedding model."""

    planner: Literal["llama", "openai"] = "llama"
    path: OptionalPath = None
    """A local GGUF file; empty: the pinned default model from the user's cache."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """0: one per core."""
    context_tokens: Annotated[int, Field(ge=1024, le=131_072)] = 8192
    base_url: str = ""
    """OpenAI-compatible server, for planner = 'openai'."""
    name: str = ""
    api_key: SecretStr = SecretStr("")
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    max_retries: Annotated[int, Field(ge=0, le=5)] = 2
    cache_dir: OptionalPath = None
    """Where models are kept; empty: the user's cache directory."""
    hub_timeout_s: Annotated[float, Field(gt=0, le=600)] = 10.0
    """The Hugging Face hub must answer within this time, else the model's next source is tried."""
    download_stall_s: Annotated[float, Field(gt=0, le=3600)] = 300.0
    """A download that does not grow for this long is given up; what is there is kept for the next try."""


class PlannerSettings(Section):
    """Bounds of one plan, and how sure a choice must be before it happens."""

    max_calls: Annotated[int, Field(ge=1, le=100)] = 24
    max_tokens: Annotated[int, Field(ge=256, le=1_000_000)] = 20_000
    max_s: Annotated[float, Field(gt=0, le=3600)] = 120.0
    max_repairs: Annotated[int, Field(ge=0, le=10)] = 2
    max_questions: Annotated[int, Field(ge=1, le=20)] = 5
    max_mail_characters: Annotated[int, Field(ge=200, le=100_000)] = 4_000
    """Longer mail goes to a person: its middle is never silently dropped."""
    threshold_answer: Annotated[float, Field(ge=0, le=1)] = 0.6
    threshold_data: Annotated[float, Field(ge=0, le=1)] = 0.5
    shortlist: Annotated[int, Field(ge=2, le=16)] = 6


class StoreSettings(Section):
    """The database of cases: a URL of SQLite or PostgreSQL; relative SQLite paths count from the file."""

    url: str = "sqlite:///support-agent.sqlite3"
    retention_days: Annotated[int, Field(ge=1, le=36_500)] = 3650
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    """Longest wait for a lock (SQLite), a connection (PostgreSQL) or a free connection."""


class EngineSettings(Section):
    """How mails are worked through: how many at once, how often a step is tried, how long records stay."""

    concurrency: Annotated[int, Field(ge=1, le=64)] = 1
    """Cases worked on at the same time; mails of one case always go one after the other."""
    poll_interval_s: Annotated[float, Field(ge=0.01, le=60)] = 0.2
    """How often the queue is looked at: the longest wait before the next mail is taken."""
    step_attempts: Annotated[int, Field(ge=1, le=20)] = 4
    """Tries of one step while it fails with something that may pass; then the mail is set aside."""
    retry_base_s: Annotated[float, Field(ge=0, le=3600)] = 1.0
    """Wait before the second try of a step; doubles with each try."""
    retry_max_s: Annotated[float, Field(ge=0, le=3600)] = 60.0
    """Longest wait between two tries of a step."""
    max_interruptions: Annotated[int, Field(ge=1, le=1000)] = 8
    """Times a mail may be in hand while the program dies or is stopped; one more and it is set aside."""
    stop_timeout_s: Annotated[float, Field(ge=0, le=3600)] = 60.0
    """Time for the mails in hand when the program is asked to stop; the rest waits for the next start."""
    retention_days: Annotated[int, Field(ge=1, le=36_500)] = 30
    """Finished mails stay in the engine's records this long; the store keeps its own."""


class ChromaSettings(Section):
    """The vector store: embedded in a folder, or a server by URL."""

    path: Path = Path("chroma")
    url: str = ""


class LogSettings(Section):
    """One structlog event per step, on stderr."""

    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"


class Settings(BaseSettings):
    """The whole tree; `load` is the way to get one, and the only place where the environment is read."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_prefix=ENV_PREFIX, env_nested_delimiter="__")

    imap: ImapSettings = ImapSettings()
    smtp: SmtpSettings = SmtpSettings()
    agent: AgentSettings = AgentSettings()
    desk: DeskSettings = DeskSettings()
    company: CompanySettings = CompanySettings()
    model: ModelSettings = ModelSettings()
    planner: PlannerSettings = PlannerSettings()
    store: StoreSettings = StoreSettings()
    engine: EngineSettings = EngineSettings()
    chroma: ChromaSettings = ChromaSettings()
    log: LogSettings = LogSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments only: a `Settings()` made in code is the same on every machine."""
        return (init_settings,)


def load(path: Path | None, overrides: Mapping[str, object] | None = None) -> Settings:
    """Read the configuration: overrides over environment over file over defaults.

    Relative paths from the file, the environment and the defaults are relative to the file's folder (to the
    working folder where `path` is None); those from `overrides`, which a person typed, to the working folder.

    Args:
        path: `support-agent.toml`, or None for none.
        overrides: Dotted keys ("store.url") and their values; None values count as not given.
    Raises:
        ConfigError: one line for each thing that is wrong: where it was set, the key, what to do
            (`SettingsRefused` where that is a setting). Values are never repeated: they may be secrets.
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
    """The settings with each `Path` of each section absolute, and a SQLite `store.url`."""

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


def sqlite_url_in(folder: Path, url: str, *, name: str) -> str:
    """A database URL with a relative SQLite path made absolute below `folder`; any other URL as it is.

    Raises:
        ConfigError: it is no SQLAlchemy URL; `name` says which setting it is.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        section, _, key = name.rpartition(".")
        text = f"{name}: not a database URL: {DATABASE_URL_HELP}"
        raise SettingsRefused([Problem(section, key, text)]) from None
    file = parsed.database or ""
    if parsed.get_backend_name() != "sqlite" or file in {"", ":memory:"} or file.startswith("file:"):
        return url
    absolute = folder / Path(file).expanduser()
    return parsed.set(database=str(absolute)).render_as_string(hide_password=False)


def _with_secret(settings: Settings) -> Settings:
    """The settings with `agent.secret` from `agent.secret_file`; a secret that is given directly wins."""
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
