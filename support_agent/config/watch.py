"""The sections `[watch]` and `[probe]`: health, metrics, tracing, alarms to the desk, and the canary mail."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from support_agent.config.mail_servers import OptionalPath
from support_agent.core.frozen import Frozen


def _is_endpoint(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        is_url = False
    if url and not is_url:
        raise ValueError("write the collector's address for OTLP over gRPC: http://127.0.0.1:4317")
    return url


class WatchSettings(Frozen):
    """What a running worker reports of itself: `/healthz`, `/readyz` and `/metrics`, traces, and alarms to the desk.

    None of it has a body, an address or a subject of a mail.
    """

    host: Annotated[str, Field(pattern=r"^[A-Za-z0-9.:-]{1,253}$")] = "127.0.0.1"
    """The address that the worker listens on. Nobody signs in there: let only your monitoring reach it."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """The port of `/healthz`, `/readyz` and `/metrics`; 0: off."""
    loop_margin_s: Annotated[float, Field(ge=1, le=86_400)] = 300.0
    """Without a turn of the worker's loop for this time, added to the longest wait of a turn (`planner.max_s` and
    `imap.poll_interval_s`), `/healthz` says that the worker hangs."""
    otlp_endpoint: Annotated[str, AfterValidator(_is_endpoint)] = ""
    """Address of an OpenTelemetry collector (OTLP over gRPC) that gets a span of each journey and each step; empty:
    off."""
    alarm_every_h: Annotated[float, Field(ge=0, le=8760)] = 24.0
    """The desk gets a mail when an alarm begins, each time it has lasted for so many hours more, and when it ends; 0:
    no alarms by mail."""
    alarm_settle_s: Annotated[float, Field(ge=0, le=86_400)] = 600.0
    """An alarm ends when its cause has been gone for this long, so that one that comes and goes is one alarm."""
    max_alarms_a_day: Annotated[int, Field(ge=1, le=1000)] = 24
    """Most mails of all alarms within 24 hours."""
    backlog_after_s: Annotated[float, Field(ge=1, le=2_592_000)] = 1800.0
    """Mail that nobody has decided for this long is a backlog."""
    silent_after_h: Annotated[float, Field(ge=0, le=168)] = 24.0
    """A mailbox without a new mail for so many hours is silent, if at least one came in the same hours of each of the
    four weeks before; 0: never."""
    uncertain_after_h: Annotated[float, Field(ge=0, le=8760)] = 4.0
    """A mail that may or may not have been sent, and that nobody has decided about for so many hours, is an alarm; the
    desk also gets a notice of each such mail to a customer at once."""
    max_model_failures: Annotated[int, Field(ge=1, le=10_000)] = 3
    """So many mails within an hour that went to people because the language model failed are an alarm."""
    expires_days: Annotated[float, Field(ge=0, le=365)] = 14.0
    """How long before its end a certificate of a mail server, or a refresh token, is an alarm; 0: only when it has
    ended."""


class ProbeSettings(Frozen):
    """The canary mail of `support-agent probe`: an ordinary customer's question, sent through the whole loop.

    No rule makes an exception for it. Servers that are not set are those of `[imap]` and `[smtp]`.
    """

    address: str = ""
    """The canary's address, a mailbox of its own; not one of the desk's or the agent's."""
    question: Annotated[str, Field(max_length=1000)] = ""
    """What it asks: something that a document answers by itself."""
    document: Annotated[int, Field(ge=0, le=99_999)] = 0
    """Number of the document that must answer; 0: any automatic answer or acknowledgement will do."""
    has_tags: bool = True
    """Each canary has a plus address of its own, canary+TIME@: the same answer does not go to the same address again
    within `agent.identical_answer_days`. Without tags one probe in that time is answered."""
    user: str = ""
    """User of the canary's mailbox; empty: its address."""
    password: SecretStr = SecretStr("")
    password_file: OptionalPath = None
    """A file with only the password; `password` wins."""
    imap_host: str = ""
    imap_port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """0: that of `[imap]`."""
    smtp_host: str = ""
    smtp_port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """0: that of `[smtp]`."""
    timeout_s: Annotated[float, Field(ge=1, le=86_400)] = 300.0
    """Longest wait for the answer."""
    poll_interval_s: Annotated[float, Field(ge=0.1, le=60)] = 1.0
    """How often the canary's mailbox and the store are read meanwhile."""
