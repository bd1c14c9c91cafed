"""Spans, sent to a collector over OTLP: a journey with its steps, and no text of an error."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc  # type: ignore[import-untyped]
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from structlog.testing import capture_logs

from support_agent.errors import TransientError
from support_agent.watch.observer import WorkerObserver
from support_agent.watch.tracing import Tracing
from tests.fakes_watch import Ticking


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.requests: list[trace_service_pb2.ExportTraceServiceRequest] = []

    def Export(self, request: trace_service_pb2.ExportTraceServiceRequest, context: object) -> object:
        self.requests.append(request)
        return trace_service_pb2.ExportTraceServiceResponse()


@pytest.fixture
def collector() -> Iterator[tuple[Collector, str]]:
    """A collector of its own, and its address."""
    kept, server = Collector(), grpc.server(ThreadPoolExecutor(1))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(kept, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield kept, f"http://127.0.0.1:{port}"
    server.stop(None).wait()


def failing_journey(observer: WorkerObserver) -> None:
    """One of a mail whose words are in its error."""
    with observer.journey("m1"):
        with observer.step("route", 1) as seen:
            seen.case_id = "c1"
        with observer.step("plan", 2) as seen:
            seen.outcome = "anna wrote: hello"
            raise TransientError("anna@example.net wrote: hello")


def test_a_collector_gets_the_journey_and_its_steps(collector: tuple[Collector, str]) -> None:
    kept, address = collector
    tracing = Tracing.to(address, "0.1")
    observer = WorkerObserver("shop", Ticking(), tracing=tracing)
    with pytest.raises(TransientError):
        failing_journey(observer)
    tracing.close()
    (request,) = kept.requests
    (resource,) = request.resource_spans
    assert {one.key: one.value.string_value for one in resource.resource.attributes}["service.name"] == "support-agent"
    (scope,) = resource.scope_spans
    spans = {span.name: span for span in scope.spans}
    assert set(spans) == {"journey", "route", "plan"}
    assert spans["plan"].parent_span_id == spans["route"].parent_span_id == spans["journey"].span_id
    attributes = {one.key: one.value.string_value for one in spans["journey"].attributes}
    assert attributes == {
        "support_agent.brand": "shop",
        "support_agent.mail_id": "m1",
        "support_agent.case_id": "c1",
        "support_agent.outcome": "failed",
    }
    assert spans["plan"].status.message == "TransientError"
    assert b"anna" not in request.SerializeToString()


def test_a_collector_that_is_away_stops_nothing() -> None:
    """The spans are lost, and the log says so in one line."""
    tracing = Tracing.to("http://127.0.0.1:1", "0.1")
    with capture_logs() as logs:
        with WorkerObserver("", Ticking(), tracing=tracing).journey("m1") as seen:
            seen.outcome = "answered"
        tracing.close()
    assert {entry["event"] for entry in logs} == {"tracing_warning"}
    assert not [entry for entry in logs if "\n" in entry["text"]]
