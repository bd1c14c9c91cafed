"""All metrics of `/metrics`, as one table: name, type, help, and each label with all its values.

Invariant: a label has only values of this table, whatever mails come in; what is none of them counts as `other`. No
value is an address, a subject or a word of a document. Checked by tests/unit/watch/test_metrics.py, with hostile mail
by tests/unit/watch/test_observed_journeys.py, and against docs/watching.md by tests/test_docs.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from support_agent.store.records import OutboxStatus, OutgoingKind
from support_agent.store.watch_records import AlarmKind, Expiring

OTHER = "other"
BRAND = "brand"
"""The label of all metrics of one mailbox: the name of the brand in the configuration; empty for the first mailbox."""
STEPS = (
    "parse",
    "screen",
    "file",
    "decide",
    "identify",
    "route",
    "hold",
    "plan",
    "pass_on",
    "answer",
    "escalate",
    "send",
    "end",
)
"""The steps of `pipeline.handle`; `decide` has identify, route, hold and plan inside."""
OUTCOMES = ("answered", "escalated", "filed", "held", "set_aside", "failed")
"""How a journey ends: as `workflow.stages.Outcome` and the status of the mail say, or by an error."""
SENDS = ("sent", "retry", "failed", "uncertain", "withdrawn")
"""The results of one try, see `outbound.sender.SendResult`; a mail that is held back was not tried."""
MODEL_CALLS = ("score", "score_each", "compose", "generate")
RESULTS = ("ok", "transient", "permanent", "config", "rejected")
"""How a call ended: well, or with an error by what happens next."""
OPEN = (OutboxStatus.PROPOSED, OutboxStatus.READY, OutboxStatus.SENDING, OutboxStatus.UNCERTAIN, OutboxStatus.FAILED)
"""What of the outbox is counted; sent and cancelled mails are history."""
STEP_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
NO_LABELS: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class MetricType(StrEnum):
    """Types of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """One metric; `labels` has each label with all its values, besides `brand`.

    `of`: what it is about: this process, or the store that all workers share, which is asked when it is scraped.
    """

    name: str
    kind: MetricType
    help: str
    labels: Mapping[str, tuple[str, ...]] = NO_LABELS
    of: str = "process"


def _shared(name: str, help: str, **labels: tuple[str, ...]) -> Metric:
    return Metric(name, MetricType.GAUGE, help, MappingProxyType(labels), "store")


def _counter(name: str, help: str, **labels: tuple[str, ...]) -> Metric:
    return Metric(name, MetricType.COUNTER, help, MappingProxyType(labels))


def _seconds(name: str, help: str, **labels: tuple[str, ...]) -> Metric:
    return Metric(name, MetricType.HISTOGRAM, help, MappingProxyType(labels))


JOURNEYS = _counter("support_agent_journeys_total", "Journeys of mails that ended, by outcome.", outcome=OUTCOMES)
JOURNEY_SECONDS = _seconds(
    "support_agent_journey_seconds", "Duration of a journey, waits before further tries included."
)
STEP_SECONDS = _seconds("support_agent_step_seconds", "Duration of one try of a step.", step=STEPS)
STEP_FAILURES = _counter("support_agent_step_failures_total", "Tries of a step that ended with an error.", step=STEPS)
MODEL_SECONDS = _seconds("support_agent_model_seconds", "Duration of a call of the language model.", call=MODEL_CALLS)
MODEL_CALLS_TOTAL = _counter(
    "support_agent_model_calls_total", "Calls of the language model, by result.", call=MODEL_CALLS, result=RESULTS
)
MODEL_TOKENS = _counter(
    "support_agent_model_tokens_total",
    "Tokens that the language model has read: of prompts, and of the options that it scored.",
    part=("prompt", "options"),
)
MODEL_PASSES = _counter("support_agent_model_forward_passes_total", "Forward passes of the language model.")
SENDS_TOTAL = _counter(
    "support_agent_sends_total",
    "Tries to send a mail of the outbox, by the mail's kind and the result.",
    kind=tuple(OutgoingKind),
    result=SENDS,
)
CONNECTS = _counter(
    "support_agent_connects_total",
    "Connections to the mail servers, by result.",
    server=("imap", "smtp"),
    result=RESULTS,
)
TURNED_AT = Metric(
    "support_agent_loop_turned_timestamp_seconds", MetricType.GAUGE, "When the worker's loop last turned, in Unix time."
)
IS_READY = Metric(
    "support_agent_ready",
    MetricType.GAUGE,
    "1 if this part is as /readyz wants it, else 0.",
    MappingProxyType({"part": ("database", "company_files", "mailbox", "model")}),
)
INFO = Metric("support_agent_info", MetricType.GAUGE, "Always 1; the label `version` has the version of the program.")
QUEUE_MAILS = _shared("support_agent_queue_mails", "Mails that are recorded and not decided yet.")
QUEUE_OLDEST = _shared("support_agent_queue_oldest_seconds", "Age of the oldest of them; 0: there is none.")
ENGINE_MAILS = _shared(
    "support_agent_engine_mails", "Journeys in the engine, queued or running.", state=("queued", "running")
)
OUTBOX_MAILS = _shared("support_agent_outbox_mails", "Mails of the outbox that are not sent, by status.", status=OPEN)
STOPPED = _shared(
    "support_agent_stopped",
    "1 while something is stopped: the agent is paused, or a limit of automatic mail is reached, for deciding, for "
    "sending, or for mail of unknown senders.",
    what=("paused", "deciding", "sending", "unknown_senders"),
)
CASES_WAITING = _shared("support_agent_cases_waiting", "Cases that wait for a person's answer.")
CASES_OLDEST = _shared("support_agent_cases_waiting_oldest_seconds", "How long the oldest of them has waited; 0: none.")
FETCHED_AT = _shared(
    "support_agent_mailbox_fetched_timestamp_seconds",
    "When the mailbox was last read to its end, in Unix time; 0: never.",
)
RECEIVED_AT = _shared(
    "support_agent_mail_received_timestamp_seconds",
    "When the newest mail was recorded, in Unix time; 0: there is none.",
)
EXPIRES_AT = _shared(
    "support_agent_expires_timestamp_seconds",
    "When something ends, in Unix time: a server's certificate, or the refresh token; 0: not known.",
    what=tuple(Expiring),
)
ALARM = _shared("support_agent_alarm", "1 while there is reason for this alarm, else 0.", alarm=tuple(AlarmKind))

METRICS = (
    JOURNEYS,
    JOURNEY_SECONDS,
    STEP_SECONDS,
    STEP_FAILURES,
    MODEL_CALLS_TOTAL,
    MODEL_SECONDS,
    MODEL_TOKENS,
    MODEL_PASSES,
    SENDS_TOTAL,
    CONNECTS,
    TURNED_AT,
    IS_READY,
    INFO,
    QUEUE_MAILS,
    QUEUE_OLDEST,
    ENGINE_MAILS,
    OUTBOX_MAILS,
    STOPPED,
    CASES_WAITING,
    CASES_OLDEST,
    FETCHED_AT,
    RECEIVED_AT,
    EXPIRES_AT,
    ALARM,
)
"""Every metric, in the order of docs/watching.md."""
