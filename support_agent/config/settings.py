"""All configuration: one frozen tree; `loading.load` reads it from `support-agent.toml` and the environment.

Precedence: command-line flag, environment (`SUPPORT_AGENT__SECTION__KEY`), file, default. Every setting lives
in a section, because pydantic-settings ignores a misspelt top-level variable but refuses a misspelt nested
one. Paths in the file are relative to the file. Units are in the names.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from support_agent.config.embedding import EmbeddingSettings
from support_agent.config.facts import EvidenceSettings, FactSettings, GradingSettings
from support_agent.config.screening import ScreeningSettings
from support_agent.config.search import LOOPBACK, SearchSettings
from support_agent.config.sources import ENV_PREFIX
from support_agent.core.levels import AUTHENTICATED, CUSTOMER
from support_agent.core.locales import FALLBACK_LOCALE, LocaleTag


class Security(StrEnum):
    """How a connection is protected. `plain` is accepted for loopback hosts only."""

    TLS = "tls"
    STARTTLS = "starttls"
    PLAIN = "plain"


class SignIn(StrEnum):
    """What a server is shown: a password, or an access token that `[oauth]` says how to get."""

    PASSWORD = "password"
    XOAUTH2 = "xoauth2"


class SentCopies(StrEnum):
    """Who files a copy of each mail that goes out into the Sent folder."""

    AGENT = "agent"
    PROVIDER = "provider"
    NONE = "none"


OptionalPath = Annotated[Path | None, BeforeValidator(lambda value: None if value == "" else value)]
"""A path, or "" for none."""


class Section(BaseModel):
    """One section of the file: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Server(Section):
    """What the IMAP and the SMTP section have in common."""

    host: str = ""
    security: Security = Security.TLS
    auth: SignIn = SignIn.PASSWORD
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
    move_handled_to: str = ""
    """Mail is moved into this folder once it is recorded; empty: it stays, with a keyword only."""
    sent_copies: SentCopies = SentCopies.AGENT
    """Who files a copy of what goes out: 'provider' where the server that sends does so by itself, as those of Gmail
    and Microsoft 365 do; what it has filed did go out."""
    sent_folder: str = ""
    """Where the copies are; empty: the folder that the server calls the one for sent mail."""
    sent_search_days: Annotated[int, Field(ge=1, le=365)] = 3
    """For so many days after its last try a mail's copy is looked for, or filed."""
    skip_existing: bool = False
    """At the first start leave alone what is in the folder already, and from then on whatever arrived before."""
    poll_interval_s: Annotated[float, Field(ge=0.1, le=3600)] = 30.0
    """How often the folder is looked at, also while the server is to tell of new mail by itself."""
    idle: bool = True
    """Let the server tell of new mail (IDLE), where it can; else the folder is only looked at now and then."""
    idle_max_s: Annotated[float, Field(ge=1, le=1740)] = 1500.0
    """Longest IDLE before it is said anew: servers may end one of 30 minutes (RFC 2177)."""
    idle_pause_s: Annotated[float, Field(ge=1, le=86_400)] = 3600.0
    """For so long no IDLE is tried after one that failed."""
    reconnect_base_s: Annotated[float, Field(ge=0.01, le=3600)] = 1.0
    """Wait after the first failure in a row, or as little as half of it; doubles with each."""
    reconnect_max_s: Annotated[float, Field(ge=0.1, le=3600)] = 300.0
    """Longest such wait, or as little as half of it."""
    alarm_after_s: Annotated[float, Field(ge=1, le=604_800)] = 900.0
    """A mailbox that could not be read for so long is an alarm, in the log and of `doctor`."""
    max_message_bytes: Annotated[int, Field(ge=10_000, le=200_000_000)] = 25_000_000


class OAuthSettings(Section):
    """Where access tokens for `auth = "xoauth2"` come from (RFC 6749).

    With a `refresh_token_file` a person has signed in once (section 6); without one the program is itself let in,
    by client id and secret (section 4.4), as Microsoft 365 can.
    """

    token_url: str = ""
    client_id: str = ""
    client_secret_file: OptionalPath = None
    """The client's secret, in a file of its own; empty: a client without one."""
    refresh_token_file: OptionalPath = None
    """The refresh token, in a file of its own that can be written: a server may give a new one with each answer."""
    scope: str = ""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 20.0
    renew_before_s: Annotated[float, Field(ge=0, le=3600)] = 120.0
    """A token that expires within so long is not used any more."""

    @field_validator("token_url")
    @classmethod
    def _is_protected(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
        except ValueError:
            raise ValueError("not a URL") from None
        if url and parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise ValueError("the address must begin with https://, as secrets are sent there")
        return url


class SmtpSettings(Server):
    """The server that sends."""

    port: Annotated[int, Field(ge=1, le=65535)] = 465
    max_attempts: Annotated[int, Field(ge=1, le=100)] = 13
    retry_base_s: Annotated[float, Field(ge=0.01, le=3600)] = 60.0
    """Wait before the second try, and up to a quarter more; doubles with each try."""
    retry_max_s: Annotated[float, Field(ge=0.01, le=604_800)] = 21_600.0
    """Longest such wait: with it 13 tries outlast a server's lost day."""
    final_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 600.0
    """Wait for the reply to a whole mail; giving up early leaves it uncertain (RFC 5321, section 4.5.3.2.6)."""
    mails_per_connection: Annotated[int, Field(ge=1, le=100_000)] = 100
    """Mails sent over one connection before a new one is opened."""
    idle_s: Annotated[float, Field(ge=0, le=3600)] = 30.0
    """A connection is kept for so long after a mail; 0: each mail has its own."""
    verp: bool = False
    """Give each mail an envelope sender of its own, support+b-<token>@, so that any bounce says which mail it is about;
    needs a mailbox that takes such addresses."""
    asks_delivery_reports: bool = False
    """Ask for a report of each delivery (RFC 3461), where the server can: it settles what is uncertain, and is one mail
    more for each that is sent."""
    suppression_days: Annotated[int, Field(ge=0, le=3650)] = 60
    """An address that bounced for good (5.1.z) gets no automatic mail for so long; 0: only that one mail fails."""


class AgentSettings(Section):
    """Who the agent is in the mails it sends, and whose word about a sender it believes."""

    address: str = ""
    name: str = "Support"
    aliases: tuple[str, ...] = ()
    """Further addresses that reach this mailbox."""
    authserv_ids: tuple[Annotated[str, Field(pattern=r"^[^\s;\"()=]+$")], ...] = ()
    """authserv-id of our own border server: its topmost Authentication-Results is believed (RFC 8601)."""
    believes_results_at: Literal["anywhere", "top"] = "anywhere"
    """Where such a field may stand: anywhere, the topmost one counts; or only at the top of the mail, above every
    Received field and every other server's Authentication-Results. "anywhere" needs a border server that adds one to
    each mail or takes away those that a mail brings along; else a forged one is believed where ours adds none."""
    believes_results_without_id: bool = False
    """Believe the topmost Authentication-Results that has no authserv-id, as Exchange Online writes it; only where the
    border server takes away every one that a mail brings along."""
    alignment: Literal["strict", "relaxed"] = "strict"
    """Where there is no DMARC policy, an spf or dkim pass for the From domain itself proves it, whoever checked it;
    "relaxed": one of the same organisation too, as the domain may allow or forbid (RFC 7489, section 3.1)."""
    arc_sealers: tuple[Annotated[str, Field(pattern=r"^[^\s@]+\.[^\s@]+$")], ...] = ()
    """Domains of forwarders whose word is taken for what they saw, where our server reports arc=pass (RFC 8617)."""
    verify_dkim: bool = False
    """Verify DKIM signatures ourselves, with questions to the DNS, where the border server says nothing of them."""
    dkim_timeout_s: Annotated[float, Field(gt=0, le=60)] = 5.0
    """Longest wait for one answer of the DNS."""
    dkim_max_signatures: Annotated[int, Field(ge=1, le=20)] = 4
    """Signatures of a mail that are looked up, those of its From domain first; with them up to two policies."""
    secret: SecretStr = SecretStr("")
    """Key of the Message-ID and origin headers; 32 characters or more; `init` writes `secret.key`."""
    secret_file: OptionalPath = None
    answers_from_level: Annotated[int, Field(ge=AUTHENTICATED, le=CUSTOMER)] = AUTHENTICATED
    """Lowest sender level that gets answers; below: a person. 1 answers senders whose domain has no DMARC, and with
    them some forged ones: what such a stranger gets holds public documents and nothing of the mail."""
    acknowledges_from_level: Annotated[int, Field(ge=AUTHENTICATED, le=CUSTOMER)] = AUTHENTICATED
    """Lowest sender level that is told that a person has the case; below: nothing is sent but the desk's packet."""
    spam_verdicts: tuple[Annotated[str, Field(pattern=r"^[!-9;-~]+:\s*\S")], ...] = (
        "X-Spam-Flag: YES",
        "X-Spam-Status: Yes",
    )
    """"Name: word" of fields that our own server adds: mail is spam, and never answered, where the topmost of that name
    begins with the word or has it between semicolons ("X-Forefront-Antispam-Report: SFV:SPM"). Empty: none is believed.
    """
    max_received: Annotated[int, Field(ge=5, le=200)] = 50
    max_hops: Annotated[int, Field(ge=1, le=20)] = 3
    max_letters_per_case: Annotated[int, Field(ge=1, le=1000)] = 5
    """Automatic letters (answers and acknowledgements) in one case; a mail above goes to the desk, and nothing is
    sent to its customer: a machine without marks may be writing (RFC 3834, section 2)."""
    max_letters_per_sender_a_day: Annotated[int, Field(ge=1, le=100_000)] = 10
    """The same for all cases of a sender within 24 hours."""
    max_packets_per_sender_a_day: Annotated[int, Field(ge=1, le=100_000)] = 50
    """Packets to the desk about one sender within 24 hours, more than a person who sends each photo by itself needs.
    The first mail above is one packet more, which says so; the others are filed, and `doctor` counts them. As many
    notices a staff member gets within a day of replies that were not passed on."""
    max_letters_per_hour: Annotated[int, Field(ge=1, le=1_000_000)] = 200
    """Automatic mails to all senders and to the desk, notices too, within an hour. Above, everything automatic waits
    until the hour has room again, and the desk is told once (RFC 3834, section 2)."""
    identical_answer_days: Annotated[int, Field(ge=0, le=3650)] = 7
    """For so many days nobody is sent the same answer again in another case: it did not help, or a machine asks; a
    person gets the question. 0: it may be repeated there at once. Within a case no answer is ever repeated."""
    max_participants_per_case: Annotated[int, Field(ge=1, le=1000)] = 20
    """Addresses that may continue a case: its customer, and whom they write to as well, the first ones."""
    paused: bool = False
    """No automatic mail to customers; what a rule gives to people still reaches the desk, the rest waits.
    `support-agent pause` does the same without a restart."""
    pause_file: Path = Path("paused")
    """While a file of this name is there the agent is paused, whoever made it; its first line says why."""

    @property
    def can_identify(self) -> bool:
        """Whether a sender can have a level above 0 at all."""
        return bool(self.authserv_ids) or self.believes_results_without_id or self.verify_dkim

    def may_answer(self, level: int) -> bool:
        """Whether a sender of this level gets answers (S13)."""
        return level >= self.answers_from_level

    def may_acknowledge(self, level: int) -> bool:
        """Whether a sender of this level is told that a person has the case (S13)."""
        return level >= self.acknowledges_from_level


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
    """Locale of the documents, the desk, and customers whose own is not known or has no templates; it has some."""
    notice: Literal["top", "bottom"] = "bottom"
    """Where an answer says that a machine (AI) put it together: above the first answer or below the signature."""


class ModelSettings(Section):
    """The language model, and where all models are kept."""

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
    """The Hugging Face hub must answer, and a package index be reached, within this time, else the next source is
    tried."""
    download_stall_s: Annotated[float, Field(gt=0, le=3600)] = 300.0
    """A package index (`PIP_INDEX_URL`, else PyPI) that sends nothing for so long is given up; what came is kept."""


class PlannerSettings(Section):
    """How mails are planned, bounds of one plan, and how sure a choice must be before it happens."""

    mode: Literal["guided", "tools"] = "guided"
    """guided: the model chooses topic, period and form, and the calls follow. tools: it composes the calls itself, step
    by step, for larger models."""
    max_steps: Annotated[int, Field(ge=1, le=50)] = 10
    """Calls that the model may compose for one question, its last one, finish or escalate, included."""
    max_calls: Annotated[int, Field(ge=1, le=100)] = 24
    max_tokens: Annotated[int, Field(ge=256, le=1_000_000)] = 20_000
    max_s: Annotated[float, Field(gt=0, le=3600)] = 120.0
    max_repairs: Annotated[int, Field(ge=0, le=10)] = 2
    max_questions: Annotated[int, Field(ge=1, le=20)] = 5
    max_mail_characters: Annotated[int, Field(ge=200, le=100_000)] = 4_000
    """Longer mail goes to a person: its middle is never silently dropped."""
    max_attachment_characters: Annotated[int, Field(ge=0, le=100_000)] = 4_000
    """The same for the text of txt, md, pdf and docx attachments, which is read where the mail itself says no more than
    that it is attached; 0: never read."""
    threshold_answer: Annotated[float, Field(ge=0, le=1)] = 0.6
    threshold_section: Annotated[float, Field(ge=0, le=1)] = 0.7
    """How likely the sections of a document's excerpt must answer, where the document does; below it a person gets the
    question. Chosen where the vote was fitted, each company left out."""
    threshold_data: Annotated[float, Field(ge=0, le=1)] = 0.5
    calibration: Path = Path("calibration.json")
    """What `support-agent calibrate --write` makes: how the choice is adjusted to this company; it may be missing."""
    threshold_floor: Annotated[float, Field(ge=0, le=1)] = 0.5
    """No calibrated threshold is lower; from 0.5 on at most one topic is sure enough."""
    shortlist: Annotated[int, Field(ge=2, le=16)] = 6
    """Topics that the language model chooses among."""
    max_records: Annotated[int, Field(ge=1, le=10)] = 3
    """Records that one question may name; with more, a person gets it."""
    model_votes: Literal["always", "doubtful", "never"] = "doubtful"
    """When the language model is asked which topic answers; `doubtful`: where the other votes leave it open."""


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
    """The whole tree; `loading.load` is the way to get one."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_prefix=ENV_PREFIX, env_nested_delimiter="__")

    imap: ImapSettings = ImapSettings()
    smtp: SmtpSettings = SmtpSettings()
    oauth: OAuthSettings = OAuthSettings()
    agent: AgentSettings = AgentSettings()
    desk: DeskSettings = DeskSettings()
    company: CompanySettings = CompanySettings()
    model: ModelSettings = ModelSettings()
    planner: PlannerSettings = PlannerSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    screening: ScreeningSettings = ScreeningSettings()
    grading: GradingSettings = GradingSettings()
    evidence: EvidenceSettings = EvidenceSettings()
    store: StoreSettings = StoreSettings()
    engine: EngineSettings = EngineSettings()
    chroma: ChromaSettings = ChromaSettings()
    facts: FactSettings = FactSettings()
    search: SearchSettings = SearchSettings()
    log: LogSettings = LogSettings()

    @model_validator(mode="after")
    def _remembers_answers(self) -> Settings:
        kept, needed = self.store.retention_days, self.agent.identical_answer_days
        if kept < needed:  # an answer that is forgotten would go out again
            raise ValueError(f"store.retention_days = {kept} must not be below agent.identical_answer_days = {needed}")
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
        """Arguments only: a `Settings()` made in code is the same on every machine."""
        return (init_settings,)
