"""The sections `[imap]`, `[smtp]` and `[oauth]`: the mailbox, the server that sends, and how to sign in at both."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator

from support_agent.core.frozen import Frozen

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


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


class Server(Frozen):
    """Settings that the IMAP and the SMTP section share."""

    host: str = ""
    security: Security = Security.TLS
    """How the connection is protected; `plain` is for loopback hosts only."""
    auth: SignIn = SignIn.PASSWORD
    """How the program signs in: with `password`, or with an access token that `[oauth]` describes."""
    user: str = ""
    """The name to sign in with; empty, for SMTP only: it does not sign in."""
    password: SecretStr = SecretStr("")
    password_file: OptionalPath = None
    """A file with only the password; `password` wins."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    """Longest wait for the connection, and for a further part of an answer."""
    ca_file: OptionalPath = None
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
    """The folder that is read."""
    move_handled_to: str = ""
    """Recorded mails are moved into this folder; empty: they stay and only get a keyword."""
    sent_copies: SentCopies = SentCopies.AGENT
    """Who files copies of sent mails. Use 'provider' if the sending server does so itself, like Gmail's and Microsoft
    365's; a copy that it filed proves that the mail went out. `none`: nobody does, and the Sent folder is not searched
    for our own mails."""
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
    """Only the header of a larger mail is read, and a person gets it."""


class OAuthSettings(Frozen):
    """How to get access tokens for `auth = "xoauth2"` (RFC 6749).

    With a `refresh_token_file` a person has signed in once (section 6). Without one the program signs in itself with
    client id and secret (section 4.4); Microsoft 365 supports this.
    """

    token_url: str = ""
    """Where the server gives access tokens: https, or http on a loopback host."""
    client_id: str = ""
    """The id of the application that you registered with the provider."""
    client_secret_file: OptionalPath = None
    """A file with only the client's secret; empty: the client has none."""
    refresh_token_file: OptionalPath = None
    """A writable file with only the refresh token: a server may give a new token with each answer."""
    scope: str = ""
    """What the token is for, in the provider's words: docs/gmail-and-microsoft-365.md has those of both."""
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
    """Most tries to send a mail that the server does not take now; then it has failed."""
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
