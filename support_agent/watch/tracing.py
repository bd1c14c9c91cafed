"""Makes OpenTelemetry spans: one for each journey, with one for each try of a step in it, sent to a collector.

Invariant: a span has the ids of mail and case, fixed words and numbers; of an error its class, not its text, which may
quote a mail. Only this file uses `opentelemetry`; its global provider stays unset. Checked by
tests/unit/watch/test_tracing.py, against a collector.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Status, StatusCode

from support_agent.config.log import route_library_log
from support_agent.core.observing import Seen
from support_agent.watch.metrics import OUTCOMES

EXPORT_S = 2.0
"""Longest time for a batch of spans, further tries included; then they are lost. A stop waits as long."""
NAME = "support-agent"
PREFIX = "support_agent"


class Tracing:
    """Sends spans in the background; `close` sends the last ones."""

    def __init__(self, exporter: SpanExporter, version: str) -> None:
        route_library_log("opentelemetry", "tracing_warning")  # a collector that is away is no traceback
        resource = Resource({SERVICE_NAME: NAME, SERVICE_VERSION: version})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer(NAME, version)

    @classmethod
    def to(cls, endpoint: str, version: str) -> Tracing:
        """Spans for a collector at this address, by OTLP over gRPC."""
        is_plain = endpoint.startswith("http://")
        return cls(OTLPSpanExporter(endpoint=endpoint, insecure=is_plain, timeout=EXPORT_S), version)

    @contextmanager
    def span(self, name: str, **attributes: str | int) -> Iterator[Seen]:
        """A span of what runs inside, below that of what runs around it in this thread."""
        seen, given = Seen(), {f"{PREFIX}.{key}": value for key, value in attributes.items()}
        with self._tracer.start_as_current_span(
            name, attributes=given, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield seen
            except BaseException as error:
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                raise
            finally:
                if seen.outcome in OUTCOMES:
                    span.set_attribute(f"{PREFIX}.outcome", seen.outcome)
                if seen.case_id:
                    span.set_attribute(f"{PREFIX}.case_id", seen.case_id)

    def close(self) -> None:
        """Send what is left, and stop."""
        self._provider.shutdown()
