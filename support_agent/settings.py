"""All configuration: one frozen tree, read once, from `support-agent.toml` and the environment.

Precedence: command-line flag, environment (`SUPPORT_AGENT__SECTION__KEY`), file, default. Every setting lives in
a section, because pydantic-settings ignores a misspelt top-level variable but refuses a misspelt nested one.
Paths in the file are relative to the file. Units are in the names.
"""

from __future__ import annotations

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from support_agent.errors import ConfigError

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Security(StrEnum):
    """How a connection is protected. `plain` is accepted for loopback hosts only."""

    TLS = "tls"
    STARTTLS = "starttls"
    PLAIN = "plain"


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

    @model_validator(mode="after")
    def _plain_only_on_loopback(self) -> Server:
        if self.security is Security.PLAIN and self.host not in LOOPBACK:
            raise ValueError(f"security = 'plain' is for loopback hosts only, not {self.host!r}: use 'tls' or 'starttls'")
        return self


class ImapSettings(Server):
    """The mailbox that is read."""

    port: Annotated[int, Field(ge=1, le=65535)] = 993
    folder: str = "INBOX"
    handled_folder: str = ""
    """Handled mail is moved here; empty: it stays where it is, flagged only with a keyword."""
    poll_interval_s: Annotated[float, Field(ge=0.1, le=3600)] = 30.0
    max_message_bytes: Annotated[int, Field(ge=10_000, le=200_000_000)] = 25_000_000


class SmtpSettings(Server):
    """The server that sends."""

    port: Annotated[int, Field(ge=1, le=65535)] = 465
    max_attempts: Annotated[int, Field(ge=1, le=20)] = 6
    retry_base_s: Annotated[float, Field(ge=0.01, le=3600)] = 60.0
    """Wait before the second try; doubles with each try."""


class AgentSettings(Section):
    """Who the agent is in the mails it sends, and whose word about a sender it believes."""

    address: str = ""
    name: str = "Support"
    aliases: tuple[str, ...] = ()
    """Further addresses that reach this mailbox."""
    authserv_ids: tuple[str, ...] = ()
    """authserv-id of our own border server: only its topmost Authentication-Results is believed (RFC 8601)."""
    secret: SecretStr = SecretStr("")
    """Key of the Message-ID and origin headers; at least 32 characters; `init` writes one into `secret.key`."""
    secret_file: Path | None = None
    max_received: Annotated[int, Field(ge=5, le=200)] = 50
    max_hops: Annotated[int, Field(ge=1, le=20)] = 3


class DeskSettings(Section):
    """The people: where escalated cases go, and the words by which a customer asks for one."""

    address: str = ""
    person_words: tuple[str, ...] = (
        "agent", "human", "real person", "a person", "representative", "someone real",
        "mensch", "mitarbeiter", "mitarbeiterin", "humano", "persona real", "un agente",
    )
    staff: tuple[str, ...] = ()
    """Addresses whose replies to a packet are passed on to the customer; empty: the desk address alone."""


class CompanySettings(Section):
    """Where the company's words are. Paths are relative to the configuration file."""

    name: str = "Your company"
    policies: Path = Path("policies")
    templates: Path = Path("templates")
    accounts: Path = Path("accounts.toml")
    locale: Literal["en", "de"] = "en"
    """Locale of customers whose own is not known or has no templates."""


class ModelSettings(Section):
    """The language model and the embedding model."""

    planner: Literal["llama", "openai"] = "llama"
    path: Path | None = None
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
    cache_dir: Path | None = None
    """Where models are kept; empty: the user's cache directory."""


class PlannerSettings(Section):
    """Bounds of one plan, and how sure a choice must be before it happens."""

    max_calls: Annotated[int, Field(ge=1, le=100)] = 24
    max_tokens: Annotated[int, Field(ge=256, le=1_000_000)] = 20_000
    max_s: Annotated[float, Field(gt=0, le=3600)] = 120.0
    max_repairs: Annotated[int, Field(ge=0, le=10)] = 2
    max_questions: Annotated[int, Field(ge=1, le=20)] = 5
    max_mail_characters: Annotated[int, Field(ge=200, le=100_000)] = 4_000
    """Longer mail goes to a person: its middle is never silently dropped."""
    threshold_answer: Annotated[float, Field(ge=0, le=1)] = 0.5
    threshold_data: Annotated[float, Field(ge=0, le=1)] = 0.5
    shortlist: Annotated[int, Field(ge=2, le=16)] = 6


class StoreSettings(Section):
    """The database of cases: any SQLAlchemy URL of SQLite or PostgreSQL. Relative SQLite paths: to the file."""

    url: str = "sqlite:///support-agent.sqlite3"
    retention_days: Annotated[int, Field(ge=1, le=36_500)] = 3650


class ChromaSettings(Section):
    """The vector store: embedded in a folder, or a server by URL."""

    path: Path = Path("chroma")
    url: str = ""


class LogSettings(Section):
    """One structlog event per step, on stderr."""

    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"


class Settings(BaseSettings):
    """The whole tree; `load` is the way to get one."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix="SUPPORT_AGENT__", env_nested_delimiter="__"
    )

    imap: ImapSettings = ImapSettings()
    smtp: SmtpSettings = SmtpSettings()
    agent: AgentSettings = AgentSettings()
    desk: DeskSettings = DeskSettings()
    company: CompanySettings = CompanySettings()
    model: ModelSettings = ModelSettings()
    planner: PlannerSettings = PlannerSettings()
    store: StoreSettings = StoreSettings()
    chroma: ChromaSettings = ChromaSettings()
    log: LogSettings = LogSettings()
