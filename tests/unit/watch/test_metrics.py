"""The table of metrics: closed labels, names as Prometheus wants them, and the words of the program."""

from __future__ import annotations

import ast
import inspect
import re

import pytest

from support_agent import pipeline
from support_agent.errors import ConfigError, GateRefused, PermanentError, ToolCallRejected, TransientError
from support_agent.models import observed
from support_agent.outbound.sender import SendResult
from support_agent.store.records import MailStatus
from support_agent.watch import metrics
from support_agent.watch.metrics import METRICS, MetricType
from support_agent.watch.observer import result_of
from support_agent.watch.recorder import Recorder, Sample
from support_agent.workflow.stages import Outcome
from tests.fakes_watch import series_in, value


def test_names_and_labels_are_as_prometheus_wants_them() -> None:
    """A counter ends with _total, a duration with _seconds, and no name is there twice."""
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert re.fullmatch(r"support_agent_[a-z_]+", metric.name)
        assert metric.help.endswith(".")
        assert (metric.kind is MetricType.COUNTER) == metric.name.endswith("_total")
        assert metric.kind is not MetricType.HISTOGRAM or metric.name.endswith("_seconds")
        assert all(values for values in metric.labels.values())


def test_the_values_of_labels_are_the_words_of_the_program() -> None:
    """Rule: a step, an outcome or a call that is added is counted by its name, not as `other`."""
    called = {
        node.args[0].value
        for node in ast.walk(ast.parse(inspect.getsource(pipeline)))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("step", "run")
        and isinstance(node.args[0], ast.Constant)
    }
    assert set(metrics.STEPS) == called
    outcomes = {*Outcome, *MailStatus, "failed"} - {MailStatus.NEW}
    assert set(metrics.OUTCOMES) == {str(outcome) for outcome in outcomes}
    assert {str(status) for status in SendResult} == {*metrics.SENDS, "held", "claimed"}
    assert metrics.MODEL_CALLS == observed.CALLS


def test_an_unknown_value_counts_as_other() -> None:
    """Failure: each new text of a mail makes a series, until the server that scrapes has no memory left."""
    recorder = Recorder([""], lambda _brand: ())
    for evil in ("', x=\"", "a\nb", "anna@example.net", "x" * 10_000):
        recorder.count(metrics.JOURNEYS, "", outcome=evil)
        recorder.observe(metrics.STEP_SECONDS, "", 0.1, step=evil)
    text = recorder.rendered("")[0].decode()
    assert value(series_in(text), "support_agent_journeys_total", outcome="other") == 4
    assert value(series_in(text), "support_agent_step_seconds_count", step="other") == 4
    assert not re.search(r"anna|xxx|a\\nb", text)


def test_every_series_is_there_from_the_start_and_gauges_are_of_the_moment() -> None:
    """A rate needs the zero that it begins with; brands have series of their own."""
    queued = [3.0]
    recorder = Recorder(["", "shop"], lambda brand: [Sample(metrics.QUEUE_MAILS, queued[0] if brand else 0.0)])
    found = series_in(recorder.rendered("")[0].decode())
    assert {value(found, "support_agent_journeys_total", brand, outcome="held") for brand in ("", "shop")} == {0.0}
    assert value(found, "support_agent_queue_mails", "shop") == 3
    queued[0] = 4.0
    assert value(series_in(recorder.rendered("")[0].decode()), "support_agent_queue_mails", "shop") == 4
    assert [name for name, _ in found if name == "support_agent_info"]


def test_a_scrape_may_ask_for_openmetrics() -> None:
    text, content_type = Recorder([""], lambda _brand: ()).rendered("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert text.endswith(b"# EOF\n")


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (None, "ok"),
        (TransientError("x"), "transient"),
        (ConfigError("x"), "config"),
        (ToolCallRejected("x"), "rejected"),
        (PermanentError("x"), "permanent"),
        (GateRefused("x"), "permanent"),
        (ValueError("x"), "permanent"),
    ],
)
def test_errors_are_counted_by_what_happens_next(error: BaseException | None, result: str) -> None:
    assert result_of(error) == result
    assert result in metrics.RESULTS
